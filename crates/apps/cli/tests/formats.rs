//! Every output format of a simulated boot.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::harness::Folder;
use serde_json::Value;

/// A boot with a slow service in a load-order group.
const SCENARIO: &str = "table-7-slow-service-in-group.toml";

#[test]
fn boot_as_text() {
    insta::assert_snapshot!(Folder::boot(SCENARIO).answer("boot boot.etl"));
}

#[test]
fn boot_as_xml() {
    insta::assert_snapshot!(Folder::boot(SCENARIO).answer("boot boot.etl --format xml"));
}

#[test]
fn boot_as_csv() {
    let folder = Folder::boot(SCENARIO);
    insta::assert_snapshot!("services_csv", folder.answer("boot boot.etl --format csv"));
    insta::assert_snapshot!("pnp_csv", folder.answer("boot boot.etl --format csv --csv pnp"));
}

#[test]
fn info_as_text() {
    insta::assert_snapshot!(Folder::boot(SCENARIO).answer("info boot.etl --top 8"));
}

#[test]
fn events_as_rows() {
    let folder = Folder::boot(SCENARIO);
    let rows = folder.answer("events boot.etl --event P-Start --event P-End");
    insta::assert_snapshot!("events_of_processes", rows);
    // The header block is covered by the snapshot above.
    let rows = folder.answer("events boot.etl --range 16s 16.02s");
    let (_, rows) = rows.split_once("EndHeader\n").unwrap();
    insta::assert_snapshot!("events_of_a_range", rows);
}

#[test]
fn events_as_json() {
    let lines = Folder::boot(SCENARIO).answer("events boot.etl --format json --process services.exe --range 0 20s");
    let lines: Vec<&str> = lines.lines().take(6).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn dump_and_json_match_event_count() {
    let folder = Folder::boot(SCENARIO);
    let info: Value = serde_json::from_str(&folder.answer("info boot.etl --format json")).unwrap();
    let events = info["events"].as_u64().unwrap();
    let json = folder.answer("events boot.etl --format json");
    assert_eq!(json.lines().count() as u64, events);
    let mut last_ns = i64::MIN;
    let mut event_counts = BTreeMap::<String, u64>::new();
    for line in json.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let time_ns = event["time_ns"].as_i64().unwrap();
        assert!(time_ns >= last_ns, "{line}");
        last_ns = time_ns;
        *event_counts.entry(event["name"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    // Versions of an event count as separate kinds with the same name.
    let mut info_counts = BTreeMap::<String, u64>::new();
    for kind in info["kinds"].as_array().unwrap() {
        *info_counts.entry(kind["name"].as_str().unwrap().to_owned()).or_default() += kind["events"].as_u64().unwrap();
    }
    assert_eq!(event_counts, info_counts);
    // The name in `info` selects the event.
    let (name, events) = info_counts.iter().max_by_key(|&(_, events)| events).unwrap();
    let selected = folder.answer(&format!("events boot.etl --format json --event {name}"));
    assert_eq!(selected.lines().count() as u64, *events, "{name}");
}
