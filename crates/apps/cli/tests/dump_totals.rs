//! Sums of the dump's rows, parsed as a script would, match the tables.
//!
//! This code does not use the readers: it parses the text of the dump by its header block and sums. Rows are truncated
//! to µs, so a sum of n times may be n µs below the table's.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::harness::Folder;

/// Sums by quantity and owner, such as `("switched", "528")`.
type Sums = BTreeMap<(&'static str, String), i64>;

/// Splits a row into fields; commas within quotes are literal.
fn fields(row: &str, separator: char) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in row.chars() {
        quoted ^= character == '"';
        if character == separator && !quoted {
            fields.push(String::new());
        } else {
            fields.last_mut().unwrap().push(character);
        }
    }
    fields.into_iter().map(|field| field.trim().trim_matches('"').to_owned()).collect()
}

/// The number in parentheses in `name.exe ( 528)`.
fn process(field: &str) -> String {
    let (_, id) = field.rsplit_once('(').unwrap();
    id.trim_end_matches(')').trim().to_owned()
}

fn number(field: &str) -> i64 {
    match field.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).unwrap(),
        None => field.parse().unwrap_or_else(|_| panic!("'{field}' is no number")),
    }
}

/// Sums the rows.
fn sums_of_rows(dump: &str) -> Sums {
    let mut sums = Sums::new();
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // By processor: start time and owner.
    let mut running: BTreeMap<String, (i64, String)> = BTreeMap::new();
    let (mut in_header, mut end) = (false, 0);
    for line in dump.lines() {
        match line {
            "BeginHeader" => in_header = true,
            "EndHeader" => in_header = false,
            _ if line.starts_with("OS Version: ") || line.starts_with("FirstReliable") => {}
            _ if in_header => {
                let titles = fields(line, ',');
                columns.entry(titles[0].clone()).or_insert(titles);
            }
            _ => {
                let row = fields(line, ',');
                let Some(titles) = columns.get(&row[0]) else {
                    continue;
                };
                let value = |title: &str| {
                    let at = titles.iter().position(|known| known == title);
                    row[at.unwrap_or_else(|| panic!("{} has no {title}", row[0]))].clone()
                };
                let mut add = |what: &'static str, whom: &str, by: i64| {
                    *sums.entry((what, whom.to_owned())).or_default() += by;
                };
                let time = number(&row[1]);
                end = end.max(time);
                add("rows", &row[0], 1);
                match &*row[0] {
                    "CSwitch" => {
                        let old = process(&value("Old Process Name ( PID)"));
                        let new = process(&value("New Process Name ( PID)"));
                        let since = running.insert(value("CPU"), (time, new)).map_or(0, |(since, _)| since);
                        add("ran", &old, time - since);
                        add("switches", &old, 1);
                    }
                    "SampledProfile" => {
                        add("samples", &process(&value("Process Name ( PID)")), number(&value("Count")));
                    }
                    "DiskRead" | "DiskWrite" | "DiskFlush" => {
                        let whom = process(&value("Process Name ( PID)"));
                        let (count, bytes, service) = match &*row[0] {
                            "DiskRead" => ("reads", "bytes read", "time of reads"),
                            "DiskWrite" => ("writes", "bytes written", "time of writes"),
                            _ => ("flushes", "", "time of flushes"),
                        };
                        add(count, &whom, 1);
                        add(service, &whom, number(&value("DiskSvcTime")));
                        if !bytes.is_empty() {
                            add(bytes, &whom, number(&value("IOSize")));
                        }
                    }
                    "Interrupt" | "DPC" | "DPCTmr" => {
                        let module = value("Image!Function");
                        let module = module.split('!').next().unwrap().trim_matches('"').to_owned();
                        let (count, time) = match &*row[0] {
                            "Interrupt" => ("interrupts", "time of interrupts"),
                            _ => ("DPCs", "time of DPCs"),
                        };
                        let module = if module == "Unknown" { String::new() } else { module };
                        add(count, &module, 1);
                        add(time, &module, number(&value("ElapsedTime")));
                    }
                    "HardFault" => {
                        let whom = process(&value("Process Name ( PID)"));
                        add("hard faults", &whom, 1);
                        add("bytes faulted", &whom, number(&value("IOSize")));
                        add("time of hard faults", &whom, number(&value("ElapsedTime")));
                    }
                    _ => {}
                }
            }
        }
    }
    for (since, whom) in running.into_values() {
        *sums.entry(("ran", whom)).or_default() += end - since;
    }
    sums
}

