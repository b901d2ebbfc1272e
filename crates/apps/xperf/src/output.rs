//! Where answers go. A file is begun with the first byte of an answer and takes its place when all answers are written, so that
//! an action that cannot answer, or a line that fails on the way, leaves an existing one as it was.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use onoff_sink::{OutputFile, resolved};

use crate::failure::Failure;

/// The destinations of a line: actions that name the same file write one after the other.
#[derive(Debug, Default)]
pub struct Outputs {
    outputs: Vec<Output>,
}

/// One destination.
#[derive(Debug)]
pub struct Output {
    /// The file; stdout when `None`.
    path: Option<PathBuf>,
    writer: Option<Writer>,
    /// Whether not all of an answer could be written: then none of it counts.
    spoiled: bool,
}

#[derive(Debug)]
enum Writer {
    File(BufWriter<OutputFile>),
    Stdout(BufWriter<io::Stdout>),
}

const BUFFER_BYTES: usize = 1 << 16;

impl Outputs {
    /// The destination `path`, by its number.
    pub fn number(&mut self, path: Option<&PathBuf>) -> usize {
        // Two names of one file are one destination.
        let place = |path: &Path| resolved(path).unwrap_or_else(|_| path.to_owned());
        let wanted = path.map(|path| place(path));
        let known = self.outputs.iter().position(|output| output.path.as_deref().map(place) == wanted);
        known.unwrap_or_else(|| {
            self.outputs.push(Output { path: path.cloned(), writer: None, spoiled: false });
            self.outputs.len() - 1
        })
    }

    /// The destination of that number.
    pub fn get(&mut self, number: usize) -> &mut Output {
        &mut self.outputs[number]
    }

    /// Makes sure that all answers arrived, and puts the files in their places.
    pub fn finish(self) -> Result<(), Failure> {
        for mut output in self.outputs {
            if output.spoiled {
                continue;
            }
            match output.flush() {
                // Its reader has seen enough; other files are still to be put in their places.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => continue,
                flushed => flushed?,
            }
            if let Some(Writer::File(writer)) = output.writer.take() {
                let committed =
                    writer.into_inner().map_err(io::IntoInnerError::into_error).and_then(OutputFile::commit);
                committed.map_err(|error| output.named(error))?;
            }
        }
        Ok(())
    }
}

impl Output {
    /// A failure to write, with the file's name.
    fn named(&self, error: io::Error) -> io::Error {
        match &self.path {
            Some(path) => io::Error::new(error.kind(), format!("{}: {error}", path.display())),
            None => error,
        }
    }

    fn open(&mut self) -> io::Result<&mut Writer> {
        let writer = match (self.writer.take(), &self.path) {
            (Some(writer), _) => writer,
            (None, Some(path)) => Writer::File(BufWriter::with_capacity(BUFFER_BYTES, OutputFile::create(path)?)),
            (None, None) => Writer::Stdout(BufWriter::with_capacity(BUFFER_BYTES, io::stdout())),
        };
        Ok(self.writer.insert(writer))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.open().and_then(|writer| match writer {
            Writer::File(writer) => writer.write(bytes),
            Writer::Stdout(writer) => writer.write(bytes),
        });
        self.spoiled |= written.is_err();
        written.map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.writer {
            Some(Writer::File(writer)) => writer.flush(),
            Some(Writer::Stdout(writer)) => writer.flush(),
            None => Ok(()),
        };
        flushed.map_err(|error| self.named(error))
    }
}
