//! Analyzes synthetic boots and random traces.

use onoff_trace::{
    DependencyKind, Milestone, ServiceDependency, ServiceOutcome, ServiceTransition, StringId, Trace, milestone,
};

use super::*;

use onoff_testkit::hostile::{ExtremeValues, hostile_trace};
use onoff_testkit::synthetic::{MS, as_linux, milestone_value, process, service, switches, thread};
use onoff_usage::units::{StillStarting, WaitKind};

/// Adds `After=` dependencies: (unit, the unit it starts after).
fn after(trace: &mut Trace, pairs: &[(&str, &str)]) {
    for (service, on) in pairs {
        let row = ServiceDependency {
            service: trace.strings.intern(service),
            kind: DependencyKind::After,
            on: trace.strings.intern(on),
        };
        trace.service_dependencies.push(row);
    }
}

fn add_milestone(trace: &mut Trace, ms: i64, name: &str, detail: &str, value: Option<i64>) {
    milestone_value(trace, ms * MS, name, detail, value.map(|ms| ms * MS));
}

/// Returns a boot of 30 s. `slow.service` (6 s) and `once.service` (a oneshot, 4 s) are on the critical path,
/// `side.service` (9 s) is not.
fn boot() -> Trace {
    let mut trace = as_linux(Trace { duration_ns: 60_000 * MS, ..Trace::default() });
    add_milestone(&mut trace, -5_400, milestone::FIRMWARE, "", Some(5_100));
    add_milestone(&mut trace, -300, milestone::BOOT_MANAGER, "", Some(300));
    add_milestone(&mut trace, 11_000, milestone::USER_SPACE_BEGIN, "", None);
    add_milestone(&mut trace, 12_000, milestone::UNITS_LOAD_BEGIN, "", None);
    add_milestone(&mut trace, 14_000, milestone::UNITS_LOAD_END, "", None);
    add_milestone(&mut trace, 30_000, milestone::STARTUP_FINISHED, "graphical.target", None);
    add_milestone(&mut trace, 29_500, milestone::TARGET_REACHED, "graphical.target", None);
    for (name, start, end) in [
        ("-.slice", 14_001, 14_001),
        ("slow.service", 14_030, 20_030),
        ("side.service", 14_040, 23_040),
        ("once.service", 22_100, 26_100),
        ("basic.target", 20_050, 20_050),
        ("graphical.target", 29_500, 29_500),
        ("late.service", 29_600, 29_900),
    ] {
        service(&mut trace, name, "system.slice", (start, None, None, Some(end)));
    }
    after(
        &mut trace,
        &[
            ("slow.service", "-.slice"),
            ("side.service", "-.slice"),
            ("basic.target", "slow.service"),
            ("basic.target", "-.slice"),
            ("once.service", "basic.target"),
            ("graphical.target", "basic.target"),
            ("graphical.target", "once.service"),
            ("graphical.target", "never.service"),
            ("late.service", "graphical.target"),
        ],
    );
    trace
}

fn analyze_with_defaults(trace: &Trace) -> LinuxBootReport {
    analyze(trace, &BootOptions::default()).unwrap()
}

#[test]
fn phases_are_those_of_the_service_manager() {
    let report = analyze_with_defaults(&boot());
    let lengths: Vec<Option<i64>> = report.phases.iter().map(|phase| phase.duration_ns.map(|ns| ns / MS)).collect();
    let expected = [Some(5_100), Some(300), Some(11_000), None, Some(19_000), None, None];
    assert_eq!(lengths, expected);
    assert_eq!(report.details.startup_ns, Some(35_400 * MS));
    assert_eq!(report.total_ns, None);
    assert_eq!(report.total_at_least_ns, 35_400 * MS);
    let target = report.details.default_target.unwrap();
    assert_eq!(target.unit, "graphical.target");
    assert_eq!(target.in_user_space_ns, Some(18_500 * MS));
    assert_eq!(report.details.last_unit, "late.service");
    assert_eq!(report.details.manager.whole.duration_ns, Some(3_000 * MS));
    assert_eq!(report.details.manager.units_load.duration_ns, Some(2_000 * MS));
}

