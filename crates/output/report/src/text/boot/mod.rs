//! The text report of a Windows boot: headline, phases, then the slowest services, drivers, processes and files.

pub(crate) mod changes;
mod headline;
mod logon;
mod phases;
mod service_failures;

use std::io::{self, Write};

use onoff_evidence::recording::RecordingSummary;
use onoff_transitions::boot::{BootReport, NoBoot, WindowsBoot};
use onoff_usage::devices::Device;

use super::phases::affecting_losses;
use super::quantity::{counted, duration};
use super::style::QUIET;
use super::transition::{SingleReport, no_transition};
use super::{account_comparison, boot_axis, device_work, event_logs, unit_starts, usage};
use onoff_sections::section::Section;

impl SingleReport for WindowsBoot {
    fn headline(report: &BootReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
        headline::write(report, recording, out)
    }

    fn sections(report: &BootReport, top: usize) -> Vec<Section<'_>> {
        let reported_losses = affecting_losses(&report.phases);
        let mut sections = vec![phases::section(report)];
        let comparison = report.details.account_comparison.as_ref();
        sections.extend(comparison.map(|comparison| account_comparison::section(comparison, report.kind)));
        sections.extend(
            report.details.axis.as_ref().filter(|axis| boot_axis::shows_more_than_phases(axis)).map(boot_axis::section),
        );
        let services = unit_starts::section(report, &automatic_start(report), top);
        sections.extend(
            services.map(|section| section.affected_by(&report.details.losses_affecting_units, &reported_losses)),
        );
        sections.extend(devices(report, top, &reported_losses));
        sections.extend(usage::sections(&report.phases, &reported_losses));
        sections.extend(event_logs::reported_delays(&report.details.reported_delays, top));
        sections.extend(service_failures::section(report, top));
        sections.extend(changes::section(report, top));
        sections.extend(logon::sections(report, top, &reported_losses));
        sections.extend(event_logs::channels(&report.details.channels));
        sections
    }
}

fn automatic_start(report: &BootReport) -> String {
    match (report.details.auto_start.start_ns, report.details.auto_start.end_ns) {
        (Some(start), Some(end)) => {
            let length = duration(end.saturating_sub(start));
            format!("; automatic start from {} to {} ({length})", duration(start), duration(end))
        }
        _ => String::new(),
    }
}

fn devices<'a>(report: &'a BootReport, top: usize, reported_losses: &[String]) -> Option<Section<'a>> {
    let phases =
        report.details.device_phases.iter().filter_map(|phase| Some((phase.name, phase.interval.duration_ns?)));
    let label = |name: &'static str| match name {
        "bootStart" => "boot start",
        "systemStart" => "system start",
        name => name,
    };
    let phases: String = phases.map(|(name, took)| format!("; {} {}", label(name.as_str()), duration(took))).collect();
    let mut devices: Vec<&Device> = report.details.devices.iter().collect();
    devices
        .sort_by_key(|device| std::cmp::Reverse(device.details.pre_pend_ns.or(device.duration_ns).unwrap_or(i64::MAX)));
    let unfinished = devices.iter().filter(|device| device.end_ns.is_none()).count() as u64;
    let unfinished =
        (unfinished > 0).then(|| format!("{} did not end in the recording.", counted(unfinished, "operation")));
    let section = device_work::section("Drivers and devices", devices, &phases, top)?;
    Some(section.line_if(QUIET, unfinished).affected_by(&report.details.losses_affecting_devices, reported_losses))
}

/// Returns the one-line message for a recording without a boot.
#[must_use]
pub fn no_boot(answer: &NoBoot) -> String {
    no_transition(answer, &answer.recorder)
}
