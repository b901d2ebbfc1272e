//! `onoff xperf` with command lines of scripts written for xperf.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::harness::Folder;

/// A boot with services only.
const PAPER: &str = "services-wes7.toml";
/// A boot with everything.
const SLOW: &str = "slow-boot.toml";

#[test]
fn xperf_output_matches_verbs() {
    let folder = Folder::boot(SLOW);
    assert_eq!(folder.answer("xperf -i boot.etl -a services"), folder.answer("boot boot.etl --format csv"));
    assert_eq!(folder.answer("xperf -i boot.etl -a pnp"), folder.answer("boot boot.etl --format csv --csv pnp"));
    // xperf has a single header block and Windows line endings; the verb prints column headers as needed.
    let rows = |dump: String| -> Vec<String> {
        let mut in_header = false;
        let is_row = |line: &&str| {
            in_header |= *line == "BeginHeader";
            let is_row = !in_header;
            in_header &= *line != "EndHeader";
            is_row
        };
        dump.lines().filter(is_row).map(str::to_owned).collect()
    };
    let dump = rows(folder.answer("xperf -i boot.etl -a dumper -range 8s 9s"));
    assert!(dump.len() > 100);
    assert_eq!(dump, rows(folder.answer("events boot.etl --range 8s 9s")));
    assert_eq!(
        folder.answer("xperf -i boot.etl -a boot -minIntervalToShow 0"),
        folder.answer("boot boot.etl --format xml")
    );
}

#[test]
fn range_accepts_phase_name() {
    let (folder, truth) = Folder::boot_and_truth(SLOW);
    let phase = truth.phases.iter().find(|phase| phase.name == "WinLogonInit").unwrap();
    let by_times = format!("{}ns {}ns", phase.start_ns, phase.end_ns);
    let run =
        |range: &str| folder.run(&format!("xperf -i boot.etl -a dumper -range {range} -a process -range {range}"));
    let by_name = run("winlogoninit");
    let stderr = String::from_utf8(by_name.stderr.clone()).unwrap();
    assert!(stderr.starts_with("onoff: WinLogonInit of the boot: 13.5 s to 22.7 s\n"), "{stderr}");
    assert!(by_name.stdout.len() > 1_000);
    assert_eq!(by_name.stdout, run(&by_times).stdout);

    let error = folder.run("xperf -i boot.etl -a dumper -range Logon");
    assert_eq!(error.status.code(), Some(2));
    let stderr = String::from_utf8(error.stderr).unwrap();
    assert!(stderr.starts_with("onoff: -range Logon: no such phase; this recording has PreSMSS, SMSSInit"), "{stderr}");
}

#[test]
fn boot_options_omit_sections() {
    let folder = Folder::boot(SLOW);
    folder.file("expected.txt", b"\xef\xbb\xbfSMSS.exe\r\n\r\ncsrss.exe\r\n");
    let full = folder.answer("xperf -i boot.etl -a boot");
    let reduced = folder
        .answer("xperf -i boot.etl -a boot -minCPUToShow 50 -maxFilesToShow 0 -expectedProcessesFile expected.txt");
    let count = |document: &str, element: &str| document.matches(&format!("<{element} ")).count();
    assert!(count(&full, "perProcessCPUUsage") > count(&reduced, "perProcessCPUUsage"));
    // Idle is never hidden: it appears in every interval.
    assert!(count(&reduced, "perProcessCPUUsage") >= count(&reduced, "interval"));
    assert!(count(&full, "file") > 0);
    assert_eq!(count(&reduced, "extension"), 0);
    // Files that were read ahead are not omitted.
    let read_ahead = reduced.matches("<file name=\"Unknown (0x0)\"").count();
    assert_eq!(count(&reduced, "file"), read_ahead);
    let expected_processes = |document: &str| -> usize {
        let group = document.split_once("<expectedProcesses>").unwrap().1;
        count(group.split_once("</expectedProcesses>").unwrap().0, "process")
    };
    assert_eq!(expected_processes(&full), 2);
    assert!(expected_processes(&reduced) > 2);
    assert_eq!(count(&full, "process"), count(&reduced, "process"));
}