#[test]
fn an_initramfs_without_service_manager_belongs_to_the_kernel_phase() {
    let mut trace = boot();
    let event = trace.strings.intern("kernel log/Run … as init process");
    let name = trace.strings.intern(milestone::INITRD_BEGIN);
    trace.milestones.push(Milestone {
        time_ns: 6_000 * MS,
        name,
        detail: StringId::EMPTY,
        value: None,
        pid: None,
        tid: None,
        event,
    });
    let report = analyze_with_defaults(&trace);
    let kernel = report.phase(PhaseName::Kernel).unwrap();
    assert_eq!(kernel.duration_ns, Some(11_000 * MS));
    assert_eq!(report.phase(PhaseName::Initrd).unwrap().start_ns, None);
    let initramfs = report.details.initial_file_system.unwrap();
    assert_eq!(initramfs.duration_ns, Some(5_000 * MS));
}

/// Returns the boot of [`boot`], cut off at 25 s, while `once.service` was starting.
fn hung() -> Trace {
    let mut trace = as_linux(Trace { duration_ns: 25_000 * MS, ..Trace::default() });
    add_milestone(&mut trace, 11_000, milestone::USER_SPACE_BEGIN, "", None);
    add_milestone(&mut trace, 20_050, milestone::TARGET_REACHED, "basic.target", None);
    for (name, start, end) in
        [("slow.service", 14_030, Some(20_030)), ("basic.target", 20_050, Some(20_050)), ("once.service", 22_100, None)]
    {
        service(&mut trace, name, "system.slice", (start, None, None, end));
    }
    after(
        &mut trace,
        &[
            ("once.service", "basic.target"),
            ("graphical.target", "once.service"),
            ("late.service", "graphical.target"),
            // Every unit is ordered before these, so nothing waits for them to start.
            ("shutdown.target", "once.service"),
            ("umount.target", "once.service"),
        ],
    );
    trace
}

#[test]
fn a_hung_boot_names_starting_units_and_what_they_hold_up() {
    let report = analyze_with_defaults(&hung());
    assert_eq!((report.details.startup_ns, report.details.default_target.clone()), (None, None));
    assert_eq!(
        report.details.still_starting,
        [StillStarting {
            unit: "once.service".to_owned(),
            start_ns: 22_100 * MS,
            elapsed_ns: 2_900 * MS,
            limit_ns: None,
            holds_up: vec!["graphical.target".to_owned()],
        }]
    );
    assert_eq!(report.total_at_least_ns, 25_000 * MS);
}

#[test]
fn a_finished_boot_with_a_unit_that_never_starts_did_not_hang() {
    let mut trace = boot();
    service(&mut trace, "endless.service", "system.slice", (29_000, None, None, None));
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.details.still_starting, []);
    assert_eq!(report.details.startup_ns, Some(35_400 * MS));
}

#[test]
fn the_end_of_the_recording_does_not_bound_the_boot() {
    // The log covers an hour, but its only record of the boot is the start of the initramfs program at 2 s.
    let mut trace = as_linux(Trace { duration_ns: 3_600_000 * MS, ..Trace::default() });
    add_milestone(&mut trace, 2_000, milestone::INITRD_BEGIN, "", None);
    let report = analyze_with_defaults(&trace);
    assert_eq!((report.total_at_least_ns, report.details.startup_ns), (2_000 * MS, None));
}

