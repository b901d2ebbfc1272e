//! Tests text logs as people have them: in other languages, of other daemons, damaged, copied from a terminal, and of
//! old versions of systemd.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use onoff_sources::{Limits, Options, files_from_bytes, open_files};
use onoff_trace::{ActivityKind, ServiceChange, TableSet, Trace, milestone};

fn read_boot(bytes: &[u8], boot: Option<&str>) -> Result<Trace, String> {
    let files =
        files_from_bytes([("log".to_owned(), bytes.to_vec())], &Limits::default()).map_err(|e| e.to_string())?;
    let options = Options { boot: boot.map(str::to_owned), ..Options::default() };
    open_files(&files, TableSet::all(), &options).map_err(|e| e.to_string())
}

fn read(text: &str) -> Trace {
    read_boot(text.as_bytes(), None).unwrap()
}

/// A boot with a slow unit: seconds since the kernel's start, sender, message.
const BOOT: &[(u32, &str, &str)] = &[
    (0, "kernel", "Linux version 6.12.38 (x) #1 SMP"),
    (4, "kernel", "Run /init as init process"),
    (6, "systemd[1]", "Starting cron.service - Regular cron..."),
    (10, "systemd[1]", "Started cron.service - Regular cron."),
    (26, "systemd[1]", "Startup finished in 4.000s (kernel) + 22.000s (userspace) = 26.000s."),
];

/// Writes `lines` with the prefix that `prefix` returns for a time of day and the sender.
fn log(lines: &[(u32, &str, &str)], prefix: impl Fn(&str, &str) -> String) -> String {
    let mut text = String::new();
    for (second, sender, message) in lines {
        let time = format!("09:{:02}:{:02}", second / 60, second % 60);
        writeln!(text, "{} {sender}: {message}", prefix(&time, sender)).unwrap();
    }
    text
}

/// Returns the name, start and end of every unit start, in s.
fn starts(trace: &Trace) -> Vec<(String, i64, Option<i64>)> {
    let rows = trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start);
    let s = |ns: i64| ns / 1_000_000_000;
    rows.map(|row| (trace.text(row.service).to_owned(), s(row.start_ns), row.end_ns.map(s))).collect()
}

fn milestones(trace: &Trace, name: &str) -> Vec<i64> {
    let name = trace.strings.find(name);
    trace.milestones.iter().filter(|row| Some(row.name) == name).map(|row| row.time_ns / 1_000_000).collect()
}

fn count(trace: &Trace, counter: &str) -> u64 {
    trace.losses.iter().find(|loss| loss.counter == counter).map_or(0, |loss| loss.count)
}

#[test]
fn reads_languages_zones_and_daemons() {
    let months = ["Dez", "déc.", "dic", "maj", "gru", "pro", "дек", "12月", " 5月", "Des", "nóv."];
    let mut prefixes = months.map(|month| format!("{month} 05 TIME laptop")).to_vec();
    let others = [
        "So 2025-12-07 TIME CET laptop",
        "日 2025-12-07 TIME JST laptop",
        "2025-12-07TTIME laptop",
        "2025-12-07 TIME,000 laptop",
        "Dec  5 TIME board FACILITY",
        "Dec  5 TIME FACILITY",
        "Fri Dec  5 TIME 2025 FACILITY",
    ];
    prefixes.extend(others.map(str::to_owned));
    for prefix in prefixes {
        let text = log(BOOT, |time, sender| {
            let facility = if sender == "kernel" { "kern.info" } else { "daemon.notice" };
            prefix.replace("FACILITY", facility).replace("TIME", time)
        });
        let trace = read(&text);
        assert_eq!(starts(&trace), [("cron.service".to_owned(), 6, Some(10))], "{text}");
        assert_eq!(milestones(&trace, milestone::STARTUP_FINISHED), [26_000], "{text}");
        assert_eq!(count(&trace, "journal_entries_unreadable"), 0, "{text}");
    }
}

#[test]
fn refuses_texts_that_only_look_similar() {
    for line in [
        "2025-12-07 09:00:00 INFO main: started",
        "2025-12-07 09:00:00 WARN worker[12]: slow",
        "Alice 05 09:00:00 wrote this: hello",
        "5 apples 09:00:00 a b: c",
    ] {
        let error = read_boot(format!("{line}\n").repeat(20).as_bytes(), None).unwrap_err();
        assert!(error.contains("unknown format (first line"), "{error}");
    }
}

#[test]
fn reads_printk_prefixes_of_manufacturers() {
    for caller in
        ["[0:        swapper:    0] ", " I[0:      swapper/0:    1] ", "<0>.(0)[1:swapper/0]", "[    T1] ", "c0 1 "]
    {
        let text = format!(
            "[    0.000000] {caller}Linux version 3.10.49 (x) #1\n[    2.500000] {caller}Freeing unused kernel memory: 1K\n\
             [    9.000000] {caller}PM: suspend entry (deep)\n[   11.000000] {caller}PM: suspend exit\n"
        );
        let trace = read(&text);
        assert_eq!(milestones(&trace, milestone::USER_SPACE_BEGIN), [2500], "{text}");
        assert_eq!(trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerTransition).count(), 1);
    }
    // The brackets belong to the message.
    let trace = read("[    0.000000] [0:0:0:0] Linux version 3.10.49 (x) #1\n[    2.500000] x\n");
    assert!(milestones(&trace, milestone::KERNEL_BEGIN).is_empty());
}

