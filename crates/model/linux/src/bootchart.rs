//! Reads what bootchart collects (`bootchart.tgz`): samples of `/proc`, about every 0.2 s, from the start of
//! bootchartd, which runs in place of init, until it is stopped.
//!
//! A log is a sequence of samples separated by empty lines. The first line of a sample is the time since the kernel's
//! start in hundredths of a second; in `proc_ps.log` it is followed by `/proc/PID/stat` of every process. Sources:
//! proc(5), the scripts of bootchart 0.8 and 0.9, and busybox's `bootchartd`, which writes the same format.

use hashbrown::{HashMap, HashSet};
use onoff_trace::system::MAX_PROCESSORS;
use onoff_trace::{counters, milestone};

use super::assembly::Assembly;
use super::bootchart_samples::{Sample, hundredths};
use super::machine::set;
use super::parts::{Part, PartKind};

const EVENT: &str = "bootchart";

/// Maximum number of processes.
const MAX_PROCESSES: usize = 1 << 20;

counters! {
    UNREADABLE = "bootchart_lines_unreadable", Notice, [Processes],
        "Lines of bootchart's proc_ps.log were skipped: not a process sample, or too many processes.";
    TOTALS_SKIPPED = "bootchart_totals_skipped", Notice, [],
        "Bootchart's CPU and disk totals (proc_stat.log, proc_diskstats.log) were skipped: they are not broken down by process.";
}

pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    match part.kind {
        PartKind::BootchartHeader => header(&text, assembly),
        PartKind::BootchartProcesses => processes(part.name, &text, assembly),
        _ => {
            assembly.losses.add(&TOTALS_SKIPPED, 1);
            if let Some(last_ns) = text.lines().filter_map(hundredths).max() {
                assembly.extend_to(last_ns);
            }
        }
    }
}

fn header(text: &str, assembly: &mut Assembly) {
    let system = &mut assembly.system;
    for (key, value) in text.lines().filter_map(|line| line.split_once(" = ")) {
        match key {
            // `Linux 2.6.29 #1 SMP …`: the computer's name is left out.
            "system.uname" => set(&mut system.os_build_text, value.split_ascii_whitespace().nth(1)),
            "system.release" => set(&mut system.os, Some(value)),
            "system.kernel.options" => set(&mut system.kernel_command_line, Some(value)),
            // `model name : NAME (2)`
            "system.cpu" => {
                let model = value.split_once(": ").map_or(value, |(_, model)| model);
                let (name, count) = model.rsplit_once(" (").unwrap_or((model, ""));
                set(&mut system.processor_name, Some(name));
                if let Ok(processors @ 1..=MAX_PROCESSORS) = count.trim_end_matches(')').parse() {
                    system.processors = processors;
                }
            }
            _ => {}
        }
    }
}

fn processes(file: &str, text: &str, assembly: &mut Assembly) {
    // Start and name of the processes in the previous sample.
    let mut alive: HashMap<u32, (i64, &str)> = HashMap::new();
    let mut sampled: HashSet<u32> = HashSet::new();
    let mut count = 0;
    let mut now_ns: Option<i64> = None;
    for (number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        if let Some(time_ns) = hundredths(line) {
            match now_ns {
                // bootchartd runs as the first program and then executes the real init.
                None => assembly.add_milestone(time_ns, milestone::USER_SPACE_BEGIN, "", None, EVENT),
                Some(sampled_ns) => end_missing(&mut alive, &sampled, sampled_ns, assembly),
            }
            sampled.clear();
            now_ns = Some(time_ns);
            assembly.extend_to(time_ns);
            continue;
        }
        let Some((sample, _)) = Sample::parse(line).zip(now_ns).filter(|_| count < MAX_PROCESSES) else {
            assembly.losses.add_at(&UNREADABLE, || format!("{file}, line {number}"));
            continue;
        };
        sampled.insert(sample.pid);
        let previous = alive.insert(sample.pid, (sample.start_ns, sample.name));
        if previous == Some((sample.start_ns, sample.name)) {
            continue;
        }
        let name = assembly.intern(sample.name);
        match previous {
            Some((start_ns, _)) if start_ns == sample.start_ns => {
                let path = assembly.intern("");
                assembly.processes.exec(sample.pid, name, path);
            }
            _ => {
                count += 1;
                if previous.is_some() {
                    assembly.processes.end_if_open(sample.start_ns, sample.pid);
                }
                assembly.processes.fork(sample.start_ns, sample.parent_pid, sample.pid, name);
            }
        }
    }
    if let Some(sampled_ns) = now_ns {
        end_missing(&mut alive, &sampled, sampled_ns, assembly);
    }
}

