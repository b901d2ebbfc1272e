//! Notes on a comparison, above the numbers.

use std::io::{self, Write};

use onoff_compare::{ComparisonNote, ComparisonNoteKind, MachineProperty};

use crate::text::printable::printable;
use crate::text::quantity::duration;
use crate::text::style::{DOUBT, styled};

/// Writes the notes, one per line.
pub(in crate::text) fn write(notes: &[ComparisonNote], out: &mut dyn Write) -> io::Result<()> {
    for note in notes {
        writeln!(out, "{}", styled(DOUBT, sentence(note)))?;
    }
    Ok(())
}

/// Describes a note in a sentence.
pub(super) fn sentence(note: &ComparisonNote) -> String {
    let configuration = printable(&note.configuration);
    let run = printable(&note.run);
    let property = note.property.map_or("", property_name);
    match note.kind {
        ComparisonNoteKind::MachinesDiffer => {
            format!("{configuration} has a different {property}: {}, was {}.", list(&note.is), list(&note.was))
        }
        ComparisonNoteKind::MachinesMixed => {
            format!("The runs of {configuration} differ in {property}: {}.", list(&note.is))
        }
        ComparisonNoteKind::RecordingOnBothSides => {
            format!("{run} is the same recording as {} of the baseline.", list(&note.was))
        }
        ComparisonNoteKind::PersonWaitExcluded => {
            let time = duration(note.user_input_ns.unwrap_or(0));
            format!("{run}: {time} of waiting for the user is excluded from all numbers.")
        }
    }
}

const fn property_name(property: MachineProperty) -> &'static str {
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
