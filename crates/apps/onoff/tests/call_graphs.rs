//! Kernel call graphs of slow callbacks and initcalls: reported if recorded, and only for the thread that did the work.

use onoff::answers::evidence::call_graph::CallGraph;
use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::suspend::SuspendOptions;
use onoff::trace::{CallGraphSubject, Severity};
use onoff::{Boot, Session, Sleeps};
use onoff_testkit::linux::{Initcall, LinuxDevice, LinuxMachine, LinuxSleepPlan};

const MS: i64 = 1_000_000;

/// Task, processor and time of a trace line.
struct TracePosition {
    task: String,
    cpu: String,
    us: i64,
}

impl TracePosition {
    fn line(&self, task: &str, after_us: i64, text: &str) -> String {
        let us = self.us + after_us;
        format!("{task:>16} [{}] d..2. {:5}.{:06}: {text}\n", self.cpu, us / 1_000_000, us % 1_000_000)
    }
}

/// Parses the timestamp of a line, in µs.
fn timestamp_us(line: &str) -> Option<i64> {
    let time = line.split_once("] ")?.1.split_ascii_whitespace().nth(1)?;
    time.trim_end_matches(':').replace('.', "").parse().ok()
}

/// Returns the duration in µs of the callback or initcall that starts at line `begin`. A device has callbacks in
/// several phases.
fn duration_us(trace: &str, begin: &str) -> i64 {
    let is_end = |line: &&str| line.contains("device_pm_callback_end") || line.contains("initcall_finish");
    let end = trace.lines().skip_while(|line| *line != begin).find(is_end).and_then(timestamp_us);
    end.unwrap_or_default() - timestamp_us(begin).unwrap()
}

/// Inserts lines after the longest work that starts with a line containing `pattern`.
fn insert_lines(
    files: Vec<(String, Vec<u8>)>,
    pattern: &str,
    lines: impl Fn(&TracePosition) -> Vec<(i64, String)>,
) -> Vec<(String, Vec<u8>)> {
    let insert = |trace: &str| {
        let begin =
            trace.lines().filter(|line| line.contains(pattern)).max_by_key(|line| duration_us(trace, line)).unwrap();
        let (task, fields) = begin.split_once(" [").unwrap();
        let (cpu, _) = fields.split_once(']').unwrap();
        let position =
            TracePosition { task: task.trim().to_owned(), cpu: cpu.to_owned(), us: timestamp_us(begin).unwrap() };
        let mut inserted = lines(&position);
        inserted.reverse();
        let mut text = String::new();
        let mut is_after_begin = false;
        for line in trace.lines() {
            while is_after_begin
                && inserted
                    .last()
                    .is_some_and(|(after_us, _)| timestamp_us(line).is_some_and(|us| us > position.us + after_us))
            {
                text += &inserted.pop().unwrap().1;
            }
            text += line;
            text.push('\n');
            is_after_begin |= line == begin;
        }
        assert!(inserted.is_empty());
        text.into_bytes()
    };
    let is_trace = |name: &str| name.ends_with("trace.txt");
    files
        .into_iter()
        .map(|(name, bytes)| match is_trace(&name) {
            true => (name, insert(&String::from_utf8(bytes).unwrap())),
            false => (name, bytes),
        })
        .collect()
}

/// Returns trace lines of calls: `driver_work` takes 60 ms, of which `slow_register` takes 50 ms, of which 2 calls of
/// `wait_for_it` take 44 ms.
fn calls(position: &TracePosition, task: &str) -> Vec<(i64, String)> {
    [
        (1_000, "funcgraph_entry:                   |  driver_work() {"),
        (2_000, "funcgraph_entry:                   |    slow_register() {"),
        (3_000, "funcgraph_entry:      * 20000.0 us |      wait_for_it();"),
        (24_000, "funcgraph_entry:      * 24000.0 us |      wait_for_it();"),
        (50_000, "funcgraph_entry:        0.100 us   |      tiny();"),
        (52_000, "funcgraph_exit:       * 50000.0 us |    }"),
        (61_000, "funcgraph_exit:       * 60000.0 us |  }"),
    ]
    .map(|(after_us, text)| (after_us, position.line(task, after_us, text)))
    .to_vec()
}

fn sleep_recording() -> Vec<(String, Vec<u8>)> {
    let devices = vec![LinuxDevice::new("sda", "sd").callbacks_ms(40, 70)];
    let plan = LinuxSleepPlan { devices, asleep_ms: 20_000, ..LinuxSleepPlan::default() };
    LinuxMachine::healthy().simulate_sleep(&plan).files.all_files()
}

const RESUME: &str = "device_pm_callback_start: sd sda, parent: none, bus [resume]";

fn analyze_sleep(files: Vec<(String, Vec<u8>)>) -> (Vec<CallGraph>, String) {
    let session = Session::from_bytes(files).unwrap();
    let result = session.sleeps(&SuspendOptions::default()).unwrap();
    let mut text = Vec::new();
    result.write_text(&mut text).unwrap();
    let Sleeps::Linux(report) = result.report else { panic!("{:?}", result.report) };
    let losses = report.transitions[0].losses.iter().filter(|loss| loss.severity > Severity::Notice).count();
    assert_eq!(losses, 0);
    (report.transitions[0].details.call_graphs.clone(), String::from_utf8(text).unwrap())
}

