//! Requests to disks.

use std::io::{self, Write};

use onoff_analysis::storage::Shared;
use onoff_analysis::storage::disk::{DiskActivity, DiskGroup, DiskReport};

use super::grouped::{self, Grouped};
use super::{headline, write_losses};
use crate::table::{Column, Kind, TableReport, Value};
use crate::text::quantity::{count, counted, duration, percent, share, size};
use crate::text::table::{Table, cell};

impl Grouped for DiskGroup {
    fn shared(&self) -> &Shared {
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
            new("queued_before", "", quantity, |row| Value::Count(row.amounts.queued_before)),
            new("longest_queue_before", "queue", quantity, |row| Value::Count(row.amounts.longest_queue_before.into()))
                .sparse(),
        ]);
        columns
    }

    fn rows(&self) -> &[DiskGroup] {
        &self.groups
    }

    fn rows_mut(&mut self) -> &mut Vec<DiskGroup> {
        &mut self.groups
    }

    fn nothing_on_linux(&self) -> Option<&'static str> {
        (self.recorded == 0).then_some("the recording holds no disk requests; the trace events of block:* record them")
    }

    fn nothing(&self) -> String {
        match self.recorded {
            0 => "the recording holds no disk requests; recorders take them with the kernel flags DISK_IO and \
                  DISK_IO_INIT"
                .to_owned(),
            recorded => format!("none of the recording's {} matches in that range", counted(recorded, "disk request")),
        }
    }

    fn write_before(&self, _rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let total = &self.total;
        let answer = format!(
            "{}, {}, {} of disk service",
            counted(total.requests, "disk request"),
            size(total.bytes),
            duration(total.service_ns)
        );
        headline(&answer, self.range, out)?;
        write_disks(&self.disks, out)
    }

    fn write_after(&self, out: &mut dyn Write) -> io::Result<()> {
        write_losses(&self.touched_by, &self.losses, out)
    }
}

/// The disks themselves, whoever used them.
fn write_disks(disks: &[DiskActivity], out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new()
        .left("disk", 8)
        .left("model", 32)
        .right("busy")
        .right("share")
        .right("idle")
        .right("read")
        .right("reads")
        .right("of it read ahead")
        .right("written")
        .right("writes")
        .right("flushes")
        .right("mean queue")
        .right("longest queue");
    for disk in disks {
        let operations = &disk.operations;
        let of = |number: u64, text: fn(u64) -> String| cell(if number == 0 { String::new() } else { text(number) });
        let busy = share(disk.busy_ns, disk.busy_ns.saturating_add(disk.idle_ns));
        table.row([
            cell(format!("disk {}", disk.disk)),
            cell(disk.model.as_str()),
            cell(duration(disk.busy_ns)),
            cell(percent(busy)),
            cell(duration(disk.idle_ns)),
            of(operations.read.bytes, size),
            of(operations.read.operations, count),
            of(disk.read_ahead.bytes, size),
            of(operations.write.bytes, size),
            of(operations.write.operations, count),
            of(operations.flush.operations, count),
            cell(format!("{:.2}", disk.mean_queue)),
            cell(count(disk.longest_queue.into())),
        ]);
    }
    table.write(out)
}
