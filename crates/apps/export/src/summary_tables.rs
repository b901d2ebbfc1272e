//! What is known about many recordings as Parquet tables: recordings, transitions, phases, what each phase is blamed
//! on, services, devices, findings, losses, and versions of modules.
//!
//! The Python package writes the same tables (`onoff.summaries`), and adds new recordings to the folder. Each table is
//! a folder with files of the same names; the rows of a recording are in files of one name.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use onoff::Session;
use onoff::report::text::causes::with_causes;
use onoff_sink::OutputFolder;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::documents::all_documents;
use crate::recording_identity::{content_hash, stamp};
use crate::summary_rows::{NO_TRANSITION, Rows, failure, rows};

/// Version of the rows, as in the Python package.
const SCHEMA: i64 = 4;
/// Version of rows about files that may be readable later.
const TRANSIENT: i64 = 0;
/// Number of recordings in a file, which bounds the memory.
const RECORDINGS_PER_FILE: usize = 256;

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Boolean,
}
use Kind::{Boolean, Number, Text};

/// The tables and their columns, after the column `recording`. The first one is written last: it makes the rows of a
/// recording valid.
const TABLES: &[(&str, &[(&str, Kind)])] = &[
    (
        "recordings",
        &[
            ("path", Text),
            ("kind", Text),
            ("computer", Text),
            ("os", Text),
            ("os_build", Number),
            ("model", Text),
            ("firmware", Text),
            ("processor", Text),
            ("processors", Number),
            ("memory_bytes", Number),
            ("recorded_utc", Text),
            ("error", Text),
            ("schema", Number),
            ("version", Text),
            ("size_bytes", Number),
            ("modified_ns", Number),
            ("stamp", Text),
        ],
    ),
    (
        "transitions",
        &[
            ("transition", Text),
            ("number", Number),
            ("variant", Text),
            ("duration_ns", Number),
            ("at_least_ns", Number),
            ("phase", Text),
            ("phase_ns", Number),
            ("subject", Text),
            ("subject_ns", Number),
            ("subject_certainty", Text),
        ],
    ),
    (
        "phases",
        &[
            ("transition", Text),
            ("number", Number),
            ("place", Number),
            ("phase", Text),
            ("half", Text),
            ("start_ns", Number),
            ("end_ns", Number),
            ("duration_ns", Number),
            ("certainty", Text),
        ],
    ),
    (
        "account",
        &[
            ("transition", Text),
            ("phase", Text),
            ("start_ns", Number),
            ("phase_ns", Number),
            ("kind", Text),
            ("subject", Text),
            ("ns", Number),
            ("certainty", Text),
        ],
    ),
    (
        "services",
        &[
            ("transition", Text),
            ("number", Number),
            ("service", Text),
            ("kind", Text),
            ("duration_ns", Number),
            ("outcome", Text),
            ("image", Text),
            ("on_path", Boolean),
        ],
    ),
    (
        "devices",
        &[
            ("transition", Text),
            ("number", Number),
            ("device", Text),
            ("driver", Text),
            ("kind", Text),
            ("duration_ns", Number),
        ],
    ),
    (
        "findings",
        &[
            ("transition", Text),
            ("code", Text),
            ("subject_kind", Text),
            ("subject", Text),
            ("phase", Text),
            ("cost_ns", Number),
            ("cost_basis", Text),
            ("certainty", Text),
            ("title", Text),
        ],
    ),
    ("losses", &[("counter", Text), ("count", Number), ("severity", Text)]),
    ("versions", &[("module", Text), ("version", Text)]),
];

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenSummaries {
    /// Number of recordings.
    pub recordings: usize,
    /// Number of recordings with the same contents as another one, which have no rows.
    pub copies: usize,
    /// Number of recordings that could not be read; each is a row with the error.
    pub unreadable: usize,
    /// Number of recordings with a transition.
    pub answered: usize,
}

