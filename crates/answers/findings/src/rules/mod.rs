//! The rules, one file each, grouped by transition.

pub(crate) mod account;
pub(crate) mod boot;
mod dpc;
pub(crate) mod image;
pub(crate) mod linux;
pub(crate) mod recording;
mod reported;
pub(crate) mod shutdown;
pub(crate) mod suspend;

/// Imports shared by all rules.
mod prelude {
    pub(crate) use onoff_evidence::Certainty;

    pub(crate) use crate::context::{
        BootFacts, LinuxBootFacts, ShutdownFacts, SuspendFacts, missing_input, missing_kernel_flags,
    };
    pub(crate) use crate::cost::{Cost, Interval};
    pub(crate) use crate::finding::{FindingSubject, FindingSubjectKind, RuleFinding};
    pub(crate) use crate::quantities::{counted, file_name, folder, listed, size, time};
    pub(crate) use crate::rule::{Outcome, rule};
    pub(crate) use crate::thresholds;
    pub(crate) use onoff_evidence::interval::covered_ns;
}
