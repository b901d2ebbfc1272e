//! The headline of a Linux shutdown: how long it took and where most of the time went.

use onoff_transitions::PhaseName;
use onoff_transitions::Variant;
use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;
use onoff_transitions::linux::shutdown::{LinuxShutdownReport, LongestStop};

use super::phases::words;
use crate::text::printable::printable;
use crate::text::quantity::{counted, duration};
use crate::text::style::{DOUBT, HEADLINE, WORST, styled};
use crate::text::why::account::culprit;

pub(super) fn write(report: &LinuxShutdownReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(report))?;
    if let Some(first_culprit) = report.first_culprit() {
        writeln!(out, "{}", styled(WORST, culprit(first_culprit)))?;
    }
    if let Some(longest) = &report.details.longest {
        writeln!(out, "{}", styled(WORST, describe(longest)))?;
    }
    if !report.details.killed.is_empty() {
        let text = format!("{} killed after the timeout.", counted(report.details.killed.len() as u64, "process"));
        writeln!(out, "{}", styled(DOUBT, text))?;
    }
    if let Some(sentence) = parts(report) {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}

fn answer(report: &LinuxShutdownReport) -> String {
    let kind = match report.variant {
        Variant::PowerOff => "Power-off",
        Variant::Restart => "Shutdown for a restart",
        Variant::Halt => "Shutdown to a halt",
        Variant::Kexec => "Shutdown for another kernel (kexec)",
        _ => "Shutdown",
    };
    match (report.total_ns, report.total_certainty) {
        (Some(total), Certainty::Measured) => format!("{kind} took {}.", duration(total)),
        (Some(total), _) => format!("{kind} took {} (start inferred).", duration(total)),
        (None, _) => format!(
            "{kind} took at least {}: the recording ends before the machine stopped.",
            duration(report.total_at_least_ns)
        ),
    }
}

fn describe(longest: &LongestStop) -> String {
    let name = if longest.is_unit { printable(&longest.name).into_owned() } else { longest.name.replace('_', " ") };
    let mut text = format!("Longest: {name}, {}", duration(longest.duration_ns));
    if longest.reason != Reason::None {
        text += &format!(" ({})", printable(&longest.reason.to_string()));
    }
    if !longest.on_path {
        text += "; nothing waited for it";
    }
    text + "."
}

fn parts(report: &LinuxShutdownReport) -> Option<String> {
    let phases: Vec<String> = report
        .phases
        .iter()
        .filter(|phase| phase.start_ns.is_some())
        .map(|phase| {
            let length = match phase.duration_ns {
                Some(ns) => duration(ns),
                None => format!("at least {}", duration(phase.recorded_ns)),
            };
            let name = match phase.name {
                PhaseName::StopUnits => format!("stopping {}", counted(report.units.len() as u64, "unit")),
                name => format!("in {}", words(name)),
            };
            format!("{length} {name}")
        })
        .collect();
    (!phases.is_empty()).then(|| phases.join(", ") + ".")
}
