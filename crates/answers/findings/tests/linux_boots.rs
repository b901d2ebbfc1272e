//! Tests of the Linux boot and shutdown rules with hand-made tables: findings, healthy boots and decoys.

use onoff_evidence::Certainty;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_findings::finding::{CostBasis, RuleFinding};
use onoff_findings::{Diagnosis, diagnose};
use onoff_trace::{
    ContextSwitch, ContextSwitches, DependencyKind, DeviceOperation, DeviceOperationKind, DevicePhase, Milestone,
    ServiceChange, ServiceDependency, ServiceOutcome, ServiceTransition, StringId, SystemKind, TableSet, Trace,
    milestone,
};

use crate::linux_machine::KNOWN_WAITS;

const MS: i64 = 1_000_000;

struct Machine {
    trace: Trace,
}

impl Machine {
    fn new() -> Self {
        let mut trace = Trace { requested_tables: TableSet::all(), duration_ns: 60_000 * MS, ..Trace::default() };
        trace.system.kind = SystemKind::Linux;
        trace.system.processors = 2;
        Self { trace }
    }

    /// A boot whose user space starts at 5 s; it reaches its target at 29 s and is finished at 30 s.
    fn boot() -> Self {
        Self::new()
            .milestone_at(5_000, milestone::USER_SPACE_BEGIN, "", None)
            .milestone_at(5_500, milestone::UNITS_LOAD_END, "", None)
            .milestone_at(29_000, milestone::TARGET_REACHED, "graphical.target", None)
            .milestone_at(30_000, milestone::STARTUP_FINISHED, "graphical.target", None)
            .unit("graphical.target", 29_000, Some(29_000))
    }

    fn milestone_at(mut self, ms: i64, name: &str, detail: &str, value_ms: Option<i64>) -> Self {
        let mut intern = |text: &str| self.trace.strings.intern(text);
        let (event, name, detail) = (intern("journal"), intern(name), intern(detail));
        let value = value_ms.map(|ms| ms * MS);
        self.trace.milestones.push(Milestone { time_ns: ms * MS, name, detail, value, pid: None, tid: None, event });
        self
    }

    fn unit(self, name: &str, start_ms: i64, end_ms: Option<i64>) -> Self {
        let outcome = if end_ms.is_some() { ServiceOutcome::Completed } else { ServiceOutcome::Unfinished };
        self.transition(ServiceChange::Start, name, (start_ms, end_ms), outcome, "")
    }

    fn failed(self, name: &str, start_ms: i64, end_ms: i64, result: &str) -> Self {
        self.transition(ServiceChange::Start, name, (start_ms, Some(end_ms)), ServiceOutcome::Failed, result)
    }

    fn transition(
        mut self,
        kind: ServiceChange,
        name: &str,
        (start_ms, end_ms): (i64, Option<i64>),
        outcome: ServiceOutcome,
        result: &str,
    ) -> Self {
        let mut intern = |text: &str| self.trace.strings.intern(text);
        let (service, group, event, result) = (intern(name), intern("system.slice"), intern("journal"), intern(result));
        self.trace.service_transitions.push(ServiceTransition {
            service,
            group,
            kind,
            start_ns: start_ms * MS,
            checkpoint_ns: None,
            load_ns: None,
            end_ns: end_ms.map(|ms| ms * MS),
            container: StringId::EMPTY,
            container_pid: None,
            outcome,
            automatic: true,
            start_type: None,
            result,
            timeout_ns: Some(90_000 * MS),
            main_tid: None,
            tid: None,
            end_tid: None,
            cpu_ns: None,
            cpu_max_ns: None,
            event,
        });
        self
    }

    fn after(mut self, service: &str, on: &str) -> Self {
        let service = self.trace.strings.intern(service);
        let on = self.trace.strings.intern(on);
        self.trace.service_dependencies.push(ServiceDependency { service, kind: DependencyKind::After, on });
        self
    }

    fn device(mut self, kind: DeviceOperationKind, driver: &str, start_ms: i64, end_ms: i64) -> Self {
        let driver = self.trace.strings.intern(driver);
        self.trace.device_operations.push(DeviceOperation {
            kind,
            start_ns: start_ms * MS,
            pend_ns: None,
            end_ns: Some(end_ms * MS),
            device: StringId::EMPTY,
            driver,
            description: StringId::EMPTY,
            friendly_name: StringId::EMPTY,
            phase: DevicePhase::Later,
            status: None,
            tid: None,
            end_tid: None,
            event: StringId::EMPTY,
        });
        self
    }

