//! What a recording holds, in a clause: for who asked about a transition that it does not hold.

use onoff_trace::{ActivityKind, Duration, Trace, milestone};

use super::TransitionKind;

/// How a recording that does not hold the requested transition is described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    /// The clause: `in its 3.2 s, 0 processes start and 60 processes end: this looks like a shutdown`.
    pub found: String,
    /// Processes that were there when the recording began.
    pub processes_before: u64,
    /// Processes that started in it.
    pub processes_started: u64,
    /// Processes that ended in it.
    pub processes_ended: u64,
}

/// What `trace` holds instead of `asked`.
pub(crate) fn instead_of(trace: &Trace, asked: TransitionKind) -> Contents {
    let count = |wanted: fn(Option<i64>, Option<i64>) -> bool| {
        trace.processes.iter().filter(|process| wanted(process.start_ns, process.end_ns)).count() as u64
    };
    let processes_before = count(|start, _| start.is_none());
    let processes_started = count(|start, _| start.is_some());
    let processes_ended = count(|_, end| end.is_some());
    let counted = |count: u64, verb: &str| match count {
        1 => format!("1 process {verb}s"),
        _ => format!("{count} processes {verb}"),
    };
    let mut found = format!("in its {}, ", Duration::from_ns(trace.length_ns()));
    if trace.processes.is_empty() {
        found.push_str("no process event was recorded");
    } else {
        found.push_str(&counted(processes_started, "start"));
        found.push_str(" and ");
        found.push_str(&counted(processes_ended, "end"));
    }
    let has =
        |name: &str| trace.strings.find(name).is_some_and(|name| trace.milestones.iter().any(|row| row.name == name));
    let works = |kind: ActivityKind| trace.activities.iter().any(|row| row.kind == kind);
    let looks_like = if asked != TransitionKind::Suspend
        && (works(ActivityKind::PowerPhase) || works(ActivityKind::PowerTransition))
    {
        Some("a suspend; 'onoff suspend' answers")
    } else if asked != TransitionKind::Boot && has(milestone::AUTO_START_BEGIN) {
        Some("a boot; 'onoff boot' answers")
    } else if asked != TransitionKind::Shutdown
        && (has(milestone::SYSTEM_STOP) || (processes_ended > 10 && processes_ended > 2 * processes_started))
    {
        Some("a shutdown; 'onoff shutdown' answers")
    } else {
        None
    };
    if let Some(what) = looks_like {
        found.push_str(": this looks like ");
        found.push_str(what);
    }
    Contents { found, processes_before, processes_started, processes_ended }
}
