//! Tests logs with only wall-clock times (`journalctl > file`, `kern.log`, syslog), alone and next to exact times.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use onoff_sources::{Limits, Options, files_from_bytes, open_files};
use onoff_trace::{
    ActivityKind, DeviceOperationKind, ServiceChange, TableName, TableSet, Trace, milestone, power_phase,
};

fn read(files: &[(&str, &str)]) -> Trace {
    let contents = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    let files = files_from_bytes(contents, &Limits::default()).unwrap();
    open_files(&files, TableSet::all(), &Options::default()).unwrap()
}

fn count(trace: &Trace, counter: &str) -> u64 {
    trace.losses.iter().find(|loss| loss.counter == counter).map_or(0, |loss| loss.count)
}

/// A boot with a sleep of an hour, a sleep aborted by a device, and a sleep without a resume. Each entry has the
/// seconds since the kernel started, the sender and the message. No kernel messages are read while tasks are frozen.
const SLEEPS: &[(u32, &str, &str)] = &[
    (0, "kernel", "Linux version 6.12.38+deb13-amd64 (debian-kernel@lists.debian.org) #1 SMP"),
    (0, "kernel", "DMI: LENOVO 20XW/20XW, BIOS N32ET91W 1.67 01/11/2024"),
    (1, "kernel", "calling  slow_init+0x0/0x120 @ 1"),
    (3, "kernel", "initcall slow_init+0x0/0x120 returned 0 after 2000000 usecs"),
    (4, "kernel", "Run /init as init process"),
    (10, "systemd[1]", "Started cron.service - Regular background program processing daemon."),
    (600, "kernel", "PM: suspend entry (deep)"),
    (4203, "kernel", "Filesystems sync: 0.012 seconds"),
    (4203, "kernel", "Freezing user space processes"),
    (4203, "kernel", "Freezing user space processes completed (elapsed 0.002 seconds)"),
    (4203, "kernel", "ACPI: PM: Preparing to enter system sleep state S3"),
    (4203, "kernel", "ACPI: PM: Low-level resume complete"),
    (4203, "kernel", "ACPI: PM: Waking up from system sleep state S3"),
    (4203, "kernel", "OOM killer enabled."),
    (4203, "kernel", "Restarting tasks ... done."),
    (4203, "kernel", "PM: suspend exit"),
    (5000, "kernel", "PM: suspend entry (deep)"),
    (5001, "kernel", "Freezing user space processes"),
    (5001, "kernel", "PM: Some devices failed to suspend, or early wake event detected"),
    (5001, "kernel", "Restarting tasks ... done."),
    (5001, "kernel", "PM: suspend exit"),
    (9000, "kernel", "PM: suspend entry (deep)"),
];

/// The line formats: `journalctl` by default and with `-o short-iso`, Debian 13's kern.log, and classic syslog.
const FORMATS: [&str; 4] = ["journalctl", "short-iso", "kern.log", "syslog"];

fn line(format_name: &str, second: u32, sender: &str, message: &str) -> String {
    let (hour, minute, second) = (9 + second / 3600, second / 60 % 60, second % 60);
    match format_name {
        "short-iso" => format!("2025-11-02T{hour:02}:{minute:02}:{second:02}+01:00 laptop {sender}: {message}\n"),
        "kern.log" => format!("2025-11-02T{hour:02}:{minute:02}:{second:02}.123456+01:00 laptop {sender}: {message}\n"),
        "syslog" => format!("Nov  2 {hour:02}:{minute:02}:{second:02} laptop {sender}: {message}\n"),
        _ => format!("Nov 02 {hour:02}:{minute:02}:{second:02} laptop {sender}: {message}\n"),
    }
}

fn log(format_name: &str, lines: &[(u32, &str, &str)]) -> String {
    let mut text = String::new();
    for (second, sender, message) in lines {
        text.push_str(&line(format_name, *second, sender, message));
    }
    text
}

