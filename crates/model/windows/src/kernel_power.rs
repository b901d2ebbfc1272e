//! Power transitions as recorded by the kernel logger, for recordings without the Kernel-Power provider.

use onoff_etl::Record;
use onoff_etw::kernel::{
    DevicePowerEnd, DevicePowerStart, DevicesStateEnd, DevicesStateStart, KernelPayload, PowerActionEnd,
    PowerActionStart,
};
use onoff_trace::{Activity, ActivityKind, StringId, power_phase, shutdown_step};

use super::power_requests::PowerRequestTracker;
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct KernelPowerTracker {
    activities: Vec<Activity>,
    action: Option<usize>,
    devices: Option<usize>,
    pub(super) requests: PowerRequestTracker,
}

/// IRP minor function that queries whether a state may be entered.
const QUERY_POWER: u8 = 3;

impl KernelPowerTracker {
    /// Processes a record; `None` if its payload is too short.
    pub(super) fn on_record(
        &mut self,
        record: &Record<'_>,
        payload: KernelPayload<'_>,
        texts: &mut Texts,
    ) -> Option<()> {
        let time_ns = record.time_ns();
        match payload.hook {
            PowerActionStart::HOOK => {
                let start = PowerActionStart::read(payload)?;
                self.action = Some(self.activities.len());
                let name = texts.display(start.power_action);
                self.begin(record, ActivityKind::PowerTransition, name, "Power/ActionStart", texts);
            }
            PowerActionEnd::HOOK => {
                let end = PowerActionEnd::read(payload)?;
                let index = self.action.take();
                self.end(index, time_ns, end.status);
            }
            DevicesStateStart::HOOK => {
                let start = DevicesStateStart::read(payload)?;
                self.devices = Some(self.activities.len());
                let (kind, name) = if start.shutdown {
                    (ActivityKind::KernelShutdownStep, shutdown_step::DEVICES)
                } else if start.waking {
                    (ActivityKind::PowerPhase, power_phase::RESUME_DEVICES)
                } else if start.irp_minor == QUERY_POWER {
                    (ActivityKind::PowerPhase, power_phase::QUERY_DEVICES)
                } else {
                    (ActivityKind::PowerPhase, power_phase::SUSPEND_DEVICES)
                };
                let name = texts.str(name);
                self.begin(record, kind, name, "Power/DevicesStateStart", texts);
            }
            DevicesStateEnd::HOOK => {
                let end = DevicesStateEnd::read(payload)?;
                let index = self.devices.take();
                self.end(index, time_ns, end.status);
            }
            DevicePowerStart::HOOK => {
                let start = DevicePowerStart::read(payload)?;
                self.requests.on_start(record, &start, texts);
            }
            _ => self.requests.on_end(time_ns, &DevicePowerEnd::read(payload)?),
        }
        Some(())
    }

    fn begin(&mut self, record: &Record<'_>, kind: ActivityKind, name: StringId, event: &str, texts: &mut Texts) {
        self.activities.push(Activity {
            kind,
            name,
            start_ns: record.time_ns(),
            pid: record.process_id(),
            tid: record.thread_id(),
            event: texts.str(event),
            ..Activity::UNKNOWN
        });
    }

    fn end(&mut self, index: Option<usize>, time_ns: i64, status: u32) {
        if let Some(row) = index.and_then(|index| self.activities.get_mut(index)) {
            row.end_ns = Some(time_ns);
            row.status = Some(status);
        }
    }

    /// Returns the activities, sorted by start, and the power requests.
    pub(super) fn finish(self) -> (Vec<Activity>, PowerRequestTracker) {
        (self.activities, self.requests)
    }
}
