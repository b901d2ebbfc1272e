//! Tests Linux recordings without a trace: logs as text in every format, and the output of systemd's tools.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use onoff_sources::{Limits, Options, files_from_bytes, open_files};
use onoff_trace::{DeviceOperationKind, ServiceChange, ServiceOutcome, TableName, TableSet, Trace, milestone};

fn read(files: &[(&str, &[u8])]) -> Trace {
    let contents = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()));
    let files = files_from_bytes(contents, &Limits::default()).unwrap();
    open_files(&files, TableSet::all(), &Options::default()).unwrap()
}

fn read_text(text: &str) -> Trace {
    read(&[("log", text.as_bytes())])
}

/// Returns the time of every milestone with a name, in ms, and the record that it is from.
fn times(trace: &Trace, name: &str) -> Vec<(String, i64)> {
    let name = trace.strings.find(name);
    let rows = trace.milestones.iter().filter(|row| Some(row.name) == name);
    rows.map(|row| (trace.text(row.event).to_owned(), row.time_ns / 1_000_000)).collect()
}

fn ms(trace: &Trace, name: &str) -> Option<i64> {
    times(trace, name).first().map(|(_, ms)| *ms)
}

fn count(trace: &Trace, counter: &str) -> u64 {
    trace.losses.iter().find(|loss| loss.counter == counter).map_or(0, |loss| loss.count)
}

/// Returns the starts of units: name, start and end, in ms.
fn starts(trace: &Trace) -> Vec<(String, i64, Option<i64>)> {
    let rows = trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start);
    rows.map(|row| (trace.text(row.service).to_owned(), row.start_ns / 1_000_000, row.end_ns.map(|ns| ns / 1_000_000)))
        .collect()
}

fn archive_member(archive: &str, ending: &str) -> Option<Vec<u8>> {
    let path: PathBuf = onoff_testkit::real_recordings::samples_folder("linux")?.join(format!("{archive}.tar.xz"));
    let mut tar_bytes = Vec::new();
    let mut reader = lzma_rust2::XzReader::new(std::fs::File::open(path).unwrap(), true);
    std::io::Read::read_to_end(&mut reader, &mut tar_bytes).unwrap();
    let mut tar_archive = tar::Archive::new(&tar_bytes[..]);
    let mut entries = tar_archive.entries().unwrap().map(Result::unwrap);
    let mut entry = entries.find(|entry| entry.path().unwrap().to_string_lossy().ends_with(ending)).unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
    Some(bytes)
}

const STARTED: &str = "Startup finished in 5.179s (firmware) + 269ms (loader) + 4.858s (kernel) + 11.200s (initrd) + 27.855s \
                       (userspace) = 49.361s.";

#[test]
fn separates_systemd_in_initramfs() {
    // As logged with dracut: the kernel logs "Run /init", and systemd starts in the initramfs.
    let text = "[    0.000000] host kernel: Linux version 6.1\n[    4.700000] host kernel: Run /init as init process\n\
         [    4.858000] host systemd[1]: systemd 252 running in system mode (+PAM)\n\
         [    4.859000] host systemd[1]: Detected architecture x86-64.\n[    4.860000] host systemd[1]: Running in initrd.\n\
         [   16.058000] host systemd[1]: systemd 252 running in system mode (+PAM)\n\
         [   16.060000] host systemd[1]: Starting a.service - A...\n[   20.060000] host systemd[1]: Started a.service - A.\n";
    // The log ends before startup finished: times are from the first messages of each service manager.
    let trace = read_text(text);
    let initrd = times(&trace, milestone::INITRD_BEGIN);
    assert!(initrd.contains(&("journal".to_owned(), 4858)), "{initrd:?}");
    assert_eq!(times(&trace, milestone::USER_SPACE_BEGIN), [("journal".to_owned(), 16_058)]);
    assert_eq!(ms(&trace, milestone::STARTUP_FINISHED), None);
    assert_eq!(starts(&trace), [("a.service".to_owned(), 16_060, Some(20_060))]);
    // Startup finished: times are from systemd's message.
    let trace = read_text(&format!("{text}[   43.913000] host systemd[1]: {STARTED}\n"));
    assert_eq!(ms(&trace, milestone::STARTUP_FINISHED), Some(43_913));
    assert_eq!((ms(&trace, milestone::FIRMWARE), ms(&trace, milestone::BOOT_MANAGER)), (Some(-5448), Some(-269)));
}

