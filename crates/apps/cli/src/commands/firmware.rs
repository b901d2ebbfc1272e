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
    let paths = [arguments.files.clone(), arguments.guids.clone()].concat();
    let (baseline, is_text) = (arguments.compare.clone(), arguments.format == FirmwareFormat::Text);
    let invocation = Invocation::without_recording(output, move |destination| run(&arguments, destination));
    invocation.text_if(is_text).with_inputs(paths).with_inputs(baseline)
}

fn run(arguments: &FirmwareArguments, destination: &Destination) -> Result<(), Failure> {
    let (options, guids) = (&Options::default(), &arguments.guids);
    let report = match firmware(&arguments.files, options, guids, arguments.boot) {
        // JSON consumers get a document that lists the missing evidence instead of an error.
        Err(QueryError::Unanswerable(error))
            if arguments.format == FirmwareFormat::Json && !error.contents.tables.is_empty() =>
        {
            error.contents.into_report(error.inputs)
        }
        answer => answer.map_err(Failure::from_query_error)?,
    };
    let Some(baseline) = &arguments.compare else {
        return destination.write(|out| {
            match arguments.format {
                FirmwareFormat::Text => text::firmware::write(&report, arguments.top, out)?,
                FirmwareFormat::Json => json::document::write(&[firmware_provenance(&report.inputs)], &report, out)?,
                FirmwareFormat::Csv => section::csv::write(&[csv::firmware::measurements(&report)], out)?,
            }
            Ok(())
        });
    };
    let baseline = firmware(std::slice::from_ref(baseline), options, guids, 0).map_err(Failure::from_query_error)?;
    let comparison = compare(&baseline, &report);
    destination.write(|out| {
        match arguments.format {
            FirmwareFormat::Text => text::firmware::write_comparison(&comparison, arguments.top, out)?,
            FirmwareFormat::Json => {
                let recordings = [firmware_provenance(&baseline.inputs), firmware_provenance(&report.inputs)];
                json::document::write(&recordings, &comparison, out)?
            }
            FirmwareFormat::Csv => section::csv::write(&[csv::firmware::changes(&comparison)], out)?,
        }
        Ok(())
    })
}