/// Returns function, depth, calls, duration and own time, in ms.
fn rows(graph: &CallGraph) -> Vec<(&str, u32, u64, i64, i64)> {
    let rows = graph.functions.iter();
    rows.map(|row| (row.function.as_str(), row.depth, row.calls, row.duration_ns / MS, row.own_ns / MS)).collect()
}

const EXPECTED: [(&str, u32, u64, i64, i64); 3] =
    [("driver_work", 0, 1, 60, 10), ("slow_register", 1, 1, 50, 5), ("wait_for_it", 2, 2, 44, 44)];

#[test]
fn slow_callback_has_call_graph() {
    let (graphs, text) =
        analyze_sleep(insert_lines(sleep_recording(), RESUME, |position| calls(position, &position.task)));
    let [graph] = &graphs[..] else { panic!("{graphs:?}") };
    assert_eq!((graph.subject, graph.name.as_str()), (CallGraphSubject::DeviceCallback, "sda"));
    assert_eq!((graph.driver.as_str(), graph.unfinished), ("sd", 0));
    // Small calls are not listed; their time is not added to the caller's own time.
    assert_eq!(rows(graph), EXPECTED);
    assert!((graph.duration_ns.unwrap() - 70 * MS).abs() < MS, "{graph:?}");
    assert!((graph.unaccounted_ns.unwrap() - 10 * MS).abs() < MS, "{graph:?}");
    for expected in ["Call graphs", "sda (sd)", "      wait_for_it", "2 calls"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("without an end"), "{text}");
}

#[test]
fn slow_initcall_has_call_graph() {
    let boot = |files: Vec<(String, Vec<u8>)>| {
        let session = Session::from_bytes(files).unwrap();
        let result = session.boot(&BootOptions::default()).unwrap();
        let mut text = Vec::new();
        result.write_text(&mut text).unwrap();
        let Boot::Linux(report) = result.report else { panic!("{:?}", result.report) };
        (report.details.call_graphs.clone(), String::from_utf8(text).unwrap())
    };
    let files =
        LinuxMachine::healthy().initcall(Initcall::new("slow_init").sleep_ms(90)).simulate_boot().files.all_files();
    let pattern = "initcall_start: func=slow_init";
    let (graphs, text) = boot(insert_lines(files.clone(), pattern, |position| calls(position, &position.task)));
    let [graph] = &graphs[..] else { panic!("{graphs:?}") };
    assert_eq!((graph.subject, graph.name.as_str()), (CallGraphSubject::Initcall, "slow_init"));
    assert_eq!(rows(graph), EXPECTED);
    assert!(text.contains("Call graphs") && text.contains("slow_register"), "{text}");
    let (graphs, text) = boot(files);
    assert!(graphs.is_empty() && !text.contains("Call graphs"), "{text}");
}

#[test]
fn no_call_graph_without_calls() {
    let (graphs, text) = analyze_sleep(sleep_recording());
    assert!(graphs.is_empty() && !text.contains("Call graphs"), "{graphs:?} {text}");
}

#[test]
fn ignores_calls_of_other_threads() {
    // One other thread runs on the same processor, and one has the same name.
    for other_task in ["kworker/u4:9-4321", "SAME-4321"] {
        let (graphs, text) = analyze_sleep(insert_lines(sleep_recording(), RESUME, |position| {
            let name = position.task.rsplit_once('-').unwrap().0;
            calls(position, &other_task.replace("SAME", name))
        }));
        assert!(graphs.is_empty() && !text.contains("Call graphs"), "{graphs:?} {text}");
    }
    // Calls of the same thread before and after the callback.
    let (graphs, text) = analyze_sleep(insert_lines(sleep_recording(), RESUME, |position| {
        let after_callback =
            TracePosition { task: position.task.clone(), cpu: position.cpu.clone(), us: position.us + 100_000 };
        calls(&after_callback, &position.task).into_iter().map(|(after_us, line)| (after_us + 100_000, line)).collect()
    }));
    assert!(graphs.is_empty() && !text.contains("Call graphs"), "{graphs:?} {text}");
}

#[test]
fn marks_unfinished_call_graph() {
    let (graphs, text) = analyze_sleep(insert_lines(sleep_recording(), RESUME, |position| {
        let mut calls = calls(position, &position.task);
        // The exit of `slow_register` was lost.
        calls.remove(5);
        calls
    }));
    let [graph] = &graphs[..] else { panic!("{graphs:?}") };
    assert_eq!(graph.unfinished, 1);
    let register = graph.functions.iter().find(|row| row.function == "slow_register").unwrap();
    assert_eq!((register.unfinished, register.duration_ns), (1, 0));
    let work = graph.functions.iter().find(|row| row.function == "driver_work").unwrap();
    assert_eq!((work.unfinished, work.duration_ns), (0, 60 * MS));
    assert!(text.contains("1 call without an end"), "{text}");
    assert!(text.contains("call_graph_calls_unpaired") || text.contains("begin or end was not recorded"), "{text}");
}

