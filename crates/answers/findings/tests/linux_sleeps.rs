//! Tests of the Linux sleep rules with hand-made tables.
#![allow(clippy::unwrap_used)]

use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_findings::finding::{CostBasis, RuleFinding};
use onoff_findings::{Diagnosis, diagnose};
use onoff_trace::{
    Activity, ActivityKind, ContextSwitch, ContextSwitches, Milestone, PowerRequest, PowerRequestKind,
    PowerRequestScope, PowerStateKind, Process, StringId, SystemKind, TableSet, Thread, Trace, milestone, power_phase,
};

use crate::linux_machine::diagnosed;

const MS: i64 = 1_000_000;

struct Sleep {
    trace: Trace,
}

impl Sleep {
    /// A suspend to memory from 1 s to `end_ms`, with `status` as its error.
    fn until(end_ms: i64, status: Option<i32>) -> Self {
        let mut trace = Trace { requested_tables: TableSet::all(), duration_ns: 60_000 * MS, ..Trace::default() };
        trace.system.kind = SystemKind::Linux;
        trace.system.processors = 2;
        let mut sleep = Self { trace };
        let status = status.map(i32::cast_unsigned);
        sleep.activity(ActivityKind::PowerTransition, "mem", (1_000, end_ms), status);
        sleep
    }

    fn activity(&mut self, kind: ActivityKind, name: &str, (start_ms, end_ms): (i64, i64), status: Option<u32>) {
        let name = self.trace.strings.intern(name);
        let event = self.trace.strings.intern("ftrace/suspend_resume");
        self.trace.activities.push(Activity {
            kind,
            name,
            detail: StringId::EMPTY,
            start_ns: start_ms * MS,
            end_ns: Some(end_ms * MS),
            pid: None,
            tid: None,
            end_tid: None,
            session: None,
            status,
            event,
        });
    }

    fn phases(mut self, phases: &[(&str, i64, i64)]) -> Self {
        for &(name, start_ms, end_ms) in phases {
            self.activity(ActivityKind::PowerPhase, name, (start_ms, end_ms), None);
        }
        self
    }

    fn callback(
        mut self,
        kind: PowerRequestKind,
        (device, driver, parent): (&str, &str, &str),
        tid: u32,
        (start_ms, end_ms): (i64, i64),
        error: i32,
    ) -> Self {
        let [device, driver, parent, message] =
            [device, driver, parent, "bus [callback]"].map(|text| self.trace.strings.intern(text));
        self.trace.power_requests.push(PowerRequest {
            kind,
            scope: PowerRequestScope::Device,
            start_ns: start_ms * MS,
            end_ns: Some(end_ms * MS),
            device,
            driver,
            description: StringId::EMPTY,
            friendly_name: StringId::EMPTY,
            state_kind: PowerStateKind::Unknown,
            state: None,
            status: Some(error.cast_unsigned()),
            failed_driver: StringId::EMPTY,
            irp: 0,
            waiting_ns: None,
            parent,
            message,
            tid: Some(tid),
            event: StringId::EMPTY,
        });
        self
    }

    fn milestone(mut self, time_ms: i64, name: &str, detail: &str, value: Option<i64>) -> Self {
        let [name, detail] = [name, detail].map(|text| self.trace.strings.intern(text));
        self.trace.milestones.push(Milestone {
            time_ns: time_ms * MS,
            name,
            detail,
            value,
            pid: None,
            tid: None,
            event: StringId::EMPTY,
        });
        self
    }

    /// A task that runs until `stops_ms` and again from `continues_ms`.
    fn task(mut self, pid: u32, name: &str, stops_ms: i64, continues_ms: i64) -> Self {
        let image = self.trace.strings.intern(name);
        self.trace.processes.push(Process { image, ..Process::unknown(pid) });
        self.trace.threads.push(Thread::unknown(pid, pid));
        let switch = |time_ms: i64, old_tid, new_tid| ContextSwitch {
            time_ns: time_ms * MS,
            cpu: 0,
            new_tid,
            old_tid,
            new_priority: 20,
            old_priority: 20,
            old_wait_reason: 0,
            old_wait_mode: 0,
            old_state: if old_tid == 0 { 0 } else { 5 },
            previous_c_state: 0,
            old_ideal_processor: 0,
            new_wait_ticks: 0,
        };
        let rows = [switch(stops_ms - 1, 0, pid), switch(stops_ms, pid, 0), switch(continues_ms, 0, pid)];
        let rows: ContextSwitches = rows.into_iter().collect();
        self.trace.context_switches.push(rows);
        self
    }

