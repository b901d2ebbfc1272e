//! Derives a shutdown from the exits of processes and threads and the unloads of modules. Always inferred; used alone
//! if the shutdown providers were not recorded.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{Process, TableName, Trace};

use super::report::{Exits, ProcessExit};
use onoff_evidence::affecting_losses;
use onoff_usage::owners::file_name;
use onoff_usage::processes::runs;

/// Process exits further apart than this, ns, do not belong to the same shutdown: longer than any documented shutdown
/// time-out.
const GAP_NS: i64 = 30_000_000_000;

/// Minimum number of process exits in a shutdown.
const MIN_EXITS: usize = 10;

/// Minimum number of service host exits in a shutdown; services also stop at other times.
const MIN_HOSTS: usize = 3;

/// A burst of process exits that looks like a shutdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Burst {
    /// First exit, ns.
    pub first_ns: i64,
    /// Last exit, ns.
    pub last_ns: i64,
    /// First and last exit of a user's program, ns.
    pub users: Option<(i64, i64)>,
    /// Last exit of a service host, ns.
    pub last_host_ns: Option<i64>,
}

/// Process ids of the service control managers, whose children are service hosts.
struct ServiceManagers(HashSet<u32>);

impl ServiceManagers {
    fn of(trace: &Trace) -> Self {
        let managers = trace.processes.iter().filter(|process| runs(trace, process, "services.exe"));
        Self(managers.map(|process| process.pid).collect())
    }

    fn has_child(&self, process: &Process) -> bool {
        process.parent_pid.is_some_and(|pid| self.0.contains(&pid))
    }
}

/// The burst of process exits at the end of the recording, if it looks like a shutdown.
pub(super) fn burst(trace: &Trace) -> Option<Burst> {
    let managers = ServiceManagers::of(trace);
    let mut ended: Vec<(i64, bool, bool)> = trace
        .processes
        .iter()
        .filter_map(|process| {
            let is_host = managers.has_child(&process) || process.session == Some(0);
            let is_users = process.session.is_some_and(|session| session > 0) && !is_host;
            Some((process.end_ns?, is_host, is_users))
        })
        .collect();
    ended.sort();
    let last_ns = ended.last()?.0;
    if trace.duration_ns.saturating_sub(last_ns) > GAP_NS {
        return None;
    }
    let mut first = ended.len() - 1;
    while let Some(before) = first.checked_sub(1)
        && ended[first].0.saturating_sub(ended[before].0) <= GAP_NS
    {
        first = before;
    }
    let ended = &ended[first..];
    let first_ns = ended.first()?.0;
    let started =
        trace.processes.iter().filter(|process| process.start_ns.is_some_and(|start| start >= first_ns)).count();
    let of_hosts = || ended.iter().filter(|row| row.1);
    if ended.len() < MIN_EXITS || ended.len() <= 2 * started || of_hosts().count() < MIN_HOSTS {
        return None;
    }
    let mut users = ended.iter().filter(|row| row.2).map(|row| row.0);
    let first_user = users.next();
    Some(Burst {
        first_ns,
        last_ns,
        users: first_user.map(|first| (first, users.next_back().unwrap_or(first))),
        last_host_ns: of_hosts().map(|row| row.0).next_back(),
    })
}

/// If process exits are the only evidence of a shutdown: the intervals from each exit to the next, with the process
/// that exited at its end. The system waits for all of them.
pub fn exits_waited_for(trace: &Trace) -> Vec<(i64, i64, u32)> {
    if !trace.notifications.is_empty() || !trace.context_switches.is_empty() {
        return Vec::new();
    }
    let Some(burst) = burst(trace) else { return Vec::new() };
    let ends = exits(trace, burst.first_ns).processes.into_iter();
    ends.map(|exit| (exit.end_ns.saturating_sub(exit.since_previous_ns), exit.end_ns, exit.pid)).collect()
}

/// Sorted exit times of threads, or unload times of modules, by process id.
type EndTimes = HashMap<u32, Vec<i64>>;

fn end_times(rows: impl Iterator<Item = (u32, Option<i64>)>, from_ns: i64) -> EndTimes {
    let mut times = EndTimes::new();
    for (pid, end_ns) in rows {
        if let Some(end) = end_ns.filter(|&end| end >= from_ns) {
            times.entry(pid).or_default().push(end);
        }
    }
    for ends in times.values_mut() {
        ends.sort();
    }
    times
}

/// The first end and the number of ends within a process's lifetime, from `from_ns` to its exit at `end_ns`.
fn of_process(times: &EndTimes, pid: u32, from_ns: i64, end_ns: i64) -> (Option<i64>, u64) {
    let ends = times.get(&pid).map_or(&[][..], Vec::as_slice);
    let from = ends.partition_point(|&end| end < from_ns);
    let to = ends.partition_point(|&end| end <= end_ns);
    let ends = ends.get(from..to).unwrap_or_default();
    (ends.first().copied(), ends.len() as u64)
}

/// Everything that exited at or after `from_ns`, the start of the shutdown.
pub(super) fn exits(trace: &Trace, from_ns: i64) -> Exits {
    let managers = ServiceManagers::of(trace);
    let threads = end_times(trace.threads.iter().map(|row| (row.pid, row.end_ns)), from_ns);
    let images = end_times(trace.images.iter().map(|row| (row.pid, row.unload_ns)), from_ns);
    let mut processes: Vec<ProcessExit> = trace
        .processes
        .iter()
        .filter_map(|row| {
            let end_ns = row.end_ns.filter(|&end| end >= from_ns)?;
            // Process ids are reused.
            let since = row.start_ns.unwrap_or(i64::MIN).max(from_ns);
            let (first_thread, threads_ended) = of_process(&threads, row.pid, since, end_ns);
            let (_, images_unloaded) = of_process(&images, row.pid, since, end_ns);
            Some(ProcessExit {
                image: file_name(trace.text(row.image)).to_owned(),
                pid: row.pid,
                session: row.session,
                is_service_host: managers.has_child(&row),
                end_ns,
                since_first_ns: 0,
                since_previous_ns: 0,
                dying_ns: first_thread.map(|first| end_ns.saturating_sub(first)),
                threads_ended,
                images_unloaded,
                exit_status: row.exit_status,
            })
        })
        .collect();
    processes.sort_by_key(|exit| (exit.end_ns, exit.pid));
    let first_ns = processes.first().map(|exit| exit.end_ns);
    let last_ns = processes.last().map(|exit| exit.end_ns);
    let mut previous = first_ns.unwrap_or(0);
    for exit in &mut processes {
        exit.since_first_ns = exit.end_ns.saturating_sub(first_ns.unwrap_or(exit.end_ns));
        exit.since_previous_ns = exit.end_ns.saturating_sub(previous);
        previous = exit.end_ns;
    }
    let still_running =
        trace.processes.iter().filter(|row| row.end_ns.is_none() && row.session.is_some()).count() as u64;
    Exits {
        duration_ns: first_ns.zip(last_ns).map(|(first, last)| last.saturating_sub(first)),
        processes,
        first_ns,
        last_ns,
        still_running,
        affecting_losses: affecting_losses(trace, &[TableName::Processes, TableName::Threads, TableName::Images]),
    }
}
