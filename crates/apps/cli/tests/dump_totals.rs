//! The dump's rows, parsed as a script would parse them, add up to the tables.
//!
//! This code does not use the readers. It parses the text of the dump by its header block and adds up the rows. Times
//! in rows are truncated to µs, so a sum of n times may be n µs lower than in the table.
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

/// Returns the process id in `name.exe ( 528)`.
fn process_id(field: &str) -> String {
    let (_, id) = field.rsplit_once('(').unwrap();
    id.trim_end_matches(')').trim().to_owned()
}

fn number(field: &str) -> i64 {
    match field.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).unwrap(),
        None => field.parse().unwrap_or_else(|_| panic!("'{field}' is not a number")),
    }
}

/// Adds up the rows.
fn row_sums(dump: &str) -> Sums {
    let mut sums = Sums::new();
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Start time and owner, by processor.
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
                    let column = titles.iter().position(|candidate| candidate == title);
                    row[column.unwrap_or_else(|| panic!("{} has no {title}", row[0]))].clone()
                };
                let mut add = |quantity: &'static str, owner: &str, amount: i64| {
                    *sums.entry((quantity, owner.to_owned())).or_default() += amount;
                };
                let time = number(&row[1]);
                end = end.max(time);
                add("rows", &row[0], 1);
                match &*row[0] {
                    "CSwitch" => {
                        let old = process_id(&value("Old Process Name ( PID)"));
                        let new = process_id(&value("New Process Name ( PID)"));
                        let since = running.insert(value("CPU"), (time, new)).map_or(0, |(since, _)| since);
                        add("ran", &old, time - since);
                        add("switches", &old, 1);
                    }
                    "SampledProfile" => {
                        add("samples", &process_id(&value("Process Name ( PID)")), number(&value("Count")));
                    }
                    "DiskRead" | "DiskWrite" | "DiskFlush" => {
                        let owner = process_id(&value("Process Name ( PID)"));
                        let (count, bytes, service) = match &*row[0] {
                            "DiskRead" => ("reads", "bytes read", "time of reads"),
                            "DiskWrite" => ("writes", "bytes written", "time of writes"),
                            _ => ("flushes", "", "time of flushes"),
                        };
                        add(count, &owner, 1);
                        add(service, &owner, number(&value("DiskSvcTime")));
                        if !bytes.is_empty() {
                            add(bytes, &owner, number(&value("IOSize")));
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
                        let owner = process_id(&value("Process Name ( PID)"));
                        add("hard faults", &owner, 1);
                        add("bytes faulted", &owner, number(&value("IOSize")));
                        add("time of hard faults", &owner, number(&value("ElapsedTime")));
                    }
                    _ => {}
                }
            }
        }
    }
    for (since, owner) in running.into_values() {
        *sums.entry(("ran", owner)).or_default() += end - since;
    }
    sums
}

/// The same sums from the tables. Times are in ns.
#[derive(Default)]
struct Tables {
    sums: Sums,
    /// The quantities that the tables have for all owners.
    available: BTreeSet<&'static str>,
}

