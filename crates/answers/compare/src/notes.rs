//! Collects notes about a comparison, such as different computers or recordings used on both sides.

use super::report::{ComparisonNote, ComparisonNoteKind, MachineProperty};
use super::run::{Configuration, Machine, Run};

/// Minimum difference in memory size to report: 128 MiB. Firmware reserves a varying part of the memory.
const MIN_MEMORY_BYTES: u64 = 128 << 20;

/// Returns the notes about the compared runs, by configuration.
pub(super) fn notes(configurations: &[Configuration], compared: &[Vec<&Run>]) -> Vec<ComparisonNote> {
    let mut notes = Vec::new();
    let Some((baseline, candidates)) = compared.split_first() else { return notes };
    for (configuration, runs) in configurations.iter().skip(1).zip(candidates) {
        for property in MachineProperty::ALL {
            let (was, is) = (values(baseline, property), values(runs, property));
            if !was.is_empty() && !is.is_empty() && was != is {
                let property = Some(property);
                notes.push(ComparisonNote {
                    property,
                    was,
                    is,
                    ..note(ComparisonNoteKind::MachinesDiffer, configuration)
                });
            }
        }
        for run in runs {
            if let Some(baseline_run) = baseline.iter().find(|baseline_run| run.is_same_recording(baseline_run)) {
                let (run, was) = (run.name.clone(), vec![baseline_run.name.clone()]);
                notes.push(ComparisonNote {
                    run,
                    was,
                    ..note(ComparisonNoteKind::RecordingOnBothSides, configuration)
                });
            }
        }
    }
    // Find runs of one configuration from different computers, and runs that waited for user input.
    for (configuration, runs) in configurations.iter().zip(compared) {
        for property in MachineProperty::ALL {
            let values = values(runs, property);
            if values.len() > 1 {
                let (property, is) = (Some(property), values);
                notes.push(ComparisonNote { property, is, ..note(ComparisonNoteKind::MachinesMixed, configuration) });
            }
        }
        for run in runs.iter().filter(|run| run.user_input_ns > 0) {
            let (run, user_input_ns) = (run.name.clone(), Some(run.user_input_ns));
            notes.push(ComparisonNote {
                run,
                user_input_ns,
                ..note(ComparisonNoteKind::PersonWaitExcluded, configuration)
            });
        }
    }
    notes
}

fn note(kind: ComparisonNoteKind, configuration: &Configuration) -> ComparisonNote {
    ComparisonNote {
        kind,
        configuration: configuration.name.clone(),
        run: String::new(),
        property: None,
        was: Vec::new(),
        is: Vec::new(),
        user_input_ns: None,
    }
}

/// Returns the distinct known values of a property.
fn values(runs: &[&Run], property: MachineProperty) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    let mut memories: Vec<u64> = Vec::new();
    for machine in runs.iter().filter_map(|run| run.machine.as_ref()) {
        let value = match property {
            MachineProperty::Memory => {
                let bytes = machine.memory_bytes;
                if bytes == 0 || memories.iter().any(|memory| memory.abs_diff(bytes) < MIN_MEMORY_BYTES) {
                    continue;
                }
                memories.push(bytes);
                // Rounded to a quarter of a GiB.
                format!("{} GiB", (bytes as f64 / f64::from(1 << 28)).round() / 4.0)
            }
            property => text(machine, property),
        };
        if !value.is_empty() && !values.contains(&value) {
            values.push(value);
        }
    }
    values.sort();
    values
}

fn text(machine: &Machine, property: MachineProperty) -> String {
    match property {
        MachineProperty::Computer => machine.computer.clone(),
        MachineProperty::Model => machine.model.clone(),
        MachineProperty::System => machine.system.clone(),
        MachineProperty::Processor => machine.processor.clone(),
        MachineProperty::Processors if machine.processors > 0 => machine.processors.to_string(),
        MachineProperty::Processors | MachineProperty::Memory => String::new(),
    }
}
