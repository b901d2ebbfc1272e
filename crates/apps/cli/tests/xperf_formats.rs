//! Compares the output with published xperf output: names, order, layout and, if the simulator models the same boot,
//! values.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::harness::Folder;

const PAPER: &str = "services-wes7.toml";

/// Reads a published excerpt. Prints a message and returns `None` if the samples are missing.
fn excerpt(name: &str) -> Option<String> {
    let path = onoff_testkit::real_recordings::samples_folder("xperf-output")?.join(name);
    let text = std::fs::read(&path).ok();
    if text.is_none() {
        println!("skipped: no {}", path.display());
    }
    text.map(|text| String::from_utf8_lossy(&text).into_owned())
}

/// Returns the attribute names of the first element `name`, in order.
fn attributes<'t>(document: &'t str, name: &str) -> Vec<&'t str> {
    let element = document.split_once(&format!("<{name} ")).unwrap_or_else(|| panic!("no {name}")).1;
    let element = element.split('>').next().unwrap();
    element
        .split('=')
        .filter_map(|part| part.rsplit([' ', '\n', '"']).next())
        .filter(|part| !part.is_empty() && *part != "/")
        .collect()
}

/// Returns the column titles without padding.
fn titles(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

fn boot_xml() -> String {
    Folder::boot(PAPER).answer("boot boot.etl --format xml")
}

#[test]
fn xml_is_well_formed_in_xperf_order() {
    let text = boot_xml();
    let document = roxmltree::Document::parse(&text).unwrap();
    let children = |node: roxmltree::Node<'_, '_>| -> Vec<String> {
        node.children().filter(|child| child.is_element()).map(|child| child.tag_name().name().to_owned()).collect()
    };
    let results = document.root_element();
    assert_eq!(results.tag_name().name(), "results");
    assert_eq!(results.attribute("timeFormat"), Some("msec"));
    let boot = results.first_element_child().unwrap();
    assert_eq!(boot.attribute("type"), Some("boot"));
    assert_eq!(children(boot), ["processSummary", "timing", "services", "pnp", "groupPolicy"]);
    let child = |name: &str| boot.children().find(|child| child.has_tag_name(name)).unwrap();
    let number = |node: roxmltree::Node<'_, '_>, name: &str| -> i64 { node.attribute(name).unwrap().parse().unwrap() };

    let summary = child("processSummary");
    assert_eq!(
        children(summary),
        ["expectedProcesses", "unexpectedLonglived", "unexpectedShortlived", "unexpectedVeryShortlived"]
    );
    let processes = summary.descendants().filter(|node| node.has_tag_name("process")).count();
    assert_eq!(i64::try_from(processes).unwrap(), number(summary, "numProcesses"));
    for (group, counter) in [
        ("unexpectedLonglived", "numUnexpectedLonglived"),
        ("unexpectedShortlived", "numUnexpectedShortlived"),
        ("unexpectedVeryShortlived", "numUnexpectedVeryShortlived"),
    ] {
        let group = summary.children().find(|child| child.has_tag_name(group)).unwrap();
        assert_eq!(i64::try_from(children(group).len()).unwrap(), number(summary, counter));
    }

    let timing = child("timing");
    let intervals: Vec<_> = timing.children().filter(|child| child.has_tag_name("interval")).collect();
    let names: Vec<_> = intervals.iter().map(|interval| interval.attribute("name").unwrap()).collect();
    assert_eq!(names, ["PreSMSS", "SMSSInit", "WinLogonInit", "ExplorerInit", "PostExplorerPeriod", "TraceTail"]);
    assert_eq!(number(intervals[0], "startTime"), 0);
    for pair in intervals.windows(2) {
        assert_eq!(number(pair[0], "endTime"), number(pair[1], "startTime"));
    }
    assert_eq!(number(timing, "bootDoneViaExplorer"), number(intervals[3], "endTime"));
    assert_eq!(
        number(timing, "bootDoneViaPostBoot"),
        number(timing, "bootDoneViaExplorer")
            + number(timing, "postBootRequiredIdleTime")
            + number(timing, "postBootDisturbance")
    );
    assert_eq!(number(timing, "postBootDisturbance") % 100, 0);
    assert_eq!(number(intervals[4], "duration"), 10_000 + number(timing, "postBootDisturbance"));
}

#[test]
fn elements_have_published_attributes() {
    let document = boot_xml();
    if let Some(published) = excerpt("boot-processSummary.xml") {
        assert_eq!(document.lines().next(), published.lines().nth(1));
        assert_eq!(document.lines().nth(1), published.lines().nth(2));
        for element in ["processSummary", "process"] {
            assert_eq!(attributes(&document, element), attributes(&published, element), "{element}");
        }
        let system = "<process name=\"System\" startTime=\"0\" endTime=\"-1\" lifetime=\"-1\"/>";
        assert!(published.contains(system) && document.contains(system));
    }
    if let Some(published) = excerpt("boot-timing.txt") {
        assert_eq!(attributes(&document, "timing"), attributes(&published, "timing"));
        let lines = |text: &str| -> Vec<usize> {
            let element = text.split_once("<timing ").unwrap().1.split('>').next().unwrap().to_owned();
            element.lines().map(|line| line.matches('=').count()).collect()
        };
        assert_eq!(lines(&document), lines(&published));
    }
    if let Some(published) = excerpt("boot-pnp.xml") {
        // The excerpt was copied from a browser, which reorders attributes.
        let document = Folder::boot("table-6-no-pended-requests.toml").answer("boot boot.etl --format xml");
        for element in ["phase", "pnpObject"] {
            let sorted = |mut names: Vec<String>| {
                names.sort();
                names
            };
            let actual = sorted(attributes(&document, element).into_iter().map(str::to_owned).collect());
            let expected = sorted(attributes(&published, element).into_iter().map(str::to_owned).collect());
            // The first published object is a driver, without description and friendly name.
            assert!(expected.iter().all(|name| actual.contains(name)), "{element}: {actual:?} {expected:?}");
        }
    }
}

#[test]
fn services_match_paper_rows() {
    let Some(published) = excerpt("boot-services-wes7-paper.xml") else {
        return;
    };
    let document = boot_xml();
    let rows = |text: &str| -> Vec<String> {
        let rows = text.lines().map(str::trim).filter(|line| line.starts_with("<service"));
        rows.map(|row| row.replace(" />", "/>")).collect()
    };
    let (actual, expected) = (rows(&document), rows(&published));
    assert_eq!(expected.len(), 7);
    // Process ids differ per machine.
    let without_pid = |row: &String| -> String {
        let parts: Vec<&str> = row.split(['(', ')']).step_by(2).collect();
        parts.join("()")
    };
    let without_pids = |rows: &[String]| rows.iter().map(without_pid).collect::<Vec<_>>();
    assert_eq!(without_pids(&actual), without_pids(&expected));
}

#[test]
fn services_table_has_xperf_columns_and_sums() {
    let table = Folder::boot(PAPER).answer("boot boot.etl --format csv");
    let mut lines = table.lines();
    let head: Vec<&str> = lines.by_ref().take(3).collect();
    if let Some(published) = excerpt("services.csv") {
        let published: Vec<&str> = published.lines().skip(1).collect();
        assert_eq!(head[0], published[0]);
        assert_eq!(titles(head[1]).len(), titles(published[1]).len());
        assert_eq!(head[2], published[2]);
    }
    let mut rows = 0;
    for line in lines {
        let fields: Vec<&str> = line.splitn(12, ", ").collect();
        assert_eq!(fields[0], "Start");
        let number = |index: usize| -> i64 { fields[index].parse().unwrap() };
        // Each value is rounded separately.
        let assert_near = |actual: i64, expected: i64| assert!((actual - expected).abs() <= 1, "{line}");
        assert!((number(3) - number(4) - number(5) - number(6)).abs() <= 2, "{line}");
        assert_near(number(8), number(7) + number(4));
        assert_near(number(9), number(8) + number(5));
        assert_near(number(10), number(9) + number(6));
        assert!(fields[11].contains("svchost.exe -k "), "{line}");
        rows += 1;
    }
    assert_eq!(rows, 6);
}

#[test]
fn devices_table_has_xperf_columns() {
    let table = Folder::boot("table-6-no-pended-requests.toml").answer("boot boot.etl --format csv --csv pnp");
    let mut blocks = table.split("\n\n");
    let rows = blocks.next().unwrap();
    let mut rows = rows.lines();
    assert_eq!(rows.next(), Some("EventType, StartTS, PendTS, EndTS, InstancePath"));
    let mut previous_start = 0;
    let mut count = 0;
    for row in rows {
        let fields: Vec<&str> = row.splitn(5, ", ").collect();
        assert!(["BootInit", "DriverInit", "DriverLoad", "DeviceStart", "DeviceEnum"].contains(&fields[0]), "{row}");
        let number = |index: usize| -> i64 { fields[index].parse().unwrap() };
        assert!(number(1) >= previous_start && number(1) <= number(2) && number(2) <= number(3), "{row}");
        previous_start = number(1);
        count += 1;
    }
    assert!(count > 0);
    let sums: Vec<&str> = blocks.map(|block| block.lines().next().unwrap()).collect();
    assert_eq!(
        sums,
        [
            "Device, Operations, TotalInitTime, PrePendInitTime, PostPendInitTime",
            "Driver, Operations, TotalInitTime, PrePendInitTime, PostPendInitTime"
        ]
    );
}

#[test]
fn dump_has_published_columns() {
    let Some(published) = excerpt("dumper.txt") else {
        return;
    };
    let dump = Folder::boot(PAPER).answer("events boot.etl --event CSwitch --event DiskRead --range 4s 8s");
    let header = |text: &str, name: &str, columns: usize| -> Vec<String> {
        let lines = text.lines().map(|line| titles(line.trim_start_matches("-- ")));
        let mut headers = lines.filter(|titles| titles[0] == name && titles[1] == "TimeStamp");
        let header = headers.find(|titles| titles.len() == columns);
        header.unwrap_or_else(|| panic!("{name}")).into_iter().map(str::to_owned).collect()
    };
    for (name, columns) in [
        ("T-Start", 15),
        ("T-End", 15),
        ("Interrupt", 9),
        ("DPC", 6),
        ("DPCTmr", 6),
        ("SysCallEnter", 6),
        ("SysCallExit", 5),
        ("SampledProfile", 10),
        ("ProfileFreq-SetInterval", 7),
        ("CSwitch", 21),
        ("CSwitch", 23),
        ("DiskRead", 16),
        ("DiskWrite", 16),
    ] {
        assert_eq!(header(&dump, name, columns), header(&published, name, columns), "{name}");
    }
    // Field widths match the published rows.
    let row = |text: &str, name: &str, columns: usize| -> String {
        let rows = text.lines().map(|line| line.trim_start_matches("-- ").trim_end());
        let mut rows = rows.filter(|line| line.trim_start().starts_with(name) && !line.contains("TimeStamp"));
        rows.find(|line| line.split(", ").count() == columns).unwrap_or_default().to_owned()
    };
    // Process and file names have variable width.
    for (name, columns, name_columns) in [("CSwitch,", 23, [2, 8]), ("DiskRead,", 16, [2, 15])] {
        let (actual, expected) = (row(&dump, name, columns), row(&published, name, columns));
        assert!(!actual.is_empty() && !expected.is_empty(), "{name}");
        let cells = actual.trim_start().split(", ").zip(expected.trim_start().split(", "));
        for (index, (actual, expected)) in cells.enumerate() {
            let is_same_width = actual.len() == expected.len() || name_columns.contains(&index);
            assert!(is_same_width, "{name} column {index}: '{actual}' and '{expected}'");
        }
    }
    let version_labels = |text: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with("OS Version")).unwrap();
        line.split(", ").map(|part| part.split(": ").next().unwrap().to_owned()).collect()
    };
    assert_eq!(version_labels(&dump), version_labels(&published));
}

