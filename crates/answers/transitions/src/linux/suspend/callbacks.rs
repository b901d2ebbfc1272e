//! Assigns device callbacks to phases, and sums them up by phase and device.

use crate::{Phase, PhaseName, SuspendStage};
use hashbrown::HashMap;
use onoff_trace::{PowerRequest, Trace};

use super::names::{has_callbacks, phase_of};
use super::path;
use super::report::{Callback, DeviceCallback, DeviceSleep};

/// Returns the callbacks that started in `from_ns..until_ns`; `rows` must be sorted by start.
pub(super) fn in_window(
    trace: &Trace,
    rows: &[PowerRequest],
    phases: &[Phase],
    from_ns: i64,
    until_ns: i64,
) -> Vec<DeviceCallback> {
    let first_index = rows.partition_point(|row| row.start_ns < from_ns);
    rows.iter()
        .skip(first_index)
        .take_while(|row| row.start_ns < until_ns)
        .map(|row| DeviceCallback {
            device: trace.text(row.device).to_owned(),
            driver: trace.text(row.driver).to_owned(),
            description: trace.text(row.description).to_owned(),
            friendly_name: trace.text(row.friendly_name).to_owned(),
            start_ns: row.start_ns,
            end_ns: row.end_ns,
            duration_ns: row.end_ns.map(|end| end.saturating_sub(row.start_ns)),
            event: trace.text(row.event).to_owned(),
            details: Callback {
                phase: phase_of(row.kind).filter(|&name| phases.iter().any(|phase| phase.name == name)),
                parent: trace.text(row.parent).to_owned(),
                callback: trace.text(row.message).to_owned(),
                on_path_ns: 0,
                error: row.status.map(u32::cast_signed),
                tid: row.tid,
            },
        })
        .collect()
}

/// Sets the totals of each phase, and the critical path to its end.
pub(super) fn sum_up(phases: &mut [Phase], callbacks: &mut [DeviceCallback]) {
    for phase in phases {
        if !has_callbacks(phase.name) {
            continue;
        }
        // A phase can occur twice, e.g. after a failed attempt. A callback belongs to the phase in which it started.
        let end_ns = phase.end_ns.unwrap_or(i64::MAX);
        let first_index = callbacks.partition_point(|row| row.start_ns < phase.start_ns.unwrap_or(i64::MIN));
        let indices: Vec<usize> = callbacks
            .iter()
            .enumerate()
            .skip(first_index)
            .take_while(|(_, row)| row.start_ns <= end_ns)
            .filter(|(_, row)| row.details.phase == Some(phase.name))
            .map(|(index, _)| index)
            .collect();
        phase.work.items = indices.len() as u64;
        let mut covered_until = i64::MIN;
        for row in indices.iter().filter_map(|&index| callbacks.get(index)) {
            let Some(end) = row.end_ns else { continue };
            let duration_ns = end.saturating_sub(row.start_ns).max(0);
            phase.work.total_ns = phase.work.total_ns.saturating_add(duration_ns);
            let uncovered_start_ns = row.start_ns.max(covered_until);
            phase.work.covered_ns = phase.work.covered_ns.saturating_add(end.saturating_sub(uncovered_start_ns).max(0));
            covered_until = covered_until.max(end);
        }
        path::find(phase, &indices, callbacks);
    }
}

/// Returns the total time of each device, longest first.
pub(super) fn devices(callbacks: &[DeviceCallback]) -> Vec<DeviceSleep> {
    let mut index_by_device: HashMap<(&str, &str), usize> = HashMap::new();
    let mut devices: Vec<DeviceSleep> = Vec::new();
    for row in callbacks {
        // A device name can occur on two buses; its parent distinguishes them.
        let index = *index_by_device.entry((&row.device, &row.details.parent)).or_insert_with(|| {
            devices.push(DeviceSleep {
                device: row.device.clone(),
                driver: row.driver.clone(),
                parent: row.details.parent.clone(),
                suspend_ns: 0,
                resume_ns: 0,
                total_ns: 0,
                on_path_ns: 0,
                callbacks: 0,
                failed: false,
            });
            devices.len() - 1
        });
        let Some(device) = devices.get_mut(index) else { continue };
        let duration_ns = row.duration_ns.unwrap_or(0).max(0);
        match row.details.phase.and_then(PhaseName::half) {
            Some(SuspendStage::Resume) => {
                device.resume_ns = device.resume_ns.saturating_add(duration_ns);
            }
            _ => device.suspend_ns = device.suspend_ns.saturating_add(duration_ns),
        }
        device.total_ns = device.total_ns.saturating_add(duration_ns);
        device.on_path_ns = device.on_path_ns.saturating_add(row.details.on_path_ns);
        device.callbacks += 1;
        device.failed |= row.details.error.is_some_and(|error| error != 0);
        if device.driver.is_empty() {
            device.driver.clone_from(&row.driver);
        }
    }
    devices.sort_by(|left, right| (right.total_ns, &left.device).cmp(&(left.total_ns, &right.device)));
    devices
}
