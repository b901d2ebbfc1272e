//! Windows' own account of a boot or shutdown beside the phases of a trace.

use onoff_evidence::Certainty;
use onoff_trace::{AccountSearch, LoggedAccount, ShutdownAccount};
use onoff_transitions::TransitionKind;
use onoff_transitions::account_comparison::{AccountComparison, Agreement, ComparedTime};

use crate::text::printable::printable;
use crate::text::quantity::{duration, second_or_dash};
use crate::text::style::{DOUBT, QUIET};
use onoff_sections::section::{Cell, Line, Section};
use onoff_sections::table::Value;

const NAME: &str = "windows_account";
const TITLE: &str = "Windows' own account";
/// Resolution of Windows' own times, ns.
const RESOLUTION_NS: u64 = 1_000_000;
/// Tolerance between a step of the clock and the distance of two starts that it explains, ns.
const STEP_TOLERANCE_NS: u64 = 5_000_000_000;

/// Returns the section of a boot or a shutdown.
pub(super) fn section(comparison: &AccountComparison, kind: TransitionKind) -> Section<'_> {
    let logs = &comparison.logs;
    let of_shutdown = logs.end.as_ref().and_then(|end| end.account.as_ref());
    let of_boot = logs.account.as_ref().map(|account| &account.event);
    let Some(event) = of_boot.or(of_shutdown.map(|account| &account.event)) else {
        return Section::without_table(NAME, TITLE).line(DOUBT, unknown(logs, kind)).lines(clock_steps(logs));
    };
    Section::builder(NAME, TITLE, &comparison.times)
        .note("a second opinion, from the event logs")
        .name("name", "phase", 30, |time| Value::text(time.name))
        .quantity("trace_ns", "trace", |time| Cell::duration_or_dash(time.trace_ns))
        .quantity("windows_ns", "Windows", |time| Cell::duration_or_dash(time.windows_ns))
        .quantity("difference_ns", "difference", |time| match time.difference_ns {
            Some(ns) => Cell::with_display_text(Value::Duration(ns), signed(ns)),
            None => Cell::duration_or_dash(None),
        })
        .name("agreement", "", 30, |time| {
            let cell = Cell::with_display_text(Value::text(time.agreement.as_str()), agreement(time));
            if time.agreement == Agreement::Differs { cell.with_style(DOUBT) } else { cell.with_style(QUIET) }
        })
        .data("tolerance_ns", |time| Cell::duration_or_unfinished(time.tolerance_ns))
        .data("certainty", |time| Value::text(time.certainty.as_str()))
        .data("reason", |time| Value::text(time.reason))
        .build()
        .lines(verdict(comparison, kind))
        .lines(definitions(&comparison.times))
        .lines(clock_steps(logs))
        .lines(of_shutdown.and_then(subtracted_steps))
        .line(QUIET, source(logs, event, kind))
}

/// Formats a difference. Windows' times are whole milliseconds.
fn signed(ns: i64) -> String {
    if ns.unsigned_abs() < RESOLUTION_NS {
        return "<1 ms".to_owned();
    }
    format!("{}{}", if ns < 0 { "-" } else { "+" }, duration(ns.saturating_abs()))
}

fn agreement(time: &ComparedTime) -> String {
    let text = time.agreement.as_str().replace('_', " ");
    match time.certainty {
        Certainty::Inferred => format!("{text} (trace: inferred)"),
        _ => text,
    }
}

/// Says what was subtracted from the time of the kernel in Windows' account.
fn subtracted_steps(account: &ShutdownAccount) -> Option<Line> {
    (account.clock_steps_ns > 0).then(|| Line {
        style: DOUBT,
        text: format!(
            "Windows counted steps of the clock by {} as time of the kernel; they are subtracted here.",
            duration(account.clock_steps_ns)
        ),
    })
}

fn source(logs: &LoggedAccount, event: &str, kind: TransitionKind) -> String {
    let transition = kind.as_str();
    let traced = if kind == TransitionKind::Shutdown { "the shutdown in the trace" } else { "the trace" };
    let start = match logs.start_difference_ns.unwrap_or(0) {
        0 => "at the same time as".to_owned(),
        ns if ns < 0 => format!("{} before", duration(ns.saturating_neg())),
        ns => format!("{} after", duration(ns)),
    };
    let computer = printable(&logs.computer);
    format!("From {} of {computer}. By the clock, its {transition} starts {start} {traced}.", printable(event))
}

