//! `onoff suspend` and `onoff shutdown` on real Linux recordings, compared with the text of the recordings.
#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::Folder;
use onoff_testkit::real_recordings::samples_folder;
use serde_json::Value;

/// A sample, and a folder with its unpacked files.
struct Sample {
    archive: PathBuf,
    folder: tempfile::TempDir,
}

impl Sample {
    /// Opens a sample. Prints a message and returns `None` if the samples are missing.
    fn open(name: &str) -> Option<Self> {
        let archive = samples_folder("linux")?.join(format!("{name}.tar.xz"));
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&archive).unwrap();
        lzma_rust2::XzReader::new(file, true).read_to_end(&mut bytes).unwrap();
        tar::Archive::new(&bytes[..]).unpack(folder.path()).unwrap();
        Some(Self { archive, folder })
    }

    /// Finds the first file with this name.
    fn file(&self, name: &str) -> PathBuf {
        self.find(self.folder.path(), name).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.file(name)).unwrap()).into_owned()
    }

    fn find(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().find_map(|path| {
            if path.is_dir() { self.find(path, name) } else { path.ends_with(name).then(|| path.clone()) }
        })
    }

    fn json(&self, verb: &str) -> Value {
        json(verb, &self.archive)
    }
}

fn run(verb: &str, path: &Path) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_onoff")).arg(verb).arg(path).args(["--format", "json"]).output().unwrap()
}

fn json(verb: &str, path: &Path) -> Value {
    let output = run(verb, path);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Parses seconds with six decimals. Returns ns.
fn ns(text: &str) -> i64 {
    let (seconds, micros) = text.split_once('.').unwrap();
    seconds.parse::<i64>().unwrap() * 1_000_000_000 + micros.parse::<i64>().unwrap() * 1_000
}

/// Returns the timestamp of a trace line such as `  task-1 [000] .....    64.370703: …`, in ns.
fn time_ns(line: &str) -> i64 {
    let end = line.find(": ").unwrap();
    ns(line[..end].split_ascii_whitespace().last().unwrap())
}

/// Returns the phases between `suspend_resume` lines, as (action, start, end). CPU hotplug counts as one phase.
fn traced_phases(trace: &str) -> Vec<(String, i64, i64)> {
    let mut phases: Vec<(String, i64, i64)> = Vec::new();
    for line in trace.lines().filter(|line| line.contains(": suspend_resume: ")) {
        let (_, event) = line.split_once(": suspend_resume: ").unwrap();
        let (action, edge) = event.split_once('[').unwrap();
        if edge.ends_with("begin") {
            phases.push((action.to_owned(), time_ns(line), 0));
        } else if let Some(phase) = phases.iter_mut().rfind(|(phase_action, ..)| phase_action == action) {
            phase.2 = time_ns(line);
        }
    }
    phases
}

const ACTIONS: [(&str, &str); 16] = [
    ("sync_filesystems", "sync_file_systems"),
    ("freeze_processes", "freeze_processes"),
    ("dpm_prepare", "devices_prepare"),
    ("dpm_suspend", "devices_suspend"),
    ("dpm_suspend_late", "devices_suspend_late"),
    ("dpm_suspend_noirq", "devices_suspend_noirq"),
    ("CPU_OFF", "processors_off"),
    ("syscore_suspend", "system_core_off"),
    ("machine_suspend", "machine"),
    ("syscore_resume", "system_core_on"),
    ("CPU_ON", "processors_on"),
    ("dpm_resume_noirq", "devices_resume_noirq"),
    ("dpm_resume_early", "devices_resume_early"),
    ("dpm_resume", "devices_resume"),
    ("dpm_complete", "devices_complete"),
    ("thaw_processes", "thaw_processes"),
];

fn phase<'a>(sleep: &'a Value, name: &str) -> &'a Value {
    sleep["phases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|phase| phase["name"] == *name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn assert_phases_match_trace(sample: &Sample, sleep: &Value) {
    let trace = sample.text("sleep.trace.txt");
    let traced = traced_phases(&trace);
    let mut compared = 0;
    for (action, name) in ACTIONS {
        let Some((_, start, end)) = traced.iter().find(|(traced_action, ..)| traced_action == action) else {
            continue;
        };
        let phase = phase(sleep, name);
        // The text has µs precision, the binary trace ns.
        for (actual, expected) in [("start_ns", *start), ("end_ns", *end)] {
            let actual = phase[actual].as_i64().unwrap();
            assert!((actual - expected).abs() < 1_000, "{name}: {actual} {expected}");
        }
        compared += 1;
    }
    assert!(compared >= 14, "{compared}");
    let started = trace.matches(": device_pm_callback_start: ").count();
    assert_eq!(sleep["callbacks"].as_array().unwrap().len(), started);
}

