//! `onoff xperf`: the line that scripts written for xperf pass.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::running::Folder;

/// Services only.
const PAPER: &str = "services-wes7.toml";
/// Everything.
const SLOW: &str = "slow-boot.toml";

#[test]
fn its_documents_are_those_of_the_plain_verbs() {
    let folder = Folder::boot(SLOW);
    assert_eq!(folder.answer("xperf -i boot.etl -a services"), folder.answer("boot boot.etl --format csv"));
    assert_eq!(folder.answer("xperf -i boot.etl -a pnp"), folder.answer("boot boot.etl --format csv --csv pnp"));
    // One has a single header block and lines of Windows, the other announces columns as it goes.
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
fn a_range_may_be_the_name_of_a_phase() {
    let (folder, truth) = Folder::boot_and_truth(SLOW);
    let phase = truth.phases.iter().find(|phase| phase.name == "WinLogonInit").unwrap();
    let by_times = format!("{}ns {}ns", phase.start_ns, phase.end_ns);
    let run =
        |range: &str| folder.run(&format!("xperf -i boot.etl -a dumper -range {range} -a process -range {range}"));
    let by_name = run("winlogoninit");
    let said = String::from_utf8(by_name.stderr.clone()).unwrap();
    assert!(said.starts_with("onoff: WinLogonInit of the boot: 13.5 s to 22.7 s\n"), "{said}");
    assert!(by_name.stdout.len() > 1_000);
    assert_eq!(by_name.stdout, run(&by_times).stdout);

    let refused = folder.run("xperf -i boot.etl -a dumper -range Logon");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.starts_with("onoff: -range Logon: no such phase; the recording holds PreSMSS, SMSSInit"), "{said}");
}

#[test]
fn the_options_of_boot_leave_out_what_they_say() {
    let folder = Folder::boot(SLOW);
    folder.file("expected.txt", b"\xef\xbb\xbfSMSS.exe\r\n\r\ncsrss.exe\r\n");
    let whole = folder.answer("xperf -i boot.etl -a boot");
    let less = folder
        .answer("xperf -i boot.etl -a boot -minCPUToShow 50 -maxFilesToShow 0 -expectedProcessesFile expected.txt");
    let count = |document: &str, element: &str| document.matches(&format!("<{element} ")).count();
    assert!(count(&whole, "perProcessCPUUsage") > count(&less, "perProcessCPUUsage"));
    // Idle is no process to hide: one in each interval.
    assert!(count(&less, "perProcessCPUUsage") >= count(&less, "interval"));
    assert!(count(&whole, "file") > 0);
    assert_eq!(count(&less, "extension"), 0);
    // What was read ahead is no file to leave out.
    let read_ahead = less.matches("<file name=\"Unknown (0x0)\"").count();
    assert_eq!(count(&less, "file"), read_ahead);
    let expected = |document: &str| -> usize {
        let group = document.split_once("<expectedProcesses>").unwrap().1;
        count(group.split_once("</expectedProcesses>").unwrap().0, "process")
    };
    assert_eq!(expected(&whole), 2);
    assert!(expected(&less) > 2);
    assert_eq!(count(&whole, "process"), count(&less, "process"));
}

#[test]
fn rows_of_a_range_are_those_of_the_whole_in_it() {
    let folder = Folder::boot(PAPER);
    let rows = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    let whole = rows(&folder.answer("xperf -i boot.etl -a services"));
    let part = rows(&folder.answer("xperf -i boot.etl -a services -range 9250ms 9300ms"));
    // Services on their way between 9250 and 9300 ms: those of the paper that began before and ended after.
    let names: Vec<&str> = part[3..].iter().map(|row| row.split(", ").nth(1).unwrap()).collect();
    assert_eq!(names, ["DcomLaunch", "RpcEptMapper"]);
    assert!(part.iter().all(|row| whole.contains(row)));
}

#[test]
fn long_parts_of_services_are_listed_when_asked_for() {
    let folder = Folder::boot(PAPER);
    let text = folder.answer("xperf -i boot.etl -a services -poiThreshold_ContainerInit 100ms");
    let points: Vec<&str> = text.lines().filter(|line| line.starts_with("PointOfInterest")).collect();
    // The paper's two checkpoints after more than 100 ms.
    assert_eq!(points.len(), 3, "{points:?}");
    assert!(points[1].starts_with("PointOfInterest, PlugPlay, ContainerInit, 12"), "{points:?}");
    assert!(points[2].starts_with("PointOfInterest, eventlog, ContainerInit, 21"), "{points:?}");
}

#[test]
fn an_action_that_cannot_answer_leaves_the_others_and_the_files_alone() {
    let folder = Folder::boot(PAPER);
    folder.file("shutdown.xml", b"before");
    let output =
        folder.run("xperf -i boot.etl -a shutdown -ao shutdown.xml -ae errors.txt -a services -ao services.csv");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("shutdown.xml"), "before");
    assert!(read("errors.txt").starts_with("-a shutdown: the recording holds no shutdown"));
    assert!(read("services.csv").starts_with("AutoStart, "));
}

