//! `onoff compare --study` reproduces the tables of the papers.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::harness::Folder;
use onoff_simulator::Scenario;
use serde_json::Value;

fn scenario(name: &str) -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios").join(format!("{name}.toml"));
    std::fs::read_to_string(path).unwrap()
}

fn record(folder: &Folder, scenario: &str, name: &str) {
    let simulation = Scenario::from_toml(scenario).unwrap().simulate().unwrap();
    folder.file(name, &simulation.files[0]);
}

/// Returns the rows of a study's table: label and displayed numbers.
fn table(comparison: &Value, title: &str) -> Vec<(String, Vec<Option<f64>>)> {
    let table = comparison["tables"].as_array().unwrap().iter().find(|table| table["title"] == title).unwrap();
    let decimals = i32::try_from(table["decimals"].as_u64().unwrap()).unwrap();
    table["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let cells = row["cells"].as_array().unwrap();
            assert_eq!(cells.len(), table["columns"].as_array().unwrap().len());
            let numbers = cells.iter().map(|cell| {
                let decimals = if cell["unit"] == "percent" { 1 } else { decimals };
                let scale = 10_f64.powi(decimals);
                cell["number"].as_f64().map(|number| (number * scale).round() / scale)
            });
            (row["label"].as_str().unwrap().to_owned(), numbers.collect())
        })
        .collect()
}

fn study(folder: &Folder, text: &str) -> Value {
    folder.file("study.toml", text.as_bytes());
    serde_json::from_str(&folder.answer("compare --study study.toml --format json")).unwrap()
}

#[test]
fn table_5() {
    let folder = Folder::new();
    record(&folder, &scenario("table-5-run-1"), "1.etl");
    record(&folder, &scenario("table-5-run-2"), "2.etl");
    let text = r#"
        [[configuration]]
        name = "Run 1"
        files = ["1.etl"]
        [[configuration]]
        name = "Run 2"
        files = ["2.etl"]
        [[table]]
        title = "Table 5"
        measures = ["boot.os_loader", "boot.phase.PreSMSS", "boot.phase.SMSSInit", "boot.phase.WinLogonInit",
                    "boot.phase.ExplorerInit", "boot.phase.PostBoot", "boot.main_path", "boot.total"]
        labels = ["OSLoader", "PreSMSS", "SMSSInit", "WinLogonInit", "ExplorerInit", "PostBoot", "BootDoneViaExplorer", "Total Boot"]
    "#;
    let comparison = study(&folder, text);
    // The rows in the paper. The paper subtracts Run 2 from Run 1, and prints 0.7 % for the total, but 274 ms is 0.9 %.
    let expected = [
        ("OSLoader", 1926.0, 1926.0, 0.0, 0.0),
        ("PreSMSS", 10_753.0, 10_642.0, -111.0, -1.0),
        ("SMSSInit", 5461.0, 5601.0, 140.0, 2.6),
        ("WinLogonInit", 3697.0, 3947.0, 250.0, 6.8),
        ("ExplorerInit", 4861.0, 3408.0, -1453.0, -29.9),
        ("PostBoot", 16_200.0, 17_100.0, 900.0, 5.6),
        ("BootDoneViaExplorer", 24_773.0, 23_599.0, -1174.0, -4.7),
        ("Total Boot", 30_973.0, 30_699.0, -274.0, -0.9),
    ];
    let rows = table(&comparison, "Table 5");
    assert_eq!(rows.len(), expected.len());
    for ((label, numbers), (name, run_1, run_2, difference, percent)) in rows.iter().zip(expected) {
        assert_eq!(label, name);
        for (actual, published) in numbers.iter().zip([run_1, run_2, difference]) {
            // The paper truncates milliseconds, the table rounds them.
            assert!((actual.unwrap() - published).abs() <= 1.0, "{name}: {actual:?} {published}");
        }
        assert!((numbers[3].unwrap() - percent).abs() <= 0.11, "{name}: {numbers:?}");
    }
    let text = folder.answer("compare --study study.toml");
    assert!(text.contains("Run 1"), "{text}");
    let markdown = folder.answer("compare --study study.toml --format markdown");
    assert!(markdown.starts_with("### Table 5 (ms)\n\n|  | Run 1 | Run 2 | Difference | % |\n| --- |"), "{markdown}");
}