    /// Both CPUs are busy during the interval, and idle otherwise.
    fn busy(mut self, from_ms: i64, to_ms: i64) -> Self {
        let switch = |ms: i64, cpu: u16, old_tid: u32, new_tid: u32| ContextSwitch {
            time_ns: ms * MS,
            cpu,
            new_tid,
            old_tid,
            new_priority: 8,
            old_priority: 8,
            old_wait_reason: 0,
            old_wait_mode: 0,
            old_state: 0,
            previous_c_state: 0,
            old_ideal_processor: 0,
            new_wait_ticks: 0,
        };
        let chunk: ContextSwitches = [(0, 0), (from_ms, 1), (to_ms, 0), (60_000, 0)]
            .into_iter()
            .flat_map(|(ms, runs)| [0, 1].map(|cpu| (ms, runs, cpu)))
            .map(|(ms, runs, cpu)| {
                let tid = 100 + u32::from(cpu);
                if runs == 1 { switch(ms, cpu, 0, tid) } else { switch(ms, cpu, tid, 0) }
            })
            .collect();
        self.trace.context_switches.push(chunk);
        self
    }

    fn diagnosed(&self) -> Diagnosis {
        diagnose(&self.trace, &DiagnosisOptions::default())
    }
}

fn findings_of<'a>(diagnosis: &'a Diagnosis, code: &str) -> Vec<&'a RuleFinding> {
    diagnosis.findings.iter().filter(|finding| finding.code == code).collect()
}

fn unchecked(diagnosis: &Diagnosis, code: &str) -> bool {
    diagnosis.unchecked_rules.iter().any(|rule| rule.code == code)
}

/// A boot whose target waits for `unit` from 6 s for `length_ms`, with a parallel unit of the same duration.
fn waits_for(unit: &str, length_ms: i64) -> Machine {
    Machine::boot()
        .unit(unit, 6_000, Some(6_000 + length_ms))
        .unit("parallel.service", 6_000, Some(6_000 + length_ms))
        .after("graphical.target", unit)
}

#[test]
fn known_waits_are_not_reported_as_slow_units() {
    for (code, unit) in KNOWN_WAITS {
        let diagnosis = waits_for(unit, 3_000).diagnosed();
        let [finding] = findings_of(&diagnosis, code)[..] else {
            panic!("{code}: {:?}", diagnosis.findings);
        };
        assert_eq!((finding.cost_ns, finding.cost_basis), (Some(3_000 * MS), CostBasis::CriticalPath), "{code}");
        assert_eq!(finding.subject.name, unit);
        assert!(finding.title.contains("3.00 s"), "{}", finding.title);
        // One wait is one finding.
        assert!(findings_of(&diagnosis, "linux/unit-slow").is_empty(), "{code}");
    }
}

#[test]
fn ignores_short_or_parallel_known_waits() {
    for (code, unit) in KNOWN_WAITS {
        let short = waits_for(unit, 900).diagnosed();
        assert!(findings_of(&short, code).is_empty() && !unchecked(&short, code), "{code}");
        let beside = Machine::boot()
            .unit(unit, 6_000, Some(20_000))
            .unit("needed.service", 6_000, Some(9_000))
            .after("graphical.target", "needed.service")
            .diagnosed();
        assert!(findings_of(&beside, code).is_empty() && !unchecked(&beside, code), "{code}");
        // A name with the same prefix.
        let alike = waits_for("systemd-networkd.service", 3_000).diagnosed();
        assert!(findings_of(&alike, code).is_empty(), "{code}");
        assert_eq!(findings_of(&alike, "linux/unit-slow").len(), 1);
    }
}

#[test]
fn path_is_inferred_from_times_without_dependencies() {
    let boot = || {
        Machine::boot()
            .unit("NetworkManager-wait-online.service", 6_000, Some(15_800))
            .unit("slow.service", 6_000, Some(13_000))
            .unit("quick.service", 6_000, Some(6_500))
            .unit("dev-sda1.device", 5_600, Some(16_000))
    };
    let diagnosis = boot().unit("app.service", 15_805, Some(28_995)).diagnosed();
    let findings = findings_of(&diagnosis, "linux/network-wait");
    assert_eq!((findings[0].cost_ns, findings[0].cost_basis), (Some(9_800 * MS), CostBasis::CriticalPath));
    assert_eq!(findings[0].certainty, Certainty::Inferred);
    assert!(findings[0].evidence.iter().any(|row| row.text.contains("not recorded")));
    // What ran beside the path costs nothing.
    let slow: Vec<&str> =
        findings_of(&diagnosis, "linux/unit-slow").iter().map(|finding| finding.subject.name.as_str()).collect();
    assert_eq!(slow, ["app.service"]);
    assert!(findings_of(&diagnosis, "linux/unexplained-gap").is_empty());

    // Nothing started for seconds after any of them: they held up nobody, and the gap is the finding.
    let diagnosis = boot().diagnosed();
    let codes: Vec<&str> = diagnosis.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["linux/unexplained-gap"]);
    assert_eq!(diagnosis.findings[0].cost_ns, Some(13_200 * MS));
    assert!(diagnosis.findings[0].title.contains("NetworkManager-wait-online.service had finished"));
    // Without any units, the rules are unchecked.
    let nothing = Machine::new().milestone_at(5_000, milestone::USER_SPACE_BEGIN, "", None).diagnosed();
    for code in KNOWN_WAITS.map(|(code, _)| code).into_iter().chain(["linux/unit-slow", "linux/unit-failed"]) {
        assert!(unchecked(&nothing, code), "{code}");
    }
}

