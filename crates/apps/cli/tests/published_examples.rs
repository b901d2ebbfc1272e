//! xperf XML of simulated boots has the rows printed in papers.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use onoff_simulator::{PublishedService, Scenario};

fn scenario(name: &str) -> Scenario {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios").join(format!("{name}.toml"));
    Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn simulate(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(format!("{name}.etl"));
    std::fs::write(&path, &scenario(name).simulate().unwrap().files[0]).unwrap();
    path
}

fn onoff(arguments: &[&str], recording: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_onoff")).args(arguments).arg(recording).output().unwrap();
    assert!(output.status.success(), "onoff {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the value of an attribute on a line of XML.
fn attribute<'x>(line: &'x str, name: &str) -> &'x str {
    let rest_of_line = line.split_once(&format!(" {name}=\"")).unwrap().1;
    rest_of_line.split_once('"').unwrap().0
}

#[test]
fn matches_services_excerpt_of_embedded_paper() {
    let folder = tempfile::tempdir().unwrap();
    let xml = onoff(&["boot", "--format", "xml"], &simulate(folder.path(), "services-wes7"));
    let rows: Vec<&str> = xml.lines().filter(|line| line.trim_start().starts_with("<serviceTransition ")).collect();
    let expected: Vec<PublishedService> = scenario("services-wes7").expect.service;
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!(attribute(row, "name"), expected.name);
        assert_eq!(attribute(row, "group"), expected.group);
        assert_eq!(attribute(row, "transition"), "start");
        assert_eq!(Some(attribute(row, "container")), expected.container.as_deref());
        // The paper's tool truncated milliseconds and later tools round them, so rows may differ by 1 ms.
        for (name, published) in [
            ("totalTransitionTimeDelta", Some(expected.total_ms)),
            ("firstCheckpointTimeDelta", expected.first_checkpoint_ms),
            ("processingTimeDelta", expected.processing_ms),
            ("startedAt", expected.started_at_ms),
            ("firstCheckpointedAt", expected.first_checkpointed_at_ms),
            ("endedAt", expected.ended_at_ms),
        ] {
            let actual: u64 = attribute(row, name).parse().unwrap();
            assert!(actual.abs_diff(published.unwrap()) <= 1, "{} {name}: {actual}", expected.name);
        }
    }
}

#[test]
fn matches_timing_node_of_table_5() {
    let folder = tempfile::tempdir().unwrap();
    for run in ["table-5-run-1", "table-5-run-2"] {
        let expect = scenario(run).expect;
        let xml = onoff(&["boot", "--format", "xml"], &simulate(folder.path(), run));
        let timing = xml.lines().find(|line| line.contains("<timing ")).unwrap();
        let number = |name: &str| attribute(timing, name).parse::<u64>().ok();
        assert_eq!(number("bootDoneViaExplorer"), expect.boot_done_via_explorer_ms);
        assert_eq!(number("osLoaderDuration"), expect.os_loader_ms);
        let via_post_boot = number("bootDoneViaPostBoot").map(|total| total - 10_000);
        assert_eq!(via_post_boot, expect.total_boot_ms);
        for (name, published) in [
            ("PreSMSS", expect.pre_smss_ms),
            ("SMSSInit", expect.smss_init_ms),
            ("WinLogonInit", expect.winlogon_init_ms),
            ("ExplorerInit", expect.explorer_init_ms),
            ("PostExplorerPeriod", expect.post_boot_ms),
        ] {
            let interval =
                xml.lines().find(|line| line.contains("<interval ") && attribute(line, "name") == name).unwrap();
            assert_eq!(attribute(interval, "duration").parse().ok(), published, "{run}: {name}");
        }
    }
}

#[test]
fn analyzes_sample() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/slow-boot.etl");
    let text = onoff(&["boot"], &sample);
    for fact in ["SoundShaper", "LegacyScan", "did not pend", "CloudBox", "WinLogonInit"] {
        assert!(text.contains(fact), "{fact} is not in:\n{text}");
    }
    let info = onoff(&["info", "--format", "json"], &sample);
    let simulation = scenario("slow-boot").simulate().unwrap();
    let events = format!("\"events\": {},", simulation.truth.records);
    assert!(info.contains(&events), "{events} is not in:\n{info}");
}