/// Reads recordings in parallel and writes what is known about them to a new folder, which appears when it is complete.
/// Calls `on_recording_done` for each recording, from any thread.
///
/// # Errors
/// The folder is not empty, or the disk is full.
pub fn write_summaries(
    recordings: &[Vec<PathBuf>],
    options: &onoff_files::Options,
    folder: &Path,
    on_recording_done: &(dyn Fn() + Sync),
) -> io::Result<WrittenSummaries> {
    let output = OutputFolder::create(folder)?;
    for (table, _) in TABLES {
        fs::create_dir(output.path().join(table))?;
    }
    let mut written = WrittenSummaries { recordings: recordings.len(), ..WrittenSummaries::default() };
    let mut digests = HashSet::new();
    for (number, part) in recordings.chunks(RECORDINGS_PER_FILE).enumerate() {
        let mut read: Vec<IdentifiedRows> = part
            .par_iter()
            .map(|paths| {
                let rows = identified_rows(paths, options);
                on_recording_done();
                rows
            })
            .collect();
        // Copies of a recording are one recording.
        read.retain(|rows| digests.insert(rows.digest.clone()));
        let rows_of = |table: &str| -> Vec<&Value> {
            let tables = read.iter().flat_map(|rows| &rows.tables);
            tables.filter(|(name, _)| *name == table).flat_map(|(_, rows)| rows).collect()
        };
        for row in rows_of("recordings") {
            match row["error"].as_str() {
                Some("") => written.answered += 1,
                Some(NO_TRANSITION) => {}
                _ => written.unreadable += 1,
            }
        }
        for (table, columns) in TABLES.iter().rev() {
            let rows = rows_of(table);
            if !rows.is_empty() {
                let path = output.path().join(table).join(format!("part-{number:05}.parquet"));
                write_table(columns, &rows, &path)?;
            }
        }
    }
    written.copies = recordings.len().saturating_sub(digests.len());
    output.commit()?;
    Ok(written)
}

/// The rows about a recording, and the hash of its contents.
struct IdentifiedRows {
    digest: String,
    tables: Rows,
}

/// Returns the rows about a recording, with its identity in each row.
fn identified_rows(paths: &[PathBuf], options: &onoff_files::Options) -> IdentifiedRows {
    let paths: Vec<PathBuf> =
        paths.iter().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone())).collect();
    let name = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join("+");
    let (digest, schema, tables) = match content_hash(&paths) {
        Ok(digest) => (digest, SCHEMA, read(&paths, &name, options)),
        Err(error) => (format!("path:{name}"), TRANSIENT, failure(&error.to_string())),
    };
    // Files that change now are read again by the next run in Python.
    let stamp = stamp(&paths).unwrap_or_default();
    let mut tables = tables;
    for (table, rows) in &mut tables {
        for row in rows {
            row["recording"] = json!(digest);
            if *table == "recordings" {
                row["path"] = json!(name);
                row["schema"] = json!(schema);
                row["version"] = json!(env!("CARGO_PKG_VERSION"));
                row["size_bytes"] = json!(stamp.size_bytes);
                row["modified_ns"] = json!(stamp.modified_ns);
                row["stamp"] = json!(stamp.text);
            }
        }
    }
    IdentifiedRows { digest, tables }
}

fn read(paths: &[PathBuf], name: &str, options: &onoff_files::Options) -> Rows {
    let documents = || -> Result<(Value, &'static str), String> {
        let session = Session::open(paths, options).map_err(|error| with_causes(&error))?;
        let bytes = all_documents(&session, name).map_err(|error| with_causes(&error))?;
        let documents = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        Ok((documents, session.kind().as_str()))
    };
    // A panic on one recording must not stop the others.
    match catch_unwind(AssertUnwindSafe(documents)) {
        Ok(Ok((documents, kind))) => rows(&documents, kind),
        Ok(Err(message)) => failure(&message),
        Err(_) => failure("onoff crashed on this recording; please report it"),
    }
}

