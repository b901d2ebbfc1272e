//! Writes the output to stdout, a file or a buffer, with or without color.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use onoff_report::text::layout::{self, Width};
use onoff_sink::{OutputFile, check_stdout};

use crate::arguments::display::{Color, DisplayArguments};
use crate::failure::Failure;

#[derive(Clone, Copy, Debug)]
pub struct Display {
    pub color: Color,
    /// `None` means the width of the terminal.
    pub width: Option<Width>,
    /// Print only the first lines of text.
    pub is_brief: bool,
    /// The output is text for people, which may be wrapped and shortened. Machine-readable formats are written
    /// unchanged.
    pub is_text: bool,
    /// The output contains no color sequences, so it is not scanned for them; the scan can take longer than writing the
    /// output.
    pub is_unstyled: bool,
}

impl Default for Display {
    fn default() -> Self {
        Self { color: Color::Auto, width: None, is_brief: false, is_text: false, is_unstyled: false }
    }
}

impl Display {
    /// Combines the arguments with the environment.
    pub fn resolve(arguments: DisplayArguments) -> Result<Self, Failure> {
        let color = match (arguments.color, std::env::var("ONOFF_COLOR")) {
            (Some(color), _) => color,
            (None, Ok(text)) if !text.is_empty() => Color::from_str(&text, true)
                .map_err(|_| Failure::usage(format!("ONOFF_COLOR: '{text}' is invalid; use auto, always or never")))?,
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

/// Where the output goes.
#[derive(Clone, Debug, Default)]
pub struct Destination {
    /// `None` means stdout.
    pub path: Option<PathBuf>,
    pub display: Display,
    /// Collects stdout output when the program runs inside another process.
    pub buffer: Option<Arc<Mutex<Vec<u8>>>>,
}

impl Destination {
    /// Writes binary output to the file. Fails if there is no file or if any byte is lost.
    pub fn write_bytes(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
        let Some(path) = &self.path else {
            return Err(Failure::usage("this format is binary: name a file with --output"));
        };
        let write_file = || {
            let cannot_write = |error| Failure::cannot_write(path, error);
            let file = OutputFile::create(path).map_err(cannot_write)?;
            let mut out = BufWriter::with_capacity(1 << 16, file.writer().map_err(cannot_write)?);
            write(&mut out)?;
            out.flush().map_err(cannot_write)?;
            drop(out);
            file.commit().map_err(cannot_write)
        };
        ignore_broken_pipe(write_file())
    }

    /// Opens the destination, runs `write` on it and flushes.
    ///
    /// A file is replaced only once the output is complete, so a failing command leaves an existing file untouched. A
    /// reader that closes the pipe early is not a failure, so the exit code does not depend on how much it reads.
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
        ignore_broken_pipe(self.write_output(write))
    }

    fn write_output(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
        match &self.path {
            Some(path) => {
                let cannot_write = |error| Failure::cannot_write(path, error);
                let file = OutputFile::create(path).map_err(cannot_write)?;
                let choice = match self.display {
                    Display { is_unstyled: true, .. } => ColorChoice::AlwaysAnsi,
                    Display { color: Color::Always, .. } => ColorChoice::Always,
                    _ => ColorChoice::Never,
                };
                let writer = AutoStream::new(file.writer().map_err(cannot_write)?, choice);
                let mut out = BufWriter::with_capacity(1 << 16, writer);
                self.write_text(&mut out, self.display.width.unwrap_or_default(), write)?;
                out.flush().map_err(cannot_write)?;
                drop(out);
                file.commit().map_err(cannot_write)
            }
            None if self.buffer.is_some() => {
                let mut out = Vec::new();
                self.write_text(&mut AutoStream::new(&mut out, ColorChoice::Never), Width::Natural, write)?;
                if let Some(buffer) = &self.buffer {
                    buffer.lock().unwrap_or_else(PoisonError::into_inner).append(&mut out);
                }
                Ok(())
            }
            None => {
                check_stdout()?;
                let stdout = io::stdout();
                let choice = match self.display.color {
                    _ if self.display.is_unstyled => ColorChoice::AlwaysAnsi,
                    Color::Auto => AutoStream::choice(&stdout),
                    Color::Always => ColorChoice::Always,
                    Color::Never => ColorChoice::Never,
                };
                // A terminal shows rows as they are read; a pipe gets large blocks.
                let capacity = if stdout.is_terminal() { 1 << 10 } else { 1 << 16 };
                let mut out = BufWriter::with_capacity(capacity, AutoStream::new(stdout.lock(), choice));
                let width = self.display.width.unwrap_or_else(terminal_width);
                self.write_text(&mut out, width, write)?;
                Ok(out.flush()?)
            }
        }
    }

    /// Runs `write`; wraps and shortens text as requested.
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
            return layout::with_width(width, out, write);
        }
        let mut brief = BriefWriter { out, lines: 0, line_is_empty: true, is_done: false };
        layout::with_width(width, &mut brief, write)
    }
}

fn ignore_broken_pipe(result: Result<(), Failure>) -> Result<(), Failure> {
    match result {
        Err(Failure::BrokenPipe) => Ok(()),
        result => result,
    }
}

/// The width of the terminal on stdout; text in a pipe is not wrapped.
fn terminal_width() -> Width {
    let size = terminal_size::terminal_size_of(io::stdout());
    size.map_or(Width::Natural, |(terminal_size::Width(cells), _)| Width::Cells(usize::from(cells)))
}

const MAX_BRIEF_LINES: usize = 5;

/// Passes on the lines before the first empty one, at most [`MAX_BRIEF_LINES`].
struct BriefWriter<'a> {
    out: &'a mut dyn Write,
    lines: usize,
    line_is_empty: bool,
    is_done: bool,
}

impl Write for BriefWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.is_done {
                break;
            }
            if line == b"\n" && self.line_is_empty {
                self.is_done = self.lines > 0;
                continue;
            }
            self.out.write_all(line)?;
            self.line_is_empty = line.ends_with(b"\n");
            self.lines += usize::from(self.line_is_empty);
            self.is_done = self.lines == MAX_BRIEF_LINES;
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
    fn brief_stops_at_first_empty_line_or_after_five_lines() {
        let brief = |text: &str| {
            let mut out = Vec::new();
            let mut brief = BriefWriter { out: &mut out, lines: 0, line_is_empty: true, is_done: false };
            // Byte by byte: writers may split lines anywhere.
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
