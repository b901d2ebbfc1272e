//! `onoff netboot`.

use onoff_analysis::netboot::NetbootOptions;
use onoff_report::{csv, json, section, svg, text};

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::netboot::NetbootFormat;
use crate::output::Destination;

pub fn run(
    recording: Recording,
    options: &NetbootOptions,
    format: NetbootFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, report) = super::ask(recording, |session| session.netboot(options))?;
    let report = report.map_err(|refusal| Failure::refused(refusal, |instead| instead.to_string()))?;
    destination.write(|out| {
        match format {
            NetbootFormat::Text(options) => text::netboot::write(&report, &options, out)?,
            NetbootFormat::Csv => section::csv::write(&[csv::netboot::rows(&report)], out)?,
            NetbootFormat::Svg => svg::netboot::write(&report, out)?,
            NetbootFormat::Json => json::document::write(&[session.provenance()?], &report, out)?,
        }
        Ok(())
    })
}
