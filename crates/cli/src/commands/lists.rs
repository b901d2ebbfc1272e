//! The verbs that list rows of any range.

use onoff::{List, ListQuestion, NoList, OutOfRange, Refusal};
use onoff_report::svg;
use onoff_report::text::quantity::duration;

use crate::arguments::table::TableFormat;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::output::Destination;

pub fn run(
    recording: Recording,
    list: &List,
    (question, format): (&ListQuestion, TableFormat),
    to: &Destination,
) -> Result<(), Failure> {
    if format == TableFormat::Svg {
        return flame_graph(recording, question, to);
    }
    let (session, answer) = super::ask(recording, |session| session.list(list, question))?;
    let answer = answer.map_err(refused)?;
    to.write(|out| {
        match format {
            TableFormat::Text => answer.write_text(out)?,
            TableFormat::Json => answer.write_json(&[session.provenance()?], out)?,
            // A picture was drawn already.
            TableFormat::Csv | TableFormat::Svg => answer.write_csv(out)?,
        }
        Ok(())
    })
}

/// Where the processors were, as a picture.
fn flame_graph(recording: Recording, question: &ListQuestion, to: &Destination) -> Result<(), Failure> {
    let (_, answer) = super::ask(recording, |session| session.sampled(question))?;
    let (flame, scope) = answer.map_err(refused)?;
    let (from, until) = (duration(scope.range.start_ns), duration(scope.range.end_ns));
    to.write(|out| {
        Ok(svg::flame::write(&flame, "Where the processors were", &format!("samples, {from} to {until}"), out)?)
    })
}

fn refused(refusal: Refusal<NoList>) -> Failure {
    match refusal {
        Refusal::Unreadable(error) => error.into(),
        Refusal::Nothing(NoList::Column(error)) => Failure::WrongUsage(format!("--sort: {error}")),
        Refusal::Nothing(error @ NoList::OfNoProcess(_)) => Failure::WrongUsage(format!("--process: {error}")),
        Refusal::Nothing(NoList::Phase(error)) => Failure::NothingToAnswer(error.to_string()),
        Refusal::Nothing(NoList::Range(error @ OutOfRange::Order { .. })) => {
            Failure::WrongUsage(format!("--range: {error}"))
        }
        Refusal::Nothing(NoList::Range(error)) => Failure::NothingToAnswer(format!("--range: {error}")),
        Refusal::Nothing(NoList::Nothing(nothing)) => Failure::NothingToAnswer(nothing),
    }
}