/// Returns the start and end of every sleep, in s.
fn sleeps(trace: &Trace) -> Vec<(i64, Option<i64>)> {
    let rows = trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerTransition);
    rows.map(|row| (row.start_ns / 1_000_000_000, row.end_ns.map(|ns| ns / 1_000_000_000))).collect()
}

fn milestones(trace: &Trace, name: &str) -> Vec<(String, i64)> {
    let name = trace.strings.find(name);
    let rows = trace.milestones.iter().filter(|row| Some(row.name) == name);
    rows.map(|row| (trace.text(row.detail).to_owned(), row.time_ns / 1_000_000)).collect()
}

#[test]
fn reads_sleeps_initcalls_and_machine_from_every_format() {
    for format_name in FORMATS {
        let trace = read(&[("log", &log(format_name, SLEEPS))]);
        assert_eq!(sleeps(&trace), [(600, Some(4203)), (5000, Some(5001)), (9000, None)], "{format_name}");
        // The computer slept once; the second sleep was aborted.
        assert_eq!(milestones(&trace, milestone::SLEEP).len(), 1, "{format_name}");
        let error = milestones(&trace, milestone::POWER_ABORTED);
        assert_eq!(
            error,
            [("Some devices failed to suspend, or early wake event detected".to_owned(), 5_001_000)],
            "{format_name}"
        );
        // The time between two messages of a sleep is not the duration of a phase.
        let phases: Vec<_> = trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerPhase).collect();
        assert!(phases.iter().all(|row| row.end_ns.unwrap() - row.start_ns < 1_000_000_000), "{format_name}");
        assert!(phases.iter().any(|row| trace.text(row.name) == power_phase::SYNC_FILE_SYSTEMS), "{format_name}");
        assert!(phases.iter().all(|row| trace.text(row.name) != power_phase::MACHINE), "{format_name}");
        let initcalls: Vec<_> =
            trace.device_operations.iter().filter(|row| row.kind == DeviceOperationKind::Initcall).collect();
        assert_eq!(initcalls.len(), 1, "{format_name}");
        assert_eq!(initcalls[0].end_ns.unwrap() - initcalls[0].start_ns, 2_000_000_000, "{format_name}");
        assert!(trace.system.model.contains("20XW"), "{format_name}: {:?}", trace.system);
        assert_eq!((count(&trace, "kernel_log_lines_unreadable"), count(&trace, "kernel_log_receipt_times")), (0, 1));
    }
}

#[test]
fn ignores_kernel_messages_from_other_senders() {
    for format_name in FORMATS {
        let lines = [
            (0, "kernel", "Linux version 6.12.38"),
            (4, "kernel", "Run /init as init process"),
            (20, "logger[77]", "PM: suspend entry (deep)"),
            (30, "systemd-sleep[80]", "PM: suspend exit"),
        ];
        let trace = read(&[("log", &log(format_name, &lines))]);
        assert_eq!(sleeps(&trace), [], "{format_name}");
    }
}

#[test]
fn kernel_times_are_not_mixed_with_receipt_times() {
    // rsyslog keeps the kernel's times, which do not advance during a sleep. One line has no time.
    let text = "Nov  2 09:00:05 laptop kernel: [    0.000000] Linux version 6.1.0\n\
                Nov  2 09:00:05 laptop kernel: [    4.900000] Run /init as init process\n\
                Nov  2 09:10:00 laptop kernel: [  600.000000] PM: suspend entry (deep)\n\
                Nov  2 10:10:02 laptop kernel: [  601.000000] ACPI: PM: Low-level resume complete\n\
                Nov  2 10:10:02 laptop kernel: a line without its time\n\
                Nov  2 10:10:02 laptop kernel: [  602.000000] PM: suspend exit\n";
    let trace = read(&[("kern.log", text)]);
    assert_eq!(sleeps(&trace), [(600, Some(602))]);
    assert_eq!((count(&trace, "kernel_log_lines_unreadable"), count(&trace, "kernel_log_receipt_times")), (1, 0));
}

