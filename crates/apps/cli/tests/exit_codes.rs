//! How the program behaves: exit codes, messages, pipes, colors.
#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::process::Stdio;

use crate::harness::Folder;

const SCENARIO: &str = "services-wes7.toml";

#[test]
fn unreadable_files_exit_with_1() {
    let folder = Folder::new();
    folder
        .file("empty.etl", b"")
        .file("text.etl", b"this is no recording, however it is called")
        .file("zero.etl", &[0; 4096]);
    for verb in ["boot", "shutdown", "shutdown", "info", "events", "processes", "disk", "files"] {
        let (code, message) = folder.failure(&format!("{verb} absent.etl"));
        assert_eq!(code, 1);
        assert!(message.starts_with("onoff: absent.etl: "), "{message}");

        let (code, message) = folder.failure(&format!("{verb} empty.etl"));
        assert_eq!(code, 1);
        assert!(message.contains("empty.etl: byte offset 0"), "{message}");

        let (code, message) = folder.failure(&format!("{verb} text.etl"));
        assert_eq!(code, 1);
        assert!(message.contains("text.etl: unknown format"), "{message}");

        let (code, message) = folder.failure(&format!("{verb} zero.etl"));
        assert_eq!(code, 1);
        assert!(message.contains("zero.etl: byte offset 0"), "{message}");

        let (code, message) = folder.failure(&format!("{verb} ."));
        assert_eq!(code, 1);
        assert!(message.starts_with("onoff: .: "), "{message}");
    }
}

#[test]
fn truncated_recording_is_read_or_reported() {
    let folder = Folder::boot(SCENARIO);
    let bytes = std::fs::read(folder.path("boot.etl")).unwrap();
    for length in [1, 71, 72, 73, 300, 1000, 65_535, 65_536, 70_000, bytes.len() / 2, bytes.len() - 1] {
        folder.file("cut.etl", &bytes[..length]);
        let output = folder.run("info cut.etl --format json");
        match output.status.code() {
            Some(0) => {
                let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_ne!(summary["losses"].as_array().unwrap().len(), 0, "truncated at {length}: no loss");
            }
            Some(1) => {
                let stderr = String::from_utf8(output.stderr).unwrap();
                assert!(stderr.starts_with("onoff: cut.etl: byte offset "), "truncated at {length}: {stderr}");
            }
            code => panic!("truncated at {length}: {code:?}"),
        }
    }
}

#[test]
fn missing_boot_exits_with_2() {
    use onoff_testkit::assemble::{EtlBuilder, Session};
    let folder = Folder::new();
    folder.file("idle.etl", &EtlBuilder::new(Session::windows_10(2)).finish());
    let (code, message) = folder.failure("boot idle.etl");
    assert_eq!(code, 2);
    assert!(message.starts_with("onoff: idle.etl: no boot in this recording "), "{message}");
    folder.answer("info idle.etl");
}

#[test]
fn usage_errors_exit_with_64() {
    let folder = Folder::new();
    for arguments in ["", "netboot", "boots x.etl", "boot x.etl --format yaml", "info x.etl --top many"] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments}");
        assert!(!output.stderr.is_empty(), "{arguments}");
    }
    let (code, message) = folder.failure("boot x.etl --csv pnp");
    assert_eq!(code, 64);
    assert!(message.contains("--format csv"), "{message}");
    let (code, message) = folder.failure("events x.etl --range 1s soon");
    assert_eq!(code, 64);
    assert!(message.contains("'soon' is not a time"), "{message}");
}

#[test]
fn unmatched_events_exit_with_2() {
    let folder = Folder::boot(SCENARIO);
    let output = folder.run("events boot.etl --process nobody.exe");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no event matches"));
}

