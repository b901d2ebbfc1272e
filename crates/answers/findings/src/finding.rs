//! What a rule found.

use onoff_blame::account::FixFirst;
use onoff_evidence::Certainty;
use onoff_trace::named;
use serde::Serialize;

use crate::cost::{Cost, Stretch};

pub use crate::cost::CostBasis;

named! {
    /// How much a finding matters.
    #[derive(Default, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum FindingSeverity {
        /// Worth knowing; its cost is small or cannot be told.
        #[default]
        Note = "note",
        /// Costs a noticeable part of the transition.
        Moderate = "moderate",
        /// Costs much of the transition.
        High = "high",
    }
}

/// What kind of thing a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingSubjectKind {
    /// A service.
    Service,
    /// A driver.
    Driver,
    /// A device.
    Device,
    /// A process.
    Process,
    /// A file or folder.
    File,
    /// A disk.
    Disk,
    /// A policy, a script, a subscriber: work with a name of its own.
    Work,
    /// A phase of the transition.
    Phase,
    /// A setting of an installation.
    Setting,
    /// The transition as a whole.
    Transition,
    /// The recording.
    Recording,
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingSubject {
    /// What kind of thing.
    pub kind: FindingSubjectKind,
    /// Its name; empty where the kind says all.
    pub name: String,
    /// Its process, where it has one.
    pub pid: Option<u32>,
}

impl FindingSubject {
    /// A thing with a name.
    #[must_use]
    pub fn new(kind: FindingSubjectKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), pid: None }
    }

    /// The same, with its process.
    #[must_use]
    pub const fn with_pid(mut self, pid: Option<u32>) -> Self {
        self.pid = pid;
        self
    }
}

/// Something in the recording that a finding rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingEvidence {
    /// When it happened or began, ns; `None` for what has no place in time.
    pub time_ns: Option<i64>,
    /// What, as a clause.
    pub text: String,
}

/// What another rule found of the same cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoldedFinding {
    /// The rule's stable code.
    pub code: &'static str,
    /// What it found, as a sentence without its full stop.
    pub title: String,
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleFinding {
    /// The rule's stable code, e.g. `boot/driver-start-not-pended`.
    pub code: &'static str,
    /// The transition it is about: `boot`, `shutdown`, `suspend 1` and so on; `recording`, or `image`.
    pub transition: String,
    /// How much it matters.
    pub severity: FindingSeverity,
    /// What was found, as a sentence without its full stop.
    pub title: String,
    /// What it is about.
    pub subject: FindingSubject,
    /// What it costs, ns; `None` when that is not known.
    pub cost_ns: Option<i64>,
    /// How that was found.
    pub cost_basis: CostBasis,
    /// How certain the finding is.
    pub certainty: Certainty,
    /// The phase whose account it is about; `None` where no account says whose the time was.
    pub phase: Option<String>,
    /// When its subject was at work, as its rule sees it, ns: for who else took that time.
    #[serde(skip)]
    pub when: Option<Stretch>,
    /// What it rests on, most telling first.
    pub evidence: Vec<FindingEvidence>,
    /// What other rules found of the same cause.
    pub folded: Vec<FoldedFinding>,
    /// What to do.
    pub advice: String,
}

impl RuleFinding {
    /// A finding without a cost, measured; code and transition are filled in by who runs the rule.
    #[must_use]
    pub fn new(subject: FindingSubject, title: impl Into<String>) -> Self {
        Self {
            code: "",
            transition: String::new(),
            severity: FindingSeverity::Note,
            title: title.into(),
            subject,
            cost_ns: None,
            cost_basis: CostBasis::Unknown,
            certainty: Certainty::Measured,
            phase: None,
            when: None,
            folded: Vec::new(),
            evidence: Vec::new(),
            advice: String::new(),
        }
    }

    /// What a transition's report says of it, where it is the one to fix first; `None` where its cost is unknown.
    #[must_use]
    pub fn fix_first(&self) -> Option<FixFirst> {
        Some(FixFirst {
            code: self.code,
            name: self.subject.name.clone(),
            phase: self.phase.clone(),
            cost_ns: self.cost_ns.filter(|&ns| ns > 0)?,
            at_most: self.cost_basis != CostBasis::CriticalPath,
            certainty: self.certainty,
            title: self.title.clone(),
        })
    }

    /// With what it costs.
    #[must_use]
    pub const fn cost(mut self, cost: Cost) -> Self {
        self.cost_ns = cost.ns;
        self.cost_basis = cost.basis;
        self
    }

    /// With when its subject was at work.
    #[must_use]
    pub const fn within(mut self, when: Stretch) -> Self {
        self.when = Some(when);
        self
    }

    /// With how certain it is.
    #[must_use]
    pub const fn certainty(mut self, certainty: Certainty) -> Self {
        self.certainty = certainty;
        self
    }

    /// With how much it matters, where nobody can say what it costs.
    #[must_use]
    pub const fn severity(mut self, severity: FindingSeverity) -> Self {
        self.severity = severity;
        self
    }

    /// With one more piece of evidence.
    #[must_use]
    pub fn evidence(mut self, time_ns: impl Into<Option<i64>>, text: impl Into<String>) -> Self {
        self.evidence.push(FindingEvidence { time_ns: time_ns.into(), text: text.into() });
        self
    }

    /// With what to do.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}