/// The study for tables 6 and A-1.
const PENDING: &str = r#"
    [[configuration]]
    name = "No Pended IRPs"
    files = ["none.etl"]
    [[configuration]]
    name = "Pend Start; do not pend Relations"
    files = ["start.etl"]
    [[configuration]]
    name = "Pend Start and Relations"
    files = ["both.etl"]
    [[table]]
    title = "Table 6"
    rows = "configurations"
    measures = ["boot.phase.PreSMSS", "boot.system_start", "boot.driver.Ramdisk.load", "boot.driver.Ramdisk.start",
                "boot.driver.Ramdisk.enumerate", "boot.total"]
    reduction_of = "boot.total"
    [[table]]
    title = "Table A-1"
    rows = "configurations"
    measures = ["boot.phase.PreSMSS", "boot.system_start", "boot.driver.Ramdisk.start", "boot.driver.Ramdisk.enumerate",
                "boot.total_with_idle"]
    reduction_of = "boot.total_with_idle"
"#;

fn check_table(comparison: &Value, title: &str, expected: &[(&str, &[Option<f64>])]) {
    let rows = table(comparison, title);
    assert_eq!(rows.len(), expected.len());
    for ((label, numbers), (name, published)) in rows.iter().zip(expected) {
        assert_eq!(label, name);
        assert_eq!(numbers.len(), published.len());
        for (actual, published) in numbers.iter().zip(*published) {
            match (actual, published) {
                (Some(actual), Some(published)) => {
                    assert!((actual - published).abs() <= 1.0, "{title}, {name}: {numbers:?}");
                }
                (actual, published) => assert_eq!(actual, published, "{title}, {name}"),
            }
        }
    }
}

#[test]
fn tables_6_and_a_1() {
    let folder = Folder::new();
    for (name, file) in [
        ("table-6-no-pended-requests", "none.etl"),
        ("table-6-pended-start", "start.etl"),
        ("table-6-pended-start-and-enumeration", "both.etl"),
    ] {
        record(&folder, &scenario(name), file);
    }
    let comparison = study(&folder, PENDING);
    let row = |numbers: [f64; 6], reduction: Option<f64>| -> Vec<Option<f64>> {
        numbers.into_iter().map(Some).chain([reduction]).collect()
    };
    check_table(
        &comparison,
        "Table 6",
        &[
            ("No Pended IRPs", &row([26_636.0, 20_813.0, 9214.0, 3000.0, 3000.0, 44_923.0], None)),
            (
                "Pend Start; do not pend Relations",
                &row([17_919.0, 13_007.0, 0.0, 3000.0, 3000.0, 36_839.0], Some(8084.0)),
            ),
            ("Pend Start and Relations", &row([17_294.0, 12_343.0, 0.0, 3000.0, 3000.0, 35_409.0], Some(9514.0))),
        ],
    );
    // The runs are the same, but the appendix includes the final 10 s of idle time.
    let row = |numbers: [f64; 5], reduction: Option<f64>| -> Vec<Option<f64>> {
        numbers.into_iter().map(Some).chain([reduction]).collect()
    };
    check_table(
        &comparison,
        "Table A-1",
        &[
            ("No Pended IRPs", &row([26_636.0, 20_813.0, 3000.0, 3000.0, 54_923.0], None)),
            ("Pend Start; do not pend Relations", &row([17_919.0, 13_007.0, 3000.0, 3000.0, 46_839.0], Some(8084.0))),
            ("Pend Start and Relations", &row([17_294.0, 12_343.0, 3000.0, 3000.0, 45_409.0], Some(9514.0))),
        ],
    );
}

