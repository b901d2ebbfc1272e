//! The README example matches the program's output.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

#[test]
fn readme_matches_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let shown =
        readme.split("$ onoff boot samples/slow-boot.etl\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_onoff"))
        .args(["boot", "samples/slow-boot.etl"])
        .current_dir(&root)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut left = printed.lines();
    let mut compared = 0;
    for line in shown.lines().filter(|line| *line != "...") {
        assert!(
            left.any(|printed| printed == line),
            "the program does not print this line of the README there; `make reference` puts it right:\n{line}"
        );
        compared += 1;
    }
    assert!(compared > 10, "the README shows {compared} lines");
}
