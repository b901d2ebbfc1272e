//! `onoff suspend`.

use std::io::Write;

use onoff_analysis::recording::summarise;
use onoff_analysis::transition::linux::suspend as linux;
use onoff_analysis::transition::suspend::{self, SuspendOptions, SuspendReport};
use onoff_report::lists::suspend::SuspendRows;
use onoff_report::{json, table, text};
use onoff_trace::{SystemKind, Trace};
use onoff_xperf::layouts::suspend_xml;

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::suspend::SuspendFormat;
use crate::output::Destination;

pub fn run(
    recording: Recording,
    options: &SuspendOptions,
    format: SuspendFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let trace = super::open(recording, suspend::TABLES)?;
    if trace.system.kind == SystemKind::Linux {
        return of_linux(&trace, options, format, destination);
    }
    let report = suspend::analyse(&trace, options).map_err(|answer| Failure::NothingToAnswer(answer.to_string()))?;
    destination.write(|out| write(&trace, &report, format, out))
}

fn of_linux(
    trace: &Trace,
    options: &SuspendOptions,
    format: SuspendFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    if matches!(format, SuspendFormat::Xml(_)) {
        return Err(super::no_xml_of_linux());
    }
    let report = linux::analyse(trace, options).map_err(|answer| Failure::NothingToAnswer(answer.to_string()))?;
    destination.write(|out| {
        match format {
            SuspendFormat::Text(options) => {
                text::linux::suspend::write(&report, &summarise(trace), &options, out)?;
            }
            SuspendFormat::Csv => table::write_csv(&SuspendRows::of_linux(&report), out)?,
            SuspendFormat::Json | SuspendFormat::Xml(_) => json::document::write(&report, out)?,
        }
        Ok(())
    })
}

/// Writes what the analysis found.
pub fn write(trace: &Trace, report: &SuspendReport, format: SuspendFormat, out: &mut dyn Write) -> Result<(), Failure> {
    match format {
        SuspendFormat::Text(options) => {
            text::suspend::write(report, &summarise(trace), &options, out)?;
        }
        SuspendFormat::Json => json::document::write(report, out)?,
        SuspendFormat::Xml(options) => suspend_xml::write(report, &options, out)?,
        SuspendFormat::Csv => table::write_csv(&SuspendRows::of(report), out)?,
    }
    Ok(())
}
