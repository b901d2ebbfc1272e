//! The rows of a shutdown or sleep report on any system: everything that took time.

use onoff_evidence::activity::NamedActivity;
use onoff_transitions::linux::shutdown::LinuxShutdownReport;
use onoff_transitions::linux::suspend::LinuxSuspendReport;
use onoff_transitions::shutdown::ShutdownReport;
use onoff_transitions::suspend::{PowerDevice, PowerTransition, SuspendReport};
use onoff_transitions::{Phase, PhaseName};
use onoff_usage::units::{TimeOut, Unit};

use crate::section::{Heading, Section};
use crate::table::Value;

/// A row; unknown values are empty.
#[derive(Clone, Default)]
struct Row<'a> {
    transition: u32,
    kind: &'static str,
    phase: &'static str,
    what: &'static str,
    name: &'a str,
    driver: &'a str,
    unit: &'a str,
    pid: Option<u32>,
    session: Option<u32>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    duration_ns: Option<i64>,
    time_out_ns: Option<i64>,
}

impl<'a> Row<'a> {
    fn new(kind: &'static str, name: &'a str) -> Self {
        Self { kind, name, ..Self::default() }
    }

    fn with_times(self, start_ns: Option<i64>, end_ns: Option<i64>, duration_ns: Option<i64>) -> Self {
        Self { start_ns, end_ns, duration_ns, ..self }
    }

    fn from_phase(phase: &Phase) -> Self {
        Self::new("phase", phase.name.as_str()).with_times(phase.start_ns, phase.end_ns, phase.duration_ns)
    }

    fn from_unit(kind: &'static str, unit: &'a Unit) -> Self {
        let row = Self { pid: unit.pid, ..Self::new(kind, &unit.name) };
        row.with_times(Some(unit.start_ns), unit.end_ns, unit.duration_ns)
    }

    fn from_activity(kind: &'static str, activity: &'a NamedActivity) -> Self {
        let row = Self { pid: activity.pid, session: activity.session, ..Self::new(kind, &activity.name) };
        row.with_times(Some(activity.start_ns), activity.end_ns, activity.duration_ns)
    }
}

/// Builds a section with the given columns.
fn section<'a>(name: &'static str, title: &'static str, rows: Vec<Row<'a>>, columns: &[&'static str]) -> Section<'a> {
    let mut section = Section::builder(name, title, rows);
    for &name in columns {
        let heading = Heading::data(name);
        section = match name {
            "transition" => section.column(heading, |row| Value::Id(row.transition.into())),
            "kind" => section.column(heading, |row| Value::text(row.kind)),
            "phase" => section.column(heading, |row| Value::text(row.phase)),
            "what" => section.column(heading, |row| Value::text(row.what)),
            "driver" => section.column(heading, |row| Value::text(row.driver)),
            "unit" => section.column(heading, |row| Value::text(row.unit)),
            "pid" => section.column(heading, |row| Value::id(row.pid)),
            "session" => section.column(heading, |row| Value::id(row.session)),
            "start_ns" => section.column(heading, |row| Value::from_option(row.start_ns, Value::Time)),
            "end_ns" => section.column(heading, |row| Value::from_option(row.end_ns, Value::Time)),
            "duration_ns" => section.column(heading, |row| Value::from_option(row.duration_ns, Value::Duration)),
            "time_out_ns" => section.column(heading, |row| Value::from_option(row.time_out_ns, Value::Duration)),
            _ => section.column(heading, |row| Value::text(row.name)),
        };
    }
    section.build()
}

/// Lists a Windows shutdown: phases, intervals, sessions, applications, services and steps, by start.
#[must_use]
pub fn shutdown(report: &ShutdownReport) -> Section<'_> {
    let mut rows: Vec<Row<'_>> = report.phases.iter().map(Row::from_phase).collect();
    rows.extend(report.details.intervals.iter().map(|interval| {
        let (start, end, took) = (interval.start_ns, interval.end_ns, interval.duration_ns);
        Row::new("interval", &interval.name).with_times(Some(start), Some(end), Some(took))
    }));
    let limit = |time_out: Option<&TimeOut>| time_out.and_then(|time_out| time_out.limit_ns);
    for session in &report.details.sessions {
        let row = Row { session: session.session, ..Row::new("session", "") };
        rows.push(row.with_times(Some(session.start_ns), session.end_ns, session.duration_ns));
        rows.extend(session.applications.iter().map(|application| {
            let row = Row {
                pid: application.pid,
                session: session.session,
                time_out_ns: limit(application.details.time_outs.first()),
                ..Row::new("application", &application.name)
            };
            row.with_times(Some(application.start_ns), application.end_ns, application.duration_ns)
        }));
    }
    rows.extend(report.units.iter().map(|service| Row {
        session: Some(0),
        time_out_ns: limit(service.time_out.as_ref()),
        ..Row::from_unit("service", service)
    }));
    for (kind, activities) in [
        ("script", &report.details.scripts),
        ("notification", &report.details.notifications),
        ("subscriber", &report.details.subscribers),
        ("session_step", &report.details.session_steps),
        ("kernel_step", &report.details.kernel_steps),
    ] {
        rows.extend(activities.iter().map(|activity| Row::from_activity(kind, activity)));
    }
    rows.extend(report.details.exits.processes.iter().map(|exit| {
        let row = Row { pid: Some(exit.pid), session: exit.session, ..Row::new("exit", &exit.image) };
        row.with_times(Some(exit.end_ns), Some(exit.end_ns), None)
    }));
    rows.sort_by_key(|row| row.start_ns);
    let columns = ["kind", "name", "pid", "session", "start_ns", "end_ns", "duration_ns", "time_out_ns"];
    section("shutdown", "Shutdown", rows, &columns)
}

