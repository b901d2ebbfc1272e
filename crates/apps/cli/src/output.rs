//! Where the answer goes: stdout or a file, with or without color.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use onoff_report::text::layout::{self, Width};
use onoff_sink::OutputFile;

use crate::arguments::display::{Color, DisplayArguments};
use crate::failure::Failure;

/// How text is shown.
#[derive(Clone, Copy, Debug)]
pub struct Display {
    /// When to color.
    pub color: Color,
    /// How wide text is; as wide as the terminal when `None`.
    pub width: Option<Width>,
    /// Whether only the first lines of text are shown.
    pub is_brief: bool,
    /// Whether the answer is text for people, which may be fitted and cut: what programs read is left as it is.
    pub is_text: bool,
    /// Whether no sequence that colors is written, so that none is looked for: looking takes longer than writing many an answer.
    pub is_never_colored: bool,
}

impl Default for Display {
    fn default() -> Self {
        Self { color: Color::Auto, width: None, is_brief: false, is_text: false, is_never_colored: false }
    }
}

impl Display {
    /// Settles what the arguments and the environment say.
    pub fn resolve(arguments: DisplayArguments) -> Result<Self, Failure> {
        let color = match (arguments.color, std::env::var("ONOFF_COLOR")) {
            (Some(color), _) => color,
            (None, Ok(text)) if !text.is_empty() => Color::from_str(&text, true)
                .map_err(|_| Failure::usage(format!("ONOFF_COLOR: '{text}' is none of auto, always, never")))?,
            (None, _) => Color::Auto,
        };
        let width = match arguments.width {
            _ if arguments.wide => Some(Width::Unlimited),
            Some(cells) => Some(Width::Cells(cells.into())),
            None => None,
        };
        Ok(Self { color, width, is_brief: arguments.brief, ..Self::default() })
    }
}

/// Where the answer goes.
#[derive(Clone, Debug, Default)]
pub struct Destination {
    /// A file; stdout when `None`.
    pub path: Option<PathBuf>,
    /// How it is shown.
    pub display: Display,
    /// Where an answer for stdout is kept instead, for who runs the program in its own process.
    pub kept: Option<Arc<Mutex<Vec<u8>>>>,
}

impl Destination {
    /// Opens the file of the answer, has `write` write bytes to it that are no text, and makes sure that all of them arrived.
    pub fn write_bytes(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(path) = &self.path else {
            return Err(Failure::usage("this answer is no text: name a file with --output"));
        };
        let whole = || {
            let failed = |error| Failure::unwritten(path, error);
            let file = OutputFile::create(path).map_err(failed)?;
            let mut out = BufWriter::with_capacity(1 << 16, file.writer().map_err(failed)?);
            write(&mut out)?;
            out.flush().map_err(failed)?;
            drop(out);
            file.commit().map_err(failed)
        };
        unless_reader_left(whole())
    }

    /// Opens the destination, has `write` write to it, and makes sure that all of it arrived.
    ///
    /// A file takes its place when all of the answer is in it: a command that fails leaves an existing one as it was. A reader
    /// that closes the pipe early is no failure, and the command goes on to its exit code: a verdict does not depend on how
    /// much of it is read.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
        unless_reader_left(self.write_whole(write))
    }

    fn write_whole(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
        match &self.path {
            Some(path) => {
                let failed = |error| Failure::unwritten(path, error);
                let file = OutputFile::create(path).map_err(failed)?;
                let choice = match self.display {
                    Display { is_never_colored: true, .. } => ColorChoice::AlwaysAnsi,
                    Display { color: Color::Always, .. } => ColorChoice::Always,
                    _ => ColorChoice::Never,
                };
                let writer = AutoStream::new(file.writer().map_err(failed)?, choice);
                let mut out = BufWriter::with_capacity(1 << 16, writer);
                self.write_text(&mut out, self.display.width.unwrap_or_default(), write)?;
                out.flush().map_err(failed)?;
                drop(out);
                file.commit().map_err(failed)
            }
            None if self.kept.is_some() => {
                let mut out = Vec::new();
                self.write_text(&mut AutoStream::new(&mut out, ColorChoice::Never), Width::Natural, write)?;
                if let Some(kept) = &self.kept {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).append(&mut out);
                }
                Ok(())
            }
            None => {
                let stdout = io::stdout();
                let choice = match self.display.color {
                    _ if self.display.is_never_colored => ColorChoice::AlwaysAnsi,
                    Color::Auto => AutoStream::choice(&stdout),
                    Color::Always => ColorChoice::Always,
                    Color::Never => ColorChoice::Never,
                };
                // A person sees rows soon after they are read; a pipe is filled a large block at a time.
                let capacity = if stdout.is_terminal() { 1 << 10 } else { 1 << 16 };
                let mut out = BufWriter::with_capacity(capacity, AutoStream::new(stdout.lock(), choice));
                let width = self.display.width.unwrap_or_else(terminal_width);
                self.write_text(&mut out, width, write)?;
                Ok(out.flush()?)
            }
        }
    }

    /// Has `write` write, fitted and cut where that was wanted and the answer is text.
    fn write_text(
        &self,
        out: &mut dyn Write,
        width: Width,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if !self.display.is_text {
            return write(out);
        }
        if !self.display.is_brief {
            return layout::fitted(width, out, write);
        }
        let mut brief = Brief { out, lines: 0, line_is_empty: true, is_over: false };
        layout::fitted(width, &mut brief, write)
    }
}

/// The same, where a reader that closed the pipe early is no failure.
fn unless_reader_left(written: Result<(), Failure>) -> Result<(), Failure> {
    match written {
        Err(Failure::ReaderGone) => Ok(()),
        written => written,
    }
}

/// The width of the terminal that stdout is; text in a pipe is not fitted.
fn terminal_width() -> Width {
    let of_terminal = terminal_size::terminal_size_of(io::stdout());
    of_terminal.map_or(Width::Natural, |(terminal_size::Width(cells), _)| Width::Cells(usize::from(cells)))
}

/// Lines of a brief answer, at most.
const BRIEF_LINES: usize = 5;

/// Lets the first lines through: up to the first empty one, and at most [`BRIEF_LINES`].
struct Brief<'a> {
    out: &'a mut dyn Write,
    lines: usize,
    line_is_empty: bool,
    is_over: bool,
}

impl Write for Brief<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.is_over {
                break;
            }
            if part == b"\n" && self.line_is_empty {
                self.is_over = self.lines > 0;
                continue;
            }
            self.out.write_all(part)?;
            self.line_is_empty = part.ends_with(b"\n");
            self.lines += usize::from(self.line_is_empty);
            self.is_over = self.lines == BRIEF_LINES;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_answer_is_the_lines_before_the_first_empty_one_and_five_at_most() {
        let brief = |text: &str| {
            let mut out = Vec::new();
            let mut brief = Brief { out: &mut out, lines: 0, line_is_empty: true, is_over: false };
            // However the writer cuts its lines.
            for byte in text.as_bytes() {
                brief.write_all(&[*byte]).unwrap();
            }
            String::from_utf8(out).unwrap()
        };
        assert_eq!(brief("a\nb\n\nc\n"), "a\nb\n");
        assert_eq!(brief("\na\n\nc\n"), "a\n");
        assert_eq!(brief("1\n2\n3\n4\n5\n6\n"), "1\n2\n3\n4\n5\n");
        assert_eq!(brief(""), "");
    }
}
