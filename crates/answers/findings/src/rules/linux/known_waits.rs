//! Units whose start is a wait for something known, such as the network, a device or a file system check. Each has a
//! separate rule with specific advice.

use onoff_evidence::interval::covered_ns;
use onoff_transitions::PhaseName;
use onoff_usage::units::Unit;

use crate::rule::MissingInput;
use crate::rules::prelude::*;

/// Largest part of a unit's start in which others may be starting for the unit to count as alone: a twentieth. Chosen.
const MAX_OVERLAP_PART: i64 = 20;

/// A start that the boot waited for. Times in ns.
pub(super) struct Wait<'a> {
    pub(super) unit: &'a str,
    pub(super) start_ns: i64,
    /// When the next unit could start, or, for a unit not known to block others, when the start was done.
    pub(super) end_ns: i64,
    pub(super) duration_ns: i64,
    /// Certainty that the unit was on the critical path; `None` if dependencies were not recorded.
    pub(super) on_path: Option<Certainty>,
    /// Time before the end of the boot during which no other unit was starting: whatever the order, the boot waited for
    /// this one.
    pub(super) exclusive_ns: i64,
}

/// Returns the matching units that took `limit_ns` or more. If dependencies were recorded, only those on the critical
/// path.
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
                exclusive_ns: 0,
            })
            .collect());
    }
    let to_wait = |unit: &'a Unit| {
        let (end_ns, duration_ns) = unit.end_ns.zip(unit.duration_ns)?;
        let exclusive_ns = exclusive_ns(facts, &unit.name, (unit.start_ns, end_ns));
        let wait = Wait { unit: &unit.name, start_ns: unit.start_ns, end_ns, duration_ns, on_path: None, exclusive_ns };
        (unit.automatic && duration_ns >= limit_ns && is_wanted(&unit.name)).then_some(wait)
    };
    Ok(report.units.iter().filter_map(to_wait).collect())
}

/// Time within `interval`, up to the end of the boot, during which no unit but `name` was starting; 0 if that end is
/// unknown.
fn exclusive_ns(facts: &LinuxBootFacts<'_>, name: &str, interval: Interval) -> i64 {
    let report = facts.report;
    let target_reached_ns = report.details.default_target.as_ref().map(|target| target.reached_ns);
    let finished_ns = report.phase(PhaseName::UserSpace).and_then(|phase| phase.end_ns);
    let Some(boot_end_ns) = target_reached_ns.or(finished_ns) else { return 0 };
    let window = (interval.0, interval.1.min(boot_end_ns));
    let others = report.units.iter().filter(|unit| unit.name != name);
    let other_intervals = others.map(|unit| (unit.start_ns, unit.end_ns.unwrap_or(i64::MAX))).collect();
    covered_ns(vec![interval], window).saturating_sub(covered_ns(other_intervals, window))
}

impl Wait<'_> {
    /// Title for a unit without recorded ordering.
    pub(super) fn title(&self) -> String {
        let (unit, duration) = (self.unit, time(self.duration_ns));
        match self.exclusive_ns {
            ns if self.was_alone() => {
                format!("{unit} took {duration}; nothing else was starting for {} of that time", time(ns))
            }
            ns if ns >= thresholds::NOISE_NS => {
                format!(
                    "{unit} took {duration}; the boot waited for at least {} of that time, when nothing else was starting",
                    time(ns)
                )
            }
            _ => format!("{unit} took {duration}; whether the boot waited for it is not recorded"),
        }
    }

    /// True if nothing else was starting for nearly all of the time.
    const fn was_alone(&self) -> bool {
        self.exclusive_ns.saturating_mul(MAX_OVERLAP_PART) >= self.duration_ns.saturating_mul(MAX_OVERLAP_PART - 1)
    }

    pub(super) fn finding(&self, title: String, advice: impl Into<String>) -> RuleFinding {
        let subject = FindingSubject::new(FindingSubjectKind::Service, self.unit);
        let finding = RuleFinding::new(subject, title)
            .evidence(self.start_ns, format!("{} started", self.unit))
            .evidence(self.end_ns, format!("the next units could start, {} later", time(self.duration_ns)))
            .advice(advice);
        match self.on_path {
            Some(certainty) => finding.cost(Cost::on_path(self.duration_ns)).certainty(certainty),
            // Nothing else was starting, so the boot can only have waited for this unit.
            None if self.was_alone() => finding
                .cost(Cost::on_path(self.exclusive_ns))
                .certainty(Certainty::Inferred)
                .evidence(None, format!("nothing else was starting for {} of that time", time(self.exclusive_ns))),
            None => {
                let finding = finding
                    .cost(Cost::at_most(self.duration_ns))
                    .certainty(Certainty::Inferred)
                    .evidence(None, "whether anything waited for it is not recorded (unit properties are missing)");
                match self.exclusive_ns >= thresholds::NOISE_NS {
                    true => finding.evidence(
                        None,
                        format!("nothing else was starting for at least {} of that time", time(self.exclusive_ns)),
                    ),
                    false => finding,
                }
            }
        }
    }
}
