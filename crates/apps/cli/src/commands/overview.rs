//! `onoff FILE`.

use std::path::PathBuf;

use onoff::{Session, file_overview};
use onoff_files::volume::Volume;
use onoff_report::text;
use onoff_report::text::overview::Overview;

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::output::Destination;

pub fn run(recording: Recording, destination: &Destination) -> Result<(), Failure> {
    let paths = recording.files.clone();
    if let [path] = paths.as_slice()
        && Volume::open(path).is_some()
        && let Some(overview) = file_overview(&paths)
    {
        return write(&overview, destination);
    }
    let overview = match super::query(recording, Session::overview) {
        // Firmware tables alone contain no transition of a system.
        Ok((session, _)) if session.files().are_firmware_tables() => {
            file_overview(&paths).ok_or_else(|| no_verb(&paths))?
        }
        Ok((_, overview)) => overview?,
        Err(failure) => file_overview(&paths).ok_or(failure)?,
    };
    write(&overview, destination)
}

fn write(overview: &Overview, destination: &Destination) -> Result<(), Failure> {
    destination.write(|out| Ok(text::overview::write(overview, out)?))
}

fn no_verb(paths: &[PathBuf]) -> Failure {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    Failure::no_data(format!("{}: no verb can analyze this", names.join(", ")))
}
