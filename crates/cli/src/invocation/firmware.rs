//! What the arguments of `onoff firmware` mean.

use std::path::PathBuf;

use onoff_report::text::firmware::FirmwareTextOptions;

use crate::arguments::firmware::{FirmwareArguments, FirmwareFormat};

/// Which boot to compare with, what modules are called, and how to answer.
#[derive(Debug)]
pub struct FirmwareQuestion {
    /// The tables of the boot to compare with.
    pub compare: Option<PathBuf>,
    /// Lists of names.
    pub guids: Vec<PathBuf>,
    /// Which boot of a serial log.
    pub boot: i64,
    /// How.
    pub format: FirmwareFormat,
    /// How much text.
    pub text: FirmwareTextOptions,
}

impl FirmwareQuestion {
    /// Settles what the arguments mean.
    pub fn resolve(arguments: FirmwareArguments) -> Self {
        Self {
            compare: arguments.compare,
            guids: arguments.guids,
            boot: arguments.boot,
            format: arguments.format,
            text: FirmwareTextOptions { top: arguments.top },
        }
    }
}