#[test]
fn reads_systemd_messages_in_kernel_log() {
    let text = "[    0.000000] Linux version 6.1\n[    2.000000] systemd[1]: systemd 252 running in system mode\n\
         [    2.100000] systemd[1]: Detected virtualization qemu.\n[    2.200000] systemd[1]: Starting Journal Service...\n\
         [    3.200000] systemd[1]: Started Journal Service.\n[    9.000000] systemd[1]: Reached target Multi-User System.\n\
         [    9.500000] systemd[1]: Startup finished in 2.000s (kernel) + 7.500s (userspace) = 9.500s.\n\
         [   50.000000] systemd[512]: Startup finished in 105ms.\n";
    let trace = read_text(text);
    assert_eq!(ms(&trace, milestone::USER_SPACE_BEGIN), Some(2000));
    assert_eq!(ms(&trace, milestone::STARTUP_FINISHED), Some(9500));
    let starts = starts(&trace);
    assert!(starts.contains(&("systemd-journald.service".to_owned(), 2200, Some(3200))), "{starts:?}");
    assert!(starts.contains(&("multi-user.target".to_owned(), 9000, Some(9000))), "{starts:?}");
}

#[test]
fn unit_without_end_is_unfinished() {
    let trace = read_text(
        "[    0.000000] host kernel: Linux version 6.1\n[    3.000000] host systemd[1]: Starting hung.service - H...\n\
         [    4.000000] host systemd[1]: Reached target basic.target - Basic System.\n[   60.000000] host cron[77]: x\n",
    );
    let row = trace.service_transitions.iter().find(|row| trace.text(row.service) == "hung.service").unwrap();
    assert_eq!((row.start_ns / 1_000_000, row.end_ns, row.outcome), (3000, None, ServiceOutcome::Unfinished));
    assert_eq!(trace.duration_ns / 1_000_000, 60_000);
}

#[test]
fn starts_without_end_are_dropped_after_startup_finished() {
    let text = "[    0.000000] host kernel: Linux version 6.1\n\
         [    3.000000] host systemd[1]: Expecting device dev-sda1.device - /dev/sda1...\n\
         [    4.000000] host systemd[1]: Starting slow.service - S...\n[    8.000000] host systemd[1]: Started slow.service - S.\n";
    let finished =
        "[    9.000000] host systemd[1]: Startup finished in 2.000s (kernel) + 7.000s (userspace) = 9.000s.\n";
    let later = "[   20.000000] host systemd[1]: Starting later.service - L...\n";
    let slow = ("slow.service".to_owned(), 4000, Some(8000));
    let device = ("dev-sda1.device".to_owned(), 3000, None);
    let later_start = ("later.service".to_owned(), 20_000, None);
    let trace = read_text(&format!("{text}{finished}{later}"));
    assert_eq!(starts(&trace), [slow.clone(), later_start.clone()]);
    assert_eq!(count(&trace, "unit_ends_not_recorded"), 1);
    // Without systemd's last message, the start may still be in progress.
    let trace = read_text(&format!("{text}{later}"));
    assert_eq!(starts(&trace), [device.clone(), slow.clone(), later_start.clone()]);
    assert_eq!(count(&trace, "unit_ends_not_recorded"), 0);
    // A user's service manager does not count.
    let users = finished.replace("systemd[1]", "systemd[812]");
    assert_eq!(starts(&read_text(&format!("{text}{users}{later}"))), [device, slow, later_start]);
}

#[test]
fn switch_root_unit_ends_with_the_initramfs() {
    let text = |unit: &str| {
        format!(
            "[    0.000000] host kernel: Linux version 6.1\n\
             [    4.858000] host systemd[1]: systemd 252 running in system mode (+PAM)\n[    4.860000] host systemd[1]: Running in initrd.\n\
             [   15.000000] host systemd[1]: Starting {unit}...\n\
             [   16.058000] host systemd[1]: systemd 252 running in system mode (+PAM)\n\
             [   16.060000] host systemd[1]: Starting a.service - A...\n[   20.060000] host systemd[1]: Started a.service - A.\n"
        )
    };
    let next_manager_start = ("a.service".to_owned(), 16_060, Some(20_060));
    let switch_root_start = ("initrd-switch-root.service".to_owned(), 15_000, Some(16_058));
    assert_eq!(
        starts(&read_text(&text("initrd-switch-root.service - Switch Root"))),
        [switch_root_start, next_manager_start.clone()]
    );
    // With times from systemd, which are not affected by the late first messages of the next service manager.
    let finished = "[   30.000000] host systemd[1]: Startup finished in 4.858s (kernel) + 10.900s (initrd) + 14.242s (userspace) = 30s.\n";
    let with_total = read_text(&(text("initrd-switch-root.service - Switch Root") + finished));
    assert_eq!(starts(&with_total)[0], ("initrd-switch-root.service".to_owned(), 15_000, Some(15_758)));
    // Another unit may continue under the next service manager.
    let continuing_start = ("plymouth-start.service".to_owned(), 15_000, None);
    assert_eq!(starts(&read_text(&text("plymouth-start.service - P"))), [continuing_start, next_manager_start]);
}