/// Three boots, each of which ends as `ends` says.
fn boots(ends: [&[(u32, &str, &str)]; 3]) -> String {
    let prefix = |hour: usize| move |time: &str, _: &str| format!("Dec 05 {:02}{} laptop", 9 + hour, &time[2..]);
    let early = [(0, "kernel", "microcode: microcode updated early to revision 0xf0, date = 2021-11-12")];
    let boot = |hour: usize, end: &[(u32, &str, &str)]| log(&[&early, BOOT, end].concat(), prefix(hour));
    ends.iter().enumerate().map(|(hour, end)| boot(hour, end)).collect()
}

const STOP: &[(u32, &str, &str)] = &[
    (90, "systemd[1]", "Reached target shutdown.target - System Shutdown."),
    (91, "systemd-journald[200]", "Journal stopped"),
];

/// Stop and start of journald in a boot that goes on: the initramfs hands over.
const HANDOVER: &[(u32, &str, &str)] = &[
    (90, "systemd-journald[200]", "Journal stopped"),
    (91, "systemd-journald[300]", "Journal started"),
    (99, "systemd[1]", "Started late.service - Late."),
];

#[test]
fn counts_boots_and_clean_stops_in_text() {
    let text = boots([STOP, &[], HANDOVER]);
    let trace = read(&text);
    let stopped: Vec<bool> = trace.boots.iter().map(|boot| boot.stopped).collect();
    assert_eq!(stopped, [true, false, false]);
    // The early line belongs to its boot.
    assert_eq!(trace.boots.iter().map(|boot| boot.entries).collect::<Vec<_>>(), [8, 6, 9]);
    let trace = read_boot(text.as_bytes(), Some("-2")).unwrap();
    assert!(trace.boots[0].read);
}

#[test]
fn nuls_of_a_power_cut_hide_no_boot() {
    let text = boots([&[], &[], STOP]);
    let nuls = "\0".repeat(700);
    let damaged = text.replacen("Dec 05 10:00:00", &format!("Dec 05 09:5{nuls}Dec 05 10:00:00"), 1);
    for text in [damaged.clone(), nuls + &damaged] {
        let trace = read(&text);
        assert_eq!(trace.boots.len(), 3);
        assert!(starts(&trace).contains(&("cron.service".to_owned(), 6, Some(10))));
    }
    // Only zeros are no log.
    assert!(read_boot(&[0; 4096], None).is_err());
}

#[test]
fn serial_console_may_begin_with_noise() {
    let log = "[    0.000000] Linux version 6.1 (x)\r\n[    2.500000] Run /init as init process\r\n";
    for noise in [&[0_u8; 300][..], b"\xff\xfe\x00\x80\x91\r\n", b"\x00\x00U-Boot SPL 2020\r\n"] {
        let trace = read_boot(&[noise, log.as_bytes()].concat(), None).unwrap();
        assert_eq!(milestones(&trace, milestone::INITRD_BEGIN), [2500]);
    }
    assert!(read_boot(&[b"\x00\x01\x02binary", log.as_bytes().get(..10).unwrap()].concat(), None).is_err());
}

const TIME: &str = "Startup finished in 3.456s (firmware) + 2.100s (loader) + 4.100s (kernel) + 1min 10.200s (userspace) = 1min 19.856s\n\
                    graphical.target reached after 1min 10.1s in userspace.\n";
const BLAME: &str = "1min 2.003s a.service\n   12.500s NetworkManager-wait-online.service\n     950ms b.service\n";
const CHAIN: &str = "graphical.target @1min 10.1s\n└─multi-user.target @1min 10.1s\n  └─a.service @8.1s +1min 2.003s\n";

#[test]
fn reads_outputs_of_systemd_analyze_copied_together() {
    let long_blame = BLAME.repeat(30);
    for text in [
        format!("{TIME}{BLAME}"),
        format!("{long_blame}\n{TIME}"),
        format!("Please help, my boot is slow!\n$ systemd-analyze\n{TIME}\n$ systemd-analyze blame\n{BLAME}"),
    ] {
        let trace = read(&text);
        assert_eq!(milestones(&trace, milestone::STARTUP_FINISHED), [74_300], "{text}");
        assert_eq!(milestones(&trace, milestone::FIRMWARE), [-5556], "{text}");
        // Durations without a start are bounds of what each unit cost.
        assert_eq!(milestones(&trace, milestone::UNIT_DURATION).len(), 3, "{text}");
        assert_eq!(count(&trace, "blamed_units_unplaced"), 0, "{text}");
        assert_eq!(count(&trace, "blame_lines_unreadable"), 0, "{text}");
    }
    let prompts = format!("user@host:~$ systemd-analyze\n{TIME}user@host:~$ systemd-analyze critical-chain\n{CHAIN}");
    let all = format!("{TIME}{BLAME}{CHAIN}");
    let quoted = all.lines().map(|line| format!("> {line}\n")).collect();
    for text in [format!("{TIME}{CHAIN}"), all, prompts, quoted] {
        let trace = read(&text);
        // User space began after 4.1 s.
        assert!(starts(&trace).contains(&("a.service".to_owned(), 12, Some(74))), "{text}");
        assert_eq!(count(&trace, "critical_chain_lines_unreadable"), 0, "{text}");
    }
    // A unit that is passed by name may have no time.
    let trace = read("ssh.service +150ms\n└─network.target @12.1s\n  └─a.service @2s +10s\n");
    assert!(starts(&trace).contains(&("a.service".to_owned(), 2, Some(12))));
}

