//! Decides whether a recording contains a boot.

use onoff_trace::{ActivityKind, Trace, milestone};

use super::phases::started_too_late;
use super::report::NoBoot;
use crate::{TransitionKind, contents};
use onoff_usage::processes::has_image_name;

/// Milestones that are recorded only while the system boots.
const BOOT_MILESTONES: [&str; 5] = [
    milestone::SYSTEM_START,
    milestone::BOOT_START_BEGIN,
    milestone::SYSTEM_START_BEGIN,
    milestone::AUTO_START_BEGIN,
    milestone::OS_LOADER,
];

/// Programs that start once per boot. The session manager is not in this list: it starts a copy of itself for each
/// session.
const ONCE_PER_BOOT: [&str; 3] = ["wininit.exe", "services.exe", "lsass.exe"];

/// Returns whether the recording shows any sign of a boot.
pub(super) fn contains_a_boot(trace: &Trace) -> bool {
    let has_milestone = BOOT_MILESTONES
        .iter()
        .filter_map(|name| trace.strings.find(name))
        .any(|name| trace.milestones.iter().any(|row| row.name == name));
    let has_program_start = || {
        let session_manager_starts = !started_too_late(trace);
        trace.processes.iter().any(|process| {
            process.start_ns.is_some()
                && (ONCE_PER_BOOT.iter().any(|name| has_image_name(trace, &process, name))
                    || (session_manager_starts && has_image_name(trace, &process, "smss.exe")))
        })
    };
    let has_session_program = || {
        trace.activities.iter().any(|row| {
            row.kind == ActivityKind::SessionProgram && trace.text(row.name).to_lowercase().contains("wininit")
        })
    };
    has_milestone || has_program_start() || has_session_program()
}

/// Describes a recording without a boot.
pub(super) fn not_a_boot(trace: &Trace) -> NoBoot {
    let contents = contents::describe_instead(trace, TransitionKind::Boot);
    NoBoot {
        reason: "no start of smss.exe or wininit.exe, and no device or service phase".to_owned(),
        found: contents.found,
        recorder: trace.recorder.clone(),
        duration_ns: trace.duration_ns,
        processes_before: contents.processes_before,
        processes_started: contents.processes_started,
        processes_ended: contents.processes_ended,
        losses: trace.losses.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{milestone, process};

    #[test]
    fn a_new_session_is_not_a_boot() {
        let mut trace = Trace::default();
        process(&mut trace, 300, "smss.exe", None, None);
        process(&mut trace, 900, "smss.exe", Some(10), Some(20));
        process(&mut trace, 904, "winlogon.exe", Some(12), None);
        assert!(!contains_a_boot(&trace));
    }

    #[test]
    fn one_sign_of_a_boot_is_enough() {
        let mut trace = Trace::default();
        process(&mut trace, 300, "smss.exe", Some(10), None);
        assert!(contains_a_boot(&trace));
        let mut trace = Trace::default();
        milestone(&mut trace, 1, milestone::AUTO_START_BEGIN, "");
        assert!(contains_a_boot(&trace));
    }

    #[test]
    fn a_shutdown_is_recognized() {
        let mut trace = Trace { duration_ns: 3_250_000_000, ..Trace::default() };
        for pid in 0..60 {
            process(&mut trace, 100 + pid * 4, "app.exe", None, Some(1));
        }
        assert!(!contains_a_boot(&trace));
        let absence = not_a_boot(&trace);
        assert_eq!((absence.processes_before, absence.processes_ended), (60, 60));
        assert_eq!(
            absence.to_string(),
            "no boot in this recording (no start of smss.exe or wininit.exe, and no device or service phase): \
             0 processes started and 60 exited in 3.25 s. It looks like a shutdown; try 'onoff shutdown FILE'"
        );
    }
}
