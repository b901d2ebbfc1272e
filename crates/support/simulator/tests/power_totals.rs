//! Durations of both halves of a sleep, including the time without events, compared with the scenario and with the
//! simulated machine's truth.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use onoff_simulator::{Scenario, Truth};
use onoff_trace::Trace;
use onoff_transitions::boot::{BootOptions, fast_startup};
use onoff_transitions::suspend::{PowerTransition, SuspendOptions, analyze};
use onoff_transitions::{PhaseName, Variant};

use crate::accounts::simulate;

const MS: i64 = 1_000_000;
/// The kernel's totals are in milliseconds.
const TOLERANCE_NS: i64 = MS;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    std::fs::read_to_string(path).unwrap()
}

fn simulate_text(text: &str) -> (Trace, Truth) {
    simulate(&Scenario::from_toml(text).unwrap())
}

fn only(trace: &Trace) -> PowerTransition {
    let mut found = analyze(trace, &SuspendOptions::default()).unwrap().transitions;
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn at(truth: &Truth, milestone: &str) -> i64 {
    truth.transitions.milestone(milestone).unwrap().time_ns
}

/// Times in the scenarios without events, ms: writing the image, phases before the kernel while resuming, and the
/// sleep.
const INJECTED_MS: [(&str, i64, i64, i64); 6] = [
    ("hibernate", 9_500, 2_300 + 410 + 350 + 6_200, 600_000),
    ("hibernate-recorded-after", 9_500, 2_300 + 410 + 350 + 6_200, 600_000),
    ("hibernate-recorded-within", 0, 2_300 + 410 + 350 + 6_200, 600_000),
    ("hybrid-sleep", 7_200, 450, 30_000),
    ("fast-startup-cycle", 3_100, 4_100 + 350 + 260 + 2_400, 60_000),
    ("fast-startup-slow", 3_100, 14_000 + 350 + 260 + 2_400, 60_000),
];

#[test]
fn halves_include_time_without_events_and_exclude_the_sleep() {
    for (name, written, before, asleep) in INJECTED_MS {
        let (trace, truth) = simulate_text(&text(name));
        let found = only(&trace);
        let near = |ns: Option<i64>, truth_ns: i64, what: &str| {
            let ns = ns.unwrap_or_else(|| panic!("{name}: {what} is unknown"));
            assert!((ns - truth_ns).abs() <= TOLERANCE_NS, "{name}: {what} {ns} ns, expected {truth_ns} ns");
        };
        let is_fast = found.variant == Variant::FastStartup;
        let begins = if is_fast { at(&truth, "shutdown.request") } else { at(&truth, "power.begin_utc") };
        let ends = if is_fast { truth.desktop_ready_ns.unwrap() } else { at(&truth, "power.end_utc") };
        let down = at(&truth, "power.sleep") - begins + written * MS;
        // Time a person takes for credentials counts in no duration.
        let person = if name == "fast-startup-slow" { 5_000 } else { 0 };
        let up = ends - at(&truth, "power.wake") + (before - person) * MS;
        assert_eq!(found.user_input_ns / MS, person, "{name}");
        near(found.details.suspend.whole_ns, down, "suspend");
        near(found.details.resume.whole_ns, up, "resume");
        near(found.total_ns, down + up, "both");
        near(found.details.asleep.wall_ns, asleep * MS, "the sleep");
        let parts = [PhaseName::BiosInit, PhaseName::BootManager, PhaseName::ResumeLoader, PhaseName::HiberRead];
        let parts = parts.iter().filter_map(|&part| found.phase(part)?.duration_ns).sum();
        near(found.details.resume.unrecorded_ns, parts, "the phases before the kernel");
    }
}

#[test]
fn hibernation_without_kernel_totals_has_a_lower_bound() {
    let (trace, truth) = simulate_text(&text("fast-startup-shutdown"));
    let found = only(&trace);
    let recorded = at(&truth, "power.sleep") - at(&truth, "shutdown.request");
    assert_eq!((found.total_ns, found.details.suspend.whole_ns), (None, None));
    assert!((found.total_at_least_ns - recorded).abs() <= TOLERANCE_NS);
    assert_eq!(found.details.suspend.unrecorded_ns, None);
}

#[test]
fn total_of_half_a_fast_startup_is_the_recorded_half() {
    let (trace, truth) = simulate_text(&text("fast-startup-boot"));
    let found = only(&trace);
    let expected = truth.desktop_ready_ns.unwrap() - at(&truth, "power.wake") + (4_100 + 350 + 260 + 2_400) * MS;
    assert!((found.total_ns.unwrap() - expected).abs() <= TOLERANCE_NS, "{:?} {expected}", found.total_ns);
    assert_eq!(found.details.suspend.whole_ns, None);
}

#[test]
fn boot_of_fast_startup_contains_only_the_new_session() {
    let (trace, truth) = simulate_text(&text("fast-startup-slow"));
    let found = only(&trace);
    assert_eq!(found.user_input_ns / MS, 5_000, "time for credentials");
    let boot = fast_startup(&trace, &found, &BootOptions::default()).unwrap();
    let phases: Vec<PhaseName> = boot.phases.iter().map(|phase| phase.name).collect();
    assert_eq!(phases, [PhaseName::WinLogonInit, PhaseName::ExplorerInit, PhaseName::PostBoot]);
    let subscribers: Vec<&str> =
        boot.details.logon.notification_subscribers.iter().map(|work| work.name.as_str()).collect();
    assert!(subscribers.contains(&"AuditAgent"));
    assert!(!subscribers.contains(&"Archive"), "it belongs to the session that ended");
    let wake = at(&truth, "power.wake");
    assert!(boot.details.logon.notification_subscribers.iter().all(|work| work.start_ns >= wake));
    assert!(boot.units.iter().all(|unit| unit.start_ns >= wake));
    // A sleep is not a boot, and a fast startup without its second half contains none.
    for name in ["hibernate", "fast-startup-shutdown"] {
        let (trace, _) = simulate_text(&text(name));
        assert!(fast_startup(&trace, &only(&trace), &BootOptions::default()).is_none(), "{name}");
    }
}

#[test]
fn shutdown_ends_with_the_last_kernel_step() {
    let (trace, truth) = simulate_text(&text("shutdown-closes-late"));
    let found = onoff_transitions::shutdown::analyze(&trace, &Default::default()).unwrap();
    let steps = || truth.transitions.activities.iter().filter(|row| row.kind == "kernel_shutdown_step");
    let last = steps().filter_map(|row| row.end_ns).max().unwrap();
    let orderly = steps().find(|row| row.name == "graceful_shutdown").unwrap().end_ns.unwrap();
    assert!(last - orderly >= 2_300 * MS, "the registry takes 900 ms, the file systems 1.4 s");
    assert!((found.end_ns.unwrap() - last).abs() <= TOLERANCE_NS);
}

#[test]
fn person_time_counts_only_in_the_console_session() {
    let person = |name: &str| {
        let (trace, _) = simulate_text(&text(name));
        let report = onoff_transitions::boot::analyze(&trace, &BootOptions::default()).unwrap();
        report.user_input_ns / MS
    };
    assert_eq!(person("person-logs-on"), 6_500);
    // The remote user takes 20 s, from before the console logon until after its desktop is ready.
    assert_eq!(person("remote-session"), 0);
    assert_eq!(person("second/persons-in-two-sessions"), 3_000);
}

#[test]
fn longest_phase_is_in_a_recorded_half() {
    let longest = |text: &str| {
        let (trace, _) = simulate_text(text);
        let all = onoff_transitions::overview::overview(&trace);
        all[0].longest().map(|(phase, _)| phase.name)
    };
    let boot = text("fast-startup-boot");
    let long_write = boot.replace("write = \"3100ms\"", "write = \"31s\"");
    assert_ne!(boot, long_write);
    // The kernel counted 31 s of writing in the first half, which is not in this recording.
    assert_eq!(longest(&long_write), Some(PhaseName::BiosInit));
    let cycle = text("fast-startup-cycle").replace("write = \"3100ms\"", "write = \"31s\"");
    assert_eq!(longest(&cycle), Some(PhaseName::HiberWrite));
}
