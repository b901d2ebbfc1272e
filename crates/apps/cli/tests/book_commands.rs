//! Every command in the README and in the book is one that the program accepts, and works where its files are samples.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::{Folder, words};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Exit code of a command line that the program does not accept.
const USAGE_ERROR: i32 = 64;

/// Samples under the names that the book uses.
const FILES: [(&str, &str); 20] = [
    ("boot.etl", "slow-boot.etl"),
    ("trace.etl", "slow-boot.etl"),
    ("shutdown.etl", "slow-shutdown.etl"),
    ("sleep.etl", "slow-sleep.etl"),
    ("recording.tar.xz", "linux-boot.tar.xz"),
    ("FBPT.bin", "firmware-FBPT.bin.xz"),
    ("FBPT", "firmware-FBPT.bin.xz"),
    ("boot.pcap", "netboot-slow-link.pcap.xz"),
    ("boot.pcapng", "netboot-slow-link.pcap.xz"),
    ("netboot.pcapng", "netboot-slow-link.pcap.xz"),
    ("with-filter.csv", "four-byte-reads.csv.gz"),
    ("without.csv", "four-byte-reads.csv.gz"),
    ("boots/boot.etl", "slow-boot.etl"),
    ("boots/sleep.etl", "slow-sleep.etl"),
    ("fleet/boot.etl", "slow-boot.etl"),
    ("fleet/linux.tar.xz", "linux-boot.tar.xz"),
    ("recordings/boot.etl", "slow-boot.etl"),
    ("recordings/shutdown.etl", "slow-shutdown.etl"),
    ("runs/1.etl.xz", "runs/before/1.etl.xz"),
    ("runs/2.etl.xz", "runs/after/1.etl.xz"),
];

/// Folders with the runs before and after a change.
const BEFORE: [&str; 3] = ["old", "before", "good"];
const AFTER: [&str; 2] = ["new", "after"];

/// Commands whose files have the names of samples, but other content.
const OTHER_CONTENT: [&str; 9] = [
    // The sample was traced for analysis, so it has no verdict.
    "onoff gate boot.etl",
    "onoff gate boot.pcap",
    "onoff gate pxe.json",
    "onoff image new/ --compare old/",
    "onoff netboot boot.etl",
    "onoff files trace.etl",
    // The sample has no activities, and a profile comes from the reader.
    "onoff events boot.etl --activity",
    "onoff wpaexporter -i boot.etl -profile cpu.wpaProfile",
    "onoff what-if sleep.etl --transition suspend:2",
];

/// Commands for a folder with one recording.
const SKIPPED: [&str; 1] = ["onoff what-if . "];

