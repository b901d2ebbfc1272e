//! `onoff why`.

use onoff_analysis::Interval;
use onoff_analysis::transition::{boot, shutdown, suspend};
use onoff_analysis::waits::{WHY_TABLES, why};
use onoff_report::{folded, json, text};

use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::why::{WhyFormat, WhyTask};
use crate::output::Destination;

pub fn run(recording: Recording, mut task: WhyTask, destination: &Destination) -> Result<(), Failure> {
    let tables = WHY_TABLES.union(boot::TABLES).union(shutdown::TABLES).union(suspend::TABLES);
    let (session, trace) = super::open(recording, tables)?;
    if let Some(at) = task.at {
        let resolved = at.resolve_on(&trace.clock).ok_or_else(|| {
            Failure::NothingToAnswer(
                "--at: the recording does not know real time, or the time lies outside of what it can hold".to_owned(),
            )
        })?;
        task.question.at_ns = Some(resolved);
    }
    if let Some(name) = &task.phase {
        let phase = super::phase(&trace, name)?;
        task.question.within = Some(Interval::new(phase.start_ns, phase.end_ns));
    }
    let mut report = why(&trace, &task.question).map_err(|answer| Failure::NothingToAnswer(answer.to_string()))?;
    super::functions::name(&trace, task.symbols, &mut report);
    destination.write(|out| {
        match task.format {
            WhyFormat::Text(options) => text::why::write(&report, &options, out)?,
            WhyFormat::Json => json::document::write(&[session.provenance()?], &report, out)?,
            WhyFormat::Folded => folded::write(&report, out)?,
        }
        Ok(())
    })
}
