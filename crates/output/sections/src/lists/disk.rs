//! The list of disk requests.

use std::io::{self, Write};

use onoff_usage::storage::SharedValues;
use onoff_usage::storage::disk::{DiskActivity, DiskGroup, DiskReport};

use super::grouped::{self, Grouped};
use super::{headline, write_losses};
use crate::section::{self, Heading, Section};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{count, counted, duration, share, size};

impl Grouped for DiskGroup {
    fn shared(&self) -> &SharedValues {
        &self.shared
    }
}

impl TableReport for DiskReport {
    type Row = DiskGroup;

    fn columns(&self) -> Vec<Column<DiskGroup>> {
        let new = Column::<DiskGroup>::new;
        let quantity = Kind::Quantity;
        let mut columns = grouped::columns(&self.by);
        columns.extend(grouped::disk_columns(&self.by));
        columns.extend([
            new("service_ns", "service", quantity, |row| Value::Duration(row.amounts.service_ns)),
            new("bytes", "size", quantity, |row| Value::Bytes(row.amounts.bytes)),
            new("requests", "", quantity, |row| Value::Count(row.amounts.requests)),
            new("reads", "reads", quantity, |row| Value::Count(row.amounts.reads)).sparse(),
            new("read_bytes", "", quantity, |row| Value::Bytes(row.amounts.read_bytes)).sparse(),
            new("read_service_ns", "read service", quantity, |row| Value::Duration(row.amounts.read_service_ns))
                .sparse(),
            new("writes", "writes", quantity, |row| Value::Count(row.amounts.writes)).sparse(),
            new("write_bytes", "", quantity, |row| Value::Bytes(row.amounts.write_bytes)).sparse(),
            new("write_service_ns", "write service", quantity, |row| Value::Duration(row.amounts.write_service_ns))
                .sparse(),
            new("flushes", "flushes", quantity, |row| Value::Count(row.amounts.flushes)).sparse(),
            new("flush_service_ns", "", quantity, |row| Value::Duration(row.amounts.flush_service_ns)).sparse(),
            new("response_ns", "", quantity, |row| Value::Duration(row.amounts.response_ns)),
            new("mean_response_ns", "mean response", quantity, |row| Value::Duration(row.amounts.mean_response_ns)),
            new("longest_response_ns", "longest", quantity, |row| Value::Duration(row.amounts.longest_response_ns)),
            new("queue_depth_sum", "", quantity, |row| Value::Count(row.amounts.queue_depth_sum)),
            new("max_queue_depth", "queue", quantity, |row| Value::Count(row.amounts.max_queue_depth.into())).sparse(),
        ]);
        columns
    }

    fn rows(&self) -> &[DiskGroup] {
        &self.groups
    }

    fn rows_mut(&mut self) -> &mut Vec<DiskGroup> {
        &mut self.groups
    }

    fn empty_message_on_linux(&self) -> Option<&'static str> {
        (self.recorded == 0).then_some("no disk requests were recorded; record the trace events block:*")
    }

    fn empty_message(&self) -> String {
        match self.recorded {
            0 => "no disk requests were recorded; record the kernel flags DISK_IO and DISK_IO_INIT".to_owned(),
            recorded => format!("no disk request matches (the recording has {})", count(recorded)),
        }
    }

    fn write_headline(&self, _rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let total = &self.total;
        let answer = format!(
            "{}, {}, {} of service time",
            counted(total.requests, "disk request"),
            size(total.bytes),
            duration(total.service_ns)
        );
        headline(&answer, self.range, out)?;
        section::text::write(&disks(&self.disks), out)
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}

/// Lists the total activity of each disk.
fn disks(disks: &[DiskActivity]) -> Section<'_> {
    let busy_share = |disk: &DiskActivity| share(disk.busy_ns, disk.busy_ns.saturating_add(disk.idle_ns));
    let (bytes, count) = (Value::Bytes, Value::Count);
    Section::builder("disks", "", disks)
        .id("disk", "disk", |disk| Value::Id(disk.disk.into()))
        .name("model", "model", 32, |disk| Value::text(&disk.model))
        .quantity("busy_ns", "busy", |disk| Value::Duration(disk.busy_ns))
        .quantity("busy_percent", "share", move |disk| Value::Percent(busy_share(disk)))
        .quantity("idle_ns", "idle", |disk| Value::Duration(disk.idle_ns))
        .column(Heading::quantity("read_bytes", "read").sparse(), move |disk| bytes(disk.operations.read.bytes))
        .column(Heading::quantity("reads", "reads").sparse(), move |disk| count(disk.operations.read.operations))
        .column(Heading::quantity("read_ahead_bytes", "read ahead").sparse(), move |disk| bytes(disk.read_ahead.bytes))
        .column(Heading::quantity("write_bytes", "written").sparse(), move |disk| bytes(disk.operations.write.bytes))
        .column(Heading::quantity("writes", "writes").sparse(), move |disk| count(disk.operations.write.operations))
        .column(Heading::quantity("flushes", "flushes").sparse(), move |disk| count(disk.operations.flush.operations))
        .quantity("mean_queue", "mean queue", |disk| Value::Real { value: disk.mean_queue, decimals: 3 })
        .quantity("longest_queue", "longest queue", move |disk| count(disk.longest_queue.into()))
        .build()
}
