//! `xperf -a boot`: summary of a boot as XML, in ms.

use onoff_transitions::{Phase, PhaseName};
use std::io::{self, Write};

use onoff_trace::{DeviceOperationKind, DevicePhase};
use onoff_transitions::boot::BootReport;
use onoff_usage::devices::{Device, DevicePhaseInterval};
use onoff_usage::processes::{Lifetime, ProcessLifetime};
use onoff_usage::units::Unit;

use super::interval_xml::{attribute, container, write_cpu, write_disk};
use super::{milliseconds, rounded, truncated_milliseconds};

/// Thresholds below which entries are omitted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BootXmlOptions {
    /// Minimum share of an interval's CPU time for a process, in percent of all processors.
    pub min_cpu_percent: f64,
    /// Maximum number of files, and of extensions, per interval; `None` for no limit.
    pub max_files: Option<usize>,
    /// Minimum duration of driver and device operations, in ns.
    pub min_device_ns: i64,
}

pub fn write(report: &BootReport, options: &BootXmlOptions, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<results timeFormat=\"msec\">")?;
    writeln!(out, "<boot type=\"boot\">")?;
    write_process_summary(report, out)?;
    write_timing(report, options, out)?;
    write_services(report, out)?;
    write_pnp(report, options, out)?;
    write_group_policy(report, out)?;
    writeln!(out, "</boot>")?;
    writeln!(out, "</results>")
}

fn write_process_summary(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    let summary = &report.details.process_summary;
    writeln!(
        out,
        "<processSummary numProcesses=\"{}\" numUnexpectedLonglived=\"{}\" numUnexpectedShortlived=\"{}\" \
         numUnexpectedVeryShortlived=\"{}\">",
        summary.total, summary.long_lived, summary.short_lived, summary.very_short_lived
    )?;
    for (element, lifetime) in [
        ("expectedProcesses", Lifetime::Expected),
        ("unexpectedLonglived", Lifetime::LongLived),
        ("unexpectedShortlived", Lifetime::ShortLived),
        ("unexpectedVeryShortlived", Lifetime::VeryShortLived),
    ] {
        writeln!(out, "<{element}>")?;
        for process in report.details.processes.iter().filter(|process| process.lifetime == lifetime) {
            write_process(process, out)?;
        }
        writeln!(out, "</{element}>")?;
    }
    writeln!(out, "</processSummary>")
}

fn write_process(process: &ProcessLifetime, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<process name=\"{}\" startTime=\"{}\" endTime=\"{}\" lifetime=\"{}\"/>",
        attribute(&process.image),
        milliseconds(Some(process.start_ns.unwrap_or(0))),
        milliseconds(process.end_ns),
        milliseconds(process.lifetime_ns),
    )
}

fn write_timing(report: &BootReport, options: &BootXmlOptions, out: &mut dyn Write) -> io::Result<()> {
    let desktop = milliseconds(report.details.main_path_boot.end_ns);
    let required = rounded(report.settling.as_ref().map_or(0, |settling| settling.metric.required_idle_ns), 1_000_000);
    // Scripts add these values up, so the rounded values must be consistent.
    let (disturbance, settled) = match report.settled() {
        Some(settling) if desktop >= 0 => {
            let disturbance = rounded(settling.busy_ns, 1_000_000);
            (disturbance, desktop.saturating_add(required).saturating_add(disturbance))
        }
        _ => (-1, -1),
    };
    writeln!(
        out,
        "<timing bootDoneViaExplorer=\"{desktop}\" bootDoneViaPostBoot=\"{settled}\" osLoaderDuration=\"{}\"",
        milliseconds(report.details.os_loader_ns),
    )?;
    write!(out, "postBootRequiredIdleTime=\"{required}\" postBootDisturbance=\"{disturbance}\"")?;
    for (prefix, phase) in [("pnpBootStart", DevicePhase::BootStart), ("pnpSystemStart", DevicePhase::SystemStart)] {
        let device_phase = device_phase(report, phase);
        write!(
            out,
            "\n{prefix}StartTime=\"{}\" {prefix}EndTime=\"{}\" {prefix}Duration=\"{}\"",
            milliseconds(device_phase.and_then(|phase| phase.interval.start_ns)),
            milliseconds(device_phase.and_then(|phase| phase.interval.end_ns)),
            milliseconds(device_phase.and_then(|phase| phase.interval.duration_ns)),
        )?;
    }
    writeln!(out, ">")?;
    for phase in &report.phases {
        write_interval(phase, options, out)?;
    }
    writeln!(out, "</timing>")
}

fn device_phase(report: &BootReport, name: DevicePhase) -> Option<&DevicePhaseInterval> {
    report.details.device_phases.iter().find(|phase| phase.name == name)
}

