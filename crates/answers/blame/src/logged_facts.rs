//! Answers `onoff why` from event logs: what Windows recorded about the target. Event logs have no threads, so there is
//! no critical path.

use onoff_evidence::interval::Interval;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_trace::{ActivityKind, Pattern, ReportedCause, ReportedTransition, ServiceFailureKind, Trace};
use onoff_usage::owners::file_name;
use serde::Serialize;

use crate::question::{WhyError, WhyQuestion, WhyTarget, phases_named};

/// Why an event log has no answer, and what would give one.
const RECORD: &str =
    "A Windows event log does not record threads: to see waits, record the boot with 'onoff record boot'";

/// A record of event logs about the target of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoggedFact {
    /// `reported_delay` (Windows reported it as slow), `service_failure`, or the kind of an activity, e.g.
    /// `startup_application`.
    pub kind: &'static str,
    /// Name of the program, service, driver, device or subscriber.
    pub name: String,
    /// Cause of a delay (e.g. `service`), kind of a failure (e.g. `connect_timeout`), or detail of an activity; empty
    /// for none.
    pub detail: String,
    /// Start, ns: of an activity, or of the wait before a failure, otherwise when the failure was recorded; `None` for
    /// delays, whose start is not recorded.
    pub start_ns: Option<i64>,
    /// Duration, or how long the service manager waited, ns; `None` if not recorded.
    pub duration_ns: Option<i64>,
    /// Time beyond what Windows allows for such a cause, ns; `None` for other records.
    pub excess_ns: Option<i64>,
    /// The record; empty for activities.
    pub event: String,
}

/// Returns what event logs record about the target, longest first.
///
/// # Errors
/// Nothing in the logs is about the target.
pub(crate) fn logged_facts(trace: &Trace, question: &WhyQuestion) -> Result<Vec<LoggedFact>, WhyError> {
    let target = Target::new(trace, question)?;
    let mut facts: Vec<LoggedFact> = delays(trace, &target).chain(failures(trace, &target)).collect();
    facts.extend(activities(trace, &target));
    facts.retain(|fact| fact.duration_ns.is_none_or(|ns| ns >= question.min_duration_ns));
    if question.at_ns.is_some() || question.within.is_some() {
        facts.retain(|fact| {
            let Some(start_ns) = fact.start_ns else { return false };
            let range = Interval::new(start_ns, start_ns.saturating_add(fact.duration_ns.unwrap_or(1)));
            question.at_ns.is_none_or(|time_ns| range.contains(time_ns))
                && question.within.is_none_or(|within| range.overlap_ns(within.start_ns, within.end_ns) > 0)
        });
    }
    if facts.is_empty() {
        return Err(WhyError::NotFound(format!("{}. {RECORD}", target.absence())));
    }
    facts.sort_by_key(|fact| std::cmp::Reverse(fact.duration_ns));
    Ok(facts)
}

/// What records have to be about.
enum Target<'q> {
    Program(&'q Pattern),
    Service(&'q Pattern),
    Device(&'q Pattern),
    Thread,
    /// Phases with these ranges. Delays and failures belong to whole transitions, of this kind or of all.
    Phases(Vec<Interval>, Option<TransitionKind>, bool),
}

impl<'q> Target<'q> {
    fn new(trace: &Trace, question: &'q WhyQuestion) -> Result<Self, WhyError> {
        Ok(match &question.target {
            WhyTarget::Process(pattern) => Self::Program(pattern),
            WhyTarget::Service(pattern) => Self::Service(pattern),
            WhyTarget::Device(pattern) => Self::Device(pattern),
            WhyTarget::Thread(_) => Self::Thread,
            WhyTarget::Phase(pattern, kind) => {
                Self::Phases(phases_named(trace, pattern.as_ref(), *kind)?, *kind, pattern.is_none())
            }
            WhyTarget::LongestPhase(kind) => {
                let longest = phases_named(trace, None, *kind)?.into_iter().max_by_key(|range| range.duration_ns());
                Self::Phases(longest.into_iter().collect(), *kind, false)
            }
        })
    }

    /// Says that the logs have nothing about the target, and when they would.
    fn absence(&self) -> &'static str {
        match self {
            Self::Program(_) => {
                "no such program in the logs of this boot, which name only startup programs and slow ones"
            }
            Self::Service(_) => {
                "no such service in the logs of this boot, which name only services that failed or were slow"
            }
            Self::Device(_) => "no such device or driver in the logs of this boot, which name only slow ones",
            Self::Thread => "no threads were recorded",
            Self::Phases(..) => "the logs of this boot do not show what took the time",
        }
    }

    /// True if the target includes what happened anywhere in a transition of this kind.
    fn has_transition(&self, transition: TransitionKind) -> bool {
        matches!(self, Self::Phases(_, kind, true) if kind.is_none_or(|kind| kind == transition))
    }
}

fn delays<'t>(trace: &'t Trace, target: &'t Target<'_>) -> impl Iterator<Item = LoggedFact> + 't {
    let is_match = move |row: &onoff_trace::ReportedDelay| {
        let has_name = |pattern: &Pattern| {
            [row.name, row.friendly_name].map(|name| trace.text(name)).iter().any(|name| pattern.matches(name))
        };
        match target {
            Target::Program(pattern) => {
                row.cause == ReportedCause::Application
                    && (has_name(pattern) || pattern.matches(file_name(trace.text(row.path))))
            }
            Target::Service(pattern) => row.cause == ReportedCause::Service && has_name(pattern),
            Target::Device(pattern) => {
                matches!(row.cause, ReportedCause::Driver | ReportedCause::Device) && has_name(pattern)
            }
            Target::Thread => false,
            Target::Phases(..) => target.has_transition(match row.transition {
                ReportedTransition::Boot => TransitionKind::Boot,
                ReportedTransition::Shutdown => TransitionKind::Shutdown,
            }),
        }
    };
    trace.reported_delays.iter().filter(is_match).map(|row| LoggedFact {
        kind: "reported_delay",
        name: trace.text(row.name).to_owned(),
        detail: row.cause.as_str().to_owned(),
        start_ns: None,
        duration_ns: Some(row.total_ns),
        excess_ns: Some(row.excess_ns),
        event: trace.text(row.event).to_owned(),
    })
}

