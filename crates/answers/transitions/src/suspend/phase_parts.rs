//! Sums up the applications, services and devices of a phase, and finds the one that ended it.

use super::report::{PowerDevice, PowerNotification};
use super::requests::DEVICE_PHASES;
use crate::{LastFinished, Phase, PhaseName};
use onoff_evidence::interval::covered_ns;

/// A request in a phase, with its index in the source list.
#[derive(Clone, Copy)]
struct Request {
    at: usize,
    start_ns: i64,
    end_ns: i64,
}

/// Sets the sums of each phase, and the time that each device cost its phase alone.
pub(super) fn sum_up(
    phases: &mut [Phase],
    notifications: &[PowerNotification],
    devices: &mut [PowerDevice],
    until_ns: i64,
) {
    for phase in phases {
        let name = phase.name;
        if DEVICE_PHASES.contains(&name) {
            let started: Vec<(usize, &PowerDevice)> = devices
                .iter()
                .enumerate()
                .filter(|(_, row)| row.details.phase == Some(name) && phase.contains(row.start_ns, until_ns))
                .collect();
            phase.work.items = started.len() as u64;
            let ended: Vec<Request> =
                started.iter().filter_map(|&(at, row)| request(at, row.start_ns, row.end_ns)).collect();
            let last = total(phase, &ended);
            for (at, exclusive_ns) in alone(&ended) {
                if let Some(device) = devices.get_mut(at) {
                    device.details.exclusive_ns = Some(exclusive_ns);
                }
            }
            if let Some((last, after_others_ns)) = last
                && let Some(device) = devices.get_mut(last.at)
            {
                device.details.ends_phase = true;
                phase.work.last = Some(LastFinished {
                    name: device.name().to_owned(),
                    driver: device.driver.clone(),
                    duration_ns: last.end_ns.saturating_sub(last.start_ns),
                    end_ns: last.end_ns,
                    after_others_ns,
                });
            }
        } else {
            let started: Vec<(usize, &PowerNotification)> = notifications
                .iter()
                .enumerate()
                .filter(|(_, row)| row.details.phase == name && belongs(phase, row, until_ns))
                .collect();
            phase.work.items = started.len() as u64;
            let ended: Vec<Request> =
                started.iter().filter_map(|&(at, row)| request(at, row.start_ns, row.end_ns)).collect();
            let last = total(phase, &ended);
            phase.work.last = last.and_then(|(last, after_others_ns)| {
                Some(LastFinished {
                    name: notifications.get(last.at)?.name.clone(),
                    driver: String::new(),
                    duration_ns: last.end_ns.saturating_sub(last.start_ns),
                    end_ns: last.end_ns,
                    after_others_ns,
                })
            });
        }
    }
}

/// Resume notifications continue after the end of the phase.
fn belongs(phase: &Phase, row: &PowerNotification, until_ns: i64) -> bool {
    match phase.name {
        PhaseName::ResumeApps | PhaseName::ResumeServices => true,
        _ => phase.contains(row.start_ns, until_ns),
    }
}

fn request(at: usize, start_ns: i64, end_ns: Option<i64>) -> Option<Request> {
    let end_ns = end_ns?;
    (end_ns >= start_ns).then_some(Request { at, start_ns, end_ns })
}

/// Sets the sums of the phase; returns the request that ended last, and how long after the others.
fn total(phase: &mut Phase, requests: &[Request]) -> Option<(Request, Option<i64>)> {
    let lengths = requests.iter().map(|request| request.end_ns.saturating_sub(request.start_ns));
    let total_ns = lengths.reduce(i64::saturating_add)?;
    phase.work.total_ns = total_ns;
    phase.work.other_ns = phase.duration_ns.map(|length| length.saturating_sub(total_ns));
    if let Some((start, end)) = phase.start_ns.zip(phase.end_ns) {
        phase.work.covered_ns = covered(requests, start, end);
    }
    let mut ends: Vec<&Request> = requests.iter().collect();
    ends.sort_by_key(|request| (request.end_ns, request.start_ns));
    let last = **ends.last()?;
    let second = ends.len().checked_sub(2).and_then(|at| ends.get(at));
    Some((last, second.map(|second| last.end_ns.saturating_sub(second.end_ns))))
}

/// Time between two times that requests cover, ns; overlaps count once.
fn covered(requests: &[Request], from_ns: i64, until_ns: i64) -> i64 {
    let intervals = requests.iter().map(|request| (request.start_ns, request.end_ns)).collect();
    covered_ns(intervals, (from_ns, until_ns))
}

/// For each request, the time in which no other request was in flight, ns.
fn alone(requests: &[Request]) -> Vec<(usize, i64)> {
    // Sorted by time; ends come before starts, so that adjacent requests do not overlap.
    let mut edges: Vec<(i64, bool, usize)> = requests
        .iter()
        .enumerate()
        .filter(|(_, request)| request.end_ns > request.start_ns)
        .flat_map(|(at, request)| [(request.start_ns, true, at), (request.end_ns, false, at)])
        .collect();
    edges.sort();
    let mut alone = vec![0_i64; requests.len()];
    let mut count = 0_usize;
    // Sum of the indices in flight: if only one request is in flight, its index.
    let mut sum = 0_usize;
    let mut since = 0_i64;
    for (time_ns, begins, at) in edges {
        if count == 1
            && let Some(alone) = alone.get_mut(sum)
        {
            *alone = alone.saturating_add(time_ns.saturating_sub(since));
        }
        since = time_ns;
        if begins {
            count += 1;
            sum += at;
        } else {
            count -= 1;
            sum -= at;
        }
    }
    requests.iter().zip(alone).map(|(request, alone)| (request.at, alone)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_alone_excludes_overlapping_requests() {
        let requests: Vec<Request> = [(0, 10), (5, 30), (20, 25), (40, 50), (50, 55), (60, 60)]
            .into_iter()
            .enumerate()
            .map(|(at, (start_ns, end_ns))| Request { at, start_ns, end_ns })
            .collect();
        // 0–5: only the first; 10–20 and 25–30: only the second; the third is never alone.
        assert_eq!(alone(&requests), [(0, 5), (1, 15), (2, 0), (3, 10), (4, 5), (5, 0)]);
        assert_eq!(covered(&requests, 2, 52), 28 + 12);
    }
}
