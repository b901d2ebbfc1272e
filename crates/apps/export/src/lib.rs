//! Exports the tables of a recording as files (Parquet, Arrow and CSV), and what is known about many recordings as
//! Parquet tables ([`summary_tables`]).
//!
//! ```
//! use onoff::Session;
//! use onoff_export::{Format, ExportOptions, export};
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../samples/slow-boot.etl");
//! # let bytes = std::fs::read(path)?;
//! # let folder = tempfile::tempdir()?;
//!
//! let session = Session::from_bytes([("slow-boot.etl".to_owned(), bytes)])?;
//! let options = ExportOptions { format: Format::Csv, tables: None };
//! let written = export(&session, &options, &folder.path().join("tables"), &mut |_| {})?;
//! assert!(written.iter().any(|table| table.table.as_str() == "processes" && table.rows > 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Design constraints
//!
//! * There is one file per table, named after the table, and `recording.json` with the output of
//!   `onoff info --format json`, including losses.
//! * Rows and Parquet row groups are in time order, so a reader of a time range can skip the other groups.
//! * Memory is bounded by the largest table: each large table of a large recording is read separately.
//! * The folder is either complete or absent, and never replaces anything.

#![forbid(unsafe_code)]
mod arrow_file;
mod comma_separated;
pub mod documents;
mod ordered_batches;
mod parquet_file;
mod recording_identity;
mod summary_rows;
pub mod summary_tables;
mod time_order;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onoff::Session;
use onoff::answers::evidence::recording::summarize;
use onoff::sections::json;
use onoff::sources::read_tables;
use onoff::trace::{DECLARATIONS, TableName, TableSet, TableView, Trace};
use onoff_sink::OutputFolder;

use time_order::TimeOrder;

/// Minimum size in bytes of a recording that is read once per large table, so that only one large table is in memory.
const LARGE_RECORDING_BYTES: u64 = 64 << 20;

/// The tables that need the most memory, in groups that are read separately; all others are read together. Each group
/// costs another pass over the recording.
const LARGE_TABLES: &[&[TableName]] = &[
    &[TableName::ContextSwitches],
    &[TableName::Stacks],
    &[TableName::FileIos],
    &[TableName::Events, TableName::EventFields],
];

/// The format of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Parquet with Zstandard, delta-encoded times, and row groups in time order.
    Parquet,
    /// The Arrow file format (Feather 2) with Zstandard.
    Arrow,
    /// Comma-separated values with a header line. Times are integer nanoseconds; unknown values are empty.
    Csv,
}

impl Format {
    /// Returns the file name extension.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Csv => "csv",
        }
    }
}

/// What to export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportOptions {
    pub format: Format,
    /// The tables, including empty ones; `None` for every table with rows.
    pub tables: Option<Vec<TableName>>,
}

/// A written table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedTable {
    pub table: TableName,
    /// Name of the file in the folder.
    pub file: String,
    pub rows: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// An export that failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Unreadable(#[from] onoff::Error),
    #[error("no table of this recording has any rows")]
    NoRows,
    /// The name belongs to a count, which is not a table.
    #[error("'{}' is a count, not a table; it is in recording.json", .0.as_str())]
    NoTable(TableName),
    #[error("{}: cannot write the table: {source}", path.display())]
    Unwritable {
        /// The folder or file.
        path: PathBuf,
        source: io::Error,
    },
}

/// Writes tables of the recording to a new folder and calls `on_table_written` for each complete file. The folder
/// appears only once all files are complete.
///
/// # Errors
/// The recording cannot be read or has no rows, the folder is not empty, or the disk is full.
pub fn export(
    session: &Session,
    options: &ExportOptions,
    folder: &Path,
    on_table_written: &mut dyn FnMut(&ExportedTable),
) -> Result<Vec<ExportedTable>, ExportError> {
    if let Some(&count) = options.tables.iter().flatten().find(|&&name| name == TableName::Inventory) {
        return Err(ExportError::NoTable(count));
    }
    let cannot_write = |source: io::Error| ExportError::Unwritable { path: folder.to_owned(), source };
    let output = OutputFolder::create(folder).map_err(cannot_write)?;
    let is_selected = |name: TableName| options.tables.as_ref().is_none_or(|tables| tables.contains(&name));
    let names: Vec<TableName> = DECLARATIONS.iter().map(|table| table.name).filter(|&name| is_selected(name)).collect();
    let recording_bytes: u64 = session.files().iter().map(|file| file.bytes().len() as u64).sum();
    let mut exported = Vec::new();
    for group in table_groups(&names, recording_bytes) {
        let trace = Arc::new(read_tables(session.files(), required_tables(&group), session.options())?);
        for &name in &group {
            let view = trace.table(name);
            if view.is_empty() && options.tables.is_none() {
                continue;
            }
            let table = write_table(&trace, &view, name, options.format, output.path())?;
            on_table_written(&table);
            exported.push(table);
        }
    }
    if exported.is_empty() {
        return Err(ExportError::NoRows);
    }
    let inventory = read_tables(session.files(), TableSet::from_names(&[TableName::Inventory]), session.options())?;
    let path = output.path().join("recording.json");
    let mut out = BufWriter::new(File::create(&path).map_err(cannot_write)?);
    json::document::write(&[session.provenance()?], &summarize(&inventory), &mut out).map_err(cannot_write)?;
    out.flush().map_err(cannot_write)?;
    drop(out);
    output.commit().map_err(cannot_write)?;
    Ok(exported)
}

