//! `onoff export`.

use onoff_evidence::Scope;
use onoff_export::{ExportError, ExportedTable, Format, Question, export};
use onoff_lists::functions::{CodeTimes, TimeKind};
use onoff_page::export::{firefox, perfetto};
use onoff_report::text::quantity::{count, size};
use onoff_trace::Trace;
use onoff_usage::functions::FunctionNames;

use super::symbols::SymbolTask;
use super::{functions, view};
use crate::arguments::export::{ExportArguments, ExportFormat};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

pub fn resolve(arguments: ExportArguments) -> Result<Invocation, Failure> {
    let ExportArguments { recording, format, tables, symbols, output } = arguments;
    if symbols.symbols.is_some() && format != ExportFormat::Firefox {
        return Err(Failure::usage("--symbols requires --format firefox"));
    }
    let viewer = matches!(format, ExportFormat::Perfetto | ExportFormat::Firefox);
    if viewer && tables.is_some() {
        return Err(Failure::usage("--tables requires --format parquet, arrow or csv"));
    }
    let destination = Destination { path: Some(output), ..Destination::default() };
    let invocation = match format {
        ExportFormat::Perfetto => Invocation::new(recording, destination, |recording, destination| {
            let shown = view::one_recording(&recording)?;
            destination.write_bytes(|out| Ok(perfetto::write(&shown, out)?))
        }),
        ExportFormat::Firefox => {
            let symbols = SymbolTask::resolve(symbols);
            Invocation::new(recording, destination, |recording, destination| {
                let shown = view::one_recording(&recording)?;
                let names = names_of_samples(&shown.trace, symbols);
                destination.write_bytes(|out| Ok(firefox::write(&shown, &names, out)?))
            })
        }
        ExportFormat::Parquet | ExportFormat::Arrow | ExportFormat::Csv => {
            let question = Question { format: table_format(format)?, tables };
            Invocation::new(recording, destination, move |recording, destination| {
                self::tables(recording, &question, destination)
            })
        }
    };
    Ok(invocation.single_recording())
}

fn table_format(format: ExportFormat) -> Result<Format, Failure> {
    match format {
        #[cfg(feature = "columnar")]
        ExportFormat::Parquet => Ok(Format::Parquet),
        #[cfg(feature = "columnar")]
        ExportFormat::Arrow => Ok(Format::Arrow),
        #[cfg(not(feature = "columnar"))]
        ExportFormat::Parquet | ExportFormat::Arrow => Err(Failure::usage(
            "this onoff was built without Parquet and Arrow support: build it with '--features columnar', or use --format csv",
        )),
        _ => Ok(Format::Csv),
    }
}

fn names_of_samples(trace: &Trace, symbols: SymbolTask) -> FunctionNames {
    let places = CodeTimes::new(trace, &Scope::whole(trace), TimeKind::Samples).locations();
    functions::names(symbols)(trace, &places)
}

fn tables(recording: Recording, question: &Question, destination: &Destination) -> Result<(), Failure> {
    let Some(folder) = &destination.path else { return Err(Failure::usage("name a folder with --output")) };
    let (_, written) = super::ask(recording, |session| export(session, question, folder, &mut |_| {}))?;
    let written = written.map_err(|error| match error {
        ExportError::Unreadable(error) => error.into(),
        ExportError::NoRows => Failure::NoData(error.to_string()),
        ExportError::NoTable(_) => Failure::Usage(error.to_string()),
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
