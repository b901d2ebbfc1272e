//! `onoff info`.

use onoff_report::text;
use onoff_sections::json;

use crate::arguments::{InfoArguments, PlainFormat};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

pub fn resolve(arguments: InfoArguments) -> Invocation {
    let InfoArguments { recording, format, top, output } = arguments;
    let invocation =
        Invocation::new(recording, output, move |recording, destination| run(recording, (format, top), destination));
    invocation.single_recording().text_if(format == PlainFormat::Text)
}

fn run(recording: Recording, (format, top): (PlainFormat, usize), destination: &Destination) -> Result<(), Failure> {
    let (session, summary) = super::query(recording, onoff::Session::summary)?;
    let summary = summary?;
    destination.write(|out| {
        match format {
            PlainFormat::Text => text::info::write(&summary, top, out)?,
            PlainFormat::Json => json::document::write(&[session.provenance()?], &summary, out)?,
        }
        Ok(())
    })
}
