//! `onoff what-if`.

use std::io::{self, Write};

use onoff::{QueryError, Session};
use onoff_report::text;
use onoff_sections::json;
use onoff_sections::json::document::Document;
use onoff_transitions::TransitionKind;
use onoff_what_if::changes::Change;
use onoff_what_if::prediction::{WhatIfError, WhatIfQuestion};

use crate::arguments::PlainFormat;
use crate::arguments::what_if::WhatIfArguments;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

pub fn resolve(arguments: WhatIfArguments) -> Result<Invocation, Failure> {
    let WhatIfArguments { recording, without, pend, ungroup, delay, parallel, async_probe, .. } = arguments;
    let WhatIfArguments { disk, cpu, processors, plan, limit, transition, format, output, .. } = arguments;
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
    let invocation = Invocation::new(recording, output, move |recording, destination| match (plan, limit) {
        (Some(steps), _) => {
            let ask = |session: &Session| session.what_if_plan(&question, steps);
            run(recording, ask, text::what_if::plan::write, format, destination)
        }
        (None, true) => {
            let ask = |session: &Session| session.what_if_limit(&question);
            run(recording, ask, text::what_if::limit::write, format, destination)
        }
        (None, false) => {
            run(recording, |session| session.what_if(&question), text::what_if::write, format, destination)
        }
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

fn run<A: Document>(
    recording: Recording,
    ask: impl FnOnce(&Session) -> Result<A, QueryError<WhatIfError>>,
    write_text: impl FnOnce(&A, &mut dyn Write) -> io::Result<()>,
    format: PlainFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, answer) = super::query(recording, ask)?;
    let answer = answer.map_err(Failure::from_query_error)?;
    destination.write(|out| {
        match format {
            PlainFormat::Text => write_text(&answer, out)?,
            PlainFormat::Json => json::document::write(&[session.provenance()?], &answer, out)?,
        }
        Ok(())
    })
}