#[test]
fn range_rows_match_full_dump() {
    let folder = Folder::boot(PAPER);
    let rows = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let full = rows(&folder.answer("xperf -i boot.etl -a services"));
    let in_range = rows(&folder.answer("xperf -i boot.etl -a services -range 9250ms 9300ms"));
    // Services in progress between 9250 and 9300 ms: in the paper, they started earlier and ended later.
    let names: Vec<&str> = in_range[3..].iter().map(|row| row.split(", ").nth(1).unwrap()).collect();
    assert_eq!(names, ["DcomLaunch", "RpcEptMapper"]);
    assert!(in_range.iter().all(|row| full.contains(row)));
}

#[test]
fn lists_long_service_parts_on_request() {
    let folder = Folder::boot(PAPER);
    let text = folder.answer("xperf -i boot.etl -a services -poiThreshold_ContainerInit 100ms");
    let points: Vec<&str> = text.lines().filter(|line| line.starts_with("PointOfInterest")).collect();
    // The two checkpoints over 100 ms in the paper.
    assert_eq!(points.len(), 3, "{points:?}");
    assert!(points[1].starts_with("PointOfInterest, PlugPlay, ContainerInit, 12"), "{points:?}");
    assert!(points[2].starts_with("PointOfInterest, eventlog, ContainerInit, 21"), "{points:?}");
}

#[test]
fn failing_action_does_not_affect_others() {
    let folder = Folder::boot(PAPER);
    folder.file("shutdown.xml", b"before");
    let output =
        folder.run("xperf -i boot.etl -a shutdown -ao shutdown.xml -ae errors.txt -a services -ao services.csv");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("shutdown.xml"), "before");
    assert!(read("errors.txt").starts_with("-a shutdown: no shutdown in this recording"));
    assert!(read("services.csv").starts_with("AutoStart, "));
}

#[test]
fn missing_data_exits_with_2() {
    let folder = Folder::boot(PAPER);
    let output = folder.run("xperf -i boot.etl -a dumper -provider Nobody");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), "onoff: -a dumper: no event matches\n"));
    assert!(output.stdout.starts_with(b"BeginHeader\r\n"));
    let (code, stderr) = folder.failure("xperf -i none.etl -a boot");
    assert_eq!(code, 1);
    assert!(stderr.starts_with("onoff: none.etl: "), "{stderr}");
    let (code, stderr) = folder.failure("xperf -i boot.etl -o no/such/folder.xml -a boot");
    assert_eq!(code, 1);
    assert!(stderr.contains("no/such/folder.xml"), "{stderr}");
}

#[test]
fn rejects_lost_events_without_tle() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("etl") else {
        return;
    };
    let folder = Folder::new();
    let mut lossy = 0;
    for entry in std::fs::read_dir(samples).unwrap() {
        let path = entry.unwrap().path();
        let path = path.to_str().unwrap();
        if !path.ends_with(".etl") {
            continue;
        }
        let output = folder.run(&format!("xperf -i {path} -quiet -a dumper"));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if stderr.contains("the recorder lost ") {
            assert_eq!(output.status.code(), Some(2), "{path}");
            assert!(output.stdout.is_empty() && stderr.contains("-tle"), "{path}: {stderr}");
            folder.answer(&format!("xperf -i {path} -tle -quiet -a dumper"));
            lossy += 1;
        }
    }
    println!("{lossy} recordings with losses");
}

