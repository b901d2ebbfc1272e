//! The width of text: the width of the terminal or one chosen by the user.
//!
//! Tables fit themselves to the width ([`super::table::Table`]); `Fitted` wraps all other lines. Nothing is lost except
//! the middle of long names and the bars, which only repeat numbers.

use std::cell::Cell;
use std::io::{self, Write};

use unicode_width::UnicodeWidthChar;

/// The width of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// Lines are not wrapped, but very long names lose their middle.
    #[default]
    Natural,
    /// At most this many terminal cells.
    Cells(usize),
    /// Nothing is wrapped or shortened.
    Unlimited,
}

/// The minimum width, below which tables are unreadable.
pub const MIN_CELLS: usize = 40;

thread_local! {
    static WIDTH: Cell<Width> = const { Cell::new(Width::Natural) };
}

/// Returns the width of the text that this thread writes.
pub(super) fn width() -> Width {
    WIDTH.get()
}

/// Returns the cells that remain on a line after `indent`, at most `max`. Text that wraps itself uses this, so that it
/// is not wrapped twice.
#[must_use]
pub fn remaining_cells(indent: usize, max: usize) -> usize {
    match width() {
        Width::Cells(cells) => cells.saturating_sub(indent).clamp(1, max),
        Width::Natural | Width::Unlimited => max,
    }
}

/// Calls `write` with an output that fits text to `width`.
///
/// # Errors
/// Returns errors from `write` and `out`.
pub fn with_width<E: From<io::Error>>(
    width: Width,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    /// Restores the width on return and on panic.
    struct Restore(Width);
    impl Drop for Restore {
        fn drop(&mut self) {
            WIDTH.set(self.0);
        }
    }
    let width = match width {
        Width::Cells(cells) => Width::Cells(cells.max(MIN_CELLS)),
        width => width,
    };
    let _restore = Restore(WIDTH.replace(width));
    match width {
        Width::Natural | Width::Unlimited => write(out),
        Width::Cells(cells) => {
            let mut fitted = Fitted { out, cells, line: Vec::new() };
            write(&mut fitted)?;
            Ok(fitted.finish()?)
        }
    }
}

/// Wraps lines between words, with a slightly larger indent for continuation lines.
struct Fitted<'a> {
    out: &'a mut dyn Write,
    cells: usize,
    line: Vec<u8>,
}

impl Fitted<'_> {
    fn finish(mut self) -> io::Result<()> {
        if self.line.is_empty() {
            return Ok(());
        }
        let line = std::mem::take(&mut self.line);
        self.out.write_all(wrapped(&String::from_utf8_lossy(&line), self.cells).as_bytes())
    }
}

impl Write for Fitted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.out.write_all(wrapped(&String::from_utf8_lossy(&line), self.cells).as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Wraps one line to `cells`, not counting escape sequences.
fn wrapped(text: &str, cells: usize) -> String {
    let indent = text.bytes().take_while(|&byte| byte == b' ').count();
    let continuation_indent = if indent == 0 { 0 } else { (indent + 2).min(cells / 2) };
    let mut out = String::with_capacity(text.len() + 16);
    let mut used = 0;
    // Blanks are written only before a word on the same line.
    let mut blanks = 0;
    let mut words_in_line = 0;
    for (word, trailing_blanks) in words(text) {
        if word.is_empty() {
            // Hold back consecutive blanks, so that no line ends in a blank.
            blanks += trailing_blanks;
            continue;
        }
        let word_width = visible_width(word);
        if word_width > 0 && words_in_line > 0 && used + blanks + word_width > cells {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', continuation_indent));
            used = continuation_indent;
            words_in_line = 0;
        } else {
            out.extend(std::iter::repeat_n(' ', blanks));
            used += blanks;
        }
        out.push_str(word);
        used += word_width;
        words_in_line += usize::from(word_width > 0);
        blanks = trailing_blanks;
    }
    out
}

/// Units that are not separated from their number.
const UNITS: [&str; 12] = ["s", "ms", "µs", "ns", "min", "h", "%", "B", "KiB", "MiB", "GiB", "TiB"];

/// Splits `text` into words, each with the number of blanks after it. A number and its unit are one word.
fn words(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut remaining = text;
    std::iter::from_fn(move || {
        let mut end = remaining.find(' ').unwrap_or(remaining.len());
        let is_number = remaining.get(..end).is_some_and(|word| word.ends_with(|last: char| last.is_ascii_digit()));
        if let Some(next_words) = remaining.get(end + 1..).filter(|_| is_number) {
            let unit = next_words.get(..next_words.find(' ').unwrap_or(next_words.len())).unwrap_or_default();
            if UNITS.contains(&unit.trim_end_matches(|last: char| last.is_whitespace() || ".,;:)".contains(last))) {
                end += 1 + unit.len();
            }
        }
        let (word, tail) = remaining.split_at(end);
        let is_end = remaining.is_empty();
        remaining = tail.strip_prefix(' ').unwrap_or(tail);
        (!is_end).then_some((word, tail.len() - remaining.len()))
    })
}

/// Returns the width of a text in cells, without escape sequences.
fn visible_width(text: &str) -> usize {
    let mut cells = 0;
    let mut in_escape = false;
    for character in text.chars() {
        if in_escape {
            in_escape = !character.is_ascii_alphabetic();
        } else if character == '\u{1b}' {
            in_escape = true;
        } else {
            cells += character.width().unwrap_or(0);
        }
    }
    cells
}

/// Wraps `text` into lines of at most `cells`. A longer word gets a separate line.
#[must_use]
pub fn lines(text: &str, cells: usize) -> Vec<String> {
    wrapped(text, cells).split('\n').map(|line| line.trim_start().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(width: Width, text: &str) -> String {
        let mut out = Vec::new();
        with_width::<io::Error>(width, &mut out, |out| write!(out, "{text}")).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn leaves_no_blank_at_line_end() {
        assert_eq!(wrapped("  one two  three\n", 10), "  one two\n    three\n");
        assert_eq!(wrapped("  one  two\n", 20), "  one  two\n");
    }

    #[test]
    fn wraps_between_words_and_keeps_indent() {
        let text = "  one two three four five six seven eight nine ten eleven\nshort\n";
        assert_eq!(write(Width::Natural, text), text);
        assert_eq!(write(Width::Unlimited, text), text);
        assert_eq!(
            write(Width::Cells(40), text),
            "  one two three four five six seven\n    eight nine ten eleven\nshort\n"
        );
        let numbers = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 4.20 s, and 17 %.";
        assert_eq!(write(Width::Cells(40), numbers), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n4.20 s, and 17 %.");
        let long = "word ".to_owned() + &"x".repeat(60) + " end";
        assert_eq!(write(Width::Cells(40), &long), format!("word\n{}\nend", "x".repeat(60)));
    }

    #[test]
    fn ignores_colors_and_restores_width() {
        let text = "\u{1b}[1maaaaaaaaaaaaaaaaaaa\u{1b}[0m \u{1b}[2mbbbbbbbbbbbbbbbbbbbb\u{1b}[0m\n";
        assert_eq!(write(Width::Cells(40), text), text);
        assert_eq!(width(), Width::Natural);
    }

    #[test]
    fn keeps_all_words() {
        let text = "  a b  c   d\u{1b}[0m e 装置 装置 f\n";
        for cells in MIN_CELLS..60 {
            let fitted = write(Width::Cells(cells), &text.repeat(3));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&fitted), words(&text.repeat(3)));
        }
    }
}