fn write_table(columns: &[(&str, Kind)], rows: &[&Value], path: &Path) -> io::Result<()> {
    let columns = || [("recording", Text)].into_iter().chain(columns.iter().copied());
    let data_type = |kind| match kind {
        Text => DataType::Utf8,
        Number => DataType::Int64,
        Boolean => DataType::Boolean,
    };
    let fields: Vec<Field> = columns().map(|(name, kind)| Field::new(name, data_type(kind), true)).collect();
    let arrays = columns().map(|(name, kind)| -> ArrayRef {
        let values = rows.iter().map(|row| &row[name]);
        match kind {
            Text => Arc::new(values.map(Value::as_str).collect::<StringArray>()),
            Number => Arc::new(values.map(Value::as_i64).collect::<Int64Array>()),
            Boolean => Arc::new(values.map(Value::as_bool).collect::<BooleanArray>()),
        }
    });
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect()).map_err(io::Error::other)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut writer = ArrowWriter::try_new(File::create(path)?, schema, Some(properties)).map_err(io::Error::other)?;
    writer.write(&batch).map_err(io::Error::other)?;
    writer.close().map(drop).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

    use super::*;

    fn read_table(folder: &Path, table: &str) -> RecordBatch {
        let file = File::open(folder.join(table).join("part-00000.parquet")).unwrap();
        ParquetRecordBatchReader::try_new(file, 1 << 20).unwrap().next().unwrap().unwrap()
    }

    fn texts(batch: &RecordBatch, column: &str) -> Vec<String> {
        let column = batch.column_by_name(column).unwrap().as_string::<i32>();
        column.iter().map(|text| text.unwrap_or("null").to_owned()).collect()
    }

    fn numbers(batch: &RecordBatch, column: &str) -> Vec<Option<i64>> {
        batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().iter().collect()
    }

    #[test]
    fn writes_the_tables_of_the_python_package() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples");
        let folder = tempfile::tempdir().unwrap();
        let inputs = folder.path().join("in");
        fs::create_dir(&inputs).unwrap();
        for name in ["1.etl", "copy.etl"] {
            fs::copy(samples.join("slow-boot.etl"), inputs.join(name)).unwrap();
        }
        fs::copy(samples.join("linux-boot.tar.xz"), inputs.join("linux.tar.xz")).unwrap();
        fs::write(inputs.join("text.etl"), "no recording").unwrap();
        let recordings: Vec<Vec<PathBuf>> = ["1.etl", "copy.etl", "linux.tar.xz", "text.etl", "missing.etl"]
            .map(|name| vec![inputs.join(name)])
            .to_vec();
        let out = folder.path().join("out");
        let options = onoff_files::Options::default();
        let written = write_summaries(&recordings, &options, &out, &|| ()).unwrap();
        assert_eq!(written, WrittenSummaries { recordings: 5, copies: 1, unreadable: 2, answered: 2 });

        let rows = read_table(&out, "recordings");
        let digests = texts(&rows, "recording");
        assert_eq!(texts(&rows, "path")[0], inputs.join("1.etl").display().to_string());
        assert_eq!(numbers(&rows, "schema"), [Some(4), Some(4), Some(4), Some(0)]);
        assert!(texts(&rows, "error")[2].contains("unknown format"), "{:?}", texts(&rows, "error"));
        assert!(digests[0].len() == 64 && digests[3].starts_with("path:"), "{digests:?}");
        let bytes = fs::metadata(samples.join("slow-boot.etl")).unwrap().len();
        assert_eq!(numbers(&rows, "size_bytes")[0], i64::try_from(bytes).ok());

        // The values of the Python package for the same recording.
        let transitions = read_table(&out, "transitions");
        let row = texts(&transitions, "recording").iter().position(|digest| *digest == digests[0]).unwrap();
        assert_eq!(texts(&transitions, "transition")[row], "boot");
        assert_eq!(numbers(&transitions, "duration_ns")[row], Some(30_032_145_500));
        let count = |table: &str| {
            texts(&read_table(&out, table), "recording").iter().filter(|digest| **digest == digests[0]).count()
        };
        assert_eq!(count("phases"), 6);
        for table in ["account", "services", "devices", "findings"] {
            assert!(count(table) > 3, "{table}");
        }
        assert!(texts(&read_table(&out, "findings"), "subject").contains(&"SoundShaper".to_owned()));

        let error = write_summaries(&recordings, &options, &out, &|| ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::DirectoryNotEmpty);
    }
}
