//! `onoff export`.

use onoff_view::export::{firefox, perfetto};

use super::view;
use crate::arguments::export::ExportFormat;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::output::Destination;

pub fn run(recording: &Recording, format: ExportFormat, destination: &Destination) -> Result<(), Failure> {
    let shown = view::one_recording(recording)?;
    destination.write_bytes(|out| {
        match format {
            ExportFormat::Perfetto => perfetto::write(&shown, out)?,
            ExportFormat::Firefox => firefox::write(&shown, out)?,
        }
        Ok(())
    })
}
