//! Accounts computed by hand.

use onoff_trace::system::InstalledService;
use onoff_trace::{
    Activity, ActivityKind, DeviceOperation, DeviceOperationKind, DevicePhase, DiskIo, DiskOperation, InterruptKind,
    IoPriority, ReadyThread, ReadyThreads, StringId, Thread, Trace,
};

use super::*;
use crate::waits::EndThread;
use onoff_testkit::hostile::{ExtremeValues, hostile_trace};
use onoff_testkit::synthetic::{MS, image, interrupts, process, service, switches_in_ms, thread};

const EXECUTIVE: u8 = 7;
const DELAY: u8 = 4;
const WAITING: u8 = 5;
const READY: u8 = 1;
const RAN: (u8, u8) = (2, 0);

/// A recording of 100 ms on two processors; threads 8 and 12 of System, 104 of a.exe, 204 of b.exe.
fn recording() -> Trace {
    let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
    trace.system.processors = 2;
    process(&mut trace, 4, "System", None, None);
    process(&mut trace, 100, "a.exe", None, None);
    process(&mut trace, 200, "b.exe", None, None);
    for (tid, pid) in [(8, 4), (12, 4), (104, 100), (204, 200)] {
        thread(&mut trace, tid, pid, None, None);
    }
    trace
}

/// Wake-ups as (ms, thread, readying thread).
fn readies(trace: &mut Trace, rows: &[(i64, u32, u32)]) {
    let rows = rows.iter().map(|&(ms, ready_tid, readying_tid)| ReadyThread {
        time_ns: ms * MS,
        cpu: 0,
        ready_tid,
        readying_tid: Some(readying_tid),
        adjust_reason: 1,
        adjust_increment: 0,
        flags: 0,
        after_switches: None,
    });
    trace.ready_threads.push(ReadyThreads::from_iter(rows));
}

fn read(trace: &mut Trace, disk: u32, tid: u32, (issue_ms, begin_ms, end_ms): (i64, i64, i64)) {
    trace.disk_ios.push(DiskIo {
        issue_ns: Some(issue_ms * MS),
        complete_ns: end_ms * MS,
        disk,
        operation: DiskOperation::Read,
        offset: 0,
        size: 4096,
        priority: IoPriority::Normal,
        service_ns: (end_ms - begin_ms) * MS,
        pid: None,
        tid: Some(tid),
        file: StringId::EMPTY,
        file_object: 0,
        irp: 0,
        irp_flags: 0,
    });
}

/// The account of the path of `tid` between two times, as (kind, name, main work, ms).
fn account(
    trace: &Trace,
    tid: u32,
    (from_ms, until_ms): (i64, i64),
) -> Vec<(AccountSubjectKind, String, AccountAction, i64)> {
    let waits = Waits::new(trace);
    let range = Interval::new(from_ms * MS, until_ms * MS);
    let account = AccountBuilder::new(&waits).path(range, Some(&EndThread::from_tid(tid)));
    assert_eq!(account.entries.iter().map(|entry| entry.ns).sum::<i64>(), account.duration_ns);
    account
        .entries
        .iter()
        .map(|entry| {
            assert_eq!(entry.actions.iter().map(|share| share.ns).sum::<i64>(), entry.ns);
            let is_within =
                |interval: &AccountInterval| interval.start_ns >= range.start_ns && interval.end_ns <= range.end_ns;
            assert!(entry.intervals.iter().all(is_within));
            (entry.kind, entry.name.clone(), entry.actions[0].action, entry.ns / MS)
        })
        .collect()
}

fn entry(
    kind: AccountSubjectKind,
    name: &str,
    action: AccountAction,
    ms: i64,
) -> (AccountSubjectKind, String, AccountAction, i64) {
    (kind, name.to_owned(), action, ms)
}

