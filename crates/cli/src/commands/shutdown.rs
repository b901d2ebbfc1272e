//! `onoff shutdown`.

use onoff_analysis::recording::summarise;
use onoff_analysis::transition::shutdown::{self, ShutdownOptions};
use onoff_report::xperf::shutdown_xml::ShutdownXmlOptions;
use onoff_report::{json, shutdown_csv, text, xperf};

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
    let trace = super::open(recording, shutdown::TABLES)?;
    let report = shutdown::analyse(&trace, options)
        .map_err(|answer| Failure::NothingToAnswer(text::shutdown::no_shutdown(&answer)))?;
    destination.write(|out| {
        match format {
            ShutdownFormat::Text(options) => {
                text::shutdown::write(&report, &summarise(&trace), &options, out)?
            }
            ShutdownFormat::Json => json::document::write(&report, out)?,
            ShutdownFormat::Xml => {
                xperf::shutdown_xml::write(&report, &ShutdownXmlOptions::default(), out)?
            }
            ShutdownFormat::Csv => shutdown_csv::write(&report, out)?,
        }
        Ok(())
    })
}
