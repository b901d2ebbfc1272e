//! Device power requests, with the parts of each request.
//!
//! The system's power request to a device makes its function driver send requests for the device's own power state;
//! each request passes through the drivers of the device stack. Rows of one request share an IRP, whose address is
//! reused.

use crate::{Phase, PhaseName};
use hashbrown::HashMap;
use onoff_trace::{PowerRequest, PowerRequestKind, PowerRequestScope, PowerStateKind, StringId, Trace};

use super::report::{PowerDevice, PowerDriverPart, PowerDriverTotal, StateRequest};

use PhaseName as Name;

/// The phases in which devices receive power requests.
pub(super) const DEVICE_PHASES: [PhaseName; 3] = [Name::QueryDevices, Name::SuspendDevices, Name::ResumeDevices];

/// The requests of one transition.
#[derive(Default)]
pub(super) struct Requests {
    pub devices: Vec<PowerDevice>,
    pub drivers: Vec<PowerDriverTotal>,
}

/// Returns the phase that a request belongs to, judging by its kind and requested state.
fn phase_of(row: &PowerRequest) -> Option<PhaseName> {
    match (row.kind, row.state) {
        (PowerRequestKind::Query, _) => Some(Name::QueryDevices),
        // State 1 is the working state, for the system and for devices.
        (PowerRequestKind::Set, Some(1)) => Some(Name::ResumeDevices),
        (PowerRequestKind::Set, Some(_)) => Some(Name::SuspendDevices),
        _ => None,
    }
}

/// Adds phases that can only be derived from requests for system power states.
pub(super) fn infer_phases(phases: &mut Vec<Phase>, rows: &[PowerRequest], (from_ns, until_ns): (i64, i64)) {
    for name in DEVICE_PHASES {
        if phases.iter().any(|phase| phase.name == name) {
            continue;
        }
        let times = window(rows, from_ns, until_ns)
            .filter(|row| row.scope == PowerRequestScope::Device)
            .filter(|row| row.state_kind == PowerStateKind::System)
            .filter(|row| phase_of(row) == Some(name))
            .map(|row| (row.start_ns, row.end_ns));
        phases.extend(super::phases::inferred_phase(name, times));
    }
}

fn window(rows: &[PowerRequest], from_ns: i64, until_ns: i64) -> impl Iterator<Item = &PowerRequest> {
    let start_index = rows.partition_point(|row| row.start_ns < from_ns);
    rows.iter().skip(start_index).take_while(move |row| row.start_ns < until_ns)
}

/// Returns the requests that started in a window of time; `rows` must be sorted by start.
pub(super) fn in_window(
    trace: &Trace,
    rows: &[PowerRequest],
    phases: &[Phase],
    (from_ns, until_ns): (i64, i64),
) -> Requests {
    let rows: Vec<&PowerRequest> = window(rows, from_ns, until_ns).collect();
    let mut devices: Vec<Option<PowerDevice>> = Vec::new();
    let mut device_rows: Vec<&PowerRequest> = Vec::new();
    let mut requests_by_irp: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut drivers = DriverTotals::default();
    for row in &rows {
        let phase = phase_at(phases, row, until_ns);
        match row.scope {
            PowerRequestScope::Device => {
                requests_by_irp.entry(row.irp).or_default().push(devices.len());
                device_rows.push(row);
                devices.push(Some(describe(trace, row, phase)));
                if let Some(phase) = phase {
                    drivers.add(phase, row, false);
                }
            }
            PowerRequestScope::Driver => {
                // Rows are sorted by start, so this row belongs to the latest request with the same IRP.
                let request =
                    requests_by_irp.get(&row.irp).and_then(|requests| devices.get_mut(*requests.last()?)?.as_mut());
                if let Some(request) = request {
                    request.details.drivers.push(PowerDriverPart {
                        driver: trace.text(row.driver).to_owned(),
                        start_ns: row.start_ns,
                        end_ns: row.end_ns,
                        duration_ns: row.end_ns.map(|end| end.saturating_sub(row.start_ns)),
                    });
                }
                if let Some(phase) = phase {
                    drivers.add(phase, row, true);
                }
            }
        }
    }
    let parent_indices = parent_requests(&device_rows);
    // Latest first, so that a request is complete before it moves into its parent.
    for (index, parent_index) in parent_indices.iter().enumerate().rev() {
        if let Some(parent_index) = *parent_index
            && let Some(nested) = devices.get_mut(index).and_then(Option::take)
            && let Some(Some(parent)) = devices.get_mut(parent_index)
        {
            parent.details.nested.push(nested);
        }
    }
    let mut devices: Vec<PowerDevice> = devices.into_iter().flatten().collect();
    for device in &mut devices {
        device.details.nested.reverse();
    }
    Requests { devices, drivers: drivers.finish(trace) }
}

