//! Kernel call graphs of slow callbacks and initcalls: reported if recorded, and only for the thread that did the work.

use onoff::answers::evidence::call_graph::CallGraph;
use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::suspend::SuspendOptions;
use onoff::trace::{CallGraphSubject, Severity};
use onoff::{Boot, Session, Sleeps};
use onoff_testkit::linux::{Initcall, LinuxDevice, LinuxMachine, LinuxSleepPlan};

const MS: i64 = 1_000_000;

/// A trace line: task, processor, time, text.
struct Moment {
    task: String,
    cpu: String,
    us: i64,
}

impl Moment {
    fn line(&self, task: &str, after_us: i64, says: &str) -> String {
        let us = self.us + after_us;
        format!("{task:>16} [{}] d..2. {:5}.{:06}: {says}\n", self.cpu, us / 1_000_000, us % 1_000_000)
    }
}

/// The timestamp of a line in µs.
fn us_of(line: &str) -> Option<i64> {
    let time = line.split_once("] ")?.1.split_ascii_whitespace().nth(1)?;
    time.trim_end_matches(':').replace('.', "").parse().ok()
}

/// The time in µs from `begin` to the end of a callback or initcall. A device has callbacks in several phases.
fn length_us(trace: &str, begin: &str) -> i64 {
    let is_end = |line: &&str| line.contains("device_pm_callback_end") || line.contains("initcall_finish");
    let end = trace.lines().skip_while(|line| *line != begin).find(is_end).and_then(us_of);
    end.unwrap_or_default() - us_of(begin).unwrap()
}

/// A recording with lines inserted after the start of the longest `what`.
fn with_lines(
    files: Vec<(String, Vec<u8>)>,
    what: &str,
    lines: impl Fn(&Moment) -> Vec<(i64, String)>,
) -> Vec<(String, Vec<u8>)> {
    let put_in = |trace: &str| {
        let begin = trace.lines().filter(|line| line.contains(what)).max_by_key(|line| length_us(trace, line)).unwrap();
        let (task, rest) = begin.split_once(" [").unwrap();
        let (cpu, _) = rest.split_once(']').unwrap();
        let moment = Moment { task: task.trim().to_owned(), cpu: cpu.to_owned(), us: us_of(begin).unwrap() };
        let mut added = lines(&moment);
        added.reverse();
        let mut text = String::new();
        let mut met = false;
        for line in trace.lines() {
            while met && added.last().is_some_and(|(after, _)| us_of(line).is_some_and(|us| us > moment.us + after)) {
                text += &added.pop().unwrap().1;
            }
            text += line;
            text.push('\n');
            met |= line == begin;
        }
        assert!(added.is_empty());
        text.into_bytes()
    };
    let is_trace = |name: &str| name.ends_with("trace.txt");
    files
        .into_iter()
        .map(|(name, bytes)| match is_trace(&name) {
            true => (name, put_in(&String::from_utf8(bytes).unwrap())),
            false => (name, bytes),
        })
        .collect()
}

/// `driver_work` takes 60 ms: 50 ms in `slow_register`, 44 ms of that in 2 calls of `wait_for_it`; the rest is its own
/// time.
fn calls(moment: &Moment, task: &str) -> Vec<(i64, String)> {
    [
        (1_000, "funcgraph_entry:                   |  driver_work() {"),
        (2_000, "funcgraph_entry:                   |    slow_register() {"),
        (3_000, "funcgraph_entry:      * 20000.0 us |      wait_for_it();"),
        (24_000, "funcgraph_entry:      * 24000.0 us |      wait_for_it();"),
        (50_000, "funcgraph_entry:        0.100 us   |      tiny();"),
        (52_000, "funcgraph_exit:       * 50000.0 us |    }"),
        (61_000, "funcgraph_exit:       * 60000.0 us |  }"),
    ]
    .map(|(after, says)| (after, moment.line(task, after, says)))
    .to_vec()
}

fn sleeping() -> Vec<(String, Vec<u8>)> {
    let devices = vec![LinuxDevice::new("sda", "sd").callbacks_ms(40, 70)];
    let plan = LinuxSleepPlan { devices, asleep_ms: 20_000, ..LinuxSleepPlan::default() };
    LinuxMachine::healthy().simulate_sleep(&plan).files.all_files()
}

