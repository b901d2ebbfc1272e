//! `onoff shutdown`.

use onoff::ShutdownAnswer;
use onoff_analysis::transition::shutdown::ShutdownOptions;
use onoff_report::lists::linux_shutdown::ShutdownRows;
use onoff_report::{shutdown_csv, table, text};
use onoff_xperf::layouts::shutdown_xml::{self, ShutdownXmlOptions};

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::shutdown::ShutdownFormat;
use crate::output::Destination;

pub fn run(
    recording: Recording,
    options: &ShutdownOptions,
    format: ShutdownFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, answer) = super::ask(recording, |session| session.shutdown(options))?;
    let answer =
        answer.map_err(|refusal| Failure::refused(refusal, |instead| text::shutdown::no_shutdown(&instead)))?;
    if matches!((&answer, &format), (ShutdownAnswer::Linux { .. }, ShutdownFormat::Xml)) {
        return Err(super::no_xml_of_linux());
    }
    destination.write(|out| {
        match (&answer, format) {
            (_, ShutdownFormat::Text(options)) => answer.write_text_with(&options, out)?,
            (ShutdownAnswer::Windows { report, .. }, ShutdownFormat::Xml) => {
                shutdown_xml::write(report, &ShutdownXmlOptions::default(), out)?
            }
            (ShutdownAnswer::Windows { report, .. }, ShutdownFormat::Csv) => shutdown_csv::write(report, out)?,
            (ShutdownAnswer::Linux { report, .. }, ShutdownFormat::Csv) => {
                table::write_csv(&ShutdownRows::of(report), out)?
            }
            (_, ShutdownFormat::Json | ShutdownFormat::Xml) => answer.write_json(&[session.provenance()?], out)?,
        }
        Ok(())
    })
}
