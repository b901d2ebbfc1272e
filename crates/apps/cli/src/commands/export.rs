//! `onoff export`.

use onoff_evidence::Scope;
use onoff_export::{ExportError, ExportOptions, ExportedTable, Format, export};
use onoff_lists::functions::{CodeTimes, TimeKind};
use onoff_page::export::{chrome, firefox, openmetrics, otlp, perfetto, pprof};
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
    if symbols.symbols.is_some() && !matches!(format, ExportFormat::Firefox | ExportFormat::Pprof) {
        return Err(Failure::usage("--symbols requires --format firefox or pprof"));
    }
    let has_tables = matches!(format, ExportFormat::Parquet | ExportFormat::Arrow | ExportFormat::Csv);
    if !has_tables && tables.is_some() {
        return Err(Failure::usage("--tables requires --format parquet, arrow or csv"));
    }
    let destination = Destination { path: Some(output), ..Destination::default() };
    let invocation = match format {
        ExportFormat::Perfetto => Invocation::new(recording, destination, |recording, destination| {
            let loaded = view::one_recording(&recording)?;
            destination.write_bytes(|out| Ok(perfetto::write(&loaded, out)?))
        }),
        ExportFormat::Firefox => {
            let symbols = SymbolTask::resolve(symbols);
            Invocation::new(recording, destination, |recording, destination| {
                let loaded = view::one_recording(&recording)?;
                let names = sampled_function_names(&loaded.trace, symbols);
                destination.write_bytes(|out| Ok(firefox::write(&loaded, &names, out)?))
            })
        }
        ExportFormat::Chrome => Invocation::new(recording, destination, |recording, destination| {
            let loaded = view::one_recording(&recording)?;
            destination.write_bytes(|out| Ok(chrome::write(&loaded, out)?))
        }),
        ExportFormat::Pprof => {
            let symbols = SymbolTask::resolve(symbols);
            Invocation::new(recording, destination, |recording, destination| {
                let loaded = view::one_recording(&recording)?;
                let names = sampled_function_names(&loaded.trace, symbols);
                destination.write_bytes(|out| match pprof::write(&loaded, &names, out)? {
                    true => Ok(()),
                    false => Err(Failure::no_data("no CPU samples in this recording")),
                })
            })
        }
        ExportFormat::Otlp => Invocation::new(recording, destination, |recording, destination| {
            let loaded = view::one_recording(&recording)?;
            destination
                .write_bytes(|out| otlp::write(&loaded, out)?.map_err(|reason| Failure::no_data(reason.to_string())))
        }),
        ExportFormat::Openmetrics => Invocation::new(recording, destination, |recording, destination| {
            let loaded = view::one_recording(&recording)?;
            destination.write_bytes(|out| Ok(openmetrics::write(&loaded, out)?))
        }),
        ExportFormat::Parquet | ExportFormat::Arrow | ExportFormat::Csv => {
            let options = ExportOptions { format: table_format(format), tables };
            Invocation::new(recording, destination, move |recording, destination| {
                export_tables(recording, &options, destination)
            })
        }
    };
    Ok(invocation.single_recording())
}

const fn table_format(format: ExportFormat) -> Format {
    match format {
        ExportFormat::Parquet => Format::Parquet,
        ExportFormat::Arrow => Format::Arrow,
        _ => Format::Csv,
    }
}

fn sampled_function_names(trace: &Trace, symbols: SymbolTask) -> FunctionNames {
    let places = CodeTimes::new(trace, &Scope::whole_recording(trace), TimeKind::Samples).locations();
    functions::name_resolver(symbols)(trace, &places)
}

fn export_tables(recording: Recording, options: &ExportOptions, destination: &Destination) -> Result<(), Failure> {
    let Some(folder) = &destination.path else { return Err(Failure::usage("name a folder with --output")) };
    let (_, exported) = super::query(recording, |session| export(session, options, folder, &mut |_| {}))?;
    let exported = exported.map_err(|error| match error {
        ExportError::Unreadable(error) => error.into(),
        ExportError::NoRows => Failure::NoData(error.to_string()),
        ExportError::NoTable(_) => Failure::Usage(error.to_string()),
        error @ ExportError::Unwritable { .. } => Failure::Unreadable(error.to_string()),
    })?;
    let max_width = |text_width: fn(&ExportedTable) -> usize| exported.iter().map(text_width).max().unwrap_or(0);
    let name_width = max_width(|table| table.file.len());
    let count_width = max_width(|table| count(table.rows).len());
    Destination { path: None, ..destination.clone() }.write(|out| {
        for table in &exported {
            let (row_count, file_size) = (count(table.rows), size(table.bytes));
            writeln!(out, "{:<name_width$}  {row_count:>count_width$} rows  {file_size:>9}", table.file)?;
        }
        Ok(())
    })
}
