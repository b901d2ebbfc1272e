//! Units whose start is a wait for something known, such as the network, a device or a file system check. Each has a
//! separate rule with specific advice.

use onoff_usage::units::Unit;

use crate::rule::MissingInput;
use crate::rules::prelude::*;

/// A start that the boot waited for. Times in ns.
pub(super) struct Wait<'a> {
    pub(super) unit: &'a str,
    pub(super) start_ns: i64,
    /// When the next unit could start, or, for a unit not known to block others, when the start was done.
    pub(super) end_ns: i64,
    pub(super) duration_ns: i64,
    /// Certainty that the unit was on the critical path; `None` if the path is unknown.
    pub(super) on_path: Option<Certainty>,
    /// True if the path was inferred from the times of the units.
    pub(super) by_times: bool,
}

/// Returns the matching units that took `limit_ns` or more. If the critical path is known, only units on it.
///
/// # Errors
/// The recording has no unit times.
pub(super) fn waits<'a>(
    facts: &LinuxBootFacts<'a>,
    is_wanted: impl Fn(&str) -> bool,
    limit_ns: i64,
) -> Result<Vec<Wait<'a>>, MissingInput> {
    let report = facts.report;
    if report.units.is_empty() {
        return Err(missing_input("unit start and end times"));
    }
    let path = &report.details.critical_path;
    if !path.steps.is_empty() {
        let on_path = path.steps.iter().filter(|step| step.duration_ns >= limit_ns && is_wanted(&step.unit));
        return Ok(on_path
            .map(|step| Wait {
                unit: &step.unit,
                start_ns: step.start_ns,
                end_ns: step.end_ns,
                duration_ns: step.duration_ns,
                on_path: Some(step.released_by.certainty.and(path.certainty)),
                by_times: !path.has_declared_order(),
            })
            .collect());
    }
    let to_wait = |unit: &'a Unit| {
        let (end_ns, duration_ns) = unit.end_ns.zip(unit.duration_ns)?;
        let wait =
            Wait { unit: &unit.name, start_ns: unit.start_ns, end_ns, duration_ns, on_path: None, by_times: false };
        (unit.automatic && duration_ns >= limit_ns && is_wanted(&unit.name)).then_some(wait)
    };
    Ok(report.units.iter().filter_map(to_wait).collect())
}

/// How the rules know that the boot waited for a unit if its order was not recorded.
const BY_TIMES: &str =
    "the boot waited for it by the times of the units: their order was not recorded ('systemctl show \"*\"')";

impl Wait<'_> {
    /// Title for a unit of which it is unknown whether the boot waited for it.
    pub(super) fn title(&self) -> String {
        format!("{} took {}; whether the boot waited for it is not recorded", self.unit, time(self.duration_ns))
    }

    pub(super) fn finding(&self, title: String, advice: impl Into<String>) -> RuleFinding {
        let subject = FindingSubject::new(FindingSubjectKind::Service, self.unit);
        let finding = RuleFinding::new(subject, title)
            .evidence(self.start_ns, format!("{} started", self.unit))
            .evidence(self.end_ns, format!("the next units could start, {} later", time(self.duration_ns)))
            .advice(advice);
        match self.on_path {
            Some(certainty) => {
                let finding = finding.cost(Cost::on_path(self.duration_ns)).certainty(certainty);
                if self.by_times { finding.evidence(None, BY_TIMES) } else { finding }
            }
            None => finding
                .cost(Cost::at_most(self.duration_ns))
                .certainty(Certainty::Inferred)
                .evidence(None, "whether anything waited for it is not recorded (unit properties are missing)"),
        }
    }
}
