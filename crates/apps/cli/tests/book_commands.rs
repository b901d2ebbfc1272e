//! Every command in the README and in the book is one that the program accepts, and works where its files are samples.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::harness::Folder;

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
        let command = line.strip_prefix("$ ").unwrap_or(line);
        let command = command.strip_prefix("sudo ").unwrap_or(command);
        if in_block && command.starts_with("onoff ") && !commands.iter().any(|known| known == command) {
            commands.push(command.to_owned());
        }
    }
    Page { name: path.file_name().unwrap().to_string_lossy().into_owned(), commands }
}

/// Splits a command line into words as a shell does. Text after two blanks is a remark.
fn words(line: &str) -> Vec<String> {
    let line = line.split("  ").next().unwrap();
    let line = line.split(" #").next().unwrap();
    let (mut words, mut quote) = (vec![String::new()], None);
    for character in line.trim().chars() {
        match quote {
            Some(mark) if mark == character => quote = None,
            Some(_) => words.last_mut().unwrap().push(character),
            None if matches!(character, '\'' | '"') => quote = Some(character),
            None if character == ' ' => words.push(String::new()),
            None => words.last_mut().unwrap().push(character),
        }
    }
    words
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
    folder.command("").args(arguments).output().unwrap()
}

#[cfg(unix)]
#[test]
fn commands_in_readme_and_book_work() {
    let (mut worked, mut without_files) = (0, Vec::new());
    for Page { name, commands } in pages() {
        let folder = recordings();
        std::os::unix::fs::symlink(Path::new(ROOT).join("samples"), folder.path("samples")).unwrap();
        for command in &commands {
            let words = words(command);
            let has_files = words.iter().skip(1).any(|word| folder.path(word).exists())
                || words.iter().any(|word| word.contains("*.etl"));
            let output = run(&folder, &words);
            let stderr = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code().unwrap();
            assert_ne!(code, USAGE_ERROR, "{name}: {command}: {stderr}");
            if has_files {
                // A gate fails because the new runs are slower.
                let fails = words.contains(&"--limit".to_owned());
                assert_eq!(code, i32::from(fails), "{name}: {command}: {stderr}");
                worked += 1;
            } else {
                without_files.push(format!("{name}: {command}"));
            }
        }
    }
    eprintln!("{worked} commands worked; without their files here: {without_files:#?}");
    assert!(worked >= 80, "only {worked} commands have their files here");
}