fn phase_at(phases: &[Phase], row: &PowerRequest, until_ns: i64) -> Option<PhaseName> {
    let candidates = || {
        phases
            .iter()
            .filter(|phase| DEVICE_PHASES.contains(&phase.name))
            .filter(|phase| phase.contains(row.start_ns, until_ns))
    };
    // At the boundary of two phases, the kind of request decides.
    let requested = phase_of(row);
    candidates().find(|phase| Some(phase.name) == requested).or_else(|| candidates().next()).map(|phase| phase.name)
}

/// Returns, for each row, the index of the system power request that it is part of. Only device power requests have a
/// parent.
fn parent_requests(rows: &[&PowerRequest]) -> Vec<Option<usize>> {
    let mut latest_by_device: HashMap<StringId, usize> = HashMap::new();
    rows.iter()
        .enumerate()
        .map(|(index, row)| {
            if row.device.is_empty() {
                return None;
            }
            match row.state_kind {
                PowerStateKind::System => {
                    latest_by_device.insert(row.device, index);
                    None
                }
                PowerStateKind::Device => {
                    let parent = *latest_by_device.get(&row.device)?;
                    let end_ns = rows.get(parent)?.end_ns.unwrap_or(i64::MAX);
                    (row.start_ns <= end_ns).then_some(parent)
                }
                PowerStateKind::Unknown => None,
            }
        })
        .collect()
}

fn describe(trace: &Trace, row: &PowerRequest, phase: Option<PhaseName>) -> PowerDevice {
    let text = |id| trace.text(id).to_owned();
    PowerDevice {
        device: text(row.device),
        driver: text(row.driver),
        description: text(row.description),
        friendly_name: text(row.friendly_name),
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        duration_ns: row.end_ns.map(|end| end.saturating_sub(row.start_ns)),
        event: text(row.event),
        details: StateRequest {
            phase,
            kind: row.kind,
            state_kind: row.state_kind,
            state: row.state,
            waiting_ns: row.waiting_ns,
            exclusive_ns: None,
            ends_phase: false,
            status: row.status,
            failed_driver: text(row.failed_driver),
            irp: format!("{:#x}", row.irp),
            tid: row.tid,
            drivers: Vec::new(),
            nested: Vec::new(),
        },
    }
}

/// Totals by phase, driver, and whether the time covers only the driver's own part of a request.
#[derive(Default)]
struct DriverTotals {
    totals: HashMap<(PhaseName, StringId, bool), (u64, i64, i64)>,
}

impl DriverTotals {
    fn add(&mut self, phase: PhaseName, row: &PowerRequest, own_part: bool) {
        let Some(end) = row.end_ns.filter(|_| !row.driver.is_empty()) else { return };
        // A device power request is part of the system power request, which is already counted.
        if !own_part && row.state_kind == PowerStateKind::Device {
            return;
        }
        let duration_ns = end.saturating_sub(row.start_ns);
        let (requests, total, longest) = self.totals.entry((phase, row.driver, own_part)).or_default();
        *requests += 1;
        *total = total.saturating_add(duration_ns);
        *longest = duration_ns.max(*longest);
    }

    /// Returns the totals, longest first. If the drivers' own parts were recorded, returns only those.
    fn finish(self, trace: &Trace) -> Vec<PowerDriverTotal> {
        let has_own_parts = self.totals.keys().any(|&(.., own_part)| own_part);
        let mut totals: Vec<PowerDriverTotal> = self
            .totals
            .into_iter()
            .filter(|&((.., own_part), _)| own_part == has_own_parts)
            .map(|((phase, driver, own_part), (requests, total_ns, longest_ns))| PowerDriverTotal {
                phase,
                driver: trace.text(driver).to_owned(),
                requests,
                total_ns,
                longest_ns,
                is_own_part: own_part,
            })
            .collect();
        totals.sort_by(|a, b| {
            let key = |row: &PowerDriverTotal| (std::cmp::Reverse(row.total_ns), row.phase);
            key(a).cmp(&key(b)).then_with(|| a.driver.cmp(&b.driver))
        });
        totals
    }
}
