//! Finds the end of each boot phase by rules, most trusted first. The first match wins; the result names its rule and
//! the preferred rules that did not match.
//!
//! Sources: the Microsoft paper for the meaning of each phase; provider manifests and published readers of the same
//! recordings for the events. xperf's own choice between the start of winlogon.exe and nearby events is undocumented;
//! onoff follows the paper ("ends when control is passed to Winlogon.exe").

use crate::PhaseName;
use onoff_trace::{ActivityKind, Trace, milestone};

use super::report::BootOptions;
use crate::desktop::{account, contains, desktop_ready_rules, first_start, process_start, shell_start_rules};
use crate::search::{Match, Search, first_of};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};
use onoff_usage::processes::has_image_name;

/// The ends of the phases on the main path, in ascending order.
#[derive(Clone, Debug)]
pub(super) struct MainPath {
    pub kernel_start: Boundary,
    /// End of PreSMSS.
    pub session_manager: Boundary,
    /// End of SMSSInit.
    pub logon_process: Boundary,
    /// End of WinLogonInit.
    pub shell_start: Boundary,
    /// End of ExplorerInit.
    pub desktop_ready: Boundary,
}

impl MainPath {
    /// Returns the start and end of a phase on the main path.
    pub(super) fn boundaries(&self, phase: PhaseName) -> Option<(&Boundary, &Boundary)> {
        match phase {
            PhaseName::PreSmss => Some((&self.kernel_start, &self.session_manager)),
            PhaseName::SmssInit => Some((&self.session_manager, &self.logon_process)),
            PhaseName::WinLogonInit => Some((&self.logon_process, &self.shell_start)),
            PhaseName::ExplorerInit => Some((&self.shell_start, &self.desktop_ready)),
            _ => None,
        }
    }

    /// Returns the latest known boundary, in ns.
    pub(super) fn latest_ns(&self) -> i64 {
        [&self.session_manager, &self.logon_process, &self.shell_start, &self.desktop_ready]
            .into_iter()
            .filter_map(|boundary| boundary.time_ns)
            .max()
            .unwrap_or(0)
    }
}

/// Finds the ends of the phases on the main path.
pub(super) fn main_path(trace: &Trace, options: &BootOptions) -> MainPath {
    let shell = options.shell.as_str();
    let (kernel_start, session_manager) = if started_too_late(trace) {
        let too_late = Boundary {
            rule: Rule::RecordingStartedTooLate,
            unmatched_rules: vec![Rule::RecordingStartsWithKernel],
            ..Boundary::default()
        };
        (too_late.clone(), too_late)
    } else {
        let session_manager = first_of(&session_manager_rules(trace), 0);
        let kernel_start = kernel_start_of_logs(trace).unwrap_or_else(|| kernel_start(&session_manager));
        (kernel_start, session_manager)
    };
    let mut previous_ns = session_manager.time_ns.unwrap_or(0);
    let logon_process = first_of(&logon_process_rules(trace), previous_ns);
    previous_ns = logon_process.time_ns.unwrap_or(previous_ns);
    let shell_start = first_of(&shell_start_rules(trace, shell), previous_ns);
    previous_ns = shell_start.time_ns.unwrap_or(previous_ns);
    let desktop_ready = first_of(&desktop_ready_rules(trace), previous_ns);
    MainPath { kernel_start, session_manager, logon_process, shell_start, desktop_ready }
}

/// Returns whether the session manager was already running when the recording started.
pub(super) fn started_too_late(trace: &Trace) -> bool {
    trace.processes.iter().any(|process| process.start_ns.is_none() && has_image_name(trace, &process, "smss.exe"))
}

/// Takes the first event of the recording as the kernel start; a later start of the session manager confirms it.
fn kernel_start(session_manager: &Boundary) -> Boundary {
    Boundary {
        time_ns: Some(0),
        rule: Rule::FirstEvent,
        event: String::new(),
        certainty: match session_manager.certainty {
            Certainty::Missing => Certainty::Inferred,
            _ => Certainty::Measured,
        },
        unmatched_rules: Vec::new(),
    }
}