/// Parses `PM: <operation> of devices complete after N msecs`.
fn logged_ms(sample: &Sample, operation: &str) -> f64 {
    let log = sample.text("dmesg.txt");
    let key = format!("PM: {operation} of devices complete after ");
    let (_, duration) = log.split_once(&key).unwrap();
    duration.split_once(" msecs").unwrap().0.parse().unwrap()
}

#[test]
fn suspend_to_ram_matches_trace_log_and_clocks() {
    let Some(sample) = Sample::open("suspend-s3") else {
        return;
    };
    let report = sample.json("suspend");
    assert_eq!(report["found"], 1);
    let sleep = &report["transitions"][0];
    assert_eq!(sleep["variant"], "sleep");
    assert_eq!(sleep["mode"], "deep");
    assert_eq!(sleep["outcome"], "slept");
    assert_eq!(sleep["requested_by"], "labcap");
    assert_phases_match_trace(&sample, sleep);
    // The kernel log reports the same devices slightly later.
    for (operation, name) in [
        ("suspend", "devices_suspend"),
        ("late suspend", "devices_suspend_late"),
        ("noirq suspend", "devices_suspend_noirq"),
        ("noirq resume", "devices_resume_noirq"),
        ("early resume", "devices_resume_early"),
        ("resume", "devices_resume"),
    ] {
        let traced = phase(sleep, name)["duration_ns"].as_i64().unwrap() as f64 / 1e6;
        let logged = logged_ms(&sample, operation);
        assert!((traced - logged).abs() <= 5.0, "{name}: {traced} in the trace, {logged} in the log");
    }
    // The lab writes lines "lab:clock … mono= boot=" before and after the sleep.
    let clocks = sample.text("arm.txt");
    let clock_gap = |marker: &str| {
        let line = clocks.lines().find(|line| line.contains(marker)).unwrap();
        let clock_ns = |key: &str| {
            let (_, value) = line.split_once(key).unwrap();
            ns(value.split(' ').next().unwrap())
        };
        clock_ns("boot=") - clock_ns("mono=")
    };
    let expected = clock_gap("after-state-write") - clock_gap("before-state-write");
    let actual = sleep["asleep"]["slept_ns"].as_i64().unwrap();
    assert!((actual - expected).abs() < 1_000_000, "{actual}, expected {expected}");
    let kernel = sleep["asleep"]["kernel_ns"].as_i64().unwrap();
    assert_eq!(kernel, 20_772_000_000);
    assert!(sleep["wake_sources"].as_array().unwrap().iter().any(|source| source["name"] == "00:03"));
    assert!(!sleep["tasks"].as_array().unwrap().is_empty());
}

#[test]
fn paths_lead_back_from_phase_end() {
    for name in ["suspend-s3", "hibernate-s4"] {
        let Some(sample) = Sample::open(name) else {
            return;
        };
        let report = sample.json("suspend");
        let mut paths = 0;
        for phase in report["transitions"][0]["phases"].as_array().unwrap() {
            let steps = phase["work"]["path"].as_array().unwrap();
            paths += usize::from(!steps.is_empty());
            let mut previous_start = i64::MAX;
            for step in steps {
                let end = step["end_ns"].as_i64().unwrap();
                let start = step["start_ns"].as_i64().unwrap();
                assert!(start <= end && end <= previous_start, "{name} {step}");
                previous_start = start;
            }
            let duration = phase["duration_ns"].as_i64().unwrap_or(i64::MAX);
            assert!(phase["work"]["path_ns"].as_i64().unwrap() <= duration, "{phase}");
        }
        assert!(paths >= 6, "{paths}");
    }
}

#[test]
fn hibernation_uses_log_and_bounds_image() {
    let Some(sample) = Sample::open("hibernate-s4") else {
        return;
    };
    let report = sample.json("suspend");
    let sleep = &report["transitions"][0];
    assert_eq!(sleep["variant"], "hibernate");
    assert_phases_match_trace(&sample, sleep);
    let image = &sleep["image"];
    assert_eq!(image["pages"], 94_948);
    // From `Preallocating image memory`, 92.545439, to `Allocated … kbytes`, 93.363078.
    let create = image["create_ns"].as_i64().unwrap();
    assert!((create - 817_639_000).abs() < 2_000_000, "{create}");
    assert!(image["write_ns"].is_null() && image["read_ns"].is_null());
    let bound = image["max_ns"].as_i64().unwrap();
    assert!((bound - 73_212_000_000).abs() < 10_000_000, "{bound}");
    assert_eq!(phase(sleep, "freeze_processes")["starts"]["event"], "kernel log/PM");
}

