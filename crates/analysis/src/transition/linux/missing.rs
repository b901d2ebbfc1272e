//! What a recording of Linux did not hold, what is not known without it, and how to record it.

use serde::Serialize;

/// A part that a recording does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingPart {
    /// The part, as a phrase: `the trace of devices (device_pm_callback)`.
    pub part: String,
    /// What is not known without it, as a clause.
    pub unknown: String,
    /// How to record it next time; empty when it cannot be recorded.
    pub record: String,
}

impl MissingPart {
    pub(crate) fn new(part: &str, unknown: &str, record: &str) -> Self {
        Self { part: part.to_owned(), unknown: unknown.to_owned(), record: record.to_owned() }
    }
}
