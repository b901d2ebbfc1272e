//! The verbs that list rows of any range.

use onoff::{List, ListQuestion, NoList, OutOfRange, Refusal};

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
    let (session, answer) = super::ask(recording, |session| session.list(list, question))?;
    let answer = answer.map_err(|refusal| match refusal {
        Refusal::Unreadable(error) => error.into(),
        Refusal::Nothing(NoList::Column(error)) => Failure::WrongUsage(format!("--sort: {error}")),
        Refusal::Nothing(error @ NoList::OfNoProcess(_)) => Failure::WrongUsage(format!("--process: {error}")),
        Refusal::Nothing(NoList::Phase(error)) => Failure::NothingToAnswer(error.to_string()),
        Refusal::Nothing(NoList::Range(error @ OutOfRange::Order { .. })) => {
            Failure::WrongUsage(format!("--range: {error}"))
        }
        Refusal::Nothing(NoList::Range(error)) => Failure::NothingToAnswer(format!("--range: {error}")),
        Refusal::Nothing(NoList::Nothing(nothing)) => Failure::NothingToAnswer(nothing),
    })?;
    to.write(|out| {
        match format {
            TableFormat::Text => answer.write_text(out)?,
            TableFormat::Json => answer.write_json(&[session.provenance()?], out)?,
            TableFormat::Csv => answer.write_csv(out)?,
        }
        Ok(())
    })
}
