//! `onoff suspend --format csv`: everything that took time in a transition, one row each.

use onoff_analysis::transition::PhaseName;
use std::io::{self, Write};

use onoff_analysis::transition::linux::suspend::LinuxSuspendReport;
use onoff_analysis::transition::suspend::{PowerDevice, PowerTransition, SuspendReport};
use serde::Serialize;

use crate::table::{Column, Kind, TableReport, Value};

/// A phase, an application, a service, a device or a driver's part.
#[derive(Clone, Debug, Serialize)]
pub struct SuspendRow {
    transition: u32,
    kind: &'static str,
    phase: &'static str,
    what: &'static str,
    name: String,
    driver: String,
    pid: Option<u32>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    duration_ns: Option<i64>,
}

/// Rows of all transitions of a report.
#[derive(Clone, Debug, Serialize)]
pub struct SuspendRows {
    rows: Vec<SuspendRow>,
}

impl SuspendRows {
    /// The rows of `report`, phase by phase.
    #[must_use]
    pub fn of(report: &SuspendReport) -> Self {
        let mut rows = Vec::new();
        for transition in &report.transitions {
            of_transition(transition, &mut rows);
        }
        Self { rows }
    }

    /// The rows of a report about sleeps of Linux: phases, then callbacks of devices.
    #[must_use]
    pub fn of_linux(report: &LinuxSuspendReport) -> Self {
        let mut rows = Vec::new();
        for sleep in &report.transitions {
            let row = |phase: &'static str, what: &'static str, name: &str| SuspendRow {
                transition: sleep.number,
                kind: sleep.variant.as_str(),
                phase,
                what,
                name: name.to_owned(),
                driver: String::new(),
                pid: None,
                start_ns: None,
                end_ns: None,
                duration_ns: None,
            };
            for phase in &sleep.phases {
                rows.push(SuspendRow {
                    start_ns: phase.start_ns,
                    end_ns: phase.end_ns,
                    duration_ns: phase.duration_ns,
                    ..row(phase.name.as_str(), "phase", phase.name.as_str())
                });
            }
            for callback in &sleep.details.callbacks {
                rows.push(SuspendRow {
                    driver: callback.driver.clone(),
                    start_ns: Some(callback.start_ns),
                    end_ns: callback.end_ns,
                    duration_ns: callback.duration_ns,
                    ..row(callback.phase.map_or("", |phase| phase.as_str()), "device", &callback.device)
                });
            }
        }
        Self { rows }
    }
}

fn of_transition(transition: &PowerTransition, rows: &mut Vec<SuspendRow>) {
    let row = |phase: Option<PhaseName>, what: &'static str, name: &str| SuspendRow {
        transition: transition.number,
        kind: transition.variant.as_str(),
        phase: phase.map_or("", |phase| phase.as_str()),
        what,
        name: name.to_owned(),
        driver: String::new(),
        pid: None,
        start_ns: None,
        end_ns: None,
        duration_ns: None,
    };
    for phase in &transition.phases {
        rows.push(SuspendRow {
            start_ns: phase.start_ns,
            end_ns: phase.end_ns,
            duration_ns: phase.duration_ns,
            ..row(Some(phase.name), "phase", phase.name.as_str())
        });
    }
    for told in &transition.details.notifications {
        rows.push(SuspendRow {
            pid: told.pid,
            start_ns: Some(told.start_ns),
            end_ns: told.end_ns,
            duration_ns: told.duration_ns,
            ..row(Some(told.phase), told.kind.as_str(), &told.name)
        });
    }
    for device in &transition.details.devices {
        of_device(device, "device", rows, &row);
        for nested in &device.nested {
            of_device(nested, "device's own state", rows, &row);
        }
    }
}

fn of_device(
    device: &PowerDevice,
    what: &'static str,
    rows: &mut Vec<SuspendRow>,
    row: &impl Fn(Option<PhaseName>, &'static str, &str) -> SuspendRow,
) {
    rows.push(SuspendRow {
        driver: device.driver.clone(),
        start_ns: Some(device.start_ns),
        end_ns: device.end_ns,
        duration_ns: device.duration_ns,
        ..row(device.phase, what, device.name())
    });
    for part in &device.drivers {
        rows.push(SuspendRow {
            driver: part.driver.clone(),
            start_ns: Some(part.start_ns),
            end_ns: part.end_ns,
            duration_ns: part.duration_ns,
            ..row(device.phase, "driver", device.name())
        });
    }
}

impl TableReport for SuspendRows {
    type Row = SuspendRow;

    fn columns(&self) -> Vec<Column<SuspendRow>> {
        vec![
            Column::new("transition", "no", Kind::Id, |row| Value::Id(row.transition.into())),
            Column::new("kind", "kind", Kind::Name, |row| Value::text(row.kind)),
            Column::new("phase", "phase", Kind::Name, |row| Value::text(row.phase)),
            Column::new("what", "what", Kind::Name, |row| Value::text(row.what)),
            Column::new("name", "name", Kind::Name, |row| Value::text(&row.name)),
            Column::new("driver", "driver", Kind::Name, |row| Value::text(&row.driver)),
            Column::new("pid", "pid", Kind::Id, |row| Value::of(row.pid, |pid| Value::Id(pid.into()))),
            Column::new("start_ns", "begins", Kind::Time, |row| Value::of(row.start_ns, Value::Time)),
            Column::new("end_ns", "ends", Kind::Time, |row| Value::of(row.end_ns, Value::Time)),
            Column::new("duration_ns", "took", Kind::Quantity, |row| Value::of(row.duration_ns, Value::Duration)),
        ]
    }

    fn rows(&self) -> &[SuspendRow] {
        &self.rows
    }

    fn rows_mut(&mut self) -> &mut Vec<SuspendRow> {
        &mut self.rows
    }

    fn nothing(&self) -> String {
        "the recording holds no power transition".to_owned()
    }

    fn write_before(&self, _rows: usize, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn write_after(&self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
