//! What the arguments of `onoff suspend` mean.

use onoff_analysis::idle::IdleMetric;
use onoff_analysis::transition::TransitionKind;
use onoff_analysis::transition::suspend::SuspendOptions;
use onoff_report::text::suspend::SuspendTextOptions;
use onoff_xperf::layouts::suspend_xml::{MOST_DECIMALS, SuspendXmlOptions, TimeUnit};

use super::{Invocation, Task};
use crate::arguments::Idle;
use crate::arguments::suspend::{PowerFormat, SuspendArguments};
use crate::failure::Failure;

/// How to show where the time of sleeping and waking went.
#[derive(Clone, Copy, Debug)]
pub enum SuspendFormat {
    /// For a person.
    Text(SuspendTextOptions),
    /// For a person, as a page.
    Html(SuspendTextOptions),
    /// For a program.
    Json,
    /// xperf's summary.
    Xml(SuspendXmlOptions),
    /// A row for everything that took time.
    Csv,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: SuspendArguments) -> Result<Invocation, Failure> {
    if arguments.timeunit.is_some() && arguments.format != PowerFormat::Xml {
        let message = "--timeunit is about '--format xml'; the other formats say their units";
        return Err(Failure::NothingToAnswer(message.to_owned()));
    }
    if arguments.format == PowerFormat::Svg {
        let recording = arguments.recording.into();
        return Ok(Invocation::picture(TransitionKind::Suspend, recording, arguments.output.into()));
    }
    let format = match arguments.format {
        PowerFormat::Text => SuspendFormat::Text(SuspendTextOptions { top: arguments.top }),
        PowerFormat::Html => SuspendFormat::Html(SuspendTextOptions { top: arguments.top }),
        PowerFormat::Json => SuspendFormat::Json,
        PowerFormat::Xml => SuspendFormat::Xml(match &arguments.timeunit {
            Some(text) => time_unit(text)?,
            None => SuspendXmlOptions::default(),
        }),
        PowerFormat::Csv | PowerFormat::Svg => SuspendFormat::Csv,
    };
    let options = SuspendOptions {
        transition: arguments.transition,
        idle: match arguments.idle {
            Idle::Xperf => IdleMetric::XPERF,
            Idle::Adk => IdleMetric::ADK,
        },
        shell: arguments.shell,
    };
    Ok(Invocation {
        task: Task::Suspend(options, format),
        recording: arguments.recording.into(),
        destination: arguments.output.into(),
    })
}

fn time_unit(text: &str) -> Result<SuspendXmlOptions, Failure> {
    let (unit, decimals) = match text.split_once('.') {
        Some((unit, decimals)) => (unit, decimals.parse().ok()),
        None => (text, Some(0)),
    };
    TimeUnit::parse(unit)
        .zip(decimals.filter(|&decimals| decimals <= MOST_DECIMALS))
        .map(|(unit, decimals)| SuspendXmlOptions { unit, decimals, min_ns: 0 })
        .ok_or_else(|| {
            Failure::NothingToAnswer(format!(
                "--timeunit: '{text}' is no unit; write ns, us, ms or s, with up to {MOST_DECIMALS} decimals as in ms.3"
            ))
        })
}