const STRACE: &str = "\
1700000000.000100 execve(\"/usr/bin/till\", [\"till\"], 0x7ffd /* 20 vars */) = 0 <0.000400>
1700000000.001000 openat(AT_FDCWD, \"/var/lib/till/articles.db\", O_RDWR) = 3 <0.000040>
1700000000.001100 read(3, \"\\1\\2\\3\\4\", 4) = 4 <0.000030>
1700000000.001200 read(3, \"\\1\\2\\3\\4\", 4) = 4 <0.000030>
1700000000.001300 write(3, \"\\1\\2\\3\\4\", 4) = 4 <0.000050>
1700000000.001400 close(3) = 0 <0.000010>
";

struct Page {
    name: String,
    commands: Vec<String>,
}

fn markdown_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => markdown_files(&path, files),
            false if path.extension().is_some_and(|extension| extension == "md") => files.push(path),
            false => {}
        }
    }
}

/// Returns the commands in the code blocks of each page.
fn pages() -> Vec<Page> {
    let mut files = vec![Path::new(ROOT).join("README.md")];
    markdown_files(&Path::new(ROOT).join("docs/src"), &mut files);
    files.sort();
    files.into_iter().map(|path| page(&path)).filter(|page| !page.commands.is_empty()).collect()
}

fn page(path: &Path) -> Page {
    let text = fs::read_to_string(path).unwrap().replace("\\\n", " ");
    let mut in_block = false;
    let mut commands: Vec<String> = Vec::new();
    for line in text.lines() {
        in_block ^= line.starts_with("```");
        for (command, is_inline) in commands_in(line, in_block) {
            let names_file = || command_words(&command).iter().any(|word| is_sample_name(word));
            // In a sentence, a command often lacks its file.
            if command.starts_with("onoff ") && !commands.contains(&command) && (!is_inline || names_file()) {
                commands.push(command);
            }
        }
    }
    Page { name: path.file_name().unwrap().to_string_lossy().into_owned(), commands }
}

/// Returns the commands on a line, and whether they are in a sentence.
fn commands_in(line: &str, in_block: bool) -> Vec<(String, bool)> {
    if !in_block {
        return line.split('`').skip(1).step_by(2).map(|code| (code.to_owned(), true)).collect();
    }
    let line = line.trim_start();
    let commands = line.strip_prefix("$ ").unwrap_or(line).split("; ");
    commands.map(|command| (command.strip_prefix("sudo ").unwrap_or(command).to_owned(), false)).collect()
}

fn is_sample_name(word: &str) -> bool {
    let folders = BEFORE.iter().chain(&AFTER).copied();
    let names =
        FILES.iter().map(|(name, _)| *name).chain(folders).chain(["run.strace", "strace.txt", "boots", "fleet"]);
    names.into_iter().any(|name| word.trim_end_matches('/') == name)
}

/// Splits a command line without its remark, which follows two blanks or `#`, and without what a shell would do with
/// its output.
fn command_words(line: &str) -> Vec<String> {
    const ENDS: [&str; 6] = ["  ", " #", " | ", " > ", " >> ", " || "];
    let end = ENDS.iter().filter_map(|end| line.find(end)).min();
    words(line.get(..end.unwrap_or(line.len())).unwrap().trim())
}

/// Creates the recordings that the book names.
fn recordings() -> Folder {
    let folder = Folder::new();
    let samples = Path::new(ROOT).join("samples");
    let copy = |sample: &str, name: &str| {
        let target = folder.path(name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(samples.join(sample), target).unwrap();
    };
    for (name, sample) in FILES {
        copy(sample, name);
    }
    for (sides, runs) in [(BEFORE.as_slice(), "before"), (AFTER.as_slice(), "after")] {
        for side in sides {
            for run in 1..=3 {
                copy(&format!("runs/{runs}/{run}.etl.xz"), &format!("{side}/{run}.etl.xz"));
            }
        }
    }
    for name in ["run.strace", "strace.txt"] {
        folder.file(name, STRACE.as_bytes());
    }
    fs::create_dir(folder.path("symbols")).unwrap();
    folder
}

/// Runs a command of the book so that it changes nothing on this computer and ends.
fn run(folder: &Folder, words: &[String]) -> Output {
    let mut arguments = Vec::new();
    for word in words.iter().skip(1) {
        match word.strip_suffix("*.etl") {
            // A shell would list the files.
            Some(side) if !side.is_empty() => {
                let files = fs::read_dir(folder.path(side)).into_iter().flatten();
                arguments.extend(files.map(|file| format!("{side}{}", file.unwrap().file_name().to_string_lossy())));
            }
            Some(_) => arguments.push("boot.etl".to_owned()),
            None => arguments.push(word.clone()),
        }
    }
    let verb = arguments.first().cloned().unwrap_or_default();
    let has = |option: &str| words.iter().any(|word| word == option);
    if verb == "view" && !has("-o") {
        arguments.extend(["-o".to_owned(), "page.html".to_owned()]);
    }
    if verb == "record" && !has("--plan") && !has("--check") && !has("--dry-run") {
        arguments.push("--dry-run".to_owned());
    }
    // Each package and each folder of tables needs a new name.
    if let Some(output) = words.iter().skip_while(|word| *word != "-o").nth(1).filter(|_| has("parquet")) {
        let _ = fs::remove_dir_all(folder.path(output));
    }
    let new_folder = Folder::new();
    let folder = if verb == "collect" { &new_folder } else { folder };
    folder.command("").args(arguments).output().unwrap()
}

#[cfg(unix)]
#[test]
fn commands_in_readme_and_book_work() {
    let (mut worked, mut without_files, mut failures) = (0, Vec::new(), Vec::new());
    for Page { name, commands } in pages() {
        let folder = recordings();
        std::os::unix::fs::symlink(Path::new(ROOT).join("samples"), folder.path("samples")).unwrap();
        let is_run = |command: &&String| !SKIPPED.iter().any(|skipped| command.starts_with(skipped));
        for command in commands.iter().filter(is_run) {
            let words = command_words(command);
            let is_elsewhere = |word: &String| word.starts_with('/') || word.contains(":\\");
            let is_here = |word: &String| word.contains("*.etl") || folder.path(word).exists();
            let is_other = OTHER_CONTENT.iter().any(|other| command.starts_with(other));
            let has_files = !is_other && !words.iter().any(is_elsewhere) && words.iter().skip(1).any(is_here);
            let output = run(&folder, &words);
            let code = output.status.code().unwrap();
            // A gate fails because the new runs are slower, and a diagnosis because a finding costs more.
            let is_verb = |name: &str| words.get(1).is_some_and(|verb| verb == name);
            let has = |option: &str| words.iter().any(|word| word == option);
            let expected_code = match () {
                () if is_verb("gate") && has("--limit") => 1,
                () if has("--fail-on") => 3,
                () => 0,
            };
            let stderr = String::from_utf8_lossy(&output.stderr);
            // Every other failure has a reason: a file that is not here, or this computer.
            let names_file = words.iter().any(|word| word.contains(['.', '/'])) && !is_verb("record");
            let has_reason = code == 0 || !names_file || is_other || stderr.contains("No such file");
            let is_expected = if has_files { code == expected_code } else { has_reason };
            if code == USAGE_ERROR || !is_expected && !words.iter().any(is_elsewhere) {
                failures.push(format!("{name}: {command}: exit code {code}: {stderr}"));
            } else if has_files {
                worked += 1;
            } else {
                without_files.push(format!("{name}: {command}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    eprintln!("{worked} commands worked; without their files here: {without_files:#?}");
    assert!(worked >= 105, "only {worked} commands have their files here");
}