#[test]
fn help_and_version_succeed() {
    let folder = Folder::new();
    for verb in [
        "",
        "boot",
        "shutdown",
        "suspend",
        "info",
        "events",
        "processes",
        "cpu",
        "interrupts",
        "disk",
        "files",
        "hardfaults",
        "services",
        "devices",
        "policy",
    ] {
        let help = folder.answer(&format!("{verb} --help"));
        let examples = if verb.is_empty() { "Getting started:" } else { "Examples:" };
        assert!(help.contains(examples) && help.contains("Exit codes:"), "{verb}: {help}");
    }
    // All builds write these formats.
    assert!(folder.answer("--help").contains("Built with Parquet, Arrow, MCP and the download of symbols."));
    assert_eq!(folder.answer("--version"), concat!("onoff ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[cfg(unix)]
#[test]
fn signal_removes_unfinished_output() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::boot(SCENARIO);
    folder.file("events.json", b"before");
    let unfinished = || {
        let entries = std::fs::read_dir(folder.path("")).unwrap();
        entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".unfinished")).count()
    };
    // A program that `nohup` or a background shell starts inherits that it ignores signals, and so do its children.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    let ignored = u64::from_str_radix(mask.trim(), 16).unwrap();
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        if ignored & (1 << (number - 1)) != 0 {
            println!("skipped {name}: this process ignores it");
            continue;
        }
        let mut child = folder.command("events boot.etl --format json -o events.json").spawn().unwrap();
        while unfinished() == 0 {
            assert_eq!(child.try_wait().unwrap(), None, "{name}: ended before the signal");
        }
        std::process::Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(number), "{name}");
        assert_eq!(unfinished(), 0, "{name}");
        assert_eq!(std::fs::read_to_string(folder.path("events.json")).unwrap(), "before", "{name}");
    }
}

#[test]
fn closed_pipe_is_not_a_failure() {
    let folder = Folder::boot(SCENARIO);
    for arguments in ["events boot.etl", "events boot.etl --format json", "boot boot.etl --format json"] {
        let mut child = folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 16]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments}");
    }
}

#[test]
fn exit_code_does_not_depend_on_reader() {
    let folder = Folder::boot("slow-boot.toml");
    folder.file("broken.etl", b"this is no recording");
    let exists = |name: &str| folder.path(name).exists();
    for (arguments, expected) in [
        ("diagnose boot.etl --fail-on 2s", 3),
        ("diagnose boot.etl --fail-on 1000s", 0),
        ("summary boot.etl broken.etl", 1),
        ("summary boot.etl broken.etl --format csv", 1),
        ("summary boot.etl", 0),
        ("boot boot.etl", 0),
        ("events boot.etl", 0),
        ("events boot.etl --format json", 0),
        ("processes boot.etl --format csv", 0),
        ("processes boot.etl --output /dev/stdout", 0),
        ("xperf -i boot.etl -a boot -a services -ao services.csv", 0),
        ("--help", 0),
    ] {
        if !cfg!(unix) && arguments.contains("/dev/") {
            continue;
        }
        let output = folder.run_with_closed_pipe(folder.command(arguments));
        assert_eq!(output.status.code(), Some(expected), "{arguments}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments}");
    }
    // The file of one action is replaced even if the reader of another action closes the pipe.
    assert!(exists("services.csv"));
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_output_fails() {
    let folder = Folder::boot(SCENARIO);
    for arguments in [
        "boot boot.etl",
        "events boot.etl",
        "processes boot.etl --format csv",
        "info boot.etl --format json",
        "processes boot.etl --output /dev/full",
        "xperf -i boot.etl -a boot",
        "--help",
        "--version",
    ] {
        let full_device = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = folder.command(arguments).stdout(full_device).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("cannot write the output"), "{arguments}: {stderr}");
    }
}

#[test]
fn color_only_on_terminal_or_request() {
    let folder = Folder::boot(SCENARIO);
    let escape = '\u{1b}';
    assert!(!folder.answer("boot boot.etl").contains(escape));
    assert!(!folder.answer("boot boot.etl --color never").contains(escape));
    let colored = folder.answer("boot boot.etl --color always");
    assert!(colored.contains(escape));
    assert!(!folder.answer("boot boot.etl --format json --color always").contains(escape));
    let output = folder.command("boot boot.etl").env("NO_COLOR", "1").output().unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains(escape));
}

