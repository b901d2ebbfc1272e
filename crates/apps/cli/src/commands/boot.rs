//! `onoff boot`.

use onoff::{Boot, QueryError, boot_axis_without_recording};
use onoff_evidence::recording::Provenance;
use onoff_report::text;
use onoff_sections::json;
use onoff_transitions::boot::{BootOptions, NoBoot};
use onoff_transitions::{TransitionKind, linux};
use onoff_xperf::layouts::boot_xml::{self, BootXmlOptions};
use onoff_xperf::layouts::pnp_csv;
use onoff_xperf::layouts::services_csv::{self, PointsOfInterest};

use super::boot_inputs::BootInputs;
use super::picture;
use crate::arguments::{BootArguments, CsvTable, RecordingArguments, TransitionFormat};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

pub fn resolve(arguments: BootArguments) -> Result<Invocation, Failure> {
    let BootArguments { files, reading, format, csv, top, output, .. } = arguments;
    let recording = Recording { redact: arguments.redact, ..Recording::from(RecordingArguments { files, reading }) };
    let no_data = |message: &str| Err(Failure::no_data(message));
    let inputs = BootInputs { firmware: arguments.firmware, capture: arguments.capture };
    if arguments.list_boots {
        if !matches!(format, TransitionFormat::Text | TransitionFormat::Json) {
            return no_data("--list-boots supports text and JSON only");
        }
        let invocation =
            Invocation::new(recording, output, move |recording, destination| list(recording, format, destination));
        return Ok(invocation.single_recording().text_if(format == TransitionFormat::Text));
    }
    if format == TransitionFormat::Svg {
        if !inputs.is_empty() {
            return no_data("--format svg does not support --firmware and --capture; use text or json");
        }
        return Ok(picture::resolve(TransitionKind::Boot, recording, output));
    }
    if csv.is_some() && format != TransitionFormat::Csv {
        return no_data("--csv requires '--format csv'");
    }
    let options = BootOptions {
        idle: arguments.idle,
        shell: arguments.shell,
        expected_processes: arguments.expected,
        firmware: None,
        capture: None,
    };
    let paths = inputs.paths();
    let invocation = Invocation::new(recording, output, move |recording, destination| {
        run(recording, options, (format, csv, top), &inputs, destination)
    });
    Ok(invocation.single_recording().text_if(format == TransitionFormat::Text).with_inputs(paths))
}

fn run(
    recording: Recording,
    mut options: BootOptions,
    (format, csv, top): (TransitionFormat, Option<CsvTable>, usize),
    inputs: &BootInputs,
    destination: &Destination,
) -> Result<(), Failure> {
    let mut provenances = inputs.add_to(&mut options, &recording.options)?;
    // The tables and captures may be from another computer, so do not combine them with this one's journal.
    if recording.files.is_empty() && !inputs.is_empty() {
        return write_axis_only(&options, (format, &provenances), destination);
    }
    let (session, answer) = super::query(recording, |session| session.boot(&options))?;
    let answer = answer.map_err(no_boot)?;
    if matches!(answer.report, Boot::FastStartup(_)) && !inputs.is_empty() {
        let message = "--firmware and --capture do not work with a fast startup: the recording does not show when the loader \
                       handed over to the kernel";
        return Err(Failure::no_data(message));
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
        // xperf's boot XML cannot represent a resume.
        Boot::FastStartup(_) => session.full_boot(&options).map_err(no_boot)?,
        Boot::Linux(_) => {
            let message = "xperf's XML and CSV formats do not support Linux boots; use text or json, or see 'onoff services' and 'onoff devices'";
            return Err(Failure::no_data(message));
        }
    };
    destination.write(|out| {
        match (format, csv) {
            (TransitionFormat::Csv, Some(CsvTable::Pnp)) => pnp_csv::write(&report.details.devices, out)?,
            (TransitionFormat::Csv, _) => {
                services_csv::write(&report.details.auto_start, &report.units, &PointsOfInterest::default(), out)?
            }
            // The other formats were handled above.
            _ => boot_xml::write(&report, &BootXmlOptions::default(), out)?,
        }
        Ok(())
    })
}

fn no_boot(error: QueryError<Box<NoBoot>>) -> Failure {
    Failure::from_query_error_with(error, |reason| text::boot::no_boot(&reason))
}

/// Lists the boots in the journals of a recording.
fn list(recording: Recording, format: TransitionFormat, destination: &Destination) -> Result<(), Failure> {
    let (session, boots) = super::query(recording, onoff::Session::boots)?;
    let list = linux::boot::BootList { boots: boots? };
    if list.boots.is_empty() {
        return Err(Failure::no_data("no journal in this recording, so there are no boots to list"));
    }
    destination.write(|out| {
        match format {
            TransitionFormat::Text => text::boot_list::write(&list, out)?,
            _ => json::document::write(&[session.provenance()?], &list, out)?,
        }
        Ok(())
    })
}

/// Shows the boot axis of firmware tables, a capture, or both.
fn write_axis_only(
    options: &BootOptions,
    (format, provenances): (TransitionFormat, &[Provenance]),
    destination: &Destination,
) -> Result<(), Failure> {
    let Some(axis) = boot_axis_without_recording(options) else {
        return Err(Failure::no_data("pass a recording, or --firmware or --capture"));
    };
    destination.write(|out| {
        match format {
            TransitionFormat::Text => text::boot_axis::write(&axis, out)?,
            TransitionFormat::Json => json::document::write(provenances, &axis, out)?,
            _ => return Err(Failure::no_data("without a recording, only text and JSON are supported")),
        }
        Ok(())
    })
}