#[test]
fn attributes_wait_in_driver_request_to_driver() {
    let mut trace = recording();
    let (driver, device) = (trace.strings.intern(r"\Driver\Ramdisk"), trace.strings.intern(r"ROOT\RAMDISK\0000"));
    let request = |kind, start_ms: i64, pend_ms: Option<i64>, end_ms: i64| DeviceOperation {
        kind,
        start_ns: start_ms * MS,
        pend_ns: pend_ms.map(|ms| ms * MS),
        end_ns: Some(end_ms * MS),
        device,
        driver,
        description: StringId::EMPTY,
        friendly_name: StringId::EMPTY,
        phase: DevicePhase::SystemStart,
        status: None,
        tid: Some(8),
        end_tid: None,
        event: StringId::EMPTY,
    };
    trace.device_operations.push(request(DeviceOperationKind::DeviceStart, 20, None, 50));
    // Pended at once: the rest is the thread's own time.
    trace.device_operations.push(request(DeviceOperationKind::DeviceEnum, 60, Some(61), 99));
    switches_in_ms(&mut trace, &[(10, 0, 8, (WAITING, DELAY), 0), (90, 0, 0, RAN, 8)]);
    assert_eq!(
        account(&trace, 8, (0, 100)),
        [
            entry(AccountSubjectKind::Process, "System", AccountAction::WaitedForTimer, 69),
            entry(AccountSubjectKind::Driver, "Ramdisk", AccountAction::WaitedForTimer, 31),
        ]
    );
}

#[test]
fn distinguishes_services_in_one_host_by_thread_tag() {
    let hosted = |tag: u32| {
        let mut trace = recording();
        process(&mut trace, 536, "svchost.exe", None, None);
        trace.threads.push(Thread { service_tag: tag, ..Thread::unknown(540, 536) });
        service(&mut trace, "Alpha", "", (10, Some(11), None, Some(80)));
        service(&mut trace, "Beta", "", (10, Some(12), None, Some(90)));
        for (name, tag) in [("Alpha", 7), ("Beta", 9)] {
            trace.system.services.push(InstalledService { name: name.to_owned(), tag, ..InstalledService::default() });
        }
        switches_in_ms(&mut trace, &[(20, 0, 540, (WAITING, DELAY), 0), (60, 0, 0, RAN, 540)]);
        account(&trace, 540, (20, 70))
    };
    assert_eq!(hosted(7), [entry(AccountSubjectKind::Service, "Alpha", AccountAction::WaitedForTimer, 50)]);
    assert_eq!(hosted(9), [entry(AccountSubjectKind::Service, "Beta", AccountAction::WaitedForTimer, 50)]);
    // Without a tag both are possible, and neither is named alone.
    assert_eq!(
        hosted(0),
        [entry(AccountSubjectKind::Process, "svchost.exe (Alpha, Beta)", AccountAction::WaitedForTimer, 50)]
    );
}

#[test]
fn sums_interrupts_of_same_processor_only() {
    let mut trace = recording();
    image(&mut trace, 4, (0xffff_f800_0000_0000, 0x1000), None, r"\SystemRoot\system32\drivers\netslow.sys");
    image(&mut trace, 4, (0xffff_f800_1000_0000, 0x1000), None, r"\SystemRoot\system32\ntoskrnl.exe");
    switches_in_ms(&mut trace, &[(0, 0, 0, RAN, 104), (90, 0, 104, (WAITING, EXECUTIVE), 0)]);
    let (net, kernel) = (0xffff_f800_0000_0100, 0xffff_f800_1000_0100);
    let mut rows: Vec<(i64, i64, u16, InterruptKind, u64)> = Vec::new();
    for start_ms in [10, 30, 50] {
        rows.push((start_ms * MS, (start_ms + 8) * MS, 0, InterruptKind::Dpc, net));
        rows.push((start_ms * MS, (start_ms + 9) * MS, 1, InterruptKind::Dpc, net));
    }
    rows.push((70 * MS, 75 * MS, 0, InterruptKind::Interrupt, kernel));
    rows.sort_by_key(|row| row.1);
    interrupts(&mut trace, &rows);
    assert_eq!(
        account(&trace, 104, (0, 80)),
        [
            entry(AccountSubjectKind::Process, "a.exe", AccountAction::Ran, 56),
            entry(AccountSubjectKind::Driver, "netslow", AccountAction::Interrupted, 24),
        ]
    );
}

