//! Processes that were asked to end, and those that were ended by force.

use hashbrown::{HashMap, HashSet};
use onoff_trace::{Notification, NotificationKind, Trace};

use super::report::{KilledProcess, ProcessStop};
use onoff_usage::processes::Images;
use onoff_usage::units::Unit;

/// Processes that were ended by force from `from_ns` on, by time.
pub(super) fn killed(trace: &Trace, images: &Images<'_>, from_ns: i64) -> Vec<KilledProcess> {
    let mut killed: Vec<KilledProcess> = since(trace, NotificationKind::Termination, from_ns)
        .map(|row| KilledProcess {
            pid: row.pid,
            name: trace.text(row.name).to_owned(),
            image: row.pid.and_then(|pid| images.at(pid, row.start_ns)).unwrap_or_default().to_owned(),
            time_ns: row.start_ns,
            event: trace.text(row.event).to_owned(),
        })
        .collect();
    killed.sort_by_key(|process| process.time_ns);
    // Journal and kernel log hold the same line.
    let mut met = HashSet::new();
    killed.retain(|process| process.pid.is_none_or(|pid| met.insert(pid)));
    killed
}

/// Processes that were asked to end from `from_ns` on, the longest first.
pub(super) fn asked(
    trace: &Trace,
    images: &Images<'_>,
    units: &[Unit],
    killed: &[KilledProcess],
    from_ns: i64,
) -> Vec<ProcessStop> {
    let mut unit_of: HashMap<u32, &str> = HashMap::new();
    for unit in units {
        let pids = unit.processes.iter().map(|process| process.pid);
        for pid in pids.chain(unit.pid) {
            unit_of.insert(pid, &unit.name);
        }
    }
    let by_force: HashSet<u32> = killed.iter().filter_map(|process| process.pid).collect();
    let mut rows: Vec<Notification> = since(trace, NotificationKind::ApplicationShutdown, from_ns).collect();
    rows.sort_by_key(|row| row.start_ns);
    // The first time counts: who does not end is asked again.
    let mut met = HashSet::new();
    let mut stops: Vec<ProcessStop> = rows
        .into_iter()
        .filter_map(|row| Some((row.pid?, row)))
        .map(|(pid, row)| {
            let life = images.row_at(pid, row.start_ns).and_then(|at| trace.processes.get(at));
            (pid, row, life)
        })
        // Who is gone already, and waits for its parent to take note, is not asked.
        .filter(|(_, row, life)| life.is_none_or(|life| life.end_ns.is_none_or(|end| end >= row.start_ns)))
        .filter(|(pid, ..)| met.insert(*pid))
        .map(|(pid, row, life)| {
            let end_ns = row.end_ns.or_else(|| life.and_then(|life| life.end_ns)).filter(|&end| end >= row.start_ns);
            let image = images.at(pid, row.start_ns).unwrap_or_default();
            ProcessStop {
                pid,
                image: match image {
                    "" => trace.text(row.name),
                    image => image,
                }
                .to_owned(),
                unit: unit_of.get(&pid).copied().unwrap_or_default().to_owned(),
                asked_ns: row.start_ns,
                signal: row.flags,
                end_ns,
                duration_ns: end_ns.map(|end| end.saturating_sub(row.start_ns)),
                killed: by_force.contains(&pid),
            }
        })
        .collect();
    stops.sort_by_key(|stop| std::cmp::Reverse((stop.duration_ns.unwrap_or(i64::MAX), stop.pid)));
    stops
}

fn since(trace: &Trace, kind: NotificationKind, from_ns: i64) -> impl Iterator<Item = Notification> + '_ {
    trace.notifications.iter().filter(move |row| row.kind == kind && row.start_ns >= from_ns)
}
