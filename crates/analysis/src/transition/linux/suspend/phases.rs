//! The phases, as recorded.

use onoff_trace::Trace;

use super::names::SleepPhaseName;
use super::report::SleepPhase;
use super::{Cycle, is_logged};
use crate::evidence::Certainty;

/// Phases of one sleep, at most: a kernel goes through some twenty, and a few more when it tries again.
const MOST_PHASES: usize = 256;

/// The phases of `cycle`, by begin.
pub(super) fn recorded(trace: &Trace, cycle: &Cycle) -> Vec<SleepPhase> {
    cycle
        .phases
        .iter()
        .filter_map(|row| {
            let name = SleepPhaseName::of(trace.text(row.name))?;
            let event = trace.text(row.event).to_owned();
            let duration_ns = row.end_ns.map(|end| end.saturating_sub(row.start_ns));
            let (rule, certainty) = rule(name, &event);
            Some(SleepPhase {
                name,
                half: name.half(),
                start_ns: row.start_ns,
                end_ns: row.end_ns,
                duration_ns,
                detail: trace.text(row.detail).to_owned(),
                rule: match row.end_ns {
                    Some(_) => rule.to_owned(),
                    None => "its end is not in the recording".to_owned(),
                },
                event,
                certainty: if row.end_ns.is_some() { certainty } else { Certainty::Missing },
                callbacks: 0,
                callbacks_total_ns: 0,
                callbacks_covered_ns: 0,
                path: Vec::new(),
                path_ns: 0,
                cpu: None,
                disk: None,
            })
        })
        .take(MOST_PHASES)
        .collect()
}

/// What sets a phase, by who tells it.
fn rule(name: SleepPhaseName, event: &str) -> (&'static str, Certainty) {
    if !is_logged(event) {
        return ("begin and end as traced", Certainty::Measured);
    }
    match name {
        SleepPhaseName::SyncFileSystems => ("the log's line at the end and the length in it", Certainty::Measured),
        SleepPhaseName::DevicesPrepare => {
            ("the log's time for preparing and suspending, less suspending", Certainty::Inferred)
        }
        SleepPhaseName::Machine => {
            ("from the last line before the machine sleeps to the first after", Certainty::Inferred)
        }
        SleepPhaseName::ThawProcesses => {
            ("from the restart of tasks to the end of the sleep, as logged", Certainty::Inferred)
        }
        name if name.asks().is_some() => ("the log's line at the end and the length in it", Certainty::Measured),
        _ => ("the log's lines at begin and end", Certainty::Measured),
    }
}