#[test]
fn title_of_failed_network_wait_says_in_vain() {
    let unit = "systemd-networkd-wait-online.service";
    let diagnosis =
        Machine::boot().failed(unit, 6_000, 16_000, "exit-code").after("graphical.target", unit).diagnosed();
    let findings = findings_of(&diagnosis, "linux/network-wait");
    assert!(findings[0].title.contains("10.0 s in vain for the network"), "{}", findings[0].title);
}

#[test]
fn title_mentions_password_only_if_prompted() {
    let unit = "systemd-cryptsetup@root.service";
    // Every boot has the path unit that watches for prompts, and a much later prompt is a different one.
    let watched = waits_for(unit, 20_000)
        .unit("systemd-ask-password-console.path", 5_900, Some(5_901))
        .unit("systemd-ask-password-wall.service", 28_000, Some(28_100))
        .diagnosed();
    let findings = findings_of(&watched, "linux/encrypted-volume-wait");
    assert!(!findings[0].title.contains("password"), "{}", findings[0].title);
}

#[test]
fn tells_failed_units_from_restarted_units() {
    let diagnosis = Machine::boot()
        .failed("broken.service", 6_000, 6_100, "exit-code")
        .failed("flaky.service", 6_000, 6_200, "exit-code")
        .unit("flaky.service", 11_200, Some(11_300))
        .unit("triggered.service", 7_000, Some(7_100))
        .unit("triggered.service", 9_000, Some(9_100))
        .diagnosed();
    let failed = findings_of(&diagnosis, "linux/unit-failed");
    assert_eq!(failed.len(), 1);
    assert_eq!((failed[0].title.as_str(), failed[0].cost_ns), ("broken.service failed to start (exit-code)", None));
    let restarted = findings_of(&diagnosis, "linux/unit-restarted");
    assert_eq!(restarted.len(), 1);
    assert_eq!(restarted[0].title, "flaky.service was started 2 times, 1 of them failed (exit-code)");
    assert_eq!((restarted[0].cost_ns, restarted[0].cost_basis), (Some(5_200 * MS), CostBasis::AtMost));
    // A healthy boot has neither.
    let healthy = Machine::boot().unit("a.service", 6_000, Some(6_100)).diagnosed();
    assert!(
        findings_of(&healthy, "linux/unit-failed").is_empty()
            && findings_of(&healthy, "linux/unit-restarted").is_empty()
    );
}

#[test]
fn timed_out_unit_costs_its_timeout() {
    let on_path = Machine::boot()
        .failed("dead.service", 6_000, 27_000, "timeout")
        .after("graphical.target", "dead.service")
        .diagnosed();
    let findings = findings_of(&on_path, "linux/unit-timed-out");
    assert_eq!((findings[0].cost_ns, findings[0].cost_basis), (Some(21_000 * MS), CostBasis::CriticalPath));
    let beside = Machine::boot()
        .failed("dead.service", 6_000, 27_000, "timeout")
        .unit("needed.service", 6_000, Some(28_900))
        .after("graphical.target", "needed.service")
        .diagnosed();
    let findings = findings_of(&beside, "linux/unit-timed-out");
    assert_eq!(findings[0].cost_ns, None);
    assert!(findings[0].title.ends_with("the boot did not wait for it"), "{}", findings[0].title);
    assert!(findings[0].advice.contains("TimeoutStartSec"), "{}", findings[0].advice);
    // Devices have no start timeout.
    let device = Machine::boot().failed("dev-sdz1.device", 6_000, 27_000, "timeout").diagnosed();
    let findings = findings_of(&device, "linux/unit-timed-out");
    assert!(findings[0].advice.contains("x-systemd.device-timeout"), "{}", findings[0].advice);
    assert!(!findings[0].advice.contains("TimeoutStartSec"), "{}", findings[0].advice);
    // Slow but successful, and failed at once.
    let slow =
        Machine::boot().unit("slow.service", 6_000, Some(27_000)).failed("f.service", 6_000, 6_900, "").diagnosed();
    assert!(findings_of(&slow, "linux/unit-timed-out").is_empty());
}

