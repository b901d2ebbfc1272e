//! `onoff firmware`.

use onoff::{QueryError, firmware, firmware_provenance};
use onoff_files::Options;
use onoff_firmware_times::compare;
use onoff_report::text;
use onoff_sections::csv;
use onoff_sections::json;
use onoff_sections::section;

use crate::arguments::firmware::{FirmwareArguments, FirmwareFormat};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Destination;

/// The files are not a [`Recording`](crate::invocation::Recording), so errors do not suggest `onoff firmware` again.
pub fn resolve(arguments: FirmwareArguments) -> Invocation {
    let output = arguments.output.clone();
    let named = [arguments.files.clone(), arguments.guids.clone()].concat();
    let (other, is_text) = (arguments.compare.clone(), arguments.format == FirmwareFormat::Text);
    let invocation = Invocation::without_recording(output, move |destination| run(&arguments, destination));
    invocation.text_if(is_text).reading(named).reading(other)
}

fn run(question: &FirmwareArguments, destination: &Destination) -> Result<(), Failure> {
    let (options, guids) = (&Options::default(), &question.guids);
    let report = match firmware(&question.files, options, guids, question.boot) {
        // JSON consumers get a document that lists the missing evidence instead of an error.
        Err(QueryError::Unanswerable(error))
            if question.format == FirmwareFormat::Json && !error.found.tables.is_empty() =>
        {
            error.found.into_report(error.inputs)
        }
        answer => answer.map_err(Failure::from_refusal)?,
    };
    let Some(other) = &question.compare else {
        return destination.write(|out| {
            match question.format {
                FirmwareFormat::Text => text::firmware::write(&report, question.top, out)?,
                FirmwareFormat::Json => json::document::write(&[firmware_provenance(&report.inputs)], &report, out)?,
                FirmwareFormat::Csv => section::csv::write(&[csv::firmware::measured(&report)], out)?,
            }
            Ok(())
        });
    };
    let other = firmware(std::slice::from_ref(other), options, guids, 0).map_err(Failure::from_refusal)?;
    let comparison = compare(&other, &report);
    destination.write(|out| {
        match question.format {
            FirmwareFormat::Text => text::firmware::write_comparison(&comparison, question.top, out)?,
            FirmwareFormat::Json => {
                let recordings = [firmware_provenance(&other.inputs), firmware_provenance(&report.inputs)];
                json::document::write(&recordings, &comparison, out)?
            }
            FirmwareFormat::Csv => section::csv::write(&[csv::firmware::changes(&comparison)], out)?,
        }
        Ok(())
    })
}
