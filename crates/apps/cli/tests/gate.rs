//! `onoff gate` and saved baselines on simulated recordings.
#![allow(clippy::unwrap_used)]

use crate::harness::Folder;
use crate::sarif_schema::sarif_violations;
use onoff_simulator::Scenario;
use serde_json::{Value, json};

/// Records one boot per time (ms) at which the desktop is ready, to one folder.
fn record_boots(folder: &Folder, name: &str, ready_ms: &[u64]) {
    std::fs::create_dir(folder.path(name)).unwrap();
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios/write-filter-on.toml");
    let text = std::fs::read_to_string(path).unwrap();
    for (index, ms) in ready_ms.iter().enumerate() {
        let text = text.replace("ready_at = \"31000ms\"", &format!("ready_at = \"{ms}ms\""));
        let simulation = Scenario::from_toml(&text).unwrap().simulate().unwrap();
        folder.file(&format!("{name}/{}.etl", index + 1), &simulation.files[0]);
    }
}

/// Records a baseline, an equally fast candidate, and a candidate that is 3 s slower.
fn folder() -> Folder {
    let folder = Folder::new();
    record_boots(&folder, "good", &[31_000, 31_040, 31_090]);
    record_boots(&folder, "same", &[31_010, 31_050, 31_080]);
    record_boots(&folder, "slow", &[34_000, 34_050, 34_100]);
    folder
}

const LIMIT: &str = "--limit boot.total~5%~and~500ms";

/// Runs the program; `~` in arguments stands for a blank.
fn gate(folder: &Folder, arguments: &str) -> (i32, String, String) {
    let mut command = folder.command("gate");
    command.args(arguments.split_whitespace().map(|word| word.replace('~', " ")));
    let output = command.output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn exit_codes_for_pass_regression_and_no_verdict() {
    let folder = folder();
    let (code, text, _) = gate(&folder, &format!("--baseline good --candidate same {LIMIT}"));
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("Pass: 1 limit met.\n"), "{text}");
    let (code, text, _) = gate(&folder, &format!("--baseline good --candidate slow {LIMIT}"));
    assert_eq!(code, 1, "{text}");
    assert!(text.starts_with("Regression: 1 of 1 limits exceeded.\n"), "{text}");
    // A single run gives no verdict, and an unreadable recording is not a regression.
    let (code, text, _) = gate(&folder, &format!("--baseline good --candidate slow/1.etl {LIMIT}"));
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("1 run in the candidate, at least 3 required"), "{text}");
    let (code, text, stderr) = gate(&folder, &format!("--baseline good --candidate absent.etl {LIMIT}"));
    assert_eq!((code, text.as_str()), (2, ""), "{stderr}");
    let (code, _, _) = gate(&folder, &format!("--baseline good/1.etl --candidate slow/1.etl --least-runs 1 {LIMIT}"));
    assert_eq!(code, 1);
    for invalid_limit in ["", "--limit boot.total", "--limit 5%"] {
        let (code, _, stderr) = gate(&folder, &format!("--baseline good --candidate same {invalid_limit}"));
        assert_eq!(code, 64, "{invalid_limit}");
        assert!(stderr.contains("--limit"), "{stderr}");
    }
}