#[test]
fn reports_slow_units_on_critical_path_only() {
    let diagnosis = waits_for("slow.service", 6_000).diagnosed();
    let findings = findings_of(&diagnosis, "linux/unit-slow");
    assert_eq!(findings.len(), 1, "parallel.service took as long but did not delay the boot");
    assert_eq!(findings[0].subject.name, "slow.service");
    assert_eq!((findings[0].cost_ns, findings[0].cost_basis), (Some(6_000 * MS), CostBasis::CriticalPath));
    assert!(findings_of(&waits_for("quick.service", 999).diagnosed(), "linux/unit-slow").is_empty());
}

/// A chain of `count` services of `each_ms` each; the target waits for the last one.
fn chain(count: i64, each_ms: i64) -> Machine {
    chain_of("s", count, each_ms)
}

fn chain_of(prefix: &str, count: i64, each_ms: i64) -> Machine {
    let name = |number: i64| format!("{prefix}{number}.service");
    let mut machine = Machine::boot();
    for number in 0..count {
        let start = 6_000 + number * each_ms;
        machine = machine.unit(&name(number), start, Some(start + each_ms));
        if number > 0 {
            machine = machine.after(&name(number), &name(number - 1));
        }
    }
    machine.after("graphical.target", &name(count - 1))
}

#[test]
fn chain_costs_at_most_its_time_beyond_the_longest() {
    let diagnosis = chain(4, 900).diagnosed();
    let findings = findings_of(&diagnosis, "linux/unit-chain");
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].cost_ns, findings[0].cost_basis), (Some(2_700 * MS), CostBasis::AtMost));
    assert!(findings[0].title.starts_with("4 services started sequentially and took 3.60 s in total: s0.service, s1"));
    // Too few, too short, or dominated by one.
    assert!(findings_of(&chain(2, 2_000).diagnosed(), "linux/unit-chain").is_empty());
    assert!(findings_of(&chain(4, 500).diagnosed(), "linux/unit-chain").is_empty());
    let with_slow_unit = chain(3, 300).unit("long.service", 6_900, Some(12_000)).after("long.service", "s2.service");
    let with_slow_unit = with_slow_unit.after("graphical.target", "long.service").diagnosed();
    assert!(findings_of(&with_slow_unit, "linux/unit-chain").is_empty());
    // systemd's own ordering is needed, and with busy CPUs, parallel starts take as long.
    assert!(findings_of(&chain_of("systemd-s", 4, 900).diagnosed(), "linux/unit-chain").is_empty());
    assert!(findings_of(&chain(4, 900).busy(5_900, 10_000).diagnosed(), "linux/unit-chain").is_empty());
    assert_eq!(findings_of(&chain(4, 900).busy(20_000, 25_000).diagnosed(), "linux/unit-chain").len(), 1);
    // The same services in parallel are not a chain.
    let mut together = Machine::boot();
    for number in 0..4 {
        let name = format!("s{number}.service");
        together = together.unit(&name, 6_000, Some(6_900 + number)).after("graphical.target", &name);
    }
    assert!(findings_of(&together.diagnosed(), "linux/unit-chain").is_empty());
}

#[test]
fn unfinished_boot_names_unit_and_its_dependents() {
    let hung = Machine::new()
        .milestone_at(5_000, milestone::USER_SPACE_BEGIN, "", None)
        .unit("basic.target", 5_900, Some(5_900))
        .unit("stuck.service", 6_000, None)
        .after("graphical.target", "stuck.service")
        .diagnosed();
    let findings = findings_of(&hung, "linux/boot-unfinished");
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].cost_ns, findings[0].cost_basis), (Some(54_000 * MS), CostBasis::AtMost));
    let title = &findings[0].title;
    assert!(title.starts_with("stuck.service was still starting after 54.0 s"), "{title}");
    assert!(title.ends_with("graphical.target, which waits for it, never started"), "{title}");
    // In a finished boot, a unit that is still starting does not matter.
    let finished = Machine::boot().unit("stuck.service", 6_000, None).diagnosed();
    assert!(findings_of(&finished, "linux/boot-unfinished").is_empty());
}