#[test]
fn the_path_follows_the_unit_that_finished_last() {
    let report = analyze_with_defaults(&boot());
    let steps: Vec<(&str, i64, i64, &str)> = report
        .details
        .critical_path
        .steps
        .iter()
        .map(|step| {
            (step.unit.as_str(), step.duration_ns / MS, step.released_by.gap_ns / MS, step.released_by.name.as_str())
        })
        .collect();
    assert_eq!(
        steps,
        [
            ("-.slice", 0, 1, ""),
            ("slow.service", 6_000, 29, "-.slice"),
            ("basic.target", 0, 20, "slow.service"),
            ("once.service", 4_000, 2_050, "basic.target"),
            ("graphical.target", 0, 3_400, "once.service"),
        ]
    );
    // The path covers all of the time from the end of loading units to the target.
    let path = &report.details.critical_path;
    assert_eq!((path.units_ns + path.gaps_ns) / MS, 29_500 - 14_000);
    assert_eq!(path.certainty, Certainty::Inferred);
    let unit = |name: &str| report.units.iter().find(|unit| unit.name == name).unwrap();
    assert_eq!(unit("-.slice").held_up, ["slow.service", "side.service"]);
    assert_eq!(unit("-.slice").held_up_total, 6);
    assert!(unit("once.service").on_path && !unit("side.service").on_path);
    assert_eq!(unit("slow.service").waited_for.as_ref().unwrap().certainty, Certainty::Measured);
}

#[test]
fn a_device_wait_is_followed_to_the_device_scan() {
    // The device was needed before or after it appeared.
    for (needed_ms, device_ms, gap_ms, held_up) in [(14_010, 940, 0, &[][..]), (21_000, 0, 940, &["dev-vda1.device"])] {
        let mut trace = boot();
        for (name, start, end) in [
            ("dev-vda1.device", needed_ms, 21_000),
            ("dev-nobody.device", 21_000, 21_000),
            ("systemd-udev-trigger.service", 20_060, 20_400),
            ("boot.mount", 21_010, 22_000),
        ] {
            service(&mut trace, name, "", (start, None, None, Some(end)));
        }
        after(
            &mut trace,
            &[
                ("boot.mount", "dev-vda1.device"),
                ("once.service", "boot.mount"),
                ("systemd-udev-trigger.service", "slow.service"),
            ],
        );
        let report = analyze_with_defaults(&trace);
        let steps = &report.details.critical_path.steps;
        let path: Vec<(&str, i64)> = steps.iter().map(|step| (step.unit.as_str(), step.duration_ns / MS)).collect();
        assert_eq!(
            path,
            [
                ("-.slice", 0),
                ("slow.service", 6_000),
                ("systemd-udev-trigger.service", 0),
                ("dev-vda1.device", device_ms),
                ("boot.mount", 990),
                ("once.service", 4_000),
                ("graphical.target", 0),
            ]
        );
        assert_eq!(steps[3].released_by.gap_ns, gap_ms * MS);
        let scan = report.units.iter().find(|unit| unit.name == "systemd-udev-trigger.service").unwrap();
        assert_eq!(scan.held_up, held_up);
    }
}

#[test]
fn a_gap_names_the_busiest_processes() {
    let mut trace = boot();
    trace.system.processors = 1;
    process(&mut trace, 1, "systemd", None, None);
    thread(&mut trace, 1, 1, None, None);
    switches(
        &mut trace,
        &[(14_000 * MS, 0, 0, 0, 0), (20_050 * MS, 0, 0, 1, 9), (22_050 * MS, 0, 1, 0, 0), (60_000 * MS, 0, 0, 0, 0)],
    );
    let report = analyze_with_defaults(&trace);
    let step = report.details.critical_path.steps.iter().find(|step| step.unit == "once.service").unwrap();
    assert_eq!(step.gap_busiest[0].image, "systemd");
    assert_eq!(step.gap_busiest[0].cpu_ns, 2_000 * MS);
    assert_eq!(step.busy_percent, Some(0.0));
    // The CPU was busy for 2 s, but before the boot finished, so idle detection ends ten seconds after the boot.
    assert_eq!(report.settling.as_ref().unwrap().end_ns, Some(40_000 * MS));
    assert_eq!(report.total_ns, Some(35_400 * MS));
}