#[test]
fn a_recording_without_what_is_asked_for_has_exit_code_2() {
    let folder = Folder::boot(PAPER);
    let output = folder.run("xperf -i boot.etl -a dumper -provider Nobody");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*said), (Some(0), "onoff: -a dumper: no event matches\n"));
    assert!(output.stdout.starts_with(b"BeginHeader\r\n"));
    let (code, said) = folder.refusal("xperf -i none.etl -a boot");
    assert_eq!(code, 1);
    assert!(said.starts_with("onoff: none.etl: "), "{said}");
    let (code, said) = folder.refusal("xperf -i boot.etl -o no/such/folder.xml -a boot");
    assert_eq!(code, 1);
    assert!(said.contains("no/such/folder.xml"), "{said}");
}

#[test]
fn lost_events_are_refused_without_tle() {
    let Some(samples) = onoff_testkit::real::samples("etl") else {
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
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.contains("the recorder lost ") {
            assert_eq!(output.status.code(), Some(2), "{path}");
            assert!(output.stdout.is_empty() && said.contains("-tle"), "{path}: {said}");
            folder.answer(&format!("xperf -i {path} -tle -quiet -a dumper"));
            lossy += 1;
        }
    }
    println!("{lossy} recordings with losses");
}

#[cfg(unix)]
#[test]
fn a_pipe_which_can_be_read_only_once_is_enough_for_several_actions() {
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

/// The kernel's and the programs' sessions of a boot, before they are merged.
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
fn merged_files_say_what_they_say_together() {
    let folder = two_sessions();
    let said = folder.run("xperf -merge user.etl kernel.etl merged.etl -compress");
    assert_eq!(said.status.code(), Some(0));
    let text = String::from_utf8(said.stderr).unwrap();
    assert!(text.starts_with("onoff: -compress is ignored: the file is not compressed\n"), "{text}");
    assert!(said.stdout.is_empty());
    for question in ["-a boot", "-a services -a pnp", "-a dumper"] {
        // Of logfile headers there is one, which says another size and name.
        let is_of_file = |line: &str| line.starts_with("OS Version: ") || line.contains("EventTrace/Header, ");
        let without_size = |text: String| -> Vec<String> {
            text.lines().filter(|line| !is_of_file(line)).map(str::to_owned).collect()
        };
        let merged = without_size(folder.answer(&format!("xperf -i merged.etl {question}")));
        let together = without_size(folder.answer(&format!("xperf -i kernel.etl -i user.etl {question}")));
        assert!(merged.len() > 10 && merged == together, "{question}");
    }
    // The same asked in other ways, over what is there.
    let first = std::fs::read(folder.path("merged.etl")).unwrap();
    for line in ["-merge -d user.etl kernel.etl merged.etl", "-stop -stop User -i user.etl -f kernel.etl -d merged.etl"]
    {
        folder.answer(&format!("xperf -quiet {line}"));
        assert_eq!(std::fs::read(folder.path("merged.etl")).unwrap(), first);
    }
}

#[test]
fn what_is_read_is_never_merged_over() {
    let folder = two_sessions();
    let kernel = std::fs::read(folder.path("kernel.etl")).unwrap();
    std::fs::hard_link(folder.path("kernel.etl"), folder.path("other-name.etl")).unwrap();
    for output in ["kernel.etl", "./kernel.etl", "other-name.etl"] {
        for line in [
            format!("xperf -merge user.etl kernel.etl {output}"),
            format!("xperf -i user.etl -i kernel.etl -d {output}"),
        ] {
            let (code, said) = folder.refusal(&line);
            assert_eq!(code, 64, "{said}");
            assert!(said.contains("which is read") || said.contains("one of the files to read"), "{said}");
        }
    }
    // What is refused or cannot be read leaves the file as it was.
    folder.file("out.etl", b"before").file("broken.etl", b"no recording");
    let boot = Folder::boot(PAPER);
    std::fs::copy(boot.path("boot.etl"), folder.path("boot.etl")).unwrap();
    let (code, said) = folder.refusal("xperf -merge kernel.etl boot.etl out.etl");
    assert_eq!(code, 2);
    assert!(said.contains("kernel.etl and boot.etl cannot be one recording: "), "{said}");
    assert_eq!(folder.refusal("xperf -merge kernel.etl broken.etl out.etl").0, 1);
    assert_eq!(folder.refusal("xperf -merge kernel.etl absent.etl out.etl").0, 1);
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
    let (code, said) = folder.refusal("xperf -help nonsense");
    assert_eq!(code, 2);
    assert!(said.contains("no topic 'nonsense'"), "{said}");
}
