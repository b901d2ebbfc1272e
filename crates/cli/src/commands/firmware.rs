//! `onoff firmware`.

use onoff::{Refusal, firmware, provenance_of_firmware};
use onoff_analysis::firmware::compare;
use onoff_report::{csv, json, section, text};

use crate::arguments::firmware::FirmwareFormat;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::firmware::FirmwareQuestion;
use crate::output::Destination;

pub fn run(recording: &Recording, question: &FirmwareQuestion, destination: &Destination) -> Result<(), Failure> {
    let (options, guids) = (&recording.options, &question.guids);
    let report = match firmware(&recording.files, options, guids, question.boot) {
        // A program is better served by a document that says what is missing.
        Err(Refusal::Nothing(nothing))
            if question.format == FirmwareFormat::Json && !nothing.instead.tables.is_empty() =>
        {
            nothing.instead.into_report(nothing.inputs)
        }
        answer => answer.map_err(Failure::without_an_answer)?,
    };
    let Some(other) = &question.compare else {
        return destination.write(|out| {
            match question.format {
                FirmwareFormat::Text => text::firmware::write(&report, &question.text, out)?,
                FirmwareFormat::Json => json::document::write(&[provenance_of_firmware(&report.inputs)], &report, out)?,
                FirmwareFormat::Csv => section::csv::write(&[csv::firmware::measured(&report)], out)?,
            }
            Ok(())
        });
    };
    let other = firmware(std::slice::from_ref(other), options, guids, 0).map_err(Failure::without_an_answer)?;
    let comparison = compare(&other, &report);
    destination.write(|out| {
        match question.format {
            FirmwareFormat::Text => text::firmware::write_comparison(&comparison, &question.text, out)?,
            FirmwareFormat::Json => {
                let recordings = [provenance_of_firmware(&other.inputs), provenance_of_firmware(&report.inputs)];
                json::document::write(&recordings, &comparison, out)?
            }
            FirmwareFormat::Csv => section::csv::write(&[csv::firmware::changes(&comparison)], out)?,
        }
        Ok(())
    })
}
