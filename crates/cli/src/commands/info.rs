//! `onoff info`.

use onoff_analysis::recording::summarise;
use onoff_report::{json, text};
use onoff_trace::{TableName, Tables};

use crate::failure::Failure;
use crate::invocation::{InfoFormat, Recording};
use crate::output::Destination;

pub fn run(recording: Recording, format: InfoFormat, destination: &Destination) -> Result<(), Failure> {
    let trace = super::open(recording, Tables::of(&[TableName::Inventory]))?;
    let summary = summarise(&trace);
    destination.write(|out| {
        match format {
            InfoFormat::Text(options) => text::info::write(&summary, &options, out)?,
            InfoFormat::Json => json::document::write(&summary, out)?,
        }
        Ok(())
    })
}
