//! `onoff what-if`.

use onoff_report::text;
use onoff_sections::json;
use onoff_transitions::TransitionKind;
use onoff_what_if::changes::Change;
use onoff_what_if::prediction::WhatIfQuestion;

use crate::arguments::PlainFormat;
use crate::arguments::what_if::WhatIfArguments;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

pub fn resolve(arguments: WhatIfArguments) -> Result<Invocation, Failure> {
    let WhatIfArguments { recording, without, pend, ungroup, delay, parallel, async_probe, .. } = arguments;
    let WhatIfArguments { disk, cpu, processors, transition, format, output, .. } = arguments;
    let (kind, number) = transition.as_deref().map_or(Ok((None, None)), parse_transition)?;
    let mut changes: Vec<Change> = without.into_iter().map(|name| Change::Without { name }).collect();
    changes.extend(pend.into_iter().map(|driver| Change::Pend { driver }));
    changes.extend(ungroup.into_iter().map(|service| Change::Ungroup { service }));
    changes.extend(delay.into_iter().map(|name| Change::Delay { name }));
    changes.extend(parallel.into_iter().map(|unit| Change::Parallel { unit }));
    changes.extend(async_probe.into_iter().map(|driver| Change::Async { driver }));
    changes.extend(disk.map(|percent| Change::DiskSpeed { percent }));
    changes.extend(cpu.map(|percent| Change::ProcessorSpeed { percent }));
    changes.extend(processors.map(|count| Change::Processors { count }));
    let question = WhatIfQuestion { changes, kind, number };
    let invocation = Invocation::new(recording, output, move |recording, destination| {
        run(recording, &question, format, destination)
    });
    Ok(invocation.single_recording().text_if(format == PlainFormat::Text))
}

/// Parses `boot`, `shutdown`, `suspend` or `suspend:N`.
fn parse_transition(text: &str) -> Result<(Option<TransitionKind>, Option<u32>), Failure> {
    let (name, number) = match text.split_once(':') {
        Some((name, number)) => (name, Some(number.parse().ok().filter(|&number: &u32| number > 0))),
        None => (text, None),
    };
    match (TransitionKind::parse(name), number) {
        (Some(kind), None) => Ok((Some(kind), None)),
        (Some(kind), Some(Some(number))) => Ok((Some(kind), Some(number))),
        _ => Err(Failure::usage(format!(
            "--transition: '{text}' is invalid; use boot, shutdown, suspend or suspend:N (N from 1)"
        ))),
    }
}

fn run(
    recording: Recording,
    question: &WhatIfQuestion,
    format: PlainFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, prediction) = super::query(recording, |session| session.what_if(question))?;
    let prediction = prediction.map_err(Failure::from_query_error)?;
    destination.write(|out| {
        match format {
            PlainFormat::Text => text::what_if::write(&prediction, out)?,
            PlainFormat::Json => json::document::write(&[session.provenance()?], &prediction, out)?,
        }
        Ok(())
    })
}
