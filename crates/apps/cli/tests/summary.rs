//! `onoff summary`, and other verbs with several recordings.

use serde_json::Value;

use crate::harness::Folder;

fn copy_sample(folder: &Folder, name: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples").join(name);
    folder.file(name, &std::fs::read(path).unwrap());
}

/// Runs the program and returns stdout and the exit code.
fn run(folder: &Folder, arguments: &str) -> (String, i32) {
    let output = folder.run(arguments);
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

#[test]
fn rows_for_transitions_and_unreadable_files() {
    let folder = Folder::new();
    for name in ["slow-boot.etl", "slow-shutdown.etl", "slow-sleep.etl"] {
        copy_sample(&folder, name);
    }
    folder.file("notes.txt", b"not a recording\n");
    folder.file("empty.etl", b"");
    let (text, code) = run(&folder, "summary . --format json");
    let answer: Value = serde_json::from_str(&text).unwrap();
    // The empty file becomes a row with an error. The notes are only counted.
    assert_eq!(code, 1, "{text}");
    assert_eq!((&answer["recordings"], &answer["transitions"]), (&Value::from(4), &Value::from(3)));
    assert_eq!((&answer["unreadable"], &answer["other_files"]), (&Value::from(1), &Value::from(1)));
    assert_eq!(answer["rows"][3]["recording"], "./empty.etl", "{text}");
    assert!(answer["rows"][3]["error"].as_str().unwrap().contains("empty"), "{text}");
    // The scenarios inject the slow phase and the most expensive finding; the subject's time is what fixing it saves.
    for (row, transition, phase, subject, seconds) in [
        (0, "boot", "WinLogonInit", "SoundShaper", 6.46),
        (1, "shutdown", "SystemSession", "synctool.exe", 5.0),
        (2, "suspend", "SuspendServices", "VpnClient", 4.2),
    ] {
        let row = &answer["rows"][row];
        assert_eq!((row["transition"].as_str(), row["phase"].as_str()), (Some(transition), Some(phase)), "{row}");
        assert_eq!(row["subject"], subject, "{row}");
        let blocked_s = row["subject_ns"].as_f64().unwrap() / 1e9;
        assert!((blocked_s - seconds).abs() < 0.02, "{row}");
        assert_eq!(row["error"], "");
    }

    // A damaged recording does not stop the summary. A file argument that is not a recording counts as damaged.
    let bytes = std::fs::read(folder.path("slow-boot.etl")).unwrap();
    let mut broken = bytes[..4096].to_vec();
    broken[0x48..0x60].fill(0xff);
    folder.file("slow-broken.etl", &broken);
    let (text, code) = run(&folder, "summary slow-boot.etl slow-broken.etl notes.txt --format csv");
    assert_eq!(code, 1, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[1].starts_with("slow-boot.etl,") && lines[1].contains("SoundShaper"), "{text}");
    assert!(lines[2].starts_with("slow-broken.etl,") && lines[3].starts_with("notes.txt,"), "{text}");
    assert!(lines[3].contains("unknown format"), "{text}");

    // Show only the longest transition.
    let (text, _) = run(&folder, "summary slow-sleep.etl slow-boot.etl --sort took --top 1");
    assert!(text.contains("slow-boot.etl") && !text.contains("slow-sleep.etl"), "{text}");
    assert!(text.starts_with("2 transitions in 2 recordings.\n"), "{text}");
}

#[test]
fn rejects_recordings_of_two_boots() {
    let folder = Folder::new();
    copy_sample(&folder, "slow-boot.etl");
    copy_sample(&folder, "slow-sleep.etl");
    for verb in ["boot", "suspend", "diagnose", "info", "services", "why"] {
        let (code, message) = folder.failure(&format!("{verb} slow-boot.etl slow-sleep.etl"));
        assert_eq!(code, 64, "{message}");
        assert!(message.contains("these are 2 (slow-boot.etl, slow-sleep.etl)"), "{message}");
        assert!(message.contains("'onoff summary'"), "{message}");
    }
    // A folder with two recordings is rejected too.
    std::fs::create_dir(folder.path("both")).unwrap();
    for name in ["slow-boot.etl", "slow-sleep.etl"] {
        std::fs::rename(folder.path(name), folder.path(&format!("both/{name}"))).unwrap();
    }
    let (code, message) = folder.failure("boot both");
    assert!(code == 64 && message.contains("these are 2 ("), "{message}");
    // A folder with one recording counts as that recording.
    std::fs::remove_file(folder.path("both/slow-sleep.etl")).unwrap();
    assert!(folder.answer("boot both").starts_with("The boot took 30.0 s."));
}

#[test]
fn logs_recorded_together_are_one_recording() {
    let folder = Folder::new();
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios/slow-boot.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let split_scenario = text.replacen("[recording]", "[recording]\nsplit = true", 1);
    let simulation = onoff_simulator::Scenario::from_toml(&split_scenario).unwrap().simulate().unwrap();
    assert_eq!(simulation.files.len(), 2);
    folder.file("kernel.etl", &simulation.files[0]).file("user.etl", &simulation.files[1]);
    let boot = folder.answer("boot kernel.etl user.etl");
    assert!(boot.starts_with("The boot took 30.0 s."), "{boot}");
    let [kernel_events, user_events, all_events] = ["kernel.etl", "user.etl", "kernel.etl user.etl"].map(|files| {
        let info: Value = serde_json::from_str(&folder.answer(&format!("info {files} --format json"))).unwrap();
        info["events"].as_u64().unwrap()
    });
    assert_eq!(kernel_events + user_events, all_events);
    let (text, code) = run(&folder, "summary . --format json");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &answer["recordings"]), (0, &Value::from(1)), "{text}");
    assert_eq!(answer["rows"][0]["subject"], "SoundShaper", "{text}");
}

