//! What a recording does not hold, what is not known without it, and what would record it.

use serde::Serialize;

/// Evidence that a recording does not hold: of Windows events of a provider or of the kernel's own logger, of Linux a part; neither
/// where no recording holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingEvidence {
    /// What is not known, or only inferred, without it; a clause.
    pub unknown: String,
    /// The provider whose events say it; empty for other evidence.
    pub provider: String,
    /// Its GUID, as lower-case text with hyphens; empty for other evidence.
    pub guid: String,
    /// Its keywords to enable, in hexadecimal; `0xffffffffffffffff` for all. Empty for other evidence.
    pub keyword: String,
    /// Its level to enable, 1 critical to 5 verbose; 0 for other evidence.
    pub level: u8,
    /// Flags of the kernel's own logger as xperf calls them; empty for other evidence.
    pub kernel_flags: Vec<String>,
    /// The part of a recording of Linux, as a phrase: `the trace of devices (device_pm_callback)`; empty for other evidence.
    pub part: String,
    /// How to record that part next time; empty when it cannot be recorded, and for other evidence.
    pub record: String,
}

impl MissingEvidence {
    /// A part of a recording of Linux.
    pub(crate) fn of_part(part: &str, unknown: &str, record: &str) -> Self {
        Self { unknown: unknown.to_owned(), part: part.to_owned(), record: record.to_owned(), ..Self::default() }
    }

    /// Flags of the kernel's own logger; none where no recording holds it.
    #[must_use]
    pub fn of_kernel_logger(unknown: &str, flags: &[&str]) -> Self {
        Self {
            unknown: unknown.to_owned(),
            kernel_flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            ..Self::default()
        }
    }
}
