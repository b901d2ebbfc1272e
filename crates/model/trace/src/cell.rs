//! The types that a column can contain, and their storage.

use std::fmt::Debug;
use std::sync::Arc;

use crate::column::{Column, ColumnType, Numbers};
use crate::stack::StackId;
use crate::string::StringId;
use crate::values::{Plain, Spilled, Values};

/// A value that a table column can contain.
pub trait Cell: Copy + Debug + PartialEq {
    /// Storage of a whole column.
    type Column: Clone + Debug + Default;
    /// Whether the column may hold nulls.
    const NULLABLE: bool;
    const TYPE: ColumnType;
    /// The value in an empty row: null, zero, empty, or the first code.
    const UNKNOWN: Self;
    /// Appends one value.
    fn push(column: &mut Self::Column, value: Self);
    /// Appends the values of `chunk` to a column of `rows` rows. A column of zeros may stay empty until [`Self::pad`].
    fn append_sparse(column: &mut Self::Column, rows: usize, chunk: &Self::Column);
    /// Appends the zeros that [`Self::append_sparse`] left out.
    fn pad(column: &mut Self::Column, rows: usize);
    /// Returns the value at `row`, which must be below the column's length.
    fn get(column: &Self::Column, row: usize) -> Self;
    /// Returns the bytes of memory used by the column.
    fn memory(column: &Self::Column) -> usize;
    /// Releases the memory reserved beyond the column's rows.
    fn shrink(column: &mut Self::Column);
    /// Passes the values that can be spilled to `visit`, one storage vector at a time.
    fn visit_spillable(column: &mut Self::Column, visit: &mut SpillVisitor<'_>);
    /// Returns the column's values, borrowed and untyped.
    fn view(column: &Self::Column) -> Column<'_>;
}

/// Values of any type that can be spilled to disk.
pub trait Spillable {
    /// Returns the bytes to spill: those in memory now.
    fn resident_bytes(&self) -> &[u8];
    /// Replaces the values in memory by the values in `chunk`, which start at byte `start`.
    fn read_spilled(&mut self, chunk: &Arc<dyn Spilled>, start: usize);
}

/// Callback that receives the values that can be spilled.
pub type SpillVisitor<'v> = dyn FnMut(&mut dyn Spillable) + 'v;

impl<T: Plain> Spillable for Values<T> {
    fn resident_bytes(&self) -> &[u8] {
        self.resident_bytes()
    }
    fn read_spilled(&mut self, chunk: &Arc<dyn Spilled>, start: usize) {
        self.read_spilled(chunk, start);
    }
}

/// Optional numbers in a column: values (zero for null) and their presence.
#[derive(Clone, Debug)]
pub struct Nullable<T: Plain> {
    values: Values<T>,
    /// 1 if the value is present, 0 if it is null; empty if no value is null.
    present: Values<u8>,
}

impl<T: Plain> Default for Nullable<T> {
    fn default() -> Self {
        Self { values: Values::default(), present: Values::default() }
    }
}

impl<T: Plain + Default> Nullable<T> {
    /// Returns the values in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<T>> + '_ {
        let present: &[u8] = &self.present;
        self.values.iter().enumerate().map(move |(row, &value)| is_present(present, row).then_some(value))
    }
    /// Returns the value at `row`; `None` if it is null, or there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<T> {
        self.values.get(row).copied().filter(|_| is_present(&self.present, row))
    }
    /// Replaces the value at `row`, for values that become known later. Ignored if there is no such row.
    pub fn set(&mut self, row: usize, value: Option<T>) {
        if row >= self.values.len() {
            return;
        }
        if value.is_none() {
            self.store_presence();
        }
        if let Some(present) = self.present.make_mut().get_mut(row) {
            *present = u8::from(value.is_some());
        }
        if let Some(cell) = self.values.get_mut(row) {
            *cell = value.unwrap_or_default();
        }
    }
    /// Calls `update` for each value that is not null.
    pub fn update(&mut self, update: impl Fn(&mut T)) {
        let present: &[u8] = &self.present;
        for (row, value) in self.values.iter_mut().enumerate() {
            if is_present(present, row) {
                update(value);
            }
        }
    }
    fn append_sparse(&mut self, rows: usize, chunk: &Self) {
        if !chunk.present.is_empty() && self.present.is_empty() {
            self.present = Values::from(vec![1; rows]);
        }
        if !chunk.present.is_empty() {
            self.present.make_mut().extend_from_slice(&chunk.present);
        } else if !self.present.is_empty() {
            self.present.make_mut().resize(rows + chunk.values.len(), 1);
        }
        self.values.append_sparse(rows, &chunk.values);
    }
    #[inline]
    fn push(&mut self, value: Option<T>) {
        if value.is_none() {
            self.store_presence();
        }
        if !self.present.is_empty() || value.is_none() {
            self.present.push(u8::from(value.is_some()));
        }
        self.values.push(value.unwrap_or_default());
    }
    /// Stores the presence of each value, before the first null.
    fn store_presence(&mut self) {
        if self.present.is_empty() && !self.values.is_empty() {
            self.present = Values::from(vec![1; self.values.len()]);
        }
    }
}

