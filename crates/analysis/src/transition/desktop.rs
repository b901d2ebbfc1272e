//! The shell's start and the ready desktop, by which a session's beginning is measured in a boot and in a fast startup.

use onoff_trace::{Trace, milestone};

use crate::processes::runs;
use crate::transition::rules::{Found, Rule, milestone_at};

/// What shows that the shell starts, best first.
pub(in crate::transition) fn shell_start_rules<'a>(trace: &'a Trace, shell: &'a str) -> Vec<Rule<'a>> {
    vec![
        Rule::measured(format!("the first start of {shell}"), move |from| process_start(trace, shell, from, 0)),
        Rule::inferred("the logon process's launch of the shell", |from| {
            milestone_at(trace, milestone::SHELL_LAUNCH, from)
        }),
        Rule::inferred("the first start of userinit.exe", |from| process_start(trace, "userinit.exe", from, 0)),
        Rule::inferred("the start of the shell's initialisation", |from| {
            milestone_at(trace, milestone::SHELL_INITIALISATION_BEGIN, from)
        }),
        Rule::inferred("the start of the shell's way to a ready desktop", |from| {
            milestone_at(trace, milestone::DESKTOP_READY_BEGIN, from)
        }),
    ]
}

/// What shows that the desktop is ready, best first.
pub(in crate::transition) fn desktop_ready_rules(trace: &Trace) -> Vec<Rule<'_>> {
    vec![
        Rule::measured("the shell's report of a ready desktop", |from| {
            milestone_at(trace, milestone::DESKTOP_READY, from)
        }),
        Rule::measured("the mark ExplorerReady", |from| explorer_ready_mark(trace, from)),
        Rule::inferred("the end of the shell's initialisation", |from| {
            milestone_at(trace, milestone::SHELL_INITIALISATION_END, from)
        }),
        Rule::inferred("the logon process's end of the user's boot", |from| {
            milestone_at(trace, milestone::USER_BOOT_END, from)
        }),
        Rule::inferred("the end of the logon screen's process LogonUI.exe", |from| {
            first_process_end(trace, "logonui.exe", from)
        }),
    ]
}

/// Start of the `skip`-th process that runs `image`, at or after `from`. Earlier ones count when skipping.
pub(in crate::transition) fn process_start(trace: &Trace, image: &str, from: i64, skip: usize) -> Option<Found> {
    let mut starts: Vec<i64> = trace
        .processes
        .iter()
        .filter(|process| process.start_ns.is_some() && runs(trace, process, image))
        .filter_map(|process| process.start_ns)
        .collect();
    starts.sort_unstable();
    starts.into_iter().skip(skip).find(|&start| start >= from).map(|start| (start, format!("Process/Start {image}")))
}

fn first_process_end(trace: &Trace, image: &str, from: i64) -> Option<Found> {
    trace
        .processes
        .iter()
        .filter(|process| process.end_ns.is_some() && runs(trace, process, image))
        .filter_map(|process| process.end_ns)
        .filter(|&end| end >= from)
        .min()
        .map(|end| (end, format!("Process/End {image}")))
}

fn explorer_ready_mark(trace: &Trace, from: i64) -> Option<Found> {
    let name = trace.strings.find(milestone::MARK)?;
    trace
        .milestones
        .iter()
        .filter(|row| row.name == name && row.time_ns >= from)
        .filter(|row| contains(trace.text(row.detail), "explorerready"))
        .min_by_key(|row| row.time_ns)
        .map(|row| (row.time_ns, trace.text(row.event).to_owned()))
}

/// Whether `text` contains `part`, which is in lower case, without regard to case.
pub(in crate::transition) fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(part)
}
