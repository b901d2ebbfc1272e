//! Derives a shutdown from process exits, thread exits and module unloads. The result is always inferred. It is the
//! only evidence if the shutdown providers were not recorded.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{Process, TableName, Trace};

use super::report::{Exits, ProcessExit};
use onoff_evidence::affecting_losses;
use onoff_usage::owners::file_name;
use onoff_usage::processes::has_image_name;

/// Maximum time between process exits of the same shutdown, in ns: longer than any documented shutdown timeout.
const MAX_GAP_NS: i64 = 30_000_000_000;

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

/// The exit of a process, for burst detection.
struct BurstExit {
    end_ns: i64,
    is_host: bool,
    /// Whether it is a program in a user session.
    is_user_program: bool,
}

/// Process ids of the service control managers, whose children are service hosts.
struct ServiceManagers(HashSet<u32>);

impl ServiceManagers {
    fn from_trace(trace: &Trace) -> Self {
        let managers = trace.processes.iter().filter(|process| has_image_name(trace, process, "services.exe"));
        Self(managers.map(|process| process.pid).collect())
    }

    fn has_child(&self, process: &Process) -> bool {
        process.parent_pid.is_some_and(|pid| self.0.contains(&pid))
    }
}

/// Returns the burst of process exits at the end of the recording, if it looks like a shutdown.
pub(super) fn burst(trace: &Trace) -> Option<Burst> {
    let managers = ServiceManagers::from_trace(trace);
    let mut exits: Vec<BurstExit> = trace
        .processes
        .iter()
        .filter_map(|process| {
            let is_host = managers.has_child(&process) || process.session == Some(0);
            let is_user_program = process.session.is_some_and(|session| session > 0) && !is_host;
            Some(BurstExit { end_ns: process.end_ns?, is_host, is_user_program })
        })
        .collect();
    exits.sort_by_key(|exit| exit.end_ns);
    let last_ns = exits.last()?.end_ns;
    if trace.duration_ns.saturating_sub(last_ns) > MAX_GAP_NS {
        return None;
    }
    let mut first_index = exits.len() - 1;
    while let Some(previous_index) = first_index.checked_sub(1)
        && exits[first_index].end_ns.saturating_sub(exits[previous_index].end_ns) <= MAX_GAP_NS
    {
        first_index = previous_index;
    }
    let burst = &exits[first_index..];
    let first_ns = burst.first()?.end_ns;
    let started_count =
        trace.processes.iter().filter(|process| process.start_ns.is_some_and(|start| start >= first_ns)).count();
    let host_exits = || burst.iter().filter(|exit| exit.is_host);
    if burst.len() < MIN_EXITS || burst.len() <= 2 * started_count || host_exits().count() < MIN_HOSTS {
        return None;
    }
    let mut user_exits = burst.iter().filter(|exit| exit.is_user_program).map(|exit| exit.end_ns);
    let first_user_exit = user_exits.next();
    Some(Burst {
        first_ns,
        last_ns,
        users: first_user_exit.map(|first| (first, user_exits.next_back().unwrap_or(first))),
        last_host_ns: host_exits().map(|exit| exit.end_ns).next_back(),
    })
}

/// Returns the intervals between process exits, each with the process that exited at its end, if exits are the only
/// evidence of a shutdown. The system waits for all of these processes.
pub fn exit_waits(trace: &Trace) -> Vec<(i64, i64, u32)> {
    if !trace.notifications.is_empty() || !trace.context_switches.is_empty() {
        return Vec::new();
    }
    let Some(burst) = burst(trace) else { return Vec::new() };
    let exits = exits(trace, burst.first_ns).processes.into_iter();
    exits.map(|exit| (exit.end_ns.saturating_sub(exit.since_previous_ns), exit.end_ns, exit.pid)).collect()
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

/// Returns the first end time and the number of end times of a process between `from_ns` and its exit at `end_ns`.
fn first_and_count(times: &EndTimes, pid: u32, from_ns: i64, end_ns: i64) -> (Option<i64>, u64) {
    let ends = times.get(&pid).map_or(&[][..], Vec::as_slice);
    let start_index = ends.partition_point(|&end| end < from_ns);
    let end_index = ends.partition_point(|&end| end <= end_ns);
    let ends_in_window = ends.get(start_index..end_index).unwrap_or_default();
    (ends_in_window.first().copied(), ends_in_window.len() as u64)
}

/// Returns the exits at or after `from_ns`, the start of the shutdown.
pub(super) fn exits(trace: &Trace, from_ns: i64) -> Exits {
    let managers = ServiceManagers::from_trace(trace);
    let threads = end_times(trace.threads.iter().map(|row| (row.pid, row.end_ns)), from_ns);
    let images = end_times(trace.images.iter().map(|row| (row.pid, row.unload_ns)), from_ns);
    let mut processes: Vec<ProcessExit> = trace
        .processes
        .iter()
        .filter_map(|row| {
            let end_ns = row.end_ns.filter(|&end| end >= from_ns)?;
            // Process ids are reused.
            let lifetime_start_ns = row.start_ns.unwrap_or(i64::MIN).max(from_ns);
            let (first_thread, threads_ended) = first_and_count(&threads, row.pid, lifetime_start_ns, end_ns);
            let (_, images_unloaded) = first_and_count(&images, row.pid, lifetime_start_ns, end_ns);
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
    let mut previous_ns = first_ns.unwrap_or(0);
    for exit in &mut processes {
        exit.since_first_ns = exit.end_ns.saturating_sub(first_ns.unwrap_or(exit.end_ns));
        exit.since_previous_ns = exit.end_ns.saturating_sub(previous_ns);
        previous_ns = exit.end_ns;
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
