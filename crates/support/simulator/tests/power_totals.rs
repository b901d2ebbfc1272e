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

fn single_transition(trace: &Trace) -> PowerTransition {
    let mut transitions = analyze(trace, &SuspendOptions::default()).unwrap().transitions;
    assert_eq!(transitions.len(), 1);
    transitions.remove(0)
}

fn milestone_ns(truth: &Truth, milestone: &str) -> i64 {
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
    for (name, written_ms, before_kernel_ms, asleep_ms) in INJECTED_MS {
        let (trace, truth) = simulate_text(&text(name));
        let transition = single_transition(&trace);
        let assert_near = |ns: Option<i64>, truth_ns: i64, label: &str| {
            let ns = ns.unwrap_or_else(|| panic!("{name}: {label} is unknown"));
            assert!((ns - truth_ns).abs() <= TOLERANCE_NS, "{name}: {label} {ns} ns, expected {truth_ns} ns");
        };
        let is_fast = transition.variant == Variant::FastStartup;
        let start =
            if is_fast { milestone_ns(&truth, "shutdown.request") } else { milestone_ns(&truth, "power.begin_utc") };
        let end = if is_fast { truth.desktop_ready_ns.unwrap() } else { milestone_ns(&truth, "power.end_utc") };
        let suspend_ns = milestone_ns(&truth, "power.sleep") - start + written_ms * MS;
        // No duration includes the time that the user takes to enter credentials.
        let user_input_ms = if name == "fast-startup-slow" { 5_000 } else { 0 };
        let resume_ns = end - milestone_ns(&truth, "power.wake") + (before_kernel_ms - user_input_ms) * MS;
        assert_eq!(transition.user_input_ns / MS, user_input_ms, "{name}");
        assert_near(transition.details.suspend.whole_ns, suspend_ns, "suspend");
        assert_near(transition.details.resume.whole_ns, resume_ns, "resume");
        assert_near(transition.total_ns, suspend_ns + resume_ns, "both");
        assert_near(transition.details.asleep.wall_ns, asleep_ms * MS, "the sleep");
        let phases = [PhaseName::BiosInit, PhaseName::BootManager, PhaseName::ResumeLoader, PhaseName::HiberRead];
        let before_kernel_ns = phases.iter().filter_map(|&phase| transition.phase(phase)?.duration_ns).sum();
        assert_near(transition.details.resume.unrecorded_ns, before_kernel_ns, "the phases before the kernel");
    }
}

#[test]
fn hibernation_without_kernel_totals_has_a_lower_bound() {
    let (trace, truth) = simulate_text(&text("fast-startup-shutdown"));
    let transition = single_transition(&trace);
    let recorded = milestone_ns(&truth, "power.sleep") - milestone_ns(&truth, "shutdown.request");
    assert_eq!((transition.total_ns, transition.details.suspend.whole_ns), (None, None));
    assert!((transition.total_at_least_ns - recorded).abs() <= TOLERANCE_NS);
    assert_eq!(transition.details.suspend.unrecorded_ns, None);
}

#[test]
fn total_of_half_a_fast_startup_is_the_recorded_half() {
    let (trace, truth) = simulate_text(&text("fast-startup-boot"));
    let transition = single_transition(&trace);
    let expected =
        truth.desktop_ready_ns.unwrap() - milestone_ns(&truth, "power.wake") + (4_100 + 350 + 260 + 2_400) * MS;
    assert!((transition.total_ns.unwrap() - expected).abs() <= TOLERANCE_NS, "{:?} {expected}", transition.total_ns);
    assert_eq!(transition.details.suspend.whole_ns, None);
}

#[test]
fn boot_of_fast_startup_contains_only_the_new_session() {
    let (trace, truth) = simulate_text(&text("fast-startup-slow"));
    let transition = single_transition(&trace);
    assert_eq!(transition.user_input_ns / MS, 5_000, "time for credentials");
    let boot = fast_startup(&trace, &transition, &BootOptions::default()).unwrap();
    let phases: Vec<PhaseName> = boot.phases.iter().map(|phase| phase.name).collect();
    assert_eq!(phases, [PhaseName::WinLogonInit, PhaseName::ExplorerInit, PhaseName::PostBoot]);
    let subscribers: Vec<&str> =
        boot.details.logon.notification_subscribers.iter().map(|work| work.name.as_str()).collect();
    assert!(subscribers.contains(&"AuditAgent"));
    assert!(!subscribers.contains(&"Archive"), "the archive belongs to the session that ended");
    let wake = milestone_ns(&truth, "power.wake");
    assert!(boot.details.logon.notification_subscribers.iter().all(|work| work.start_ns >= wake));
    assert!(boot.units.iter().all(|unit| unit.start_ns >= wake));
    // A sleep is not a boot, and a fast startup without its second half contains none.
    for name in ["hibernate", "fast-startup-shutdown"] {
        let (trace, _) = simulate_text(&text(name));
        assert!(fast_startup(&trace, &single_transition(&trace), &BootOptions::default()).is_none(), "{name}");
    }
}

#[test]
fn shutdown_ends_with_the_last_kernel_step() {
    let (trace, truth) = simulate_text(&text("shutdown-closes-late"));
    let shutdown = onoff_transitions::shutdown::analyze(&trace, &Default::default()).unwrap();
    let steps = || truth.transitions.activities.iter().filter(|row| row.kind == "kernel_shutdown_step");
    let last = steps().filter_map(|row| row.end_ns).max().unwrap();
    let orderly = steps().find(|row| row.name == "graceful_shutdown").unwrap().end_ns.unwrap();
    assert!(last - orderly >= 2_300 * MS, "the registry takes 900 ms, the file systems 1.4 s");
    assert!((shutdown.end_ns.unwrap() - last).abs() <= TOLERANCE_NS);
}

#[test]
fn person_time_counts_only_in_the_console_session() {
    let user_input_ms = |name: &str| {
        let (trace, _) = simulate_text(&text(name));
        let report = onoff_transitions::boot::analyze(&trace, &BootOptions::default()).unwrap();
        report.user_input_ns / MS
    };
    assert_eq!(user_input_ms("person-logs-on"), 6_500);
    // The remote user takes 20 s, from before the console logon until after its desktop is ready.
    assert_eq!(user_input_ms("remote-session"), 0);
    assert_eq!(user_input_ms("second/persons-in-two-sessions"), 3_000);
}

#[test]
fn longest_phase_is_in_a_recorded_half() {
    let longest = |text: &str| {
        let (trace, _) = simulate_text(text);
        let transitions = onoff_transitions::overview::overview(&trace);
        transitions[0].longest_phase().map(|(phase, _)| phase.name)
    };
    let boot = text("fast-startup-boot");
    let long_write = boot.replace("write = \"3100ms\"", "write = \"31s\"");
    assert_ne!(boot, long_write);
    // The kernel counted 31 s of writing in the first half, which is not in this recording.
    assert_eq!(longest(&long_write), Some(PhaseName::BiosInit));
    let cycle = text("fast-startup-cycle").replace("write = \"3100ms\"", "write = \"31s\"");
    assert_eq!(longest(&cycle), Some(PhaseName::HiberWrite));
}