fn failures<'t>(trace: &'t Trace, target: &'t Target<'_>) -> impl Iterator<Item = LoggedFact> + 't {
    let is_match = move |row: &onoff_trace::ServiceFailure| {
        let has_name =
            |pattern: &Pattern| [row.service, row.display_name].iter().any(|&name| pattern.matches(trace.text(name)));
        match target {
            Target::Service(pattern) => has_name(pattern),
            Target::Device(pattern) => row.kind == ServiceFailureKind::DriverNotLoaded && has_name(pattern),
            // Failures of the session after a boot are many, and no part of it.
            Target::Phases(ranges, ..) => ranges.iter().any(|range| range.contains(row.time_ns)),
            Target::Program(_) | Target::Thread => false,
        }
    };
    trace.service_failures.iter().filter(is_match).map(|row| LoggedFact {
        kind: "service_failure",
        name: trace.text(row.service).to_owned(),
        detail: row.kind.as_str().to_owned(),
        start_ns: Some(row.time_ns.saturating_sub(row.wait_ns.unwrap_or(0))),
        duration_ns: row.wait_ns,
        excess_ns: None,
        event: trace.text(row.event).to_owned(),
    })
}

fn activities<'t>(trace: &'t Trace, target: &'t Target<'_>) -> impl Iterator<Item = LoggedFact> + 't {
    let is_match = move |row: &onoff_trace::Activity| {
        let name = trace.text(row.name);
        match target {
            Target::Program(pattern) => {
                row.kind == ActivityKind::StartupApplication && pattern.matches(file_name(program(name)))
            }
            // Many subscribers are services.
            Target::Service(pattern) => row.kind == ActivityKind::NotificationSubscriber && pattern.matches(name),
            Target::Device(_) | Target::Thread => false,
            Target::Phases(ranges, ..) => {
                let end_ns = row.end_ns.unwrap_or(row.start_ns.saturating_add(1));
                is_work(row.kind) && ranges.iter().any(|range| range.overlap_ns(row.start_ns, end_ns) > 0)
            }
        }
    };
    trace.activities.iter().filter(is_match).map(|row| LoggedFact {
        kind: row.kind.as_str(),
        name: trace.text(row.name).to_owned(),
        detail: trace.text(row.detail).to_owned(),
        start_ns: Some(row.start_ns),
        duration_ns: row.end_ns.map(|end_ns| end_ns.saturating_sub(row.start_ns)),
        excess_ns: None,
        event: String::new(),
    })
}

/// True for work that a phase of a transition consists of, unlike the transition itself.
const fn is_work(kind: ActivityKind) -> bool {
    !matches!(kind, ActivityKind::PowerTransition | ActivityKind::PowerPhase | ActivityKind::SessionShutdown)
}

/// Returns the path of the program that a command line starts. Paths without quotation marks may have spaces.
fn program(command: &str) -> &str {
    let command = command.trim();
    if let Some(quoted) = command.strip_prefix('"') {
        return quoted.split('"').next().unwrap_or(quoted);
    }
    let extension = command.to_ascii_lowercase().find(".exe").and_then(|start| command.get(..start + ".exe".len()));
    extension.unwrap_or_else(|| command.split(' ').next().unwrap_or(command))
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn programs_are_separated_from_their_arguments() {
        assert_eq!(program(r#""C:\Program Files\a b.exe" --to x.exe"#), r"C:\Program Files\a b.exe");
        assert_eq!(program(r"C:\Program Files\A.EXE /start b.exe"), r"C:\Program Files\A.EXE");
        assert_eq!(program("rundll32 a,b"), "rundll32");
        assert_eq!((program("\""), program("")), ("", ""));
    }
}
