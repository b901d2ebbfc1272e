//! The book answers each question of a new user with at most three commands, and the commands work.

use std::path::Path;

use onoff_simulator::Scenario;

use crate::harness::{Folder, words};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Text that the answers must contain. The recordings are simulated, so the answers are known.
const TRUTH: [(usize, &[&str]); 15] = [
    (1, &["LegacyScan", "ROOT\\LEGACYSCAN\\0000"]),
    (2, &["The boot is ", " slower: ", "ProfSvc"]),
    (3, &["to a usable desktop", "WinLogonInit", "SoundShaper", "ExplorerInit"]),
    (4, &["MsMpEng.exe", "AgGlFaultHistory.db"]),
    (5, &["CloudBox.exe", "messenger.exe"]),
    (6, &["synctool.exe", "BackupAgent"]),
    (7, &["**exceeded**", "boot.total"]),
    (8, &["SoundShaper", "Spooler"]),
    (9, &["wpr -boottrace", "onoff.wprp"]),
    (10, &[]),
    (11, &[]),
    (12, &[]),
    (13, &["slow-shutdown.etl", "slow-boot.etl"]),
    (14, &["CloudBox.exe", "ntdll.dll", "inclusive"]),
    (15, &["ProfSvc"]),
];

struct Question {
    number: usize,
    commands: Vec<String>,
}

/// Reads the questions on the page: the headings, and the lines of the code block below each heading.
fn questions() -> Vec<Question> {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/src/how-to/questions.md")).unwrap();
    let mut questions: Vec<Question> = Vec::new();
    let mut in_block = false;
    for line in page.lines() {
        if let Some((number, _)) = line.strip_prefix("## ").and_then(|heading| heading.split_once('.')) {
            questions.push(Question { number: number.parse().unwrap(), commands: Vec::new() });
        } else if line.starts_with("```") {
            in_block = line == "```console";
        } else if in_block {
            questions.last_mut().unwrap().commands.push(line.to_owned());
        }
    }
    questions
}

fn copy_sample(folder: &Folder, sample: &str, name: &str) {
    let target = folder.path(name);
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    std::fs::copy(Path::new(ROOT).join("samples").join(sample), target).unwrap();
}

/// Creates a folder with the recordings used on the page.
fn recordings() -> Folder {
    let folder = Folder::new();
    copy_sample(&folder, "slow-boot.etl", "boot.etl");
    copy_sample(&folder, "slow-shutdown.etl", "shutdown.etl");
    for name in ["slow-boot.etl", "slow-shutdown.etl", "slow-sleep.etl", "linux-boot.tar.xz"] {
        copy_sample(&folder, name, &format!("fleet/{name}"));
    }
    for run in 1..=3 {
        copy_sample(&folder, &format!("runs/before/{run}.etl.xz"), &format!("old/{run}.etl.xz"));
        copy_sample(&folder, &format!("runs/after/{run}.etl.xz"), &format!("new/{run}.etl.xz"));
    }
    folder
}

#[test]
fn book_answers_use_at_most_three_commands() {
    let folder = recordings();
    let questions = questions();
    assert_eq!(questions.iter().map(|question| question.number).collect::<Vec<_>>(), (1..=15).collect::<Vec<_>>());
    for Question { number, commands } in &questions {
        assert!((1..=3).contains(&commands.len()), "question {number}: {commands:?}");
        let mut answers = String::new();
        for command in commands {
            let words = words(command);
            let opens_browser = words.get(1).is_some_and(|verb| verb == "view") && !words.contains(&"-o".to_owned());
            // Other programs may not be installed, and `view` serves until it is stopped.
            if words[0] != "onoff" || opens_browser {
                continue;
            }
            let output = folder.command("").args(&words[1..]).output().unwrap();
            let expected_code = if words[1] == "gate" { 1 } else { 0 };
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(expected_code), "question {number}: {command}: {stderr}");
            answers += &String::from_utf8_lossy(&output.stdout);
        }
        let (_, expected_texts) = TRUTH.iter().find(|(question, _)| question == number).unwrap();
        for text in *expected_texts {
            assert!(answers.contains(text), "question {number}: no '{text}' in\n{answers}");
        }
    }
    assert!(std::fs::read_to_string(folder.path("report.html")).unwrap().contains("SoundShaper"));
    let services = std::fs::read_to_string(folder.path("services.csv")).unwrap();
    assert!(services.starts_with("name,") && services.contains("duration_ns"), "{services}");
}

/// Returns the scenarios of three boots, and of three boots after an update that makes the service ProfSvc 2 s slower.
/// Otherwise, they differ only by milliseconds.
fn runs() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios/healthy-boot.toml");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("init = \"55ms\"") && text.contains("\"sleep 300ms\""));
    let mut runs = Vec::new();
    for (side, update_ms) in [("before", 0), ("after", 2000)] {
        for (run, noise_ms) in [(1, 0), (2, 7), (3, 12)] {
            let init = 55 + update_ms + noise_ms;
            let sleep = 300 + 3 * noise_ms;
            let text = text
                .replace("init = \"55ms\"", &format!("init = \"{init}ms\""))
                .replace("\"sleep 300ms\"", &format!("\"sleep {sleep}ms\""));
            runs.push((format!("{side}/{run}.etl.xz"), text));
        }
    }
    runs
}

/// Setting `ONOFF_WRITE_SAMPLES` rewrites the samples. `make samples` sets it and compresses the files.
#[test]
fn sample_runs_match_simulator() {
    let samples = Path::new(ROOT).join("samples/runs");
    for (name, text) in runs() {
        let simulated = Scenario::from_toml(&text).unwrap().simulate().unwrap().files.remove(0);
        let path = samples.join(&name);
        if std::env::var_os("ONOFF_WRITE_SAMPLES").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path.with_extension(""), &simulated).unwrap();
            continue;
        }
        let mut sample = Vec::new();
        let file = std::fs::File::open(&path).unwrap();
        std::io::Read::read_to_end(&mut lzma_rust2::XzReader::new(file, false), &mut sample).unwrap();
        assert!(sample == simulated, "samples/runs/{name} differs from its scenario; run `make samples`");
    }
}
