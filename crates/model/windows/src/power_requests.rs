//! Builds the table of power requests to devices, from Kernel-Power or the kernel logger.
//!
//! ```text
//!   IRP sent ──► driver enters ──► driver leaves ──► IRP completed
//!      7, 0x1226      20               21               8, 523, 0x1227
//! ```
//!
//! The address of an IRP is reused after its completion.

use hashbrown::HashMap;
use onoff_etl::Record;
use onoff_etw::kernel::{DevicePowerEnd, DevicePowerStart};
use onoff_trace::system::InstalledDevice;
use onoff_trace::{Losses, PowerRequest, PowerRequestKind, PowerRequestScope, PowerRequests, PowerStateKind};

use super::counters;
use super::phase_events::{Event, KERNEL_POWER, PhaseEvent};
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct PowerRequestTracker {
    rows: Vec<PowerRequest>,
    /// Latest row of each IRP.
    requests: HashMap<u64, usize>,
    /// Latest row of each IRP and device object of a stack.
    drivers: HashMap<(u64, u64), usize>,
    unmatched: u64,
}

/// IRP minor functions of power requests (`IRP_MN_…`).
const SET_POWER: u64 = 2;
const QUERY_POWER: u64 = 3;

/// Meaning of an event.
#[derive(Clone, Copy)]
enum Step {
    Sent,
    Completed,
    PowerManagerWaits,
    DriverEnters,
    DriverLeaves,
}

/// Kernel-Power events, by id.
const EVENTS: &[(u16, Step)] = &[
    (7, Step::Sent),
    (8, Step::Completed),
    (11, Step::PowerManagerWaits),
    (20, Step::DriverEnters),
    (21, Step::DriverLeaves),
    (523, Step::Completed),
];

/// Returns the events from which the table is built.
pub(super) fn events() -> impl Iterator<Item = Event> {
    EVENTS.iter().map(|&(id, _)| (KERNEL_POWER, id))
}

impl PowerRequestTracker {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Processes a phase event; `None` if a required field is missing.
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) -> Option<()> {
        let Some(&(_, step)) = EVENTS.iter().find(|&&(id, _)| event.is((KERNEL_POWER, id))) else { return Some(()) };
        let time_ns = event.time_ns();
        let irp = event.number("Irp")?;
        match step {
            Step::Sent => {
                self.requests.insert(irp, self.rows.len());
                self.rows.push(PowerRequest {
                    kind: kind(event.number("MinorFunction")?),
                    device: event.text("InstanceName", texts).unwrap_or_default(),
                    state_kind: state_kind(event.number32("PowerStateType")),
                    state: event.number("PowerState").and_then(|state| state.try_into().ok()),
                    tid: event.thread_id(),
                    event: event.label(texts),
                    ..base_row(PowerRequestScope::Device, time_ns, irp)
                });
            }
            Step::Completed => {
                let status = event.number32("Status");
                let failed_driver = event.text("FailedDriver", texts).unwrap_or_default();
                match self.request(irp) {
                    Some(row) if row.end_ns.is_none() => {
                        row.end_ns = Some(time_ns);
                        row.status = status;
                        row.failed_driver = failed_driver;
                    }
                    // Newer versions of Windows record a completion twice.
                    Some(_) => {}
                    None => self.unmatched += 1,
                }
            }
            Step::PowerManagerWaits => match self.request(irp) {
                Some(row) => row.waiting_ns = row.waiting_ns.or(Some(time_ns)),
                None => self.unmatched += 1,
            },
            Step::DriverEnters => {
                let request = self.requests.get(&irp).and_then(|&index| self.rows.get(index));
                let mut row = PowerRequest {
                    driver: event.text("DriverName", texts)?,
                    tid: event.thread_id(),
                    event: event.label(texts),
                    ..base_row(PowerRequestScope::Driver, time_ns, irp)
                };
                if let Some(request) = request {
                    row.kind = request.kind;
                    row.device = request.device;
                    row.state_kind = request.state_kind;
                    row.state = request.state;
                }
                let device = event.number("Device").unwrap_or(0);
                self.drivers.insert((irp, device), self.rows.len());
                self.rows.push(row);
            }
            Step::DriverLeaves => {
                let device = event.number("Device").unwrap_or(0);
                let index = self.drivers.remove(&(irp, device));
                match index.and_then(|index| self.rows.get_mut(index)) {
                    Some(row) => row.end_ns = Some(time_ns),
                    None => self.unmatched += 1,
                }
            }
        }
        Some(())
    }

    /// Processes the start of a request from the kernel logger.
    pub(super) fn on_start(&mut self, record: &Record<'_>, start: &DevicePowerStart<'_>, texts: &mut Texts) {
        self.requests.insert(start.irp, self.rows.len());
        self.rows.push(PowerRequest {
            kind: kind(start.minor_function.into()),
            device: texts.utf16(start.device_name),
            state_kind: state_kind(Some(start.state_type)),
            state: start.state.try_into().ok(),
            tid: record.thread_id(),
            event: texts.str("Power/DevicePowerStart"),
            ..base_row(PowerRequestScope::Device, record.time_ns(), start.irp)
        });
    }

    /// Processes the completion of a request from the kernel logger.
    pub(super) fn on_end(&mut self, time_ns: i64, end: &DevicePowerEnd) {
        match self.request(end.irp) {
            Some(row) if row.end_ns.is_none() => {
                row.end_ns = Some(time_ns);
                row.status = Some(end.status);
            }
            _ => self.unmatched += 1,
        }
    }

    fn request(&mut self, irp: u64) -> Option<&mut PowerRequest> {
        let index = *self.requests.get(&irp)?;
        self.rows.get_mut(index)
    }

    /// Builds the table, sorted by start, with driver and names from `devices`.
    pub(super) fn finish(self, devices: &[InstalledDevice], texts: &mut Texts, losses: &mut Losses) -> PowerRequests {
        losses.add(&counters::POWER_REQUEST_END_WITHOUT_BEGIN, self.unmatched);
        let unfinished = self.rows.iter().filter(|row| row.end_ns.is_none()).count();
        losses.add(&counters::POWER_REQUEST_UNFINISHED, unfinished as u64);
        // Instance IDs are case-insensitive, and the two sources differ in case.
        let installed: HashMap<String, &InstalledDevice> =
            devices.iter().map(|device| (device.instance.to_ascii_lowercase(), device)).collect();
        self.rows
            .into_iter()
            .map(|mut row| {
                let instance = texts.get(row.device).to_ascii_lowercase();
                if let Some(device) = installed.get(&instance) {
                    if row.driver.is_empty() {
                        row.driver = texts.str(&device.driver);
                    }
                    row.description = texts.str(&device.description);
                    row.friendly_name = texts.str(&device.friendly_name);
                }
                row
            })
            .collect()
    }
}

fn base_row(scope: PowerRequestScope, start_ns: i64, irp: u64) -> PowerRequest {
    PowerRequest {
        kind: PowerRequestKind::Other,
        scope,
        start_ns,
        state_kind: PowerStateKind::Unknown,
        irp,
        ..PowerRequest::UNKNOWN
    }
}

fn kind(minor_function: u64) -> PowerRequestKind {
    match minor_function {
        QUERY_POWER => PowerRequestKind::Query,
        SET_POWER => PowerRequestKind::Set,
        _ => PowerRequestKind::Other,
    }
}

fn state_kind(power_state_type: Option<u32>) -> PowerStateKind {
    match power_state_type {
        Some(0) => PowerStateKind::System,
        Some(1) => PowerStateKind::Device,
        _ => PowerStateKind::Unknown,
    }
}
