//! `onoff shutdown --format csv` of a recording of Linux: everything that took time, one row each.

use std::io::{self, Write};

use onoff_analysis::transition::linux::shutdown::LinuxShutdownReport;
use serde::Serialize;

use crate::table::{Column, Kind, TableReport, Value};

/// A phase, a unit or a process.
#[derive(Clone, Debug, Serialize)]
pub struct ShutdownRow {
    kind: &'static str,
    name: String,
    pid: Option<u32>,
    unit: String,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    duration_ns: Option<i64>,
    time_out_ns: Option<i64>,
}

/// The rows of a report.
#[derive(Clone, Debug, Serialize)]
pub struct ShutdownRows {
    rows: Vec<ShutdownRow>,
}

impl ShutdownRows {
    /// The rows of `report`: phases, units in the order of stopping, processes.
    #[must_use]
    pub fn of(report: &LinuxShutdownReport) -> Self {
        let row = |kind: &'static str, name: &str| ShutdownRow {
            kind,
            name: name.to_owned(),
            pid: None,
            unit: String::new(),
            start_ns: None,
            end_ns: None,
            duration_ns: None,
            time_out_ns: None,
        };
        let mut rows = Vec::new();
        for phase in &report.phases {
            rows.push(ShutdownRow {
                start_ns: phase.start_ns,
                end_ns: phase.end_ns,
                duration_ns: phase.duration_ns,
                ..row("phase", phase.name.as_str())
            });
        }
        for unit in &report.units {
            rows.push(ShutdownRow {
                pid: unit.pid,
                unit: unit.name.clone(),
                start_ns: Some(unit.start_ns),
                end_ns: unit.end_ns,
                duration_ns: unit.duration_ns,
                time_out_ns: unit.limit_ns,
                ..row("unit", &unit.name)
            });
        }
        for process in &report.details.processes {
            rows.push(ShutdownRow {
                pid: Some(process.pid),
                unit: process.unit.clone(),
                start_ns: Some(process.asked_ns),
                end_ns: process.end_ns,
                duration_ns: process.duration_ns,
                ..row("process", &process.image)
            });
        }
        for process in &report.details.killed {
            rows.push(ShutdownRow {
                pid: process.pid,
                unit: process.name.clone(),
                start_ns: Some(process.time_ns),
                ..row("killed", &process.image)
            });
        }
        Self { rows }
    }
}

impl TableReport for ShutdownRows {
    type Row = ShutdownRow;

    fn columns(&self) -> Vec<Column<ShutdownRow>> {
        vec![
            Column::new("kind", "kind", Kind::Name, |row| Value::text(row.kind)),
            Column::new("name", "name", Kind::Name, |row| Value::text(&row.name)),
            Column::new("pid", "pid", Kind::Id, |row| Value::of(row.pid, |pid| Value::Id(pid.into()))),
            Column::new("unit", "unit", Kind::Name, |row| Value::text(&row.unit)),
            Column::new("start_ns", "begins", Kind::Time, |row| Value::of(row.start_ns, Value::Time)),
            Column::new("end_ns", "ends", Kind::Time, |row| Value::of(row.end_ns, Value::Time)),
            Column::new("duration_ns", "took", Kind::Quantity, |row| Value::of(row.duration_ns, Value::Duration)),
            Column::new("time_out_ns", "time-out", Kind::Quantity, |row| Value::of(row.time_out_ns, Value::Duration)),
        ]
    }

    fn rows(&self) -> &[ShutdownRow] {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut Vec<ShutdownRow> {
        &mut self.rows
    }

    fn nothing(&self) -> String {
        "the recording holds no shutdown".to_owned()
    }

    fn write_before(&self, _rows: usize, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn write_after(&self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