    fn diagnosed(&self) -> Diagnosis {
        diagnose(&self.trace, &DiagnosisOptions::default())
    }
}

/// Suspends from 1.0 to 2.4 s, resumes from 2.4 to 4.0 s.
const PHASES: [(&str, i64, i64); 6] = [
    (power_phase::FREEZE_PROCESSES, 1_000, 1_100),
    (power_phase::DEVICES_SUSPEND, 1_100, 2_350),
    (power_phase::MACHINE, 2_400, 2_400),
    (power_phase::DEVICES_RESUME_NOIRQ, 2_410, 2_500),
    (power_phase::DEVICES_RESUME, 2_500, 3_900),
    (power_phase::THAW_PROCESSES, 3_900, 4_000),
];

fn findings_of<'a>(diagnosis: &'a Diagnosis, code: &str) -> Vec<&'a RuleFinding> {
    let findings = diagnosis.findings.iter();
    findings.filter(|finding| finding.code == code).collect()
}

fn unchecked(diagnosis: &Diagnosis) -> Vec<&str> {
    let rows = diagnosis.unchecked_rules.iter();
    rows.filter(|row| row.transition == "suspend 1").map(|row| row.code).collect()
}

fn has_evidence(finding: &RuleFinding, part: &str) -> bool {
    finding.evidence.iter().any(|row| row.text.contains(part))
}

fn costs<'a>(findings: &[&'a RuleFinding]) -> Vec<(&'a str, Option<i64>, CostBasis)> {
    findings.iter().map(|row| (row.subject.name.as_str(), row.cost_ns, row.cost_basis)).collect()
}

#[test]
fn device_on_path_costs_wait_of_phase() {
    use PowerRequestKind::{Resume, Suspend};
    let diagnosis = Sleep::until(4_000, None)
        .phases(&PHASES)
        // The controller waits for its disk and ends the phase.
        .callback(Suspend, ("sda", "sd", "ata1"), 20, (1_110, 2_010), 0)
        .callback(Suspend, ("ata1", "ahci", "pci0"), 10, (2_011, 2_340), 0)
        .callback(Suspend, ("kbd", "i8042", ""), 10, (1_105, 1_120), 0)
        .callback(Resume, ("sda", "sd", "ata1"), 10, (2_510, 2_560), 0)
        .diagnosed();
    assert_eq!(diagnosis.transitions[0].name, "suspend 1");
    assert_eq!(diagnosis.transitions[0].kind, "suspend to memory");
    assert_eq!(diagnosis.transitions[0].duration_ns, Some(3_000 * MS));
    let findings = findings_of(&diagnosis, "linux/sleep-device-slow");
    assert_eq!(
        costs(&findings),
        [("sd", Some(900 * MS), CostBasis::CriticalPath), ("ahci", Some(329 * MS), CostBasis::CriticalPath),]
    );
    assert!(has_evidence(findings[0], "parent device: ata1"));
    assert!(has_evidence(findings[0], "waited 900 ms for it"));
    assert!(findings[0].title.starts_with("sda (driver sd) took 900 ms to suspend"));
    // The task rule was checked; there was no firmware table.
    assert_eq!(unchecked(&diagnosis), ["linux/network-slow-after-resume", "linux/resume-firmware-long"]);
}

#[test]
fn cost_of_device_off_path_is_upper_bound() {
    use PowerRequestKind::Resume;
    let diagnosis = Sleep::until(4_000, None)
        .phases(&PHASES)
        .callback(Resume, ("eth0", "e1000e", "pci0"), 21, (2_510, 3_510), 0)
        .callback(Resume, ("sda", "sd", "ata1"), 22, (3_310, 3_890), 0)
        .diagnosed();
    let findings = findings_of(&diagnosis, "linux/sleep-device-slow");
    // From 2510 to 3310 ms only the network card runs; then the step of the critical path starts.
    assert_eq!(
        costs(&findings),
        [("e1000e", Some(800 * MS), CostBasis::AtMost), ("sd", Some(580 * MS), CostBasis::CriticalPath),]
    );
}

