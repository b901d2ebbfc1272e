//! Answers in parts that fit a conversation, each with a handle for the next.

use std::collections::VecDeque;
use std::fmt::Write as _;

/// Characters of a part, about: it ends with a line where one ends near.
pub const PART: usize = 8_000;
/// Answers that are kept.
const MAX_KEPT: usize = 32;
/// Bytes of one answer that are kept.
const MAX_LEN: usize = 32 << 20;

/// Answers of which only a part was given.
#[derive(Debug, Default)]
pub struct Parts {
    kept: VecDeque<(u64, String)>,
    given: u64,
}

impl Parts {
    /// The first part of `text`; what follows is kept.
    pub fn first(&mut self, text: String) -> String {
        let end = end_of_part(&text, 0);
        if end == text.len() {
            return text;
        }
        let mut text = text;
        let mut cut = MAX_LEN.min(text.len());
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
        self.given += 1;
        let part = part(&text, 0, self.given);
        self.kept.push_back((self.given, text));
        if self.kept.len() > MAX_KEPT {
            self.kept.pop_front();
        }
        part
    }

    /// The part of an answer from byte `from` on; `None` when it is not kept any more, or `from` is no place where a part begins.
    #[must_use]
    pub fn more(&self, handle: u64, from: usize) -> Option<String> {
        let (_, text) = self.kept.iter().find(|(kept, _)| *kept == handle)?;
        (from < text.len() && text.is_char_boundary(from)).then(|| part(text, from, handle))
    }
}

fn part(text: &str, from: usize, handle: u64) -> String {
    let end = end_of_part(text, from);
    let mut part = text.get(from..end).unwrap_or_default().to_owned();
    if end < text.len() {
        // A text takes everything.
        let _ = write!(
            part,
            "\n[{} of {} characters; the next part: tool 'more' with handle {handle} and from {end}]",
            end,
            text.len()
        );
    }
    part
}

fn end_of_part(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    if rest.len() <= PART {
        return text.len();
    }
    let mut end = PART;
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    let near = rest.get(..end).and_then(|part| part.rfind('\n')).filter(|&line| line >= PART / 2);
    from + near.map_or(end, |line| line + 1)
}