#[test]
fn log_alone_gives_sleep_with_kernel_durations() {
    let Some(sample) = Sample::open("suspend-s3") else {
        return;
    };
    let report = json("suspend", &sample.file("dmesg.txt"));
    let sleep = &report["transitions"][0];
    assert_eq!(sleep["outcome"], "slept");
    assert_eq!(sleep["asleep"]["slept_ns"], 20_772_000_000_i64);
    for (operation, name) in
        [("suspend", "devices_suspend"), ("noirq resume", "devices_resume_noirq"), ("resume", "devices_resume")]
    {
        let actual = phase(sleep, name)["duration_ns"].as_i64().unwrap() as f64 / 1e6;
        assert!((actual - logged_ms(&sample, operation)).abs() < 0.001, "{name}");
    }
    let missing = sleep["missing_evidence"].to_string();
    assert!(missing.contains("linux_sleep_phases"), "{missing}");
}

/// Returns the time of the first journal message with `text`, in ns. Kernel messages use the kernel's clock.
fn message_time(sample: &Sample, text: &str) -> i64 {
    let journal = sample.text("labsd/journal.json");
    let line = journal.lines().find(|line| line.contains(text)).unwrap();
    let entry: Value = serde_json::from_str(line).unwrap();
    let us = entry["_SOURCE_MONOTONIC_TIMESTAMP"].as_str().or(entry["__MONOTONIC_TIMESTAMP"].as_str()).unwrap();
    us.parse::<i64>().unwrap() * 1_000
}

fn unit<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["units"].as_array().unwrap().iter().find(|unit| unit["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn names_slow_stopping_unit_first() {
    let Some(sample) = Sample::open("shutdown-slowstop") else {
        return;
    };
    let report = sample.json("shutdown");
    assert_eq!(report["variant"], "power_off");
    let longest = &report["longest"];
    assert_eq!(longest["name"], "slowstop.service");
    let duration = longest["duration_ns"].as_i64().unwrap();
    assert!(duration >= 5_000_000_000, "{duration}");
    assert_eq!(longest["on_path"], true);
    for name in ["slowstop.service", "ifup@enp0s16.service", "ssh.service"] {
        let expected =
            message_time(&sample, &format!("Stopped {name}")) - message_time(&sample, &format!("Stopping {name}"));
        let actual = unit(&report, name)["duration_ns"].as_i64().unwrap();
        assert!((actual - expected).abs() < 1_000_000, "{name}: {actual}");
    }
    let stops = unit(&report, "slowstop.service")["processes"].as_array().unwrap();
    assert!(stops.iter().any(|process| process["image"] == "sleep" && process["pid"] == 498), "{stops:?}");
    let phases: Vec<(&str, bool)> = report["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| (phase["name"].as_str().unwrap(), phase["duration_ns"].is_i64()))
        .collect();
    // The shutdown hook made the recording, so neither its end nor the kernel phase is in it.
    assert_eq!(
        phases,
        [
            ("stop_units", true),
            ("sync", true),
            ("terminate_remaining", true),
            ("kill_remaining", true),
            ("unmount", true),
            ("hooks", false),
            ("kernel", false),
        ]
    );
    assert!(report["total_ns"].is_null());
    // The trace shows signals and exits: SIGTERM to sshd at 78.162925.
    let sshd = report["processes"].as_array().unwrap().iter().find(|process| process["pid"] == 349).unwrap();
    let signaled_ns = sshd["signaled_ns"].as_i64().unwrap();
    assert!((signaled_ns - 78_162_925_000).abs() < 1_000, "{signaled_ns}");
    assert_eq!(sshd["signal"], 15);
}

#[test]
fn journal_alone_gives_same_units() {
    let Some(sample) = Sample::open("shutdown-slowstop") else {
        return;
    };
    let path = sample.file("labsd/journal.export");
    let report = json("shutdown", &path);
    assert_eq!(report["longest"]["name"], "slowstop.service");
    let actual = unit(&report, "slowstop.service")["duration_ns"].as_i64().unwrap();
    let expected = message_time(&sample, "Stopped slowstop.service") - message_time(&sample, "Stopping slowstop");
    assert!((actual - expected).abs() < 1_000_000, "{actual}");
    let missing = report["missing_evidence"].to_string();
    assert!(missing.contains("linux_processors_at_shutdown"), "{missing}");
}

#[test]
fn missing_transition_exits_with_2() {
    for (name, verb) in
        [("boot-2", "shutdown"), ("boot-2", "suspend"), ("suspend-s3", "shutdown"), ("shutdown-slowstop", "suspend")]
    {
        let Some(folder) = samples_folder("linux") else {
            return;
        };
        let output = run(verb, &folder.join(format!("{name}.tar.xz")));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name} {verb}: {stderr}");
        assert!(stderr.contains("processes"), "{name} {verb}: {stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn suggests_boot_with_shutdown() {
    let (Some(stopped), Some(running)) = (Sample::open("shutdown-slowstop"), Sample::open("suspend-s3")) else {
        return;
    };
    let mut journal = std::fs::read(stopped.file("labsd/journal.export")).unwrap();
    let boot_id_in = |export: &str| {
        let (_, boot_id) = export.split_once("_BOOT_ID=").unwrap();
        boot_id.lines().next().unwrap().to_owned()
    };
    let stopped_boot = boot_id_in(&stopped.text("labsd/journal.export"));
    journal.push(b'\n');
    journal.extend(std::fs::read(running.file("lab/journal.export")).unwrap());
    let path = stopped.folder.path().join("both.export");
    std::fs::write(&path, journal).unwrap();
    let run = |boot_id: &str| {
        Command::new(env!("CARGO_BIN_EXE_onoff"))
            .arg("shutdown")
            .arg(&path)
            .args(["--format", "json"])
            .args(["--boot", boot_id])
            .output()
            .unwrap()
    };
    let output = run(&stopped_boot);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["longest"]["name"], "slowstop.service");
    let output = run(&boot_id_in(&running.text("lab/journal.export")));
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("use '--boot N' with N"), "{stderr}");
}

/// The log of a suspend to idle without debug messages, which has nothing between freezing and thawing.
const SPARSE_LOG: &str = "[    0.000000] Linux version 6.1.0\n[  100.000000] PM: suspend entry (s2idle)\n\
    [  100.050000] Filesystems sync: 0.030 seconds\n[  100.060000] Freezing user space processes\n\
    [  100.065000] Freezing remaining freezable tasks completed (elapsed 0.001 seconds)\n\
    [  103.000000] OOM killer enabled.\n[  103.000500] Restarting tasks ... done.\n[  103.010000] PM: suspend exit\n";

#[test]
fn small_known_part_is_not_headline() {
    let folder = Folder::new();
    folder.file("sparse.txt", SPARSE_LOG.as_bytes());
    let answer = folder.answer("suspend sparse.txt");
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines[0].contains("suspend not recorded"), "{}", lines[0]);
    assert_eq!(
        lines[1],
        "Unknown: 2.94 s between freeze processes and thaw processes (including the time asleep) without any record."
    );
    // With the ACPI lines, the device phases have durations, but no device names.
    let acpi = SPARSE_LOG.replace("s2idle", "deep").replace(
        "[  103.000000] OOM",
        "[  101.000000] ACPI: PM: Preparing to enter system sleep state S3\n[  101.010000] ACPI: PM: Low-level resume complete\n\
         [  101.020000] ACPI: PM: Waking up from system sleep state S3\n[  103.000000] OOM",
    );
    folder.file("acpi.txt", acpi.as_bytes());
    let answer = folder.answer("suspend acpi.txt");
    assert_eq!(answer.lines().nth(1), Some("Longest: devices resume, 1.98 s."));
    assert!(answer.contains("inferred: from the last log line before to"), "{answer}");
}

