//! Builds the table of device and driver work during startup, from Kernel-PnP events.
//!
//! ```text
//!   --Start--> in flight --Suspend (pended)--> completes elsewhere --Stop--> ended
//!                   \---------------------Stop------------------------------> ended
//! ```
//!
//! A pended request can be completed by any thread, so start and end are paired by kind and name; the thread only
//! breaks ties.

use hashbrown::HashMap;
use onoff_trace::system::InstalledDevice;
use onoff_trace::{DeviceOperation, DeviceOperationKind, DeviceOperations, DevicePhase, Losses, StringId};

use super::counters;
use super::phase_events::{Event, KERNEL_PNP, PhaseEvent};
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct DeviceTracker {
    rows: Vec<DeviceOperation>,
    in_flight: HashMap<(DeviceOperationKind, StringId), Vec<usize>>,
    unmatched: u64,
    boot_start: [Option<i64>; 2],
    system_start: [Option<i64>; 2],
}

/// Maximum number of operations in flight with the same kind and name. A device has one request of a kind at a time, so
/// more of them are starts with lost ends.
const MAX_IN_FLIGHT: usize = 64;

#[derive(Clone, Copy)]
enum Edge {
    Start,
    Suspend,
    Stop,
}

/// Meaning of an event.
#[derive(Clone, Copy)]
enum Meaning {
    /// Start of the drivers loaded by the boot loader.
    BootStart(Edge),
    /// Start of the system-start drivers.
    SystemStart(Edge),
    Operation(DeviceOperationKind, Edge),
}

use DeviceOperationKind::{BootInit, DeviceEnum, DeviceStart, DriverInit, DriverLoad};
use Edge::{Start, Stop, Suspend};
use Meaning::{BootStart, Operation, SystemStart};

/// Kernel-PnP events, by id.
const EVENTS: &[(u16, Meaning)] = &[
    (200, BootStart(Start)),
    (201, BootStart(Stop)),
    (202, SystemStart(Start)),
    (203, SystemStart(Stop)),
    (210, Operation(BootInit, Start)),
    (211, Operation(BootInit, Stop)),
    (212, Operation(DriverLoad, Start)),
    (213, Operation(DriverLoad, Stop)),
    (216, Operation(DeviceStart, Start)),
    (217, Operation(DeviceStart, Suspend)),
    (218, Operation(DeviceStart, Stop)),
    (220, Operation(DeviceEnum, Start)),
    (221, Operation(DeviceEnum, Suspend)),
    (222, Operation(DeviceEnum, Stop)),
    (226, Operation(DriverInit, Start)),
    (227, Operation(DriverInit, Stop)),
];

/// Returns the events from which the table is built.
pub(super) fn events() -> impl Iterator<Item = Event> {
    EVENTS.iter().map(|&(id, _)| (KERNEL_PNP, id))
}

/// Returns the start or end of a phase.
fn edge_of(phase: &mut [Option<i64>; 2], edge: Edge) -> &mut Option<i64> {
    let [begin, end] = phase;
    match edge {
        Start | Suspend => begin,
        Stop => end,
    }
}

