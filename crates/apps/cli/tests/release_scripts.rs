//! The scripts of the action, of packages and of manifests, run against stand-ins of `gh` and the real program.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// A script of the repository, with `folder` first in the path, run in `folder`.
fn script(folder: &TempDir, name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
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

fn program(folder: &TempDir, name: &str, lines: &str) {
    let path = folder.path().join(name);
    fs::write(&path, lines).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn bash(folder: &TempDir, line: &str) -> String {
    let output =
        Command::new("bash").args(["-euo", "pipefail", "-c", line]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A release of one package in the folder `release`, and a `gh` that hands it out as the real one does, refusing other arguments.
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
    program(
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
    let to = folder.path().join("installed");
    let environment = [
        ("ONOFF_SYSTEM", system),
        ("ONOFF_FOLDER", to.to_str().unwrap()),
        ("ONOFF_VERSION", version),
        ("ONOFF_REPOSITORY", "owner/onoff"),
    ];
    script(folder, "action/download", &[], &environment)
}

#[test]
fn the_action_installs_the_release_that_its_checksum_names() {
    let folder = release();
    let output = download(&folder, "Linux-X64", "9.8.7");
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(bash(&folder, "installed/onoff"), "released\n");
    let asked = fs::read_to_string(folder.path().join("gh.log")).unwrap();
    assert!(asked.starts_with("release download v9.8.7 --repo owner/onoff --clobber --pattern onoff-*-x86_64-unknown-linux-musl.* --pattern SHA256SUMS"), "{asked}");

    // Without a version the latest release, which `gh` takes when no tag is given.
    assert!(download(&folder, "Linux-X64", "").status.success());
    let asked = fs::read_to_string(folder.path().join("gh.log")).unwrap();
    assert!(asked.contains("\nrelease download --repo owner/onoff"), "{asked}");
}

#[test]
fn the_action_refuses_a_package_that_is_not_the_released_one() {
    let folder = release();
    bash(&folder, "printf x >>release/onoff-9.8.7-x86_64-unknown-linux-musl.tar.gz");
    let output = download(&folder, "Linux-X64", "9.8.7");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout)
            .contains("::error::checksum of onoff-9.8.7-x86_64-unknown-linux-musl.tar.gz does not match SHA256SUMS")
    );
    assert!(!folder.path().join("installed/onoff").exists());

    // A list without the package is no proof either.
    let folder = release();
    bash(&folder, "printf '%064d  another\\n' 0 >release/SHA256SUMS");
    assert_eq!(download(&folder, "Linux-X64", "9.8.7").status.code(), Some(1));

    let output = download(&release(), "Linux-RISCV64", "9.8.7");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("::error::onoff has no release for Linux-RISCV64"));
}

fn gate(baseline: &str, candidate: &str, limits: &str, without_verdict: &str) -> (Output, String, String) {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_onoff"), folder.path().join("onoff")).unwrap();
    std::os::unix::fs::symlink(repository().join("samples/runs"), folder.path().join("runs")).unwrap();
    let (summary, outputs) = (folder.path().join("summary.md"), folder.path().join("outputs"));
    let environment = [
        ("ONOFF_BASELINE", baseline),
        ("ONOFF_CANDIDATE", candidate),
        ("ONOFF_LIMITS", limits),
        ("ONOFF_FAIL_WITHOUT_VERDICT", without_verdict),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
        ("GITHUB_OUTPUT", outputs.to_str().unwrap()),
    ];
    let output = script(&folder, "action/gate", &[], &environment);
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    (output, read(&summary), read(&outputs))
}

#[test]
fn the_action_fails_the_build_that_got_slower() {
    // samples/README.md says what was changed between the runs: the service ProfSvc takes 2 s longer.
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
fn without_a_verdict_the_build_fails_unless_it_need_not() {
    let one = fs::read_dir(repository().join("samples/runs/before")).unwrap().next().unwrap().unwrap().file_name();
    let one = format!("runs/before/{}", one.to_str().unwrap());
    let (output, _, outputs) = gate(&one, &one, "boot.total 5% and 500ms", "true");
    assert_eq!((output.status.code(), outputs.as_str()), (Some(2), "verdict=no-verdict\n"));
    let (output, _, outputs) = gate(&one, &one, "boot.total 5% and 500ms", "false");
    assert_eq!((output.status.code(), outputs.as_str()), (Some(0), "verdict=no-verdict\n"));
    assert!(text(&output.stdout).contains("::warning::no verdict"));

    // A limit that makes no sense is no verdict of any kind.
    let (output, _, outputs) = gate("runs/before", "runs/after", "boot.total soon", "false");
    assert_eq!((output.status.code(), outputs.as_str()), (Some(64), ""));
}

#[test]
fn the_manifests_carry_the_checksums_of_the_release() {
    let folder = tempfile::tempdir().unwrap();
    let packages = [
        ("aarch64-apple-darwin.tar.gz", 'a'),
        ("x86_64-apple-darwin.tar.gz", 'b'),
        ("aarch64-unknown-linux-musl.tar.gz", 'c'),
        ("x86_64-unknown-linux-musl.tar.gz", 'd'),
        ("x86_64-pc-windows-msvc.zip", 'e'),
    ];
    let sums: String = packages
        .iter()
        .map(|(name, digit)| format!("{}  onoff-1.2.3-{name}\n", digit.to_string().repeat(64)))
        .collect();
    fs::write(folder.path().join("SHA256SUMS"), &sums).unwrap();
    let arguments = ["1.2.3", "owner/onoff", "SHA256SUMS", "manifests"];
    let output = script(&folder, "packaging/manifests", &arguments, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));

    let formula = fs::read_to_string(folder.path().join("manifests/onoff.rb")).unwrap();
    for (name, digit) in &packages[..4] {
        let address = format!("url \"https://github.com/owner/onoff/releases/download/v1.2.3/onoff-1.2.3-{name}\"");
        let (_, after) = formula.split_once(&address).unwrap_or_else(|| panic!("{name}: {formula}"));
        let sum = after.lines().nth(1).unwrap().trim();
        assert_eq!(sum, format!("sha256 \"{}\"", digit.to_string().repeat(64)), "{name}");
    }
    let installer = fs::read_to_string(folder.path().join("manifests/owner.onoff.installer.yaml")).unwrap();
    assert!(installer.contains(&format!("InstallerSha256: {}", "E".repeat(64))), "{installer}");
    assert!(installer.contains("RelativeFilePath: onoff-1.2.3-x86_64-pc-windows-msvc\\onoff.exe"), "{installer}");

    // A package without a checksum ends it.
    fs::write(folder.path().join("SHA256SUMS"), sums.lines().skip(1).collect::<Vec<_>>().join("\n")).unwrap();
    let output = script(&folder, "packaging/manifests", &arguments, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "manifests: no checksum for onoff-1.2.3-aarch64-apple-darwin.tar.gz\n");
}

/// What `tools/package` writes is what `action/download`, the formula, winget and `cargo binstall` look for.
#[test]
fn a_package_has_the_names_that_its_takers_expect() {
    let folder = tempfile::tempdir().unwrap();
    bash(
        &folder,
        "mkdir -p target/x86_64-unknown-linux-musl/dist; printf '#!/bin/sh\\n' >target/x86_64-unknown-linux-musl/dist/onoff",
    );
    let built = folder.path().join("target");
    let output = script(
        &folder,
        "tools/package",
        &["x86_64-unknown-linux-musl"],
        &[("CARGO_TARGET_DIR", built.to_str().unwrap())],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let name = format!("onoff-{}-x86_64-unknown-linux-musl", env!("CARGO_PKG_VERSION"));
    let listed = bash(&folder, &format!("tar -tzf target/packages/{name}.tar.gz"));
    for file in
        ["onoff", "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "onoff.wprp", "save-boot-log.ps1"]
    {
        assert!(listed.lines().any(|line| line == format!("{name}/{file}")), "{file}: {listed}");
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
