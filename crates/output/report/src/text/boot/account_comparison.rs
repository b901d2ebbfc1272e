//! Windows' own account of a boot beside the phases of a trace.

use onoff_evidence::Certainty;
use onoff_trace::{AccountSearch, LoggedAccount};
use onoff_transitions::boot::account_comparison::{AccountComparison, Agreement, ComparedTime};

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

pub(super) fn section(comparison: &AccountComparison) -> Section<'_> {
    let logs = &comparison.logs;
    let Some(account) = &logs.account else {
        return Section::without_table(NAME, TITLE).line(DOUBT, unknown(logs)).lines(clock_steps(logs));
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
        .lines(verdict(comparison))
        .lines(definitions(&comparison.times))
        .lines(clock_steps(logs))
        .line(QUIET, source(logs, &account.event))
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

fn source(logs: &LoggedAccount, event: &str) -> String {
    let start = match logs.start_difference_ns.unwrap_or(0) {
        0 => "at the same time as".to_owned(),
        ns if ns < 0 => format!("{} before", duration(ns.saturating_neg())),
        ns => format!("{} after", duration(ns)),
    };
    let computer = printable(&logs.computer);
    format!("From {} of {computer}. By the clock, its boot starts {start} the trace.", printable(event))
}

/// Says whether the two accounts agree, and if not, what would show which one is right.
fn verdict(comparison: &AccountComparison) -> Option<Line> {
    let differing: Vec<String> = comparison
        .times
        .iter()
        .filter(|time| time.agreement == Agreement::Differs)
        .map(|time| format!("{} ({})", time.name, signed(time.difference_ns.unwrap_or(0))))
        .collect();
    let line = match differing.as_slice() {
        [] if !comparison.times.iter().any(|time| time.agreement == Agreement::Agrees) => return None,
        [] => Line {
            style: QUIET,
            text: "Windows and the trace agree: each phase within 0.5 s or 5 %, PostBoot within 5 s or 25 %, the \
                   total within 5 s or 10 %."
                .to_owned(),
        },
        differing => Line {
            style: DOUBT,
            text: format!(
                "Windows and the trace disagree on {}. Which one is right is unknown. Record another boot and keep \
                 its event logs: if the difference repeats, the two define the phase differently; if not, something \
                 disturbed one of them in this boot.",
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
    if let AccountSearch::OtherComputer | AccountSearch::NoBootNear = logs.search {
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
fn unknown(logs: &LoggedAccount) -> String {
    let computer = printable(&logs.computer);
    let start = second_or_dash(logs.start_unix_ns);
    match logs.search {
        AccountSearch::Found | AccountSearch::NotWritten => {
            "Windows wrote no account of this boot (event 100 of Diagnostics-Performance), although that log has \
             later records."
                .to_owned()
        }
        AccountSearch::NotCovered => format!(
            "Windows' own account of this boot is unknown: the log of Diagnostics-Performance does not cover the \
             time after its start ({start} UTC). Windows writes the account some minutes after a boot."
        ),
        AccountSearch::NoAccountLog => "Windows' own account of this boot is unknown: the logs do not include \
             Microsoft-Windows-Diagnostics-Performance/Operational."
            .to_owned(),
        AccountSearch::OtherComputer => format!(
            "The event logs are of another computer, {computer}. One of its boots starts with this trace, but the \
             names differ, so nothing is compared."
        ),
        AccountSearch::NoBootNear => no_boot_near(logs, &computer, &start),
        AccountSearch::NoBoot => "The event logs do not show the start of any boot.".to_owned(),
    }
}

fn no_boot_near(logs: &LoggedAccount, computer: &str, start: &str) -> String {
    let difference_ns = logs.start_difference_ns.unwrap_or(0);
    let direction = if difference_ns < 0 { "before" } else { "after" };
    let distance = duration(difference_ns.saturating_abs());
    let mut text = format!(
        "No boot in the event logs starts within 5 s of this trace. The nearest starts {distance} {direction} it, at \
         {start} UTC, on {computer}."
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