/// Says whether the two accounts agree, and if not, what would show which one is right.
fn verdict(comparison: &AccountComparison, kind: TransitionKind) -> Option<Line> {
    let transition = kind.as_str();
    let tolerances = match kind {
        TransitionKind::Shutdown => "each phase and the total within 0.5 s or 5 %",
        _ => "each phase within 0.5 s or 5 %, PostBoot within 5 s or 25 %, the total within 5 s or 10 %",
    };
    let differing: Vec<String> = comparison
        .times
        .iter()
        .filter(|time| time.agreement == Agreement::Differs)
        .map(|time| format!("{} ({})", time.name, signed(time.difference_ns.unwrap_or(0))))
        .collect();
    let line = match differing.as_slice() {
        [] if !comparison.times.iter().any(|time| time.agreement == Agreement::Agrees) => return None,
        [] => Line { style: QUIET, text: format!("Windows and the trace agree: {tolerances}.") },
        differing => Line {
            style: DOUBT,
            text: format!(
                "Windows and the trace disagree on {}. Which one is right is unknown. Record another {transition} and \
                 keep its event logs: if the difference repeats, the two define the phase differently; if not, something \
                 disturbed one of them in this {transition}.",
                differing.join(", ")
            ),
        },
    };
    Some(line)
}

/// Explains the differences by definition, and the times that are not compared.
fn definitions(times: &[ComparedTime]) -> Vec<Line> {
    let mut reasons: Vec<&str> = times.iter().map(|time| time.reason).filter(|reason| !reason.is_empty()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let line_of = |reason: &str| {
        let names: Vec<&str> = times.iter().filter(|time| time.reason == reason).map(|time| time.name).collect();
        Line { style: QUIET, text: format!("{}: {reason}.", names.join(", ")) }
    };
    reasons.into_iter().map(line_of).collect()
}

fn clock_steps(logs: &LoggedAccount) -> Vec<Line> {
    if let AccountSearch::OtherComputer | AccountSearch::NoTransitionNear = logs.search {
        return Vec::new();
    }
    let line_of = |step: &onoff_trace::ClockStep| {
        let direction = if step.step_ns < 0 { "back" } else { "forward" };
        let text = format!(
            "The clock was set {direction} by {} during the boot, {} after its start (Kernel-General/1). Windows' \
             BootStartTime and BootEndTime are on different sides of this step; the phases are not affected.",
            duration(step.step_ns.saturating_abs()),
            duration(step.time_ns)
        );
        Line { style: DOUBT, text }
    };
    logs.clock_steps.iter().map(line_of).collect()
}

/// Says why there is no account to compare with.
fn unknown(logs: &LoggedAccount, kind: TransitionKind) -> String {
    let is_shutdown = kind == TransitionKind::Shutdown;
    let transition = kind.as_str();
    let computer = printable(&logs.computer);
    let start = second_or_dash(logs.start_unix_ns);
    match logs.search {
        AccountSearch::Found | AccountSearch::NotWritten => {
            let id = if is_shutdown { 200 } else { 100 };
            format!(
                "Windows wrote no account of this {transition} (event {id} of Diagnostics-Performance), although that \
                 log has later records."
            )
        }
        AccountSearch::NotCovered => {
            let written = match is_shutdown {
                true => "in the next boot",
                false => "some minutes after a boot",
            };
            format!(
                "Windows' own account of this {transition} is unknown: the log of Diagnostics-Performance does not \
                 cover the time after its start ({start} UTC). Windows writes the account {written}."
            )
        }
        AccountSearch::NoAccountLog => format!(
            "Windows' own account of this {transition} is unknown: the logs do not include \
             Microsoft-Windows-Diagnostics-Performance/Operational."
        ),
        AccountSearch::OtherComputer => {
            let when = if is_shutdown { "is within the time of" } else { "starts with" };
            format!(
                "The event logs are of another computer, {computer}. One of its {transition}s {when} this trace, but \
                 the names differ, so nothing is compared."
            )
        }
        AccountSearch::NoTransitionNear => no_transition_near(logs, &computer, &start, kind),
        AccountSearch::NoTransition if is_shutdown => "The event logs do not show any shutdown.".to_owned(),
        AccountSearch::NoTransition => "The event logs do not show the start of any boot.".to_owned(),
    }
}

fn no_transition_near(logs: &LoggedAccount, computer: &str, start: &str, kind: TransitionKind) -> String {
    let transition = kind.as_str();
    let traced = if kind == TransitionKind::Shutdown { "the shutdown in this trace" } else { "this trace" };
    let difference_ns = logs.start_difference_ns.unwrap_or(0);
    let direction = if difference_ns < 0 { "before" } else { "after" };
    let distance = duration(difference_ns.saturating_abs());
    let mut text = format!(
        "No {transition} in the event logs starts within 5 s of {traced}. The nearest starts {distance} {direction} it, \
         at {start} UTC, on {computer}."
    );
    let explains = |step_ns: i64| step_ns.unsigned_abs().abs_diff(difference_ns.unsigned_abs()) <= STEP_TOLERANCE_NS;
    if let Some(step) = logs.clock_steps.iter().find(|step| explains(step.step_ns)) {
        text += &format!(
            " The clock was set by {} during that boot (Kernel-General/1), so it may be the same one, but its start \
             does not show it.",
            signed(step.step_ns)
        );
    }
    text
}
