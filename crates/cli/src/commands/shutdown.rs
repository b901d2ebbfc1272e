//! `onoff shutdown`.

use onoff::ShutdownAnswer;
use onoff_analysis::transition::shutdown::ShutdownOptions;
use onoff_report::text;
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
            (_, ShutdownFormat::Html(options)) => answer.write_html(&options, out)?,
            (ShutdownAnswer::Windows { report, .. }, ShutdownFormat::Xml) => {
                shutdown_xml::write(report, &ShutdownXmlOptions::default(), out)?
            }
            (_, ShutdownFormat::Csv) => answer.write_csv(out)?,
            (_, ShutdownFormat::Json | ShutdownFormat::Xml) => answer.write_json(&[session.provenance()?], out)?,
        }
        Ok(())
    })
}