#[test]
fn failed_resume_does_not_abort_a_sleep() {
    // As logged by kernel 3.15 on a machine whose USB devices were gone after the sleep.
    let log = |failure: &str| {
        format!(
            "[  134.319057] PM: Syncing filesystems ... done.\n[  134.441256] PM: Preparing system for freeze sleep\n\
             [  134.441390] Freezing user space processes ... (elapsed 0.001 seconds) done.\n\
             [  134.442867] Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done.\n\
             [  135.309563] PM: suspend of devices complete after 864.689 msecs\n{failure}\
             [  145.514760] PM: resume of devices complete after 162.954 msecs\n[  145.515060] Restarting tasks ... done.\n"
        )
    };
    for step in ["resume", "resume async", "resume noirq", "restore", "thaw early"] {
        let trace = read_text(&log(&format!("[  145.352379] PM: Device 1-1 failed to {step}: error -13\n")));
        assert_eq!(times(&trace, milestone::POWER_ABORTED), [], "{step}");
    }
    for message in ["PM: Device 1-1 failed to suspend async: error -13", "usb 1-1: PM: failed to freeze: error -16"] {
        let trace = read_text(&log(&format!("[  145.352379] {message}\n")));
        assert_eq!(times(&trace, milestone::POWER_ABORTED).len(), 1, "{message}");
    }
}

#[test]
fn ignores_journalctl_explanations() {
    let plain = "Jul 28 20:33:00 host kernel: Linux version 6.1\nJul 28 20:33:22 host systemd[1]: Starting a.service - A...\n\
                 Jul 28 20:33:25 host systemd[1]: Started a.service - A.\n";
    // As written by systemd 246 and later, and by earlier versions.
    for prefix in ["░░", "--"] {
        let explanation: String =
            ["Subject: A start job", "Defined-By: systemd", "Support: https://lists", "", "The job identifier is 7."]
                .map(|line| format!("{prefix} {line}\n"))
                .concat();
        let explained: String = plain.lines().map(|line| format!("{line}\n{explanation}")).collect();
        let (trace, expected) = (read_text(&explained), read_text(plain));
        assert_eq!(starts(&trace), starts(&expected), "{prefix}");
        assert_eq!(starts(&trace).len(), 1);
        assert!(
            trace.losses.iter().all(|loss| expected.losses.iter().any(|plain_loss| plain_loss.counter == loss.counter)),
            "{prefix}"
        );
    }
}

#[test]
fn reads_bootchart_archive() {
    let stat = |pid: u32, name: &str, start: u32| {
        format!("{pid} ({name}) S 1 1 1 0 -1 4194560 272 0 15 0 0 98 0 0 20 0 1 0 {start} 3227648 594\n")
    };
    let processes =
        format!("1261\n{}\n1281\n{}{}", stat(1, "init", 266), stat(1, "init", 266), stat(700, "udevd", 1270));
    let trace = read(&[
        ("header", b"version = 0.8\ntitle = Boot chart for h\nsystem.uname = Linux 2.6.29 #1 SMP i686\n"),
        ("proc_ps.log", processes.as_bytes()),
        ("proc_stat.log", b"1261\ncpu  56 0 880 321 23 0 43\n\n1301\ncpu  60 0 880 321 23 0 43\n"),
        ("proc_diskstats.log", b"1261\n   8       0 sda 64 0 297 168 0 0 0 0\n"),
    ]);
    assert_eq!((trace.recorder.as_str(), trace.system.os_build_text.as_str()), ("bootchart", "2.6.29"));
    assert_eq!(times(&trace, milestone::USER_SPACE_BEGIN), [("bootchart".to_owned(), 12_610)]);
    assert_eq!(trace.duration_ns / 1_000_000, 13_010);
    let udevd = trace.processes.iter().find(|row| row.pid == 700).unwrap();
    assert_eq!((trace.text(udevd.image), udevd.start_ns), ("udevd", Some(12_700_000_000)));
    // Data that is in no table is counted, and no file is skipped.
    assert_eq!((count(&trace, "bootchart_totals_skipped"), count(&trace, "files_skipped")), (2, 0));
}

