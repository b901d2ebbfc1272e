//! Paths of modules have drive letters in every action, wherever the recording maps them.

use onoff_testkit::assemble::{ClassHeader, EtlBuilder, Payload, Record, Session};
use onoff_testkit::events::kernel::{Image, LifetimeEvent};

use crate::dumper::run_actions;

const SYSTEM_CONFIG_EX: &str = "9b79ee91-b5fd-41c0-a243-4248e266e9d0";

const IMAGES: [&str; 5] = [
    r"\SystemRoot\system32\ntoskrnl.exe",
    r"\Device\HarddiskVolume3\Windows\System32\ntdll.dll",
    r"\Device\Mup\server\share\tool.dll",
    // Decoys: another volume whose name starts alike, and a volume without a letter.
    r"\Device\HarddiskVolume30\plugin.dll",
    r"\Device\HarddiskVolume1\bootmgr.dll",
];

/// The mappings are at the end, as recorders write them.
fn recording(mappings: &[(&str, &str)]) -> Vec<u8> {
    let session = Session::windows_10(1);
    let start = session.start_ticks;
    let mut builder = EtlBuilder::new(session);
    for (path, base) in IMAGES.into_iter().zip((1_u64..).map(|number| number << 20)) {
        let image = Image { process: 0, base, size: 0x1000, path, time_stamp: 7 };
        builder.push(0, &image.record(LifetimeEvent::Start, start + 10, 8, 4));
    }
    for (kernel, drive) in mappings {
        let header = ClassHeader { class: SYSTEM_CONFIG_EX.parse().unwrap(), opcode: 35, ..ClassHeader::default() };
        builder.push(0, &Record::full(header, start + 100, Payload::wide().text(kernel).text(drive)));
    }
    builder.finish()
}

/// Returns the paths in quotes in the rows of an action.
fn paths(recording: &[u8], action: &str) -> Vec<String> {
    let text = run_actions(recording, action);
    let rows = text.lines().filter(|line| line.contains(".exe\"") || line.contains(".dll\""));
    rows.filter_map(|line| Some(line.rsplit('"').nth(1)?.to_owned())).collect()
}

const ACTIONS: [&str; 2] = ["-a image", "-a dumper -provider {2cb15d1d-5fc1-11d2-abe1-00a0c911f518}"];

#[test]
fn mapped_modules_have_drive_letters() {
    let mappings = [
        (r"\??\", ""),
        (r"\SystemRoot\", r"C:\Windows\"),
        (r"\Device\HarddiskVolume3\", r"C:\"),
        (r"\Device\Mup\", r"\\"),
    ];
    let expected = [
        r"C:\Windows\system32\ntoskrnl.exe",
        r"C:\Windows\System32\ntdll.dll",
        r"\\server\share\tool.dll",
        IMAGES[3],
        IMAGES[4],
    ];
    let recording = recording(&mappings);
    for action in ACTIONS {
        assert_eq!(paths(&recording, action), expected, "{action}");
    }
}

#[test]
fn modules_keep_their_paths_without_mappings() {
    let recording = recording(&[]);
    for action in ACTIONS {
        assert_eq!(paths(&recording, action), IMAGES, "{action}");
    }
}
