//! `onoff info`.

use onoff_report::{json, text};

use crate::failure::Failure;
use crate::invocation::{InfoFormat, Recording};
use crate::output::Destination;

pub fn run(recording: Recording, format: InfoFormat, destination: &Destination) -> Result<(), Failure> {
    let (session, summary) = super::ask(recording, onoff::Session::summary)?;
    let summary = summary?;
    destination.write(|out| {
        match format {
            InfoFormat::Text(options) => text::info::write(&summary, &options, out)?,
            InfoFormat::Json => json::document::write(&[session.provenance()?], &summary, out)?,
        }
        Ok(())
    })
}
