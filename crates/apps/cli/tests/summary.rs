//! `onoff summary`, and other verbs with several recordings.

use serde_json::Value;

use crate::harness::Folder;

fn sample(folder: &Folder, name: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples").join(name);
    folder.file(name, &std::fs::read(path).unwrap());
}

/// Returns stdout and the exit code.
fn run(folder: &Folder, arguments: &str) -> (String, i32) {
    let output = folder.run(arguments);
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

#[test]
fn rows_for_transitions_and_unreadable_files() {
    let folder = Folder::new();
    for name in ["slow-boot.etl", "slow-shutdown.etl", "slow-sleep.etl"] {
        sample(&folder, name);
    }
    folder.file("notes.txt", b"Nothing that anybody recorded.\n");
    folder.file("empty.etl", b"");
    let (text, code) = run(&folder, "summary . --format json");
    let answer: Value = serde_json::from_str(&text).unwrap();
    // The empty file is a row with an error; the notes are only counted.
    assert_eq!(code, 1, "{text}");
    assert_eq!((&answer["recordings"], &answer["transitions"]), (&Value::from(4), &Value::from(3)));
    assert_eq!((&answer["unreadable"], &answer["other_files"]), (&Value::from(1), &Value::from(1)));
    assert_eq!(answer["rows"][3]["recording"], "./empty.etl", "{text}");
    assert!(answer["rows"][3]["error"].as_str().unwrap().contains("empty"), "{text}");
    // The slow phase and the most expensive finding, as injected by the scenarios.
    for (row, transition, phase, subject, seconds) in [
        (0, "boot", "WinLogonInit", "SoundShaper", 6.08),
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

    // Continues after a damaged recording; a named file that is not a recording counts as damaged.
    let whole = std::fs::read(folder.path("slow-boot.etl")).unwrap();
    let mut broken = whole[..4096].to_vec();
    broken[0x48..0x60].fill(0xff);
    folder.file("slow-broken.etl", &broken);
    let (text, code) = run(&folder, "summary slow-boot.etl slow-broken.etl notes.txt --format csv");
    assert_eq!(code, 1, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[1].starts_with("slow-boot.etl,") && lines[1].contains("SoundShaper"), "{text}");
    assert!(lines[2].starts_with("slow-broken.etl,") && lines[3].starts_with("notes.txt,"), "{text}");
    assert!(lines[3].contains("unknown format"), "{text}");

    // Only the longest.
    let (text, _) = run(&folder, "summary slow-sleep.etl slow-boot.etl --sort took --top 1");
    assert!(text.contains("slow-boot.etl") && !text.contains("slow-sleep.etl"), "{text}");
    assert!(text.starts_with("2 transitions in 2 recordings.\n"), "{text}");
}

#[test]
fn rejects_recordings_of_two_boots() {
    let folder = Folder::new();
    sample(&folder, "slow-boot.etl");
    sample(&folder, "slow-sleep.etl");
    for verb in ["boot", "suspend", "diagnose", "info", "services", "why"] {
        let (code, message) = folder.refusal(&format!("{verb} slow-boot.etl slow-sleep.etl"));
        assert_eq!(code, 64, "{message}");
        assert!(message.contains("these are 2 (slow-boot.etl, slow-sleep.etl)"), "{message}");
        assert!(message.contains("'onoff summary'"), "{message}");
    }
    // The same with a folder.
    std::fs::create_dir(folder.path("both")).unwrap();
    for name in ["slow-boot.etl", "slow-sleep.etl"] {
        std::fs::rename(folder.path(name), folder.path(&format!("both/{name}"))).unwrap();
    }
    let (code, message) = folder.refusal("boot both");
    assert!(code == 64 && message.contains("these are 2 ("), "{message}");
    // A folder with one recording is that recording.
    std::fs::remove_file(folder.path("both/slow-sleep.etl")).unwrap();
    assert!(folder.answer("boot both").starts_with("The boot took 30.0 s."));
}

#[test]
fn logs_recorded_together_are_one_recording() {
    let folder = Folder::new();
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios/slow-boot.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let two = text.replacen("[recording]", "[recording]\nsplit = true", 1);
    let simulated = onoff_simulator::Scenario::from_toml(&two).unwrap().simulate().unwrap();
    assert_eq!(simulated.files.len(), 2);
    folder.file("kernel.etl", &simulated.files[0]).file("user.etl", &simulated.files[1]);
    let whole = folder.answer("boot kernel.etl user.etl");
    assert!(whole.starts_with("The boot took 30.0 s."), "{whole}");
    let [kernel, user, both] = ["kernel.etl", "user.etl", "kernel.etl user.etl"].map(|files| {
        let info: Value = serde_json::from_str(&folder.answer(&format!("info {files} --format json"))).unwrap();
        info["events"].as_u64().unwrap()
    });
    assert_eq!(kernel + user, both);
    let (text, code) = run(&folder, "summary . --format json");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &answer["recordings"]), (0, &Value::from(1)), "{text}");
    assert_eq!(answer["rows"][0]["subject"], "SoundShaper", "{text}");
}
