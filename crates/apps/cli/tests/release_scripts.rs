//! The scripts for the GitHub action, packages and manifests, run with a fake `gh` and the real program.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Runs a script of the repository in `folder`, with `folder` first in PATH.
fn run_script(folder: &TempDir, name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    Command::new("bash")
        .arg(repository().join(name))
        .args(arguments)
        .current_dir(folder.path())
        .env("PATH", path)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn write_program(folder: &TempDir, name: &str, lines: &str) {
    let path = folder.path().join(name);
    fs::write(&path, lines).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn bash(folder: &TempDir, commands: &str) -> String {
    let output =
        Command::new("bash").args(["-euo", "pipefail", "-c", commands]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{commands}: {}", text(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Creates a release with one package in the folder `release`, and a fake `gh` that serves the release and rejects
/// other arguments.
fn release() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    bash(
        &folder,
        "mkdir -p release/onoff-9.8.7-x86_64-unknown-linux-musl\n\
         printf '#!/bin/sh\\necho released\\n' >release/onoff-9.8.7-x86_64-unknown-linux-musl/onoff\n\
         chmod 755 release/onoff-9.8.7-x86_64-unknown-linux-musl/onoff\n\
         cd release && tar -czf onoff-9.8.7-x86_64-unknown-linux-musl.tar.gz onoff-9.8.7-x86_64-unknown-linux-musl\n\
         rm -r onoff-9.8.7-x86_64-unknown-linux-musl\n\
         sha256sum onoff-* >SHA256SUMS",
    );
    write_program(
        &folder,
        "gh",
        "#!/usr/bin/env bash\n\
         set -euo pipefail\n\
         here=$(dirname \"$0\")\n\
         printf '%s\\n' \"$*\" >>\"$here/gh.log\"\n\
         [ \"$1 $2\" = 'release download' ]\n\
         cp \"$here\"/release/* .\n",
    );
    folder
}

fn download(folder: &TempDir, system: &str, version: &str) -> Output {
    let target = folder.path().join("installed");
    let environment = [
        ("ONOFF_SYSTEM", system),
        ("ONOFF_FOLDER", target.to_str().unwrap()),
        ("ONOFF_VERSION", version),
        ("ONOFF_REPOSITORY", "owner/onoff"),
    ];
    run_script(folder, "action/download", &[], &environment)
}

#[test]
fn action_verifies_checksum() {
    let folder = release();
    let output = download(&folder, "Linux-X64", "9.8.7");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(bash(&folder, "installed/onoff"), "released\n");
    let log = fs::read_to_string(folder.path().join("gh.log")).unwrap();
    assert!(log.starts_with("release download v9.8.7 --repo owner/onoff --clobber --pattern onoff-*-x86_64-unknown-linux-musl.* --pattern SHA256SUMS"), "{log}");

    // Without a version, `gh` uses the latest release.
    assert!(download(&folder, "Linux-X64", "").status.success());
    let log = fs::read_to_string(folder.path().join("gh.log")).unwrap();
    assert!(log.contains("\nrelease download --repo owner/onoff"), "{log}");
}

#[test]
fn action_rejects_wrong_package() {
    let folder = release();
    bash(&folder, "printf x >>release/onoff-9.8.7-x86_64-unknown-linux-musl.tar.gz");
    let output = download(&folder, "Linux-X64", "9.8.7");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout)
            .contains("::error::onoff-9.8.7-x86_64-unknown-linux-musl.tar.gz does not match SHA256SUMS")
    );
    assert!(!folder.path().join("installed/onoff").exists());

    // A checksum list without the package is rejected too.
    let folder = release();
    bash(&folder, "printf '%064d  another\\n' 0 >release/SHA256SUMS");
    assert_eq!(download(&folder, "Linux-X64", "9.8.7").status.code(), Some(1));

    let output = download(&release(), "Linux-RISCV64", "9.8.7");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("::error::onoff has no release for Linux-RISCV64"));
}

fn gate(baseline: &str, candidate: &str, limits: &str, fail_without_verdict: &str) -> (Output, String, String) {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_onoff"), folder.path().join("onoff")).unwrap();
    std::os::unix::fs::symlink(repository().join("samples/runs"), folder.path().join("runs")).unwrap();
    let (summary, outputs) = (folder.path().join("summary.md"), folder.path().join("outputs"));
    let environment = [
        ("ONOFF_BASELINE", baseline),
        ("ONOFF_CANDIDATE", candidate),
        ("ONOFF_LIMITS", limits),
        ("ONOFF_FAIL_WITHOUT_VERDICT", fail_without_verdict),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
        ("GITHUB_OUTPUT", outputs.to_str().unwrap()),
    ];
    let output = run_script(&folder, "action/gate", &[], &environment);
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    (output, read(&summary), read(&outputs))
}