#[test]
fn refusals_name_a_command() {
    for (text, advice) in [
        ("Bootup is not yet finished (FinishTimestampMonotonic=0).\n", "systemctl list-jobs"),
        ("[  OK  ] Started cron.service.\n", "journalctl -b -o short-monotonic"),
        ("U-Boot 2020\nLinux version 4.1 (x)\nFreeing init memory: 1K\n", "printk.time=1"),
    ] {
        let error = read_boot(text.as_bytes(), None).unwrap_err();
        assert!(error.contains(advice) && !error.contains("first bytes"), "{error}");
    }
}

#[test]
fn descriptions_of_systemd_units_become_names() {
    let lines = [
        (0, "kernel", "Linux version 4.19.0 (x) #1 SMP"),
        (2, "systemd[1]", "Starting Cryptography Setup for luks-home..."),
        (9, "systemd[1]", "Started Cryptography Setup for luks-home."),
        (10, "systemd[1]", "Starting File System Check on /dev/mapper/home..."),
        (12, "systemd[1]", "Started File System Check on /dev/mapper/home."),
        (12, "systemd[1]", "Mounting /home..."),
        (13, "systemd[1]", "Mounted /home."),
        (14, "systemd[1]", "Starting My Own Daemon..."),
        (15, "systemd[1]", "Started My Own Daemon."),
    ];
    let trace = read(&log(&lines, |time, _| format!("Dec 05 {time} laptop")));
    let expected = [
        (r"systemd-cryptsetup@luks\x2dhome.service", 2, 9),
        ("systemd-fsck@dev-mapper-home.service", 10, 12),
        ("home.mount", 12, 13),
        ("My Own Daemon", 14, 15),
    ];
    assert_eq!(starts(&trace), expected.map(|(name, start, end)| (name.to_owned(), start, Some(end))));
}

/// Writes a journal with one sleep: entries have both clocks, and the wall clock gains `slept_s` during the sleep.
fn journal(kind: &str, slept_s: i64) -> String {
    let mut text = String::new();
    let mut add = |ms: i64, gain_s: i64, message: &str| {
        let real_us = 1_795_338_240_000_000 + (ms + gain_s * 1000) * 1000;
        let us = ms * 1000;
        writeln!(
            text,
            "__REALTIME_TIMESTAMP={real_us}\n__MONOTONIC_TIMESTAMP={us}\n_BOOT_ID={:032x}\n_TRANSPORT=kernel\n\
             _SOURCE_MONOTONIC_TIMESTAMP={us}\nSYSLOG_IDENTIFIER=kernel\nMESSAGE={message}\n",
            0xaa
        )
        .unwrap();
    };
    add(0, 0, "Linux version 6.12");
    add(3000, 0, "Run /init as init process");
    add(100_000, 0, &format!("PM: suspend entry ({kind})"));
    add(100_020, slept_s, "Freezing user space processes");
    add(100_030, slept_s, "Freezing user space processes completed (elapsed 0.001 seconds)");
    if kind == "deep" {
        add(100_500, slept_s, "ACPI: PM: Preparing to enter system sleep state S3");
        add(100_600, slept_s, "ACPI: PM: Low-level resume complete");
    }
    add(101_000, slept_s, "OOM killer enabled.");
    add(101_100, slept_s, "Restarting tasks ... done.");
    add(101_200, slept_s, "PM: suspend exit");
    add(102_500, slept_s, "later");
    text
}

#[test]
fn clocks_of_journal_show_time_asleep() {
    let slept = |text: &str| -> Vec<i64> {
        let trace = read(text);
        let names = [milestone::WAKE, milestone::POWER_SLEEP_TIME].map(|name| trace.strings.find(name));
        let rows = trace.milestones.iter().filter(|row| names.contains(&Some(row.name)));
        rows.filter_map(|row| row.value).map(|ns| ns / 1_000_000_000).collect()
    };
    for kind in ["deep", "s2idle"] {
        assert_eq!(slept(&journal(kind, 7200)), [7200], "{kind}");
    }
    // Without sleep, or if the clock was set, nothing is concluded.
    for slept_s in [0, -3600, 40_000_000] {
        assert!(slept(&journal("s2idle", slept_s)).is_empty(), "{slept_s}");
    }
}