#[test]
fn reports_task_that_freezes_late() {
    let phases = [
        (power_phase::FREEZE_PROCESSES, 1_000, 2_200),
        (power_phase::MACHINE, 2_400, 2_400),
        (power_phase::THAW_PROCESSES, 3_900, 4_000),
    ];
    let diagnosis = Sleep::until(4_000, None)
        .phases(&phases)
        .task(300, "agent", 1_010, 3_950)
        .task(301, "nfs-reader", 2_190, 3_960)
        .diagnosed();
    let findings = findings_of(&diagnosis, "linux/sleep-tasks-slow");
    assert_eq!(costs(&findings), [("nfs-reader", Some(1_200 * MS), CostBasis::CriticalPath)]);
    let title = &findings[0].title;
    assert!(title.contains("nfs-reader (301) froze after 1.19 s"), "{title}");
    assert_eq!(
        unchecked(&diagnosis),
        [
            "linux/network-slow-after-resume",
            "linux/resume-firmware-long",
            "linux/sleep-device-slow",
            "linux/sleep-phase-long"
        ]
    );
    // Below the limit, there is no finding.
    let healthy = Sleep::until(4_000, None).phases(&PHASES).diagnosed();
    assert!(findings_of(&healthy, "linux/sleep-tasks-slow").is_empty());
}

#[test]
fn aborted_sleep_names_refusing_device() {
    let phases = [(power_phase::DEVICES_SUSPEND, 1_100, 1_200), (power_phase::DEVICES_RESUME, 1_210, 1_400)];
    let diagnosis = Sleep::until(1_500, Some(-16))
        .phases(&phases)
        .callback(PowerRequestKind::Suspend, ("usb1", "usb", "pci0"), 20, (1_100, 1_190), -16)
        .milestone(
            1_200,
            milestone::POWER_ABORTED,
            "Some devices failed to suspend, or early wake event detected",
            None,
        )
        .diagnosed();
    assert_eq!(diagnosis.transitions[0].kind, "aborted suspend to memory");
    let findings = findings_of(&diagnosis, "linux/sleep-aborted");
    assert_eq!(costs(&findings), [("usb1", Some(500 * MS), CostBasis::CriticalPath)]);
    assert!(has_evidence(findings[0], "usb1 (driver usb) returned -16"));
    assert!(has_evidence(findings[0], "early wake event detected"));
    let slept = Sleep::until(4_000, None).phases(&PHASES).diagnosed();
    assert!(findings_of(&slept, "linux/sleep-aborted").is_empty());
}

#[test]
fn reports_firmware_resume_above_one_second() {
    let resumed = |ns: i64| {
        let average = Some(900 * MS);
        Sleep::until(4_000, None)
            .phases(&PHASES)
            .milestone(2_400, milestone::FIRMWARE_RESUME_TIME, "", Some(ns))
            .milestone(2_400, milestone::FIRMWARE_RESUME_AVERAGE, "", average)
            .diagnosed()
    };
    assert!(findings_of(&resumed(999 * MS), "linux/resume-firmware-long").is_empty());
    let slow = resumed(1_400 * MS);
    let findings = findings_of(&slow, "linux/resume-firmware-long");
    assert_eq!(costs(&findings), [("firmware", Some(1_400 * MS), CostBasis::CriticalPath)]);
    assert!(has_evidence(findings[0], "average over all resumes of this boot: 900 ms"));
    assert_eq!(unchecked(&slow), ["linux/network-slow-after-resume", "linux/sleep-device-slow"]);
}

/// Reads lines of a kernel log. Returns the diagnosis and its finding about a sleep that failed: subject and title.
fn failed_sleep(lines: &str) -> (Diagnosis, Option<(String, String)>) {
    let text = format!("[    0.000000] Linux version 6.6.1\n[    1.500000] Run /sbin/init as init process\n{lines}");
    let diagnosis = diagnosed(vec![("dmesg".to_owned(), text.into_bytes())]);
    let finding = diagnosis.findings.iter().find(|finding| finding.code == "linux/sleep-aborted");
    let finding = finding.map(|finding| (finding.subject.name.clone(), finding.title.clone()));
    (diagnosis, finding)
}