#[test]
fn action_fails_slower_build() {
    // Between the runs, the service ProfSvc became 2 s slower (samples/README.md).
    let (output, summary, outputs) = gate("runs/before", "runs/after", "\n  boot.total 5% and 500ms  \n\n", "true");
    assert_eq!(output.status.code(), Some(1), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(outputs, "verdict=regression\n");
    assert!(text(&output.stdout).contains("::error"), "{}", text(&output.stdout));
    assert!(summary.contains('|') && summary.contains("boot"), "{summary}");

    let (output, _, outputs) = gate("runs/after", "runs/before", "boot.total 5% and 500ms", "true");
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(outputs, "verdict=pass\n");
    assert!(!text(&output.stdout).contains("::error"));
}

#[test]
fn action_without_verdict_fails_by_default() {
    let file_name =
        fs::read_dir(repository().join("samples/runs/before")).unwrap().next().unwrap().unwrap().file_name();
    let single_run = format!("runs/before/{}", file_name.to_str().unwrap());
    let (output, _, outputs) = gate(&single_run, &single_run, "boot.total 5% and 500ms", "true");
    assert_eq!((output.status.code(), outputs.as_str()), (Some(2), "verdict=no-verdict\n"));
    let (output, _, outputs) = gate(&single_run, &single_run, "boot.total 5% and 500ms", "false");
    assert_eq!((output.status.code(), outputs.as_str()), (Some(0), "verdict=no-verdict\n"));
    assert!(text(&output.stdout).contains("::warning::no verdict"));

    // An invalid limit gives no verdict.
    let (output, _, outputs) = gate("runs/before", "runs/after", "boot.total soon", "false");
    assert_eq!((output.status.code(), outputs.as_str()), (Some(64), ""));
}

#[test]
fn manifests_have_release_checksums() {
    let folder = tempfile::tempdir().unwrap();
    let packages = [
        ("aarch64-apple-darwin.tar.gz", 'a'),
        ("x86_64-apple-darwin.tar.gz", 'b'),
        ("aarch64-unknown-linux-musl.tar.gz", 'c'),
        ("x86_64-unknown-linux-musl.tar.gz", 'd'),
        ("x86_64-pc-windows-msvc.zip", 'e'),
    ];
    let checksums: String = packages
        .iter()
        .map(|(name, digit)| format!("{}  onoff-1.2.3-{name}\n", digit.to_string().repeat(64)))
        .collect();
    fs::write(folder.path().join("SHA256SUMS"), &checksums).unwrap();
    let arguments = ["1.2.3", "owner/onoff", "SHA256SUMS", "manifests"];
    let output = run_script(&folder, "packaging/manifests", &arguments, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));

    let formula = fs::read_to_string(folder.path().join("manifests/onoff.rb")).unwrap();
    for (name, digit) in &packages[..4] {
        let address = format!("url \"https://github.com/owner/onoff/releases/download/v1.2.3/onoff-1.2.3-{name}\"");
        let (_, after_address) = formula.split_once(&address).unwrap_or_else(|| panic!("{name}: {formula}"));
        let checksum = after_address.lines().nth(1).unwrap().trim();
        assert_eq!(checksum, format!("sha256 \"{}\"", digit.to_string().repeat(64)), "{name}");
    }
    let installer = fs::read_to_string(folder.path().join("manifests/owner.onoff.installer.yaml")).unwrap();
    assert!(installer.contains(&format!("InstallerSha256: {}", "E".repeat(64))), "{installer}");
    assert!(installer.contains("RelativeFilePath: onoff-1.2.3-x86_64-pc-windows-msvc\\onoff.exe"), "{installer}");

    // A package without a checksum is an error.
    fs::write(folder.path().join("SHA256SUMS"), checksums.lines().skip(1).collect::<Vec<_>>().join("\n")).unwrap();
    let output = run_script(&folder, "packaging/manifests", &arguments, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "manifests: no checksum for onoff-1.2.3-aarch64-apple-darwin.tar.gz\n");
}

/// `tools/package` writes the names that `action/download`, the formula, winget and `cargo binstall` expect.
#[test]
fn package_has_expected_names() {
    let folder = tempfile::tempdir().unwrap();
    bash(
        &folder,
        "mkdir -p target/x86_64-unknown-linux-musl/dist; printf '#!/bin/sh\\n' >target/x86_64-unknown-linux-musl/dist/onoff",
    );
    let target_folder = folder.path().join("target");
    let output = run_script(
        &folder,
        "tools/package",
        &["x86_64-unknown-linux-musl"],
        &[("CARGO_TARGET_DIR", target_folder.to_str().unwrap())],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let name = format!("onoff-{}-x86_64-unknown-linux-musl", env!("CARGO_PKG_VERSION"));
    let archive_files = bash(&folder, &format!("tar -tzf target/packages/{name}.tar.gz"));
    for file in
        ["onoff", "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "onoff.wprp", "save-boot-log.ps1"]
    {
        assert!(archive_files.lines().any(|line| line == format!("{name}/{file}")), "{file}: {archive_files}");
    }

    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let fill = |template: &toml::Value, target: &str| {
        template
            .as_str()
            .unwrap()
            .replace("{ repo }", "R")
            .replace("{ version }", env!("CARGO_PKG_VERSION"))
            .replace("{ target }", target)
            .replace("{ bin }", "onoff")
            .replace("{ binary-ext }", if target.contains("windows") { ".exe" } else { "" })
    };
    let version = env!("CARGO_PKG_VERSION");
    let linux = "x86_64-unknown-linux-musl";
    assert_eq!(fill(&binstall["pkg-url"], linux), format!("R/releases/download/v{version}/{name}.tar.gz"));
    assert_eq!(fill(&binstall["bin-dir"], linux), format!("{name}/onoff"));
    let windows = &binstall["overrides"]["x86_64-pc-windows-msvc"];
    assert_eq!(
        fill(&windows["pkg-url"], "x86_64-pc-windows-msvc"),
        format!("R/releases/download/v{version}/onoff-{version}-x86_64-pc-windows-msvc.zip")
    );
    assert_eq!(windows["pkg-fmt"].as_str(), Some("zip"));
}
