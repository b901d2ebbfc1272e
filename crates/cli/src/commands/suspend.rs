//! `onoff suspend`.

use onoff::SleepAnswer;
use onoff_analysis::transition::suspend::SuspendOptions;
use onoff_xperf::layouts::suspend_xml;

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::suspend::SuspendFormat;
use crate::output::Destination;

pub fn run(
    recording: Recording,
    options: &SuspendOptions,
    format: SuspendFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, answer) = super::ask(recording, |session| session.sleeps(options))?;
    let answer = answer.map_err(|refusal| Failure::refused(refusal, |instead| instead.to_string()))?;
    if matches!((&answer, &format), (SleepAnswer::Linux { .. }, SuspendFormat::Xml(_))) {
        return Err(super::no_xml_of_linux());
    }
    destination.write(|out| {
        match (&answer, format) {
            (_, SuspendFormat::Text(options)) => answer.write_text_with(&options, out)?,
            (_, SuspendFormat::Html(options)) => answer.write_html(&options, out)?,
            (SleepAnswer::Windows { report, .. }, SuspendFormat::Xml(options)) => {
                suspend_xml::write(report, &options, out)?
            }
            (_, SuspendFormat::Csv) => answer.write_csv(out)?,
            (_, SuspendFormat::Json | SuspendFormat::Xml(_)) => answer.write_json(&[session.provenance()?], out)?,
        }
        Ok(())
    })
}
