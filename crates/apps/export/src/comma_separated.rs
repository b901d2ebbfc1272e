//! Tables as CSV files.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use onoff::sections::table::csv::Rows;
use onoff::trace::column::{Column, Value};
use onoff::trace::{TableView, Trace};

use crate::time_order::TimeOrder;

/// Writes the rows of `view` in `order`.
pub(crate) fn write(trace: &Trace, view: &TableView<'_>, order: &TimeOrder, out: &mut dyn Write) -> io::Result<()> {
    let columns = view.declaration().map_or(&[][..], |table| table.columns);
    let mut rows = Rows::begin(columns.iter().map(|column| column.name), out)?;
    let chunks: Vec<Vec<Column<'_>>> = view.chunks().iter().map(|chunk| chunk.columns()).collect();
    let mut write_row = |chunk: usize, row: usize| {
        rows.write(chunks.get(chunk).into_iter().flatten().map(|column| cell(trace, column.value(row))))
    };
    match &order.rows {
        Some(positions) => {
            for &(chunk, row) in positions {
                write_row(chunk, row)?;
            }
        }
        None => {
            for (chunk_number, chunk) in view.chunks().iter().enumerate() {
                for row in 0..chunk.rows() {
                    write_row(chunk_number, row)?;
                }
            }
        }
    }
    rows.end()
}

/// Formats a value; empty if unknown.
fn cell(trace: &Trace, value: Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::Boolean(value) => Cow::Borrowed(if value { "true" } else { "false" }),
        Value::Signed(value) => value.to_string().into(),
        Value::Unsigned(value) => value.to_string().into(),
        Value::Float(value) => value.to_string().into(),
        Value::Text(id) => Cow::Borrowed(trace.strings.get(id)),
        Value::Code(name) => Cow::Borrowed(name),
        Value::Stack(id) => addresses(trace.stack_pool.get(id)).into(),
    }
}

/// Formats return addresses, innermost first, separated by blanks.
fn addresses(frames: &[u64]) -> String {
    let mut text = String::with_capacity(frames.len() * 19);
    for frame in frames {
        if !text.is_empty() {
            text.push(' ');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{frame:#x}");
    }
    text
}
