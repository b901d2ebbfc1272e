//! `onoff shutdown`.

use onoff_analysis::recording::summarise;
use onoff_analysis::transition::linux::shutdown as linux;
use onoff_analysis::transition::shutdown::{self, ShutdownOptions};
use onoff_report::lists::linux_shutdown::ShutdownRows;
use onoff_report::{json, shutdown_csv, table, text};
use onoff_trace::{SystemKind, Trace};
use onoff_xperf::layouts::shutdown_xml::{self, ShutdownXmlOptions};

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::shutdown::ShutdownFormat;
use crate::output::Destination;

pub fn run(
    recording: Recording,
    options: &ShutdownOptions,
    format: ShutdownFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let trace = super::open(recording, shutdown::TABLES.union(linux::TABLES))?;
    if trace.system.kind == SystemKind::Linux {
        return of_linux(&trace, format, destination);
    }
    let report = shutdown::analyse(&trace, options)
        .map_err(|answer| Failure::NothingToAnswer(text::shutdown::no_shutdown(&answer)))?;
    destination.write(|out| {
        match format {
            ShutdownFormat::Text(options) => text::shutdown::write(&report, &summarise(&trace), &options, out)?,
            ShutdownFormat::Json => json::document::write(&report, out)?,
            ShutdownFormat::Xml => shutdown_xml::write(&report, &ShutdownXmlOptions::default(), out)?,
            ShutdownFormat::Csv => shutdown_csv::write(&report, out)?,
        }
        Ok(())
    })
}

fn of_linux(trace: &Trace, format: ShutdownFormat, destination: &Destination) -> Result<(), Failure> {
    if matches!(format, ShutdownFormat::Xml) {
        return Err(super::no_xml_of_linux());
    }
    let report =
        linux::analyse(trace).map_err(|answer| Failure::NothingToAnswer(text::shutdown::no_shutdown(&answer)))?;
    destination.write(|out| {
        match format {
            ShutdownFormat::Text(options) => text::linux::shutdown::write(&report, &summarise(trace), &options, out)?,
            ShutdownFormat::Csv => table::write_csv(&ShutdownRows::of(&report), out)?,
            ShutdownFormat::Json | ShutdownFormat::Xml => json::document::write(&report, out)?,
        }
        Ok(())
    })
}
