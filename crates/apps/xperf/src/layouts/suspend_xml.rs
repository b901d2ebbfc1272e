//! `xperf -a suspend`: power transitions as XML, in a selectable unit.
//!
//! No output of this action has been published. Elements and attributes are from the Microsoft paper "Windows On/Off
//! Transition Performance Analysis". Details that the paper leaves open are listed in the book under "xperf's formats".

use onoff_transitions::{Phase, PhaseName};
use std::io::{self, Write};

use onoff_trace::NotificationKind;
use onoff_transitions::suspend::{PowerDevice, PowerNotification, PowerTransition, SuspendReport};

use super::interval_xml::attribute;
pub use super::time_unit::TimeUnit;

/// Maximum number of decimals: nanoseconds, in seconds.
pub const MAX_DECIMALS: usize = 9;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuspendXmlOptions {
    pub unit: TimeUnit,
    /// At most [`MAX_DECIMALS`].
    pub decimals: usize,
    /// Minimum duration of applications, services and devices.
    pub min_ns: i64,
}

impl SuspendXmlOptions {
    /// Formats a time or duration; -1 if unknown.
    fn text(&self, ns: Option<i64>) -> String {
        let Some(ns) = ns else { return "-1".to_owned() };
        let decimals = self.decimals.min(MAX_DECIMALS) as u32;
        let scale = 10_i128.pow(decimals);
        let scaled = i128::from(ns) * scale;
        let unit = i128::from(self.unit.ns);
        let half = if scaled < 0 { -(unit / 2) } else { unit / 2 };
        let rounded = (scaled + half) / unit;
        if decimals == 0 {
            return rounded.to_string();
        }
        let sign = if rounded < 0 { "-" } else { "" };
        let digits = rounded.unsigned_abs();
        let scale = scale.unsigned_abs();
        let width = decimals as usize;
        format!("{sign}{}.{:0width$}", digits / scale, digits % scale)
    }
}

/// The elements of a scenario, in order: phase, element name, and the name of its child elements.
const NODES: [(PhaseName, &str, &str); 12] = [
    (PhaseName::QueryApps, "queryapps", "application"),
    (PhaseName::QueryServices, "queryservices", "service"),
    (PhaseName::SuspendApps, "suspendapps", "application"),
    (PhaseName::SuspendServices, "suspendservices", "service"),
    (PhaseName::ShowUi, "showui", ""),
    (PhaseName::Superfetch, "superfetch", ""),
    (PhaseName::QueryDevices, "querydevices", "device"),
    (PhaseName::FlushVolumes, "flushvolumes", ""),
    (PhaseName::SuspendDevices, "suspenddevices", "device"),
    (PhaseName::ResumeDevices, "resumedevices", "device"),
    (PhaseName::ResumeServices, "resumeservices", "service"),
    (PhaseName::ResumeApps, "resumeapps", "application"),
];

pub fn write(report: &SuspendReport, options: &SuspendXmlOptions, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<results timeFormat=\"{}\">", options.unit.xml_name)?;
    for transition in &report.transitions {
        write_scenario(transition, options, out)?;
    }
    writeln!(out, "</results>")
}

fn write_scenario(transition: &PowerTransition, options: &SuspendXmlOptions, out: &mut dyn Write) -> io::Result<()> {
    let phase_duration =
        |name| transition.phases.iter().find(|phase| phase.name == name).and_then(|phase| phase.duration_ns);
    let suspend = best_duration(transition.details.suspend.kernel_ns, transition.details.suspend.measured.duration_ns);
    let resume = best_duration(transition.details.resume.kernel_ns, transition.details.resume.measured.duration_ns);
    let total =
        suspend.zip(resume).map(|(suspend_ns, resume_ns)| suspend_ns.saturating_add(resume_ns)).or(transition.total_ns);
    write!(
        out,
        "<scenario type=\"{}\" start=\"{}\" duration=\"{}\" suspend=\"{}\"",
        transition.variant.as_str(),
        options.text(Some(transition.start_or_zero_ns())),
        options.text(total),
        options.text(suspend),
    )?;
    let write_optional = |name: &str, ns: Option<i64>, out: &mut dyn Write| match ns {
        Some(ns) => write!(out, " {name}=\"{}\"", options.text(Some(ns))),
        None => Ok(()),
    };
    write_optional("biosinit", phase_duration(PhaseName::BiosInit), out)?;
    let critical = phase_duration(PhaseName::ResumeCritical).or_else(|| phase_duration(PhaseName::ResumeDevices));
    write!(out, " resumecritical=\"{}\" resume=\"{}\"", options.text(critical), options.text(resume))?;
    write_optional("hiberwrite", phase_duration(PhaseName::HiberWrite), out)?;
    write_optional("hiberread", phase_duration(PhaseName::HiberRead), out)?;
    writeln!(out, ">")?;
    for (name, element, child) in NODES {
        for phase in transition.phases.iter().filter(|phase| phase.name == name) {
            write_phase(transition, phase, (element, child), options, out)?;
        }
    }
    writeln!(out, "</scenario>")
}

