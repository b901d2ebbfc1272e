//! Windows' own account of a boot beside the phases of a trace. The serialized names are part of the documented
//! interface of `boot --format json`.

use onoff_evidence::Certainty;
use onoff_trace::LoggedAccount;
use serde::Serialize;

/// Windows' own account of a boot that was also traced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountComparison {
    /// What the event logs have about the boot.
    pub logs: LoggedAccount,
    /// The times that both give; empty without an account.
    pub times: Vec<ComparedTime>,
    /// True if a time differs beyond its tolerance and not by definition; `None` without an account.
    pub is_disagreement: Option<bool>,
}

/// A time from the trace and from Windows' own account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedTime {
    /// Phase, sum or interval, e.g. `PreSMSS`.
    pub name: &'static str,
    /// Time from the trace, ns; `None` if unknown.
    pub trace_ns: Option<i64>,
    /// Time from the account, ns; `None` if Windows did not measure it.
    pub windows_ns: Option<i64>,
    /// `windows_ns` minus `trace_ns`, ns.
    pub difference_ns: Option<i64>,
    /// Maximum difference that counts as agreement, ns; `None` if the two cannot be compared.
    pub tolerance_ns: Option<i64>,
    /// Result of the comparison.
    pub agreement: Agreement,
    /// Certainty of the time from the trace.
    pub certainty: Certainty,
    /// Explains an agreement other than `agrees` and `differs`; otherwise empty.
    pub reason: &'static str,
}

/// Result of comparing a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// The difference is within the tolerance.
    Agrees,
    /// The difference is beyond the tolerance.
    Differs,
    /// The definitions explain the difference.
    ByDefinition,
    /// A time is unknown, or the two are different quantities.
    NotCompared,
}

impl Agreement {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::ByDefinition => "by_definition",
            Self::NotCompared => "not_compared",
        }
    }
}