#[test]
fn kernel_messages_name_device_that_refused() {
    const ENTRY: &str = "[   60.000000] PM: suspend entry (deep)\n";
    const EXIT: &str = "[   60.900000] PM: suspend exit\n";
    let error = |line: &str| failed_sleep(&format!("{ENTRY}[   60.500000] {line}\n{EXIT}")).1;
    for (line, device) in [
        ("PM: Device 1-1 failed to suspend async: error -16", "1-1"),
        ("amdgpu 0000:04:00.0: PM: failed to suspend async: error -16", "0000:04:00.0"),
        ("PM: Device 0000:00:1c.0 failed to suspend noirq: error -16", "0000:00:1c.0"),
        ("YT8531S Gigabit Ethernet mii-0046:00:07: PM: failed to suspend: error -16", "mii-0046:00:07"),
        ("arm-smmu 3da0000.smmu: PM: not prepared for power transition: code -16", "3da0000.smmu"),
    ] {
        let title = format!("the sleep was aborted: {device} refused (error -16)");
        assert_eq!(error(line), Some((device.to_owned(), title)));
    }
    for line in [
        "PM: noirq suspend of devices failed",
        "PM: late suspend of devices failed",
        "Freezing user space processes failed after 20.008 seconds (1 tasks refusing to freeze, wq_busy=0):",
    ] {
        assert_eq!(error(line), Some(("sleep".to_owned(), "the sleep was aborted".to_owned())), "{line}");
    }
    // The self-test reports the error after the end of the sleep.
    let test = failed_sleep(&format!("{ENTRY}{EXIT}[   60.950000] PM: suspend test failed, error -22\n"));
    assert_eq!(test.1, Some(("sleep".to_owned(), "the sleep was aborted (error -22)".to_owned())));
    // A device that fails to resume does not abort a sleep, nor does what wakes a suspend-to-idle.
    assert_eq!(error("PM: Device 1-1 failed to resume async: error -16"), None);
    let idle = "[   60.300000] PM: suspend-to-idle\n[   69.000000] PM: Wakeup pending, aborting suspend\n\
                [   69.000100] PM: last active wakeup source: eventpoll\n[   69.000200] PM: resume from suspend-to-idle\n\
                [   69.900000] PM: suspend exit\n";
    assert_eq!(failed_sleep(&format!("[   60.000000] PM: suspend entry (s2idle)\n{idle}")).1, None);
}

#[test]
fn kernel_error_during_sleep_is_named() {
    const ENTRY: &str =
        "[   60.000000] PM: suspend entry (deep)\n[   60.400000] PM: suspend devices took 0.352 seconds\n";
    const OOPS: &str = "[   60.500000] BUG: kernel NULL pointer dereference, address: 000000000000001c\n\
                        [   60.500001] #PF: supervisor read access in kernel mode\n[   60.500002] Oops: 0000 [#1] PREEMPT SMP\n\
                        [   60.500003] RIP: 0010:evtchn_suspend+0x1f/0x30\n";
    let (diagnosis, finding) = failed_sleep(&format!("{ENTRY}{OOPS}"));
    let title = "the kernel failed during the sleep: BUG: kernel NULL pointer dereference, address: 000000000000001c \
                 in evtchn_suspend";
    assert_eq!(finding, Some(("sleep".to_owned(), title.to_owned())));
    assert!(diagnosis.transitions.iter().any(|transition| transition.kind.contains("suspend to memory")));
    let arm = "[   60.500000] Unable to handle kernel paging request at virtual address dead0000\n\
               [   60.500002] Internal error: Oops: 96000004 [#1] SMP\n[   60.500003] pc : imx_suspend+0x10/0x20\n";
    assert!(
        failed_sleep(&format!("{ENTRY}{arm}")).1.is_some_and(|(_, title)| title.ends_with("dead0000 in imx_suspend"))
    );
    // Without an error, the end is only not recorded. A warning is no failure, and neither is an error before the sleep.
    let warning =
        "[   60.500000] WARNING: CPU: 0 PID: 9 at drivers/x.c:9 x+0x1/0x2\n[   60.500001] RIP: 0010:x+0x1/0x2\n";
    for lines in [ENTRY.to_owned(), format!("{ENTRY}{warning}"), format!("{}{ENTRY}", OOPS.replace("60.5", "50.5"))] {
        assert_eq!(failed_sleep(&lines).1, None, "{lines}");
    }
    // The sleep went on and ended.
    assert_eq!(failed_sleep(&format!("{ENTRY}{OOPS}[   61.000000] PM: suspend exit\n")).1, None);
}
