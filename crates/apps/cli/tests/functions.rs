//! Time by function: `onoff cpu`, `disk` and `hardfaults` with `--by module`, `function` and `stack`, and flame graphs.
#![allow(clippy::unwrap_used)]

use onoff_testkit::linux::{EventOrigin, TraceDatBuilder};
use serde_json::Value;

use crate::harness::Folder;
use crate::harness::symbols::{PDB_IDENTITY, pdb, with_samples, with_symbols};

const STACK: &str = "driver.exe!t::DriverEntry;driver.exe!t::start_device;driver.exe!t::wait_for_hardware";

/// A recorded program that sleeps for 3 s in one function, and its PDB.
fn folder_with_pdb() -> Folder {
    let folder = with_symbols();
    folder.file("driver.pdb", &pdb());
    folder
}

fn json(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(arguments)).unwrap()
}

#[test]
fn waits_count_for_function_and_callers() {
    let folder = folder_with_pdb();
    let arguments = "cpu boot.etl --of waits --process driver.exe --symbols . --by function";
    let list = json(&folder, &format!("{arguments} --format json"));
    assert_eq!(list["onoff"]["document"], "functions");
    let rows = list["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["function"] == name).unwrap();
    let near = |value: &Value| (3_000_000_000..3_100_000_000).contains(&value.as_i64().unwrap());
    let waited = row("t::wait_for_hardware");
    assert!(near(&waited["own_ns"]) && near(&waited["inclusive_ns"]), "{waited}");
    for caller in ["t::start_device", "t::DriverEntry"] {
        assert_eq!(row(caller)["own_ns"], 0);
        assert!(near(&row(caller)["inclusive_ns"]));
    }
    assert_eq!(list["missing_symbols"], Value::Array(Vec::new()));
    let text = folder.answer(arguments);
    assert!(text.contains("driver.exe  t::wait_for_hardware  3.0"), "{text}");

    let stacks = json(
        &folder,
        &format!("{arguments},process --by stack --format json").replace("--by function,process", "--by process"),
    );
    assert_eq!(stacks["rows"][0]["stack"][2]["function"], "t::wait_for_hardware");
    assert_eq!(stacks["rows"][0]["image"], "driver.exe");
}

#[test]
fn samples_have_functions_in_list_and_firefox_file() {
    let folder = with_samples();
    folder.file("driver.pdb", &pdb());
    let arguments = "cpu boot.etl --process driver.exe --symbols . --by function --format json";
    let list = json(&folder, arguments);
    let rows = list["rows"].as_array().unwrap();
    let sampled = rows.iter().find(|row| row["function"] == "t::wait_for_hardware").unwrap();
    assert!((48..=52).contains(&sampled["count"].as_u64().unwrap()), "{sampled}");

    let file = |symbols: &str| {
        folder.answer(&format!("export boot.etl --format firefox {symbols} -o boot.json"));
        std::fs::read_to_string(folder.path("boot.json")).unwrap()
    };
    assert!(file("--symbols .").contains("\"driver.exe!t::wait_for_hardware\""));
    assert!(!file("").contains("wait_for_hardware"));
}

#[test]
fn writes_flame_graphs_and_stacks() {
    let folder = folder_with_pdb();
    let arguments = "cpu boot.etl --of waits --process driver.exe --symbols .";
    let folded = folder.answer(&format!("{arguments} --format folded"));
    let (stack, ns) = folded.lines().find(|line| line.contains("wait_for_hardware")).unwrap().rsplit_once(' ').unwrap();
    assert!(stack.starts_with("driver.exe (") && stack.ends_with(&format!(");{STACK}")), "{folded}");
    assert!((3_000_000_000..3_100_000_000).contains(&ns.parse::<i64>().unwrap()), "{folded}");

    let file = json(&folder, &format!("{arguments} --format speedscope"));
    let profile = &file["profiles"][0];
    let (samples, weights) = (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
    assert_eq!(samples.len(), weights.len());
    let total: i64 = weights.iter().map(|weight| weight.as_i64().unwrap()).sum();
    assert_eq!(profile["endValue"].as_i64().unwrap(), total);
    let stack_names = |sample: &Value| -> Vec<String> {
        let frames =
            sample.as_array().unwrap().iter().map(|index| &file["shared"]["frames"][index.as_u64().unwrap() as usize]);
        frames.skip(1).map(|frame| frame["name"].as_str().unwrap().to_owned()).collect()
    };
    let stacks: Vec<String> = samples.iter().map(|sample| stack_names(sample).join(";")).collect();
    assert!(stacks.iter().any(|stack| stack == STACK), "{stacks:?}");

    let picture = folder.answer(&format!("{arguments} --format svg"));
    assert!(picture.contains("Wait time") && picture.contains("driver.exe!t::wait_for_hardware: 3.0"));
    // A box without a function name shows the module.
    let picture = folder.answer(&arguments.replace("--symbols .", "--format svg"));
    assert!(picture.contains("<title>driver.exe: 3.0") && !picture.contains("wait_for_hardware"));
}

#[test]
fn reports_missing_symbols() {
    let folder = with_symbols();
    let arguments = "cpu boot.etl --of waits --process driver.exe --by function";
    assert!(folder.answer(arguments).contains("No function names; use '--symbols PATH'"));
    let missing = format!("driver.pdb {PDB_IDENTITY}: not in the symbol path's folders");
    assert!(folder.answer(&format!("{arguments} --symbols .")).contains(&format!("No symbols: {missing}")));
    let list = json(&folder, &format!("{arguments} --symbols . --format json"));
    assert!(list["missing_symbols"][0].as_str().unwrap().starts_with(&missing));
    assert_eq!(list["rows"][0]["module"], "driver.exe");
    // Modules need no symbols.
    assert!(!folder.answer(&arguments.replace("function", "module")).contains("--symbols"));
}

#[test]
fn reports_missing_stacks() {
    let folder = with_symbols();
    for arguments in
        ["disk boot.etl --by function", "hardfaults boot.etl --by stack", "cpu boot.etl --by function --of samples"]
    {
        let output = folder.run(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        assert!(stderr.contains("not recorded: "), "{arguments}: {stderr}");
    }
}

#[test]
fn rejects_incompatible_options() {
    let folder = with_symbols();
    let error = |arguments: &str, expected: &str| {
        let output = folder.run(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(64), "{arguments}: {stderr}");
        assert!(stderr.contains(expected), "{arguments}: {stderr}");
    };
    error("cpu boot.etl --of waits", "--of ");
    error("disk boot.etl --symbols .", "--symbols ");
    error("cpu boot.etl --by function,thread", "--by: ");
    error("cpu boot.etl --by function,stack", "--by: ");
    error("disk boot.etl --by path --format svg", "--by: ");
    error("files boot.etl --format folded", "--format: ");
    error("export boot.etl --format perfetto --symbols . -o boot.trace", "--symbols ");
    error("summary boot.etl --format speedscope", "for '--format");
    error("cpu boot.etl --format svg -o boot.etl", "boot.etl");
}

/// Runs `onoff xperf` and returns its stdout and stderr.
fn xperf(folder: &Folder, options: &str, symbols: Option<&str>) -> (String, String) {
    let mut command = folder.command(&format!("xperf -i boot.etl {options}"));
    if let Some(path) = symbols {
        command.env("_NT_SYMBOL_PATH", path).env("ONOFF_OFFLINE", "1");
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{options}: {}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn dump_replaces_addresses_by_functions_only() {
    let folder = with_samples();
    folder.file("driver.pdb", &pdb());
    let (unresolved, _) = xperf(&folder, "-a dumper", Some("."));
    let (resolved, stderr) = xperf(&folder, "-symbols -a dumper", Some("."));
    assert!(!stderr.contains("driver.pdb") && stderr.contains("no symbols: ntdll.pdb"), "{stderr}");
    assert_eq!(unresolved.lines().count(), resolved.lines().count());
    let mut functions = std::collections::BTreeMap::new();
    for (unresolved, resolved) in
        unresolved.lines().zip(resolved.lines()).filter(|(unresolved, resolved)| unresolved != resolved)
    {
        // Only the function differs, and it always matches the address.
        let cells = || unresolved.split(", ").zip(resolved.split(", "));
        let (address, function) = cells().find(|(unresolved, resolved)| unresolved != resolved).unwrap();
        assert_eq!(
            cells().filter(|(unresolved, resolved)| unresolved != resolved).count(),
            1,
            "{unresolved} {resolved}"
        );
        let (address, function) = (address.split_once('!').unwrap(), function.split_once('!').unwrap());
        assert_eq!(address.0, function.0, "the module");
        assert_eq!(address.0.trim(), "driver.exe");
        let event = unresolved.split(',').next().unwrap().trim().to_owned();
        functions.entry((event, function.1.to_owned())).or_insert_with(Vec::new).push(address.1.to_owned());
    }
    let count = |event: &str, function: &str| {
        functions.get(&(event.to_owned(), function.to_owned())).map_or(0, |addresses: &Vec<String>| addresses.len())
    };
    // The profile uses the same symbols.
    assert!((48..=52).contains(&count("SampledProfile", "t::wait_for_hardware")), "{functions:?}");
    assert!(count("Stack", "t::start_device") > 0, "{functions:?}");
    for ((_, function), addresses) in &functions {
        assert!(addresses.iter().all(|address| address.starts_with("0x")), "{function}: {addresses:?}");
    }
    // Without symbols, the dump is unchanged.
    assert_eq!(xperf(&folder, "-symbols -a dumper", None).0, unresolved);
}

#[test]
fn xperf_names_functions_if_symbols_are_available() {
    let folder = with_samples();
    folder.file("driver.pdb", &pdb());
    let xperf = |options: &str, symbols: Option<&str>| xperf(&folder, options, symbols);
    let (detail, stderr) = xperf("-symbols -a profile -detail", Some("."));
    let row = detail.lines().find(|line| line.contains("driver.exe!t::wait_for_hardware")).unwrap();
    let weight: f64 = row.split(',').nth(1).unwrap().trim().parse().unwrap();
    assert!((48_000.0..=52_000.0).contains(&weight), "{row}");
    assert!(!stderr.contains("no symbols"), "{stderr}");
    // Modules and functions have the same time.
    let (modules, _) = xperf("-a profile -detail", Some("."));
    assert!(!modules.contains('!') || !modules.contains("wait_for_hardware"), "{modules}");
    let sum = |text: &str, name: &str| -> f64 {
        let rows = text.lines().filter(|line| line.trim_start().starts_with("driver.exe") && line.contains(name));
        rows.map(|line| line.split(',').nth(1).unwrap().trim().parse::<f64>().unwrap()).sum()
    };
    assert!((sum(&detail, "driver.exe!") - sum(&modules, "driver.exe")).abs() < 1.0);

    let (stacks, _) = xperf("-symbols -a stack -export csv", Some("."));
    assert!(stacks.contains("driver.exe!t::start_device"), "{stacks}");
    assert!(!xperf("-a stack -export csv", Some(".")).0.contains("start_device"));
    // Reports a missing symbol path, and a missing file in it.
    let (detail, stderr) = xperf("-symbols -a profile -detail", None);
    assert!(stderr.contains("_NT_SYMBOL_PATH") && !detail.contains("wait_for_hardware"), "{stderr}");
    folder.file("driver.pdb", b"other");
    let (_, stderr) = xperf("-symbols -a profile -detail", Some("."));
    assert!(stderr.contains("no symbols: driver.pdb"), "{stderr}");
}

/// Kernel addresses as listed by [`linux`]: two in the kernel and one in a module.
const LINUX_STACK: [u64; 3] = [0xffff_ffff_8100_0388, 0xffff_ffff_8100_0525, 0xffff_ffff_c000_0042];

/// A file of trace-cmd. Thread 70 sleeps for 2 ms, called from the module ext4, and then reads from a disk for 1 ms.
fn linux() -> TraceDatBuilder {
    let origin = |time_ns, tid| EventOrigin::new(time_ns, 0, tid);
    TraceDatBuilder::new()
        .kallsyms(
            "ffffffff81000000 T _stext\nffffffff81000300 t __schedule\nffffffff81000500 T do_nanosleep\n\
             ffffffff81000600 T _etext\nffffffffc0000000 t ext4_read\t[ext4]\n",
        )
        .switch(origin(1_000_000, 70), ("sleeper", 1), (0, "swapper/0"))
        .kernel_stack(origin(1_000_500, 70), &LINUX_STACK)
        .switch(origin(3_000_000, 0), ("swapper/0", 0), (70, "sleeper"))
        .disk_read(origin(4_000_000, 70), 64, &LINUX_STACK[1..], 5_000_000)
}

#[test]
fn linux_waits_and_requests_have_kernel_functions() {
    let folder = Folder::new();
    folder.file("trace.dat", &linux().bytes());
    let rows = |arguments: &str| {
        let list = json(&folder, &format!("{arguments} --format json"));
        let row = |row: &Value| {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            (text("module"), text("function"), row["own_ns"].as_i64().unwrap(), row["inclusive_ns"].as_i64())
        };
        list["rows"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let row = |module: &str, function: &str, own_ns: i64, inclusive_ns: i64| {
        (module.to_owned(), function.to_owned(), own_ns, Some(inclusive_ns))
    };
    const MS: i64 = 1_000_000;
    let waited = rows("cpu trace.dat --of waits --by function");
    assert_eq!(
        waited,
        [
            row("[kernel]", "__schedule", 2 * MS, 2 * MS),
            row("[ext4]", "ext4_read", 0, 2 * MS),
            row("[kernel]", "do_nanosleep", 0, 2 * MS),
        ]
    );
    assert_eq!(
        rows("cpu trace.dat --of waits --by module"),
        [row("[kernel]", "", 2 * MS, 2 * MS), row("[ext4]", "", 0, 2 * MS)]
    );
    assert_eq!(
        rows("disk trace.dat --by function"),
        [row("[kernel]", "do_nanosleep", MS, MS), row("[ext4]", "ext4_read", 0, MS)]
    );
    let text = folder.answer("cpu trace.dat --of waits --by stack");
    assert!(text.contains("[kernel]!__schedule < [kernel]!do_nanosleep < [ext4]!ext4_read"), "{text}");
    assert!(!text.contains("--symbols") && !text.contains("LOADER"), "{text}");
}

/// Simulates a recording of a compiled program: a thread of pid 70 waits in it, and its segments are mapped as the
/// loader maps them.
#[test]
fn linux_functions_come_from_elf_files() {
    let folder = Folder::new();
    folder.file("a.c", b"int wait_here(int x) { return x * 3; }\nint main(void) { return wait_here(2); }\n");
    let compiled = std::process::Command::new("cc")
        .args(["-O0", "-pie", "-fPIE", "-o", "sleeper", "a.c"])
        .current_dir(folder.path("."))
        .status();
    let symbol_list = std::process::Command::new("nm").arg(folder.path("sleeper")).output();
    let (Ok(compiled), Ok(symbol_list)) = (compiled, symbol_list) else {
        eprintln!("skipped: no C compiler or no nm on this computer");
        return;
    };
    assert!(compiled.success() && symbol_list.status.success());
    let symbol_list = String::from_utf8(symbol_list.stdout).unwrap();
    let offset_in_file = |name: &str| {
        let line = symbol_list.lines().find(|line| line.ends_with(&format!(" {name}"))).unwrap();
        u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
    };
    const BASE: u64 = 0x5555_5555_4000;
    let stack = [BASE + offset_in_file("wait_here") + 4, BASE + offset_in_file("main") + 4];
    // The loader maps headers, code and data separately.
    let mappings: [(u64, u64, &str); 3] = [
        (BASE, BASE + 0x1000, "/usr/bin/sleeper"),
        (BASE + 0x1000, BASE + 0x2000, "/usr/bin/sleeper"),
        (BASE + 0x2000, BASE + 0x5000, "/usr/bin/sleeper"),
    ];
    let origin = |time_ns, tid| EventOrigin::new(time_ns, 0, tid);
    let trace = TraceDatBuilder::new()
        .process_map(70, "/usr/bin/sleeper", &mappings)
        .switch(origin(1_000_000, 70), ("sleeper", 1), (0, "swapper/0"))
        .user_stack(origin(1_000_500, 70), 70, &stack)
        .switch(origin(3_000_000, 0), ("swapper/0", 0), (70, "sleeper"));
    folder.file("trace.dat", &trace.bytes());
    let arguments = "cpu trace.dat --of waits --by function";
    let resolved = folder.answer(&format!("{arguments} --symbols ."));
    assert!(resolved.contains("sleeper  wait_here") && resolved.contains("sleeper  main"), "{resolved}");
    let folded = folder.answer("cpu trace.dat --of waits --symbols . --format folded");
    assert!(folded.contains("sleeper!main;sleeper!wait_here"), "{folded}");
    // If the file is missing or not a program, the module and the missing file are reported.
    let unresolved = folder.answer(arguments);
    assert!(unresolved.contains("'--symbols PATH'") && !unresolved.contains("wait_here"), "{unresolved}");
    std::fs::create_dir(folder.path("decoy")).unwrap();
    folder.file("decoy/sleeper", b"#!/bin/sh\n");
    let decoy = json(&folder, &format!("{arguments} --symbols decoy --format json"));
    let missing = decoy["missing_symbols"][0].as_str().unwrap();
    assert!(missing.starts_with("/usr/bin/sleeper: ") && missing.contains("decoy"), "{missing}");
    assert!(decoy["rows"].as_array().unwrap().iter().all(|row| row["function"] == ""), "{decoy}");
    let missing_folder = folder.answer(&format!("{arguments} --symbols nowhere"));
    assert!(
        missing_folder.contains("/usr/bin/sleeper: not in the symbol path's folders (2 unresolved addresses)"),
        "{missing_folder}"
    );
}

/// JIT-compiled code gets its names only from the perf map of its process.
#[test]
fn jit_functions_come_from_perf_map() {
    let folder = Folder::new();
    let origin = |time_ns, tid| EventOrigin::new(time_ns, 0, tid);
    let trace = TraceDatBuilder::new()
        .process_map(70, "/usr/bin/node", &[(0x1000, 0x2000, "/usr/bin/node")])
        .switch(origin(1_000_000, 70), ("node", 1), (0, "swapper/0"))
        .user_stack(origin(1_000_500, 70), 70, &[0x7f00_0000_0010, 0x7f00_0000_0100])
        .switch(origin(3_000_000, 0), ("swapper/0", 0), (70, "node"));
    std::fs::create_dir(folder.path("in")).unwrap();
    folder.file("in/trace.dat", &trace.bytes());
    folder.file("in/perf-70.map", b"7f0000000000 20 LazyCompile:*wait app.js:3\n7f0000000040 10 other\n");
    folder.file("in/perf-71.map", b"7f0000000100 20 of another process\n");
    let text = folder.answer("cpu in --of waits --by function");
    assert!(text.contains("[JIT]") && text.contains("  LazyCompile:*wait app.js:3  2.00 ms"), "{text}");
    assert!(!text.contains("of another process") && !text.contains("other"), "{text}");
    let info = folder.answer("info in");
    assert!(!info.contains("perf_map"), "{info}");
}

#[test]
fn reports_missing_evidence_in_linux_terms() {
    let folder = Folder::new();
    folder.file("trace.dat", &linux().bytes());
    let error = |arguments: &str, reason: &str| {
        let (_, answer) = folder.failure(arguments);
        assert!(answer.contains(reason), "{arguments}: {answer}");
    };
    error("cpu trace.dat --by function", "the Linux tracer takes no samples; '--of waits'");
    error("hardfaults trace.dat --by function", "do not show which page faults");
    let origin = |time_ns, tid| EventOrigin::new(time_ns, 0, tid);
    let without_stacks = TraceDatBuilder::new().switch(origin(1_000_000, 70), ("sleeper", 1), (0, "swapper/0")).switch(
        origin(3_000_000, 0),
        ("swapper/0", 0),
        (70, "sleeper"),
    );
    folder.file("trace.dat", &without_stacks.bytes());
    error("cpu trace.dat --of waits --by function", "the tracer options 'stacktrace' and 'userstacktrace'");
    error("disk trace.dat --by function", "block:block_rq_issue");
    // A symbol list copied by an unprivileged user: stacks without names, and the reason.
    let without_addresses = linux().kallsyms("0000000000000000 T _stext\n0000000000000000 T do_nanosleep\n");
    folder.file("trace.dat", &without_addresses.bytes());
    let text = folder.answer("cpu trace.dat --of waits --by function");
    assert!(text.contains("unknown") && text.contains("kernel.kptr_restrict"), "{text}");
    assert!(!text.contains("do_nanosleep") && !text.contains("LOADER"), "{text}");
}