#[test]
fn missing_data_reduces_the_result() {
    let mut trace = as_linux(Trace { duration_ns: 30_000 * MS, ..Trace::default() });
    add_milestone(&mut trace, 20_000, milestone::TARGET_REACHED, "basic.target", None);
    add_milestone(&mut trace, 25_000, milestone::TARGET_REACHED, "multi-user.target", None);
    service(&mut trace, "a.service", "", (14_000, None, None, Some(16_000)));
    let report = analyze_with_defaults(&trace);
    assert_eq!(report.details.startup_ns, Some(25_000 * MS));
    assert_eq!(report.total_certainty, Certainty::Inferred);
    assert_eq!(report.details.default_target.unwrap().unit, "multi-user.target");
    // Nothing started for seconds after the unit, so it held up nobody.
    let [step] = &report.details.critical_path.steps[..] else { panic!("{:?}", report.details.critical_path) };
    assert_eq!((step.unit.as_str(), step.released_by.kind), ("multi-user.target", WaitKind::Unexplained));
    assert_eq!(step.released_by.gap_ns, 9_000 * MS);
    let missing_facts: Vec<_> = report.missing_evidence.items.iter().map(|item| item.unknown).collect();
    assert_eq!(missing_facts.len(), 6, "{missing_facts:?}");
    let empty = Trace::default();
    let error = analyze(&empty, &BootOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no boot"), "{error}");
}

#[test]
fn random_traces_are_analyzed_without_panic() {
    let names = ["a.target", "b.service", "c.device", "systemd-udev-trigger.service", "graphical.target"];
    let milestones = [
        milestone::FIRMWARE,
        milestone::BOOT_MANAGER,
        milestone::INITRD_BEGIN,
        milestone::USER_SPACE_BEGIN,
        milestone::STARTUP_FINISHED,
        milestone::TARGET_REACHED,
        milestone::UNITS_LOAD_END,
    ];
    let mut report_count = 0;
    for seed in 0..400 {
        let mut trace = hostile_trace(seed);
        let mut any = ExtremeValues(seed ^ 0x55);
        let names = names.map(|name| trace.strings.intern(name));
        let milestones = milestones.map(|name| trace.strings.intern(name));
        for _ in 0..any.below(16) {
            trace.service_transitions.push(ServiceTransition {
                service: any.pick(&names),
                group: StringId::EMPTY,
                kind: any.pick(ServiceChange::ALL),
                start_ns: any.time(),
                checkpoint_ns: any.optional_time(),
                load_ns: None,
                end_ns: any.optional_time(),
                container: StringId::EMPTY,
                container_pid: any.optional_id(),
                outcome: any.pick(ServiceOutcome::ALL),
                automatic: any.below(2) == 0,
                start_type: None,
                result: StringId::EMPTY,
                timeout_ns: any.optional_time(),
                main_tid: None,
                tid: None,
                end_tid: None,
                cpu_ns: None,
                cpu_max_ns: None,
                event: StringId::EMPTY,
            });
            trace.service_dependencies.push(ServiceDependency {
                service: any.pick(&names),
                kind: any.pick(DependencyKind::ALL),
                on: any.pick(&names),
            });
            let value = any.time();
            trace.milestones.push(Milestone {
                time_ns: any.time(),
                name: any.pick(&milestones),
                detail: any.pick(&names),
                value: any.optional(value),
                pid: None,
                tid: None,
                event: StringId::EMPTY,
            });
        }
        if let Ok(report) = analyze(&trace, &BootOptions::default()) {
            report_count += 1;
            assert_eq!(report.phases.len(), 7, "seed {seed}");
            let steps = &report.details.critical_path.steps;
            assert!(steps.iter().all(|step| step.duration_ns >= 0), "seed {seed}");
        }
    }
    assert!(report_count > 200, "{report_count}");
}
