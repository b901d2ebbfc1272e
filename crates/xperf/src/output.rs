//! Where answers go. A file is created with the first byte of an answer, so that an action that cannot answer leaves an
//! existing one as it was.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

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
}

#[derive(Debug)]
enum Writer {
    File(BufWriter<File>),
    Stdout(BufWriter<io::Stdout>),
}

const BUFFER_BYTES: usize = 1 << 16;

impl Outputs {
    /// The destination `path`, by its number.
    pub fn number(&mut self, path: Option<&PathBuf>) -> usize {
        let known = self.outputs.iter().position(|output| output.path.as_ref() == path);
        known.unwrap_or_else(|| {
            self.outputs.push(Output { path: path.cloned(), writer: None });
            self.outputs.len() - 1
        })
    }

    /// The destination of that number.
    pub fn get(&mut self, number: usize) -> &mut Output {
        &mut self.outputs[number]
    }

    /// Makes sure that all answers arrived.
    pub fn finish(&mut self) -> Result<(), Failure> {
        for output in &mut self.outputs {
            if output.writer.is_some() {
                output.flush()?;
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
            (None, Some(path)) => Writer::File(BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?)),
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
