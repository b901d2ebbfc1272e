//! `onoff netboot`.

use onoff_analysis::netboot::{self, NetbootOptions};
use onoff_report::{csv, json, svg, text};

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::netboot::NetbootFormat;
use crate::output::Destination;
use crate::progress::ProgressLine;

pub fn run(
    recording: Recording,
    options: &NetbootOptions,
    format: NetbootFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let line = ProgressLine::reading();
    let mut reading = recording.options;
    reading.progress = Some(line.listener());
    let capture = onoff_files::open_capture(&recording.files, &reading)?;
    drop(line);
    let report = netboot::analyse(&capture, options).map_err(|answer| Failure::NothingToAnswer(answer.to_string()))?;
    destination.write(|out| {
        match format {
            NetbootFormat::Text(options) => text::netboot::write(&report, &options, out)?,
            NetbootFormat::Csv => csv::netboot::write(&report, out)?,
            NetbootFormat::Svg => svg::netboot::write(&report, out)?,
            NetbootFormat::Json => json::document::write(&report, out)?,
        }
        Ok(())
    })
}