/// Returns the kernel's measurement, which the paper's attributes show, or the measurement from events if the kernel
/// did not record it.
fn best_duration(kernel_ns: Option<i64>, measured_ns: Option<i64>) -> Option<i64> {
    kernel_ns.or(measured_ns)
}

fn write_phase(
    transition: &PowerTransition,
    phase: &Phase,
    (element, child): (&str, &str),
    options: &SuspendXmlOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(
        out,
        "<{element} start=\"{}\" duration=\"{}\"",
        options.text(phase.start_ns),
        options.text(phase.duration_ns)
    )?;
    if !child.is_empty() {
        let children = phase.work.total_ns;
        write!(out, " totalChildrenDuration=\"{}\"", options.text(Some(children)))?;
    }
    let is_shown = |ns: Option<i64>| ns.is_none_or(|ns| ns >= options.min_ns);
    if child == "device" {
        let mut rows: Vec<&PowerDevice> = transition
            .details
            .devices
            .iter()
            .filter(|row| row.details.phase == Some(phase.name) && is_shown(row.duration_ns))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)));
        if rows.is_empty() {
            return writeln!(out, "/>");
        }
        writeln!(out, ">")?;
        for row in rows {
            write_device(row, options, out)?;
        }
    } else {
        let mut rows: Vec<&PowerNotification> = transition
            .details
            .notifications
            .iter()
            .filter(|row| row.details.phase == phase.name && is_shown(row.duration_ns))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.duration_ns.unwrap_or(i64::MAX)));
        if rows.is_empty() {
            return writeln!(out, "/>");
        }
        writeln!(out, ">")?;
        for row in rows {
            write_notification(row, child, options, out)?;
        }
    }
    writeln!(out, "</{element}>")
}

fn write_notification(
    row: &PowerNotification,
    element: &str,
    options: &SuspendXmlOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (start, duration) = (options.text(Some(row.start_ns)), options.text(row.duration_ns));
    let is_service = matches!(
        row.details.kind,
        NotificationKind::ServiceQuerySuspend | NotificationKind::ServiceSuspend | NotificationKind::ServiceResume
    );
    let path = if row.path.is_empty() { &row.name } else { &row.path };
    if is_service {
        writeln!(out, "<{element} start=\"{start}\" duration=\"{duration}\" name=\"{}\"/>", attribute(path))
    } else {
        let pid = row.pid.map_or(-1, i64::from);
        writeln!(
            out,
            "<{element} start=\"{start}\" duration=\"{duration}\" exe=\"{}\" pid=\"{pid}\"/>",
            attribute(path)
        )
    }
}

fn write_device(row: &PowerDevice, options: &SuspendXmlOptions, out: &mut dyn Write) -> io::Result<()> {
    let name = [&row.device, &row.friendly_name, &row.driver]
        .into_iter()
        .find(|name| !name.is_empty())
        .map_or("", String::as_str);
    write!(
        out,
        "<device name=\"{}\" driver=\"{}\" start=\"{}\" duration=\"{}\"",
        attribute(name),
        attribute(&row.driver),
        options.text(Some(row.start_ns)),
        options.text(row.duration_ns),
    )?;
    // The device power IRP is part of the system power IRP that triggered it, so its drivers are listed too.
    let drivers: Vec<_> = row
        .details
        .drivers
        .iter()
        .chain(row.details.nested.iter().flat_map(|nested| &nested.details.drivers))
        .filter(|driver| driver.duration_ns.is_none_or(|ns| ns >= options.min_ns))
        .collect();
    if drivers.is_empty() {
        return writeln!(out, "/>");
    }
    writeln!(out, ">")?;
    for driver in drivers {
        writeln!(
            out,
            "<driver name=\"{}\" start=\"{}\" duration=\"{}\"/>",
            attribute(&driver.driver),
            options.text(Some(driver.start_ns)),
            options.text(driver.duration_ns),
        )?;
    }
    writeln!(out, "</device>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_times_to_unit_and_decimals() {
        let format_time = |unit: &str, decimals, ns| {
            let unit = TimeUnit::parse(unit).unwrap();
            let options = SuspendXmlOptions { unit, decimals, min_ns: 0 };
            options.text(Some(ns))
        };
        assert_eq!(format_time("us", 0, 1_320_415_499), "1320415");
        assert_eq!(format_time("us", 0, 1_320_415_500), "1320416");
        assert_eq!(format_time("ms", 3, 1_320_415_499), "1320.415");
        assert_eq!(format_time("s", 2, -5_000_000), "-0.01");
        assert_eq!(format_time("s", 9, i64::MAX), "9223372036.854775807");
        assert_eq!(format_time("ns", 9, i64::MIN), "-9223372036854775808.000000000");
        assert_eq!(SuspendXmlOptions::default().text(None), "-1");
        assert_eq!(TimeUnit::parse("MS"), TimeUnit::parse("ms"));
        assert_eq!(TimeUnit::parse("min"), None);
    }
}
