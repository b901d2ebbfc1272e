//! Sums up the requests to applications, services and devices in each phase, and finds the last to complete.

use super::report::{PowerDevice, PowerNotification};
use super::requests::DEVICE_PHASES;
use crate::{LastFinished, Phase, PhaseName};
use onoff_evidence::interval::covered_ns;

/// A request in a phase, with its index in the source list.
#[derive(Clone, Copy)]
struct Request {
    index: usize,
    start_ns: i64,
    end_ns: i64,
}

/// Sets the totals of each phase, and the exclusive time of each device.
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
            let completed: Vec<Request> =
                started.iter().filter_map(|&(index, row)| request(index, row.start_ns, row.end_ns)).collect();
            let last_request = set_totals(phase, &completed);
            for (index, exclusive_ns) in exclusive_times(&completed) {
                if let Some(device) = devices.get_mut(index) {
                    device.details.exclusive_ns = Some(exclusive_ns);
                }
            }
            if let Some((last_request, after_others_ns)) = last_request
                && let Some(device) = devices.get_mut(last_request.index)
            {
                device.details.ends_phase = true;
                phase.work.last = Some(LastFinished {
                    name: device.name().to_owned(),
                    driver: device.driver.clone(),
                    duration_ns: last_request.end_ns.saturating_sub(last_request.start_ns),
                    end_ns: last_request.end_ns,
                    after_others_ns,
                });
            }
        } else {
            let started: Vec<(usize, &PowerNotification)> = notifications
                .iter()
                .enumerate()
                .filter(|(_, row)| row.details.phase == name && belongs_to_phase(phase, row, until_ns))
                .collect();
            phase.work.items = started.len() as u64;
            let completed: Vec<Request> =
                started.iter().filter_map(|&(index, row)| request(index, row.start_ns, row.end_ns)).collect();
            let last_request = set_totals(phase, &completed);
            phase.work.last = last_request.and_then(|(last_request, after_others_ns)| {
                Some(LastFinished {
                    name: notifications.get(last_request.index)?.name.clone(),
                    driver: String::new(),
                    duration_ns: last_request.end_ns.saturating_sub(last_request.start_ns),
                    end_ns: last_request.end_ns,
                    after_others_ns,
                })
            });
        }
    }
}

/// Resume notifications continue after the end of the phase.
fn belongs_to_phase(phase: &Phase, row: &PowerNotification, until_ns: i64) -> bool {
    match phase.name {
        PhaseName::ResumeApps | PhaseName::ResumeServices => true,
        _ => phase.contains(row.start_ns, until_ns),
    }
}

fn request(index: usize, start_ns: i64, end_ns: Option<i64>) -> Option<Request> {
    let end_ns = end_ns?;
    (end_ns >= start_ns).then_some(Request { index, start_ns, end_ns })
}

/// Sets the totals of the phase. Returns the request that completed last, and how long after the second last.
fn set_totals(phase: &mut Phase, requests: &[Request]) -> Option<(Request, Option<i64>)> {
    let lengths = requests.iter().map(|request| request.end_ns.saturating_sub(request.start_ns));
    let total_ns = lengths.reduce(i64::saturating_add)?;
    phase.work.total_ns = total_ns;
    phase.work.other_ns = phase.duration_ns.map(|length| length.saturating_sub(total_ns));
    if let Some((start, end)) = phase.start_ns.zip(phase.end_ns) {
        phase.work.covered_ns = covered_time_ns(requests, start, end);
    }
    let mut ends: Vec<&Request> = requests.iter().collect();
    ends.sort_by_key(|request| (request.end_ns, request.start_ns));
    let last_request = **ends.last()?;
    let second_last = ends.len().checked_sub(2).and_then(|index| ends.get(index));
    Some((last_request, second_last.map(|second_last| last_request.end_ns.saturating_sub(second_last.end_ns))))
}

/// Returns the time that requests cover in a window, in ns. Overlaps count once.
fn covered_time_ns(requests: &[Request], from_ns: i64, until_ns: i64) -> i64 {
    let intervals = requests.iter().map(|request| (request.start_ns, request.end_ns)).collect();
    covered_ns(intervals, (from_ns, until_ns))
}

/// Returns, for each request, the time in which no other request was in flight, in ns.
fn exclusive_times(requests: &[Request]) -> Vec<(usize, i64)> {
    // Sorted by time; ends come before starts, so that adjacent requests do not overlap.
    let mut edges: Vec<(i64, bool, usize)> = requests
        .iter()
        .enumerate()
        .filter(|(_, request)| request.end_ns > request.start_ns)
        .flat_map(|(index, request)| [(request.start_ns, true, index), (request.end_ns, false, index)])
        .collect();
    edges.sort();
    let mut exclusive_times = vec![0_i64; requests.len()];
    let mut in_flight_count = 0_usize;
    // If only one request is in flight, this is its index.
    let mut in_flight_index_sum = 0_usize;
    let mut previous_ns = 0_i64;
    for (time_ns, is_start, index) in edges {
        if in_flight_count == 1
            && let Some(exclusive_ns) = exclusive_times.get_mut(in_flight_index_sum)
        {
            *exclusive_ns = exclusive_ns.saturating_add(time_ns.saturating_sub(previous_ns));
        }
        previous_ns = time_ns;
        if is_start {
            in_flight_count += 1;
            in_flight_index_sum += index;
        } else {
            in_flight_count -= 1;
            in_flight_index_sum -= index;
        }
    }
    requests.iter().zip(exclusive_times).map(|(request, exclusive_ns)| (request.index, exclusive_ns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_alone_excludes_overlapping_requests() {
        let requests: Vec<Request> = [(0, 10), (5, 30), (20, 25), (40, 50), (50, 55), (60, 60)]
            .into_iter()
            .enumerate()
            .map(|(index, (start_ns, end_ns))| Request { index, start_ns, end_ns })
            .collect();
        // 0–5: only the first; 10–20 and 25–30: only the second; the third is never alone.
        assert_eq!(exclusive_times(&requests), [(0, 5), (1, 15), (2, 0), (3, 10), (4, 5), (5, 0)]);
        assert_eq!(covered_time_ns(&requests, 2, 52), 28 + 12);
    }
}
