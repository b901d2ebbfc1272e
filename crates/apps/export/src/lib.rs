//! A recording's tables as files that other programs read: Parquet and Arrow (feature `columnar`), and comma-separated values.
//!
//! ```
//! use onoff::Session;
//! use onoff_export::{Format, Question, export};
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../samples/slow-boot.etl");
//! # let bytes = std::fs::read(path)?;
//! # let folder = tempfile::tempdir()?;
//!
//! let session = Session::from_bytes([("slow-boot.etl".to_owned(), bytes)])?;
//! let question = Question { format: Format::Csv, tables: None };
//! let written = export(&session, &question, &folder.path().join("tables"), &mut |_| {})?;
//! assert!(written.iter().any(|table| table.table.as_str() == "processes" && table.rows > 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Design constraints
//!
//! * One file per table, called by the table's name, and `recording.json`: what `onoff info --format json` says, losses included.
//! * Rows are in the order of time. Parquet's row groups follow it, so that a reader of a stretch of time skips the others.
//! * Memory stays at what the largest table needs: of a large recording each large table is read by itself.
//! * The folder is complete or not there, and takes the place of nothing.

#![forbid(unsafe_code)]

#[cfg(feature = "columnar")]
mod arrow_file;
mod comma_separated;
#[cfg(feature = "columnar")]
mod ordered_batches;
#[cfg(feature = "columnar")]
mod parquet_file;
mod time_order;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onoff::Session;
use onoff::answers::evidence::recording::summarize;
use onoff::sections::json;
use onoff::sources::read_tables;
use onoff::trace::{DECLARATIONS, TableName, TableView, Tables, Trace};
use onoff_sink::OutputFolder;

use time_order::TimeOrder;

/// A recording of at least this many bytes is read once for each of its large tables, so that only one of them is in memory.
const LARGE_RECORDING: u64 = 64 << 20;

/// The tables that take most memory, each group read by itself; all others are read together. A group costs another walk through the
/// recording.
const LARGE_TABLES: &[&[TableName]] = &[
    &[TableName::ContextSwitches],
    &[TableName::Stacks],
    &[TableName::FileIos],
    &[TableName::Events, TableName::EventFields],
];

/// What the files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Parquet: Zstandard, times as differences, row groups by time.
    #[cfg(feature = "columnar")]
    Parquet,
    /// Arrow's file format (Feather 2), Zstandard.
    #[cfg(feature = "columnar")]
    Arrow,
    /// Comma-separated values with a line of names. Times are whole nanoseconds, what is not known is empty.
    Csv,
}

