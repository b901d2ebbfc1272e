//! Recordings, and their tables through the Arrow PyCapsule interface.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{DurationNanosecondType, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use onoff::Session;
use onoff::answers::evidence::recording::summarize;
use onoff::report::text::causes::with_causes;
use onoff::sections::json::document;
use onoff::trace::arrow::ArrowTables;
use onoff::trace::{DECLARATIONS, TableName, TableSet, Trace};
use onoff_export::documents::all_documents;
use onoff_export::{ExportError, ExportOptions, Format};
use onoff_files::Options;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Value, json};

use crate::NoAnswer;

/// An open recording.
#[pyclass(frozen, module = "onoff._onoff")]
pub(crate) struct Recording {
    session: Session,
    /// Tables that were already read.
    cache: Mutex<Vec<(TableSet, ArrowTables)>>,
}

#[pymethods]
impl Recording {
    /// Opens the recording in these files; `boot` selects a boot of a journal.
    #[new]
    #[pyo3(signature = (paths, boot=None, manifests=vec![]))]
    fn new(py: Python<'_>, paths: Vec<PathBuf>, boot: Option<String>, manifests: Vec<PathBuf>) -> PyResult<Self> {
        let options = Options { boot, manifests, ..Options::default() };
        let session = py.detach(|| Session::open(&paths, &options)).map_err(|error| unreadable(&error))?;
        Ok(Self { session, cache: Mutex::new(Vec::new()) })
    }

    /// Returns the kind of recording.
    #[getter]
    fn kind(&self) -> &'static str {
        self.session.kind().as_str()
    }

    /// Returns the description of the recording and its losses, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        py.detach(|| {
            let trace = self.tables(TableSet::from_names(&[TableName::Inventory]))?;
            let mut out = Vec::new();
            let provenance = self.session.provenance().map_err(|error| unreadable(&error))?;
            document::write(&[provenance], &summarize(trace.trace()), &mut out)?;
            Ok(out)
        })
    }

    /// Transitions, as JSON rows that refer to the recording as `name`.
    fn transitions(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let rows = py.detach(|| self.session.summary_rows(name)).map_err(|error| unreadable(&error))?;
        serde_json::to_string(&rows).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Returns a JSON object with the available documents of `onoff info`, `boot`, `shutdown`, `suspend`, `netboot`,
    /// `diagnose` and `why`, and with the transitions under `rows`. Reads the recording only once.
    fn documents(&self, py: Python<'_>, name: &str) -> PyResult<Vec<u8>> {
        py.detach(|| all_documents(&self.session, name)).map_err(|error| unreadable(&error))
    }

    /// Returns a table by name; `durations` returns times as durations.
    #[pyo3(signature = (name, durations=false))]
    fn table(&self, py: Python<'_>, name: &str, durations: bool) -> PyResult<Table> {
        let Some(name) = TableName::named(name).filter(|&name| name != TableName::Inventory) else {
            return Err(PyValueError::new_err(format!("unknown table '{name}'")));
        };
        // Event fields are only read together with events.
        let table_set = match name {
            TableName::EventFields => TableSet::from_names(&[name, TableName::Events]),
            _ => TableSet::from_names(&[name]),
        };
        let tables = py.detach(|| self.tables(table_set))?;
        Ok(Table { tables, name, durations })
    }

    /// Returns the number of rows of all nonempty tables, as JSON. Reads all tables.
    fn row_counts(&self, py: Python<'_>) -> PyResult<String> {
        let tables = py.detach(|| self.tables(TableSet::all()))?;
        let counts: serde_json::Map<String, Value> = DECLARATIONS
            .iter()
            .map(|table| (table.name.as_str().to_owned(), json!(tables.trace().table(table.name).len())))
            .filter(|(_, rows)| rows != 0)
            .collect();
        Ok(Value::Object(counts).to_string())
    }

    /// Writes tables to a new folder as `parquet`, `arrow` or `csv`. Returns file names, rows and bytes.
    #[pyo3(signature = (folder, format, tables=None))]
    fn export(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        format: &str,
        tables: Option<Vec<String>>,
    ) -> PyResult<Vec<(String, u64, u64)>> {
        let format = match format {
            "parquet" => Format::Parquet,
            "arrow" => Format::Arrow,
            "csv" => Format::Csv,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "unknown format '{format}'; available: parquet, arrow, csv"
                )));
            }
        };
        let table_name = |name: &String| {
            TableName::named(name).ok_or_else(|| PyValueError::new_err(format!("unknown table '{name}'")))
        };
        let tables = tables.map(|names| names.iter().map(table_name).collect::<PyResult<_>>()).transpose()?;
        let options = ExportOptions { format, tables };
        let result = py.detach(|| onoff_export::export(&self.session, &options, &folder, &mut |_| {}));
        let written = result.map_err(|error| match error {
            ExportError::Unreadable(error) => unreadable(&error),
            ExportError::NoRows => NoAnswer::new_err((2, error.to_string())),
            ExportError::NoTable(_) => PyValueError::new_err(error.to_string()),
            ExportError::Unwritable { .. } => NoAnswer::new_err((1, error.to_string())),
        })?;
        Ok(written.into_iter().map(|table| (table.file, table.rows, table.bytes)).collect())
    }
}