impl Tables {
    /// Adds columns of a list, given as pairs of quantity and column title, for the owners in `owner_column`.
    fn add_columns(
        &mut self,
        csv: &str,
        owner_column: &str,
        columns: &[(&'static str, &str)],
        is_included: impl Fn(&str) -> bool,
    ) {
        let mut lines = csv.lines();
        let Some(titles) = lines.next().map(|titles| fields(titles, ',')) else {
            return;
        };
        let position =
            |title: &str| titles.iter().position(|candidate| candidate == title).unwrap_or_else(|| panic!("{title}"));
        for row in lines.filter(|line| is_included(line)).map(|line| fields(line, ',')) {
            for &(quantity, title) in columns {
                let cell = &row[position(title)];
                let owner = &row[position(owner_column)];
                let owner = if owner.is_empty() && owner_column == "pid" { "-1" } else { owner };
                let amount = if cell.is_empty() { 0 } else { number(cell) };
                *self.sums.entry((quantity, owner.to_owned())).or_default() += amount;
                self.available.insert(quantity);
            }
        }
    }
}

/// Returns the differences between rows and tables.
fn differences(rows: &Sums, tables: &Tables) -> Vec<String> {
    let count = |quantity: &str, owner: &str| -> i64 {
        let counts: &[&'static str] = match quantity {
            "ran" => &["switches"],
            "time of reads" => &["reads"],
            "time of writes" => &["writes"],
            "time of flushes" => &["flushes"],
            "time of interrupts" => &["interrupts"],
            "time of DPCs" => &["DPCs"],
            "time of hard faults" => &["hard faults"],
            _ => return 0,
        };
        counts.iter().filter_map(|&count| rows.get(&(count, owner.to_owned()))).sum()
    };
    let keys: BTreeSet<&(&'static str, String)> = rows.keys().chain(tables.sums.keys()).collect();
    let mut differences = Vec::new();
    for key @ (quantity, owner) in keys {
        // CPU tables omit idle time, which is process 0 here.
        let is_idle = owner == "0" && matches!(*quantity, "ran" | "switches" | "samples");
        if !tables.available.contains(quantity) || is_idle {
            continue;
        }
        let (row, table) = (rows.get(key).copied().unwrap_or(0), tables.sums.get(key).copied().unwrap_or(0));
        let count = count(quantity, owner);
        let is_equal = match *quantity {
            // Both ends of a run are truncated.
            "ran" => (row * 1_000 - table).abs() <= (count + 2) * 1_000,
            // The dump uses the duration from the completion event. The list uses issue and completion times, which are
            // µs longer, and ms longer for one in a thousand real requests.
            "time of reads" | "time of writes" | "time of flushes" => {
                (row * 1_000 - table).abs() <= (count * 10_000).max(table / 20)
            }
            _ if quantity.starts_with("time of ") => (0..=count * 1_000).contains(&(table - row * 1_000)),
            _ => row == table,
        };
        if !is_equal {
            differences.push(format!("{quantity} of {owner}: {row} by rows, {table} by the table"));
        }
    }
    differences
}

/// Reads the lists of a recording. Lists without data are missing.
fn tables(folder: &Folder, recording: &str) -> Tables {
    let mut tables = Tables::default();
    let list = |verb: &str| {
        let output = folder.run(&format!("{verb} {recording} --format csv"));
        String::from_utf8(output.stdout).unwrap()
    };
    let cpu = list("cpu");
    if cpu.lines().skip(1).any(|row| !fields(row, ',')[5].is_empty()) {
        tables.add_columns(&cpu, "pid", &[("ran", "cpu_ns"), ("switches", "switches")], |_| true);
    } else {
        tables.add_columns(&cpu, "pid", &[("samples", "samples")], |_| true);
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
    tables.add_columns(&list("disk --by process"), "pid", &disk, |_| true);
    let interrupts = list("interrupts");
    let is_kind = |is_interrupt: bool| move |row: &str| (fields(row, ',')[1] == "interrupt") == is_interrupt;
    tables.add_columns(
        &interrupts,
        "module",
        &[("interrupts", "count"), ("time of interrupts", "total_ns")],
        is_kind(true),
    );
    tables.add_columns(&interrupts, "module", &[("DPCs", "count"), ("time of DPCs", "total_ns")], is_kind(false));
    let hard_faults = [("hard faults", "faults"), ("bytes faulted", "bytes"), ("time of hard faults", "waited_ns")];
    tables.add_columns(&list("hardfaults --by process"), "pid", &hard_faults, |_| true);
    tables
}

/// Copies the simulated sample: switches, samples, disks, interrupts and hard faults.
fn sample_folder() -> Folder {
    let folder = Folder::new();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/slow-boot.etl");
    std::fs::copy(sample, folder.path("boot.etl")).unwrap();
    folder
}

#[test]
fn simulated_rows_sum_to_lists() {
    let folder = sample_folder();
    let dump = folder.answer("xperf -i boot.etl -a dumper");
    let tables = tables(&folder, "boot.etl");
    let available =
        ["DPCs", "bytes faulted", "bytes read", "bytes written", "flushes", "interrupts", "ran", "switches"];
    assert!(available.iter().all(|quantity| tables.available.contains(quantity)), "{:?}", tables.available);
    let rows = row_sums(&dump);
    assert_eq!(differences(&rows, &tables), Vec::<String>::new());
    // Removing any row must cause a difference.
    for name in ["CSwitch", "DiskRead", "DiskWrite", "DiskFlush", "Interrupt", "DPC", "HardFault"] {
        let is_row = |line: &&str| line.trim_start().starts_with(&format!("{name},")) && !line.contains("TimeStamp");
        let removed = dump.lines().rfind(is_row).unwrap();
        let remaining: Vec<&str> = dump.lines().filter(|line| *line != removed).collect();
        assert!(!differences(&row_sums(&remaining.join("\n")), &tables).is_empty(), "{name}");
    }
}

#[test]
fn simulated_rows_sum_to_action_reports() {
    let folder = sample_folder();
    let rows = row_sums(&folder.answer("xperf -i boot.etl -a dumper"));
    let sum = |quantity: &str| -> i64 {
        rows.iter().filter(|((row_quantity, _), _)| *row_quantity == quantity).map(|(_, sum)| sum).sum()
    };
    let report = |action: &str| folder.answer(&format!("xperf -i boot.etl -a {action}"));

    // Time by process, including idle time.
    let mut processes = 0;
    for row in report("cswitch -process").lines().skip(1).map(|row| fields(row, ',')) {
        let owner = process_id(&row[1]);
        let ran_us = rows[&("ran", owner.clone())];
        let switches = rows[&("switches", owner.clone())];
        assert!((number(&row[0]) - ran_us).abs() <= switches + 2, "{owner}: {row:?}, {ran_us} µs by rows");
        processes += 1;
    }
    assert!(processes > 10);

    // Interrupts by processor, each truncated.
    let interrupts = report("dpcisr -isr -summary");
    let (_, table) = interrupts.split_once("Interrupt Info").unwrap();
    let table_us: i64 = table
        .lines()
        .filter(|line| line.ends_with(" \"Unknown\""))
        .flat_map(|line| fields(line, ',').into_iter().filter(|cell| cell.contains(' ')).collect::<Vec<_>>())
        .map(|cell| number(cell.split_whitespace().next().unwrap()))
        .sum();
    assert_eq!(table_us, sum("time of interrupts"));

    // Requests and bytes of files. Both outputs truncate the times of requests to µs.
    let files: Vec<Vec<String>> = report("diskio -summary").lines().skip(1).map(|row| fields(row, ',')).collect();
    let column = |index: usize| -> i64 { files.iter().map(|row| number(&row[index])).sum() };
    assert_eq!(column(0), sum("reads") + sum("writes") + sum("flushes"));
    assert_eq!(column(1), sum("bytes read") + sum("bytes written"));
    let [read_difference, write_difference] =
        [column(5) - sum("time of reads"), column(8) - sum("time of writes")].map(i64::abs);
    assert!(
        read_difference <= sum("reads") && write_difference <= sum("writes"),
        "the sums differ by {read_difference} and {write_difference} µs"
    );

    // The lines without indentation are hard faults by process.
    let hard_faults = report("hardfault");
    let mut total = 0;
    for line in hard_faults.lines().skip(1).filter(|line| !line.starts_with(' ') && !line.is_empty()) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let [.., count, bytes, _, owner] = cells[..] else {
            panic!("{line}");
        };
        assert_eq!(number(count), rows[&("hard faults", owner.to_owned())], "{line}");
        assert_eq!(number(bytes), rows[&("bytes faulted", owner.to_owned())], "{line}");
        total += number(count);
    }
    assert_eq!(total, sum("hard faults"));

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
    // GroupMasks and Stack have one row per mask and per frame.
    for (name, count) in by_name.into_iter().filter(|(name, _)| name != "GroupMasks" && name != "Stack") {
        if let Some(&row_count) = rows.get(&("rows", name.clone())) {
            assert_eq!(count, row_count, "{name}");
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
    let mut totals = Sums::new();
    for entry in std::fs::read_dir(samples).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if !name.ends_with(".etl") && !name.ends_with(".etl.xz") {
            continue;
        }
        let dump = folder.run(&format!("xperf -quiet -tle -tti -i {name} -a dumper"));
        let rows = row_sums(&String::from_utf8(dump.stdout).unwrap());
        assert_eq!(differences(&rows, &tables(&folder, &name)), Vec::<String>::new(), "{name}");
        for ((quantity, _), sum) in rows {
            *totals.entry((quantity, String::new())).or_default() += sum;
        }
    }
    for (quantity, minimum) in [("samples", 70_000), ("reads", 1_000), ("writes", 20), ("hard faults", 150)] {
        assert!(totals[&(quantity, String::new())] >= minimum, "{quantity}: {totals:?}");
    }
}
