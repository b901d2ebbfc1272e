//! The event logs of simulated boots: sums and orders measured on real computers, and the same truth as the trace.
#![allow(clippy::unwrap_used)]

use onoff_simulator::{ComputerLogs, Scenario, Truth};
use onoff_sources::{Limits, Options, files_from_bytes, read_tables};
use onoff_testkit::event_log::{LogRecord, LogValue};
use onoff_trace::{TableSet, Trace, milestone};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

fn logs_of(scenario: &str) -> (ComputerLogs, Truth) {
    let path = format!("{}/scenarios/{scenario}.toml", env!("CARGO_MANIFEST_DIR"));
    let scenario = Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    let truth = scenario.simulate().unwrap().truth;
    (scenario.event_logs(&truth), truth)
}

fn number(record: &LogRecord, name: &str) -> i64 {
    match record.data.iter().find(|(field, _)| field == name).map(|(_, value)| value) {
        Some(LogValue::U32(number)) => i64::from(*number),
        Some(LogValue::Time(ns)) => *ns,
        value => panic!("{name}: {value:?}"),
    }
}

fn read(logs: &ComputerLogs) -> Trace {
    let files = files_from_bytes(logs.files(), &Limits::default()).unwrap();
    read_tables(&files, TableSet::all(), &Options::default()).unwrap()
}

#[test]
fn the_sums_of_an_account_hold() {
    for scenario in ["healthy-boot", "person-logs-on", "clock-set-back", "policy", "table-5-run-1", "disk-slow"] {
        let (mut logs, truth) = logs_of(scenario);
        let account = logs.account_mut().unwrap_or_else(|| panic!("{scenario}")).clone();
        assert_eq!(account.data.len(), 44, "{scenario}");
        let ms = |name: &str| number(&account, name);
        let differences = [
            ms("BootTime") - ms("MainPathBootTime") - ms("BootPostBootTime"),
            ms("MainPathBootTime")
                - ms("WinLogonStartTimeMS")
                - ms("BootUserProfileProcessingTime")
                - ms("BootMachineProfileProcessingTime")
                - ms("BootExplorerInitTime")
                - ms("OtherLogonInitActivityDuration"),
            ms("WinLogonStartTimeMS") - ms("SessionInitStartTimeMS") - ms("BootSmssInitTime"),
            ms("BootSmssInitTime")
                - ms("Session0InitDuration")
                - ms("Session1InitDuration")
                - ms("SessionInitOtherDuration"),
            ms("SessionInitStartTimeMS")
                - ms("BootPNPInitDuration")
                - ms("SystemPNPInitDuration")
                - ms("OtherKernelInitDuration"),
            ms("BootKernelInitTime") - ms("BootPNPInitStartTimeMS"),
        ];
        assert_eq!(differences, [0; 6], "{scenario}");
        // The end is later than the total by the wait for a user, idle time, and steps of the clock.
        let steps_ns: i64 = truth.clock_steps.iter().map(|(_, step_ns)| step_ns).sum();
        let lengths_ms = ms("BootTime") + ms("UserLogonWaitDuration") + 60_000;
        assert_eq!(ms("BootEndTime") - ms("BootStartTime"), lengths_ms * MS + steps_ns, "{scenario}");
        // The moment of authentication.
        let authentication_ms =
            ms("WinLogonStartTimeMS") + ms("OtherLogonInitActivityDuration") + ms("UserLogonWaitDuration");
        let (start_ns, _) = truth.authentication_ns.unwrap();
        assert!((authentication_ms * MS - 40 * MS - start_ns).abs() <= 12 * MS, "{scenario}");
        assert!(account.time_ns > ms("BootEndTime"), "{scenario}");
    }
}

#[test]
fn the_system_log_is_in_the_order_of_writing() {
    let (mut logs, _) = logs_of("healthy-boot");
    let start_ns = number(logs.account_mut().unwrap(), "BootStartTime");
    let system: Vec<&LogRecord> = logs.records.iter().filter(|record| record.channel == "System").collect();
    let ids: Vec<u16> = system.iter().map(|record| record.id).collect();
    assert_eq!(ids[..10], [1074, 6006, 6009, 6005, 6013, 109, 13, 12, 20, 27]);
    let kernel = system.iter().find(|record| record.id == 12).unwrap();
    assert_eq!(kernel.time_ns - start_ns, 40 * MS);
    assert_eq!(number(kernel, "BuildVersion"), 19041);
    assert_eq!(number(kernel, "StartTime") % (SECOND / 2), 0);
    let previous_end = system.iter().find(|record| record.id == 13).unwrap();
    assert!(previous_end.time_ns < kernel.time_ns && kernel.time_ns < system[2].time_ns);
}

#[test]
fn the_reader_finds_the_boot_and_its_truth() {
    let (logs, truth) = logs_of("person-logs-on");
    let trace = read(&logs);
    let started: Vec<_> = trace.boots.iter().filter(|boot| boot.started).collect();
    assert_eq!((trace.boots.len(), started.len()), (2, 1), "{:?}", trace.boots);
    let account = trace.windows_account.as_ref().unwrap();
    let (start_ns, end_ns) = truth.credentials_ns.unwrap();
    let expected_ns = truth.desktop_ready_ns.unwrap() - (end_ns - start_ns) + 40 * MS;
    assert!((account.main_path_ns - expected_ns).abs() <= 2 * MS, "{account:?}");
    assert!((account.user_wait_ns.unwrap() - (end_ns - start_ns)).abs() <= MS);
    assert_eq!((trace.system.computer.as_str(), trace.system.os_build), ("BENCH-04", 19045));
    // The firmware's time is in milliseconds, as in the trace.
    let name = trace.strings.find(milestone::FIRMWARE_LOADER_STARTED).unwrap();
    let loader = trace.milestones.iter().find(|row| row.name == name).unwrap();
    assert_eq!(loader.value, Some(5_200 * MS));
}

#[test]
fn a_scenario_without_a_boot_has_no_logs() {
    let (logs, _) = logs_of("healthy-shutdown");
    assert!(logs.files().is_empty());
}