#[test]
fn initcall_ends_at_its_message_time() {
    // The kernel stores one start time for all calls, so it logs the time since the start of the inner call when the
    // outer call ends.
    let trace = read_text(
        "[    0.000000] Linux version 6.1\n[    1.000000] calling  outer+0x0/0x10 [a] @ 10\n\
         [    3.250000] calling  inner+0x0/0x10 [b] @ 11\n[    3.260000] initcall inner+0x0/0x10 [b] returned 0 after 9000 usecs\n\
         [    3.279000] initcall outer+0x0/0x10 [a] returned 0 after 28500 usecs\n",
    );
    let mut calls: Vec<(&str, i64, Option<i64>)> = trace
        .device_operations
        .iter()
        .filter(|row| row.kind == DeviceOperationKind::Initcall)
        .map(|row| (trace.text(row.driver), row.start_ns / 1_000_000, row.end_ns.map(|ns| ns / 1_000_000)))
        .collect();
    calls.sort_unstable();
    assert_eq!(calls, [("inner", 3250, Some(3260)), ("outer", 1000, Some(3279))]);
}

#[test]
fn old_kernels_start_init_when_freeing_memory() {
    let old_log = "[    0.000000] Linux version 3.10.0\n[    1.500000] Freeing unused kernel memory: 1234K\n";
    assert_eq!(ms(&read_text(old_log), milestone::USER_SPACE_BEGIN), Some(1500));
    let initramfs_log = "[    0.000000] Linux version 3.10.0\n[    0.700000] Trying to unpack rootfs image as initramfs...\n\
                    [    1.500000] Freeing unused kernel memory: 1234K\n";
    assert_eq!(ms(&read_text(initramfs_log), milestone::INITRD_BEGIN), Some(1500));
    // ARM kernels log a different text. They free the memory of the initramfs archive earlier, with another message.
    let arm_log = "[    0.000000] Linux version 2.6.36\n[    7.588744] Freeing initrd memory: 412K\n\
                  [    9.091765] Freeing init memory: 200K\n";
    assert_eq!(ms(&read_text(arm_log), milestone::USER_SPACE_BEGIN), Some(9091));
    // If the kernel logs the program that it runs, that time is more precise.
    let log_with_program = "[    0.000000] Linux version 6.1.0\n[    1.500000] Freeing unused kernel image (initmem) memory: 1K\n\
                 [    1.600000] Run /sbin/init as init process\n";
    assert_eq!(times(&read_text(log_with_program), milestone::USER_SPACE_BEGIN).len(), 1);
    assert_eq!(ms(&read_text(log_with_program), milestone::USER_SPACE_BEGIN), Some(1600));
}

#[test]
fn kernel_log_dates_are_relative_to_first_line() {
    let trace = read_text(
        "[Sun Nov 22 09:04:00 2026] Linux version 6.1\n[Sun Nov 22 09:04:03 2026] Run /sbin/init as init process\n",
    );
    assert_eq!(ms(&trace, milestone::USER_SPACE_BEGIN), Some(3000));
    assert_eq!(count(&trace, "kernel_log_wall_clock"), 1);
}

#[test]
fn serial_console_starts_with_firmware_and_loader() {
    let mut text = String::new();
    for line in 0..200 {
        text += &format!("BdsDxe: loading Boot{line:04} \"UEFI\"\r\n");
    }
    text += "\u{1b}[2J\u{1b}[01;01HWelcome to GRUB!\r\n[    0.000000] Linux version 6.1\r\n[    2.5] noise\r\n\
             [    2.000000] Run /sbin/init as init process\r\n[  OK  ] Started something.\r\n";
    assert_eq!(ms(&read_text(&text), milestone::USER_SPACE_BEGIN), Some(2000));
}