/// Ends the processes that are missing from the sample at `time_ns`.
fn end_missing(alive: &mut HashMap<u32, (i64, &str)>, sampled: &HashSet<u32>, time_ns: i64, assembly: &mut Assembly) {
    let missing_pids: Vec<u32> = alive.keys().copied().filter(|pid| !sampled.contains(pid)).collect();
    for pid in missing_pids {
        alive.remove(&pid);
        assembly.processes.end_if_open(time_ns, pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{TableSet, Trace};

    fn stat(pid: u32, name: &str, parent: u32, start: u32) -> String {
        format!("{pid} ({name}) S {parent} 1 1 0 -1 4194560 272 0 15 0 0 98 0 0 20 0 1 0 {start} 3227648 594\n")
    }

    fn read_as(kind: PartKind, text: &str) -> Trace {
        let mut assembly = Assembly::new(TableSet::all());
        super::read(&Part { kind, name: "proc_ps.log", bytes: text.as_bytes() }, &mut assembly);
        crate::unit_reconciliation::reconciled_trace(assembly)
    }

    fn processes_of(trace: &Trace) -> Vec<(String, Option<i64>, Option<i64>)> {
        let ms = |ns: Option<i64>| ns.map(|ns| ns / 1_000_000);
        let rows = trace.processes.iter().filter(|row| row.pid != 0);
        rows.map(|row| (trace.text(row.image).to_owned(), ms(row.start_ns), ms(row.end_ns))).collect()
    }

    #[test]
    fn process_ends_at_first_sample_without_it() {
        let text = format!(
            "204\n{init}{short}\n224\n{init}{renamed}\n244\n{init}\n264\n{init}{reused}\n284\n{init}",
            init = stat(1, "init", 0, 5),
            short = stat(40, "a b) (c", 1, 200),
            renamed = stat(40, "renamed", 1, 200),
            reused = stat(40, "other", 1, 255),
        );
        let trace = read_as(PartKind::BootchartProcesses, &text);
        assert_eq!(
            processes_of(&trace),
            [
                ("init".to_owned(), Some(50), None),
                ("renamed".to_owned(), Some(2000), Some(2440)),
                ("other".to_owned(), Some(2550), Some(2840)),
            ]
        );
        assert_eq!(trace.duration_ns, 2_840_000_000);
        assert!(trace.losses.is_empty());
    }

    #[test]
    fn counts_unreadable_lines() {
        let trace = read_as(
            PartKind::BootchartProcesses,
            &format!("5 (early) S 1\n204\n{}1 (cut) S 0 1\n", stat(1, "init", 0, 5)),
        );
        let count = trace.losses.iter().find(|loss| loss.counter == UNREADABLE.name).map(|loss| loss.count);
        assert_eq!(count, Some(2));
        assert_eq!(processes_of(&trace).len(), 1);
    }

    #[test]
    fn reads_machine_from_header() {
        let trace = read_as(
            PartKind::BootchartHeader,
            "version = 0.8\ntitle = Boot chart for h\nsystem.uname = Linux 2.6.29 #1 SMP i686\nsystem.release = Fedora 10\n\
             system.cpu = model name\t: A B (2)\nsystem.kernel.options = ro init=/sbin/bootchartd\n",
        );
        let system = &trace.system;
        assert_eq!((system.os.as_str(), system.os_build_text.as_str()), ("Fedora 10", "2.6.29"));
        assert_eq!((system.processor_name.as_str(), system.processors), ("A B", 2));
        assert_eq!(system.kernel_command_line, "ro init=/sbin/bootchartd");
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text: String, start in 0_u64.., pid in 0_u32..) {
            for kind in [PartKind::BootchartHeader, PartKind::BootchartProcesses, PartKind::BootchartTotals] {
                let _ = read_as(kind, &text);
                let _ = read_as(kind, &format!("{start}\n{pid} ({text}) S 0 1 1 0 -1 4 2 0 5 0 0 9 0 0 20 0 1 0 {start} 3\n"));
            }
        }
    }
}
