//! The list of device and driver operations.

use std::io::{self, Write};

use onoff_lists::devices::DeviceList;
use onoff_usage::devices::Device;

use super::{headline, write_losses};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{count, counted};

impl TableReport for DeviceList {
    type Row = Device;

    fn columns(&self) -> Vec<Column<Device>> {
        let new = Column::<Device>::new;
        vec![
            new("driver", "driver", Kind::Name, |row| Value::text(&row.driver)).with_width(28),
            new("device", "device", Kind::Name, |row| Value::text(&row.device)).with_width(44),
            new("kind", "operation", Kind::Name, |row| Value::text(row.details.kind.as_str())),
            new("start_ns", "start", Kind::Time, |row| Value::Time(row.start_ns)),
            new("duration_ns", "duration", Kind::Quantity, |row| Value::from_option(row.duration_ns, Value::Duration)),
            new("pre_pend_ns", "until pending", Kind::Quantity, |row| {
                Value::from_option(row.details.pre_pend_ns, Value::Duration)
            }),
            new("pended_ns", "pended", Kind::Quantity, pended),
            new("pend_ns", "", Kind::Time, |row| Value::from_option(row.details.pend_ns, Value::Time)),
            new("end_ns", "", Kind::Time, |row| Value::from_option(row.end_ns, Value::Time)),
            new("phase", "phase", Kind::Name, |row| Value::text(row.details.phase.as_str())),
            new("status", "status", Kind::Name, |row| match row.details.status {
                Some(0) | None => Value::Nothing,
                Some(status) => Value::Text(format!("{status:#010x}").into()),
            }),
            new("friendly_name", "name", Kind::Name, |row| Value::text(&row.friendly_name)).with_width(36),
            new("description", "description", Kind::Name, |row| Value::text(&row.description)).with_width(36),
        ]
    }

    fn rows(&self) -> &[Device] {
        &self.devices
    }

    fn rows_mut(&mut self) -> &mut Vec<Device> {
        &mut self.devices
    }

    fn empty_message_on_linux(&self) -> Option<&'static str> {
        (self.recorded == 0).then_some(
            "no device operations were recorded; record the trace events initcall:* and module:*, or the kernel log with initcall_debug",
        )
    }

    fn empty_message(&self) -> String {
        match self.recorded {
            0 => "no device operations were recorded; record the provider Microsoft-Windows-Kernel-PnP".to_owned(),
            recorded => format!("no device or driver operation in that range (the recording has {})", count(recorded)),
        }
    }

    fn write_headline(&self, rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let unfinished = self.devices.iter().filter(|row| row.end_ns.is_none()).count();
        let mut answer = format!("Devices and drivers: {}", counted(rows as u64, "operation"));
        if unfinished > 0 {
            answer += &format!(", {} unfinished", count(unfinished as u64));
        }
        headline(&answer, self.range, out)
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}

/// Returns the time from STATUS_PENDING to the end. Operations that did not pend have none.
fn pended(row: &Device) -> Value<'_> {
    Value::from_option(row.details.pend_ns.zip(row.end_ns), |(pend, end)| {
        Value::Duration(end.saturating_sub(pend).max(0))
    })
}
