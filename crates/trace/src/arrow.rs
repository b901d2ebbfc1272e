//! Tables as Arrow record batches, with what the columns mean in the schema. The tables stay as they are.
//!
//! Numbers are copied once into each batch; the recording's texts are copied once for all batches of one [`ArrowTables`].

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringViewBuilder, UInt64Builder};
use arrow_array::types::{self, ArrowPrimitiveType};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::Trace;
use crate::column::{Codes, Column, ColumnDeclaration, ColumnType, Numbers};
use crate::registry::{TableDeclaration, TableName, TableRows};
use crate::stack::{StackId, StackPool};
use crate::string::{StringId, StringPool};

/// A recording's tables as Arrow.
#[derive(Debug)]
pub struct ArrowTables<'a> {
    trace: &'a Trace,
    texts: Buffer,
}

impl Trace {
    /// The recording's tables as Arrow record batches.
    #[must_use]
    pub fn arrow(&self) -> ArrowTables<'_> {
        ArrowTables { trace: self, texts: Buffer::from(self.strings.all_text().as_bytes()) }
    }
}

impl<'a> ArrowTables<'a> {
    /// The record batches of a table, in the order of its rows; none for an empty table.
    ///
    /// # Errors
    /// Columns of different length, which only a caller that wrote to the public columns by itself can cause.
    pub fn batches(&self, name: TableName) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + use<'a, '_> {
        let view = self.trace.table(name);
        let schema = view.declaration().map(schema);
        view.into_pieces()
            .into_iter()
            .filter(|piece| piece.rows() > 0)
            .zip(std::iter::repeat(schema))
            .filter_map(|(piece, schema)| Some(self.batch(piece, schema?)))
    }

    fn batch(&self, rows: &dyn TableRows, schema: SchemaRef) -> Result<RecordBatch, ArrowError> {
        let columns = rows.columns().into_iter().map(|column| self.array(column)).collect();
        RecordBatch::try_new(schema, columns)
    }

    fn array(&self, column: Column<'_>) -> ArrayRef {
        match column {
            Column::Boolean(values) => Arc::new(BooleanArray::from(values.to_vec())),
            Column::Int8(numbers) => number_array::<types::Int8Type>(numbers),
            Column::Int16(numbers) => number_array::<types::Int16Type>(numbers),
            Column::Int32(numbers) => number_array::<types::Int32Type>(numbers),
            Column::Int64(numbers) => number_array::<types::Int64Type>(numbers),
            Column::UInt8(numbers) => number_array::<types::UInt8Type>(numbers),
            Column::UInt16(numbers) => number_array::<types::UInt16Type>(numbers),
            Column::UInt32(numbers) => number_array::<types::UInt32Type>(numbers),
            Column::UInt64(numbers) => number_array::<types::UInt64Type>(numbers),
            Column::Float64(numbers) => number_array::<types::Float64Type>(numbers),
            Column::Text(ids) => self.text_array(ids),
            Column::Code(codes) => code_array(codes),
            Column::Stack(ids) => stack_array(&self.trace.stack_pool, ids),
        }
    }

    fn text_array(&self, ids: &[StringId]) -> ArrayRef {
        let pool: &StringPool = &self.trace.strings;
        let mut builder = StringViewBuilder::with_capacity(ids.len());
        let block = builder.append_block(self.texts.clone());
        for &id in ids {
            // A view into the block fails only beyond its end, where no text of the pool lies.
            let viewed = match pool.span(id) {
                Some((start, length)) if length > 0 => builder.try_append_view(block, start, length).is_ok(),
                _ => false,
            };
            if !viewed {
                builder.append_null();
            }
        }
        Arc::new(builder.finish())
    }
}

fn number_array<A: ArrowPrimitiveType>(numbers: Numbers<'_, A::Native>) -> ArrayRef {
    let nulls = numbers.present.map(|present| NullBuffer::from(present.to_vec()));
    Arc::new(PrimitiveArray::<A>::new(ScalarBuffer::from(numbers.values.to_vec()), nulls))
}

fn code_array(codes: &dyn Codes) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(codes.rows());
    for row in 0..codes.rows() {
        builder.append_option(codes.name_at(row));
    }
    Arc::new(builder.finish())
}

fn stack_array(pool: &StackPool, ids: &[StackId]) -> ArrayRef {
    let mut builder = ListBuilder::with_capacity(UInt64Builder::new(), ids.len());
    for &id in ids {
        let frames = pool.get(id);
        builder.values().append_slice(frames);
        builder.append(!frames.is_empty());
    }
    Arc::new(builder.finish())
}

/// The Arrow schema of a table: one field per column in declaration order. Metadata of the schema: `onoff.table` and
/// `description`; of a field: `description`, and where there is one `onoff.unit` and `onoff.role`.
#[must_use]
pub fn schema(table: &TableDeclaration) -> SchemaRef {
    let fields: Vec<Field> = table.columns.iter().map(field).collect();
    let metadata = [("onoff.table", table.name.as_str()), ("description", table.documentation)];
    Arc::new(Schema::new_with_metadata(
        fields,
        metadata.into_iter().map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect::<HashMap<_, _>>(),
    ))
}

fn field(column: &ColumnDeclaration) -> Field {
    let metadata = [
        ("description", column.documentation.trim()),
        ("onoff.unit", column.meaning.unit()),
        ("onoff.role", column.meaning.role()),
    ];
    let said = metadata.into_iter().filter(|(_, value)| !value.is_empty());
    Field::new(column.name, data_type(column.column_type), column.nullable)
        .with_metadata(said.map(|(key, value)| (key.to_owned(), value.to_owned())).collect::<HashMap<_, _>>())
}

fn data_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Int8 => DataType::Int8,
        ColumnType::Int16 => DataType::Int16,
        ColumnType::Int32 => DataType::Int32,
        ColumnType::Int64 => DataType::Int64,
        ColumnType::UInt8 => DataType::UInt8,
        ColumnType::UInt16 => DataType::UInt16,
        ColumnType::UInt32 => DataType::UInt32,
        ColumnType::UInt64 => DataType::UInt64,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Text | ColumnType::Code(_) => DataType::Utf8View,
        ColumnType::Stack => DataType::List(Arc::new(Field::new("item", DataType::UInt64, true))),
    }
}
