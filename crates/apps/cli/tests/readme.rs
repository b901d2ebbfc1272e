//! The README example matches the program's output.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

#[test]
fn readme_matches_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let example =
        readme.split("$ onoff boot samples/slow-boot.etl\n").nth(1).and_then(|text| text.split("```").next()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_onoff"))
        .args(["boot", "samples/slow-boot.etl"])
        .current_dir(&root)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut output_lines = text.lines();
    let mut compared = 0;
    for line in example.lines().filter(|line| *line != "...") {
        assert!(
            output_lines.any(|output_line| output_line == line),
            "the program does not print this line of the README here; run `make reference`:\n{line}"
        );
        compared += 1;
    }
    assert!(compared > 10, "the README shows {compared} lines");
}

/// `crates/support/bench/compare.py --write` writes both.
#[test]
fn readme_has_the_measured_time() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let book = std::fs::read_to_string(root.join("docs/src/reference/measured.md")).unwrap();
    let section = book.split("## `boot-1GiB.etl`").nth(1).unwrap();
    let row = section.lines().find(|line| line.starts_with("| `onoff boot FILE` |")).unwrap();
    let seconds: f64 = row.split('|').nth(3).unwrap().trim().parse().unwrap();
    assert!(readme.contains(&format!("20 million events (1 GiB) took {seconds:.2} s ")), "the book has {seconds:.2} s");
}
