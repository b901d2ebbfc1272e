//! The rows of a table as Arrow record batches of bounded size, in time order.

use std::io;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::interleave::interleave_record_batch;
use onoff::trace::{TableName, Trace};

use crate::time_order::TimeOrder;

/// Calls `write_batch` with the rows of a table in `order`, at most `max_rows` at a time.
pub(crate) fn ordered_batches(
    trace: &Arc<Trace>,
    name: TableName,
    order: &TimeOrder,
    max_rows: usize,
    write_batch: &mut dyn FnMut(RecordBatch) -> io::Result<()>,
) -> io::Result<()> {
    let batches = trace.arrow().batches(name).map(|batch| batch.map_err(io::Error::other));
    let Some(positions) = &order.rows else {
        for batch in batches {
            let batch = batch?;
            for start in (0..batch.num_rows()).step_by(max_rows) {
                write_batch(batch.slice(start, max_rows.min(batch.num_rows() - start)))?;
            }
        }
        return Ok(());
    };
    let batches = batches.collect::<io::Result<Vec<RecordBatch>>>()?;
    // Maps chunk numbers to batch numbers: an empty chunk has no batch, and no row refers to it.
    let chunks = trace.table(name).into_chunks();
    let mut batch_count = 0;
    let batch_numbers: Vec<usize> = chunks
        .iter()
        .map(|chunk| {
            batch_count += usize::from(chunk.rows() > 0);
            batch_count.saturating_sub(1)
        })
        .collect();
    let batch_refs: Vec<&RecordBatch> = batches.iter().collect();
    for batch_positions in positions.chunks(max_rows) {
        let indices: Vec<(usize, usize)> =
            batch_positions.iter().filter_map(|&(chunk, row)| Some((*batch_numbers.get(chunk)?, row))).collect();
        write_batch(interleave_record_batch(&batch_refs, &indices).map_err(io::Error::other)?)?;
    }
    Ok(())
}