/// Returns the groups of tables that are read together.
fn table_groups(names: &[TableName], recording_bytes: u64) -> Vec<Vec<TableName>> {
    if recording_bytes < LARGE_RECORDING_BYTES {
        return vec![names.to_vec()];
    }
    let is_large = |name: &TableName| LARGE_TABLES.iter().any(|group| group.contains(name));
    let small = names.iter().copied().filter(|name| !is_large(name)).collect();
    let large = LARGE_TABLES.iter().map(|group| names.iter().copied().filter(|name| group.contains(name)).collect());
    std::iter::once(small).chain(large).filter(|group: &Vec<TableName>| !group.is_empty()).collect()
}

/// Returns the tables to read in order to write `tables`: event fields need events.
fn required_tables(tables: &[TableName]) -> TableSet {
    match tables.contains(&TableName::EventFields) {
        true => TableSet::from_names(tables).with(TableName::Events),
        false => TableSet::from_names(tables),
    }
}

fn write_table(
    trace: &Arc<Trace>,
    view: &TableView<'_>,
    name: TableName,
    format: Format,
    folder: &Path,
) -> Result<ExportedTable, ExportError> {
    let file = format!("{}.{}", name.as_str(), format.extension());
    let path = folder.join(&file);
    let write = || -> io::Result<u64> {
        let order = TimeOrder::from_view(view);
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        match format {
            Format::Parquet => parquet_file::write(trace, name, &order, &mut out)?,
            Format::Arrow => arrow_file::write(trace, name, &order, &mut out)?,
            Format::Csv => comma_separated::write(trace, view, &order, &mut out)?,
        }
        out.flush()?;
        out.get_ref().metadata().map(|metadata| metadata.len())
    };
    // Report only the file name, because the temporary folder no longer exists after a failure.
    let bytes = write().map_err(|source| ExportError::Unwritable { path: PathBuf::from(&file), source })?;
    Ok(ExportedTable { table: name, file, rows: view.len() as u64, bytes })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn reads_large_tables_of_large_recordings_separately() {
        let names = [TableName::Processes, TableName::Stacks, TableName::Threads, TableName::ContextSwitches];
        assert_eq!(table_groups(&names, 1 << 20), [names.to_vec()]);
        let separate = table_groups(&names, 1 << 30);
        let small = vec![TableName::Processes, TableName::Threads];
        assert_eq!(separate, [small, vec![TableName::ContextSwitches], vec![TableName::Stacks]]);
        let mut all_names: Vec<TableName> =
            table_groups(&DECLARATIONS.iter().map(|table| table.name).collect::<Vec<_>>(), 1 << 30).concat();
        all_names.sort_unstable();
        assert_eq!(all_names.len(), DECLARATIONS.len());
        all_names.dedup();
        assert_eq!(all_names.len(), DECLARATIONS.len());
        assert_eq!(table_groups(&[TableName::Stacks], 1 << 30), [[TableName::Stacks]]);
    }

    /// Writes a table as CSV.
    fn csv_text(trace: &Trace, name: TableName) -> String {
        let view = trace.table(name);
        let mut out = Vec::new();
        comma_separated::write(trace, &view, &TimeOrder::from_view(&view), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The export of large recordings relies on this: the tables that are read together do not affect each other.
    #[test]
    fn separately_read_tables_are_identical() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples");
        let (mut compared, mut different) = (0, Vec::new());
        for sample in ["slow-boot.etl", "slow-sleep.etl", "linux-boot.tar.xz", "netboot-slow-link.pcap.xz"] {
            let bytes = std::fs::read(samples.join(sample)).unwrap();
            let session = Session::from_bytes([(sample.to_owned(), bytes)]).unwrap();
            let all_tables = read_tables(session.files(), TableSet::all(), session.options()).unwrap();
            for name in DECLARATIONS.iter().map(|table| table.name).filter(|&name| !all_tables.table(name).is_empty()) {
                let separate = read_tables(session.files(), required_tables(&[name]), session.options()).unwrap();
                if csv_text(&separate, name) != csv_text(&all_tables, name) {
                    different.push(format!("{sample}: {}", name.as_str()));
                }
                compared += 1;
            }
        }
        assert!(different.is_empty(), "{different:#?}");
        assert!(compared > 20, "{compared} tables");
    }
}