#[test]
fn reports_firmware_loader_and_initramfs_above_limits_only() {
    let before = |firmware_ms: i64, loader_ms: i64| {
        Machine::boot()
            .milestone_at(-firmware_ms - loader_ms, milestone::FIRMWARE, "", Some(firmware_ms))
            .milestone_at(-loader_ms, milestone::BOOT_MANAGER, "", Some(loader_ms))
            .diagnosed()
    };
    let slow = before(14_000, 8_000);
    let findings: Vec<(&str, Option<i64>)> = findings_of(&slow, "linux/firmware-or-loader-slow")
        .iter()
        .map(|finding| (finding.subject.name.as_str(), finding.cost_ns.map(|ns| ns / MS)))
        .collect();
    assert_eq!(findings, [("loader", Some(5_000)), ("firmware", Some(4_000))]);
    assert!(findings_of(&before(10_000, 3_000), "linux/firmware-or-loader-slow").is_empty());
    assert!(unchecked(&Machine::boot().diagnosed(), "linux/firmware-or-loader-slow"));

    let initrd = |from_ms: i64| Machine::boot().milestone_at(from_ms, milestone::INITRD_BEGIN, "", None).diagnosed();
    let long = Machine::new()
        .milestone_at(4_000, milestone::INITRD_BEGIN, "", None)
        .milestone_at(16_000, milestone::USER_SPACE_BEGIN, "", None)
        .milestone_at(30_000, milestone::STARTUP_FINISHED, "graphical.target", None)
        .diagnosed();
    let findings = findings_of(&long, "linux/initrd-long");
    assert_eq!((findings[0].cost_ns, findings[0].cost_basis), (Some(7_000 * MS), CostBasis::CriticalPath));
    // 4 s are below the limit, and without an initramfs the rule is unchecked.
    assert!(findings_of(&initrd(1_000), "linux/initrd-long").is_empty());
    assert!(unchecked(&Machine::boot().diagnosed(), "linux/initrd-long"));
}

#[test]
fn merges_initcall_with_module_load() {
    let diagnosis = Machine::boot()
        .device(DeviceOperationKind::ModuleLoad, "slowmod", 6_000, 8_000)
        .device(DeviceOperationKind::Initcall, "slowmod_init", 6_100, 7_900)
        .device(DeviceOperationKind::Initcall, "builtin_init", 1_000, 3_279)
        .device(DeviceOperationKind::Initcall, "quick_init", 1_000, 1_499)
        .diagnosed();
    let findings: Vec<(&str, Option<i64>)> = findings_of(&diagnosis, "linux/driver-slow")
        .iter()
        .map(|finding| (finding.subject.name.as_str(), finding.cost_ns.map(|ns| ns / MS)))
        .collect();
    assert_eq!(findings, [("builtin_init", Some(2_279)), ("slowmod", Some(2_000))]);
    assert!(unchecked(&Machine::boot().diagnosed(), "linux/driver-slow"));
}

/// A shutdown from 10 s on in which `slow.service` takes `length_ms` to stop.
fn shutdown(length_ms: i64) -> Machine {
    let stop = |machine: Machine, name: &str, start_ms: i64, end_ms: i64| {
        machine.transition(ServiceChange::Stop, name, (start_ms, Some(end_ms)), ServiceOutcome::Completed, "")
    };
    let machine = Machine::new().milestone_at(10_000, milestone::SHUTDOWN_REQUEST, "poweroff", None);
    let machine = stop(machine, "graphical.target", 10_100, 10_100);
    let machine = stop(machine, "quick.service", 10_150, 10_300);
    let machine = stop(machine, "slow.service", 10_200, 10_200 + length_ms);
    let end = 10_300 + length_ms;
    stop(machine, "basic.target", end, end)
        .milestone_at(end + 100, milestone::TARGET_REACHED, "poweroff.target", None)
        .milestone_at(end + 200, milestone::SHUTDOWN_EXECUTOR, "", None)
}

#[test]
fn reports_unit_slow_to_stop() {
    let diagnosis = shutdown(5_000).diagnosed();
    let findings = findings_of(&diagnosis, "linux/unit-slow-to-stop");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].subject.name, "slow.service");
    assert!(findings[0].title.contains("took 5.00 s to stop"), "{}", findings[0].title);
    assert!(findings_of(&shutdown(900).diagnosed(), "linux/unit-slow-to-stop").is_empty());
    // A boot stops no units.
    assert!(findings_of(&Machine::boot().diagnosed(), "linux/unit-slow-to-stop").is_empty());
}
