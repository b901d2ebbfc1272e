//! How long both halves of a sleep took, with what no event spans: by what the scenario's text holds and by when the
//! simulated machine really did what it recorded.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use onoff_simulator::{Scenario, Truth};
use onoff_trace::Trace;
use onoff_transitions::boot::{BootOptions, of_fast_startup};
use onoff_transitions::suspend::{PowerTransition, SuspendOptions, analyze};
use onoff_transitions::{PhaseName, Variant};

use crate::accounts::played;

const MS: i64 = 1_000_000;
/// The kernel's account counts milliseconds.
const WITHIN_NS: i64 = MS;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    std::fs::read_to_string(path).unwrap()
}

fn play(text: &str) -> (Trace, Truth) {
    played(&Scenario::from_toml(text).unwrap())
}

fn only(trace: &Trace) -> PowerTransition {
    let mut found = analyze(trace, &SuspendOptions::default()).unwrap().transitions;
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn at(truth: &Truth, milestone: &str) -> i64 {
    truth.transitions.milestone(milestone).unwrap().time_ns
}

/// What the texts hold beyond the events, ms: writing the image, what precedes the kernel on the way up, and the sleep
/// itself.
const PLANTED: [(&str, i64, i64, i64); 6] = [
    ("hibernate", 9_500, 2_300 + 410 + 350 + 6_200, 600_000),
    ("hibernate-recorded-after", 9_500, 2_300 + 410 + 350 + 6_200, 600_000),
    // Here the image is written while events are recorded.
    ("hibernate-recorded-within", 0, 2_300 + 410 + 350 + 6_200, 600_000),
    ("hybrid-sleep", 7_200, 450, 30_000),
    ("fast-startup-cycle", 3_100, 4_100 + 350 + 260 + 2_400, 60_000),
    ("fast-startup-slow", 3_100, 14_000 + 350 + 260 + 2_400, 60_000),
];

#[test]
fn both_halves_count_what_no_event_spans_and_the_sleep_does_not() {
    for (name, written, before, asleep) in PLANTED {
        let (trace, truth) = play(&text(name));
        let found = only(&trace);
        let near = |ns: Option<i64>, truth_ns: i64, what: &str| {
            let ns = ns.unwrap_or_else(|| panic!("{name}: {what} is not known"));
            assert!((ns - truth_ns).abs() <= WITHIN_NS, "{name}: {what} {ns} ns, planted {truth_ns} ns");
        };
        let is_fast = found.variant == Variant::FastStartup;
        let begins = if is_fast { at(&truth, "shutdown.request") } else { at(&truth, "power.begin_utc") };
        let ends = if is_fast { truth.desktop_ready_ns.unwrap() } else { at(&truth, "power.end_utc") };
        let down = at(&truth, "power.sleep") - begins + written * MS;
        // The text's credentials: a person's time is in no length.
        let person = if name == "fast-startup-slow" { 5_000 } else { 0 };
        let up = ends - at(&truth, "power.wake") + (before - person) * MS;
        assert_eq!(found.person_ns / MS, person, "{name}");
        near(found.details.suspend.whole_ns, down, "the way down");
        near(found.details.resume.whole_ns, up, "the way up");
        near(found.total_ns, down + up, "both");
        near(found.details.asleep.wall_ns, asleep * MS, "the sleep");
        let parts = [PhaseName::BiosInit, PhaseName::BootManager, PhaseName::ResumeLoader, PhaseName::HiberRead];
        let parts = parts.iter().filter_map(|&part| found.phase(part)?.duration_ns).sum();
        near(found.details.resume.unrecorded_ns, parts, "the phases before the kernel");
    }
}

#[test]
fn a_hibernation_without_the_kernels_account_is_longer_than_what_was_recorded() {
    let (trace, truth) = play(&text("fast-startup-shutdown"));
    let found = only(&trace);
    let recorded = at(&truth, "power.sleep") - at(&truth, "shutdown.request");
    assert_eq!((found.total_ns, found.details.suspend.whole_ns), (None, None));
    assert!((found.total_at_least_ns - recorded).abs() <= WITHIN_NS);
    assert_eq!(found.details.suspend.unrecorded_ns, None);
}

#[test]
fn a_recorded_half_of_a_fast_startup_is_the_whole_of_it() {
    let (trace, truth) = play(&text("fast-startup-boot"));
    let found = only(&trace);
    let planted = truth.desktop_ready_ns.unwrap() - at(&truth, "power.wake") + (4_100 + 350 + 260 + 2_400) * MS;
    assert!((found.total_ns.unwrap() - planted).abs() <= WITHIN_NS, "{:?} {planted}", found.total_ns);
    assert_eq!(found.details.suspend.whole_ns, None);
}

#[test]
fn the_boot_in_a_fast_startup_is_the_new_session_and_nothing_that_came_back() {
    let (trace, truth) = play(&text("fast-startup-slow"));
    let found = only(&trace);
    assert_eq!(found.person_ns / MS, 5_000, "the text's credentials");
    let boot = of_fast_startup(&trace, &found, &BootOptions::default()).unwrap();
    let phases: Vec<PhaseName> = boot.phases.iter().map(|phase| phase.name).collect();
    assert_eq!(phases, [PhaseName::WinLogonInit, PhaseName::ExplorerInit, PhaseName::PostBoot]);
    let subscribers: Vec<&str> =
        boot.details.logon.notification_subscribers.iter().map(|work| work.name.as_str()).collect();
    assert!(subscribers.contains(&"AuditAgent"));
    assert!(!subscribers.contains(&"Archive"), "it belongs to the session that ended");
    let wake = at(&truth, "power.wake");
    assert!(boot.details.logon.notification_subscribers.iter().all(|work| work.start_ns >= wake));
    assert!(boot.units.iter().all(|unit| unit.start_ns >= wake));
    // A sleep is no boot, and a fast startup whose way up is not there has none.
    for name in ["hibernate", "fast-startup-shutdown"] {
        let (trace, _) = play(&text(name));
        assert!(of_fast_startup(&trace, &only(&trace), &BootOptions::default()).is_none(), "{name}");
    }
}

#[test]
fn a_shutdown_lasts_until_the_kernels_last_step_even_after_its_orderly_part() {
    let (trace, truth) = play(&text("shutdown-closes-late"));
    let found = onoff_transitions::shutdown::analyze(&trace, &Default::default()).unwrap();
    let steps = || truth.transitions.activities.iter().filter(|row| row.kind == "kernel_shutdown_step");
    let last = steps().filter_map(|row| row.end_ns).max().unwrap();
    let orderly = steps().find(|row| row.name == "graceful_shutdown").unwrap().end_ns.unwrap();
    assert!(last - orderly >= 2_300 * MS, "the registry takes 900 ms, the file systems 1.4 s");
    assert!((found.end_ns.unwrap() - last).abs() <= WITHIN_NS);
}

#[test]
fn a_person_counts_in_the_session_of_the_desktop_until_it_is_ready() {
    let person = |name: &str| {
        let (trace, _) = play(&text(name));
        let report = onoff_transitions::boot::analyze(&trace, &BootOptions::default()).unwrap();
        report.person_ns / MS
    };
    assert_eq!(person("person-logs-on"), 6_500);
    // The one far away takes 20 s, from before the console's logon until after its desktop.
    assert_eq!(person("remote-session"), 0);
    assert_eq!(person("second/persons-in-two-sessions"), 3_000);
}

#[test]
fn the_longest_phase_is_of_a_half_that_was_recorded() {
    let longest = |text: &str| {
        let (trace, _) = play(text);
        let all = onoff_transitions::overview::overview(&trace);
        all[0].longest().map(|(phase, _)| phase.name)
    };
    let boot = text("fast-startup-boot");
    let long_write = boot.replace("write = \"3100ms\"", "write = \"31s\"");
    assert_ne!(boot, long_write);
    // The kernel counted 31 s of writing on a way down that is not in this recording.
    assert_eq!(longest(&long_write), Some(PhaseName::BiosInit));
    let cycle = text("fast-startup-cycle").replace("write = \"3100ms\"", "write = \"31s\"");
    assert_eq!(longest(&cycle), Some(PhaseName::HiberWrite));
}
