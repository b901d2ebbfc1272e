//! `onoff boot`.

use onoff_analysis::recording::summarise;
use onoff_analysis::transition::boot::{self, BootOptions};
use onoff_report::xperf::boot_xml::BootXmlOptions;
use onoff_report::xperf::services_csv::PointsOfInterest;
use onoff_report::{json, text, xperf};

use crate::failure::Failure;
use crate::invocation::{BootFormat, Recording};
use crate::output::Destination;

pub fn run(
    recording: Recording,
    options: &BootOptions,
    format: BootFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let trace = super::open(recording, boot::TABLES)?;
    let report = boot::analyse(&trace, options)
        .map_err(|answer| Failure::NothingToAnswer(text::boot::no_boot(&answer)))?;
    destination.write(|out| {
        match format {
            BootFormat::Text(options) => {
                text::boot::write(&report, &summarise(&trace), &options, out)?
            }
            BootFormat::Json => json::document::write(&report, out)?,
            BootFormat::Xml => xperf::boot_xml::write(&report, &BootXmlOptions::default(), out)?,
            BootFormat::ServicesCsv => xperf::services_csv::write(
                &report.auto_start,
                &report.services,
                &PointsOfInterest::default(),
                out,
            )?,
            BootFormat::PnpCsv => xperf::pnp_csv::write(&report.devices, out)?,
        }
        Ok(())
    })
}