#[test]
fn excludes_loader_lines_with_another_clock() {
    let loader = "[0000.125] [TegraBoot] (version 00.00.2018.01-l4t-8728f3cb)\n[0000.446] RamCode = 0\n\
                  [0003.120] Loading kernel-bootctrl from partition\nU-Boot 2016.07 (Jan 01 2020 - 00:00:00 +0000)\nStarting kernel ...\n\n";
    let kernel = "[    0.000000] Linux version 4.9.140-tegra\n[    1.800000] Freeing unused kernel memory: 7040K\n\
                  [    2.000000] systemd[1]: systemd 237 running in system mode.\n";
    let (kernel_only, with_loader) = (read_text(kernel), read_text(&format!("{loader}{kernel}")));
    assert_eq!(kernel_only.events.len(), 3);
    assert_eq!(with_loader.events.len(), 3);
    assert_eq!((kernel_only.duration_ns, with_loader.duration_ns), (2_000_000_000, 2_000_000_000));
    assert_eq!((count(&kernel_only, "loader_lines_skipped"), count(&with_loader, "loader_lines_skipped")), (0, 3));
    let loss = with_loader.losses.iter().find(|loss| loss.counter == "loader_lines_skipped").unwrap();
    assert_eq!(loss.first.as_deref(), Some("last line at 0003.120 s on the loader's clock"));
}

#[test]
fn reads_systemd_analyze_output() {
    let trace = read_text(
        "Startup finished in 4.940s (firmware) + 419ms (loader) + 11.743s (kernel) + 19.713s (userspace) = 36.817s \n\
         graphical.target reached after 19.416s in userspace.\n",
    );
    assert_eq!((ms(&trace, milestone::FIRMWARE), ms(&trace, milestone::BOOT_MANAGER)), (Some(-5359), Some(-419)));
    assert_eq!(ms(&trace, milestone::USER_SPACE_BEGIN), Some(11_743));
    assert_eq!(ms(&trace, milestone::STARTUP_FINISHED), Some(31_456));
    assert_eq!(ms(&trace, milestone::TARGET_REACHED), Some(31_159));
}

#[test]
fn reads_every_json_framing() {
    let entries = [
        r#"{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1000","__MONOTONIC_TIMESTAMP":"1000000","_BOOT_ID":"000000000000000000000000000000aa","_PID":"1","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"Starting a.service - {A}..."}"#,
        r#"{"__CURSOR":"s=2","__REALTIME_TIMESTAMP":"2000","__MONOTONIC_TIMESTAMP":"2000000","_BOOT_ID":"000000000000000000000000000000aa","_PID":"1","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"Started a.service - {\"A\"}."}"#,
    ];
    let pretty: Vec<String> =
        entries.iter().map(|entry| entry.replace("\",\"", "\",\n\t\"").replacen('{', "{\n\t", 1)).collect();
    for (framing, text) in [
        ("lines", entries.join("\n")),
        ("pretty", pretty.join("\n")),
        ("array", format!("[{}]", entries.join(",\n"))),
        ("array of pretty", format!("[\n  {}\n]\n", pretty.join(",\n  "))),
        ("sse", format!("data: {}\n\ndata: {}\n\n", entries[0], entries[1])),
        ("seq", format!("\u{1e}{}\n\u{1e}{}\n", entries[0], entries[1])),
    ] {
        let trace = read_text(&text);
        assert_eq!(starts(&trace), [("a.service".to_owned(), 1000, Some(2000))], "{framing}");
        assert_eq!(count(&trace, "journal_entries_unreadable"), 0, "{framing}");
    }
}

#[test]
fn real_boot_is_the_same_in_every_format() {
    let Some(export) = archive_member("boot-1", "journal.export") else {
        return;
    };
    let text = archive_member("boot-1", "journal-mono.txt").unwrap();
    let export_trace = read(&[("journal.export", &export)]);
    let text_trace = read(&[("journal.txt", &text)]);
    // `systemd-analyze time` of the same boot.
    let analyze_trace = read(&[("time", &archive_member("boot-1", "analyze-time.txt").unwrap())]);
    for name in [milestone::FIRMWARE, milestone::BOOT_MANAGER, milestone::USER_SPACE_BEGIN, milestone::STARTUP_FINISHED]
    {
        let export_ms = ms(&export_trace, name).unwrap();
        for (format, trace) in [("text", &text_trace), ("systemd-analyze time", &analyze_trace)] {
            let time_ms = ms(trace, name).unwrap();
            assert!(export_ms.abs_diff(time_ms) <= 1, "{name} from {format}: {time_ms} instead of {export_ms}");
        }
    }
    let (export_starts, text_starts) = (starts(&export_trace), starts(&text_trace));
    let close_starts = text_starts.iter().filter(|(unit, start, end)| {
        export_starts.iter().any(|(export_unit, export_start, export_end)| {
            unit == export_unit
                && start.abs_diff(*export_start) <= 50
                && end.zip(*export_end).is_some_and(|(a, b)| a.abs_diff(b) <= 50)
        })
    });
    // While journald starts, its messages have the time of receipt, not the time when they were sent.
    let close_count = close_starts.count();
    let (export_count, text_count) = (export_starts.len(), text_starts.len());
    assert!(
        close_count * 10 >= export_count * 6,
        "{close_count} of {export_count} within 50 ms, {text_count} in the text"
    );
}