/// Units with their exact start times, s: `a` to `d` start before rsyslog runs, the others after that.
const UNITS: [(&str, u32); 7] = [
    ("a.service", 5),
    ("b.service", 7),
    ("c.service", 9),
    ("d.service", 11),
    ("e.service", 16),
    ("f.service", 18),
    ("g.service", 19),
];

fn properties() -> String {
    let mut text = String::new();
    for (unit, second) in UNITS {
        let us = second * 1_000_000 + 250_000;
        writeln!(
            text,
            "Id={unit}\nNames={unit}\nDescription=The unit {unit}\nLoadState=loaded\nActiveState=active\n\
             InactiveExitTimestampMonotonic={us}\nActiveEnterTimestampMonotonic={}\nActiveExitTimestampMonotonic=0\n\
             InactiveEnterTimestampMonotonic=0\n",
            us + 400_000
        )
        .unwrap();
    }
    let target = 20_500_000;
    writeln!(
        text,
        "Id=graphical.target\nNames=graphical.target default.target\nLoadState=loaded\nActiveState=active\n\
         InactiveExitTimestampMonotonic={target}\nActiveEnterTimestampMonotonic={target}\nActiveExitTimestampMonotonic=0\n\
         InactiveEnterTimestampMonotonic=0\n"
    )
    .unwrap();
    text
}

/// Returns the syslog of the same boot. rsyslog starts 13 s after the kernel and gives earlier messages that time.
fn syslog(unit_text: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (unit, second) in UNITS {
        let logged_second = second.max(13);
        text.push_str(&line("syslog", logged_second, "systemd[1]", &format!("Starting {}...", unit_text(unit))));
        text.push_str(&line("syslog", logged_second, "systemd[1]", &format!("Started {}.", unit_text(unit))));
        if unit == "d.service" {
            text.push_str(&line("syslog", 13, "rsyslogd", "[origin software=\"rsyslogd\"] start"));
        }
    }
    text.push_str(&line("syslog", 20, "systemd[1]", "Reached target Graphical Interface."));
    text
}

fn starts(trace: &Trace) -> Vec<(String, i64)> {
    let rows = trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start);
    let mut starts: Vec<_> = rows.map(|row| (trace.text(row.service).to_owned(), row.start_ns / 1_000_000)).collect();
    starts.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    starts
}

#[test]
fn syslog_does_not_duplicate_unit_properties() {
    let expected = read(&[("units.txt", &properties())]);
    let name_and_description: fn(&str) -> String = |unit| format!("{unit} - The unit {unit}");
    let description_only: fn(&str) -> String = |unit| format!("The unit {unit}");
    for unit_text in [name_and_description, description_only] {
        let combined = read(&[("units.txt", &properties()), ("syslog", &syslog(unit_text))]);
        assert_eq!(starts(&combined), starts(&expected));
        let reached = milestones(&combined, milestone::TARGET_REACHED);
        assert_eq!(reached, [("graphical.target".to_owned(), 20_500)]);
    }
}

#[test]
fn keeps_restart_found_only_in_syslog() {
    // The properties contain one start of a unit. Only the log contains both starts.
    let mut text = syslog(|unit| format!("{unit} - The unit {unit}"));
    text.push_str(&line("syslog", 400, "systemd[1]", "Starting e.service - The unit e.service..."));
    text.push_str(&line("syslog", 401, "systemd[1]", "Started e.service - The unit e.service."));
    let combined = read(&[("units.txt", &properties()), ("syslog", &text)]);
    let start_seconds: Vec<i64> =
        starts(&combined).into_iter().filter(|(unit, _)| unit == "e.service").map(|(_, ms)| ms / 1000).collect();
    assert_eq!(start_seconds.len(), 2, "{start_seconds:?}");
    assert_eq!(start_seconds[0], 16);
    assert!((399..=401).contains(&start_seconds[1]), "{start_seconds:?}");
}

