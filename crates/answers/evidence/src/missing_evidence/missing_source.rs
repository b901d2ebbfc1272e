//! A piece of missing evidence: the fact that is unknown without it, and its source.

use serde::Serialize;

use super::UnknownFact;

/// Evidence that the recording does not contain: events of a provider or the NT Kernel Logger (Windows), or a part of a
/// recording (Linux). All source fields are empty if the evidence cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingSource {
    /// The fact that is unknown, or only inferred, without it.
    pub unknown: UnknownFact,
    /// Provider of the events; empty for other evidence.
    pub provider: String,
    /// Provider GUID, lowercase with hyphens; empty for other evidence.
    pub guid: String,
    /// Keywords to enable, hexadecimal; `0xffffffffffffffff` for all. Empty for other evidence.
    pub keyword: String,
    /// Level to enable, from 1 (critical) to 5 (verbose); 0 for other evidence.
    pub level: u8,
    /// NT Kernel Logger flags as xperf names them; empty for other evidence.
    pub kernel_flags: Vec<String>,
}

impl MissingSource {
    /// Creates evidence that needs no provider: a part of a Linux recording.
    #[must_use]
    pub fn new(unknown: UnknownFact) -> Self {
        Self {
            unknown,
            provider: String::new(),
            guid: String::new(),
            keyword: String::new(),
            level: 0,
            kernel_flags: Vec::new(),
        }
    }

    /// Creates evidence from the NT Kernel Logger.
    #[must_use]
    pub fn from_kernel_logger(unknown: UnknownFact, flags: &[&str]) -> Self {
        Self { kernel_flags: flags.iter().map(|&flag| flag.to_owned()).collect(), ..Self::new(unknown) }
    }
}