#[test]
fn tables_7_and_a_2() {
    let folder = Folder::new();
    record(&folder, &scenario("table-7-slow-service-in-group"), "in.etl");
    record(&folder, &scenario("table-7-slow-service-in-no-group"), "out.etl");
    let tables: String = [("Table 7", "boot.total"), ("Table A-2", "boot.total_with_idle")]
        .map(|(title, total)| {
            format!(
                r#"
                [[table]]
                title = "{title}"
                rows = "configurations"
                measures = ["boot.service.Slowsvc", "boot.phase.WinLogonInit", "boot.phase.ExplorerInit",
                            "boot.services", "{total}"]
                reduction_of = "{total}"
                "#
            )
        })
        .concat();
    let text = format!(
        r#"
        [[configuration]]
        name = "Load Order Group"
        files = ["in.etl"]
        [[configuration]]
        name = "No Load Order Group"
        files = ["out.etl"]
        {tables}"#
    );
    let comparison = study(&folder, &text);
    // The tables in the paper differ in whether they include the 10 s of idle time.
    for (title, idle) in [("Table 7", 0.0), ("Table A-2", 10_000.0)] {
        let row = |numbers: [f64; 4], total: f64, reduction: Option<f64>| -> Vec<Option<f64>> {
            numbers.into_iter().map(Some).chain([Some(total + idle), reduction]).collect()
        };
        check_table(
            &comparison,
            title,
            &[
                ("Load Order Group", &row([6000.0, 7459.0, 1822.0, 10_720.0], 32_805.0, None)),
                ("No Load Order Group", &row([6000.0, 3893.0, 2864.0, 12_566.0], 31_888.0, Some(917.0))),
            ],
        );
    }
}

/// Releases, and average boot times from the write-filter paper in s: filter on, filter off.
const RELEASES: [(&str, f64, f64); 4] = [
    ("Windows 10 IoT Enterprise LTSC 2016", 41.34, 23.89),
    ("Windows 10 IoT Enterprise LTSC 2019", 40.81, 26.09),
    ("Windows 10 IoT Enterprise LTSC 2021", 49.22, 28.07),
    ("Windows 11 IoT Enterprise LTSC 2024 (Preview)", 51.74, 31.41),
];

/// Modifies the scenario to delay the desktop.
fn delay_desktop(name: &str, key: &str, original_ms: i64, delay_ms: i64) -> String {
    let text = scenario(name);
    let original = format!("{key} = \"{original_ms}ms\"");
    assert!(text.contains(&original), "{name}: {original}");
    text.replace(&original, &format!("{key} = \"{}ms\"", original_ms + delay_ms))
}

