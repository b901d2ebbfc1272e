//! The list of processes.

use std::io::{self, Write};

use onoff_lists::processes::{ProcessList, ProcessRow};

use super::{headline, processors_line, write_losses};
use crate::table::{Column, Kind, TableReport, Value};
use crate::terminal::quantity::{count, counted, duration};

impl TableReport for ProcessList {
    type Row = ProcessRow;

    fn columns(&self) -> Vec<Column<ProcessRow>> {
        let new = Column::<ProcessRow>::new;
        vec![
            new("image", "process", Kind::Name, |row| Value::text_or_unknown(&row.life.image)).with_width(32),
            new("pid", "pid", Kind::Id, |row| Value::Id(row.life.pid.into())),
            new("cpu_ns", "CPU", Kind::Quantity, |row| Value::from_option(row.cpu_ns, Value::Duration)),
            new("cpu_percent", "share", Kind::Quantity, |row| Value::from_option(row.cpu_percent, Value::Percent)),
            new("disk_service_ns", "disk time", Kind::Quantity, |row| {
                Value::from_option(row.disk_service_ns, Value::Duration)
            }),
            new("disk_bytes", "disk bytes", Kind::Quantity, |row| Value::from_option(row.disk_bytes, Value::Bytes)),
            new("disk_operations", "", Kind::Quantity, |row| Value::from_option(row.disk_operations, Value::Count)),
            new("threads", "threads", Kind::Quantity, |row| Value::from_option(row.threads, Value::Count)),
            new("start_ns", "start", Kind::Time, |row| Value::from_option(row.life.start_ns, Value::Time)),
            new("end_ns", "end", Kind::Time, |row| Value::from_option(row.life.end_ns, Value::Time)),
            new("lifetime_ns", "lifetime", Kind::Quantity, |row| {
                Value::from_option(row.life.lifetime_ns, Value::Duration)
            }),
            new("session", "session", Kind::Id, |row| Value::id(row.life.session)),
            new("parent_image", "parent", Kind::Name, |row| Value::text(&row.parent_image)).with_width(24),
            new("parent_pid", "parent pid", Kind::Id, |row| Value::id(row.life.parent_pid)),
            new("exit_status", "exit", Kind::Id, |row| {
                // The status of a running process is meaningless.
                match row.life.end_ns {
                    Some(_) => Value::from_option(row.life.exit_status, exit_status),
                    None => Value::Nothing,
                }
            }),
            new("user", "", Kind::Name, |row| Value::text(&row.user)),
            new("command_line", "command line", Kind::Name, |row| Value::text(&row.life.command_line)).with_width(60),
        ]
    }

    fn rows(&self) -> &[ProcessRow] {
        &self.processes
    }

    fn rows_mut(&mut self) -> &mut Vec<ProcessRow> {
        &mut self.processes
    }

    fn empty_message(&self) -> String {
        match self.recorded {
            0 => "no processes were recorded".to_owned(),
            recorded => format!("no process matches (the recording has {})", count(recorded)),
        }
    }

    fn write_headline(&self, rows: usize, out: &mut dyn Write) -> io::Result<()> {
        headline(&counted(rows as u64, "process"), self.range, out)?;
        processors_line(&self.cpu, out)?;
        if self.disk_service_ns > 0 {
            writeln!(out, "Disks: busy {}", duration(self.disk_service_ns))?;
        }
        Ok(())
    }

    fn write_footer(&self, out: &mut dyn Write) -> io::Result<()> {
        write_losses(&self.affecting_losses, &self.losses, out)
    }
}

/// Formats small numbers in decimal and NTSTATUS codes in hexadecimal.
fn exit_status(status: i32) -> Value<'static> {
    if (-9999..=9999).contains(&status) {
        Value::Id(status.into())
    } else {
        Value::Text(format!("{status:#010x}").into())
    }
}
