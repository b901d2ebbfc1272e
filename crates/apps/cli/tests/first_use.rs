//! The first steps of a new user: a file without a verb, a pipe, a wrong verb, a foreign file, a term, a phase name as
//! a range.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::harness::Folder;

const SCENARIO: &str = "services-wes7.toml";

fn run_piped(folder: &Folder, arguments: &str, input: &[u8]) -> Output {
    let mut command: Command = folder.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A program that rejects the input early does not read all of it.
    let _ignored = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn file_alone_shows_overview() {
    let folder = Folder::boot(SCENARIO);
    let answer = folder.answer("boot.etl");
    assert!(answer.starts_with("boot.etl: a Windows event trace log, "), "{answer}");
    let boot = folder.answer("boot boot.etl");
    let headline = boot.lines().next().unwrap();
    assert!(answer.contains(&format!("  boot        {headline}\n")), "{answer}");
    assert!(answer.contains("No data for: shutdown, suspend"), "{answer}");
    for verb in ["diagnose", "services", "processes", "events", "info"] {
        assert!(answer.lines().any(|line| line.trim_start().starts_with(verb)), "{verb}: {answer}");
    }
    // Files that are not system recordings have one verb.
    folder.file("calls.csv", b"time,pid,process,file,operation,offset,length\n0.1,1,a.exe,C:\\x,read,0,4096\n");
    let answer = folder.answer("calls.csv");
    assert!(answer.starts_with("calls.csv: a recording of file operations, "), "{answer}");
    assert!(answer.contains("  io ") && !answer.contains("  boot "), "{answer}");
    let (code, message) = folder.failure("boot.etl absent.etl");
    assert_eq!(code, 64);
    assert!(message.contains("absent.etl: no such file or verb"), "{message}");
}

#[test]
fn suggests_mistyped_verb() {
    let folder = Folder::new();
    let (code, message) = folder.failure("diagnoze");
    assert_eq!(code, 64);
    assert!(message.contains("did you mean 'onoff diagnose'?"), "{message}");
    let (_, message) = folder.failure("qqq");
    assert!(!message.contains("did you mean"), "{message}");
    folder.file("x.etl", b"text");
    let (code, message) = folder.failure("x.etl boot");
    assert_eq!(code, 64);
    assert!(message.contains("put the verb before the file"), "{message}");
}

#[test]
fn reads_pipe_like_file() {
    let folder = Folder::boot(SCENARIO);
    let bytes = std::fs::read(folder.path("boot.etl")).unwrap();
    for verb in ["boot", "services --format csv", "info", "diagnose", "events --event P-Start"] {
        let expected = folder.answer(&format!("{verb} boot.etl")).replace("boot.etl", "standard input");
        let output = run_piped(&folder, &format!("{verb} -"), &bytes);
        assert_eq!(output.status.code(), Some(0), "{verb}: {}", text(&output.stderr));
        let answer = text(&output.stdout);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&answer), words(&expected), "{verb}");
        let mut redirected = folder.command(&format!("{verb} -"));
        redirected.stdin(std::fs::File::open(folder.path("boot.etl")).unwrap());
        assert_eq!(text(&redirected.output().unwrap().stdout), text(&output.stdout), "{verb}");
    }
    // A pipe that is not a recording is rejected early.
    let output = run_piped(&folder, "boot -", &vec![b'x'; 1 << 20]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("onoff: standard input: not a recording"), "{}", text(&output.stderr));
    let output = run_piped(&folder, "boot -", b"");
    assert!(text(&output.stderr).starts_with("onoff: standard input: byte offset 0: the file is empty"));
}

