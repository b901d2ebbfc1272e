//! Splits long answers into parts, each with a handle for the next part.

use std::collections::VecDeque;
use std::fmt::Write as _;

/// Maximum length of a part in bytes. A part ends at the end of a line if possible.
pub const MAX_PART_LEN: usize = 8_000;
/// Maximum number of answers to keep.
const MAX_ANSWERS: usize = 32;
/// Maximum length of an answer to keep, in bytes.
const MAX_ANSWER_LEN: usize = 32 << 20;

/// The answers that were only partly delivered.
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
        let mut kept_len = MAX_ANSWER_LEN.min(text.len());
        while !text.is_char_boundary(kept_len) {
            kept_len -= 1;
        }
        text.truncate(kept_len);
        self.last_handle += 1;
        let part = part(&text, 0, self.last_handle);
        self.answers.push_back((self.last_handle, text));
        if self.answers.len() > MAX_ANSWERS {
            self.answers.pop_front();
        }
        part
    }

    /// Returns the part that starts at byte `offset`, or `None` if the answer has expired or the offset is invalid.
    #[must_use]
    pub fn more(&self, handle: u64, offset: usize) -> Option<String> {
        let (_, text) = self.answers.iter().find(|(answer_handle, _)| *answer_handle == handle)?;
        (offset < text.len() && text.is_char_boundary(offset)).then(|| part(text, offset, handle))
    }
}

fn part(text: &str, offset: usize, handle: u64) -> String {
    let end = end_of_part(text, offset);
    let mut part = text.get(offset..end).unwrap_or_default().to_owned();
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

fn end_of_part(text: &str, offset: usize) -> usize {
    let remaining = text.get(offset..).unwrap_or_default();
    if remaining.len() <= MAX_PART_LEN {
        return text.len();
    }
    let mut end = MAX_PART_LEN;
    while !remaining.is_char_boundary(end) {
        end -= 1;
    }
    // Break at a line end, unless the part would be less than half full.
    let line_end = remaining.get(..end).and_then(|part| part.rfind('\n')).filter(|&index| index >= MAX_PART_LEN / 2);
    offset + line_end.map_or(end, |index| index + 1)
}