#[test]
fn bounds_hostile_call_graph() {
    let files = insert_lines(sleep_recording(), RESUME, |position| {
        let mut lines = Vec::new();
        for depth in 0..300_usize {
            let text = format!("funcgraph_entry: |  {}deep{depth}() {{", "  ".repeat(depth));
            lines.push((1_000, position.line(&position.task, 1_000, &text)));
        }
        for number in 0..20_000 {
            let text = format!("funcgraph_entry: 5000.0 us |  wide{number}();");
            lines.push((2_000, position.line(&position.task, 2_000, &text)));
        }
        lines.push((3_000, position.line(&position.task, 3_000, "funcgraph_exit: 99999999999999999 us |  }")));
        lines.push((
            3_000,
            position.line(&position.task, 3_000, "funcgraph_exit: 1.0 us |                              }"),
        ));
        lines
    });
    let (graphs, text) = analyze_sleep(files);
    let [graph] = &graphs[..] else { panic!("{graphs:?}") };
    assert!(graph.functions.len() <= 4096 && graph.functions.iter().all(|row| row.depth < 64));
    assert!(text.contains("without an end") && text.len() < 100_000, "{}", text.len());
    assert!(text.contains("too deep"), "{text}");
}

/// A suspend with one callback, in the formats of the tracer and `trace-cmd`.
#[test]
fn trace_formats_give_same_call_graph() {
    const EVENTS: [(i64, &str, &str); 13] = [
        (0, "suspend_resume", "suspend_enter[3] begin"),
        (1_000, "suspend_resume", "dpm_suspend[2] begin"),
        (2_000, "device_pm_callback_start", "sd sda, parent: none, bus [suspend]"),
        (3_000, "funcgraph_entry", "|  sd_suspend() {"),
        (4_000, "funcgraph_entry", "|    sd_sync_cache() {"),
        (5_000, "funcgraph_entry", "30000.0 us |      blk_execute_rq();"),
        (36_000, "funcgraph_exit", "32000.0 us |    }"),
        (40_000, "funcgraph_exit", "37000.0 us |  }"),
        (41_000, "device_pm_callback_end", "sd sda, err=0"),
        (42_000, "suspend_resume", "dpm_suspend[2] end"),
        (43_000, "suspend_resume", "thaw_processes[0] begin"),
        (44_000, "suspend_resume", "thaw_processes[0] end"),
        (45_000, "suspend_resume", "suspend_enter[3] end"),
    ];
    let report: String =
        EVENTS.iter().map(|(us, name, body)| format!("  sh-77 [000] 10.{us:06}: {name}: {body}\n")).collect();
    let kernel: String = EVENTS
        .iter()
        .map(|(us, name, body)| match name.starts_with("funcgraph_") {
            true if body.starts_with('|') => format!("   10.{us:06} |   0)  sh-77  |               {body}\n"),
            true => format!("   10.{us:06} |   0)  sh-77  |  {body}\n"),
            false => format!("   10.{us:06} |   0)  sh-77  |               |  /* {name}: {body} */\n"),
        })
        .collect();
    let kernel = format!("# tracer: function_graph\n#\n{kernel}");
    let raw: String = EVENTS
        .iter()
        .map(|&(us, name, body)| {
            let address = |name: &str| format!("0x{:x}", name.len());
            let fields = match name {
                "funcgraph_entry" if body.contains("blk") => {
                    format!("func={} depth=2\n  sh-77 [000] 10.035000: funcgraph_exit: func=0x1 calltime=0x0 rettime=0x{:x} overrun=0x0 depth=2", address("blk_execute_rq"), 30_000_000)
                }
                "funcgraph_entry" if body.contains("sync") => format!("func={} depth=1", address("sd_sync_cache")),
                "funcgraph_entry" => format!("func={} depth=0", address("sd_suspend")),
                "funcgraph_exit" if us == 36_000 => format!("func=0x2 calltime=0x0 rettime=0x{:x} overrun=0x0 depth=1", 32_000_000),
                "funcgraph_exit" => format!("func=0x3 calltime=0x0 rettime=0x{:x} overrun=0x0 depth=0", 37_000_000),
                _ => body.to_owned(),
            };
            format!("  sh-77 [000] 10.{us:06}: {name}: {fields}\n")
        })
        .collect();
    let expected = [(0, 37, 5), (1, 32, 2), (2, 30, 30)];
    for (form, text) in [("report", report), ("kernel", kernel), ("raw", raw)] {
        let session = Session::from_bytes([("trace.txt".to_owned(), text.into_bytes())]).unwrap();
        let trace = session.tables(onoff::trace::TableSet::all()).unwrap();
        let rows: Vec<_> =
            trace.call_graph_functions.iter().map(|row| (row.depth, row.duration_ns / MS, row.own_ns / MS)).collect();
        assert_eq!(rows, expected, "{form}");
        let losses: Vec<_> = trace.losses.iter().map(|loss| loss.counter).collect();
        assert_eq!(losses, ["trace_clock_unknown"], "{form}");
    }
}
