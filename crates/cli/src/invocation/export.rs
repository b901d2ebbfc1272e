//! What the arguments of `onoff export` mean.

use onoff_trace::TableName;

use super::symbols::SymbolTask;
use super::{Invocation, Task};
use crate::arguments::export::{ExportArguments, ExportFormat};
use crate::failure::Failure;
use crate::output::Destination;

/// Another viewer that a file is written for.
#[derive(Clone, Debug)]
pub enum Viewer {
    /// Perfetto.
    Perfetto,
    /// The Firefox Profiler, with functions by their names.
    Firefox(SymbolTask),
}

/// What is written.
#[derive(Clone, Debug)]
pub enum ExportQuestion {
    /// One file, for another viewer.
    Viewer(Viewer),
    /// A folder of tables.
    Tables(onoff_export::Question),
}

/// Settles what the arguments mean.
pub fn resolve(arguments: ExportArguments) -> Result<Invocation, Failure> {
    if arguments.symbols.symbols.is_some() && arguments.format != ExportFormat::Firefox {
        return Err(Failure::WrongUsage("--symbols goes with --format firefox, which has functions".to_owned()));
    }
    let question = match arguments.format {
        ExportFormat::Perfetto => viewer(Viewer::Perfetto, arguments.tables.as_ref())?,
        ExportFormat::Firefox => {
            viewer(Viewer::Firefox(SymbolTask::resolve(arguments.symbols)), arguments.tables.as_ref())?
        }
        ExportFormat::Parquet | ExportFormat::Arrow | ExportFormat::Csv => {
            let format = format(arguments.format)?;
            ExportQuestion::Tables(onoff_export::Question { format, tables: arguments.tables })
        }
    };
    Ok(Invocation {
        task: Task::Export(question),
        recording: arguments.recording.into(),
        destination: Destination { path: Some(arguments.output), ..Destination::default() },
    })
}

fn viewer(viewer: Viewer, tables: Option<&Vec<TableName>>) -> Result<ExportQuestion, Failure> {
    match tables {
        None => Ok(ExportQuestion::Viewer(viewer)),
        Some(_) => Err(Failure::WrongUsage("--tables goes with --format parquet, arrow or csv".to_owned())),
    }
}

fn format(format: ExportFormat) -> Result<onoff_export::Format, Failure> {
    match format {
        #[cfg(feature = "columnar")]
        ExportFormat::Parquet => Ok(onoff_export::Format::Parquet),
        #[cfg(feature = "columnar")]
        ExportFormat::Arrow => Ok(onoff_export::Format::Arrow),
        #[cfg(not(feature = "columnar"))]
        ExportFormat::Parquet | ExportFormat::Arrow => Err(Failure::WrongUsage(
            "this onoff was built without Parquet and Arrow: build it with '--features columnar', or use --format csv"
                .to_owned(),
        )),
        _ => Ok(onoff_export::Format::Csv),
    }
}