/// The kernel start of a boot that is known from event logs.
fn kernel_start_of_logs(trace: &Trace) -> Option<Boundary> {
    if trace.channels.is_empty() {
        return None;
    }
    let (rule, event, certainty) = match &trace.windows_account {
        Some(account) => (Rule::WindowsAccount { field: "BootStartTime" }, account.event.clone(), Certainty::Measured),
        // Its time is up to 1.5 s late.
        None => (Rule::KernelStartRecord, "Microsoft-Windows-Kernel-General/12".to_owned(), Certainty::Inferred),
    };
    Some(Boundary { time_ns: Some(0), rule, event, certainty, unmatched_rules: Vec::new() })
}

fn session_manager_rules(trace: &Trace) -> Vec<Search<'_>> {
    vec![
        Search::measured(first_start("smss.exe"), |from_ns| process_start(trace, "smss.exe", from_ns, 0)),
        Search::inferred(Rule::SessionManagerFirstProgram, |from_ns| {
            [ActivityKind::SessionProgram, ActivityKind::SessionSubsystem]
                .into_iter()
                .filter_map(|kind| activity(trace, kind, from_ns, |_| true))
                .min()
        }),
        Search::inferred(first_start("csrss.exe"), |from_ns| process_start(trace, "csrss.exe", from_ns, 0)),
        account(trace, milestone::ACCOUNT_SESSION_MANAGER, "SessionInitStartTimeMS"),
    ]
}

fn logon_process_rules(trace: &Trace) -> Vec<Search<'_>> {
    vec![
        Search::measured(first_start("winlogon.exe"), |from_ns| process_start(trace, "winlogon.exe", from_ns, 0)),
        Search::inferred(Rule::SessionManagerRunsLogonProcess, |from_ns| {
            activity(trace, ActivityKind::SessionProgram, from_ns, |name| contains(name, "winlogon"))
        }),
        Search::inferred(Rule::ProcessStarts { process: "csrss.exe".to_owned(), ordinal: 2 }, |from_ns| {
            process_start(trace, "csrss.exe", from_ns, 1)
        }),
        Search::inferred(Rule::LastSubsystemLoaded, |from_ns| last_subsystem_loaded(trace, from_ns)),
        account(trace, milestone::ACCOUNT_LOGON_PROCESS, "WinLogonStartTimeMS"),
    ]
}

fn activity(trace: &Trace, kind: ActivityKind, from_ns: i64, is_name: impl Fn(&str) -> bool) -> Option<Match> {
    trace
        .activities
        .iter()
        .filter(|row| row.kind == kind && row.start_ns >= from_ns && is_name(trace.text(row.name)))
        .min_by_key(|row| row.start_ns)
        .map(|row| (row.start_ns, trace.text(row.event).to_owned()))
}

