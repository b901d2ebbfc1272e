//! Output files of actions. A file is created with the first byte written, and moved to its final name after all
//! actions have finished. An existing file therefore stays unchanged if an action has no output or the command fails.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use onoff_sink::{OutputFile, check_stdout, resolve};

use crate::failure::Failure;

/// All outputs of a command line. Actions that name the same file append to one output.
#[derive(Debug, Default)]
pub struct Outputs {
    outputs: Vec<Output>,
}

#[derive(Debug)]
pub struct Output {
    /// `None` for stdout.
    path: Option<PathBuf>,
    writer: Option<Writer>,
    /// True after a failed write; the file is then discarded.
    failed: bool,
}

#[derive(Debug)]
enum Writer {
    File(BufWriter<OutputFile>),
    Stdout(BufWriter<io::Stdout>),
}

const BUFFER_BYTES: usize = 1 << 16;

impl Outputs {
    /// Returns the index of the output with `path`, which it adds if it is new.
    pub fn index(&mut self, path: Option<&PathBuf>) -> usize {
        // Two paths to the same file share one output.
        let resolved = |path: &Path| resolve(path).unwrap_or_else(|_| path.to_owned());
        let resolved_path = path.map(|path| resolved(path));
        let existing = self.outputs.iter().position(|output| output.path.as_deref().map(resolved) == resolved_path);
        existing.unwrap_or_else(|| {
            self.outputs.push(Output { path: path.cloned(), writer: None, failed: false });
            self.outputs.len() - 1
        })
    }

    pub fn get(&mut self, index: usize) -> &mut Output {
        &mut self.outputs[index]
    }

    /// Flushes all outputs, and moves the files to their final names.
    pub fn finish(self) -> Result<(), Failure> {
        for mut output in self.outputs {
            if output.failed {
                continue;
            }
            match output.flush() {
                // A closed pipe is not a failure; continue with the other files.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => continue,
                result => result?,
            }
            if let Some(Writer::File(writer)) = output.writer.take() {
                let result = writer.into_inner().map_err(io::IntoInnerError::into_error).and_then(OutputFile::commit);
                result.map_err(|error| output.with_path(error))?;
            }
        }
        Ok(())
    }
}

impl Output {
    /// Adds the path to an error.
    fn with_path(&self, error: io::Error) -> io::Error {
        match &self.path {
            Some(path) => io::Error::new(error.kind(), format!("{}: {error}", path.display())),
            None => error,
        }
    }

    fn open(&mut self) -> io::Result<&mut Writer> {
        let writer = match (self.writer.take(), &self.path) {
            (Some(writer), _) => writer,
            (None, Some(path)) => Writer::File(BufWriter::with_capacity(BUFFER_BYTES, OutputFile::create(path)?)),
            (None, None) => {
                check_stdout()?;
                Writer::Stdout(BufWriter::with_capacity(BUFFER_BYTES, io::stdout()))
            }
        };
        Ok(self.writer.insert(writer))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.open().and_then(|writer| match writer {
            Writer::File(writer) => writer.write(bytes),
            Writer::Stdout(writer) => writer.write(bytes),
        });
        self.failed |= result.is_err();
        result.map_err(|error| self.with_path(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = match &mut self.writer {
            Some(Writer::File(writer)) => writer.flush(),
            Some(Writer::Stdout(writer)) => writer.flush(),
            None => Ok(()),
        };
        result.map_err(|error| self.with_path(error))
    }
}