#[test]
fn failure_leaves_output_file_unchanged() {
    let folder = Folder::boot(SCENARIO);
    assert_eq!(folder.answer("boot boot.etl -o answer.txt"), "");
    let original = std::fs::read_to_string(folder.path("answer.txt")).unwrap();
    assert_eq!(original, folder.answer("boot boot.etl"));
    folder.failure("boot absent.etl -o answer.txt");
    assert_eq!(std::fs::read_to_string(folder.path("answer.txt")).unwrap(), original);
    let (code, message) = folder.failure("info boot.etl -o no/such/folder/answer.txt");
    assert_eq!(code, 1);
    assert!(message.contains("no/such/folder/answer.txt: cannot write the output"), "{message}");
}

#[test]
fn never_overwrites_input() {
    let folder = Folder::boot(SCENARIO);
    let original = std::fs::read(folder.path("boot.etl")).unwrap();
    std::fs::hard_link(folder.path("boot.etl"), folder.path("hard.etl")).unwrap();
    let mut names = vec!["boot.etl", "./boot.etl", "hard.etl"];
    if cfg!(unix) {
        #[cfg(unix)]
        std::os::unix::fs::symlink("hard.etl", folder.path("soft.etl")).unwrap();
        names.push("soft.etl");
    }
    for name in names {
        for arguments in [
            format!("boot boot.etl -o {name}"),
            format!("boot boot.etl --format json -o {name}"),
            format!("boot absent.etl --firmware boot.etl -o {name}"),
            format!("shutdown boot.etl -o {name}"),
            format!("suspend boot.etl -o {name}"),
            format!("diagnose boot.etl -o {name}"),
            format!("info boot.etl -o {name}"),
            format!("events boot.etl -o {name}"),
            format!("events . -o {name}"),
            format!("processes boot.etl -o {name}"),
            format!("disk boot.etl --format csv -o {name}"),
            format!("why boot.etl --format folded -o {name}"),
            format!("netboot boot.etl --format svg -o {name}"),
            format!("firmware absent.bin --compare boot.etl -o {name}"),
            format!("compare --baseline boot.etl --candidate absent.etl -o {name}"),
            format!("compare --baseline absent.etl --candidate absent.etl+boot.etl -o {name}"),
            format!("gate --baseline boot.etl --save-baseline {name}"),
            format!("gate --baseline . --save-baseline {name}"),
            format!("xperf -i boot.etl -o {name} -a dumper"),
            format!("xperf -i boot.etl -a boot -ao {name}"),
            format!("xperf -i boot.etl -a boot -ae {name}"),
        ] {
            let (code, message) = folder.failure(&arguments);
            assert_eq!(code, 64, "{arguments}: {message}");
            assert!(message.contains("write the output to another file"), "{arguments}: {message}");
            assert_eq!(std::fs::read(folder.path("boot.etl")).unwrap(), original, "{arguments}");
        }
    }
    // Writing into the input folder, or over a file that is not an input, is allowed.
    folder.file("answer.txt", b"before");
    folder.answer("boot boot.etl -o answer.txt");
    assert_ne!(std::fs::read_to_string(folder.path("answer.txt")).unwrap(), "before");
}

#[cfg(unix)]
#[test]
fn rejects_stdout_redirected_to_input() {
    let folder = Folder::boot(SCENARIO);
    let original = std::fs::read(folder.path("boot.etl")).unwrap();
    let append = std::fs::File::options().append(true).open(folder.path("boot.etl")).unwrap();
    let output = folder.command("events boot.etl").stdout(append).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(64), "{message}");
    assert_eq!(message, "onoff: standard output is the input boot.etl; redirect it to another file\n");
    assert_eq!(std::fs::read(folder.path("boot.etl")).unwrap(), original);
}