/// The same sums from a table; times in ns.
#[derive(Default)]
struct Tables {
    sums: Sums,
    /// The sums for which the tables have all owners.
    available: BTreeSet<&'static str>,
}

impl Tables {
    /// Adds columns of a list: quantity, column, and the column with the owner.
    fn take(&mut self, csv: &str, whom: &str, columns: &[(&'static str, &str)], wanted: impl Fn(&str) -> bool) {
        let mut lines = csv.lines();
        let Some(titles) = lines.next().map(|titles| fields(titles, ',')) else {
            return;
        };
        let place = |title: &str| titles.iter().position(|known| known == title).unwrap_or_else(|| panic!("{title}"));
        for row in lines.filter(|line| wanted(line)).map(|line| fields(line, ',')) {
            for &(what, title) in columns {
                let by = &row[place(title)];
                let of = &row[place(whom)];
                let of = if of.is_empty() && whom == "pid" { "-1" } else { of };
                *self.sums.entry((what, of.to_owned())).or_default() += if by.is_empty() { 0 } else { number(by) };
                self.available.insert(what);
            }
        }
    }
}

/// The differences between rows and tables.
fn differences(rows: &Sums, tables: &Tables) -> Vec<String> {
    let count_of = |what: &str, whom: &str| -> i64 {
        let counted: &[&'static str] = match what {
            "ran" => &["switches"],
            "time of reads" => &["reads"],
            "time of writes" => &["writes"],
            "time of flushes" => &["flushes"],
            "time of interrupts" => &["interrupts"],
            "time of DPCs" => &["DPCs"],
            "time of hard faults" => &["hard faults"],
            _ => return 0,
        };
        counted.iter().filter_map(|&counted| rows.get(&(counted, whom.to_owned()))).sum()
    };
    let all: BTreeSet<&(&'static str, String)> = rows.keys().chain(tables.sums.keys()).collect();
    let mut found = Vec::new();
    for key @ (what, whom) in all {
        // CPU tables omit idle time, which is process 0 here.
        let is_idle = whom == "0" && matches!(*what, "ran" | "switches" | "samples");
        if !tables.available.contains(what) || is_idle {
            continue;
        }
        let (row, table) = (rows.get(key).copied().unwrap_or(0), tables.sums.get(key).copied().unwrap_or(0));
        let count = count_of(what, whom);
        let same = match *what {
            // Both ends of a run are truncated.
            "ran" => (row * 1_000 - table).abs() <= (count + 2) * 1_000,
            // The dump uses the duration from the completion event; the list uses issue and completion times, which
            // gives µs more, and ms more for one in a thousand real requests.
            "time of reads" | "time of writes" | "time of flushes" => {
                (row * 1_000 - table).abs() <= (count * 10_000).max(table / 20)
            }
            _ if what.starts_with("time of ") => (0..=count * 1_000).contains(&(table - row * 1_000)),
            _ => row == table,
        };
        if !same {
            found.push(format!("{what} of {whom}: {row} by rows, {table} by the table"));
        }
    }
    found
}

/// The lists of a recording; lists without data are missing.
fn tables(folder: &Folder, recording: &str) -> Tables {
    let mut tables = Tables::default();
    let list = |verb: &str| {
        let output = folder.run(&format!("{verb} {recording} --format csv"));
        String::from_utf8(output.stdout).unwrap()
    };
    let cpu = list("cpu");
    if cpu.lines().skip(1).any(|row| !fields(row, ',')[5].is_empty()) {
        tables.take(&cpu, "pid", &[("ran", "cpu_ns"), ("switches", "switches")], |_| true);
    } else {
        tables.take(&cpu, "pid", &[("samples", "samples")], |_| true);
    }
    let disk = [
        ("reads", "reads"),
        ("bytes read", "read_bytes"),
        ("time of reads", "read_service_ns"),
        ("writes", "writes"),
        ("bytes written", "write_bytes"),
        ("time of writes", "write_service_ns"),
        ("flushes", "flushes"),
        ("time of flushes", "flush_service_ns"),
    ];
    tables.take(&list("disk --by process"), "pid", &disk, |_| true);
    let interrupts = list("interrupts");
    let of_kind = |interrupt: bool| move |row: &str| (fields(row, ',')[1] == "interrupt") == interrupt;
    tables.take(&interrupts, "module", &[("interrupts", "count"), ("time of interrupts", "total_ns")], of_kind(true));
    tables.take(&interrupts, "module", &[("DPCs", "count"), ("time of DPCs", "total_ns")], of_kind(false));
    let faults = [("hard faults", "faults"), ("bytes faulted", "bytes"), ("time of hard faults", "waited_ns")];
    tables.take(&list("hardfaults --by process"), "pid", &faults, |_| true);
    tables
}

/// The simulated sample: switches, samples, disks, interrupts and hard faults.
fn simulated() -> Folder {
    let folder = Folder::new();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/slow-boot.etl");
    std::fs::copy(sample, folder.path("boot.etl")).unwrap();
    folder
}

#[test]
fn simulated_rows_sum_to_lists() {
    let folder = simulated();
    let dump = folder.answer("xperf -i boot.etl -a dumper");
    let tables = tables(&folder, "boot.etl");
    let available =
        ["DPCs", "bytes faulted", "bytes read", "bytes written", "flushes", "interrupts", "ran", "switches"];
    assert!(available.iter().all(|what| tables.available.contains(what)), "{:?}", tables.available);
    let rows = sums_of_rows(&dump);
    assert_eq!(differences(&rows, &tables), Vec::<String>::new());
    // Removing any row must cause a difference.
    for name in ["CSwitch", "DiskRead", "DiskWrite", "DiskFlush", "Interrupt", "DPC", "HardFault"] {
        let is_one = |line: &&str| line.trim_start().starts_with(&format!("{name},")) && !line.contains("TimeStamp");
        let without = dump.lines().rfind(is_one).unwrap();
        let kept: Vec<&str> = dump.lines().filter(|line| *line != without).collect();
        assert!(!differences(&sums_of_rows(&kept.join("\n")), &tables).is_empty(), "{name}");
    }
}

#[test]
fn simulated_rows_sum_to_action_reports() {
    let folder = simulated();
    let rows = sums_of_rows(&folder.answer("xperf -i boot.etl -a dumper"));
    let sum = |what: &str| -> i64 { rows.iter().filter(|((of, _), _)| *of == what).map(|(_, sum)| sum).sum() };
    let report = |action: &str| folder.answer(&format!("xperf -i boot.etl -a {action}"));

    // Time by process, including idle time.
    let mut processes = 0;
    for row in report("cswitch -process").lines().skip(1).map(|row| fields(row, ',')) {
        let whom = process(&row[1]);
        let by_rows = rows[&("ran", whom.clone())];
        let runs = rows[&("switches", whom.clone())];
        assert!((number(&row[0]) - by_rows).abs() <= runs + 2, "{whom}: {row:?}, {by_rows} µs by rows");
        processes += 1;
    }
    assert!(processes > 10);

    // Interrupts by processor, each truncated.
    let of_interrupts = report("dpcisr -isr -summary");
    let (_, table) = of_interrupts.split_once("Interrupt Info").unwrap();
    let in_table: i64 = table
        .lines()
        .filter(|line| line.ends_with(" \"Unknown\""))
        .flat_map(|line| fields(line, ',').into_iter().filter(|cell| cell.contains(' ')).collect::<Vec<_>>())
        .map(|cell| number(cell.split_whitespace().next().unwrap()))
        .sum();
    assert_eq!(in_table, sum("time of interrupts"));

    // Files: requests and bytes; both truncate requests to µs.
    let files: Vec<Vec<String>> = report("diskio -summary").lines().skip(1).map(|row| fields(row, ',')).collect();
    let column = |at: usize| -> i64 { files.iter().map(|row| number(&row[at])).sum() };
    assert_eq!(column(0), sum("reads") + sum("writes") + sum("flushes"));
    assert_eq!(column(1), sum("bytes read") + sum("bytes written"));
    let [reads, writes] = [column(5) - sum("time of reads"), column(8) - sum("time of writes")].map(i64::abs);
    assert!(reads <= sum("reads") && writes <= sum("writes"), "{reads} and {writes} µs apart");

    // Hard faults by process are the lines without indentation.
    let faults = report("hardfault");
    let mut found = 0;
    for line in faults.lines().skip(1).filter(|line| !line.starts_with(' ') && !line.is_empty()) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let [.., count, bytes, _, whom] = cells[..] else {
            panic!("{line}");
        };
        assert_eq!(number(count), rows[&("hard faults", whom.to_owned())], "{line}");
        assert_eq!(number(bytes), rows[&("bytes faulted", whom.to_owned())], "{line}");
        found += number(count);
    }
    assert_eq!(found, sum("hard faults"));

    // Every event is a row. Events with several ids and versions can have the same name.
    let mut by_name: BTreeMap<String, i64> = BTreeMap::new();
    for line in report("tracestats -detail").lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        // Manifest events have more ids, and their names are single words.
        let (count, name) = match &cells[..] {
            [_, _, _, _, _, _, _, count, _, name] if name.contains('/') => (count, std::slice::from_ref(name)),
            [_, _, _, count, _, name @ ..] => (count, name),
            _ => continue,
        };
        // Names in the statistics that differ from the dump.
        let name = match &name.join(" ")[..] {
            "Sampled Profile" => "SampledProfile".to_owned(),
            "Dpc" => "DPC".to_owned(),
            "Process: Create" => "P-Start".to_owned(),
            "Process: Delete" => "P-End".to_owned(),
            "Thread: Create" => "T-Start".to_owned(),
            "Thread: Delete" => "T-End".to_owned(),
            name => name.rsplit(' ').next().unwrap_or_default().to_owned(),
        };
        if let Ok(count) = count.parse::<i64>() {
            *by_name.entry(name).or_default() += count;
        }
    }
    let mut kinds = 0;
    // These have one row per mask and per frame.
    for (name, count) in by_name.into_iter().filter(|(name, _)| name != "GroupMasks" && name != "Stack") {
        if let Some(&of_name) = rows.get(&("rows", name.clone())) {
            assert_eq!(count, of_name, "{name}");
            kinds += 1;
        }
    }
    assert!(kinds > 40, "{kinds}");
}

#[test]
fn real_rows_sum_to_lists() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("etl") else {
        return;
    };
    let folder = Folder::new();
    let mut most: Sums = Sums::new();
    for entry in std::fs::read_dir(samples).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if !name.ends_with(".etl") && !name.ends_with(".etl.xz") {
            continue;
        }
        let dump = folder.run(&format!("xperf -quiet -tle -tti -i {name} -a dumper"));
        let rows = sums_of_rows(&String::from_utf8(dump.stdout).unwrap());
        assert_eq!(differences(&rows, &tables(&folder, &name)), Vec::<String>::new(), "{name}");
        for ((what, _), sum) in rows {
            *most.entry((what, String::new())).or_default() += sum;
        }
    }
    for (what, at_least) in [("samples", 70_000), ("reads", 1_000), ("writes", 20), ("hard faults", 150)] {
        assert!(most[&(what, String::new())] >= at_least, "{what}: {most:?}");
    }
}