const RESUME: &str = "device_pm_callback_start: sd sda, parent: none, bus [resume]";

fn graphs_of_sleep(files: Vec<(String, Vec<u8>)>) -> (Vec<CallGraph>, String) {
    let session = Session::from_bytes(files).unwrap();
    let answer = session.sleeps(&SuspendOptions::default()).unwrap();
    let mut text = Vec::new();
    answer.write_text(&mut text).unwrap();
    let Sleeps::Linux(report) = answer.report else { panic!("{:?}", answer.report) };
    let losses = report.transitions[0].losses.iter().filter(|loss| loss.severity > Severity::Notice).count();
    assert_eq!(losses, 0);
    (report.transitions[0].details.call_graphs.clone(), String::from_utf8(text).unwrap())
}

/// Function, depth, calls, duration and own time in ms.
fn rows(graph: &CallGraph) -> Vec<(&str, u32, u64, i64, i64)> {
    let rows = graph.functions.iter();
    rows.map(|row| (row.function.as_str(), row.depth, row.calls, row.duration_ns / MS, row.own_ns / MS)).collect()
}

const EXPECTED: [(&str, u32, u64, i64, i64); 3] =
    [("driver_work", 0, 1, 60, 10), ("slow_register", 1, 1, 50, 5), ("wait_for_it", 2, 2, 44, 44)];

#[test]
fn slow_callback_has_call_graph() {
    let (graphs, text) = graphs_of_sleep(with_lines(sleeping(), RESUME, |at| calls(at, &at.task)));
    let [graph] = &graphs[..] else { panic!("{graphs:?}") };
    assert_eq!((graph.subject, graph.name.as_str()), (CallGraphSubject::DeviceCallback, "sda"));
    assert_eq!((graph.driver.as_str(), graph.unfinished), ("sd", 0));
    // Small calls are not listed; their time is not added to the caller's own time.
    assert_eq!(rows(graph), EXPECTED);
    assert!((graph.duration_ns.unwrap() - 70 * MS).abs() < MS, "{graph:?}");
    assert!((graph.unaccounted_ns.unwrap() - 10 * MS).abs() < MS, "{graph:?}");
    for part in ["Call graphs", "sda (sd)", "      wait_for_it", "2 calls"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("without an end"), "{text}");
}

#[test]
fn slow_initcall_has_call_graph() {
    let boot = |files: Vec<(String, Vec<u8>)>| {
        let session = Session::from_bytes(files).unwrap();
        let answer = session.boot(&BootOptions::default()).unwrap();
        let mut text = Vec::new();
        answer.write_text(&mut text).unwrap();
        let Boot::Linux(report) = answer.report else { panic!("{:?}", answer.report) };
        (report.details.call_graphs.clone(), String::from_utf8(text).unwrap())
    };
    let plain =
        LinuxMachine::healthy().initcall(Initcall::new("slow_init").sleep_ms(90)).simulate_boot().files.all_files();
    let what = "initcall_start: func=slow_init";
    let (graphs, text) = boot(with_lines(plain.clone(), what, |at| calls(at, &at.task)));
    let [graph] = &graphs[..] else { panic!("{graphs:?}") };
    assert_eq!((graph.subject, graph.name.as_str()), (CallGraphSubject::Initcall, "slow_init"));
    assert_eq!(rows(graph), EXPECTED);
    assert!(text.contains("Call graphs") && text.contains("slow_register"), "{text}");
    let (graphs, text) = boot(plain);
    assert!(graphs.is_empty() && !text.contains("Call graphs"), "{text}");
}

#[test]
fn no_call_graph_without_calls() {
    let (graphs, text) = graphs_of_sleep(sleeping());
    assert!(graphs.is_empty() && !text.contains("Call graphs"), "{graphs:?} {text}");
}

