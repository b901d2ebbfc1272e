//! Shortens JSON documents that do not fit in one answer. What is left out is replaced by a pointer with which the tool
//! `more` returns it, so that every part is JSON.

use serde_json::{Map, Value, json};

/// Key of a pointer to what was left out, in its place or after the last item of an incomplete list or object.
const MORE: &str = "$more";

/// Key of a part of a text.
const TEXT: &str = "$text";

/// Minimum length of a shortened value, bytes. Below, only its pointer is returned.
const MIN_SHORTENED_LEN: usize = 400;

/// Returns the value at `pointer` (RFC 6901) in at most `max_len` bytes. `from` skips items of a list or object, or
/// bytes of a text. `None` if there is no such value.
pub fn outline(document: &Value, handle: u64, pointer: &str, from: usize, max_len: usize) -> Option<Value> {
    let value = document.pointer(pointer)?;
    let length = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        Value::String(text) if text.is_char_boundary(from) => text.len(),
        _ => 0,
    };
    (from == 0 || from < length).then(|| Outline { handle }.shorten(value, pointer, from, max_len))
}

struct Outline {
    handle: u64,
}

impl Outline {
    fn more(&self, pointer: &str, from: usize, left_out: usize) -> Value {
        json!({ "handle": self.handle, "pointer": pointer, "from": from, "left_out": left_out })
    }

    fn pointer_len(&self, pointer: &str) -> usize {
        len(&json!({ MORE: self.more(pointer, usize::MAX, usize::MAX) })) + 1
    }

    fn shorten(&self, value: &Value, pointer: &str, from: usize, max_len: usize) -> Value {
        if from == 0 && len(value) <= max_len {
            return value.clone();
        }
        let budget = max_len.saturating_sub(self.pointer_len(pointer) + 2);
        match value {
            Value::Array(items) => {
                let mut shown = Vec::new();
                let children = items.iter().enumerate().skip(from).map(|(index, item)| (index.to_string(), item));
                let next = from + self.shorten_children(children, pointer, budget, |_, item| shown.push(item));
                if next < items.len() {
                    shown.push(json!({ MORE: self.more(pointer, next, items.len() - next) }));
                }
                Value::Array(shown)
            }
            Value::Object(fields) => {
                let mut shown = Map::new();
                let children = fields.iter().skip(from).map(|(name, field)| (name.clone(), field));
                let next = from
                    + self.shorten_children(children, pointer, budget, |name, field| {
                        shown.insert(name.to_owned(), field);
                    });
                if next < fields.len() {
                    shown.insert(MORE.to_owned(), self.more(pointer, next, fields.len() - next));
                }
                Value::Object(shown)
            }
            Value::String(text) => {
                let rest = text.get(from..).unwrap_or_default();
                // An escaped character has at most six bytes, such as \u001f.
                let end = floor_char_boundary(rest, (budget / 6).max(4));
                let left_out = rest.len() - end;
                let mut shown = Map::from_iter([(TEXT.to_owned(), rest.get(..end).unwrap_or_default().into())]);
                if left_out > 0 {
                    shown.insert(MORE.to_owned(), self.more(pointer, from + end, left_out));
                }
                Value::Object(shown)
            }
            _ => value.clone(),
        }
    }

    /// Passes as many children as fit, at least one, to `show`, and returns their number. Long ones share what the short
    /// ones leave.
    fn shorten_children<'v>(
        &self,
        children: impl Iterator<Item = (String, &'v Value)> + Clone,
        pointer: &str,
        budget: usize,
        mut show: impl FnMut(&str, Value),
    ) -> usize {
        let count = children.clone().count();
        let mut remaining = budget;
        let mut shown = 0;
        for (key, child) in children {
            let own_len = key.len() + 4;
            let share = (remaining / (count - shown).max(1)).max(MIN_SHORTENED_LEN).saturating_sub(own_len);
            let child_pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
            let shortened = if len(child) <= share {
                child.clone()
            } else if child.is_string() || self.pointer_len(&child_pointer) * 2 > share {
                json!({ MORE: self.more(&child_pointer, 0, 1) })
            } else {
                self.shorten(child, &child_pointer, 0, share)
            };
            let needed = own_len + len(&shortened);
            if needed > remaining && shown > 0 {
                break;
            }
            remaining = remaining.saturating_sub(needed);
            show(&key, shortened);
            shown += 1;
        }
        shown
    }
}

/// Length of a value as text, bytes.
fn len(value: &Value) -> usize {
    value.to_string().len()
}

/// Returns the start of the character at `index`, or the length of the text if that is less.
pub(crate) fn floor_char_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}
