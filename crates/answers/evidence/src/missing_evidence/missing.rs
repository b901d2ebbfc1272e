//! What a recording does not hold, what is not known without it, and what would record it.

use serde::Serialize;

use super::Unanswered;

/// Evidence that a recording does not hold: of Windows events of a provider or of the kernel's own logger, of Linux a part; neither
/// where no recording holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingEvidence {
    /// What is not known, or only inferred, without it.
    pub unanswered: Unanswered,
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
}

impl MissingEvidence {
    /// Evidence that the question alone names: a part of a recording of Linux.
    #[must_use]
    pub fn of(unanswered: Unanswered) -> Self {
        Self {
            unanswered,
            provider: String::new(),
            guid: String::new(),
            keyword: String::new(),
            level: 0,
            kernel_flags: Vec::new(),
        }
    }

    /// Flags of the kernel's own logger.
    #[must_use]
    pub fn of_kernel_logger(unanswered: Unanswered, flags: &[&str]) -> Self {
        Self { kernel_flags: flags.iter().map(|&flag| flag.to_owned()).collect(), ..Self::of(unanswered) }
    }
}
