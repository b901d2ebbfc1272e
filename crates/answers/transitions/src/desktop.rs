//! Rules for the shell start and the desktop, which mark the start of a session in a boot and in a fast startup.

use onoff_trace::{Trace, milestone};

use crate::search::{Match, Search, first_milestone};
use onoff_evidence::rule::Rule;
use onoff_usage::processes::has_image_name;

/// Returns the rules for the shell start, best first.
pub(crate) fn shell_start_rules<'a>(trace: &'a Trace, shell: &'a str) -> Vec<Search<'a>> {
    vec![
        Search::measured(first_start(shell), move |from_ns| process_start(trace, shell, from_ns, 0)),
        Search::inferred(Rule::LogonProcessLaunchesShell, |from_ns| {
            first_milestone(trace, milestone::SHELL_LAUNCH, from_ns)
        }),
        Search::inferred(first_start("userinit.exe"), |from_ns| process_start(trace, "userinit.exe", from_ns, 0)),
        Search::inferred(Rule::ShellInitializationBegins, |from_ns| {
            first_milestone(trace, milestone::SHELL_INITIALIZATION_BEGIN, from_ns)
        }),
        Search::inferred(Rule::DesktopReadyBegins, |from_ns| {
            first_milestone(trace, milestone::DESKTOP_READY_BEGIN, from_ns)
        }),
        account(trace, milestone::ACCOUNT_SHELL_START, "BootExplorerInitTime"),
    ]
}

/// Returns the rule for a moment that Windows' own account of the boot gives in one of its fields.
pub(crate) fn account<'a>(trace: &'a Trace, name: &'static str, field: &'static str) -> Search<'a> {
    Search::measured(Rule::WindowsAccount { field }, move |from_ns| first_milestone(trace, name, from_ns))
}

/// Returns the rule that the first process of an image starts.
pub(crate) fn first_start(image: &str) -> Rule {
    Rule::ProcessStarts { process: image.to_owned(), ordinal: 1 }
}

/// Returns the rules for a ready desktop, best first.
pub(crate) fn desktop_ready_rules(trace: &Trace) -> Vec<Search<'_>> {
    vec![
        Search::measured(Rule::DesktopReady, |from_ns| first_milestone(trace, milestone::DESKTOP_READY, from_ns)),
        Search::measured(Rule::ExplorerReadyMark, |from_ns| explorer_ready_mark(trace, from_ns)),
        Search::inferred(Rule::ShellInitializationEnds, |from_ns| {
            first_milestone(trace, milestone::SHELL_INITIALIZATION_END, from_ns)
        }),
        Search::inferred(Rule::UserBootEnds, |from_ns| first_milestone(trace, milestone::USER_BOOT_END, from_ns)),
        Search::inferred(Rule::LogonScreenEnds, |from_ns| first_process_end(trace, "logonui.exe", from_ns)),
        account(trace, milestone::ACCOUNT_DESKTOP, "MainPathBootTime"),
    ]
}

/// Returns the first start of `image` at or after `from_ns`, not counting its first `skip` starts.
pub(crate) fn process_start(trace: &Trace, image: &str, from_ns: i64, skip: usize) -> Option<Match> {
    let mut starts: Vec<i64> = trace
        .processes
        .iter()
        .filter(|process| process.start_ns.is_some() && has_image_name(trace, process, image))
        .filter_map(|process| process.start_ns)
        .collect();
    starts.sort();
    starts.into_iter().skip(skip).find(|&start| start >= from_ns).map(|start| (start, format!("Process/Start {image}")))
}

fn first_process_end(trace: &Trace, image: &str, from_ns: i64) -> Option<Match> {
    trace
        .processes
        .iter()
        .filter(|process| process.end_ns.is_some() && has_image_name(trace, process, image))
        .filter_map(|process| process.end_ns)
        .filter(|&end| end >= from_ns)
        .min()
        .map(|end| (end, format!("Process/End {image}")))
}

fn explorer_ready_mark(trace: &Trace, from_ns: i64) -> Option<Match> {
    let name = trace.strings.find(milestone::MARK)?;
    trace
        .milestones
        .iter()
        .filter(|row| row.name == name && row.time_ns >= from_ns)
        .filter(|row| contains(trace.text(row.detail), "explorerready"))
        .min_by_key(|row| row.time_ns)
        .map(|row| (row.time_ns, trace.text(row.event).to_owned()))
}

/// Returns whether `text` contains `part`, ignoring case. `part` must be lowercase.
pub(crate) fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(part)
}
