//! Describes a recording that does not contain the requested transition.

use onoff_trace::{ActivityKind, Duration, Trace, milestone};

use super::TransitionKind;

/// What a recording contains instead of the requested transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    /// A clause such as `0 processes started and 60 exited in 3.2 s. It looks like a shutdown; try 'onoff shutdown
    /// FILE'`.
    pub found: String,
    /// Processes that were running when the recording started.
    pub processes_before: u64,
    pub processes_started: u64,
    /// Processes that exited during the recording.
    pub processes_ended: u64,
}

/// Describes `trace`, which does not contain a transition of kind `requested`.
pub(crate) fn describe_instead(trace: &Trace, requested: TransitionKind) -> Contents {
    let count = |is_counted: fn(Option<i64>, Option<i64>) -> bool| {
        trace.processes.iter().filter(|process| is_counted(process.start_ns, process.end_ns)).count() as u64
    };
    let processes_before = count(|start, _| start.is_none());
    let processes_started = count(|start, _| start.is_some());
    let processes_ended = count(|_, end| end.is_some());
    let length = Duration::from_ns(trace.length_ns());
    let mut description = if !trace.channels.is_empty() {
        format!("event logs of a boot of {length}")
    } else if trace.is_power_report() {
        format!("power reports of {length}, which show sleeps only")
    } else if trace.processes.is_empty() {
        format!("no process events were recorded in {length}")
    } else {
        let noun = if processes_started == 1 { "process" } else { "processes" };
        format!("{processes_started} {noun} started and {processes_ended} exited in {length}")
    };
    let has_milestone =
        |name: &str| trace.strings.find(name).is_some_and(|name| trace.milestones.iter().any(|row| row.name == name));
    let has_activity = |kind: ActivityKind| trace.activities.iter().any(|row| row.kind == kind);
    let looks_like = if !trace.channels.is_empty() || trace.is_power_report() {
        None
    } else if requested != TransitionKind::Suspend
        && (has_activity(ActivityKind::PowerPhase) || has_activity(ActivityKind::PowerTransition))
    {
        Some(("sleep", "suspend"))
    } else if requested != TransitionKind::Boot && has_milestone(milestone::AUTO_START_BEGIN) {
        Some(("boot", "boot"))
    } else if requested != TransitionKind::Shutdown
        && (has_milestone(milestone::SYSTEM_STOP) || (processes_ended > 10 && processes_ended > 2 * processes_started))
    {
        Some(("shutdown", "shutdown"))
    } else {
        None
    };
    if let Some((transition, command)) = looks_like {
        description += &format!(". It looks like a {transition}; try 'onoff {command} FILE'");
    }
    Contents { found: description, processes_before, processes_started, processes_ended }
}
