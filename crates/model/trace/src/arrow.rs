//! Exposes tables as Arrow record batches; the schema carries the meaning of each column.
//!
//! Numeric and text buffers are shared with the trace without copying, and keep it alive. Only data that Arrow stores
//! differently is built: validity bitmaps, the 16-byte views of texts and codes, booleans, stacks.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringViewBuilder, UInt64Builder};
use arrow_array::types::{self, ArrowPrimitiveType};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use zerocopy::IntoBytes;

use crate::Trace;
use crate::column::{Codes, Column, ColumnDeclaration, ColumnType, Numbers};
use crate::registry::{TableDeclaration, TableName};
use crate::stack::{StackId, StackPool};
use crate::string::{StringId, StringPool};

/// A trace's tables as Arrow. Keeps the trace alive.
#[derive(Clone, Debug)]
pub struct ArrowTables {
    trace: Arc<Trace>,
    texts: Buffer,
}

impl Trace {
    /// Returns the trace's tables as Arrow record batches.
    #[must_use]
    pub fn arrow(self: &Arc<Self>) -> ArrowTables {
        let texts = Bytes::from_owner(Texts(Arc::clone(self)));
        ArrowTables { trace: Arc::clone(self), texts: Buffer::from(texts) }
    }
}

/// Keeps the trace alive while an Arrow buffer points at its texts.
struct Texts(Arc<Trace>);

impl AsRef<[u8]> for Texts {
    fn as_ref(&self) -> &[u8] {
        self.0.strings.all_text().as_bytes()
    }
}

/// Keeps the trace alive while an Arrow buffer points at the numbers of one column chunk.
struct SharedNumbers {
    trace: Arc<Trace>,
    location: ColumnLocation,
}

#[derive(Clone, Copy, Debug)]
struct ColumnLocation {
    table: TableName,
    chunk: usize,
    column: usize,
}

impl AsRef<[u8]> for SharedNumbers {
    fn as_ref(&self) -> &[u8] {
        let ColumnLocation { table, chunk, column } = self.location;
        let chunks = self.trace.table(table).into_chunks();
        match chunks.get(chunk).and_then(|rows| rows.columns().into_iter().nth(column)) {
            Some(Column::Int8(numbers)) => numbers.values.as_bytes(),
            Some(Column::Int16(numbers)) => numbers.values.as_bytes(),
            Some(Column::Int32(numbers)) => numbers.values.as_bytes(),
            Some(Column::Int64(numbers)) => numbers.values.as_bytes(),
            Some(Column::UInt8(numbers)) => numbers.values.as_bytes(),
            Some(Column::UInt16(numbers)) => numbers.values.as_bytes(),
            Some(Column::UInt32(numbers)) => numbers.values.as_bytes(),
            Some(Column::UInt64(numbers)) => numbers.values.as_bytes(),
            Some(Column::Float64(numbers)) => numbers.values.as_bytes(),
            _ => &[],
        }
    }
}

impl ArrowTables {
    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns the schema of a table; `None` for [`TableName::Inventory`], which has counts instead of rows.
    #[must_use]
    pub fn schema(&self, name: TableName) -> Option<SchemaRef> {
        self.trace.table(name).declaration().map(schema)
    }

    /// Returns the record batches of a table, one per chunk, in row order; none for an empty table. The iterator builds
    /// each batch when it is requested.
    ///
    /// # Errors
    /// The columns have different lengths, which only a caller that writes to the public columns can cause.
    pub fn batches(&self, name: TableName) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + use<> {
        let tables = self.clone();
        let schema = self.schema(name);
        let chunks = self.trace.table(name).chunks().len();
        (0..chunks).filter_map(move |chunk| tables.batch(name, chunk, schema.as_ref()?).transpose())
    }

    /// Returns the rows of one chunk; `None` if it is empty.
    fn batch(&self, table: TableName, chunk: usize, schema: &SchemaRef) -> Result<Option<RecordBatch>, ArrowError> {
        let chunks = self.trace.table(table).into_chunks();
        let Some(rows) = chunks.get(chunk).filter(|rows| rows.rows() > 0) else { return Ok(None) };
        let columns = rows.columns().into_iter().enumerate();
        let arrays = columns.map(|(index, column)| self.array(ColumnLocation { table, chunk, column: index }, column));
        RecordBatch::try_new(Arc::clone(schema), arrays.collect()).map(Some)
    }

    fn array(&self, location: ColumnLocation, column: Column<'_>) -> ArrayRef {
        match column {
            Column::Boolean(values) => Arc::new(BooleanArray::from(values.to_vec())),
            Column::Int8(numbers) => self.number_array::<types::Int8Type>(location, numbers),
            Column::Int16(numbers) => self.number_array::<types::Int16Type>(location, numbers),
            Column::Int32(numbers) => self.number_array::<types::Int32Type>(location, numbers),
            Column::Int64(numbers) => self.number_array::<types::Int64Type>(location, numbers),
            Column::UInt8(numbers) => self.number_array::<types::UInt8Type>(location, numbers),
            Column::UInt16(numbers) => self.number_array::<types::UInt16Type>(location, numbers),
            Column::UInt32(numbers) => self.number_array::<types::UInt32Type>(location, numbers),
            Column::UInt64(numbers) => self.number_array::<types::UInt64Type>(location, numbers),
            Column::Float64(numbers) => self.number_array::<types::Float64Type>(location, numbers),
            Column::Text(ids) => self.text_array(ids),
            Column::Code(codes) => code_array(codes),
            Column::Stack(ids) => stack_array(&self.trace.stack_pool, ids),
        }
    }

    fn number_array<A: ArrowPrimitiveType>(
        &self,
        location: ColumnLocation,
        numbers: Numbers<'_, A::Native>,
    ) -> ArrayRef {
        let shared = Buffer::from(Bytes::from_owner(SharedNumbers { trace: Arc::clone(&self.trace), location }));
        let nulls = numbers.present.map(|present| NullBuffer::from_iter(present.iter().map(|&present| present != 0)));
        Arc::new(PrimitiveArray::<A>::new(ScalarBuffer::new(shared, 0, numbers.values.len()), nulls))
    }

    fn text_array(&self, ids: &[StringId]) -> ArrayRef {
        let pool: &StringPool = &self.trace.strings;
        let mut builder = StringViewBuilder::with_capacity(ids.len());
        let block = builder.append_block(self.texts.clone());
        for &id in ids {
            // A view fails only past the end of the block, which contains every text of the pool.
            let has_view = match pool.location(id) {
                Some((start, length)) if length > 0 => builder.try_append_view(block, start, length).is_ok(),
                _ => false,
            };
            if !has_view {
                builder.append_null();
            }
        }
        Arc::new(builder.finish())
    }
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

/// Returns the Arrow schema of a table: one field per column in declaration order. Schema metadata: `onoff.table` and
/// `description`. Field metadata: `description`, plus `onoff.unit` and `onoff.role` if they apply.
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
    let non_empty = metadata.into_iter().filter(|(_, value)| !value.is_empty());
    Field::new(column.name, data_type(column.column_type), column.nullable)
        .with_metadata(non_empty.map(|(key, value)| (key.to_owned(), value.to_owned())).collect::<HashMap<_, _>>())
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