impl Recording {
    /// Returns tables from the cache, or reads them.
    fn tables(&self, table_set: TableSet) -> PyResult<ArrowTables> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tables)) = cache.iter().find(|(cached, _)| cached.union(table_set) == *cached) {
            return Ok(tables.clone());
        }
        let trace = onoff::sources::read_tables(self.session.files(), table_set, self.session.options());
        let trace: Arc<Trace> = Arc::new(trace.map_err(|error| unreadable(&error))?);
        let tables = trace.arrow();
        cache.push((table_set, tables.clone()));
        Ok(tables)
    }
}

/// A table of a recording.
#[pyclass(frozen, module = "onoff._onoff")]
pub(crate) struct Table {
    tables: ArrowTables,
    name: TableName,
    /// Returns times as durations instead of integers in nanoseconds.
    durations: bool,
}

#[pymethods]
impl Table {
    /// Returns the name of the table.
    #[getter]
    fn name(&self) -> &'static str {
        self.name.as_str()
    }

    /// Returns the number of rows.
    fn __len__(&self) -> usize {
        self.tables.trace().table(self.name).len()
    }

    /// Implements the Arrow PyCapsule interface: one batch per chunk of the table. Ignores the requested schema;
    /// consumers must cast.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows producers to ignore the requested schema.
        let _ = requested_schema;
        let Some(schema) = self.tables.schema(self.name) else {
            return Err(PyValueError::new_err("the inventory has no rows"));
        };
        let batches = self.tables.batches(self.name);
        let stream = if self.durations {
            let schema = with_durations(&schema);
            let batch_schema = Arc::clone(&schema);
            let batches = batches.map(move |batch| batch.and_then(|batch| as_durations(&batch, &batch_schema)));
            FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, schema)))
        } else {
            FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, schema)))
        };
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Returns whether a column contains nanoseconds.
fn is_time(field: &Field) -> bool {
    field.data_type() == &DataType::Int64 && field.metadata().get("onoff.unit").is_some_and(|unit| unit == "ns")
}

fn with_durations(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match is_time(field) {
        true => Arc::new(field.as_ref().clone().with_data_type(DataType::Duration(TimeUnit::Nanosecond))),
        false => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// Reinterprets nanosecond columns as durations, without copying.
fn as_durations(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(array, field)| match field.data_type() {
        DataType::Duration(_) => {
            let numbers = array.as_primitive::<Int64Type>();
            let (values, nulls) = (numbers.values().clone(), numbers.nulls().cloned());
            Arc::new(PrimitiveArray::<DurationNanosecondType>::new(values, nulls)) as ArrayRef
        }
        _ => Arc::clone(array),
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect())
}

/// Returns the declarations of all tables as JSON.
pub(crate) fn declarations() -> PyResult<String> {
    let tables: Vec<Value> = DECLARATIONS
        .iter()
        .map(|table| {
            let columns: Vec<Value> = table
                .columns
                .iter()
                .map(|column| {
                    json!({
                        "name": column.name,
                        "type": column.column_type.as_str(),
                        "nullable": column.nullable,
                        "unit": column.meaning.unit(),
                        "role": column.meaning.role(),
                        "description": column.documentation.trim(),
                    })
                })
                .collect();
            json!({
                "name": table.name.as_str(),
                "description": table.documentation.trim(),
                "order": table.order.trim(),
                "columns": columns,
            })
        })
        .collect();
    Ok(Value::Array(tables).to_string())
}

/// Converts a read error to an exception.
pub(crate) fn unreadable(error: &onoff::Error) -> PyErr {
    let code = match error {
        onoff::Error::OtherKind { .. } | onoff::Error::NoPackets { .. } | onoff::Error::NoSuchBoot { .. } => 2,
        _ => 1,
    };
    NoAnswer::new_err((code, with_causes(error)))
}
