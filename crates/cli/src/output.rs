//! Where the answer goes: stdout or a file, with or without colour.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use onoff_output::OutputFile;

use crate::failure::Failure;

/// When to colour text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Where the answer goes.
#[derive(Clone, Debug)]
pub struct Destination {
    /// A file; stdout when `None`.
    pub path: Option<PathBuf>,
    /// When to colour.
    pub color: Color,
}

impl Destination {
    /// Opens the file of the answer, has `write` write bytes to it that are no text, and makes sure that all of them arrived.
    pub fn write_bytes(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(path) = &self.path else {
            return Err(Failure::WrongUsage("this answer is no text: name a file with --output".to_owned()));
        };
        let failed =
            |error: io::Error| Failure::Unreadable(format!("{}: cannot write the answer: {error}", path.display()));
        let file = OutputFile::create(path).map_err(failed)?;
        let mut out = BufWriter::with_capacity(1 << 16, file.writer().map_err(failed)?);
        write(&mut out)?;
        out.flush().map_err(failed)?;
        drop(out);
        file.commit().map_err(failed)
    }

    /// Opens the destination, has `write` write to it, and makes sure that all of it arrived.
    ///
    /// A file takes its place when all of the answer is in it: a command that fails leaves an existing one as it was.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
        match &self.path {
            Some(path) => {
                let failed = |error: io::Error| {
                    Failure::Unreadable(format!("{}: cannot write the answer: {error}", path.display()))
                };
                let file = OutputFile::create(path).map_err(failed)?;
                let choice = if self.color == Color::Always { ColorChoice::Always } else { ColorChoice::Never };
                let writer = AutoStream::new(file.writer().map_err(failed)?, choice);
                let mut out = BufWriter::with_capacity(1 << 16, writer);
                write(&mut out)?;
                out.flush().map_err(failed)?;
                drop(out);
                file.commit().map_err(failed)
            }
            None => {
                let stdout = io::stdout();
                let choice = match self.color {
                    Color::Auto => AutoStream::choice(&stdout),
                    Color::Always => ColorChoice::Always,
                    Color::Never => ColorChoice::Never,
                };
                // A person sees rows soon after they are read; a pipe is filled a large block at a time.
                let capacity = if stdout.is_terminal() { 1 << 10 } else { 1 << 16 };
                let mut out = BufWriter::with_capacity(capacity, AutoStream::new(stdout.lock(), choice));
                write(&mut out)?;
                Ok(out.flush()?)
            }
        }
    }
}