#[cfg(unix)]
#[test]
fn file_truncated_during_read_fails_cleanly() {
    use onoff_testkit::assemble::{EtlBuilder, Session};
    use onoff_testkit::events::kernel;

    let folder = Folder::new();
    let session = Session::windows_10(1);
    let start = session.start_ticks;
    let mut builder = EtlBuilder::new(session);
    for number in 0..40_000 {
        builder.push(0, &kernel::mark(start + number, "one of many marks"));
    }
    let bytes = builder.finish();
    folder.file("growing.etl", &bytes);
    let child = folder.command("events growing.etl").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The program blocks on the full pipe while the file is truncated.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    std::fs::File::options().write(true).open(folder.path("growing.etl")).unwrap().set_len(4096).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("growing.etl: the file was truncated while it was read"), "{message}");
}

#[cfg(target_os = "linux")]
#[test]
fn rejects_endless_device() {
    let folder = Folder::new();
    for verb in ["boot", "info", "events", "netboot"] {
        let (code, message) = folder.failure(&format!("{verb} /dev/zero"));
        assert_eq!(
            (code, message.as_str()),
            (1, "onoff: /dev/zero: not a recording: the first 65536 bytes are zeros\n")
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn sleep_without_wake_timer_needs_confirmation() {
    let folder = Folder::new();
    let (code, message) = folder.failure("record suspend");
    assert_eq!(code, 2);
    assert!(
        message.contains(
            "no wake-up timer is set, so this computer has to be woken manually; add '--wake-after SECONDS', or '--yes'"
        ),
        "{message}"
    );
}

#[test]
fn rejects_implausible_processor_count() {
    let folder = Folder::boot(SCENARIO);
    let original = std::fs::read(folder.path("boot.etl")).unwrap();
    let offset = 0x48 + 32 + 0x0C;
    for (processor_count, actions) in
        [(1_u32 << 24, "-a cswitch -a dpcisr -a profile -a image"), (u32::MAX, "-a dpcisr")]
    {
        let mut bytes = original.clone();
        bytes[offset..offset + 4].copy_from_slice(&processor_count.to_le_bytes());
        // The same value in place of a pointer.
        bytes[offset + 0x20..offset + 0x24].copy_from_slice(&processor_count.to_le_bytes());
        folder.file("boot.etl", &bytes);
        let started = std::time::Instant::now();
        let output = folder.run(&format!("xperf -i boot.etl -tle -o answer.txt {actions}"));
        assert!(matches!(output.status.code(), Some(0 | 2)), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(started.elapsed().as_secs() < 60);
        assert!(std::fs::metadata(folder.path("answer.txt")).is_ok_and(|metadata| metadata.len() < 16 << 20));
        let info = folder.answer("info boot.etl");
        assert!(info.contains("processor count impossible"), "{info}");
    }
}

#[test]
fn caches_unpacked_recording() {
    use std::io::Write;

    let folder = Folder::boot(SCENARIO);
    let recording = std::fs::read(folder.path("boot.etl")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&folder.answer("info boot.etl --format json")).unwrap();
    // Recorders that preallocate a file leave zeros after the data.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&recording).unwrap();
    for _ in 0..66 {
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
    }
    folder.file("boot.etl.gz", &encoder.finish().unwrap());
    let cache_folder = folder.path("cache");
    let info = |cache: &std::path::Path| {
        let output = folder.command("info boot.etl.gz --format json").env("ONOFF_CACHE", cache).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let first_info = info(&cache_folder);
    assert_eq!(first_info["providers"], expected["providers"]);
    let file_count = || std::fs::read_dir(&cache_folder).map_or(0, Iterator::count);
    assert_eq!(file_count(), 1);
    assert_eq!(info(&cache_folder), first_info);
    assert_eq!(file_count(), 1);
    assert_eq!(info(std::path::Path::new("off")), first_info);
    // A small recording stays in memory and leaves no cache file.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&recording).unwrap();
    folder.file("boot.etl.gz", &encoder.finish().unwrap());
    info(&cache_folder);
    assert_eq!(file_count(), 1);
}