#[test]
fn never_overwrites_redirected_input() {
    let folder = Folder::boot(SCENARIO);
    let original = std::fs::read(folder.path("boot.etl")).unwrap();
    let mut command = folder.command("boot - -o boot.etl");
    let output = command.stdin(std::fs::File::open(folder.path("boot.etl")).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(text(&output.stderr).contains("standard input"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read(folder.path("boot.etl")).unwrap(), original);
}

#[test]
fn identifies_foreign_files() {
    let folder = Folder::boot(SCENARIO);
    folder
        .file("system.evt", b"\x30\0\0\0LfLe\x01\0\0\0")
        .file("view.wpaProfile", b"<?xml version=\"1.0\"?>\n<WpaProfileContainer/>")
        .file("header", b"version = bootchart 0.8\ntitle = Boot chart\n")
        .file("SYSTEM", b"regf\x01\0\0\0")
        .file("calls.csv", b"time,pid,process,file,operation,offset,length\n0.1,1,a.exe,C:\\x,read,0,4096\n")
        .file("FBPT.bin", b"FBPT\x10\0\0\0\0\0\0\0\0\0\0\0");
    for verb in ["boot", "info", "netboot", "firmware", "cpu"] {
        for (file, description) in [
            ("system.evt", "a Windows event log (.evt), not a recording"),
            ("view.wpaProfile", "a Windows Performance Analyzer profile"),
            ("header", "the header of a bootchart"),
            ("SYSTEM", "a Windows registry hive; read it with 'onoff image'"),
        ] {
            let (_, message) = folder.failure(&format!("{verb} {file}"));
            assert!(
                message.starts_with(&format!("onoff: {file}: ")) && message.contains(description),
                "{verb}: {message}"
            );
        }
    }
    for (arguments, verb) in [
        ("boot calls.csv", "'onoff io'"),
        ("netboot calls.csv", "'onoff io'"),
        ("firmware calls.csv", "'onoff io'"),
        ("boot FBPT.bin", "'onoff firmware'"),
        ("netboot FBPT.bin", "'onoff firmware'"),
        ("cpu FBPT.bin", "'onoff firmware'"),
        ("firmware boot.etl", "'onoff boot'"),
        ("netboot boot.etl", "pktmon"),
    ] {
        let (code, message) = folder.failure(arguments);
        assert!(matches!(code, 1 | 2), "{arguments}: {message}");
        assert!(message.contains(verb), "{arguments}: {message}");
        assert!(message.contains(arguments.split(' ').next_back().unwrap()), "{arguments}: {message}");
    }
}

#[test]
fn selects_range_by_phase_name() {
    let folder = Folder::boot(SCENARIO);
    let boot: serde_json::Value = serde_json::from_str(&folder.answer("boot boot.etl --format json")).unwrap();
    let phases = boot["phases"].as_array().unwrap();
    let phase = phases.iter().find(|phase| phase["name"] == "WinLogonInit").unwrap();
    let (start, end) = (phase["start_ns"].as_i64().unwrap(), phase["end_ns"].as_i64().unwrap());
    for verb in ["services", "processes", "cpu"] {
        let by_name = folder.answer(&format!("{verb} boot.etl --phase winlogoninit --format csv"));
        let by_range = folder.answer(&format!("{verb} boot.etl --range {start}ns {end}ns --format csv"));
        assert_eq!(by_name, by_range, "{verb}");
        if verb == "cpu" {
            assert_ne!(by_name, folder.answer("cpu boot.etl --format csv"));
        }
    }
    assert!(folder.answer("services boot.etl --phase WinLogonInit").starts_with("WinLogonInit of the boot\n"));
    let by_name = folder.run("events boot.etl --phase WinLogonInit");
    assert_eq!(text(&by_name.stdout), folder.answer(&format!("events boot.etl --range {start}ns {end}ns")));
    assert!(text(&by_name.stderr).starts_with("onoff: WinLogonInit of the boot: "), "{}", text(&by_name.stderr));
    let (code, message) = folder.failure("services boot.etl --phase Lunch");
    assert_eq!(code, 2);
    assert!(message.contains("this recording has ") && message.contains("WinLogonInit"), "{message}");
}

#[test]
fn validates_ranges() {
    let folder = Folder::boot(SCENARIO);
    let (code, message) = folder.failure("services boot.etl --range 2.5 4.5");
    assert_eq!(code, 64);
    assert!(message.contains("for seconds, write 2.5s"), "{message}");
    for verb in ["services", "events"] {
        let (code, message) = folder.failure(&format!("{verb} boot.etl --range 4s 2s"));
        assert_eq!(code, 64, "{message}");
        assert!(message.contains("the start, 4.00 s, is not before the end, 2.00 s"), "{message}");
    }
    let (code, message) = folder.failure("services boot.etl --range 900s 901s");
    assert_eq!(code, 2, "{message}");
    assert!(message.contains("900 s to 901 s is outside the recording"), "{message}");
}

#[test]
fn explains_terms_codes_and_columns() {
    let folder = Folder::new();
    assert!(folder.answer("explain pre-smss").starts_with("PreSMSS: Windows: kernel and drivers start."));
    let rule = folder.answer("explain boot/driver-start-not-pended");
    assert_eq!(rule, folder.answer("diagnose --explain boot/driver-start-not-pended"));
    assert!(folder.answer("explain start_ns").contains("(table processes)"));
    assert!(folder.answer("explain").contains("WinLogonInit"));
    let (code, message) = folder.failure("explain smss");
    assert_eq!(code, 2);
    assert!(message.contains("similar terms: PreSMSS"), "{message}");
}

#[test]
fn fail_on_sets_exit_code() {
    let folder = Folder::boot("slow-boot.toml");
    let code = |arguments: &str| folder.run(arguments).status.code();
    assert_eq!(code("diagnose boot.etl --fail-on 2s"), Some(3));
    assert_eq!(code("diagnose boot.etl --fail-on 60s"), Some(0));
    // Upper bounds do not count as costs.
    let diagnosis: serde_json::Value = serde_json::from_str(&folder.answer("diagnose boot.etl --format json")).unwrap();
    let max_cost_ns = |basis: &str| {
        let findings = diagnosis["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["cost_basis"] == basis)
            .filter_map(|finding| finding["cost_ns"].as_i64())
            .max()
    };
    let measured_ns = max_cost_ns("predicted").max(max_cost_ns("critical_path")).unwrap();
    assert_eq!(code(&format!("diagnose boot.etl --fail-on {measured_ns}ns")), Some(3));
    assert_eq!(code(&format!("diagnose boot.etl --fail-on {}ns", measured_ns + 1)), Some(0));
    let (code, message) = folder.failure("diagnose boot.etl --fail-on 2");
    assert_eq!(code, 64);
    assert!(message.contains("use 500ms or 2s"), "{message}");
}

#[test]
fn completions_and_man_pages_cover_all_verbs() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.answer(&format!("completions {shell}"));
        assert!(script.contains("diagnose") && script.contains("fail-on"), "{shell}");
    }
    folder.answer("manual man1");
    for page in ["onoff.1", "onoff-boot.1", "onoff-explain.1"] {
        let page = std::fs::read_to_string(folder.path("man1").join(page)).unwrap();
        assert!(page.contains(".TH onoff"), "{page}");
    }
}

#[test]
fn short_help_has_the_defaults_of_the_long_help() {
    let folder = Folder::new();
    let defaults = |help: &str| -> Vec<String> {
        let help = folder.answer(help);
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let starts = help.split("[default: ").skip(1);
        // The short help omits remarks on a default.
        starts.map(|rest| rest.split([']', ';']).next().unwrap().to_owned()).collect()
    };
    let overview = folder.answer("--help");
    let verbs = overview.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let verbs = verbs.filter(|verb| folder.run(&format!("{verb} -h")).status.success() && *verb != "xperf");
    let mut compared = 0;
    for verb in verbs {
        let short = defaults(&format!("{verb} -h"));
        assert_eq!(short, defaults(&format!("{verb} --help")), "onoff {verb} -h");
        compared += short.len();
    }
    assert!(compared > 60, "{compared} defaults");
}
