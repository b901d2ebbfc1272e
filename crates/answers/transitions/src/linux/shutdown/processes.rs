//! Finds the processes that were signaled to exit, and the processes that were killed.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{Notification, NotificationKind, Trace};

use super::report::{KilledProcess, ProcessStop};
use onoff_usage::processes::Images;
use onoff_usage::units::Unit;

/// Returns the processes that were killed at or after `from_ns`, ordered by time.
pub(super) fn killed_processes(trace: &Trace, images: &Images<'_>, from_ns: i64) -> Vec<KilledProcess> {
    let mut killed: Vec<KilledProcess> = notifications_since(trace, NotificationKind::Termination, from_ns)
        .map(|row| KilledProcess {
            pid: row.pid,
            name: trace.text(row.name).to_owned(),
            image: row.pid.and_then(|pid| images.image_at(pid, row.start_ns)).unwrap_or_default().to_owned(),
            time_ns: row.start_ns,
            event: trace.text(row.event).to_owned(),
        })
        .collect();
    killed.sort_by_key(|process| process.time_ns);
    // Journal and kernel log contain the same line.
    let mut seen = HashSet::new();
    killed.retain(|process| process.pid.is_none_or(|pid| seen.insert(pid)));
    killed
}

/// Returns the processes that were signaled to exit at or after `from_ns`, longest first.
pub(super) fn signaled_processes(
    trace: &Trace,
    images: &Images<'_>,
    units: &[Unit],
    killed: &[KilledProcess],
    from_ns: i64,
) -> Vec<ProcessStop> {
    let mut unit_by_pid: HashMap<u32, &str> = HashMap::new();
    for unit in units {
        let pids = unit.processes.iter().map(|process| process.pid);
        for pid in pids.chain(unit.pid) {
            unit_by_pid.insert(pid, &unit.name);
        }
    }
    let killed_pids: HashSet<u32> = killed.iter().filter_map(|process| process.pid).collect();
    let mut rows: Vec<Notification> =
        notifications_since(trace, NotificationKind::ApplicationShutdown, from_ns).collect();
    rows.sort_by_key(|row| row.start_ns);
    // The first signal counts: a process that does not exit is signaled again.
    let mut seen = HashSet::new();
    let mut stops: Vec<ProcessStop> = rows
        .into_iter()
        .filter_map(|row| Some((row.pid?, row)))
        .map(|(pid, row)| {
            let process = images.row_at(pid, row.start_ns).and_then(|index| trace.processes.get(index));
            (pid, row, process)
        })
        // A zombie is not signaled.
        .filter(|(_, row, process)| process.is_none_or(|process| process.end_ns.is_none_or(|end| end >= row.start_ns)))
        .filter(|(pid, ..)| seen.insert(*pid))
        .map(|(pid, row, process)| {
            let end_ns =
                row.end_ns.or_else(|| process.and_then(|process| process.end_ns)).filter(|&end| end >= row.start_ns);
            let image = images.image_at(pid, row.start_ns).unwrap_or_default();
            ProcessStop {
                pid,
                image: match image {
                    "" => trace.text(row.name),
                    image => image,
                }
                .to_owned(),
                unit: unit_by_pid.get(&pid).copied().unwrap_or_default().to_owned(),
                signaled_ns: row.start_ns,
                signal: row.flags,
                end_ns,
                duration_ns: end_ns.map(|end| end.saturating_sub(row.start_ns)),
                killed: killed_pids.contains(&pid),
            }
        })
        .collect();
    stops.sort_by_key(|stop| std::cmp::Reverse((stop.duration_ns.unwrap_or(i64::MAX), stop.pid)));
    stops
}

fn notifications_since(trace: &Trace, kind: NotificationKind, from_ns: i64) -> impl Iterator<Item = Notification> + '_ {
    trace.notifications.iter().filter(move |row| row.kind == kind && row.start_ns >= from_ns)
}
