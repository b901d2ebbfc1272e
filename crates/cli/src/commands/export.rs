//! `onoff export`.

use onoff_analysis::Scope;
use onoff_analysis::functions::FunctionNames;
use onoff_analysis::lists::functions::{CodeTimes, TimeOf};
use onoff_export::{ExportError, ExportedTable, export};
use onoff_report::text::quantity::{count, size};
use onoff_trace::Trace;
use onoff_view::export::{firefox, perfetto};

use super::{functions, view};
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::export::{ExportQuestion, Viewer};
use crate::invocation::symbols::SymbolTask;
use crate::output::Destination;

pub fn run(recording: &Recording, question: &ExportQuestion, destination: &Destination) -> Result<(), Failure> {
    match question {
        ExportQuestion::Viewer(viewer) => {
            let shown = view::one_recording(recording)?;
            let names = match viewer {
                Viewer::Perfetto => FunctionNames::default(),
                Viewer::Firefox(symbols) => names_of_samples(&shown.trace, symbols.clone()),
            };
            destination.write_bytes(|out| {
                match viewer {
                    Viewer::Perfetto => perfetto::write(&shown, out)?,
                    Viewer::Firefox(_) => firefox::write(&shown, &names, out)?,
                }
                Ok(())
            })
        }
        ExportQuestion::Tables(question) => tables(recording, question, destination),
    }
}

fn names_of_samples(trace: &Trace, symbols: SymbolTask) -> FunctionNames {
    let places = CodeTimes::of(trace, &Scope::whole(trace), TimeOf::Samples).places();
    functions::names(symbols)(trace, &places)
}

fn tables(recording: &Recording, question: &onoff_export::Question, destination: &Destination) -> Result<(), Failure> {
    let Some(folder) = &destination.path else {
        return Err(Failure::WrongUsage("name a folder with --output".to_owned()));
    };
    let (_, written) = super::ask(recording.clone(), |session| export(session, question, folder, &mut |_| {}))?;
    let written = written.map_err(|error| match error {
        ExportError::Unreadable(error) => error.into(),
        ExportError::NoRows => Failure::NothingToAnswer(error.to_string()),
        ExportError::NoTable(_) => Failure::WrongUsage(error.to_string()),
        error @ ExportError::Unwritable { .. } => Failure::Unreadable(error.to_string()),
    })?;
    let width = |of: fn(&ExportedTable) -> usize| written.iter().map(of).max().unwrap_or(0);
    let names = width(|table| table.file.len());
    let rows = width(|table| count(table.rows).len());
    Destination { path: None, ..destination.clone() }.write(|out| {
        for table in &written {
            let (rows_of, size_of) = (count(table.rows), size(table.bytes));
            writeln!(out, "{:<names$}  {rows_of:>rows$} rows  {size_of:>9}", table.file)?;
        }
        Ok(())
    })
}
