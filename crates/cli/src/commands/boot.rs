//! `onoff boot`.

use onoff::{BootAnswer, Refusal, add_capture, add_firmware, boot_axis_without_a_recording};
use onoff_analysis::recording::Provenance;
use onoff_analysis::transition::boot::{BootOptions, NotABoot};
use onoff_analysis::transition::linux;
use onoff_report::{json, text};
use onoff_xperf::layouts::boot_xml::{self, BootXmlOptions};
use onoff_xperf::layouts::pnp_csv;
use onoff_xperf::layouts::services_csv::{self, PointsOfInterest};

use crate::arguments::PlainFormat;
use crate::failure::Failure;
use crate::invocation::{BesideBoot, BootFormat, Recording};
use crate::output::Destination;

pub fn run(
    recording: Recording,
    mut options: BootOptions,
    format: BootFormat,
    beside: &BesideBoot,
    destination: &Destination,
) -> Result<(), Failure> {
    let mut provenances = Vec::new();
    if !beside.firmware.is_empty() {
        let added = add_firmware(&mut options, &beside.firmware, &recording.options);
        provenances.push(added.map_err(Failure::without_an_answer)?);
    }
    if !beside.capture.is_empty() {
        let added = add_capture(&mut options, &beside.capture, &recording.options);
        provenances
            .push(added.map_err(|refusal| Failure::refused(refusal, |instead| format!("--capture: {instead}")))?);
    }
    // Tables and captures that were named are the question: nothing shows that they are of this computer.
    if recording.files.is_empty() && (options.firmware.is_some() || options.capture.is_some()) {
        return without_a_recording(&options, (format, &provenances), destination);
    }
    let (session, answer) = super::ask(recording, |session| session.boot(&options))?;
    let answer = answer.map_err(no_boot)?;
    if matches!(answer, BootAnswer::FastStartup { .. }) && (options.firmware.is_some() || options.capture.is_some()) {
        let message = "the recording is of a fast startup, and does not show when the loader handed over: \
                       --firmware and --capture cannot be placed";
        return Err(Failure::NothingToAnswer(message.to_owned()));
    }
    let report = match (answer, format) {
        (answer, BootFormat::Text(options)) => {
            return destination.write(|out| Ok(answer.write_text_with(&options, out)?));
        }
        (answer, BootFormat::Html(options)) => return destination.write(|out| Ok(answer.write_html(&options, out)?)),
        (answer, BootFormat::Json) => {
            provenances.insert(0, session.provenance()?);
            return destination.write(|out| Ok(answer.write_json(&provenances, out)?));
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
                services_csv::write(&report.details.auto_start, &report.units, &PointsOfInterest::default(), out)?
            }
            BootFormat::PnpCsv => pnp_csv::write(&report.details.devices, out)?,
            // Text, pages and JSON are written already.
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

/// The axis of firmware, packets or both alone.
fn without_a_recording(
    options: &BootOptions,
    (format, provenances): (BootFormat, &[Provenance]),
    destination: &Destination,
) -> Result<(), Failure> {
    let Some(axis) = boot_axis_without_a_recording(options) else {
        return Err(Failure::NothingToAnswer("name a recording, or give --firmware and --capture".to_owned()));
    };
    destination.write(|out| {
        match format {
            BootFormat::Text(_) => text::boot_axis::write(&axis, out)?,
            BootFormat::Json => json::document::write(provenances, &axis, out)?,
            _ => return Err(Failure::NothingToAnswer("without a recording the answer is text or JSON".to_owned())),
        }
        Ok(())
    })
}
