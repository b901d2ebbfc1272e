//! Tables as Arrow files (Feather 2).

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, DataType};
use onoff::trace::arrow::schema;
use onoff::trace::{DECLARATIONS, TableName, Trace};

use crate::ordered_batches::ordered_batches;
use crate::time_order::TimeOrder;

/// Rows per batch. Readers hold one batch in memory at a time.
const BATCH_ROWS: usize = 1 << 17;

/// Writes the rows of a table in `order`.
pub(crate) fn write(trace: &Arc<Trace>, name: TableName, order: &TimeOrder, out: &mut dyn Write) -> io::Result<()> {
    let Some(declaration) = DECLARATIONS.iter().find(|table| table.name == name) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD)).map_err(io_error)?;
    let mut file = FileWriter::try_new_with_options(out, &schema(declaration), options).map_err(io_error)?;
    ordered_batches(trace, name, order, BATCH_ROWS, &mut |batch| {
        file.write(&compact(&batch).map_err(io_error)?).map_err(io_error)
    })?;
    file.finish().map_err(io_error)
}

/// Returns the batch with only the strings of its rows. Otherwise, all strings of the recording, which the batches
/// share, would be written with every batch.
fn compact(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(|column| match column.data_type() {
        DataType::Utf8View => Arc::new(column.as_string_view().gc()) as ArrayRef,
        _ => Arc::clone(column),
    });
    RecordBatch::try_new(batch.schema(), columns.collect())
}

/// Returns the original I/O error if there is one.
fn io_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}