#[test]
fn matches_write_filter_paper_tables() {
    // Filter, scenario, cause of the longer boot, and its unmodified duration in ms.
    let filters = [("on", "write-filter-on", "ready_at", 31_000), ("off", "write-filter-off", "read", 12_000)];
    let folder = Folder::new();
    let mut text = String::from("transition = \"boot\"\n");
    for (filter, name, key, original_ms) in filters {
        record(&folder, &scenario(name), "as-is.etl");
        let answer = folder.answer("compare --baseline as-is.etl --candidate as-is.etl --format json");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let to_desktop =
            answer["measures"].as_array().unwrap().iter().find(|measure| measure["key"] == "boot.to_desktop").unwrap();
        let unmodified_ms = to_desktop["values"][0]["median"].as_f64().unwrap() / 1e6;
        for (release, on_s, off_s) in RELEASES {
            let target_ms = if filter == "on" { on_s } else { off_s } * 1000.0;
            let files: Vec<String> = [-240.0, 0.0, 310.0]
                .iter()
                .enumerate()
                .map(|(run, spread_ms)| {
                    #[allow(clippy::cast_possible_truncation, reason = "a few seconds in ms")]
                    let delay_ms = (target_ms + spread_ms - unmodified_ms).round() as i64;
                    let file = format!("{}-{filter}-{run}.etl", release.replace(' ', "-"));
                    record(&folder, &delay_desktop(name, key, original_ms, delay_ms), &file);
                    format!("\"{file}\"")
                })
                .collect();
            text += &format!(
                "[[configuration]]\nname = \"{release}, filter {filter}\"\nfiles = [{}]\n\
                 factors = {{ release = \"{release}\", \"write filter\" = \"{filter}\" }}\n",
                files.join(", ")
            );
        }
    }
    for (title, filter) in
        [("UWF Enabled/ Fast Startup Disabled", "on"), ("UWF Disabled / Fast Startup Enabled", "off")]
    {
        text += &format!(
            "[[table]]\ntitle = \"{title}\"\nmeasures = [\"boot.to_desktop\"]\nrows = \"release\"\nunit = \"s\"\n\
             decimals = 2\nonly = {{ \"write filter\" = \"{filter}\" }}\n"
        );
    }
    text += "[[table]]\ntitle = \"Both\"\nmeasures = [\"boot.to_desktop\"]\nrows = \"release\"\n\
             columns = \"write filter\"\nunit = \"s\"\ndecimals = 2\n";
    let comparison = study(&folder, &text);
    let assert_close = |actual: Option<f64>, published: f64| {
        let actual = actual.unwrap();
        assert!((actual - published).abs() <= 0.011, "{actual} {published}");
    };
    for (title, column) in [("UWF Enabled/ Fast Startup Disabled", 0), ("UWF Disabled / Fast Startup Enabled", 1)] {
        let rows = table(&comparison, title);
        assert_eq!(rows.len(), 4);
        for ((label, numbers), (release, on_s, off_s)) in rows.iter().zip(RELEASES) {
            assert_eq!(label, release);
            assert_close(numbers[0], [on_s, off_s][column]);
        }
    }
    for ((_, numbers), (_, on_s, off_s)) in table(&comparison, "Both").iter().zip(RELEASES) {
        assert_close(numbers[0], on_s);
        assert_close(numbers[1], off_s);
    }
    // A study does not exclude runs with fast startup, although that is another kind of boot.
    for configuration in comparison["configurations"].as_array().unwrap() {
        assert_eq!(configuration["compared_runs"], 3, "{configuration}");
    }
    // LTSC 2021 is slower than the first release beyond noise; LTSC 2019 is not.
    let changes =
        comparison["measures"].as_array().unwrap().iter().find(|measure| measure["key"] == "boot.to_desktop").unwrap()
            ["changes"]
            .as_array()
            .unwrap();
    assert_eq!(changes[0]["verdict"], "same", "40.81 s is within the spread of 41.34 s");
    assert_eq!(changes[1]["verdict"], "slower");
    assert_eq!(changes[3]["verdict"], "faster", "with fast startup");
}

