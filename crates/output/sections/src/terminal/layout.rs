//! How wide text for people is: as wide as the terminal, or as the reader chose.
//!
//! Tables fit themselves to the width when they are written ([`super::table::Table`]); other lines are wrapped by `Fitted` on their way
//! out. Nothing is lost by it: what does not fit goes to the next line, except the middle of long names and the bars, which repeat numbers.

use std::cell::Cell;
use std::io::{self, Write};

use unicode_width::UnicodeWidthChar;

/// How wide text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// As wide as it is: lines are not wrapped, and the longest names lose their middle.
    #[default]
    Natural,
    /// At most so many cells of a terminal.
    Cells(usize),
    /// Nothing is wrapped or shortened.
    Unlimited,
}

/// The narrowest width that is fitted: below it a table is no table any more.
pub const MIN_CELLS: usize = 40;

thread_local! {
    static WIDTH: Cell<Width> = const { Cell::new(Width::Natural) };
}

/// The width of what this thread writes.
pub(super) fn width() -> Width {
    WIDTH.get()
}

/// Has `write` write text of `width` to `out`.
///
/// # Errors
/// Those of `write`, and of `out`.
pub fn fitted<E: From<io::Error>>(
    width: Width,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    /// Puts the width back, whatever happens in between.
    struct Before(Width);
    impl Drop for Before {
        fn drop(&mut self) {
            WIDTH.set(self.0);
        }
    }
    let width = match width {
        Width::Cells(cells) => Width::Cells(cells.max(MIN_CELLS)),
        width => width,
    };
    let _before = Before(WIDTH.replace(width));
    match width {
        Width::Natural | Width::Unlimited => write(out),
        Width::Cells(cells) => {
            let mut fitted = Fitted { out, cells, line: Vec::new() };
            write(&mut fitted)?;
            Ok(fitted.finish()?)
        }
    }
}

/// Wraps lines between words; what follows is indented as the line is, and a little more.
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

/// `text`, one line with or without its end, wrapped to `cells`. Escape sequences take no room.
fn wrapped(text: &str, cells: usize) -> String {
    let indent = text.bytes().take_while(|&byte| byte == b' ').count();
    let further = if indent == 0 { 0 } else { (indent + 2).min(cells / 2) };
    let mut out = String::with_capacity(text.len() + 16);
    let mut used = 0;
    // Blanks wait until a word follows them on the same line.
    let mut blanks = 0;
    let mut words_in_line = 0;
    for (word, blank) in words(text) {
        if word.is_empty() {
            // Between two blanks: they wait together, so that none is left at the end of a line.
            blanks += blank;
            continue;
        }
        let wide = visible(word);
        if wide > 0 && words_in_line > 0 && used + blanks + wide > cells {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', further));
            used = further;
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

/// Units that stay on the line of their number.
const UNITS: [&str; 12] = ["s", "ms", "µs", "ns", "min", "h", "%", "B", "KiB", "MiB", "GiB", "TiB"];

/// The words of `text`, each with how many blanks follow it. A number and its unit are one.
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
        let is_over = rest.is_empty();
        rest = after.strip_prefix(' ').unwrap_or(after);
        (!is_over).then_some((word, after.len() - rest.len()))
    })
}

/// Cells that a text takes, without its escape sequences.
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

/// The words of `text` in lines of at most `cells`; a longer word is a line by itself.
pub(super) fn lines(text: &str, cells: usize) -> Vec<String> {
    wrapped(text, cells).split('\n').map(|line| line.trim_start().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(width: Width, text: &str) -> String {
        let mut out = Vec::new();
        fitted::<io::Error>(width, &mut out, |out| write!(out, "{text}")).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_blank_is_left_at_the_end_of_a_line() {
        assert_eq!(wrapped("  one two  three\n", 10), "  one two\n    three\n");
        assert_eq!(wrapped("  one  two\n", 20), "  one  two\n");
    }

    #[test]
    fn lines_wrap_between_words_and_keep_their_indent() {
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
    fn colors_take_no_room_and_the_width_is_put_back() {
        let text = "\u{1b}[1maaaaaaaaaaaaaaaaaaa\u{1b}[0m \u{1b}[2mbbbbbbbbbbbbbbbbbbbb\u{1b}[0m\n";
        assert_eq!(write(Width::Cells(40), text), text);
        assert_eq!(width(), Width::Natural);
    }

    #[test]
    fn any_text_keeps_its_words() {
        let text = "  a b  c   d\u{1b}[0m e 装置 装置 f\n";
        for cells in MIN_CELLS..60 {
            let fitted = write(Width::Cells(cells), &text.repeat(3));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&fitted), words(&text.repeat(3)));
        }
    }
}