#[test]
fn trace_of_running_computer_starts_at_first_event() {
    // One processor, from 100 s after kernel start: 3 s busy, 1 s idle.
    let trace = "# tracer: nop\n\
        <idle>-0 [000] d..2. 100.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=work next_pid=7 next_prio=120\n\
        work-7 [000] d..2. 103.000000: sched_switch: prev_comm=work prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n\
        <idle>-0 [000] d..2. 104.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=work next_pid=7 next_prio=120\n";
    let folder = Folder::new();
    folder.file("trace.txt", trace.as_bytes());
    folder.file("trace_clock", b"local global counter uptime perf [mono] mono_raw boot x86-tsc\n");
    let info = folder.answer("info trace.txt trace_clock");
    assert!(info.starts_with("3 events in 4.00 s"), "{info}");
    let cpu = folder.answer("cpu trace.txt trace_clock --format json");
    let cpu: serde_json::Value = serde_json::from_str(&cpu).unwrap();
    assert_eq!(cpu["range"]["start_ns"], 100_000_000_000_i64, "{cpu}");
    let (_, message) = folder.failure("cpu trace.txt trace_clock --range 0s 5s");
    assert!(message.contains("from 100 s to 104 s"), "{message}");
    // With boot data, the recording starts at the boot.
    folder.file("dmesg.txt", b"[    0.000000] Linux version 6.1.0\n[    2.000000] Run /sbin/init as init process\n");
    let info = folder.answer("info trace.txt trace_clock dmesg.txt");
    assert!(info.contains(" in 104 s"), "{info}");
}