#[test]
fn attributes_ready_time_to_running_threads() {
    let ready = |second: u32| {
        let mut trace = recording();
        switches_in_ms(
            &mut trace,
            &[(5, 1, 0, RAN, second), (10, 0, 104, (READY, 0), 204), (50, 0, 204, (WAITING, EXECUTIVE), 104)],
        );
        account(&trace, 104, (10, 60))
    };
    assert_eq!(
        ready(204),
        [
            entry(AccountSubjectKind::Process, "b.exe", AccountAction::OccupiedCpu, 40),
            entry(AccountSubjectKind::Process, "a.exe", AccountAction::Ran, 10),
        ]
    );
    assert_eq!(
        ready(12),
        [
            entry(AccountSubjectKind::Process, "System", AccountAction::OccupiedCpu, 20),
            entry(AccountSubjectKind::Process, "b.exe", AccountAction::OccupiedCpu, 20),
            entry(AccountSubjectKind::Process, "a.exe", AccountAction::Ran, 10),
        ]
    );
    // With an idle processor nothing blocked it.
    assert_eq!(ready(0), [entry(AccountSubjectKind::Process, "a.exe", AccountAction::WaitedForCpu, 50)]);
}

#[test]
fn attributes_queue_time_to_requests_of_same_disk() {
    let account_with_disk = |other_disk: u32| {
        let mut trace = recording();
        switches_in_ms(&mut trace, &[(10, 0, 104, (WAITING, EXECUTIVE), 0), (80, 0, 0, RAN, 104)]);
        read(&mut trace, other_disk, 204, (5, 5, 60));
        read(&mut trace, 0, 104, (10, 60, 80));
        account(&trace, 104, (10, 80))
    };
    assert_eq!(
        account_with_disk(0),
        [
            entry(AccountSubjectKind::Process, "b.exe", AccountAction::OccupiedDisk, 50),
            entry(AccountSubjectKind::Process, "a.exe", AccountAction::WaitedForDisk, 20),
        ]
    );
    assert_eq!(account_with_disk(1), [entry(AccountSubjectKind::Process, "a.exe", AccountAction::WaitedForDisk, 70)]);
}

#[test]
fn lost_events_are_unattributed() {
    let mut trace = recording();
    // 204 is switched in at 30, but another thread is switched out at 60.
    switches_in_ms(
        &mut trace,
        &[
            (0, 0, 0, RAN, 104),
            (30, 0, 104, (READY, 0), 204),
            (60, 0, 104, (WAITING, DELAY), 204),
            (90, 0, 204, (WAITING, EXECUTIVE), 0),
        ],
    );
    let account = account(&trace, 204, (30, 90));
    assert_eq!(
        account,
        [
            entry(AccountSubjectKind::Process, "b.exe", AccountAction::Ran, 30),
            entry(AccountSubjectKind::Unknown, "events were lost", AccountAction::Nothing, 30),
        ]
    );
}