#[test]
fn ignores_syslog_next_to_exact_journal() {
    let mut journal = "[    0.000000] laptop kernel: Linux version 6.1\n".to_owned();
    for (unit, second) in UNITS {
        writeln!(journal, "[   {second:2}.250000] laptop systemd[1]: Starting {unit} - The unit {unit}...").unwrap();
        writeln!(journal, "[   {second:2}.650000] laptop systemd[1]: Started {unit} - The unit {unit}.").unwrap();
    }
    journal.push_str("[   20.500000] laptop systemd[1]: Reached target graphical.target - Graphical Interface.\n");
    let journal_only = read(&[("journal.txt", &journal)]);
    let combined = read(&[("journal.txt", &journal), ("syslog", &syslog(|unit| format!("{unit} - The unit {unit}")))]);
    assert_eq!(starts(&combined), starts(&journal_only));
    assert_eq!(milestones(&combined, milestone::TARGET_REACHED), milestones(&journal_only, milestone::TARGET_REACHED));
    assert_eq!(combined.boots.len(), journal_only.boots.len());
    assert_eq!(count(&combined, "journal_texts_skipped"), 1);
    // If there is no journal, the syslog is read.
    let syslog_only = read(&[("syslog", &syslog(|unit| format!("{unit} - The unit {unit}")))]);
    assert_eq!(starts(&syslog_only).len(), UNITS.len() + 1);
    assert!(syslog_only.requested_tables.contains(TableName::Milestones));
}

/// Returns the kernel log of one boot of the computer `host`.
fn kernel_log(host: &str, boot: u32) -> String {
    let line =
        |second: u32| format!("[{second:5}.{:06}] line {second}\n", (second * 7919 + boot * 104_729) % 1_000_000);
    let lines: String = (1..40).map(line).collect();
    let clock = 1_795_216_512 + boot * 100_000;
    format!(
        "[    0.000000] Linux version 6.1.0 (gcc) #1 SMP\n{lines}\
         [   41.000000] rtc_cmos 00:03: setting system clock to 2026-11-20T23:15:12 UTC ({clock})\n\
         [   50.000000] systemd[1]: Hostname set to <{host}>.\n[   {}.500000] PM: suspend entry (deep)\n",
        60 + boot
    )
}

#[test]
fn rejects_files_of_several_recordings() {
    let error = |files: &[(&str, &str)]| {
        let contents = files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
        files_from_bytes(contents, &Limits::default()).err().map(|error| error.to_string())
    };
    let (web1, web2, web1_later) = (kernel_log("web1", 1), kernel_log("web2", 2), kernel_log("web1", 3));
    assert_eq!(error(&[("a", &web1), ("b", &web2)]).unwrap(), "these are 2 recordings (a, b); pass one at a time");
    assert_eq!(
        error(&[("a", &web1), ("b", &web2), ("c", &web1_later)]).unwrap(),
        "these are 3 recordings (a, b, ...); pass one at a time"
    );
    assert_eq!(error(&[("a", &web1), ("b", &format!("{web1}[   90.000000] more\n"))]), None);
    // The same in an archive.
    let archive = |members: &[(&str, &str)]| {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, text) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        files_from_bytes([("logs.tar".to_owned(), tar.into_inner().unwrap())], &Limits::default())
    };
    let error = archive(&[("web1/dmesg", &web1), ("web2/dmesg", &web2)]).unwrap_err().to_string();
    assert!(error.starts_with("these are 2 recordings"), "{error}");
    assert_eq!(archive(&[("web1/dmesg", &web1), ("web1/uname", "Linux web1 6.1.0 x\n")]).unwrap().iter().count(), 2);
    // A copied file system contains kernel logs of earlier boots. Only the last log is read.
    let files = archive(&[("web1/var/log/dmesg", &web1_later), ("web1/var/log/dmesg.0", &web1)]).unwrap();
    let trace = open_files(&files, TableSet::all(), &Options::default()).unwrap();
    assert_eq!(sleeps(&trace), [(63, None)]);
    assert_eq!(count(&trace, "kernel_logs_of_other_boots"), 1);
}
