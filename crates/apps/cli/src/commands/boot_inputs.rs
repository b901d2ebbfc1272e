//! `--firmware` and `--capture`, shared by the verbs that analyze a boot.

use std::path::PathBuf;

use onoff::{add_capture, add_firmware};
use onoff_evidence::recording::Provenance;
use onoff_files::Options;
use onoff_transitions::boot::BootOptions;

use crate::failure::Failure;

/// Firmware tables and network captures of the same boot.
#[derive(Clone, Debug, Default)]
pub struct BootInputs {
    pub firmware: Vec<PathBuf>,
    /// The files of one network capture.
    pub capture: Vec<PathBuf>,
}

impl BootInputs {
    pub fn is_empty(&self) -> bool {
        self.firmware.is_empty() && self.capture.is_empty()
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        self.firmware.iter().chain(&self.capture).cloned().collect()
    }

    /// Adds the inputs to `boot` and returns their provenance.
    pub fn add_to(&self, boot: &mut BootOptions, options: &Options) -> Result<Vec<Provenance>, Failure> {
        let mut provenances = Vec::new();
        if !self.firmware.is_empty() {
            provenances.push(add_firmware(boot, &self.firmware, options).map_err(Failure::from_query_error)?);
        }
        if !self.capture.is_empty() {
            let provenance = add_capture(boot, &self.capture, options);
            let to_failure = |error| Failure::from_query_error_with(error, |reason| format!("--capture: {reason}"));
            provenances.push(provenance.map_err(to_failure)?);
        }
        Ok(provenances)
    }
}