#[test]
fn names_script_file_instead_of_shell() {
    let mut trace = recording();
    let (name, event) = (trace.strings.intern("logon"), StringId::EMPTY);
    trace.activities.push(Activity {
        kind: ActivityKind::GroupPolicyScript,
        name,
        detail: StringId::EMPTY,
        start_ns: 10 * MS,
        end_ns: Some(80 * MS),
        pid: Some(100),
        tid: Some(104),
        end_tid: Some(104),
        session: None,
        status: None,
        event,
    });
    let command_line = trace.strings.intern(r#""C:\Windows\cmd.exe" /c \\server\netlogon\map drives.cmd"#);
    let image = trace.strings.intern("cmd.exe");
    trace.processes.push(onoff_trace::Process {
        parent_pid: Some(100),
        creator_tid: Some(104),
        start_ns: Some(15 * MS),
        image,
        command_line,
        ..onoff_trace::Process::unknown(300)
    });
    thread(&mut trace, 304, 300, Some(15 * MS), None);
    switches_in_ms(
        &mut trace,
        &[
            (20, 0, 104, (WAITING, EXECUTIVE), 304),
            (22, 0, 304, (WAITING, DELAY), 0),
            (70, 0, 0, RAN, 304),
            (72, 0, 304, (WAITING, EXECUTIVE), 104),
        ],
    );
    readies(&mut trace, &[(16, 304, 104), (71, 104, 304)]);
    let account = account(&trace, 104, (20, 90));
    assert_eq!(account[0], entry(AccountSubjectKind::Script, "drives.cmd", AccountAction::WaitedForTimer, 52));
}

#[test]
fn without_switches_only_single_requests_are_attributed() {
    let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
    let mut add = |driver: &str, start_ms: i64, end_ms: i64| {
        onoff_testkit::synthetic::device(
            &mut trace,
            DeviceOperationKind::DeviceStart,
            ("", driver),
            (start_ms, None, Some(end_ms)),
            DevicePhase::SystemStart,
        );
    };
    add(r"\Driver\one", 10, 40);
    add(r"\Driver\two", 30, 60);
    let waits = Waits::new(&trace);
    let account = AccountBuilder::new(&waits).path(Interval::new(0, 100 * MS), None);
    assert_eq!(account.measure, AccountMeasure::RecordedWork);
    let driver_ms =
        |name: &str| account.entries_named(AccountSubjectKind::Driver, name).map(|entry| entry.ns / MS).sum::<i64>();
    assert_eq!((driver_ms("one"), driver_ms("two")), (20, 20));
    assert_eq!(account.unknown_ns, 60 * MS);
    let reasons: Vec<_> = account.entries.iter().filter_map(|entry| entry.unknown_reason).collect();
    assert_eq!(reasons, [UnknownReason::NoContextSwitches, UnknownReason::ParallelWork]);
}

#[test]
fn entries_of_hostile_recordings_sum_to_duration() {
    for seed in 0..150 {
        let mut trace = hostile_trace(seed);
        let mut source = ExtremeValues(seed);
        let mut pick = |values: &[i64]| values[usize::try_from(source.value() % values.len() as u64).unwrap()];
        const TIMES: [i64; 9] = [i64::MIN, -1, 0, 1, 20 * MS, 21 * MS, 40 * MS, 5_000 * MS, i64::MAX];
        const IDS: [i64; 6] = [0, 4, 8, 100, 104, 4_294_967_295];
        let id = |value: i64| u32::try_from(value).unwrap();
        let mut rows = Vec::new();
        for _ in 0..60 {
            let (new_tid, old_tid) = (id(pick(&IDS)), id(pick(&IDS)));
            let row = (pick(&TIMES), u16::try_from(pick(&[0, 1, 65_535])).unwrap(), old_tid, new_tid, 8);
            rows.push(row);
        }
        if seed % 2 == 0 {
            rows.sort_by_key(|row| row.0);
        }
        onoff_testkit::synthetic::switches(&mut trace, &rows);
        trace.duration_ns = pick(&[0, 1, 100 * MS, 40_000 * MS, i64::MAX]);
        let assert_sum = |account: &PhaseAccount| {
            let sum = account.entries.iter().fold(0_i128, |sum, entry| sum + i128::from(entry.ns));
            assert_eq!(sum, i128::from(account.duration_ns), "seed {seed}");
            for entry in &account.entries {
                assert!(entry.ns > 0 && entry.intervals.len() <= 64);
            }
        };
        let waits = Waits::new(&trace);
        let mut builder = AccountBuilder::new(&waits);
        for tid in [0, 8, 104, u32::MAX] {
            assert_sum(&builder.path(Interval::new(pick(&TIMES), pick(&TIMES)), Some(&EndThread::from_tid(tid))));
        }
        assert_sum(&builder.path(Interval::new(i64::MIN, i64::MAX), None));
        let settling = onoff_usage::idle::find_settling(&trace, pick(&[0, MS, 20 * MS]), IdleMetric::XPERF);
        if let Some(account) = builder.settling(&settling) {
            assert_sum(&account);
        }
    }
}