#[inline]
fn is_present(present: &[u8], row: usize) -> bool {
    present.is_empty() || present.get(row).is_some_and(|&present| present != 0)
}

/// Releases memory that a numeric column does not need. An all-zero column (nothing recorded for it) is replaced by a
/// zero-allocated vector, whose pages are never touched and therefore cost no physical memory.
macro_rules! shrink_numbers {
    ($($number:ty)*) => {$(
        impl Shrink for $number {
            fn shrink(column: &mut Values<Self>) {
                if column.iter().any(|value| value.to_ne_bytes() != [0; size_of::<Self>()]) {
                    column.make_mut().shrink_to_fit();
                } else {
                    *column = Values::from(vec![Self::default(); column.len()]);
                }
            }
        }
    )*};
}

trait Shrink: Sized {
    fn shrink(column: &mut Values<Self>);
}

shrink_numbers! { i8 i16 i32 i64 u8 u16 u32 u64 f64 }

fn shrink_numbers<T: Shrink>(column: &mut Values<T>) {
    T::shrink(column);
}

macro_rules! number_cell {
    ($($number:ty => $kind:ident),* $(,)?) => {$(
        impl Cell for $number {
            type Column = Values<$number>;
            const NULLABLE: bool = false;
            const TYPE: ColumnType = ColumnType::$kind;
            const UNKNOWN: Self = 0 as $number;
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            fn append_sparse(column: &mut Self::Column, rows: usize, chunk: &Self::Column) {
                column.append_sparse(rows, chunk);
            }
            fn pad(column: &mut Self::Column, rows: usize) { column.pad(rows); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.memory() }
            fn shrink(column: &mut Self::Column) { shrink_numbers(column); }
            fn visit_spillable(column: &mut Self::Column, visit: &mut SpillVisitor<'_>) { visit(column); }
            fn view(column: &Self::Column) -> Column<'_> {
                Column::$kind(Numbers { values: column, present: None })
            }
        }
        impl Cell for Option<$number> {
            type Column = Nullable<$number>;
            const NULLABLE: bool = true;
            const TYPE: ColumnType = ColumnType::$kind;
            const UNKNOWN: Self = None;
            #[inline]
            fn push(column: &mut Self::Column, value: Self) {
                column.push(value);
            }
            fn append_sparse(column: &mut Self::Column, rows: usize, chunk: &Self::Column) {
                column.append_sparse(rows, chunk);
            }
            fn pad(column: &mut Self::Column, rows: usize) { column.values.pad(rows); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self {
                column.get(row)
            }
            fn memory(column: &Self::Column) -> usize {
                column.values.memory() + column.present.memory()
            }
            fn shrink(column: &mut Self::Column) {
                shrink_numbers(&mut column.values);
                // If every value is null, this column is all zeros as well.
                shrink_numbers(&mut column.present);
            }
            fn visit_spillable(column: &mut Self::Column, visit: &mut SpillVisitor<'_>) {
                visit(&mut column.values);
                visit(&mut column.present);
            }
            fn view(column: &Self::Column) -> Column<'_> {
                let present = (!column.present.is_empty()).then_some(&*column.present);
                Column::$kind(Numbers { values: &column.values, present })
            }
        }
    )*};
}

number_cell! {
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => UInt8, u16 => UInt16, u32 => UInt32, u64 => UInt64,
    f64 => Float64,
}