#[test]
fn ignores_calls_of_other_threads() {
    // One other thread runs on the same processor, and one has the same name.
    for other in ["kworker/u4:9-4321", "SAME-4321"] {
        let (graphs, text) = graphs_of_sleep(with_lines(sleeping(), RESUME, |at| {
            let name = at.task.rsplit_once('-').unwrap().0;
            calls(at, &other.replace("SAME", name))
        }));
        assert!(graphs.is_empty() && !text.contains("Call graphs"), "{graphs:?} {text}");
    }
    // Calls of the same thread before and after the callback.
    let (graphs, text) = graphs_of_sleep(with_lines(sleeping(), RESUME, |at| {
        let late = Moment { task: at.task.clone(), cpu: at.cpu.clone(), us: at.us + 100_000 };
        calls(&late, &at.task).into_iter().map(|(after, line)| (after + 100_000, line)).collect()
    }));
    assert!(graphs.is_empty() && !text.contains("Call graphs"), "{graphs:?} {text}");
}

#[test]
fn marks_unfinished_call_graph() {
    let (graphs, text) = graphs_of_sleep(with_lines(sleeping(), RESUME, |at| {
        let mut calls = calls(at, &at.task);
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
    let files = with_lines(sleeping(), RESUME, |at| {
        let mut lines = Vec::new();
        for depth in 0..300_usize {
            let says = format!("funcgraph_entry: |  {}deep{depth}() {{", "  ".repeat(depth));
            lines.push((1_000, at.line(&at.task, 1_000, &says)));
        }
        for number in 0..20_000 {
            let says = format!("funcgraph_entry: 5000.0 us |  wide{number}();");
            lines.push((2_000, at.line(&at.task, 2_000, &says)));
        }
        lines.push((3_000, at.line(&at.task, 3_000, "funcgraph_exit: 99999999999999999 us |  }")));
        lines.push((3_000, at.line(&at.task, 3_000, "funcgraph_exit: 1.0 us |                              }")));
        lines
    });
    let (graphs, text) = graphs_of_sleep(files);
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
    let kernels: String = EVENTS
        .iter()
        .map(|(us, name, body)| match name.starts_with("funcgraph_") {
            true if body.starts_with('|') => format!("   10.{us:06} |   0)  sh-77  |               {body}\n"),
            true => format!("   10.{us:06} |   0)  sh-77  |  {body}\n"),
            false => format!("   10.{us:06} |   0)  sh-77  |               |  /* {name}: {body} */\n"),
        })
        .collect();
    let kernels = format!("# tracer: function_graph\n#\n{kernels}");
    let raw: String = EVENTS
        .iter()
        .map(|&(us, name, body)| {
            let address = |name: &str| format!("0x{:x}", name.len());
            let says = match name {
                "funcgraph_entry" if body.contains("blk") => {
                    format!("func={} depth=2\n  sh-77 [000] 10.035000: funcgraph_exit: func=0x1 calltime=0x0 rettime=0x{:x} overrun=0x0 depth=2", address("blk_execute_rq"), 30_000_000)
                }
                "funcgraph_entry" if body.contains("sync") => format!("func={} depth=1", address("sd_sync_cache")),
                "funcgraph_entry" => format!("func={} depth=0", address("sd_suspend")),
                "funcgraph_exit" if us == 36_000 => format!("func=0x2 calltime=0x0 rettime=0x{:x} overrun=0x0 depth=1", 32_000_000),
                "funcgraph_exit" => format!("func=0x3 calltime=0x0 rettime=0x{:x} overrun=0x0 depth=0", 37_000_000),
                _ => body.to_owned(),
            };
            format!("  sh-77 [000] 10.{us:06}: {name}: {says}\n")
        })
        .collect();
    let expected = [(0, 37, 5), (1, 32, 2), (2, 30, 30)];
    for (form, text) in [("report", report), ("kernel", kernels), ("raw", raw)] {
        let session = Session::from_bytes([("trace.txt".to_owned(), text.into_bytes())]).unwrap();
        let trace = session.tables(onoff::trace::TableSet::all()).unwrap();
        let rows: Vec<_> =
            trace.call_graph_functions.iter().map(|row| (row.depth, row.duration_ns / MS, row.own_ns / MS)).collect();
        assert_eq!(rows, expected, "{form}");
        let losses: Vec<_> = trace.losses.iter().map(|loss| loss.counter).collect();
        assert_eq!(losses, ["trace_clock_unknown"], "{form}");
    }
}
