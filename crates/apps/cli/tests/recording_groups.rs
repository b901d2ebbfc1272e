//! All verbs agree on which files form one recording.

use serde_json::Value;

use crate::harness::{Folder, LINUX_BOOT};

fn json(folder: &Folder, arguments: &str) -> (Value, i32) {
    let output = folder.run(arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    (serde_json::from_str(&text).unwrap_or(Value::Null), output.status.code().unwrap())
}

fn write(folder: &Folder, name: &str, bytes: &[u8]) {
    let path = folder.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Simulates a boot with two unmerged logs.
fn two_logs() -> Vec<Vec<u8>> {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios/slow-boot.toml");
    let text = std::fs::read_to_string(path).unwrap().replacen("[recording]", "[recording]\nsplit = true", 1);
    onoff_simulator::Scenario::from_toml(&text).unwrap().simulate().unwrap().files
}

/// The kernel log of one boot.
fn kernel_log(host: &str, boot: u32) -> String {
    let line =
        |second: u32| format!("[{second:5}.{:06}] line {second}\n", (second * 7919 + boot * 104_729) % 1_000_000);
    let lines: String = (3..40).map(line).collect();
    format!(
        "[    0.000000] Linux version 6.1.0 (gcc) #1 SMP\n[    {boot}.500000] Run /sbin/init as init process\n{lines}\
         [   50.000000] systemd[1]: Hostname set to <{host}>.\n"
    )
}

#[test]
fn kernel_and_user_log_are_one_recording() {
    let folder = Folder::new();
    let logs = two_logs();
    folder.file("kernel.etl", &logs[0]).file("user.etl", &logs[1]);
    folder.answer("view kernel.etl user.etl -o page.html");
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains("kernel.etl+user.etl"), "one recording of both logs");
    // As one run, the recording is excluded with a reason. As two runs, both would be.
    let (_, message) = folder.failure("compare --baseline kernel.etl user.etl --candidate kernel.etl user.etl");
    assert!(message.contains("kernel.etl+user.etl ("), "{message}");
    assert!(!message.contains(": user.etl (") && !message.contains(", user.etl ("), "{message}");
}

#[test]
fn folder_with_two_boots_is_two_recordings() {
    let folder = Folder::new();
    for (name, host, boot) in [("logs/a.txt", "web1", 1), ("logs/b.txt", "web2", 2)] {
        write(&folder, name, kernel_log(host, boot).as_bytes());
    }
    let (answer, code) = json(&folder, "summary logs --format json");
    assert_eq!(
        (code, &answer["recordings"], &answer["transitions"]),
        (0, &Value::from(2), &Value::from(2)),
        "{answer:#}"
    );
    folder.answer("view logs -o page.html");
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains("a.txt") && page.contains("b.txt") && !page.contains("a.txt+b.txt"));
    for verb in ["boot", "info", "suspend", "services", "export --format csv -o out"] {
        let (name, options) = verb.split_once(' ').unwrap_or((verb, ""));
        let (code, message) = folder.failure(&format!("{name} logs {options}"));
        assert_eq!(code, 64, "{message}");
        assert!(message.contains("these are 2 ("), "{message}");
    }
}

#[test]
fn no_file_in_folder_is_ignored() {
    let folder = Folder::new();
    write(&folder, "runs/good.txt", kernel_log("web1", 1).as_bytes());
    write(&folder, "runs/a/b/c/d/e/f/g/h/i/j/deep.txt", kernel_log("web2", 2).as_bytes());
    write(&folder, "runs/empty/boot.etl", b"");
    write(&folder, "runs/damaged/boot.etl", b"no longer a log");
    write(&folder, "runs/notes/notes.md", b"not a recording");
    let (answer, code) = json(&folder, "summary runs --format json");
    assert_eq!(code, 1, "{answer:#}");
    let recordings = |is_readable: bool| -> Vec<String> {
        let rows = answer["rows"].as_array().unwrap().iter();
        let mut names: Vec<String> = rows
            .filter(|row| (row["error"] == "") == is_readable)
            .map(|row| row["recording"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(recordings(false), ["runs/damaged/boot.etl", "runs/empty/boot.etl"], "{answer:#}");
    assert_eq!(recordings(true).len(), 2, "{answer:#}");
    // With a log of another computer in a subfolder, the folder is not a single recording.
    assert!(recordings(true).iter().any(|name| name.ends_with("deep.txt")), "{answer:#}");
}

#[test]
fn unpacked_sosreport_equals_packed() {
    let folder = Folder::new();
    let [(_, manager), (_, units), _] = LINUX_BOOT;
    let members: Vec<(&str, &[u8])> = vec![
        ("sosreport-host/version.txt", b"sosreport: 4.5\n"),
        ("sosreport-host/sos_commands/systemd/systemctl_show_--all", manager.as_bytes()),
        ("sosreport-host/sos_commands/systemd/systemctl_show_units", units.as_bytes()),
        ("sosreport-host/sos_commands/host/uname", b"Linux host 6.1.0 #1 SMP x86_64 GNU/Linux\n"),
        ("sosreport-host/sos_commands/pci/lspci_-nnvv", b"00:00.0 Host bridge\n"),
        ("sosreport-host/sos_commands/boot/ls_-lanR_.boot", b""),
        ("sosreport-host/proc/meminfo", b"MemTotal:        1969152 kB\n"),
        ("sosreport-host/etc/os-release", b"PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\n"),
    ];
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in &members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *bytes).unwrap();
        write(&folder, name, bytes);
    }
    folder.file("sosreport-host.tar", &tar.into_inner().unwrap());
    let answer = |path: &str| {
        let mut answer: Value = serde_json::from_str(&folder.answer(&format!("boot {path} --format json"))).unwrap();
        // Remove the provenance.
        answer.as_object_mut().unwrap().remove("onoff");
        answer
    };
    let (packed, unpacked) = (answer("sosreport-host.tar"), answer("sosreport-host"));
    let mut differing_keys: Vec<&String> = packed
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, value)| unpacked[*key] != **value)
        .map(|(key, _)| key)
        .collect();
    // Losses include file paths.
    differing_keys.retain(|key| *key != "losses");
    assert!(differing_keys.is_empty(), "{differing_keys:?}");
    let loss_counts = |answer: &Value| -> Vec<(String, u64)> {
        let losses = answer["losses"].as_array().cloned().unwrap_or_default();
        losses
            .iter()
            .map(|loss| (loss["counter"].as_str().unwrap().to_owned(), loss["count"].as_u64().unwrap()))
            .collect()
    };
    assert_eq!(loss_counts(&packed), loss_counts(&unpacked));
    let (summary, code) = json(&folder, "summary sosreport-host --format json");
    assert_eq!((code, &summary["recordings"]), (0, &Value::from(1)), "{summary:#}");
}
