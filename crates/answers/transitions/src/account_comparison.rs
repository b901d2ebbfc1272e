//! Windows' own account of a boot or shutdown beside the phases of a trace. The serialized names are part of the
//! documented interface of `boot --format json` and `shutdown --format json`.

use onoff_evidence::Certainty;
use onoff_trace::LoggedAccount;
use serde::Serialize;

/// Windows' own account of a boot or shutdown that was also traced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountComparison {
    /// What the event logs have about the boot or shutdown.
    pub logs: LoggedAccount,
    /// The times that both give; empty without an account.
    pub times: Vec<ComparedTime>,
    /// True if a time differs beyond its tolerance and not by definition; `None` without an account.
    pub is_disagreement: Option<bool>,
}

impl AccountComparison {
    /// Takes the times, or `None` without an account.
    pub(crate) fn new(logs: LoggedAccount, times: Option<Vec<ComparedTime>>) -> Self {
        let differs = |times: &Vec<ComparedTime>| times.iter().any(ComparedTime::is_disagreement);
        let is_disagreement = times.as_ref().map(differs);
        Self { logs, times: times.unwrap_or_default(), is_disagreement }
    }
}

/// A time from the trace and from Windows' own account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedTime {
    /// Phase, sum or interval, e.g. `PreSMSS` or `UserSession`.
    pub name: &'static str,
    /// Time from the trace, ns; `None` if unknown. If the trace ends within a phase of a shutdown, and the recorded part
    /// is longer than Windows says: that part.
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

impl ComparedTime {
    pub(crate) fn is_disagreement(&self) -> bool {
        self.agreement == Agreement::Differs
    }
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

/// Tolerance, ns and percent; the greater one applies. Chosen, not measured: a phase of a few seconds that differs by
/// less changes no conclusion.
pub(crate) const TOLERANCE: (i64, i64) = (500_000_000, 5);
const UNKNOWN_TIME: &str = "one of the two times is unknown";

/// A time before it is compared.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) trace_ns: Option<i64>,
    pub(crate) windows_ns: Option<i64>,
    pub(crate) tolerance: (i64, i64),
    pub(crate) certainty: Certainty,
    /// Differences that the definitions explain, ns, and why.
    pub(crate) by_definition: Vec<(i64, &'static str)>,
    /// Why the two times are different quantities.
    pub(crate) incomparable: Option<&'static str>,
}

impl Pair {
    pub(crate) const fn new(
        name: &'static str,
        trace_ns: Option<i64>,
        windows_ns: Option<i64>,
        certainty: Certainty,
    ) -> Self {
        Self {
            name,
            trace_ns,
            windows_ns,
            tolerance: TOLERANCE,
            certainty,
            by_definition: Vec::new(),
            incomparable: None,
        }
    }

    pub(crate) fn or_by_definition(mut self, difference_ns: i64, reason: &'static str) -> Self {
        self.by_definition.push((difference_ns, reason));
        self
    }

    pub(crate) fn compare(self) -> ComparedTime {
        let Self { name, trace_ns, windows_ns, tolerance: (min_ns, percent), certainty, .. } = self;
        let times = trace_ns.zip(windows_ns);
        let difference_ns = times.map(|(trace_ns, windows_ns)| windows_ns.saturating_sub(trace_ns));
        let longer_ns = times.map(|(trace_ns, windows_ns)| trace_ns.max(windows_ns));
        let tolerance_ns = longer_ns
            .filter(|_| self.incomparable.is_none())
            .map(|ns| min_ns.max(ns.saturating_mul(percent).checked_div(100).unwrap_or(0)));
        let is_within = |ns: i64, tolerance_ns: i64| ns.saturating_abs() <= tolerance_ns;
        let (agreement, reason) = match (difference_ns, tolerance_ns) {
            (Some(difference), Some(tolerance)) if is_within(difference, tolerance) => (Agreement::Agrees, ""),
            (Some(difference), Some(tolerance)) => self
                .by_definition
                .iter()
                .find(|(expected_ns, _)| is_within(difference.saturating_sub(*expected_ns), tolerance))
                .map_or((Agreement::Differs, ""), |&(_, reason)| (Agreement::ByDefinition, reason)),
            _ => (Agreement::NotCompared, self.incomparable.unwrap_or(UNKNOWN_TIME)),
        };
        ComparedTime { name, trace_ns, windows_ns, difference_ns, tolerance_ns, agreement, certainty, reason }
    }
}
