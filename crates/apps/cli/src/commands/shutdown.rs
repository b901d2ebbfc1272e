//! `onoff shutdown`.

use onoff::Shutdown;
use onoff_report::text;
use onoff_sources::Purpose;
use onoff_transitions::TransitionKind;
use onoff_transitions::shutdown::ShutdownOptions;
use onoff_xperf::layouts::shutdown_xml::{self, ShutdownXmlOptions};

use super::picture;
use crate::arguments::TransitionFormat;
use crate::arguments::shutdown::ShutdownArguments;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

pub fn resolve(arguments: ShutdownArguments) -> Invocation {
    let ShutdownArguments { recording, format, service_timeout, top, redact, output } = arguments;
    let options = ShutdownOptions { service_time_out_ns: service_timeout };
    let mut recording = Recording { redact, ..Recording::from(recording) };
    recording.options.purpose = Purpose::Shutdown;
    if recording.local_root.is_some() && !cfg!(windows) {
        // The current boot has not shut down yet. Event logs have several boots to choose from.
        recording.options.boot.get_or_insert_with(|| "-1".to_owned());
    }
    if format == TransitionFormat::Svg {
        return picture::resolve(TransitionKind::Shutdown, recording, output);
    }
    let invocation = Invocation::new(recording, output, move |recording, destination| {
        run(recording, &options, (format, top), destination)
    });
    invocation.single_recording().text_if(format == TransitionFormat::Text)
}

fn run(
    recording: Recording,
    options: &ShutdownOptions,
    (format, top): (TransitionFormat, usize),
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, answer) = super::query(recording, |session| session.shutdown(options))?;
    let answer =
        answer.map_err(|error| Failure::from_query_error_with(error, |reason| text::shutdown::no_shutdown(&reason)))?;
    destination.write(|out| {
        match (format, &answer.report) {
            (TransitionFormat::Text, _) => answer.write_text_with(top, out)?,
            (TransitionFormat::Html, _) => answer.write_html(top, out)?,
            (TransitionFormat::Json, _) => answer.write_json(&[session.provenance()?], out)?,
            (TransitionFormat::Xml, Shutdown::Windows(report)) => {
                shutdown_xml::write(report, &ShutdownXmlOptions::default(), out)?
            }
            (TransitionFormat::Xml, Shutdown::Linux(_)) => return Err(super::no_linux_xml()),
            (TransitionFormat::Csv | TransitionFormat::Svg, _) => answer.write_csv(out)?,
        }
        Ok(())
    })
}
