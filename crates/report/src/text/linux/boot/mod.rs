//! Where the time of a Linux boot went, for a person: the answer first, then the phases, the way to the default target, and
//! the worst of each kind.

mod boots;
mod headline;
mod path;
mod phases;

use std::io::{self, Write};

use onoff_analysis::recording::RecordingSummary;
use onoff_analysis::transition::linux::boot::LinuxBootReport;

pub use boots::write as write_boots;

use crate::section::{self, Section};
use crate::text::boot::BootTextOptions;
use crate::text::phases::touched_by;
use crate::text::quantity::{count, duration};
use crate::text::style::QUIET;
use crate::text::{boot_axis, device_work, ending, printable::printable, unit_starts, usage};

/// Writes the report.
///
/// # Errors
/// What `out` answers.
pub fn write(
    report: &LinuxBootReport,
    recording: &RecordingSummary,
    options: &BootTextOptions,
    out: &mut dyn Write,
) -> io::Result<()> {
    headline::write(report, recording, out)?;
    section::text::write_all(&sections(report, options.top), out)?;
    ending::write(&report.losses, &report.lacking, out)
}

/// The sections of the report, of which text shows `top` rows of each list.
#[must_use]
pub fn sections(report: &LinuxBootReport, top: usize) -> Vec<Section<'_>> {
    let named = touched_by(&report.phases);
    let mut sections = vec![phases::section(report)];
    // The table of phases has no rows for what the firmware measured itself.
    sections.extend(report.details.axis.as_ref().map(boot_axis::section));
    sections.extend(path::section(report));
    let units = unit_starts::section(report, "", top);
    sections.extend(units.map(|section| section.touched_by(&report.details.units_touched_by, &named)));
    sections.extend(drivers(report, top, &named));
    sections.extend(usage::sections(&report.phases, &named));
    sections
}

/// The kernel's initialisation functions, modules and probes that took longest.
fn drivers<'a>(report: &'a LinuxBootReport, top: usize, named: &[String]) -> Option<Section<'a>> {
    // What has no end is listed last: the trace has only the start of many.
    let (ended, others): (Vec<_>, Vec<_>) = report.details.devices.iter().partition(|device| device.end_ns.is_some());
    let devices = ended.into_iter().chain(others).collect();
    let section = device_work::section("Kernel functions, modules and drivers", devices, "", top)?;
    let sums = report.details.drivers.iter().filter(|driver| driver.operations > 1 && driver.duration_ns > 0);
    let sums: Vec<String> = sums
        .take(3)
        .map(|driver| format!("{} {} in {}", driver.name, duration(driver.duration_ns), count(driver.operations)))
        .collect();
    let sums = (!sums.is_empty()).then(|| format!("Most in several operations: {}.", printable(&sums.join(", "))));
    Some(section.line_if(QUIET, sums).touched_by(&report.details.devices_touched_by, named))
}
