//! What firmware measured of a boot, from its tables.

use std::path::PathBuf;
use std::sync::Arc;

use onoff_evidence::recording::{Provenance, ProvenanceFile};
use onoff_files::{Options, open_firmware, open_firmware_boot, read_guid_names};
use onoff_firmware_times::{FirmwareOptions, FirmwareReport, NoTimes, analyze};
use onoff_network::NetbootOptions;
use onoff_report::text;
use onoff_trace::firmware::FirmwareInput;
use onoff_transitions::boot::{BootOptions, GivenFirmware};
use onoff_transitions::boot_axis::{self, AxisFirmware, BootAxis};

use crate::error::Refusal;
use crate::session::Session;

/// Tables of firmware without the times of a boot.
#[derive(Debug)]
pub struct NoFirmwareTimes {
    /// The files, as they were named.
    pub asked: String,
    /// The files that were read.
    pub inputs: Vec<FirmwareInput>,
    /// What they hold instead.
    pub instead: NoTimes,
}

impl std::fmt::Display for NoFirmwareTimes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&text::firmware::no_times(&self.asked, &self.instead))
    }
}

/// What one machine's firmware measured, from the files and folders in `paths`; modules are called as the lists `guids` say. Of a
/// serial log that runs over several boots, `boot` 0 is the last, -1 the one before.
///
/// # Errors
/// A path that cannot be read, no such boot, or tables without times.
pub fn firmware(
    paths: &[PathBuf],
    options: &Options,
    guids: &[PathBuf],
    boot: i64,
) -> Result<FirmwareReport, Refusal<Box<NoFirmwareTimes>>> {
    let names = FirmwareOptions { names: read_guid_names(guids)? };
    let recording = open_firmware_boot(paths, &options.limits, boot)?;
    analyze(&recording, &names).map_err(|instead| {
        Refusal::Nothing(Box::new(NoFirmwareTimes { asked: named(paths), inputs: recording.inputs, instead }))
    })
}

/// The files that tables of firmware were read from.
#[must_use]
pub fn provenance_of_firmware(inputs: &[FirmwareInput]) -> Provenance {
    let inputs = inputs.iter().cloned();
    let files = inputs.map(|FirmwareInput { name, bytes, sha256, .. }| ProvenanceFile { name, bytes, sha256 });
    Provenance { files: files.collect(), ..Provenance::default() }
}

/// Puts the five times of the boot in firmware's tables, and their phases, beside a boot; and says where they are from.
///
/// # Errors
/// A path that cannot be read, or tables without times.
pub fn add_firmware(
    boot: &mut BootOptions,
    paths: &[PathBuf],
    options: &Options,
) -> Result<Provenance, Refusal<Box<NoFirmwareTimes>>> {
    let recording = open_firmware(paths, &options.limits)?;
    let Some(checkpoints) = recording.checkpoints else {
        let inputs = recording.inputs.clone();
        let instead = recording.into();
        return Err(Refusal::Nothing(Box::new(NoFirmwareTimes { asked: named(paths), inputs, instead })));
    };
    let report = analyze(&recording, &FirmwareOptions::default());
    let phases = report.map(|report| report.phases).unwrap_or_default();
    boot.firmware = Some(GivenFirmware { checkpoints, from: recording.boot_from, phases });
    Ok(provenance_of_firmware(&recording.inputs))
}

/// Puts the network boots in a capture beside a boot; and says where they are from.
///
/// # Errors
/// A path that cannot be read, or a capture without a network boot.
pub fn add_capture(
    boot: &mut BootOptions,
    paths: &[PathBuf],
    options: &Options,
) -> Result<Provenance, Refusal<String>> {
    let session = Session::open(paths, options)?;
    let report = session.netboot(&NetbootOptions::default()).map_err(Refusal::into_text)?;
    boot.capture = Some(Arc::new(report));
    Ok(session.provenance()?)
}

/// The axis of firmware and packets alone, where no recording of the system is at hand; `None` where neither has a time.
#[must_use]
pub fn boot_axis_without_a_recording(options: &BootOptions) -> Option<BootAxis> {
    let firmware = options.firmware.as_ref();
    let firmware =
        firmware.map(|given| AxisFirmware { checkpoints: given.checkpoints, phases: &given.phases, fit: None });
    boot_axis::axis(None, firmware.as_ref(), options.capture.as_deref())
}

/// The paths as one name.
pub(crate) fn named(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
