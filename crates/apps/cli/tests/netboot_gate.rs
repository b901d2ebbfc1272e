//! `onoff gate` on captures of network boots: outcomes, maxima, the parts of the time, and saved baselines.

use onoff_testkit::capture::{CaptureBuilder, DhcpFields};
use serde_json::Value;

use crate::harness::Folder;

/// Captures a boot at the server's port; the client waits `pause_ms` between two files.
fn loaded(pause_ms: u64) -> Vec<u8> {
    CaptureBuilder::default()
        .lease(&DhcpFields::default())
        .arp_for_client(60_000)
        .arp_for_server(60_000)
        .file("boot.efi", 200, b"")
        .wait_ms(pause_ms)
        .file("boot.wim", 900, b"")
        .wait_ms(900)
        .os_lease()
        .bytes()
}

fn refused() -> Vec<u8> {
    let fields = DhcpFields::default();
    CaptureBuilder::default().lease(&fields).request("boot.efi", &[]).error(false, 1, "no").wait_ms(6_000).bytes()
}

fn cut() -> Vec<u8> {
    CaptureBuilder::default().lease(&DhcpFields::default()).request("boot.efi", &[]).blocks(1..20, b"").bytes()
}

/// Runs the gate; `~` in arguments stands for a blank.
fn gate(folder: &Folder, arguments: &str) -> (i32, String) {
    let mut command = folder.command("gate");
    command.args(arguments.split_whitespace().map(|word| word.replace('~', " ")));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), text)
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("good.pcapng", &loaded(100)).file("slow.pcapng", &loaded(4_000));
    folder.file("refused.pcapng", &refused()).file("cut.pcapng", &cut());
    folder
}

#[test]
fn expected_outcome_decides_exit_code() {
    let folder = folder();
    for (arguments, code, part) in [
        ("good.pcapng --expect loaded", 0, "Pass: 1 limit met."),
        ("refused.pcapng --expect loaded", 1, "failed: the server refused the file boot.efi"),
        ("refused.pcapng --expect failed", 0, "Pass"),
        ("good.pcapng --expect failed", 1, "loaded"),
        ("cut.pcapng --expect loaded", 2, "No verdict"),
        ("--candidate good.pcapng refused.pcapng cut.pcapng --expect loaded", 1, "refused.pcapng"),
    ] {
        let (actual, text) = gate(&folder, arguments);
        assert_eq!(actual, code, "{arguments}: {text}");
        assert!(text.contains(part), "{arguments}: {text}");
    }
}

#[test]
fn maxima_need_no_baseline_and_a_loaded_boot() {
    let folder = folder();
    for (arguments, code, part) in [
        ("good.pcapng --max netboot.total~4s", 0, "Pass"),
        ("slow.pcapng --max netboot.total~4s", 1, "netboot.total"),
        ("slow.pcapng --max netboot.server~1s --max netboot.client~2s", 1, "1 of 2 limits exceeded"),
        // A boot that failed early is fast, which is no success.
        ("refused.pcapng --max netboot.total~20s", 2, "another outcome than loaded"),
        ("refused.pcapng --expect failed --max netboot.total~20s", 0, "Pass: 2 limits met."),
        ("good.pcapng --max netboot.absent~1s", 2, "not measured in this run"),
        ("good.pcapng --max netboot.total~5MiB", 2, "must be a time"),
        ("good.pcapng --max netboot.total~5%", 64, "not a percentage"),
        ("good.pcapng", 64, "--expect"),
        ("good.pcapng --limit netboot.total~5%", 64, "two recordings"),
    ] {
        let (actual, text) = gate(&folder, arguments);
        assert_eq!(actual, code, "{arguments}: {text}");
        assert!(text.contains(part), "{arguments}: {text}");
    }
}

/// Without a measured round trip, the client's turns at the server's port include the network.
#[test]
fn parts_that_include_the_network_are_not_measured() {
    let folder = Folder::new();
    let lease = || CaptureBuilder::default().lease(&DhcpFields::default());
    folder.file("without.pcapng", &lease().file("boot.efi", 900, b"").wait_ms(900).os_lease().bytes());
    let (code, text) = gate(&folder, "without.pcapng --max netboot.network~1s --max netboot.timeouts~1s");
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("not measured in this run"), "{text}");
    assert_eq!(gate(&folder, "without.pcapng --max netboot.timeouts~1s").0, 0);
}

#[test]
fn saved_baseline_of_network_boots() {
    let folder = Folder::new();
    for run in 0..3 {
        folder.file(&format!("old{run}.pcapng"), &loaded(100 + run));
        folder.file(&format!("same{run}.pcapng"), &loaded(101 + run));
        folder.file(&format!("slow{run}.pcapng"), &loaded(2_000 + run));
    }
    let runs = |name: &str| (0..3).map(|run| format!("{name}{run}.pcapng ")).collect::<String>();
    let (code, text) = gate(&folder, &format!("--baseline {} --save-baseline pxe.json", runs("old")));
    assert_eq!((code, text.as_str()), (0, "pxe.json: 3 runs saved\n"));
    for (name, code, verdict) in [("same", 0, "pass"), ("slow", 1, "regression")] {
        let arguments = format!(
            "--baseline pxe.json --candidate {} --expect loaded --limit netboot.client~10% --limit netboot.timeouts~1s",
            runs(name)
        );
        let (actual, text) = gate(&folder, &arguments);
        assert_eq!(actual, code, "{name}: {text}");
        let (_, json) = gate(&folder, &format!("{arguments} --format json"));
        let report: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((report["verdict"].as_str(), report["transition"].as_str()), (Some(verdict), Some("netboot")));
        let outcome = &report["limits"][2];
        assert_eq!(outcome["limit"], "outcome loaded");
        assert_eq!(outcome["verdict"], "pass");
        assert_eq!(outcome["checks"].as_array().unwrap().len(), 3);
        assert!(outcome["checks"][0]["run"].as_str().unwrap().ends_with(".pcapng"));
        assert!(report["limits"][0]["checks"][0]["run"].is_null());
    }
    // Other tools name the run that failed.
    folder.file("refused.pcapng", &refused());
    for format in ["junit", "sarif", "github", "markdown"] {
        let (code, text) = gate(&folder, &format!("refused.pcapng --expect loaded --format {format}"));
        assert_eq!(code, 1, "{format}: {text}");
        assert!(text.contains("refused.pcapng") && text.contains("refused the file"), "{format}: {text}");
    }
}

#[test]
fn other_recordings_have_no_outcome() {
    let folder = Folder::boot("write-filter-on.toml");
    let (code, text) = gate(&folder, "boot.etl --expect loaded");
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("only network boots have an outcome"), "{text}");
    assert_eq!(gate(&folder, "boot.etl --max boot.total~10min").0, 0);
    assert_eq!(gate(&folder, "boot.etl --max boot.total~1s").0, 1);
}