#[cfg(unix)]
#[test]
fn several_actions_share_one_pipe() {
    use std::io::Write as _;
    use std::process::Stdio;

    let folder = Folder::boot(SLOW);
    let expected = folder.answer("xperf -i boot.etl -a boot -a services -a pnp");
    let recording = std::fs::read(folder.path("boot.etl")).unwrap();
    let mut child = folder
        .command("xperf -i /dev/stdin -a boot -a services -a pnp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || stdin.write_all(&recording));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

/// Writes the unmerged kernel and user sessions of a boot.
fn two_sessions() -> Folder {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios").join(SLOW);
    let mut scenario = onoff_simulator::Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    scenario.recording.split = true;
    let simulated = scenario.simulate().unwrap();
    let folder = Folder::new();
    folder.file("kernel.etl", &simulated.files[0]).file("user.etl", &simulated.files[1]);
    folder
}

#[test]
fn merged_file_equals_both_files() {
    let folder = two_sessions();
    let output = folder.run("xperf -merge user.etl kernel.etl merged.etl -compress");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("onoff: -compress is ignored: the file is not compressed\n"), "{text}");
    assert!(output.stdout.is_empty());
    for arguments in ["-a boot", "-a services -a pnp", "-a dumper"] {
        // There is one logfile header, with a new size and name.
        let depends_on_file = |line: &str| line.starts_with("OS Version: ") || line.contains("EventTrace/Header, ");
        let without_size = |text: String| -> Vec<String> {
            text.lines().filter(|line| !depends_on_file(line)).map(str::to_owned).collect()
        };
        let merged = without_size(folder.answer(&format!("xperf -i merged.etl {arguments}")));
        let together = without_size(folder.answer(&format!("xperf -i kernel.etl -i user.etl {arguments}")));
        assert!(merged.len() > 10 && merged == together, "{arguments}");
    }
    // Other options give the same result and overwrite the file.
    let first_bytes = std::fs::read(folder.path("merged.etl")).unwrap();
    for line in ["-merge -d user.etl kernel.etl merged.etl", "-stop -stop User -i user.etl -f kernel.etl -d merged.etl"]
    {
        folder.answer(&format!("xperf -quiet {line}"));
        assert_eq!(std::fs::read(folder.path("merged.etl")).unwrap(), first_bytes);
    }
}

#[test]
fn merge_never_overwrites_input() {
    let folder = two_sessions();
    let kernel = std::fs::read(folder.path("kernel.etl")).unwrap();
    std::fs::hard_link(folder.path("kernel.etl"), folder.path("other-name.etl")).unwrap();
    for output in ["kernel.etl", "./kernel.etl", "other-name.etl"] {
        for line in [
            format!("xperf -merge user.etl kernel.etl {output}"),
            format!("xperf -i user.etl -i kernel.etl -d {output}"),
        ] {
            let (code, message) = folder.failure(&line);
            assert_eq!(code, 64, "{message}");
            assert!(message.contains("the same file as the input") || message.contains("an input file"), "{message}");
        }
    }
    // Errors leave the file unchanged.
    folder.file("out.etl", b"before").file("broken.etl", b"no recording");
    let boot = Folder::boot(PAPER);
    std::fs::copy(boot.path("boot.etl"), folder.path("boot.etl")).unwrap();
    let (code, message) = folder.failure("xperf -merge kernel.etl boot.etl out.etl");
    assert_eq!(code, 2);
    assert!(message.contains("kernel.etl and boot.etl are not parts of one recording: "), "{message}");
    assert_eq!(folder.failure("xperf -merge kernel.etl broken.etl out.etl").0, 1);
    assert_eq!(folder.failure("xperf -merge kernel.etl absent.etl out.etl").0, 1);
    assert_eq!(std::fs::read(folder.path("out.etl")).unwrap(), b"before");
    assert_eq!(std::fs::read(folder.path("kernel.etl")).unwrap(), kernel);
    assert_eq!(std::fs::read_dir(folder.path(".")).unwrap().count(), 6);
}

#[test]
fn every_action_has_help() {
    let folder = Folder::new();
    let overview = folder.answer("xperf -help processing");
    let actions: Vec<&str> = overview
        .split_once("Actions:\n")
        .unwrap()
        .1
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert!(actions.contains(&"boot") && actions.contains(&"dumper"));
    for action in actions {
        let help = folder.answer(&format!("xperf -help {action}"));
        assert!(help.starts_with(&format!("-a {action}: ")), "{help}");
    }
    assert_eq!(folder.answer("xperf"), folder.answer("xperf --help"));
    let (code, message) = folder.failure("xperf -help nonsense");
    assert_eq!(code, 2);
    assert!(message.contains("no topic 'nonsense'"), "{message}");
}