#[test]
fn event_logs_have_a_row_for_each_boot_with_an_account() {
    use onoff_testkit::event_log::{LogRecord, LogValue, evtx};
    const SECOND: i64 = 1_000_000_000;
    /// 2024-11-15 14:28:34 UTC.
    const START_NS: i64 = 1_731_680_914 * SECOND;
    const GENERAL: &str = "Microsoft-Windows-Kernel-General";
    const DIAGNOSTICS: &str = "Microsoft-Windows-Diagnostics-Performance";

    let (mut system, mut accounts) = (Vec::new(), Vec::new());
    // The second of three boots has no account.
    for boot in 0..3 {
        let start_ns = START_NS + boot * 86_400 * SECOND;
        system.push(LogRecord::new("System", GENERAL, 12, start_ns).with("BuildVersion", 19_041));
        if boot != 1 {
            let wait_ms = u32::try_from(boot * 2_500).unwrap();
            let account =
                LogRecord::new(&format!("{DIAGNOSTICS}/Operational"), DIAGNOSTICS, 100, start_ns + 90 * SECOND);
            let values = [
                ("BootTime", 30_000),
                ("MainPathBootTime", 20_000),
                ("BootPostBootTime", 10_000),
                ("BootExplorerInitTime", 4_000),
                ("SessionInitStartTimeMS", 1_500),
                ("WinLogonStartTimeMS", 4_500),
                ("OtherLogonInitActivityDuration", 11_500),
                ("UserLogonWaitDuration", wait_ms),
            ];
            let account = account.with("BootStartTime", LogValue::Time(start_ns));
            accounts.push(values.into_iter().fold(account, |account, (name, value)| account.with(name, value)));
        }
    }
    let numbered = |records: Vec<LogRecord>| -> Vec<LogRecord> {
        (1..).zip(records).map(|(number, record)| LogRecord { number, ..record }).collect()
    };
    let folder = Folder::new();
    std::fs::create_dir(folder.path("logs")).unwrap();
    folder.file("logs/System.evtx", &evtx(&numbered(system)));
    folder.file(&format!("logs/{DIAGNOSTICS}%4Operational.evtx"), &evtx(&numbered(accounts)));
    // A pointer to a file that was not downloaded is reported, and is no row.
    folder.file("logs/Setup.evtx", b"version https://git-lfs.github.com/spec/v1\n");
    let (text, code) = run(&folder, "summary . --format json");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(code, 1, "{text}");
    let counts = ["recordings", "transitions", "unreadable", "boots_without_duration", "other_files"];
    assert_eq!(counts.map(|name| answer[name].as_u64().unwrap()), [1, 2, 1, 1, 0], "{text}");
    assert_eq!(answer["unreadable_logs"][0]["file"], "./logs/Setup.evtx");
    let rows = answer["rows"].as_array().unwrap();
    let cells = |row: &Value| {
        let texts = ["recording", "boot", "transition"].map(|name| row[name].as_str().unwrap().to_owned());
        (texts, row["duration_ns"].as_i64().unwrap() / SECOND, row["user_input_ns"].as_i64().unwrap() / 1_000_000)
    };
    let expected = |boot: &str, wait_ms| (["./logs", boot, "boot"].map(str::to_owned), 30, wait_ms);
    assert_eq!(
        rows.iter().map(cells).collect::<Vec<_>>(),
        [expected("20241115T142834Z", 0), expected("20241117T142834Z", 5_000)]
    );
    let phases = rows[1]["phases"].as_array().unwrap();
    let phases: Vec<_> = phases.iter().map(|phase| phase["duration_ns"].as_i64().unwrap() / 1_000_000).collect();
    assert_eq!(phases, [1_500, 3_000, 11_500, 4_000, 10_000]);
    let (text, _) = run(&folder, "summary .");
    assert!(text.starts_with("2 transitions in 1 recording.\n"), "{text}");
    assert!(text.contains("1 event log could not be read:\n  ./logs/Setup.evtx: unknown format"), "{text}");
    assert!(text.contains("Not listed: 1 boot of which Windows wrote no account."), "{text}");

    // The logs that can be read are one recording.
    assert!(folder.answer("boot logs").starts_with("The boot took 30.0 s, plus 5.00 s waiting"));

    // Without any account, the recording has one row that says so.
    std::fs::remove_file(folder.path(&format!("logs/{DIAGNOSTICS}%4Operational.evtx"))).unwrap();
    let (text, _) = run(&folder, "summary logs/System.evtx --format json");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["rows"][0]["error"], "no boot of which Windows wrote an account", "{text}");
    assert_eq!((&answer["transitions"], &answer["boots_without_duration"]), (&Value::from(0), &Value::from(3)));
}