fn last_subsystem_loaded(trace: &Trace, from_ns: i64) -> Option<Match> {
    trace
        .activities
        .iter()
        .filter(|row| row.kind == ActivityKind::SessionSubsystem)
        .filter_map(|row| row.end_ns.map(|end| (end, row.event)))
        .filter(|&(end, _)| end >= from_ns)
        .max_by_key(|&(end, _)| end)
        .map(|(end, event)| (end, trace.text(event).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{activity, milestone, process};
    use onoff_trace::milestone;

    fn boot() -> Trace {
        let mut trace = Trace { duration_ns: 1000, ..Trace::default() };
        process(&mut trace, 4, "System", None, None);
        process(&mut trace, 300, "smss.exe", Some(100), None);
        process(&mut trace, 400, "csrss.exe", Some(150), None);
        process(&mut trace, 404, "csrss.exe", Some(180), None);
        process(&mut trace, 500, "Winlogon.exe", Some(200), None);
        process(&mut trace, 600, "explorer.exe", Some(300), None);
        trace
    }

    fn times(path: &MainPath) -> [Option<i64>; 5] {
        [&path.kernel_start, &path.session_manager, &path.logon_process, &path.shell_start, &path.desktop_ready]
            .map(|boundary| boundary.time_ns)
    }

    #[test]
    fn the_best_rules_are_measured() {
        let mut trace = boot();
        milestone(&mut trace, 50, milestone::DESKTOP_READY, "");
        milestone(&mut trace, 390, milestone::SHELL_INITIALIZATION_END, "");
        milestone(&mut trace, 400, milestone::DESKTOP_READY, "");
        let path = main_path(&trace, &BootOptions::default());
        assert_eq!(times(&path), [Some(0), Some(100), Some(200), Some(300), Some(400)]);
        assert_eq!(path.desktop_ready.certainty, Certainty::Measured);
        assert_eq!(path.desktop_ready.event, "event of shell.desktop_ready.end");
        assert!(path.desktop_ready.unmatched_rules.is_empty());
    }

    #[test]
    fn fallback_rules_apply_in_order_and_list_the_better_ones() {
        let mut trace = boot();
        process(&mut trace, 700, "LogonUI.exe", Some(250), Some(360));
        let ready = |trace: &Trace| main_path(trace, &BootOptions::default()).desktop_ready;
        let end = ready(&trace);
        assert_eq!((end.time_ns, end.certainty), (Some(360), Certainty::Inferred));
        assert_eq!(end.unmatched_rules.len(), 4);

        milestone(&mut trace, 500, milestone::USER_BOOT_END, "");
        assert_eq!(ready(&trace).time_ns, Some(500));
        milestone(&mut trace, 450, milestone::SHELL_INITIALIZATION_END, "");
        assert_eq!(ready(&trace).time_ns, Some(450));
        milestone(&mut trace, 470, milestone::MARK, "Xperf ExplorerReady");
        let end = ready(&trace);
        assert_eq!((end.time_ns, end.certainty), (Some(470), Certainty::Measured));
        assert_eq!(end.unmatched_rules, [Rule::DesktopReady]);
        milestone(&mut trace, 480, milestone::DESKTOP_READY, "");
        assert_eq!(ready(&trace).time_ns, Some(480));
    }

    #[test]
    fn session_manager_events_replace_process_events() {
        let mut trace = Trace::default();
        activity(&mut trace, ActivityKind::SessionSubsystem, "Windows", 110, Some(190));
        activity(&mut trace, ActivityKind::SessionProgram, r"%SystemRoot%\system32\csrss.exe", 120, Some(160));
        let path = main_path(&trace, &BootOptions::default());
        assert_eq!(path.session_manager.time_ns, Some(110));
        assert_eq!(path.logon_process.time_ns, Some(190));
        assert_eq!(path.logon_process.certainty, Certainty::Inferred);
        activity(&mut trace, ActivityKind::SessionProgram, "C:\\Windows\\System32\\WinLogon.exe", 210, None);
        let path = main_path(&trace, &BootOptions::default());
        assert_eq!(path.logon_process.time_ns, Some(210));
        assert_eq!(path.shell_start.certainty, Certainty::Missing);
        assert_eq!(path.shell_start.time_ns, None);
    }

    #[test]
    fn the_second_subsystem_process_replaces_winlogon() {
        let mut trace = Trace::default();
        process(&mut trace, 300, "smss.exe", Some(100), None);
        process(&mut trace, 400, "csrss.exe", Some(150), None);
        process(&mut trace, 404, "csrss.exe", Some(180), None);
        let path = main_path(&trace, &BootOptions::default());
        assert_eq!(path.logon_process.time_ns, Some(180));
        assert_eq!(path.logon_process.certainty, Certainty::Inferred);
    }

    #[test]
    fn the_shell_is_configurable() {
        let mut trace = boot();
        process(&mut trace, 604, "kiosk.exe", Some(350), None);
        let options = BootOptions { shell: "KIOSK.exe".to_owned(), ..BootOptions::default() };
        assert_eq!(main_path(&trace, &options).shell_start.time_ns, Some(350));
    }

    #[test]
    fn a_recording_that_started_too_late_has_no_kernel_start() {
        let mut trace = Trace::default();
        process(&mut trace, 300, "smss.exe", None, None);
        process(&mut trace, 310, "smss.exe", Some(150), None);
        process(&mut trace, 500, "winlogon.exe", Some(200), None);
        let path = main_path(&trace, &BootOptions::default());
        assert_eq!(path.kernel_start.time_ns, None);
        assert_eq!(path.session_manager.time_ns, None);
        assert_eq!(path.logon_process.time_ns, Some(200));
    }
}
