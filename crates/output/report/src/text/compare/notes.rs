//! What to know before the numbers.

use std::io::{self, Write};

use onoff_compare::{ComparisonNote, ComparisonNoteKind, MachineProperty};

use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::style::{DOUBT, styled};

/// Writes the notes, a line each.
pub(in crate::text) fn write(notes: &[ComparisonNote], out: &mut dyn Write) -> io::Result<()> {
    for note in notes {
        writeln!(out, "{}", styled(DOUBT, sentence(note)))?;
    }
    Ok(())
}

/// A note as a sentence.
pub(super) fn sentence(note: &ComparisonNote) -> String {
    let configuration = printable(&note.configuration);
    let run = printable(&note.run);
    let property = note.property.map_or("", what);
    match note.kind {
        ComparisonNoteKind::MachinesDiffer => {
            format!("{configuration} has another {property}: {}, was {}.", list(&note.is), list(&note.was))
        }
        ComparisonNoteKind::MachinesMixed => {
            format!("The runs of {configuration} do not have one {property}: {}.", list(&note.is))
        }
        ComparisonNoteKind::OnBothSides => {
            format!("{run} is the same recording as {} of the baseline.", list(&note.was))
        }
        ComparisonNoteKind::PersonTakenOff => {
            let time = duration(note.person_ns.unwrap_or(0));
            format!("{run}: {time} in which a person was waited for are in no number.")
        }
    }
}

const fn what(property: MachineProperty) -> &'static str {
    match property {
        MachineProperty::Computer => "computer name",
        MachineProperty::Model => "model",
        MachineProperty::System => "system",
        MachineProperty::Processor => "processor",
        MachineProperty::Processors => "number of processors",
        MachineProperty::Memory => "memory size",
    }
}

fn list(values: &[String]) -> String {
    values.iter().map(|value| printable(value).into_owned()).collect::<Vec<_>>().join(", ")
}
