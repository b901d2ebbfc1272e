//! Splits long answers into parts: text with a handle for the next part, and JSON with a pointer to each value that was
//! left out.

use std::collections::VecDeque;
use std::fmt::Write as _;

use serde_json::Value;

use crate::outline::{floor_char_boundary, outline};

/// Maximum length of a part in bytes. A part ends at the end of a line if possible.
pub const MAX_PART_LEN: usize = 8_000;
/// Maximum number of answers to keep.
const MAX_ANSWERS: usize = 32;
/// Maximum length of an answer to keep, in bytes.
const MAX_ANSWER_LEN: usize = 32 << 20;

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub text: String,
    /// The part as JSON, if the answer is one JSON value.
    pub json: Option<Value>,
}

/// An answer that was only partly delivered.
#[derive(Debug)]
enum Kept {
    Text(String),
    Json(Value),
}

/// The answers that were only partly delivered.
#[derive(Debug, Default)]
pub struct Parts {
    answers: VecDeque<(u64, Kept)>,
    last_handle: u64,
}

impl Parts {
    /// Returns the first part of a text and keeps the rest.
    pub fn first(&mut self, text: String) -> Part {
        let end = end_of_part(&text, 0);
        if end == text.len() {
            return Part { text, json: None };
        }
        let mut text = text;
        text.truncate(floor_char_boundary(&text, MAX_ANSWER_LEN));
        let part = part(&text, 0, self.last_handle + 1);
        self.keep(Kept::Text(text));
        Part { text: part, json: None }
    }

    /// Like [`Self::first`], for an answer in JSON. Lines of JSON are parts of a text.
    pub fn first_of_json(&mut self, text: String) -> Part {
        if text.len() > MAX_ANSWER_LEN {
            return self.first(text);
        }
        match serde_json::from_str::<Value>(&text) {
            Ok(document) if text.len() <= MAX_PART_LEN => Part { text, json: Some(document) },
            Ok(document) => {
                let part = outline(&document, self.last_handle + 1, "", 0, MAX_PART_LEN);
                self.keep(Kept::Json(document));
                json_part(part.unwrap_or_default())
            }
            Err(_) => self.first(text),
        }
    }

    fn keep(&mut self, answer: Kept) {
        self.last_handle += 1;
        self.answers.push_back((self.last_handle, answer));
        if self.answers.len() > MAX_ANSWERS {
            self.answers.pop_front();
        }
    }

    /// Returns the part at `offset` of a text, or of the value at `pointer` in JSON. `None` if the answer has expired or
    /// there is no such part.
    #[must_use]
    pub fn more(&self, handle: u64, pointer: &str, offset: usize) -> Option<Part> {
        let (_, answer) = self.answers.iter().find(|(answer_handle, _)| *answer_handle == handle)?;
        match answer {
            Kept::Text(text) => (offset < text.len() && text.is_char_boundary(offset))
                .then(|| Part { text: part(text, offset, handle), json: None }),
            Kept::Json(document) => outline(document, handle, pointer, offset, MAX_PART_LEN).map(json_part),
        }
    }
}

fn json_part(json: Value) -> Part {
    Part { text: json.to_string(), json: Some(json) }
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
    let end = floor_char_boundary(remaining, MAX_PART_LEN);
    // Break at a line end, unless the part would be less than half full.
    let line_end = remaining.get(..end).and_then(|part| part.rfind('\n')).filter(|&index| index >= MAX_PART_LEN / 2);
    offset + line_end.map_or(end, |index| index + 1)
}
