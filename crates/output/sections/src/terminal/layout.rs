//! The width of text: that of the terminal, or as chosen by the user.
//!
//! Tables fit themselves to the width ([`super::table::Table`]); `Fitted` wraps all other lines. Nothing is lost, except the middle of
//! long names and the bars, which only repeat numbers.

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

/// The minimum width: tables are unreadable below it.
pub const MIN_CELLS: usize = 40;

thread_local! {
    static WIDTH: Cell<Width> = const { Cell::new(Width::Natural) };
}

/// The width of the text that this thread writes.
pub(super) fn width() -> Width {
    WIDTH.get()
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
    for (word, blank) in words(text) {
        if word.is_empty() {
            // Between two blanks: hold back both, so that no line ends in a blank.
            blanks += blank;
            continue;
        }
        let wide = visible(word);
        if wide > 0 && words_in_line > 0 && used + blanks + wide > cells {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', continuation_indent));
            used = continuation_indent;
            words_in_line = 0;
        } else {
            out.extend(std::iter::repeat_n(' ', blanks));
            used += blanks;
        }
        out.push_str(word);
        used += wide;
        words_in_line += usize::from(wide > 0);
        blanks = blank;
    }
    out
}

/// Units that are not separated from their number.
const UNITS: [&str; 12] = ["s", "ms", "µs", "ns", "min", "h", "%", "B", "KiB", "MiB", "GiB", "TiB"];

/// The words of `text` with the number of blanks after each. A number and its unit are one word.
fn words(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = rest.find(' ').unwrap_or(rest.len());
        let is_number = rest.get(..end).is_some_and(|word| word.ends_with(|last: char| last.is_ascii_digit()));
        if let Some(next) = rest.get(end + 1..).filter(|_| is_number) {
            let unit = next.get(..next.find(' ').unwrap_or(next.len())).unwrap_or_default();
            if UNITS.contains(&unit.trim_end_matches(|last: char| last.is_whitespace() || ".,;:)".contains(last))) {
                end += 1 + unit.len();
            }
        }
        let (word, after) = rest.split_at(end);
        let is_end = rest.is_empty();
        rest = after.strip_prefix(' ').unwrap_or(after);
        (!is_end).then_some((word, after.len() - rest.len()))
    })
}

/// The width of a text in cells, without escape sequences.
fn visible(text: &str) -> usize {
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

/// Wraps `text` into lines of at most `cells`; a longer word gets its own line.
pub(super) fn lines(text: &str, cells: usize) -> Vec<String> {
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
