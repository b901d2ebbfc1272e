//! Boot times measured by firmware, from its performance tables.

use std::path::PathBuf;
use std::sync::Arc;

use onoff_evidence::recording::{Provenance, ProvenanceFile};
use onoff_files::{Options, open_firmware, open_firmware_boot, read_guid_names};
use onoff_firmware_times::{FirmwareOptions, FirmwareReport, NoFirmwareTimes, analyze};
use onoff_network::NetbootOptions;
use onoff_report::text;
use onoff_trace::firmware::FirmwareInput;
use onoff_transitions::boot::{BootOptions, GivenFirmware};
use onoff_transitions::boot_axis::{self, AxisFirmware, BootAxis};

use crate::error::QueryError;
use crate::session::Session;

/// Firmware tables without boot times.
#[derive(Debug)]
pub struct FirmwareTimesError {
    /// The paths as given, separated by commas.
    pub paths: String,
    /// The files that were read.
    pub inputs: Vec<FirmwareInput>,
    /// What the tables contain.
    pub contents: NoFirmwareTimes,
}

impl std::fmt::Display for FirmwareTimesError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&text::firmware::no_times(&self.paths, &self.contents))
    }
}

/// Analyzes the firmware tables of one machine. `guids` are files with module names. For a serial log with several
/// boots, `boot` 0 is the last boot, -1 the boot before it.
///
/// # Errors
/// A path is unreadable, the boot does not exist, or the tables have no times.
pub fn firmware(
    paths: &[PathBuf],
    options: &Options,
    guids: &[PathBuf],
    boot: i64,
) -> Result<FirmwareReport, QueryError<Box<FirmwareTimesError>>> {
    let firmware_options = FirmwareOptions { names: read_guid_names(guids)? };
    let recording = open_firmware_boot(paths, &options.limits, boot)?;
    analyze(&recording, &firmware_options).map_err(|found| {
        QueryError::Unanswerable(Box::new(FirmwareTimesError {
            paths: joined_paths(paths),
            inputs: recording.inputs,
            contents: found,
        }))
    })
}

#[must_use]
pub fn firmware_provenance(inputs: &[FirmwareInput]) -> Provenance {
    let inputs = inputs.iter().cloned();
    let files = inputs.map(|FirmwareInput { name, bytes, sha256, .. }| ProvenanceFile { name, bytes, sha256 });
    Provenance { files: files.collect(), ..Provenance::default() }
}

/// Adds the five boot times and the phases from firmware tables to `boot`. Returns their provenance.
///
/// # Errors
/// A path is unreadable, or the tables have no times.
pub fn add_firmware(
    boot: &mut BootOptions,
    paths: &[PathBuf],
    options: &Options,
) -> Result<Provenance, QueryError<Box<FirmwareTimesError>>> {
    let recording = open_firmware(paths, &options.limits)?;
    let Some(checkpoints) = recording.checkpoints else {
        let inputs = recording.inputs.clone();
        let found = recording.into();
        return Err(QueryError::Unanswerable(Box::new(FirmwareTimesError {
            paths: joined_paths(paths),
            inputs,
            contents: found,
        })));
    };
    let report = analyze(&recording, &FirmwareOptions::default());
    let phases = report.map(|report| report.phases).unwrap_or_default();
    boot.firmware = Some(GivenFirmware { checkpoints, from: recording.boot_from, phases });
    Ok(firmware_provenance(&recording.inputs))
}

/// Adds the network boots in a capture to `boot`. Returns their provenance.
///
/// # Errors
/// A path is unreadable, or the capture has no network boot.
pub fn add_capture(
    boot: &mut BootOptions,
    paths: &[PathBuf],
    options: &Options,
) -> Result<Provenance, QueryError<String>> {
    let session = Session::open(paths, options)?;
    let report = session.netboot(&NetbootOptions::default()).map_err(QueryError::into_message)?;
    boot.capture = Some(Arc::new(report));
    Ok(session.provenance()?)
}

/// Builds the boot axis from firmware tables and a capture alone; `None` if neither has a time.
#[must_use]
pub fn boot_axis_without_recording(options: &BootOptions) -> Option<BootAxis> {
    let firmware = options.firmware.as_ref();
    let firmware =
        firmware.map(|tables| AxisFirmware { checkpoints: tables.checkpoints, phases: &tables.phases, fit: None });
    boot_axis::axis(None, firmware.as_ref(), options.capture.as_deref())
}

pub(crate) fn joined_paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
