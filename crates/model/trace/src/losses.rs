//! What a reader went on without. Every loss is a named counter with a severity and a help text.

use serde::Serialize;

use crate::named;
use crate::registry::TableName;

named! {
    /// How much a loss matters.
    #[derive(Hash, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Severity {
        /// Worth knowing; no answer changes.
        Notice = "notice",
        /// Answers about the touched tables may be incomplete.
        Warning = "warning",
        /// Data of the touched tables is missing.
        Error = "error",
    }
}

/// A kind of loss. Readers declare theirs as constants; the name identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Stable name, e.g. `events_lost_by_recorder`.
    pub name: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What it means and what to do, in one sentence.
    pub help: &'static str,
    /// Tables whose rows it can touch; empty means any.
    pub touches: &'static [TableName],
}

/// Declares kinds of loss as constants: `NAME = "name", severity, tables, "help";`. The tables are a list of their
/// names, empty for any, or a constant. What the help says is the constant's documentation too.
#[macro_export]
macro_rules! counters {
    ($($(#[doc = $about:literal])* $visibility:vis $constant:ident = $name:literal, $severity:ident, $tables:tt, $help:literal;)*) => {$(
        $(#[doc = $about])*
        #[doc = $help]
        $visibility const $constant: $crate::Counter = $crate::Counter {
            name: $name,
            severity: $crate::Severity::$severity,
            help: $help,
            touches: $crate::counters!(@ $tables),
        };
    )*};
    (@ [$($table:ident),* $(,)?]) => { &[$($crate::TableName::$table),*] };
    (@ $tables:ident) => { $tables };
}

/// A counter with what was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// Name of the counter.
    pub counter: &'static str,
    /// How often.
    pub count: u64,
    /// How much it matters.
    pub severity: Severity,
    /// What it means and what to do.
    pub help: &'static str,
    /// Tables whose rows it can touch; empty means any.
    pub touches: &'static [TableName],
    /// Where it first happened, when that is known: a file and byte offset, or an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

/// All losses of a recording, in the order in which they were first counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Losses {
    rows: Vec<Loss>,
}

impl Losses {
    /// No losses.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts `count` more of `counter`; zero changes nothing.
    pub fn add(&mut self, counter: &Counter, count: u64) {
        if count == 0 {
            return;
        }
        match self.rows.iter_mut().find(|row| row.counter == counter.name) {
            Some(row) => row.count = row.count.saturating_add(count),
            None => self.rows.push(Loss {
                counter: counter.name,
                count,
                severity: counter.severity,
                help: counter.help,
                touches: counter.touches,
                first: None,
            }),
        }
    }

    /// Counts one more of `counter` and keeps `place` if it is the first.
    pub fn add_at(&mut self, counter: &Counter, place: impl FnOnce() -> String) {
        self.add(counter, 1);
        self.place(counter, place);
    }

    /// Keeps `place` as the first of `counter` if none is kept and anything was counted.
    pub fn place(&mut self, counter: &Counter, place: impl FnOnce() -> String) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.counter == counter.name)
            && row.first.is_none()
        {
            row.first = Some(place());
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: Losses) {
        for loss in other.rows {
            match self.rows.iter_mut().find(|row| row.counter == loss.counter) {
                Some(row) => {
                    row.count = row.count.saturating_add(loss.count);
                    row.first = row.first.take().or(loss.first);
                }
                None => self.rows.push(loss),
            }
        }
    }

    /// How often `counter` was counted.
    #[must_use]
    pub fn count(&self, counter: &str) -> u64 {
        self.rows.iter().find(|row| row.counter == counter).map_or(0, |row| row.count)
    }

    /// The losses.
    pub fn iter(&self) -> impl Iterator<Item = &Loss> {
        self.rows.iter()
    }

    /// The losses that can touch any of `tables`, notices left out.
    pub fn touching<'a>(&'a self, tables: &'a [TableName]) -> impl Iterator<Item = &'a Loss> {
        self.rows.iter().filter(move |loss| {
            loss.severity > Severity::Notice
                && (loss.touches.is_empty() || loss.touches.iter().any(|table| tables.contains(table)))
        })
    }

    /// Whether nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: Counter =
        Counter { name: "lost", severity: Severity::Error, help: "lost", touches: &[TableName::DiskIos] };

    #[test]
    fn counts_add_up_and_touch_their_tables() {
        let mut losses = Losses::new();
        losses.add(&LOST, 0);
        assert!(losses.is_empty());
        losses.add(&LOST, 2);
        losses.add_at(&LOST, || "a.etl, byte 72".into());
        let mut other = Losses::new();
        other.add(&LOST, 1);
        losses.merge(other);
        assert_eq!(losses.count("lost"), 4);
        assert_eq!(losses.iter().next().and_then(|loss| loss.first.as_deref()), Some("a.etl, byte 72"));
        assert_eq!(losses.touching(&[TableName::DiskIos]).count(), 1);
        assert_eq!(losses.touching(&[TableName::Samples]).count(), 0);
    }
}
