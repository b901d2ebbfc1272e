//! Data that a reader had to drop. Every kind of loss is a named counter with a severity and a help text.

use serde::Serialize;

use crate::named;
use crate::registry::TableName;

named! {
    /// Severity of a loss.
    #[derive(Hash, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum Severity {
        /// For information; no result changes.
        Notice = "notice",
        /// Results from the affected tables may be incomplete.
        Warning = "warning",
        /// Data of the affected tables is missing.
        Error = "error",
    }
}

/// A kind of loss, identified by its name. Readers declare their counters as constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Stable name, e.g. `events_lost_by_recorder`.
    pub name: &'static str,
    pub severity: Severity,
    /// What the loss means and what to do, in one sentence.
    pub help: &'static str,
    /// Tables whose rows the loss can affect; empty means any.
    pub affects: &'static [TableName],
}

/// Declares kinds of loss as constants: `NAME = "name", severity, tables, "help";`. The tables are a list of table
/// names (empty for any), or a constant. The help text becomes the constant's documentation.
#[macro_export]
macro_rules! counters {
    ($($(#[doc = $about:literal])* $visibility:vis $constant:ident = $name:literal, $severity:ident, $tables:tt, $help:literal;)*) => {$(
        $(#[doc = $about])*
        #[doc = $help]
        $visibility const $constant: $crate::Counter = $crate::Counter {
            name: $name,
            severity: $crate::Severity::$severity,
            help: $help,
            affects: $crate::counters!(@ $tables),
        };
    )*};
    (@ [$($table:ident),* $(,)?]) => { &[$($crate::TableName::$table),*] };
    (@ $tables:ident) => { $tables };
}

/// A counter and its count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// Name of the counter.
    pub counter: &'static str,
    /// Number of occurrences.
    pub count: u64,
    /// Severity.
    pub severity: Severity,
    /// What the loss means and what to do.
    pub help: &'static str,
    /// Tables whose rows the loss can affect; empty means any.
    pub affects: &'static [TableName],
    /// Place of the first occurrence, where known: a file and byte offset, or an event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

/// All losses of a recording, in the order in which they first occurred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Losses {
    rows: Vec<Loss>,
}

impl Losses {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `count` to `counter`; zero is ignored.
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
                affects: counter.affects,
                first: None,
            }),
        }
    }

    /// Adds one to `counter` and stores `place` if it is the first occurrence.
    pub fn add_at(&mut self, counter: &Counter, place: impl FnOnce() -> String) {
        self.add(counter, 1);
        self.set_first_place(counter, place);
    }

    /// Stores `place` as the first occurrence of `counter`, unless a place is stored or nothing was counted.
    pub fn set_first_place(&mut self, counter: &Counter, place: impl FnOnce() -> String) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.counter == counter.name)
            && row.first.is_none()
        {
            row.first = Some(place());
        }
    }

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

    /// Returns the number of occurrences of `counter`.
    #[must_use]
    pub fn count(&self, counter: &str) -> u64 {
        self.rows.iter().find(|row| row.counter == counter).map_or(0, |row| row.count)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Loss> {
        self.rows.iter()
    }

    /// Returns the losses, except notices, that can affect any of `tables`.
    pub fn affecting<'a>(&'a self, tables: &'a [TableName]) -> impl Iterator<Item = &'a Loss> {
        self.rows.iter().filter(move |loss| {
            loss.severity > Severity::Notice
                && (loss.affects.is_empty() || loss.affects.iter().any(|table| tables.contains(table)))
        })
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: Counter =
        Counter { name: "lost", severity: Severity::Error, help: "lost", affects: &[TableName::DiskIos] };

    #[test]
    fn counts_losses_and_finds_affected_tables() {
        let mut losses = Losses::new();
        losses.add(&LOST, 0);
        assert!(losses.is_empty());
        losses.add(&LOST, 2);
        losses.add_at(&LOST, || "a.etl, byte 72".into());
        let mut more_losses = Losses::new();
        more_losses.add(&LOST, 1);
        losses.merge(more_losses);
        assert_eq!(losses.count("lost"), 4);
        assert_eq!(losses.iter().next().and_then(|loss| loss.first.as_deref()), Some("a.etl, byte 72"));
        assert_eq!(losses.affecting(&[TableName::DiskIos]).count(), 1);
        assert_eq!(losses.affecting(&[TableName::Samples]).count(), 0);
    }
}
