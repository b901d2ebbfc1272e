//! The phases, as recorded.

use crate::transition::{Phase, PhaseName};
use onoff_trace::Trace;

use super::names::asks_devices;
use super::{Cycle, is_logged};
use crate::evidence::{Boundary, Certainty};

/// Phases of one sleep, at most: a kernel goes through some twenty, and a few more when it tries again.
const MOST_PHASES: usize = 256;

/// The phases of `cycle`, by begin.
pub(super) fn recorded(trace: &Trace, cycle: &Cycle) -> Vec<Phase> {
    cycle
        .phases
        .iter()
        .filter_map(|row| {
            let name = PhaseName::of(trace.text(row.name)).filter(|name| name.half().is_some())?;
            let event = trace.text(row.event).to_owned();
            let (rule, certainty) = rule(name, &event);
            let edge = |time_ns: Option<i64>| Boundary {
                time_ns,
                rule: if time_ns.is_some() { rule.to_owned() } else { "its end is not in the recording".to_owned() },
                event: event.clone(),
                certainty: if time_ns.is_some() { certainty } else { Certainty::Missing },
                missing: Vec::new(),
            };
            let phase = Phase::between(name, &edge(Some(row.start_ns)), &edge(row.end_ns)).of_sleep();
            Some(Phase { detail: trace.text(row.detail).to_owned(), ..phase })
        })
        .take(MOST_PHASES)
        .collect()
}

/// What sets a phase, by who tells it.
fn rule(name: PhaseName, event: &str) -> (&'static str, Certainty) {
    if !is_logged(event) {
        return ("begin and end as traced", Certainty::Measured);
    }
    match name {
        PhaseName::SyncFileSystems => ("the log's line at the end and the length in it", Certainty::Measured),
        PhaseName::DevicesPrepare => {
            ("the log's time for preparing and suspending, less suspending", Certainty::Inferred)
        }
        PhaseName::Machine => ("from the last line before the machine sleeps to the first after", Certainty::Inferred),
        PhaseName::ThawProcesses => {
            ("from the restart of tasks to the end of the sleep, as logged", Certainty::Inferred)
        }
        name if asks_devices(name) => ("the log's line at the end and the length in it", Certainty::Measured),
        _ => ("the log's lines at begin and end", Certainty::Measured),
    }
}