impl Format {
    /// How the files' names end.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            #[cfg(feature = "columnar")]
            Self::Parquet => "parquet",
            #[cfg(feature = "columnar")]
            Self::Arrow => "arrow",
            Self::Csv => "csv",
        }
    }
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What the files are.
    pub format: Format,
    /// Which tables, also those without a row; every table with rows when `None`.
    pub tables: Option<Vec<TableName>>,
}

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedTable {
    /// Which.
    pub table: TableName,
    /// Its file's name in the folder.
    pub file: String,
    /// Rows.
    pub rows: u64,
    /// Size of the file, bytes.
    pub bytes: u64,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recording cannot be read.
    #[error(transparent)]
    Unreadable(#[from] onoff::Error),
    /// No table of the recording has a row.
    #[error("no table of this recording has a row")]
    NoRows,
    /// A table was named that has no rows.
    #[error("'{}' is a count, not a table; recording.json holds it", .0.as_str())]
    NoTable(TableName),
    /// A file cannot be written.
    #[error("{}: cannot write the table: {source}", path.display())]
    Unwritable {
        /// The folder or file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Writes tables of the recording into a new folder. `written` hears of each table when its file is complete; the folder is there at the
/// end, or not at all.
///
/// # Errors
/// A recording that cannot be read or has no row, a folder that is not empty, or no space.
pub fn export(
    session: &Session,
    question: &Question,
    folder: &Path,
    written: &mut dyn FnMut(&ExportedTable),
) -> Result<Vec<ExportedTable>, ExportError> {
    if let Some(&count) = question.tables.iter().flatten().find(|&&name| name == TableName::Inventory) {
        return Err(ExportError::NoTable(count));
    }
    let failed = |source: io::Error| ExportError::Unwritable { path: folder.to_owned(), source };
    let output = OutputFolder::create(folder).map_err(failed)?;
    let is_wanted = |name: TableName| question.tables.as_ref().is_none_or(|tables| tables.contains(&name));
    let wanted: Vec<TableName> = DECLARATIONS.iter().map(|table| table.name).filter(|&name| is_wanted(name)).collect();
    let size: u64 = session.files().iter().map(|file| file.bytes().len() as u64).sum();
    let mut all = Vec::new();
    for group in groups(&wanted, size) {
        let trace = Arc::new(read_tables(session.files(), read_for(&group), session.options())?);
        for &name in &group {
            let view = trace.table(name);
            if view.is_empty() && question.tables.is_none() {
                continue;
            }
            let table = write_table(&trace, &view, name, question.format, output.path())?;
            written(&table);
            all.push(table);
        }
    }
    if all.is_empty() {
        return Err(ExportError::NoRows);
    }
    let counted = read_tables(session.files(), Tables::of(&[TableName::Inventory]), session.options())?;
    let path = output.path().join("recording.json");
    let mut out = BufWriter::new(File::create(&path).map_err(failed)?);
    json::document::write(&[session.provenance()?], &summarize(&counted), &mut out).map_err(failed)?;
    out.flush().map_err(failed)?;
    drop(out);
    output.commit().map_err(failed)?;
    Ok(all)
}

/// Which tables are read together.
fn groups(wanted: &[TableName], size: u64) -> Vec<Vec<TableName>> {
    if size < LARGE_RECORDING {
        return vec![wanted.to_vec()];
    }
    let is_large = |name: &TableName| LARGE_TABLES.iter().any(|group| group.contains(name));
    let small = wanted.iter().copied().filter(|name| !is_large(name)).collect();
    let large = LARGE_TABLES.iter().map(|group| wanted.iter().copied().filter(|name| group.contains(name)).collect());
    std::iter::once(small).chain(large).filter(|group: &Vec<TableName>| !group.is_empty()).collect()
}

/// What is read to write these tables: the fields of events are those of the events that are read.
fn read_for(tables: &[TableName]) -> Tables {
    match tables.contains(&TableName::EventFields) {
        true => Tables::of(tables).with(TableName::Events),
        false => Tables::of(tables),
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
        let order = TimeOrder::of(view);
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        match format {
            #[cfg(feature = "columnar")]
            Format::Parquet => parquet_file::write(trace, name, &order, &mut out)?,
            #[cfg(feature = "columnar")]
            Format::Arrow => arrow_file::write(trace, name, &order, &mut out)?,
            Format::Csv => comma_separated::write(trace, view, &order, &mut out)?,
        }
        out.flush()?;
        out.get_ref().metadata().map(|metadata| metadata.len())
    };
    // The file's own name lies in a folder that is gone after a failure.
    let bytes = write().map_err(|source| ExportError::Unwritable { path: PathBuf::from(&file), source })?;
    Ok(ExportedTable { table: name, file, rows: view.len() as u64, bytes })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn of_a_large_recording_each_large_table_is_read_by_itself() {
        let wanted = [TableName::Processes, TableName::Stacks, TableName::Threads, TableName::ContextSwitches];
        assert_eq!(groups(&wanted, 1 << 20), [wanted.to_vec()]);
        let apart = groups(&wanted, 1 << 30);
        let small = vec![TableName::Processes, TableName::Threads];
        assert_eq!(apart, [small, vec![TableName::ContextSwitches], vec![TableName::Stacks]]);
        let mut every: Vec<TableName> =
            groups(&DECLARATIONS.iter().map(|table| table.name).collect::<Vec<_>>(), 1 << 30).concat();
        every.sort_unstable();
        assert_eq!(every.len(), DECLARATIONS.len());
        every.dedup();
        assert_eq!(every.len(), DECLARATIONS.len());
        assert_eq!(groups(&[TableName::Stacks], 1 << 30), [[TableName::Stacks]]);
    }

    /// What a table looks like as comma-separated values.
    fn text(trace: &Trace, name: TableName) -> String {
        let view = trace.table(name);
        let mut out = Vec::new();
        comma_separated::write(trace, &view, &TimeOrder::of(&view), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Large recordings rest on it: how many others are read with a table changes nothing in it.
    #[test]
    fn a_table_read_by_itself_is_the_same_as_among_all() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples");
        let (mut compared, mut different) = (0, Vec::new());
        for sample in ["slow-boot.etl", "slow-sleep.etl", "linux-boot.tar.xz", "netboot-slow-link.pcap.xz"] {
            let bytes = std::fs::read(samples.join(sample)).unwrap();
            let session = Session::from_bytes([(sample.to_owned(), bytes)]).unwrap();
            let all = read_tables(session.files(), Tables::all(), session.options()).unwrap();
            for name in DECLARATIONS.iter().map(|table| table.name).filter(|&name| !all.table(name).is_empty()) {
                let alone = read_tables(session.files(), read_for(&[name]), session.options()).unwrap();
                if text(&alone, name) != text(&all, name) {
                    different.push(format!("{sample}: {}", name.as_str()));
                }
                compared += 1;
            }
        }
        assert!(different.is_empty(), "{different:#?}");
        assert!(compared > 20, "{compared} tables");
    }
}