fn write_interval(phase: &Phase, options: &BootXmlOptions, out: &mut dyn Write) -> io::Result<()> {
    let name = match phase.name {
        PhaseName::PostBoot => "PostExplorerPeriod",
        name => name.as_str(),
    };
    writeln!(
        out,
        "<interval name=\"{name}\" startTime=\"{}\" endTime=\"{}\" duration=\"{}\">",
        milliseconds(phase.start_ns),
        milliseconds(phase.end_ns),
        milliseconds(phase.duration_ns),
    )?;
    if let Some(cpu) = &phase.cpu {
        write_cpu(cpu, options.min_cpu_percent, out)?;
    }
    if let Some(disk) = &phase.disk {
        write_disk(disk, options.max_files, out)?;
    }
    writeln!(out, "</interval>")
}

fn write_services(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<services autoStartStartTime=\"{}\" autoStartEndTime=\"{}\" autoStartDuration=\"{}\">",
        truncated_milliseconds(report.details.auto_start.start_ns),
        truncated_milliseconds(report.details.auto_start.end_ns),
        truncated_milliseconds(report.details.auto_start.duration_ns),
    )?;
    for service in &report.units {
        write_service(service, out)?;
    }
    writeln!(out, "</services>")
}

/// Writes a service in the XML of boots and shutdowns.
pub(super) fn write_service(service: &Unit, out: &mut dyn Write) -> io::Result<()> {
    // A service without a checkpoint counts as initializing from its start.
    let checkpoint = service.checkpoint_ns.unwrap_or(service.start_ns);
    writeln!(
        out,
        "<serviceTransition name=\"{}\" group=\"{}\" transition=\"{}\" totalTransitionTimeDelta=\"{}\" \
         firstCheckpointTimeDelta=\"{}\" processingTimeDelta=\"{}\" container=\"{}\" startedAt=\"{}\" \
         firstCheckpointedAt=\"{}\" endedAt=\"{}\"/>",
        attribute(&service.name),
        attribute(&service.group),
        service.kind,
        truncated_milliseconds(service.duration_ns),
        truncated_milliseconds(Some(checkpoint.saturating_sub(service.start_ns))),
        truncated_milliseconds(service.end_ns.map(|end| end.saturating_sub(checkpoint))),
        attribute(&container(&service.command, &service.image, service.pid)),
        truncated_milliseconds(Some(service.start_ns)),
        truncated_milliseconds(Some(checkpoint)),
        truncated_milliseconds(service.end_ns),
    )
}

fn write_pnp(report: &BootReport, options: &BootXmlOptions, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<pnp>")?;
    for phase in &report.details.device_phases {
        writeln!(
            out,
            "<phase name=\"{}\" startTime=\"{}\" endTime=\"{}\" duration=\"{}\">",
            phase.name,
            milliseconds(phase.interval.start_ns),
            milliseconds(phase.interval.end_ns),
            milliseconds(phase.interval.duration_ns),
        )?;
        // The report is sorted longest first, like xperf's output.
        for device in report
            .details
            .devices
            .iter()
            .filter(|device| device.details.phase == phase.name)
            .filter(|device| device.duration_ns.is_none_or(|ns| ns >= options.min_device_ns))
        {
            write_device(device, out)?;
        }
        writeln!(out, "</phase>")?;
    }
    writeln!(out, "</pnp>")
}

fn write_device(device: &Device, out: &mut dyn Write) -> io::Result<()> {
    let activity = match device.details.kind {
        DeviceOperationKind::BootInit | DeviceOperationKind::DriverInit => "Init",
        DeviceOperationKind::DriverLoad => "Load",
        DeviceOperationKind::DeviceStart => "Start",
        DeviceOperationKind::DeviceEnum => "Enum",
        other => other.as_str(),
    };
    let is_device = !device.device.is_empty();
    let (kind, name) = if is_device {
        ("Device", attribute(&device.device))
    } else if device.driver.starts_with('\\') {
        ("Driver", attribute(&device.driver))
    } else {
        ("Driver", attribute(&format!("\\Driver\\{}", device.driver)))
    };
    write!(
        out,
        "<pnpObject name=\"{name}\" type=\"{kind}\" activity=\"{activity}\" startTime=\"{}\" endTime=\"{}\" \
         duration=\"{}\" prePendTime=\"{}\"",
        milliseconds(Some(device.start_ns)),
        milliseconds(device.end_ns),
        milliseconds(device.duration_ns),
        milliseconds(device.details.pre_pend_ns),
    )?;
    if is_device {
        write!(
            out,
            " description=\"{}\" friendlyName=\"{}\"",
            attribute(&device.description),
            attribute(&device.friendly_name)
        )?;
    }
    writeln!(out, "/>")
}

fn write_group_policy(report: &BootReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<groupPolicy>")?;
    for script in &report.details.group_policy.scripts {
        writeln!(
            out,
            "<script name=\"{}\" startTime=\"{}\" endTime=\"{}\" duration=\"{}\"/>",
            attribute(&script.name),
            milliseconds(Some(script.start_ns)),
            milliseconds(script.end_ns),
            milliseconds(script.duration_ns),
        )?;
    }
    writeln!(out, "</groupPolicy>")
}
