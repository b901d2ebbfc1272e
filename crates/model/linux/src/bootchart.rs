//! What bootchart collects (`bootchart.tgz`): samples of `/proc`, every 0.2 s or so, from the program that starts instead of the first
//! one until somebody stops it.
//!
//! Each log holds samples, one below the other with an empty line between. The first line of a sample is the time since the kernel's
//! start in hundredths of a second; `proc_ps.log` has `/proc/PID/stat` of every process below it. Source: proc(5), and the scripts of
//! bootchart 0.8 and 0.9 and of busybox' `bootchartd`, which write the same.

use hashbrown::{HashMap, HashSet};
use onoff_trace::system::MAX_PROCESSORS;
use onoff_trace::{counters, milestone};

use super::assembly::Assembly;
use super::bootchart_samples::{Sample, hundredths};
use super::machine::set;
use super::parts::{Part, PartKind};

/// What rows name as their record.
const EVENT: &str = "bootchart";

/// Lives of processes that are kept, at most.
const MAX: usize = 1 << 20;

counters! {
    UNREADABLE = "bootchart_lines_unreadable", Notice, [Processes],
        "lines of bootchart's proc_ps.log that are no sample of a process, or too many, were left out";
    USE_LEFT_OUT = "bootchart_use_left_out", Notice, [],
        "bootchart's sums of processor and disk time (proc_stat.log, proc_diskstats.log) are in no table: they do not say whose they are";
}

/// Adds the part's rows.
pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    match part.kind {
        PartKind::BootchartHeader => header(&text, assembly),
        PartKind::BootchartProcesses => processes(part.name, &text, assembly),
        _ => {
            assembly.losses.add(&USE_LEFT_OUT, 1);
            if let Some(last_ns) = text.lines().filter_map(hundredths).max() {
                assembly.reaches(last_ns);
            }
        }
    }
}

fn header(text: &str, assembly: &mut Assembly) {
    let system = &mut assembly.system;
    for (key, value) in text.lines().filter_map(|line| line.split_once(" = ")) {
        match key {
            // `Linux 2.6.29 #1 SMP …`: without the computer's name.
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
    // Start and name of the processes that the sample before had.
    let mut alive: HashMap<u32, (i64, &str)> = HashMap::new();
    let mut seen: HashSet<u32> = HashSet::new();
    let mut lives = 0;
    let mut now_ns: Option<i64> = None;
    for (number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        if let Some(time_ns) = hundredths(line) {
            match now_ns {
                // It starts instead of the first program, and becomes that.
                None => assembly.milestone(time_ns, milestone::USER_SPACE_BEGIN, "", None, EVENT),
                Some(sampled_ns) => end(&mut alive, &seen, sampled_ns, assembly),
            }
            seen.clear();
            now_ns = Some(time_ns);
            assembly.reaches(time_ns);
            continue;
        }
        let Some((sample, _)) = Sample::of(line).zip(now_ns).filter(|_| lives < MAX) else {
            assembly.losses.add_at(&UNREADABLE, || format!("{file}, line {number}"));
            continue;
        };
        seen.insert(sample.pid);
        let known = alive.insert(sample.pid, (sample.start_ns, sample.name));
        if known == Some((sample.start_ns, sample.name)) {
            continue;
        }
        let name = assembly.text(sample.name);
        match known {
            Some((start_ns, _)) if start_ns == sample.start_ns => {
                let path = assembly.text("");
                assembly.processes.exec(sample.pid, name, path);
            }
            _ => {
                lives += 1;
                if known.is_some() {
                    assembly.processes.ended(sample.start_ns, sample.pid);
                }
                assembly.processes.fork(sample.start_ns, sample.parent_pid, sample.pid, name);
            }
        }
    }
    if let Some(sampled_ns) = now_ns {
        end(&mut alive, &seen, sampled_ns, assembly);
    }
}

/// Who is not among those `seen` in the sample of `time_ns` ended before it.
fn end(alive: &mut HashMap<u32, (i64, &str)>, seen: &HashSet<u32>, time_ns: i64, assembly: &mut Assembly) {
    let gone: Vec<u32> = alive.keys().copied().filter(|pid| !seen.contains(pid)).collect();
    for pid in gone {
        alive.remove(&pid);
        assembly.processes.ended(time_ns, pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{Tables, Trace};

    fn stat(pid: u32, name: &str, parent: u32, start: u32) -> String {
        format!("{pid} ({name}) S {parent} 1 1 0 -1 4194560 272 0 15 0 0 98 0 0 20 0 1 0 {start} 3227648 594\n")
    }

    fn read_as(kind: PartKind, text: &str) -> Trace {
        let mut assembly = Assembly::new(Tables::all());
        super::read(&Part { kind, name: "proc_ps.log", bytes: text.as_bytes() }, &mut assembly);
        crate::unit_account::settled(assembly)
    }

    fn lives(trace: &Trace) -> Vec<(String, Option<i64>, Option<i64>)> {
        let ms = |ns: Option<i64>| ns.map(|ns| ns / 1_000_000);
        let rows = trace.processes.iter().filter(|row| row.pid != 0);
        rows.map(|row| (trace.text(row.image).to_owned(), ms(row.start_ns), ms(row.end_ns))).collect()
    }

    #[test]
    fn processes_live_from_their_start_to_the_sample_that_lacks_them() {
        let text = format!(
            "204\n{init}{short}\n224\n{init}{named}\n244\n{init}\n264\n{init}{again}\n284\n{init}",
            init = stat(1, "init", 0, 5),
            short = stat(40, "a b) (c", 1, 200),
            named = stat(40, "renamed", 1, 200),
            again = stat(40, "other", 1, 255),
        );
        let trace = read_as(PartKind::BootchartProcesses, &text);
        assert_eq!(
            lives(&trace),
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
    fn what_is_no_sample_is_counted() {
        let trace = read_as(
            PartKind::BootchartProcesses,
            &format!("5 (early) S 1\n204\n{}1 (cut) S 0 1\n", stat(1, "init", 0, 5)),
        );
        let count = trace.losses.iter().find(|loss| loss.counter == UNREADABLE.name).map(|loss| loss.count);
        assert_eq!(count, Some(2));
        assert_eq!(lives(&trace).len(), 1);
    }

    #[test]
    fn the_header_names_the_machine() {
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
        fn any_text_is_read_or_refused(text: String, start in 0_u64.., pid in 0_u32..) {
            for kind in [PartKind::BootchartHeader, PartKind::BootchartProcesses, PartKind::BootchartUse] {
                let _ = read_as(kind, &text);
                let _ = read_as(kind, &format!("{start}\n{pid} ({text}) S 0 1 1 0 -1 4 2 0 5 0 0 9 0 0 20 0 1 0 {start} 3\n"));
            }
        }
    }
}