/// Implements [`Cell`] for ids. The empty text and the empty stack mean "not known".
macro_rules! id_cell {
    ($($cell:ty => $kind:ident;)*) => {$(
        impl Cell for $cell {
            type Column = Values<$cell>;
            const NULLABLE: bool = true;
            const TYPE: ColumnType = ColumnType::$kind;
            const UNKNOWN: Self = Self::EMPTY;
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            fn append_sparse(column: &mut Self::Column, rows: usize, chunk: &Self::Column) {
                column.append_sparse(rows, chunk);
            }
            fn pad(column: &mut Self::Column, rows: usize) { column.pad(rows); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.memory() }
            fn shrink(column: &mut Self::Column) { column.make_mut().shrink_to_fit(); }
            fn visit_spillable(column: &mut Self::Column, visit: &mut SpillVisitor<'_>) { visit(column); }
            fn view(column: &Self::Column) -> Column<'_> { Column::$kind(column) }
        }
    )*};
}

id_cell! {
    StringId => Text;
    StackId => Stack;
}

impl Cell for bool {
    type Column = Vec<bool>;
    const NULLABLE: bool = false;
    const TYPE: ColumnType = ColumnType::Boolean;
    const UNKNOWN: Self = false;
    #[inline]
    fn push(column: &mut Self::Column, value: Self) {
        column.push(value);
    }
    fn append_sparse(column: &mut Self::Column, _: usize, chunk: &Self::Column) {
        column.extend_from_slice(chunk);
    }
    fn pad(_: &mut Self::Column, _: usize) {}
    #[inline]
    fn get(column: &Self::Column, row: usize) -> Self {
        column[row]
    }
    fn memory(column: &Self::Column) -> usize {
        column.capacity()
    }
    fn shrink(column: &mut Self::Column) {
        column.shrink_to_fit();
    }
    // Not every byte is a valid bool, so booleans stay in memory, like codes.
    fn visit_spillable(_: &mut Self::Column, _: &mut SpillVisitor<'_>) {}
    fn view(column: &Self::Column) -> Column<'_> {
        Column::Boolean(column)
    }
}

/// Returns the JSON schema of an enumeration that a column can contain: its description, and the description of each
/// code.
#[cfg(feature = "schema")]
#[must_use]
pub fn schema_of_codes(about: &str, codes: &[(&str, &str)]) -> schemars::Schema {
    let code_schema = |(description, text): &(&str, &str)| schemars::json_schema!({ "description": description.trim(), "type": "string", "const": text });
    let codes: Vec<schemars::Schema> = codes.iter().map(code_schema).collect();
    schemars::json_schema!({ "description": about.trim(), "oneOf": codes })
}

/// Declares an enumeration that a column can contain, with the names that exports use.
#[macro_export]
macro_rules! codes {
    ($(#[doc = $about:literal])* pub enum $name:ident { $($(#[doc = $doc:literal])* $code:ident = $text:literal),* $(,)? }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[doc = $doc])* $code),* }

        impl $name {
            /// All codes, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$code),*];
            /// Returns the name used in reports and exports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => $text),* }
            }
        }
        impl $crate::column::Code for $name {
            fn as_str(self) -> &'static str { Self::as_str(self) }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
        #[cfg(feature = "schema")]
        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $crate::cell::schema_of_codes(concat!($($about, "\n"),*), &[$((concat!($($doc, "\n"),*), $text)),*])
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }
        impl $crate::cell::Cell for $name {
            type Column = Vec<$name>;
            const NULLABLE: bool = false;
            const TYPE: $crate::column::ColumnType = $crate::column::ColumnType::Code(&[$($text),*]);
            const UNKNOWN: Self = Self::ALL[0];
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            fn append_sparse(column: &mut Self::Column, _: usize, chunk: &Self::Column) {
                column.extend_from_slice(chunk);
            }
            fn pad(_: &mut Self::Column, _: usize) {}
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.capacity() }
            fn shrink(column: &mut Self::Column) { column.shrink_to_fit(); }
            fn visit_spillable(_: &mut Self::Column, _: &mut $crate::cell::SpillVisitor<'_>) {}
            fn view(column: &Self::Column) -> $crate::column::Column<'_> { $crate::column::Column::Code(column) }
        }
    };
}