#[test]
fn critical_chain_matches_unit_properties() {
    let mut compared = 0;
    for archive in ["boot-1", "boot-2", "boot-fpdt"] {
        let Some(chain) = archive_member(archive, "lab/critical-chain.txt") else {
            return;
        };
        let [units, manager] =
            ["lab/show-units.txt", "lab/show-manager.txt"].map(|ending| archive_member(archive, ending).unwrap());
        let properties_trace = read(&[("units.txt", &units), ("manager.txt", &manager)]);
        let user_space_ms = ms(&properties_trace, milestone::USER_SPACE_BEGIN).unwrap();
        let chain_trace = read(&[("critical-chain.txt", &chain)]);
        assert_eq!(count(&chain_trace, "user_space_begin_unknown"), 1);
        let property_starts = starts(&properties_trace);
        for (unit, start, end) in starts(&chain_trace) {
            let (_, property_start, property_end) = property_starts.iter().find(|(name, ..)| *name == unit).unwrap();
            assert!((property_start - user_space_ms - start).abs() <= 1, "{archive}: {unit} begins");
            assert!((property_end.unwrap() - user_space_ms - end.unwrap()).abs() <= 2, "{archive}: {unit} ends");
            compared += 1;
        }
        // Next to the properties, the chain adds nothing.
        let combined_trace = read(&[("units.txt", &units), ("manager.txt", &manager), ("critical-chain.txt", &chain)]);
        assert_eq!(starts(&combined_trace), property_starts);
        assert_eq!(combined_trace.service_dependencies.len(), properties_trace.service_dependencies.len());
    }
    assert!(compared >= 30, "{compared}");
}

#[test]
fn log_lines_are_events_in_time_order_without_duplicates() {
    // The journal also contains the kernel's messages. They must not be duplicated if the kernel log is present.
    let kernel = "[    0.000000] Linux version 6.1\n[    2.500000] usb 1-1: new device\n";
    let journal = "_BOOT_ID=0123456789abcdef0123456789abcdef\n__REALTIME_TIMESTAMP=1700000002000000\n__MONOTONIC_TIMESTAMP=2000000\n_TRANSPORT=stdout\nSYSLOG_IDENTIFIER=cron\n_PID=7\nMESSAGE=<b>ready</b>\n\n\
                   _BOOT_ID=0123456789abcdef0123456789abcdef\n__REALTIME_TIMESTAMP=1700000002500000\n__MONOTONIC_TIMESTAMP=2500000\n_TRANSPORT=kernel\nSYSLOG_IDENTIFIER=kernel\n_SOURCE_MONOTONIC_TIMESTAMP=2500000\nMESSAGE=usb 1-1: new device\n\n";
    let files: [(&str, &[u8]); 2] = [("dmesg.txt", kernel.as_bytes()), ("journal.export", journal.as_bytes())];
    let trace = read(&files);
    let fields: Vec<_> = trace.event_fields.iter().collect();
    let lines: Vec<(String, String, String, i64)> = trace
        .events
        .iter()
        .map(|event| {
            let [provider, task] = [event.provider, event.task].map(|id| trace.text(id).to_owned());
            let field = &fields[usize::try_from(event.first_field).unwrap()];
            (provider, task, trace.text(field.value).to_owned(), event.time_ns / 1_000_000)
        })
        .collect();
    let line = |provider: &str, task: &str, text: &str, ms| (provider.to_owned(), task.to_owned(), text.to_owned(), ms);
    let expected = [
        line("kernel log", "", "Linux version 6.1", 0),
        line("journal", "cron", "<b>ready</b>", 2_000),
        line("kernel log", "", "usb 1-1: new device", 2_500),
    ];
    assert_eq!(lines, expected);
    // Events are read only on request.
    let contents = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()));
    let contents = files_from_bytes(contents, &Limits::default()).unwrap();
    let milestones_only =
        open_files(&contents, TableSet::from_names(&[TableName::Milestones]), &Options::default()).unwrap();
    assert!(milestones_only.events.is_empty() && milestones_only.event_fields.is_empty());
}
