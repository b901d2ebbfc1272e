//! Converts texts of records and adds them to the string pool without an allocation per text.

use std::fmt::{Display, Write};

use onoff_etw::{Ansi, Utf16};
use onoff_trace::{StringId, StringPool};

/// The pool with a buffer for conversions.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) pool: StringPool,
    scratch: String,
}

impl Texts {
    pub(super) fn utf16(&mut self, text: Utf16<'_>) -> StringId {
        if text.is_empty() {
            return StringId::EMPTY;
        }
        self.scratch.clear();
        text.push_to(&mut self.scratch);
        self.pool.intern(&self.scratch)
    }

    pub(super) fn ansi(&mut self, text: Ansi<'_>) -> StringId {
        self.pool.intern(&text.to_str())
    }

    pub(super) fn str(&mut self, text: &str) -> StringId {
        self.pool.intern(text)
    }

    pub(super) fn display(&mut self, value: impl Display) -> StringId {
        self.scratch.clear();
        // Writing to a `String` fails only if the value's `Display` does; the text written so far is kept.
        let _ = write!(self.scratch, "{value}");
        self.pool.intern(&self.scratch)
    }

    pub(super) fn get(&self, id: StringId) -> &str {
        self.pool.get(id)
    }
}