impl DeviceTracker {
    /// Processes a phase event; `None` if a required field is missing.
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) -> Option<()> {
        if event.provider != KERNEL_PNP {
            return Some(());
        }
        let Some(&(_, meaning)) = EVENTS.iter().find(|&&(id, _)| id == event.id) else { return Some(()) };
        let (kind, edge) = match meaning {
            Operation(kind, edge) => (kind, edge),
            BootStart(edge) => {
                edge_of(&mut self.boot_start, edge).get_or_insert(event.time_ns());
                return Some(());
            }
            SystemStart(edge) => {
                edge_of(&mut self.system_start, edge).get_or_insert(event.time_ns());
                return Some(());
            }
        };
        let name = event.text("DriverName", texts)?;
        let time_ns = event.time_ns();
        match edge {
            Start => {
                let is_device_operation = matches!(kind, DeviceStart | DeviceEnum);
                let (device, driver) =
                    if is_device_operation { (name, StringId::EMPTY) } else { (StringId::EMPTY, name) };
                let in_flight = self.in_flight.entry((kind, name)).or_default();
                if in_flight.len() == MAX_IN_FLIGHT {
                    in_flight.remove(0);
                }
                in_flight.push(self.rows.len());
                self.rows.push(DeviceOperation {
                    kind,
                    start_ns: time_ns,
                    device,
                    driver,
                    phase: DevicePhase::Later,
                    tid: event.thread_id(),
                    event: event.label(texts),
                    ..DeviceOperation::UNKNOWN
                });
            }
            Suspend => {
                let row_index = self.find_in_flight(kind, name, event.thread_id());
                match row_index.and_then(|row| self.rows.get_mut(row)) {
                    Some(row) => row.pend_ns = Some(time_ns),
                    None => self.unmatched += 1,
                }
            }
            Stop => {
                let row_index = self.find_in_flight(kind, name, event.thread_id());
                match row_index.and_then(|row| self.rows.get_mut(row)) {
                    Some(row) => {
                        row.end_ns = Some(time_ns);
                        row.end_tid = event.thread_id();
                        row.status = event.number32("Status");
                        // The name at the start can differ from the name at the end.
                        let start_name = if row.device.is_empty() { row.driver } else { row.device };
                        if let Some(rows) = self.in_flight.get_mut(&(kind, start_name)) {
                            rows.retain(|&row| Some(row) != row_index);
                        }
                    }
                    None => self.unmatched += 1,
                }
            }
        }
        Some(())
    }

    /// Finds the operation in flight to which an event belongs: the latest of the same thread, otherwise the earliest.
    ///
    /// The end of a driver load can have a different name than its start (service or object name). Loads and
    /// initializations end on the thread that started them, so the thread identifies them in that case.
    fn find_in_flight(&self, kind: DeviceOperationKind, name: StringId, tid: Option<u32>) -> Option<usize> {
        let is_of_thread = |row: usize| self.rows.get(row).is_some_and(|row| row.tid == tid);
        if let Some(rows) = self.in_flight.get(&(kind, name))
            && let Some(&earliest) = rows.first()
        {
            let latest = rows.iter().copied().rev().find(|&row| is_of_thread(row));
            return latest.or(Some(earliest));
        }
        if matches!(kind, DeviceStart | DeviceEnum) {
            return None;
        }
        let recent = self.rows.len().saturating_sub(MAX_IN_FLIGHT)..self.rows.len();
        recent.rev().find(|&row| {
            is_of_thread(row) && self.rows.get(row).is_some_and(|row| row.kind == kind && row.end_ns.is_none())
        })
    }

    /// Returns the phase at a time according to the ends of the phases: everything that starts before the end of boot
    /// start belongs to boot start, even if it precedes the start event.
    fn phase(&self, time_ns: i64) -> DevicePhase {
        let [boot_begin, boot_end] = self.boot_start;
        let [system_begin, system_end] = self.system_start;
        let is_before = |end: Option<i64>| end.is_some_and(|end_ns| time_ns <= end_ns);
        if is_before(boot_end) || (boot_begin.is_some() && boot_end.is_none() && is_before(system_begin)) {
            DevicePhase::BootStart
        } else if is_before(system_end)
            || (system_begin.is_some_and(|begin_ns| begin_ns <= time_ns) && system_end.is_none())
        {
            DevicePhase::SystemStart
        } else {
            DevicePhase::Later
        }
    }

    /// Builds the table, sorted by start, with driver and names from `devices`.
    pub(super) fn finish(
        mut self,
        devices: &[InstalledDevice],
        texts: &mut Texts,
        losses: &mut Losses,
    ) -> DeviceOperations {
        losses.add(&counters::DEVICE_END_WITHOUT_BEGIN, self.unmatched);
        // Instance IDs are case-insensitive, and the two sources differ in case.
        let installed: HashMap<String, &InstalledDevice> =
            devices.iter().map(|device| (device.instance.to_ascii_lowercase(), device)).collect();
        let mut unfinished = 0;
        let mut rows = std::mem::take(&mut self.rows);
        for row in &mut rows {
            unfinished += u64::from(row.end_ns.is_none());
            row.phase = self.phase(row.start_ns);
            if row.device.is_empty() {
                continue;
            }
            let instance = texts.get(row.device).to_ascii_lowercase();
            if let Some(device) = installed.get(&instance) {
                row.driver = texts.str(&device.driver);
                row.description = texts.str(&device.description);
                row.friendly_name = texts.str(&device.friendly_name);
            }
        }
        losses.add(&counters::DEVICE_UNFINISHED, unfinished);
        rows.into_iter().collect()
    }
}