/// Splits a row into fields; commas within quotes are literal.
fn fields(row: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in row.chars() {
        quoted ^= character == '"';
        match (character, quoted) {
            (',', false) => fields.push(String::new()),
            (character, _) => fields.last_mut().unwrap().push(character),
        }
    }
    fields.into_iter().map(|field| field.trim().to_owned()).collect()
}

#[test]
fn dump_rows_match_header() {
    let dump = Folder::boot("slow-boot.toml").answer("xperf -i boot.etl -a dumper");
    let mut columns = std::collections::BTreeMap::new();
    let mut in_header = false;
    let mut rows = std::collections::BTreeMap::new();
    // The running thread of each processor.
    let mut running = std::collections::BTreeMap::new();
    for line in dump.lines() {
        match line {
            "BeginHeader" => in_header = true,
            "EndHeader" => in_header = false,
            _ if line.starts_with("OS Version: ") => {}
            _ if in_header => {
                let titles = fields(line);
                // Events of a provider can share a name, but each has its own header.
                let headers: &mut Vec<Vec<String>> = columns.entry(titles[0].clone()).or_default();
                headers.push(titles);
            }
            _ => {
                let row = fields(line);
                let headers = columns.get(&row[0]).unwrap_or_else(|| panic!("no header: {line}"));
                let titles = headers
                    .iter()
                    .find(|titles| titles.len() == row.len())
                    .unwrap_or_else(|| panic!("{line}\n{headers:?}"));
                *rows.entry(row[0].clone()).or_insert(0) += 1;
                if row[0] == "CSwitch" {
                    let value =
                        |title: &str| row[titles.iter().position(|candidate| candidate == title).unwrap()].clone();
                    let previous = running.insert(value("CPU"), value("New TID"));
                    assert!(previous.is_none_or(|previous| previous == value("Old TID")), "{line}");
                }
            }
        }
    }
    for name in [
        "P-DCStart",
        "P-Start",
        "P-End",
        "T-Start",
        "T-End",
        "I-DCStart",
        "CSwitch",
        "ReadyThread",
        "SampledProfile",
        "Stack",
        "Interrupt",
        "DPC",
        "DiskRead",
        "DiskWrite",
        "DiskFlush",
        "DiskReadInit",
        "Microsoft-Windows-Services/ServiceStatusChange/StatusChange",
        "Microsoft-Windows-Kernel-PnP/DeviceStart/win:Start",
        "FirstReliableEventTimeStamp",
        "FirstReliableCSwitchEventTimeStamp",
    ] {
        assert!(rows.contains_key(name), "{name}: {rows:#?}");
    }
}
