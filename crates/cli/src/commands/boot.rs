//! `onoff boot`.

use std::path::PathBuf;

use onoff::{BootAnswer, Refusal};
use onoff_analysis::transition::boot::{BootOptions, GivenFirmware, NotABoot};
use onoff_analysis::transition::linux;
use onoff_files::Options;
use onoff_report::{json, text};
use onoff_xperf::layouts::boot_xml::{self, BootXmlOptions};
use onoff_xperf::layouts::pnp_csv;
use onoff_xperf::layouts::services_csv::{self, PointsOfInterest};

use crate::arguments::PlainFormat;
use crate::failure::Failure;
use crate::invocation::{BootFormat, Recording};
use crate::output::Destination;

pub fn run(
    recording: Recording,
    mut options: BootOptions,
    format: BootFormat,
    firmware: &[PathBuf],
    destination: &Destination,
) -> Result<(), Failure> {
    if !firmware.is_empty() {
        options.firmware = Some(given_firmware(firmware, &recording.options)?);
    }
    let (session, answer) = super::ask(recording, |session| session.boot(&options))?;
    let report = match (answer.map_err(no_boot)?, format) {
        (answer, BootFormat::Text(options)) => {
            return destination.write(|out| Ok(answer.write_text_with(&options, out)?));
        }
        (answer, BootFormat::Json) => {
            let recordings = [session.provenance()?];
            return destination.write(|out| Ok(answer.write_json(&recordings, out)?));
        }
        (BootAnswer::Windows { report, .. }, _) => *report,
        // xperf's document of a boot has no place for a resume.
        (BootAnswer::FastStartup { .. }, _) => session.boot_from_off(&options).map_err(no_boot)?,
        (BootAnswer::Linux { .. }, _) => {
            let message = "xperf's documents and tables have no place for a Linux boot; write text or JSON, or see 'onoff services' and 'onoff devices'";
            return Err(Failure::NothingToAnswer(message.to_owned()));
        }
    };
    destination.write(|out| {
        match format {
            BootFormat::ServicesCsv => {
                services_csv::write(&report.auto_start, &report.units, &PointsOfInterest::default(), out)?
            }
            BootFormat::PnpCsv => pnp_csv::write(&report.devices, out)?,
            // Text and JSON are written already.
            _ => boot_xml::write(&report, &BootXmlOptions::default(), out)?,
        }
        Ok(())
    })
}

fn no_boot(refusal: Refusal<Box<NotABoot>>) -> Failure {
    Failure::refused(refusal, |instead| text::boot::no_boot(&instead))
}

/// The boots that a recording's journals hold.
pub fn list(recording: Recording, format: PlainFormat, destination: &Destination) -> Result<(), Failure> {
    let (session, boots) = super::ask(recording, onoff::Session::boots)?;
    let list = linux::boot::BootList { boots: boots? };
    if list.boots.is_empty() {
        let message = "the recording holds no journal, so no list of boots";
        return Err(Failure::NothingToAnswer(message.to_owned()));
    }
    destination.write(|out| {
        match format {
            PlainFormat::Text => text::linux::boot::write_boots(&list, out)?,
            PlainFormat::Json => json::document::write(&[session.provenance()?], &list, out)?,
        }
        Ok(())
    })
}

/// The five times of the boot in firmware tables.
fn given_firmware(files: &[PathBuf], options: &Options) -> Result<GivenFirmware, Failure> {
    let recording = onoff_files::open_firmware(files, &options.limits)?;
    match recording.checkpoints {
        Some(checkpoints) => Ok(GivenFirmware { checkpoints, from: recording.boot_from }),
        None => {
            let asked: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            Err(Failure::NothingToAnswer(text::firmware::no_times(&asked.join(", "), &recording.into())))
        }
    }
}
