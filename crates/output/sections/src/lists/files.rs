//! The list of file operations.

use std::io::{self, Write};

use onoff_usage::storage::SharedValues;
use onoff_usage::storage::files::{FileAmounts, FileFlush, FileGroup, FileReport};

use super::grouped::{self, Grouped};
use super::{headline, write_losses};
use crate::section::{self, Cell, Heading, Section};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{count, counted, duration, size};
use crate::terminal::style::QUIET;

/// Maximum number of flushes in text.
const MAX_FLUSHES: usize = 10;

impl Grouped for FileGroup {
    fn shared(&self) -> &SharedValues {
        &self.shared
    }
}

/// Returns a duration, or no value if the recording has no durations of these operations.
fn duration_of(amounts: &FileAmounts, ns: i64) -> Value<'static> {
    if amounts.has_durations() { Value::Duration(ns) } else { Value::Unknown }
}

impl TableReport for FileReport {
    type Row = FileGroup;

    fn columns(&self) -> Vec<Column<FileGroup>> {
        let new = Column::<FileGroup>::new;
        let quantity = Kind::Quantity;
        let mut columns = grouped::columns(&self.by);
        columns.extend([
            new("time_ns", "time", quantity, |row| duration_of(&row.amounts, row.amounts.time_ns)),
            new("longest_ns", "longest", quantity, |row| duration_of(&row.amounts, row.amounts.longest_ns)),
            new("operations", "operations", quantity, |row| Value::Count(row.amounts.operations)),
            new("opens", "opens", quantity, |row| Value::Count(row.amounts.opens)).sparse(),
            new("failed_opens", "failed", quantity, |row| Value::Count(row.amounts.failed_opens)).sparse(),
            new("reads", "reads", quantity, |row| Value::Count(row.amounts.reads)).sparse(),
            new("read_bytes", "read", quantity, |row| Value::Bytes(row.amounts.read_bytes)).sparse(),
            new("writes", "writes", quantity, |row| Value::Count(row.amounts.writes)).sparse(),
            new("write_bytes", "written", quantity, |row| Value::Bytes(row.amounts.write_bytes)).sparse(),
            new("flushes", "flushes", quantity, |row| Value::Count(row.amounts.flushes)).sparse(),
            new("others", "", quantity, |row| Value::Count(row.amounts.others)),
            new("failed", "", quantity, |row| Value::Count(row.amounts.failed)),
            new("unfinished", "", quantity, |row| Value::Count(row.amounts.unfinished)),
            new("disk_requests", "disk requests", quantity, |row| Value::Count(row.amounts.disk_requests)).sparse(),
            new("disk_read_bytes", "", quantity, |row| Value::Bytes(row.amounts.disk_read_bytes)).sparse(),
            new("disk_write_bytes", "", quantity, |row| Value::Bytes(row.amounts.disk_write_bytes)).sparse(),
            new("disk_service_ns", "disk service", quantity, |row| Value::Duration(row.amounts.disk_service_ns))
                .sparse(),
        ]);
        columns
    }

    fn rows(&self) -> &[FileGroup] {
        &self.groups
    }

    fn rows_mut(&mut self) -> &mut Vec<FileGroup> {
        &mut self.groups
    }

    fn empty_message_on_linux(&self) -> Option<&'static str> {
        (true).then_some("file operations are read only from Windows recordings; 'onoff disk' shows disk requests")
    }

    fn empty_message(&self) -> String {
        match (self.recorded, self.disk_alone.operations()) {
            (0, 0) => "no file operations were recorded; record the kernel flags FILE_IO and FILE_IO_INIT".to_owned(),
            (0, requests) => format!(
                "no file operations were recorded; record the kernel flags FILE_IO and FILE_IO_INIT, or use 'onoff disk' to list \
                 the {}",
                counted(requests, "disk request")
            ),
            (recorded, _) => format!("no file operation matches (the recording has {})", count(recorded)),
        }
    }

    fn write_headline(&self, _rows: usize, out: &mut dyn Write) -> io::Result<()> {
        let total = &self.total;
        let operations = counted(total.operations, "file operation");
        let answer = if total.has_durations() {
            format!("{operations}, {} in total", duration(total.time_ns))
        } else {
            format!("{operations} without recorded durations")
        };
        headline(&answer, self.range, out)?;
        writeln!(
            out,
            "{} ({} failed), {} read by {}, {} written by {}, {}",
            counted(total.opens, "open"),
            count(total.failed_opens),
            size(total.read_bytes),
            counted(total.reads, "read"),
            size(total.write_bytes),
            counted(total.writes, "write"),
            counted(total.flushes, "flush"),
        )
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        let disk_only = &self.disk_alone;
        if disk_only.operations() > 0 {
            writeln!(
                out,
                "  {QUIET}Not in these rows: {}, {}, {} of service time for paging, read-ahead and write-back{QUIET:#}",
                counted(disk_only.operations(), "disk request"),
                size(disk_only.bytes()),
                duration(disk_only.service_ns())
            )?;
        }
        write_flushes(&self.flushes, out)?;
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}

/// Writes the longest flushes, during which the caller and later requests wait for the device.
fn write_flushes(flushes: &[FileFlush], out: &mut dyn Write) -> io::Result<()> {
    if flushes.is_empty() {
        return Ok(());
    }
    let mut longest: Vec<&FileFlush> = flushes.iter().collect();
    longest.sort_by_key(|flush| std::cmp::Reverse(flush.duration_ns));
    let note = if longest.len() > MAX_FLUSHES {
        format!("longest {MAX_FLUSHES} of {}", count(longest.len() as u64))
    } else {
        "longest first".to_owned()
    };
    let process = |flush: &&FileFlush| match (flush.image.as_str(), flush.pid) {
        ("", None) => Value::Unknown,
        ("", Some(pid)) => Value::Text(format!("process {pid}").into()),
        (image, None) => Value::Text(image.to_owned().into()),
        (image, Some(pid)) => Value::Text(format!("{image} ({pid})").into()),
    };
    let section = Section::builder("flushes", "Flushes", longest)
        .note(note)
        .top(MAX_FLUSHES)
        .time("start_ns", "start", |flush| Value::Time(flush.start_ns))
        .quantity("duration_ns", "duration", |flush| Cell::duration_or_dash(flush.duration_ns))
        .name("process", "process", 28, process)
        .name("path", "path", 64, |flush| Value::text(flush.path.as_str()))
        .column(Heading::quantity("disk_flushes", "device flushes").sparse(), |flush| Value::Count(flush.disk_flushes))
        .quantity("disk_service_ns", "disk service", |flush| match flush.disk_flushes {
            0 => Value::Nothing,
            _ => Value::Duration(flush.disk_service_ns),
        })
        .build();
    section::text::write(&section, out)
}
