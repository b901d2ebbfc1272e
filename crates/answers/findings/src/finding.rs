//! Findings of the rules.

use onoff_blame::account::FixFirst;
use onoff_evidence::Certainty;
use onoff_trace::named;
use onoff_what_if::changes::Change;
use serde::Serialize;

use crate::cost::{Cost, Interval};

pub use crate::advised_action::AdvisedAction;
pub use crate::cost::CostBasis;

named! {
    /// Severity of a finding.
    #[derive(Default, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum FindingSeverity {
        /// The cost is small or unknown.
        #[default]
        Note = "note",
        /// The cost is a noticeable part of the transition.
        Moderate = "moderate",
        /// The cost is a large part of the transition.
        High = "high",
    }
}

/// Kind of a finding's subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingSubjectKind {
    Service,
    Driver,
    Device,
    Process,
    /// A file or folder.
    File,
    Disk,
    /// Other named work, such as a policy, a script or a logon subscriber.
    Work,
    Phase,
    /// A setting of an installation.
    Setting,
    /// The transition as a whole.
    Transition,
    Recording,
}

/// The subject of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingSubject {
    pub kind: FindingSubjectKind,
    /// Name; empty if the kind is sufficient.
    pub name: String,
    /// Process id, if the subject has a process.
    pub pid: Option<u32>,
}

impl FindingSubject {
    #[must_use]
    pub fn new(kind: FindingSubjectKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), pid: None }
    }

    #[must_use]
    pub const fn with_pid(mut self, pid: Option<u32>) -> Self {
        self.pid = pid;
        self
    }
}

/// A recorded fact that supports a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingEvidence {
    /// Time of the event or of its start, ns; `None` for facts without a time.
    pub time_ns: Option<i64>,
    /// The fact, as a clause.
    pub text: String,
}

/// A finding of another rule with the same cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoldedFinding {
    /// Stable code of the rule.
    pub code: &'static str,
    /// The finding, as a sentence without a period.
    pub title: String,
}

/// A finding of a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleFinding {
    /// Stable code of the rule, e.g. `boot/driver-start-not-pended`.
    pub code: &'static str,
    /// The transition: `boot`, `shutdown`, `suspend 1` and so on; or `recording`, or `image`.
    pub transition: String,
    pub severity: FindingSeverity,
    /// The finding, as a sentence without a period.
    pub title: String,
    pub subject: FindingSubject,
    /// Names of the subjects of a chain, in order of time; empty for a single subject.
    pub members: Vec<String>,
    /// Cost, ns: what fixing it would save; `None` if unknown.
    pub cost_ns: Option<i64>,
    /// Lowest cost of the prediction, ns; `None` if the cost is not predicted.
    pub cost_min_ns: Option<i64>,
    /// Highest cost of the prediction, ns; `None` if the cost is not predicted.
    pub cost_max_ns: Option<i64>,
    /// How the cost was determined.
    pub cost_basis: CostBasis,
    /// Measured time of the subject, ns: on the critical path, or beside it; `None` if unknown. Higher than a predicted
    /// cost if other work ran at the same time.
    pub measured_ns: Option<i64>,
    /// The predicted changes, as in `onoff what-if`; empty if the cost is not predicted.
    pub changes: Vec<Change>,
    pub certainty: Certainty,
    /// The phase whose account contains the subject; `None` if no account does.
    pub phase: Option<String>,
    /// When the subject was active according to the rule, ns. Used to find other subjects active at that time.
    #[serde(skip)]
    pub active_interval: Option<Interval>,
    /// Supporting facts, strongest first.
    pub evidence: Vec<FindingEvidence>,
    /// Findings of other rules with the same cause.
    pub folded: Vec<FoldedFinding>,
    /// What to do, as a sentence without a period.
    pub advice: String,
    /// The same as changes to an offline installation; empty for findings in recordings.
    pub actions: Vec<AdvisedAction>,
}

impl RuleFinding {
    /// Creates a measured finding without a cost. Running the rule sets code and transition.
    #[must_use]
    pub fn new(subject: FindingSubject, title: impl Into<String>) -> Self {
        Self {
            code: "",
            transition: String::new(),
            severity: FindingSeverity::Note,
            title: title.into(),
            subject,
            members: Vec::new(),
            cost_ns: None,
            cost_min_ns: None,
            cost_max_ns: None,
            measured_ns: None,
            changes: Vec::new(),
            cost_basis: CostBasis::Unknown,
            certainty: Certainty::Measured,
            phase: None,
            active_interval: None,
            folded: Vec::new(),
            evidence: Vec::new(),
            advice: String::new(),
            actions: Vec::new(),
        }
    }

    /// Summary for the transition's report if this is the finding to fix first.
    #[must_use]
    pub fn fix_first(&self) -> FixFirst {
        FixFirst {
            code: self.code,
            name: self.subject.name.clone(),
            phase: self.phase.clone(),
            cost_ns: self.cost_ns,
            cost_min_ns: self.cost_min_ns,
            cost_max_ns: self.cost_max_ns,
            is_upper_bound: self.cost_basis == CostBasis::AtMost,
            measured_ns: self.measured_ns,
            certainty: self.certainty,
            title: self.title.clone(),
        }
    }

    #[must_use]
    pub const fn cost(mut self, cost: Cost) -> Self {
        self.cost_ns = cost.ns;
        self.cost_basis = cost.basis;
        self
    }

    /// Sets the measured time of a finding without a cost.
    #[must_use]
    pub const fn measured(mut self, measured_ns: i64) -> Self {
        self.measured_ns = Some(measured_ns);
        self
    }

    /// Names the subjects of a chain. A single subject is no chain.
    #[must_use]
    pub fn members<I: IntoIterator<Item: Into<String>>>(mut self, names: I) -> Self {
        self.members = names.into_iter().map(Into::into).collect();
        if self.members.len() == 1 {
            self.members.clear();
        }
        self
    }

    /// Sets the interval in which the subject was active.
    #[must_use]
    pub const fn active_during(mut self, when: Interval) -> Self {
        self.active_interval = Some(when);
        self
    }

    #[must_use]
    pub const fn certainty(mut self, certainty: Certainty) -> Self {
        self.certainty = certainty;
        self
    }

    /// Sets the severity of a finding whose cost is unknown.
    #[must_use]
    pub const fn severity(mut self, severity: FindingSeverity) -> Self {
        self.severity = severity;
        self
    }

    /// Adds a supporting fact.
    #[must_use]
    pub fn evidence(mut self, time_ns: impl Into<Option<i64>>, text: impl Into<String>) -> Self {
        self.evidence.push(FindingEvidence { time_ns: time_ns.into(), text: text.into() });
        self
    }

    /// Adds a change that the advice consists of.
    #[must_use]
    pub fn action(mut self, action: AdvisedAction) -> Self {
        self.actions.push(action);
        self
    }

    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}