/// Lists a Linux shutdown: phases, units in stop order, processes.
#[must_use]
pub fn linux_shutdown(report: &LinuxShutdownReport) -> Section<'_> {
    let mut rows: Vec<Row<'_>> = report.phases.iter().map(Row::from_phase).collect();
    rows.extend(report.units.iter().map(|unit| Row {
        unit: &unit.name,
        time_out_ns: unit.limit_ns,
        ..Row::from_unit("unit", unit)
    }));
    rows.extend(report.details.processes.iter().map(|process| {
        let row = Row { pid: Some(process.pid), unit: &process.unit, ..Row::new("process", &process.image) };
        row.with_times(Some(process.signaled_ns), process.end_ns, process.duration_ns)
    }));
    rows.extend(report.details.killed.iter().map(|process| Row {
        pid: process.pid,
        unit: &process.name,
        start_ns: Some(process.time_ns),
        ..Row::new("killed", &process.image)
    }));
    let columns = ["kind", "name", "pid", "unit", "start_ns", "end_ns", "duration_ns", "time_out_ns"];
    section("shutdown", "Shutdown", rows, &columns)
}

const SLEEP_COLUMNS: [&str; 10] =
    ["transition", "kind", "phase", "what", "name", "driver", "pid", "start_ns", "end_ns", "duration_ns"];

/// Windows sleeps: phases, applications, services, devices and drivers.
#[must_use]
pub fn sleeps(report: &SuspendReport) -> Section<'_> {
    let mut rows = Vec::new();
    for transition in &report.transitions {
        let first_row = rows.len();
        push_sleep(transition, &mut rows);
        for row in rows.iter_mut().skip(first_row) {
            (row.transition, row.kind) = (transition.number, transition.variant.as_str());
        }
    }
    section("suspend", "Sleeps", rows, &SLEEP_COLUMNS)
}

fn push_sleep<'a>(transition: &'a PowerTransition, rows: &mut Vec<Row<'a>>) {
    rows.extend(transition.phases.iter().map(sleep_phase_row));
    rows.extend(transition.details.notifications.iter().map(|notified| {
        let row = Row {
            phase: notified.details.phase.as_str(),
            what: notified.details.kind.as_str(),
            name: &notified.name,
            pid: notified.pid,
            ..Row::default()
        };
        row.with_times(Some(notified.start_ns), notified.end_ns, notified.duration_ns)
    }));
    for device in &transition.details.devices {
        push_device("device", device, rows);
        for nested in &device.details.nested {
            push_device("device's own state", nested, rows);
        }
    }
}

fn sleep_phase_row(phase: &Phase) -> Row<'_> {
    Row { phase: phase.name.as_str(), what: "phase", ..Row::from_phase(phase) }
}

fn push_device<'a>(what: &'static str, device: &'a PowerDevice, rows: &mut Vec<Row<'a>>) {
    let phase = device.details.phase.map_or("", PhaseName::as_str);
    let row = Row { phase, what, name: device.name(), driver: &device.driver, ..Row::default() };
    rows.push(row.with_times(Some(device.start_ns), device.end_ns, device.duration_ns));
    rows.extend(device.details.drivers.iter().map(|part| {
        let row = Row { phase, what: "driver", name: device.name(), driver: &part.driver, ..Row::default() };
        row.with_times(Some(part.start_ns), part.end_ns, part.duration_ns)
    }));
}

/// Lists Linux sleeps: phases, then device callbacks.
#[must_use]
pub fn linux_sleeps(report: &LinuxSuspendReport) -> Section<'_> {
    let rows = report.transitions.iter().flat_map(|sleep| {
        let callbacks = sleep.details.callbacks.iter().map(|callback| {
            let phase = callback.details.phase.map_or("", PhaseName::as_str);
            let row = Row { phase, what: "device", name: &callback.device, driver: &callback.driver, ..Row::default() };
            row.with_times(Some(callback.start_ns), callback.end_ns, callback.duration_ns)
        });
        let rows = sleep.phases.iter().map(sleep_phase_row).chain(callbacks);
        rows.map(|row| Row { transition: sleep.number, kind: sleep.variant.as_str(), ..row })
    });
    section("suspend", "Sleeps", rows.collect(), &SLEEP_COLUMNS)
}