/// Returns, for each filter setting: filter, scenario, cause of the longer boot, its unmodified duration in ms, and the
/// resulting time to the desktop in ms.
fn filters(folder: &Folder) -> [(&'static str, &'static str, &'static str, i64, f64); 2] {
    [("on", "write-filter-on", "ready_at", 31_000), ("off", "write-filter-off", "read", 12_000)].map(
        |(filter, name, key, original_ms)| {
            record(folder, &scenario(name), "as-is.etl");
            let answer = folder.answer("compare --baseline as-is.etl --candidate as-is.etl --format json");
            let answer: Value = serde_json::from_str(&answer).unwrap();
            let measures = answer["measures"].as_array().unwrap();
            let to_desktop = measures.iter().find(|measure| measure["key"] == "boot.to_desktop").unwrap();
            (filter, name, key, original_ms, to_desktop["values"][0]["median"].as_f64().unwrap() / 1e6)
        },
    )
}

/// Checks the study in the samples, which has one recording for each of the eight averages in the paper. Setting
/// `ONOFF_WRITE_SAMPLES` rewrites the recordings. `make samples` sets it and compresses the files.
#[test]
fn sample_study_matches_write_filter_paper_tables() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/write-filter");
    let folder = Folder::new();
    if std::env::var_os("ONOFF_WRITE_SAMPLES").is_some() {
        for (filter, name, key, original_ms, unmodified_ms) in filters(&folder) {
            for ((_, on_s, off_s), release) in RELEASES.iter().zip(["2016", "2019", "2021", "2024"]) {
                let target_ms = if filter == "on" { on_s } else { off_s } * 1000.0;
                #[allow(clippy::cast_possible_truncation, reason = "a few seconds in ms")]
                let delay_ms = (target_ms - unmodified_ms).round() as i64;
                let simulation =
                    Scenario::from_toml(&delay_desktop(name, key, original_ms, delay_ms)).unwrap().simulate().unwrap();
                std::fs::write(samples.join(format!("{release}-{filter}.etl")), &simulation.files[0]).unwrap();
            }
        }
    }
    let path = samples.join("study.toml");
    let answer = folder.command("compare --format json --study").arg(&path).output().unwrap();
    let comparison: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let assert_close = |actual: Option<f64>, published: f64| {
        let actual = actual.unwrap();
        assert!((actual - published).abs() <= 0.011, "{actual} {published}");
    };
    for (title, column) in [("UWF enabled, fast startup disabled", 0), ("UWF disabled, fast startup enabled", 1)] {
        let rows = table(&comparison, title);
        assert_eq!(rows.len(), 4);
        for ((label, numbers), (release, on_s, off_s)) in rows.iter().zip(RELEASES) {
            assert_eq!(label, release);
            assert_close(numbers[0], [on_s, off_s][column]);
        }
    }
    let text = folder.command("compare --study").arg(&path).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    for number in ["41.34", "40.81", "49.22", "51.74", "23.89", "26.09", "28.07", "31.41"] {
        assert!(text.contains(number), "{number}\n{text}");
    }
}

#[test]
fn invalid_study_reports_location() {
    let folder = Folder::new();
    record(&folder, &scenario("services-wes7"), "1.etl");
    let two_configurations =
        "[[configuration]]\nname = \"a\"\nfiles = [\"1.etl\"]\n[[configuration]]\nname = \"b\"\nfiles = [\"1.etl\"]\n";
    let table = |lines: &str| format!("{two_configurations}[[table]]\ntitle = \"T\"\n{lines}");
    for (text, expected_code, expected_message) in [
        ("nonsense".to_owned(), 1, "not a study"),
        ("[[configuration]]\nname = \"a\"\nfiles = []\n".to_owned(), 1, "has no files"),
        (two_configurations.replace("\"b\"", "\"a\""), 1, "two configurations are named 'a'"),
        (format!("surprise = 1\n{two_configurations}"), 1, "not a study"),
        (table("measures = [\"boot.never\"]"), 2, "table 'T': unknown measure 'boot.never'; totals are boot."),
        (table("measures = []"), 2, "no measures"),
        (table("measures = [\"boot.services\"]\nrows = \"filter\""), 2, "no factor 'filter'"),
        (table("measures = [\"boot.services\"]\nonly = { x = \"y\" }"), 2, "no configuration"),
    ] {
        folder.file("study.toml", text.as_bytes());
        let (code, message) = folder.failure("compare --study study.toml");
        assert_eq!(code, expected_code, "{text}: {message}");
        assert!(message.contains(expected_message), "{expected_message}: {message}");
    }
    let output = folder.run("compare --study study.toml --baseline 1.etl");
    assert_eq!(output.status.code(), Some(64), "the options exclude each other");
}
