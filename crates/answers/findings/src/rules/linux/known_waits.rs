//! Units whose start is a wait for something known, such as the network, a device or a file system check. Each has a
//! separate rule with specific advice.

use onoff_transitions::linux::boot::UntimedUnit;
use onoff_usage::units::Unit;
use onoff_usage::units::observed_order::PLYMOUTH_WAIT;

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
    /// False if only the duration was recorded.
    pub(super) is_timed: bool,
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
        return untimed_waits(facts, is_wanted, limit_ns);
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
                is_timed: true,
            })
            .collect());
    }
    let to_wait = |unit: &'a Unit| {
        let (end_ns, duration_ns) = unit.end_ns.zip(unit.duration_ns)?;
        let wait = Wait {
            unit: &unit.name,
            start_ns: unit.start_ns,
            end_ns,
            duration_ns,
            on_path: None,
            by_times: false,
            is_timed: true,
        };
        (unit.automatic && duration_ns >= limit_ns && is_wanted(&unit.name)).then_some(wait)
    };
    Ok(report.units.iter().filter_map(to_wait).collect())
}

/// Returns the matching units of `systemd-analyze blame` that took `limit_ns` or more, but no longer than the boot.
fn untimed_waits<'a>(
    facts: &LinuxBootFacts<'a>,
    is_wanted: impl Fn(&str) -> bool,
    limit_ns: i64,
) -> Result<Vec<Wait<'a>>, MissingInput> {
    let report = facts.report;
    if report.details.untimed_units.is_empty() {
        return Err(missing_input("unit start and end times"));
    }
    let max_ns = report.details.startup_ns.unwrap_or(report.total_at_least_ns);
    let is_match = |unit: &&'a UntimedUnit| {
        // It waits for the end of the boot.
        unit.unit != PLYMOUTH_WAIT && (limit_ns..=max_ns).contains(&unit.duration_ns) && is_wanted(&unit.unit)
    };
    let waits = report.details.untimed_units.iter().filter(is_match).map(|unit| Wait {
        unit: &unit.unit,
        start_ns: 0,
        end_ns: unit.duration_ns,
        duration_ns: unit.duration_ns,
        on_path: None,
        by_times: false,
        is_timed: false,
    });
    Ok(waits.collect())
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
        let finding = RuleFinding::new(subject, title).advice(advice);
        let finding = match self.is_timed {
            true => finding
                .evidence(self.start_ns, format!("{} started", self.unit))
                .evidence(self.end_ns, format!("the next units could start, {} later", time(self.duration_ns))),
            false => {
                finding.evidence(None, format!("systemd-analyze blame: {} took {}", self.unit, time(self.duration_ns)))
            }
        };
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
