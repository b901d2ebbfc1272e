//! `onoff suspend`.

use onoff::Sleeps;
use onoff_sources::Purpose;
use onoff_transitions::TransitionKind;
use onoff_transitions::suspend::SuspendOptions;
use onoff_xperf::layouts::suspend_xml::{self, MAX_DECIMALS, SuspendXmlOptions, TimeUnit};

use super::picture;
use crate::arguments::suspend::{PowerFormat, SuspendArguments};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

pub fn resolve(arguments: SuspendArguments) -> Result<Invocation, Failure> {
    let SuspendArguments { recording, transition, format, timeunit, idle, shell, top, redact, output } = arguments;
    let mut recording = Recording { redact, ..Recording::from(recording) };
    recording.options.purpose = Purpose::Sleep;
    if timeunit.is_some() && format != PowerFormat::Xml {
        return Err(Failure::no_data("--timeunit requires '--format xml'; the other formats include their units"));
    }
    if format == PowerFormat::Svg {
        return Ok(picture::resolve(TransitionKind::Suspend, recording, output));
    }
    let xml = timeunit.as_deref().map(time_unit).transpose()?.unwrap_or_default();
    let options = SuspendOptions { transition, idle, shell };
    let invocation = Invocation::new(recording, output, move |recording, destination| {
        run(recording, &options, (format, &xml, top), destination)
    });
    Ok(invocation.single_recording().text_if(format == PowerFormat::Text))
}

fn time_unit(text: &str) -> Result<SuspendXmlOptions, Failure> {
    let (unit, decimals) = match text.split_once('.') {
        Some((unit, decimals)) => (unit, decimals.parse().ok()),
        None => (text, Some(0)),
    };
    TimeUnit::parse(unit)
        .zip(decimals.filter(|&decimals| decimals <= MAX_DECIMALS))
        .map(|(unit, decimals)| SuspendXmlOptions { unit, decimals, min_ns: 0 })
        .ok_or_else(|| {
            Failure::no_data(format!(
                "--timeunit: '{text}' is not a unit; use ns, us, ms or s, with up to {MAX_DECIMALS} decimals, such as ms.3"
            ))
        })
}

fn run(
    recording: Recording,
    options: &SuspendOptions,
    (format, xml, top): (PowerFormat, &SuspendXmlOptions, usize),
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, answer) = super::query(recording, |session| session.sleeps(options))?;
    let answer = answer.map_err(Failure::from_query_error)?;
    destination.write(|out| {
        match (format, &answer.report) {
            (PowerFormat::Text, _) => answer.write_text_with(top, out)?,
            (PowerFormat::Html, _) => answer.write_html(top, out)?,
            (PowerFormat::Json, _) => answer.write_json(&[session.provenance()?], out)?,
            (PowerFormat::Xml, Sleeps::Windows(report)) => suspend_xml::write(report, xml, out)?,
            (PowerFormat::Xml, Sleeps::Linux(_)) => return Err(super::no_linux_xml()),
            (PowerFormat::Csv | PowerFormat::Svg, _) => answer.write_csv(out)?,
        }
        Ok(())
    })
}
