//! `--firmware` and `--capture` of the verbs that answer about a boot.

use std::path::PathBuf;

use onoff::{add_capture, add_firmware};
use onoff_evidence::recording::Provenance;
use onoff_files::Options;
use onoff_transitions::boot::BootOptions;

use crate::failure::Failure;

/// What else was recorded of the same boot.
#[derive(Clone, Debug, Default)]
pub struct BesideBoot {
    /// The firmware's tables.
    pub firmware: Vec<PathBuf>,
    /// A network capture.
    pub capture: Vec<PathBuf>,
}

impl BesideBoot {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.firmware.is_empty() && self.capture.is_empty()
    }

    /// The files.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.firmware.iter().chain(&self.capture).cloned().collect()
    }

    /// Puts it beside a boot; and says where it is from.
    pub fn add_to(&self, boot: &mut BootOptions, options: &Options) -> Result<Vec<Provenance>, Failure> {
        let mut provenances = Vec::new();
        if !self.firmware.is_empty() {
            provenances.push(add_firmware(boot, &self.firmware, options).map_err(Failure::without_an_answer)?);
        }
        if !self.capture.is_empty() {
            let added = add_capture(boot, &self.capture, options);
            let refused = |refusal| Failure::refused(refusal, |instead| format!("--capture: {instead}"));
            provenances.push(added.map_err(refused)?);
        }
        Ok(provenances)
    }
}
