//! Rules for the shell start and the desktop, which define the start of a session in a boot and in a fast startup.

use onoff_trace::{Trace, milestone};

use crate::search::{Match, Search, milestone_at};
use onoff_evidence::rule::Rule;
use onoff_usage::processes::runs;

/// Rules for the shell start, best first.
pub(crate) fn shell_start_rules<'a>(trace: &'a Trace, shell: &'a str) -> Vec<Search<'a>> {
    vec![
        Search::measured(first_start(shell), move |from| process_start(trace, shell, from, 0)),
        Search::inferred(Rule::LogonProcessLaunchesShell, |from| milestone_at(trace, milestone::SHELL_LAUNCH, from)),
        Search::inferred(first_start("userinit.exe"), |from| process_start(trace, "userinit.exe", from, 0)),
        Search::inferred(Rule::ShellInitializationBegins, |from| {
            milestone_at(trace, milestone::SHELL_INITIALIZATION_BEGIN, from)
        }),
        Search::inferred(Rule::DesktopReadyBegins, |from| milestone_at(trace, milestone::DESKTOP_READY_BEGIN, from)),
    ]
}

/// The rule that the first process of an image starts.
pub(crate) fn first_start(image: &str) -> Rule {
    Rule::ProcessStarts { process: image.to_owned(), ordinal: 1 }
}

/// Rules for a ready desktop, best first.
pub(crate) fn desktop_ready_rules(trace: &Trace) -> Vec<Search<'_>> {
    vec![
        Search::measured(Rule::DesktopReady, |from| milestone_at(trace, milestone::DESKTOP_READY, from)),
        Search::measured(Rule::ExplorerReadyMark, |from| explorer_ready_mark(trace, from)),
        Search::inferred(Rule::ShellInitializationEnds, |from| {
            milestone_at(trace, milestone::SHELL_INITIALIZATION_END, from)
        }),
        Search::inferred(Rule::UserBootEnds, |from| milestone_at(trace, milestone::USER_BOOT_END, from)),
        Search::inferred(Rule::LogonScreenEnds, |from| first_process_end(trace, "logonui.exe", from)),
    ]
}

/// Start of process number `skip` (from 0) of `image`, if it is at or after `from`.
pub(crate) fn process_start(trace: &Trace, image: &str, from: i64, skip: usize) -> Option<Match> {
    let mut starts: Vec<i64> = trace
        .processes
        .iter()
        .filter(|process| process.start_ns.is_some() && runs(trace, process, image))
        .filter_map(|process| process.start_ns)
        .collect();
    starts.sort();
    starts.into_iter().skip(skip).find(|&start| start >= from).map(|start| (start, format!("Process/Start {image}")))
}

fn first_process_end(trace: &Trace, image: &str, from: i64) -> Option<Match> {
    trace
        .processes
        .iter()
        .filter(|process| process.end_ns.is_some() && runs(trace, process, image))
        .filter_map(|process| process.end_ns)
        .filter(|&end| end >= from)
        .min()
        .map(|end| (end, format!("Process/End {image}")))
}

fn explorer_ready_mark(trace: &Trace, from: i64) -> Option<Match> {
    let name = trace.strings.find(milestone::MARK)?;
    trace
        .milestones
        .iter()
        .filter(|row| row.name == name && row.time_ns >= from)
        .filter(|row| contains(trace.text(row.detail), "explorerready"))
        .min_by_key(|row| row.time_ns)
        .map(|row| (row.time_ns, trace.text(row.event).to_owned()))
}

/// Case-insensitive search for `part`, which must be lowercase.
pub(crate) fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(part)
}
