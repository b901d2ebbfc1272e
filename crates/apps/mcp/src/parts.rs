//! Splits long answers into parts, each with a handle for the next.

use std::collections::VecDeque;
use std::fmt::Write as _;

/// Maximum length of a part in bytes. A part ends at the end of a line if possible.
pub const MAX_PART_LEN: usize = 8_000;
/// Number of answers to keep.
const MAX_ANSWERS: usize = 32;
/// Maximum length of an answer to keep, in bytes.
const MAX_ANSWER_LEN: usize = 32 << 20;

/// The answers that were delivered in part.
#[derive(Debug, Default)]
pub struct Parts {
    answers: VecDeque<(u64, String)>,
    last_handle: u64,
}

impl Parts {
    /// Returns the first part of `text` and keeps the rest.
    pub fn first(&mut self, text: String) -> String {
        let end = end_of_part(&text, 0);
        if end == text.len() {
            return text;
        }
        let mut text = text;
        let mut cut = MAX_ANSWER_LEN.min(text.len());
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
        self.last_handle += 1;
        let part = part(&text, 0, self.last_handle);
        self.answers.push_back((self.last_handle, text));
        if self.answers.len() > MAX_ANSWERS {
            self.answers.pop_front();
        }
        part
    }

    /// Returns the part that starts at byte `from`; `None` if the answer has expired, or `from` is not a valid offset.
    #[must_use]
    pub fn more(&self, handle: u64, from: usize) -> Option<String> {
        let (_, text) = self.answers.iter().find(|(known, _)| *known == handle)?;
        (from < text.len() && text.is_char_boundary(from)).then(|| part(text, from, handle))
    }
}

fn part(text: &str, from: usize, handle: u64) -> String {
    let end = end_of_part(text, from);
    let mut part = text.get(from..end).unwrap_or_default().to_owned();
    if end < text.len() {
        // Writing to a String cannot fail.
        let _ = write!(
            part,
            "\n[{} of {} bytes; for the next part, call 'more' with handle {handle} and from {end}]",
            end,
            text.len()
        );
    }
    part
}

fn end_of_part(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    if rest.len() <= MAX_PART_LEN {
        return text.len();
    }
    let mut end = MAX_PART_LEN;
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    let line_end = rest.get(..end).and_then(|part| part.rfind('\n')).filter(|&line| line >= MAX_PART_LEN / 2);
    from + line_end.map_or(end, |line| line + 1)
}
