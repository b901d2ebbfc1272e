//! Units whose start is a wait for something that is known: the network, devices, the check of a file system. Each has its rule, with
//! its advice.

use onoff_evidence::interval::covered_ns;
use onoff_transitions::PhaseName;
use onoff_usage::units::Unit;

use crate::rule::NotChecked;
use crate::rules::prelude::*;

/// A unit beside which others started for less than this part of its start was alone: a twentieth. Chosen.
const ALONE: i64 = 20;

/// What the start of one of them took.
pub(super) struct Wait<'a> {
    /// The unit.
    pub(super) unit: &'a str,
    /// When it began, ns.
    pub(super) start_ns: i64,
    /// Until the next one could go on; of a unit that is not known to have been waited for, until it was done, ns.
    pub(super) end_ns: i64,
    /// From one to the other, ns.
    pub(super) duration_ns: i64,
    /// How certain it is that the way to the default target went through it; `None` where dependencies were not recorded.
    pub(super) on_path: Option<Certainty>,
    /// For how long of it, up to the end of the start, no other unit was starting: the start waited for it then, whatever the order, ns.
    pub(super) alone_ns: i64,
}

/// The units that `is_it` holds of and that took `limit_ns` or more. Where it is known who waited for whom, those beside the way to
/// the default target are left out: it did not wait for them.
///
/// # Errors
/// The recording has no times of units.
pub(super) fn waits<'a>(
    facts: &LinuxBootFacts<'a>,
    is_it: impl Fn(&str) -> bool,
    limit_ns: i64,
) -> Result<Vec<Wait<'a>>, NotChecked> {
    let report = facts.report;
    if report.units.is_empty() {
        return Err(lacks_other("when each unit started and was done"));
    }
    let path = &report.details.critical_path;
    if !path.steps.is_empty() {
        let on_path = path.steps.iter().filter(|step| step.duration_ns >= limit_ns && is_it(&step.unit));
        return Ok(on_path
            .map(|step| Wait {
                unit: &step.unit,
                start_ns: step.start_ns,
                end_ns: step.end_ns,
                duration_ns: step.duration_ns,
                on_path: Some(step.released_by.certainty.and(path.certainty)),
                alone_ns: 0,
            })
            .collect());
    }
    let of_unit = |unit: &'a Unit| {
        let (end_ns, duration_ns) = unit.end_ns.zip(unit.duration_ns)?;
        let alone_ns = alone_ns(facts, &unit.name, (unit.start_ns, end_ns));
        let wait = Wait { unit: &unit.name, start_ns: unit.start_ns, end_ns, duration_ns, on_path: None, alone_ns };
        (unit.automatic && duration_ns >= limit_ns && is_it(&unit.name)).then_some(wait)
    };
    Ok(report.units.iter().filter_map(of_unit).collect())
}

/// How long of `own` no unit but `name` was starting, up to the end of the start, ns. 0 where that end is not known.
fn alone_ns(facts: &LinuxBootFacts<'_>, name: &str, own: Stretch) -> i64 {
    let report = facts.report;
    let reached = report.details.default_target.as_ref().map(|target| target.reached_ns);
    let finished = report.phase(PhaseName::UserSpace).and_then(|phase| phase.end_ns);
    let Some(until) = reached.or(finished) else { return 0 };
    let window = (own.0, own.1.min(until));
    let others = report.units.iter().filter(|unit| unit.name != name);
    let others = others.map(|unit| (unit.start_ns, unit.end_ns.unwrap_or(i64::MAX))).collect();
    covered_ns(vec![own], window).saturating_sub(covered_ns(others, window))
}

impl Wait<'_> {
    /// What is known of a unit of which no order is recorded.
    pub(super) fn title(&self) -> String {
        let (unit, took) = (self.unit, time(self.duration_ns));
        match self.alone_ns {
            ns if self.was_alone() => format!("{unit} takes {took}; nothing else was starting for {} of it", time(ns)),
            ns if ns >= thresholds::NOISE_NS => {
                format!(
                    "{unit} takes {took}; the boot waits {} of it at least, for nothing else was starting",
                    time(ns)
                )
            }
            _ => format!("{unit} takes {took}; whether the boot waits for it is not recorded"),
        }
    }

    /// Whether nothing else was starting nearly all the time.
    const fn was_alone(&self) -> bool {
        self.alone_ns.saturating_mul(ALONE) >= self.duration_ns.saturating_mul(ALONE - 1)
    }

    /// The finding about it.
    pub(super) fn finding(&self, title: String, advice: impl Into<String>) -> RuleFinding {
        let subject = FindingSubject::new(FindingSubjectKind::Service, self.unit);
        let finding = RuleFinding::new(subject, title)
            .because(self.start_ns, format!("{} is started", self.unit))
            .because(self.end_ns, format!("it lets others go on, {} later", time(self.duration_ns)))
            .advise(advice);
        match self.on_path {
            Some(certainty) => finding.costs(Cost::on_path(self.duration_ns)).certain(certainty),
            // All the time nothing else was starting: the start can only have waited for it.
            None if self.was_alone() => finding
                .costs(Cost::on_path(self.alone_ns))
                .certain(Certainty::Inferred)
                .because(None, format!("nothing else was starting for {} of it", time(self.alone_ns))),
            None => {
                let finding = finding
                    .costs(Cost::at_most(self.duration_ns))
                    .certain(Certainty::Inferred)
                    .because(None, "whether anything waited for it is not recorded: that needs the units' properties");
                match self.alone_ns >= thresholds::NOISE_NS {
                    true => finding.because(
                        None,
                        format!("at least {}: nothing else was starting for that long", time(self.alone_ns)),
                    ),
                    false => finding,
                }
            }
        }
    }
}
