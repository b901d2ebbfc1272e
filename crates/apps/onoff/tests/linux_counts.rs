//! All verbs agree on the counts of events, processes and requests, and on the CPU shares of a Linux recording.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use onoff::answers::evidence::Scope;
use onoff::answers::lists::cpu::CpuGroup;
use onoff::answers::lists::{cpu, devices, processes};
use onoff::answers::requests::{self, IoOptions};
use onoff::answers::usage::storage::{Key, disk};
use onoff::trace::TableSet;
use onoff::{EventQuery, Session};
use onoff_testkit::linux::{LinuxDevice, LinuxMachine, LinuxSleepPlan, LinuxUnit};

/// Counts events by provider and name, and checks that they are in time order.
fn count_events(name: &str, session: &Session) -> BTreeMap<(String, String), u64> {
    let mut kinds: BTreeMap<(String, String), u64> = BTreeMap::new();
    let Ok(events) = session.events(&EventQuery::default()) else {
        return kinds;
    };
    let mut last_ns = i64::MIN;
    let result = events.for_each(|event| {
        assert!(event.time_ns >= last_ns, "{name}: {} at {}", event.name, event.time_ns);
        last_ns = event.time_ns;
        *kinds.entry((event.provider.to_owned(), event.name.to_owned())).or_default() += 1;
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(result.unwrap().visited, kinds.values().sum::<u64>(), "{name}");
    kinds
}

fn check_counts(name: &str, session: &Session) -> u64 {
    // Events: `info` (by event type and in total) and `events`.
    let summary = session.summary().unwrap();
    let counted: BTreeMap<(String, String), u64> =
        summary.kinds.iter().map(|kind| ((kind.provider.clone(), kind.name.clone()), kind.events)).collect();
    assert_eq!(count_events(name, session), counted, "{name}");
    assert_eq!(summary.events, counted.values().sum::<u64>(), "{name}");
    assert_eq!(summary.events, summary.providers.iter().map(|provider| provider.events).sum::<u64>(), "{name}");

    let trace = session.tables(TableSet::all()).unwrap();
    let scope = Scope::whole_recording(&trace);
    assert_eq!((summary.start_ns, summary.duration_ns), (scope.range.start_ns, scope.range.end_ns), "{name}");

    // Processes and their shares: `processes` and `cpu`.
    let process_list = processes::list(&trace, &scope);
    assert_eq!(process_list.recorded, trace.processes.len() as u64, "{name}");
    let cpu_list = cpu::list(&trace, &scope, &[CpuGroup::Process]);
    assert_eq!(process_list.cpu, cpu_list.cpu, "{name}");
    let percent = |value: f64| (value * 1e6).round() as i64;
    let process_shares: BTreeMap<(u32, String), (i64, i64)> = process_list
        .processes
        .iter()
        .filter_map(|row| {
            let key = (row.life.pid, row.life.image.clone());
            Some((key, (row.cpu_ns.filter(|&ns| ns > 0)?, percent(row.cpu_percent?))))
        })
        .collect();
    let cpu_shares: BTreeMap<(u32, String), (i64, i64)> = cpu_list
        .rows
        .iter()
        .filter(|row| row.cpu_ns > 0)
        .filter_map(|row| Some(((row.pid?, row.image.clone()), (row.cpu_ns, percent(row.percent)))))
        .collect();
    assert_eq!(process_shares, cpu_shares, "{name}");
    let busy_ns: i64 = cpu_shares.values().map(|(ns, _)| ns).sum();
    assert_eq!(busy_ns + cpu_list.cpu.unattributed_ns, cpu_list.cpu.busy_ns, "{name}");

    // Disk requests: `processes`, `disk` and `io`.
    let disk_report = disk::analyze(&trace, &scope, &[Key::Process]);
    let requests = trace.disk_ios.len() as u64;
    assert_eq!((disk_report.total.requests, disk_report.recorded), (requests, requests), "{name}");
    assert_eq!(disk_report.groups.iter().map(|group| group.amounts.requests).sum::<u64>(), requests, "{name}");
    let report = requests::analyze(&trace, &scope, &IoOptions::default());
    let io_requests = |direction: &str| {
        report.views.iter().filter(|view| view.direction == direction).map(|view| view.table.requests).sum::<u64>()
    };
    assert_eq!(
        (io_requests("read"), io_requests("write")),
        (disk_report.total.reads, disk_report.total.writes),
        "{name}"
    );

    // Device operations: `devices` and the boot.
    let device_list = devices::list(&trace, &scope);
    assert_eq!(
        (device_list.devices.len(), device_list.recorded),
        (trace.device_operations.len(), trace.device_operations.len() as u64),
        "{name}"
    );
    summary.events
}

#[test]
fn verbs_agree_on_counts_in_real_recordings() {
    let Some(folder) = onoff_testkit::real_recordings::samples_folder("linux") else { return };
    let mut recordings = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().ends_with(".tar.xz") {
            let session = Session::open(std::slice::from_ref(&path), &onoff_files::Options::default()).unwrap();
            assert!(check_counts(&path.display().to_string(), &session) > 1_000, "{}", path.display());
            recordings += 1;
        }
    }
    assert_eq!(recordings, 6);
}

#[test]
fn verbs_agree_on_counts_in_synthetic_recordings() {
    let boot = LinuxMachine::healthy()
        .wanted_unit(LinuxUnit::new("slow.service").after("basic.target").sleep_ms(3_000))
        .simulate_boot();
    let plan = LinuxSleepPlan {
        devices: vec![LinuxDevice::new("sda", "sd").callbacks_ms(40, 70)],
        asleep_ms: 5_000,
        ..LinuxSleepPlan::default()
    };
    let sleep = LinuxMachine::healthy().simulate_sleep(&plan);
    for simulated in [boot, sleep] {
        for (form, files) in [
            ("all", simulated.files.all_files()),
            ("without a trace", simulated.files.files_without_trace()),
            ("journal", simulated.files.journal_file()),
            ("kernel log", simulated.files.kernel_log_file()),
        ] {
            let session = Session::from_bytes(files).unwrap();
            assert!(check_counts(form, &session) > 5, "{form}");
        }
    }
}
