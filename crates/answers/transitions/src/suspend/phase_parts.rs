//! What the applications, services and devices of a phase add up to, and which of them ended it.

use super::report::{PowerDevice, PowerNotification};
use super::requests::DEVICE_PHASES;
use crate::{LastEnded, Phase, PhaseName};
use onoff_evidence::interval::covered_ns;

/// A child of a phase, with its position in the list it is from.
#[derive(Clone, Copy)]
struct Child {
    at: usize,
    start_ns: i64,
    end_ns: i64,
}

/// Fills in what the children of each phase add up to, and what each device cost its phase alone.
pub(super) fn sum_up(phases: &mut [Phase], told: &[PowerNotification], devices: &mut [PowerDevice], until_ns: i64) {
    for phase in phases {
        let name = phase.name;
        if DEVICE_PHASES.contains(&name) {
            let begun: Vec<(usize, &PowerDevice)> = devices
                .iter()
                .enumerate()
                .filter(|(_, row)| row.details.phase == Some(name) && phase.holds(row.start_ns, until_ns))
                .collect();
            phase.work.items = begun.len() as u64;
            let ended: Vec<Child> = begun.iter().filter_map(|&(at, row)| child(at, row.start_ns, row.end_ns)).collect();
            let last = total(phase, &ended);
            for (at, alone_ns) in alone(&ended) {
                if let Some(device) = devices.get_mut(at) {
                    device.details.alone_ns = Some(alone_ns);
                }
            }
            if let Some((last, after_others_ns)) = last
                && let Some(device) = devices.get_mut(last.at)
            {
                device.details.ends_phase = true;
                phase.work.last = Some(LastEnded {
                    name: device.name().to_owned(),
                    driver: device.driver.clone(),
                    duration_ns: last.end_ns.saturating_sub(last.start_ns),
                    end_ns: last.end_ns,
                    after_others_ns,
                });
            }
        } else {
            let begun: Vec<(usize, &PowerNotification)> = told
                .iter()
                .enumerate()
                .filter(|(_, row)| row.details.phase == name && belongs(phase, row, until_ns))
                .collect();
            phase.work.items = begun.len() as u64;
            let ended: Vec<Child> = begun.iter().filter_map(|&(at, row)| child(at, row.start_ns, row.end_ns)).collect();
            let last = total(phase, &ended);
            phase.work.last = last.and_then(|(last, after_others_ns)| {
                Some(LastEnded {
                    name: told.get(last.at)?.name.clone(),
                    driver: String::new(),
                    duration_ns: last.end_ns.saturating_sub(last.start_ns),
                    end_ns: last.end_ns,
                    after_others_ns,
                })
            });
        }
    }
}

/// Telling services and applications that the system resumed goes on behind the phase of that name.
fn belongs(phase: &Phase, row: &PowerNotification, until_ns: i64) -> bool {
    match phase.name {
        PhaseName::ResumeApps | PhaseName::ResumeServices => true,
        _ => phase.holds(row.start_ns, until_ns),
    }
}

fn child(at: usize, start_ns: i64, end_ns: Option<i64>) -> Option<Child> {
    let end_ns = end_ns?;
    (end_ns >= start_ns).then_some(Child { at, start_ns, end_ns })
}

/// Sums and cover; gives the child that ended last, and by how much after the others.
fn total(phase: &mut Phase, children: &[Child]) -> Option<(Child, Option<i64>)> {
    let lengths = children.iter().map(|child| child.end_ns.saturating_sub(child.start_ns));
    let total_ns = lengths.reduce(i64::saturating_add)?;
    phase.work.total_ns = total_ns;
    phase.work.beyond_ns = phase.duration_ns.map(|length| length.saturating_sub(total_ns));
    if let Some((start, end)) = phase.start_ns.zip(phase.end_ns) {
        phase.work.covered_ns = covered(children, start, end);
    }
    let mut ends: Vec<&Child> = children.iter().collect();
    ends.sort_by_key(|child| (child.end_ns, child.start_ns));
    let last = **ends.last()?;
    let second = ends.len().checked_sub(2).and_then(|at| ends.get(at));
    Some((last, second.map(|second| last.end_ns.saturating_sub(second.end_ns))))
}

/// Time between two times that the children cover, ns, counted once where they overlap.
fn covered(children: &[Child], from_ns: i64, until_ns: i64) -> i64 {
    let spans = children.iter().map(|child| (child.start_ns, child.end_ns)).collect();
    covered_ns(spans, (from_ns, until_ns))
}

/// Of each child, the time in which no other one was under way, ns.
fn alone(children: &[Child]) -> Vec<(usize, i64)> {
    // Begins and ends by time; ends first, so that neighbors do not overlap.
    let mut edges: Vec<(i64, bool, usize)> = children
        .iter()
        .enumerate()
        .filter(|(_, child)| child.end_ns > child.start_ns)
        .flat_map(|(at, child)| [(child.start_ns, true, at), (child.end_ns, false, at)])
        .collect();
    edges.sort();
    let mut alone = vec![0_i64; children.len()];
    let mut count = 0_usize;
    // The sum of the positions under way: with only one, that one.
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
    children.iter().zip(alone).map(|(child, alone)| (child.at, alone)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_cost_alone_is_the_time_without_others() {
        let children: Vec<Child> = [(0, 10), (5, 30), (20, 25), (40, 50), (50, 55), (60, 60)]
            .into_iter()
            .enumerate()
            .map(|(at, (start_ns, end_ns))| Child { at, start_ns, end_ns })
            .collect();
        // 0–5 the first, 10–20 and 25–30 the second, never the third.
        assert_eq!(alone(&children), [(0, 5), (1, 15), (2, 0), (3, 10), (4, 5), (5, 0)]);
        assert_eq!(covered(&children, 2, 52), 28 + 12);
    }
}
