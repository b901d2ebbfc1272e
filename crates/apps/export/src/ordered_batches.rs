//! A table's rows as Arrow record batches of bounded size, in the order of time.

use std::io;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::interleave::interleave_record_batch;
use onoff::trace::{TableName, Trace};

use crate::time_order::TimeOrder;

/// Has `take` take the rows of a table in `order`, at most `most` at a time.
pub(crate) fn ordered_batches(
    trace: &Arc<Trace>,
    name: TableName,
    order: &TimeOrder,
    most: usize,
    take: &mut dyn FnMut(RecordBatch) -> io::Result<()>,
) -> io::Result<()> {
    let batches = trace.arrow().batches(name).map(|batch| batch.map_err(io::Error::other));
    let Some(places) = &order.rows else {
        for batch in batches {
            let batch = batch?;
            for start in (0..batch.num_rows()).step_by(most) {
                take(batch.slice(start, most.min(batch.num_rows() - start)))?;
            }
        }
        return Ok(());
    };
    let batches = batches.collect::<io::Result<Vec<RecordBatch>>>()?;
    // A piece without rows has no batch, and its number is one that no row has.
    let pieces = trace.table(name).into_pieces();
    let mut number = 0;
    let numbers: Vec<usize> = pieces
        .iter()
        .map(|piece| {
            number += usize::from(piece.rows() > 0);
            number.saturating_sub(1)
        })
        .collect();
    let references: Vec<&RecordBatch> = batches.iter().collect();
    for chunk in places.chunks(most) {
        let indices: Vec<(usize, usize)> =
            chunk.iter().filter_map(|&(piece, row)| Some((*numbers.get(piece)?, row))).collect();
        take(interleave_record_batch(&references, &indices).map_err(io::Error::other)?)?;
    }
    Ok(())
}
