//! `onoff boot`.

use onoff::{Boot, Refusal, boot_axis_without_a_recording};
use onoff_evidence::recording::Provenance;
use onoff_report::text;
use onoff_sections::json;
use onoff_transitions::boot::{BootOptions, NotABoot};
use onoff_transitions::{TransitionKind, linux};
use onoff_xperf::layouts::boot_xml::{self, BootXmlOptions};
use onoff_xperf::layouts::pnp_csv;
use onoff_xperf::layouts::services_csv::{self, PointsOfInterest};

use super::beside_boot::BesideBoot;
use super::picture;
use crate::arguments::{BootArguments, CsvTable, RecordingArguments, TransitionFormat};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// Settles what the arguments mean.
pub fn resolve(arguments: BootArguments) -> Result<Invocation, Failure> {
    let BootArguments { files, reading, format, csv, top, output, .. } = arguments;
    let recording = Recording::from(RecordingArguments { files, reading });
    let refused = |message: &str| Err(Failure::nothing(message));
    let beside = BesideBoot { firmware: arguments.firmware, capture: arguments.capture };
    if arguments.list_boots {
        if !matches!(format, TransitionFormat::Text | TransitionFormat::Json) {
            return refused("--list-boots writes text or JSON");
        }
        let invocation = Invocation::new(recording, output, move |recording, to| list(recording, format, to));
        return Ok(invocation.about_one().text_if(format == TransitionFormat::Text));
    }
    if format == TransitionFormat::Svg {
        if !beside.is_empty() {
            return refused("a picture has no place for --firmware and --capture; write text or JSON");
        }
        return Ok(picture::of(TransitionKind::Boot, recording, output));
    }
    if csv.is_some() && format != TransitionFormat::Csv {
        return refused("--csv says which table '--format csv' writes; give both");
    }
    let options = BootOptions {
        idle: arguments.idle,
        shell: arguments.shell,
        expected_processes: arguments.expected,
        firmware: None,
        capture: None,
    };
    let paths = beside.paths();
    let invocation = Invocation::new(recording, output, move |recording, destination| {
        run(recording, options, (format, csv, top), &beside, destination)
    });
    Ok(invocation.about_one().text_if(format == TransitionFormat::Text).reading(paths))
}

fn run(
    recording: Recording,
    mut options: BootOptions,
    (format, csv, top): (TransitionFormat, Option<CsvTable>, usize),
    beside: &BesideBoot,
    destination: &Destination,
) -> Result<(), Failure> {
    let mut provenances = beside.add_to(&mut options, &recording.options)?;
    // Tables and captures that were named are the question: nothing shows that they are of this computer.
    if recording.files.is_empty() && !beside.is_empty() {
        return without_a_recording(&options, (format, &provenances), destination);
    }
    let (session, answer) = super::ask(recording, |session| session.boot(&options))?;
    let answer = answer.map_err(no_boot)?;
    if matches!(answer.report, Boot::FastStartup(_)) && !beside.is_empty() {
        let message = "the recording is of a fast startup, and does not show when the loader handed over: \
                       --firmware and --capture cannot be placed";
        return Err(Failure::nothing(message));
    }
    match format {
        TransitionFormat::Text => return destination.write(|out| Ok(answer.write_text_with(top, out)?)),
        TransitionFormat::Html => return destination.write(|out| Ok(answer.write_html(top, out)?)),
        TransitionFormat::Json => {
            provenances.insert(0, session.provenance()?);
            return destination.write(|out| Ok(answer.write_json(&provenances, out)?));
        }
        TransitionFormat::Xml | TransitionFormat::Csv | TransitionFormat::Svg => {}
    }
    let report = match answer.report {
        Boot::Windows(report) => *report,
        // xperf's document of a boot has no place for a resume.
        Boot::FastStartup(_) => session.boot_from_off(&options).map_err(no_boot)?,
        Boot::Linux(_) => {
            let message = "xperf's documents and tables have no place for a Linux boot; write text or JSON, or see 'onoff services' and 'onoff devices'";
            return Err(Failure::nothing(message));
        }
    };
    destination.write(|out| {
        match (format, csv) {
            (TransitionFormat::Csv, Some(CsvTable::Pnp)) => pnp_csv::write(&report.details.devices, out)?,
            (TransitionFormat::Csv, _) => {
                services_csv::write(&report.details.auto_start, &report.units, &PointsOfInterest::default(), out)?
            }
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
fn list(recording: Recording, format: TransitionFormat, destination: &Destination) -> Result<(), Failure> {
    let (session, boots) = super::ask(recording, onoff::Session::boots)?;
    let list = linux::boot::BootList { boots: boots? };
    if list.boots.is_empty() {
        return Err(Failure::nothing("the recording holds no journal, so no list of boots"));
    }
    destination.write(|out| {
        match format {
            TransitionFormat::Text => text::linux::boot::write_boots(&list, out)?,
            _ => json::document::write(&[session.provenance()?], &list, out)?,
        }
        Ok(())
    })
}

/// The axis of firmware, packets or both alone.
fn without_a_recording(
    options: &BootOptions,
    (format, provenances): (TransitionFormat, &[Provenance]),
    destination: &Destination,
) -> Result<(), Failure> {
    let Some(axis) = boot_axis_without_a_recording(options) else {
        return Err(Failure::nothing("name a recording, or give --firmware and --capture"));
    };
    destination.write(|out| {
        match format {
            TransitionFormat::Text => text::boot_axis::write(&axis, out)?,
            TransitionFormat::Json => json::document::write(provenances, &axis, out)?,
            _ => return Err(Failure::nothing("without a recording the answer is text or JSON")),
        }
        Ok(())
    })
}
