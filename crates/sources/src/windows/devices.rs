//! Work on devices and drivers while the system comes up (Kernel-PnP).
//!
//! ```text
//!   --Start--> under way --Suspend (pended)--> completes elsewhere --Stop--> ended
//!                   \---------------------Stop------------------------------> ended
//! ```
//!
//! A pended request is completed by whichever thread the driver does it on, so that begin and end are paired by kind and
//! name; the thread only breaks ties.

use hashbrown::HashMap;
use onoff_trace::system::InstalledDevice;
use onoff_trace::{DeviceOperation, DeviceOperationKind, DeviceOperations, DevicePhase, Losses, StringId};

use super::counters;
use super::phase_events::{KERNEL_PNP, PhaseEvent};
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct DeviceTracker {
    rows: Vec<DeviceOperation>,
    under_way: HashMap<(DeviceOperationKind, StringId), Vec<usize>>,
    unmatched: u64,
    boot_start: [Option<i64>; 2],
    system_start: [Option<i64>; 2],
}

/// A device has one request of a kind at a time; more under one name than this are begins whose ends were lost.
const MOST_UNDER_WAY: usize = 64;

#[derive(Clone, Copy)]
enum Edge {
    Start,
    Suspend,
    Stop,
}

impl DeviceTracker {
    /// Takes a phase event; `None` when it lacks a field it needs.
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) -> Option<()> {
        if event.provider != KERNEL_PNP {
            return Some(());
        }
        use DeviceOperationKind::{BootInit, DeviceEnum, DeviceStart, DriverInit, DriverLoad};
        let (kind, edge) = match event.id {
            200..=203 => {
                self.phase_edge(event);
                return Some(());
            }
            210 => (BootInit, Edge::Start),
            211 => (BootInit, Edge::Stop),
            212 => (DriverLoad, Edge::Start),
            213 => (DriverLoad, Edge::Stop),
            216 => (DeviceStart, Edge::Start),
            217 => (DeviceStart, Edge::Suspend),
            218 => (DeviceStart, Edge::Stop),
            220 => (DeviceEnum, Edge::Start),
            221 => (DeviceEnum, Edge::Suspend),
            222 => (DeviceEnum, Edge::Stop),
            226 => (DriverInit, Edge::Start),
            227 => (DriverInit, Edge::Stop),
            _ => return Some(()),
        };
        let name = event.text("DriverName", texts)?;
        let time_ns = event.time_ns();
        match edge {
            Edge::Start => {
                let of_device = matches!(kind, DeviceStart | DeviceEnum);
                let (device, driver) = if of_device { (name, StringId::EMPTY) } else { (StringId::EMPTY, name) };
                let begun = self.under_way.entry((kind, name)).or_default();
                if begun.len() == MOST_UNDER_WAY {
                    begun.remove(0);
                }
                begun.push(self.rows.len());
                self.rows.push(DeviceOperation {
                    kind,
                    start_ns: time_ns,
                    pend_ns: None,
                    end_ns: None,
                    device,
                    driver,
                    description: StringId::EMPTY,
                    friendly_name: StringId::EMPTY,
                    phase: DevicePhase::Later,
                    status: None,
                    tid: event.record.thread_id(),
                    event: event.label(texts),
                });
            }
            Edge::Suspend => {
                let begun = self.begun(kind, name, event.record.thread_id());
                match begun.and_then(|row| self.rows.get_mut(row)) {
                    Some(row) => row.pend_ns = Some(time_ns),
                    None => self.unmatched += 1,
                }
            }
            Edge::Stop => {
                let begun = self.begun(kind, name, event.record.thread_id());
                match begun.and_then(|row| self.rows.get_mut(row)) {
                    Some(row) => {
                        row.end_ns = Some(time_ns);
                        row.status = event.number32("Status");
                        // Under the name it began with, which need not be the one it ends with.
                        let began_as = if row.device.is_empty() { row.driver } else { row.device };
                        if let Some(rows) = self.under_way.get_mut(&(kind, began_as)) {
                            rows.retain(|&row| Some(row) != begun);
                        }
                    }
                    None => self.unmatched += 1,
                }
            }
        }
        Some(())
    }

    fn phase_edge(&mut self, event: &PhaseEvent<'_>) {
        let edge = match event.id {
            200 => &mut self.boot_start[0],
            201 => &mut self.boot_start[1],
            202 => &mut self.system_start[0],
            _ => &mut self.system_start[1],
        };
        edge.get_or_insert(event.time_ns());
    }

    /// The operation under way that an edge belongs to: the latest of the same thread, or else the earliest.
    ///
    /// The end of a driver's load may name it otherwise than the begin did (by service, or by object); loading and
    /// initialising are done by the thread that began them, which then tells.
    fn begun(&self, kind: DeviceOperationKind, name: StringId, tid: Option<u32>) -> Option<usize> {
        let of_thread = |row: usize| self.rows.get(row).is_some_and(|row| row.tid == tid);
        if let Some(rows) = self.under_way.get(&(kind, name))
            && let Some(&first) = rows.first()
        {
            let latest = rows.iter().copied().rev().find(|&row| of_thread(row));
            return latest.or(Some(first));
        }
        if matches!(kind, DeviceOperationKind::DeviceStart | DeviceOperationKind::DeviceEnum) {
            return None;
        }
        let recent = self.rows.len().saturating_sub(MOST_UNDER_WAY)..self.rows.len();
        recent.rev().find(|&row| {
            of_thread(row) && self.rows.get(row).is_some_and(|row| row.kind == kind && row.end_ns.is_none())
        })
    }

    /// Phases are told by their ends: what begins before boot start has ended belongs to it, whatever precedes its begin.
    fn phase(&self, time_ns: i64) -> DevicePhase {
        let [boot_begin, boot_end] = self.boot_start;
        let [system_begin, system_end] = self.system_start;
        let before = |end: Option<i64>| end.is_some_and(|end_ns| time_ns <= end_ns);
        if before(boot_end) || (boot_begin.is_some() && boot_end.is_none() && before(system_begin)) {
            DevicePhase::BootStart
        } else if before(system_end)
            || (system_begin.is_some_and(|begin_ns| begin_ns <= time_ns) && system_end.is_none())
        {
            DevicePhase::SystemStart
        } else {
            DevicePhase::Later
        }
    }

    /// The table, by begin, with what `devices` says of each instance.
    pub(super) fn finish(
        mut self,
        devices: &[InstalledDevice],
        texts: &mut Texts,
        losses: &mut Losses,
    ) -> DeviceOperations {
        losses.add(&counters::DEVICE_END_WITHOUT_BEGIN, self.unmatched);
        // Case is not significant in instance paths, and the two sources write it differently.
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