#[test]
fn verdict_does_not_depend_on_reader() {
    let folder = folder();
    for format in ["text", "json", "junit", "sarif", "github", "markdown"] {
        for (candidate, expected) in [("same", 0), ("slow", 1), ("slow/1.etl", 2)] {
            let mut command =
                folder.command(&format!("gate --baseline good --candidate {candidate} --format {format}"));
            command.args(["--limit", "boot.total 5% and 500ms"]);
            let output = folder.run_with_closed_pipe(command);
            assert_eq!(output.status.code(), Some(expected), "{candidate} as {format}");
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{candidate} as {format}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_report_is_not_a_pass() {
    let folder = folder();
    for candidate in ["same", "slow"] {
        let mut command = folder.command(&format!("gate --baseline good --candidate {candidate}"));
        let full_device = std::fs::File::options().write(true).open("/dev/full").unwrap();
        command.args(["--limit", "boot.total 5% and 500ms"]).stdout(full_device);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{candidate}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write the output"));
    }
}

#[test]
fn reports_excluded_runs_in_every_format() {
    let folder = Folder::boot("slow-boot.toml");
    let arguments = "--baseline boot.etl --candidate boot.etl --limit boot.total~1s --format";
    for (format, expected) in [
        ("text", "No verdict on 1 of 1 limits."),
        ("json", "\"verdict\": \"no_verdict\""),
        ("junit", "errors=\"1\""),
        ("sarif", "\"kind\": \"open\""),
        ("github", "::warning file=boot.etl,"),
    ] {
        let (code, text, stderr) = gate(&folder, &format!("{arguments} {format}"));
        assert_eq!(code, 2, "{stderr}");
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("call stacks were recorded"), "{text}");
    }
}

#[test]
fn saved_baseline_replaces_recordings() {
    let folder = folder();
    let (code, text, stderr) = gate(&folder, "--baseline good --save-baseline base.json");
    assert_eq!((code, text.as_str()), (0, "base.json: 3 runs saved\n"), "{stderr}");
    let bytes = std::fs::metadata(folder.path("base.json")).unwrap().len();
    assert!(bytes < 100_000, "{bytes} bytes for three small boots");
    for (candidate, expected) in [("same", 0), ("slow", 1)] {
        let from_file = gate(&folder, &format!("--baseline base.json --candidate {candidate} {LIMIT} --format json"));
        let from_folder = gate(&folder, &format!("--baseline good --candidate {candidate} {LIMIT} --format json"));
        assert_eq!(from_file.0, expected);
        // The reports differ only in provenance: with a saved baseline, they list only the recordings of the candidate.
        let [mut from_file, mut from_folder] =
            [from_file.1, from_folder.1].map(|text| serde_json::from_str::<Value>(&text).unwrap());
        let recordings = |answer: &Value| answer["onoff"]["recordings"].as_array().unwrap().len();
        assert_eq!((recordings(&from_file), recordings(&from_folder)), (3, 6));
        for answer in [&mut from_file, &mut from_folder] {
            answer["onoff"]["recordings"].take();
        }
        assert_eq!(from_file, from_folder);
    }
    // `compare` accepts a saved baseline too.
    let text = folder.answer("compare --baseline base.json --candidate slow");
    assert!(text.starts_with("The boot is 3.01 s (9.7 %) slower: "), "{text}");
}

#[test]
fn validates_foreign_baselines() {
    let folder = folder();
    gate(&folder, "--baseline good --save-baseline base.json");
    let good: Value = serde_json::from_slice(&std::fs::read(folder.path("base.json")).unwrap()).unwrap();
    type Corruption = fn(&mut Value);
    let cases: [(Corruption, &str); 8] = [
        (|baseline| baseline["version"] = json!(1), "unsupported baseline version 1"),
        (|baseline| baseline["format"] = json!("other"), "format 'other'"),
        (|baseline| baseline["runs"] = json!([]), "no run"),
        (|baseline| baseline["runs"][0]["measures"][0]["value"] = json!(-1), "out of range"),
        (|baseline| baseline["runs"][0]["measures"][0]["value"] = json!(1e300), "not an onoff baseline"),
        (|baseline| baseline["runs"][0]["measures"][0]["key"] = json!("x"), "does not match its category"),
        (|baseline| baseline["runs"][0]["surprise"] = json!(1), "not an onoff baseline"),
        (|baseline| *baseline = json!([1, 2]), "not an onoff baseline"),
    ];
    for (corrupt, expected) in cases {
        let mut corrupted = good.clone();
        corrupt(&mut corrupted);
        folder.file("bad.json", corrupted.to_string().as_bytes());
        let (code, text, stderr) = gate(&folder, &format!("--baseline bad.json --candidate same {LIMIT}"));
        assert_eq!((code, text.as_str()), (2, ""), "{expected}");
        assert!(stderr.contains("bad.json: ") && stderr.contains(expected), "{expected}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    for bytes in [&b""[..], b"{", b"\xff\xfe", &b"[".repeat(100_000)] {
        folder.file("bad.json", bytes);
        let (code, _, stderr) = gate(&folder, &format!("--baseline bad.json --candidate same {LIMIT}"));
        assert_eq!(code, 2);
        assert!(stderr.contains("bad.json"), "{stderr}");
    }
}

#[test]
fn junit_has_case_per_measure() {
    let folder = folder();
    let (code, xml, _) = gate(
        &folder,
        &format!(
            "--baseline good --candidate slow {LIMIT} --limit boot.phase.*Init~10% --limit never~5% --format junit"
        ),
    );
    assert_eq!(code, 1);
    let document = roxmltree::Document::parse(&xml).unwrap();
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    let cases: Vec<_> = root.descendants().filter(|node| node.has_tag_name("testcase")).collect();
    let number =
        |node: roxmltree::Node<'_, '_>, name: &str| -> usize { node.attribute(name).unwrap().parse().unwrap() };
    for (name, element) in [("failures", "failure"), ("errors", "error")] {
        let element_count = root.descendants().filter(|node| node.has_tag_name(element)).count();
        assert_eq!(number(root, name), element_count, "{name}");
        for suite in root.children().filter(|node| node.has_tag_name("testsuite")) {
            let element_count = suite.descendants().filter(|node| node.has_tag_name(element)).count();
            assert_eq!(number(suite, name), element_count);
        }
    }
    assert_eq!(number(root, "tests"), cases.len());
    // Attributes required by the schema.
    for case in &cases {
        assert!(case.attribute("classname").is_some() && case.attribute("name").is_some());
        for child in case.children().filter(roxmltree::Node::is_element) {
            assert!(["failure", "error"].contains(&child.tag_name().name()));
            assert!(!child.attribute("message").unwrap().is_empty());
        }
    }
    let total = cases.iter().find(|case| case.attribute("name") == Some("boot.total")).unwrap();
    assert_eq!(total.attribute("time"), Some("34.050000"));
    assert!(total.children().any(|node| node.has_tag_name("failure")));
    let explorer = cases.iter().find(|case| case.attribute("name") == Some("boot.phase.ExplorerInit")).unwrap();
    assert!(explorer.children().any(|node| node.has_tag_name("failure")));
}

/// A third-party parser reads the same counts.
#[test]
fn junit_parser_agrees() {
    let folder = folder();
    let (_, xml, _) = gate(
        &folder,
        &format!(
            "--baseline good --candidate slow {LIMIT} --limit boot.phase.*Init~10% --limit never~5% --format junit"
        ),
    );
    let suites = junit_parser::from_reader(xml.as_bytes()).unwrap();
    let cases: Vec<_> = suites.suites.iter().flat_map(|suite| &suite.cases).collect();
    let count = |has_status: fn(&junit_parser::TestStatus) -> bool| {
        let matching = cases.iter().filter(|case| has_status(&case.status));
        u64::try_from(matching.count()).unwrap()
    };
    assert_eq!(suites.tests, u64::try_from(cases.len()).unwrap());
    assert_eq!(suites.failures, count(junit_parser::TestStatus::is_failure));
    assert_eq!(suites.errors, count(junit_parser::TestStatus::is_error));
    assert_eq!(suites.skipped, 0);
    assert!(suites.failures >= 2 && suites.errors == 1, "{xml}");
    for suite in &suites.suites {
        assert!(!suite.name.is_empty());
        assert_eq!(suite.tests, u64::try_from(suite.cases.len()).unwrap());
    }
    let total = cases.iter().find(|case| case.original_name == "boot.total").unwrap();
    assert!((total.time - 34.05).abs() < 1e-9);
    let failure = total.status.failure_as_ref();
    assert!(!failure.message.is_empty() && !failure.failure_type.is_empty());
}

/// The schema check finds violations.
#[test]
fn schema_check_detects_invalid_sarif() {
    let folder = folder();
    let (_, text, _) = gate(&folder, &format!("--baseline good --candidate slow {LIMIT} --format sarif"));
    let good: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(sarif_violations(&good), [""; 0]);
    for (pointer, value) in [
        ("/version", json!("2.0.0")),
        ("/runs/0/tool", json!({})),
        ("/runs/0/tool/driver/surprise", json!(1)),
        ("/runs/0/results/0/level", json!("fatal")),
        ("/runs/0/results/0/ruleIndex", json!(-2)),
        ("/runs/0/results/0/message", json!({ "markdown": "no text" })),
        ("/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri", json!("a file.etl")),
    ] {
        let mut corrupted = good.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        corrupted.pointer_mut(parent).unwrap()[key] = value;
        assert!(!sarif_violations(&corrupted).is_empty(), "{pointer}");
    }
}

#[test]
fn sarif_matches_schema() {
    let folder = folder();
    let (code, text, _) =
        gate(&folder, &format!("--baseline good --candidate slow {LIMIT} --limit never~5% --format sarif"));
    assert_eq!(code, 1);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(sarif_violations(&document), [""; 0]);
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    let driver = &runs[0]["tool"]["driver"];
    assert_eq!(driver["name"], "onoff");
    let rules = driver["rules"].as_array().unwrap();
    let mut ids = std::collections::HashSet::new();
    for rule in rules {
        assert!(ids.insert(rule["id"].as_str().unwrap()), "ids are unique");
        assert!(rule["shortDescription"]["text"].is_string());
    }
    let results = runs[0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{text}");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let kind = result["kind"].as_str().unwrap();
        // Section 3.27.10: every kind except fail has the level none.
        assert_eq!(result["level"] == "none", kind != "fail");
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!(uri, "slow/1.etl");
    }
    assert_eq!(results[0]["ruleId"], "regression");
    assert_eq!(results[1]["ruleId"], "no-verdict");
}

#[test]
fn writes_workflow_annotations() {
    let folder = folder();
    let (code, text, _) =
        gate(&folder, &format!("--baseline good --candidate slow {LIMIT} --limit never~5% --format github"));
    assert_eq!(code, 1);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("::error file=slow/1.etl,title=boot.total::boot.total: 34."), "{text}");
    assert!(lines[0].contains("more than boot.total 5%25 and 500ms"), "{text}");
    assert!(lines[1].starts_with("::warning file=slow/1.etl,title=never 5%25::"), "{text}");
    assert!(lines[2].starts_with("::notice "), "{text}");
}

#[test]
fn writes_pull_request_table() {
    let folder = folder();
    let (code, table, _) = gate(&folder, &format!("good slow {LIMIT} --limit never~5% --format markdown"));
    assert_eq!(code, 1);
    assert!(table.starts_with("### Regression: 1 of 2 limits exceeded.\n\n| | measure |"), "{table}");
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("boot.total")).collect();
    assert_eq!(rows.len(), 1, "{table}");
    assert!(
        rows[0].starts_with("| **exceeded** | boot.total | ") && rows[0].ends_with(" | boot.total 5% and 500ms |"),
        "{table}"
    );
    let (code, table, _) = gate(&folder, &format!("good same {LIMIT} --format markdown"));
    assert_eq!(code, 0);
    assert!(table.contains("| met | boot.total |") && !table.contains("exceeded**"), "{table}");
}
