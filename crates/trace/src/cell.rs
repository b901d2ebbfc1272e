//! What a column can hold, how it is stored, and how it becomes an Arrow array.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, types};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

use crate::stack::{StackId, StackPool};
use crate::string::{StringId, StringPool};

/// The pools that cells refer to by id.
#[derive(Clone, Copy, Debug)]
pub struct Pools<'a> {
    /// Texts.
    pub strings: &'a StringPool,
    /// Call stacks.
    pub stacks: &'a StackPool,
}

/// A value that a table's column can hold.
pub trait Cell: Copy + Debug + PartialEq {
    /// Storage of a whole column.
    type Column: Clone + Debug + Default;
    /// Whether the column may hold nulls.
    const NULLABLE: bool;
    /// The Arrow type of the column.
    fn data_type() -> DataType;
    /// Appends one value.
    fn push(column: &mut Self::Column, value: Self);
    /// The value at `row`; `row` must be below the column's length.
    fn get(column: &Self::Column, row: usize) -> Self;
    /// Bytes of memory the column holds.
    fn memory(column: &Self::Column) -> usize;
    /// Gives back the memory that the column holds beyond its rows.
    fn shrink(column: &mut Self::Column);
    /// The column as an Arrow array. Numbers are moved, not copied.
    fn into_array(column: Self::Column, pools: Pools<'_>) -> ArrayRef;
}

/// A column of optional numbers: values (zero where null) and their presence.
#[derive(Clone, Debug)]
pub struct Nullable<T> {
    values: Vec<T>,
    present: Vec<bool>,
}

impl<T> Default for Nullable<T> {
    fn default() -> Self {
        Self { values: Vec::new(), present: Vec::new() }
    }
}

impl<T: Default> Nullable<T> {
    /// Replaces the value at `row`; nothing happens when there is no such row. For what becomes known later.
    pub fn set(&mut self, row: usize, value: Option<T>) {
        if let (Some(cell), Some(present)) = (self.values.get_mut(row), self.present.get_mut(row)) {
            *present = value.is_some();
            *cell = value.unwrap_or_default();
        }
    }
}

macro_rules! number_cell {
    ($($number:ty => $arrow:ty),* $(,)?) => {$(
        impl Cell for $number {
            type Column = Vec<$number>;
            const NULLABLE: bool = false;
            fn data_type() -> DataType { <$arrow as ArrowPrimitiveType>::DATA_TYPE }
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.capacity() * size_of::<$number>() }
            fn shrink(column: &mut Self::Column) { column.shrink_to_fit(); }
            fn into_array(column: Self::Column, _: Pools<'_>) -> ArrayRef {
                Arc::new(PrimitiveArray::<$arrow>::new(ScalarBuffer::from(column), None))
            }
        }
        impl Cell for Option<$number> {
            type Column = Nullable<$number>;
            const NULLABLE: bool = true;
            fn data_type() -> DataType { <$arrow as ArrowPrimitiveType>::DATA_TYPE }
            #[inline]
            fn push(column: &mut Self::Column, value: Self) {
                column.values.push(value.unwrap_or_default());
                column.present.push(value.is_some());
            }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self {
                column.present[row].then(|| column.values[row])
            }
            fn memory(column: &Self::Column) -> usize {
                column.values.capacity() * size_of::<$number>() + column.present.capacity()
            }
            fn shrink(column: &mut Self::Column) {
                column.values.shrink_to_fit();
                column.present.shrink_to_fit();
            }
            fn into_array(column: Self::Column, _: Pools<'_>) -> ArrayRef {
                let nulls = NullBuffer::from(column.present);
                Arc::new(PrimitiveArray::<$arrow>::new(ScalarBuffer::from(column.values), Some(nulls)))
            }
        }
    )*};
}

number_cell! {
    i8 => types::Int8Type, i16 => types::Int16Type, i32 => types::Int32Type, i64 => types::Int64Type,
    u8 => types::UInt8Type, u16 => types::UInt16Type, u32 => types::UInt32Type, u64 => types::UInt64Type,
    f64 => types::Float64Type,
}

impl Cell for bool {
    type Column = Vec<bool>;
    const NULLABLE: bool = false;
    fn data_type() -> DataType {
        DataType::Boolean
    }
    #[inline]
    fn push(column: &mut Self::Column, value: Self) {
        column.push(value);
    }
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
    fn into_array(column: Self::Column, _: Pools<'_>) -> ArrayRef {
        Arc::new(BooleanArray::from(column))
    }
}

impl Cell for StringId {
    type Column = Vec<StringId>;
    /// The empty text means "not known" and becomes null.
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        DataType::Utf8View
    }
    #[inline]
    fn push(column: &mut Self::Column, value: Self) {
        column.push(value);
    }
    #[inline]
    fn get(column: &Self::Column, row: usize) -> Self {
        column[row]
    }
    fn memory(column: &Self::Column) -> usize {
        column.capacity() * size_of::<StringId>()
    }
    fn shrink(column: &mut Self::Column) {
        column.shrink_to_fit();
    }
    fn into_array(column: Self::Column, pools: Pools<'_>) -> ArrayRef {
        pools.strings.view_array(&column)
    }
}

impl Cell for StackId {
    type Column = Vec<StackId>;
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        StackPool::data_type()
    }
    #[inline]
    fn push(column: &mut Self::Column, value: Self) {
        column.push(value);
    }
    #[inline]
    fn get(column: &Self::Column, row: usize) -> Self {
        column[row]
    }
    fn memory(column: &Self::Column) -> usize {
        column.capacity() * size_of::<StackId>()
    }
    fn shrink(column: &mut Self::Column) {
        column.shrink_to_fit();
    }
    fn into_array(column: Self::Column, pools: Pools<'_>) -> ArrayRef {
        pools.stacks.list_array(&column)
    }
}

/// A closed set of named codes: one byte in memory, a short text in Arrow and in reports.
pub trait Code: Copy + Debug + PartialEq {
    /// The code's name as reports and exports show it.
    fn as_str(self) -> &'static str;
}

/// Text column of a code's names.
pub(crate) fn code_array<C: Code>(codes: &[C]) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(codes.len());
    for code in codes {
        builder.append_value(code.as_str());
    }
    Arc::new(builder.finish())
}

/// Declares an enumeration that a column can hold, with the names that exports show.
#[macro_export]
macro_rules! codes {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$code_meta:meta])* $code:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$code_meta])* $code),* }

        impl $name {
            /// Every code, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$code),*];
            /// The code's name as reports and exports show it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => $text),* }
            }
        }
        impl $crate::cell::Code for $name {
            fn as_str(self) -> &'static str { Self::as_str(self) }
        }
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
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
            fn data_type() -> $crate::cell::DataTypeAlias { $crate::cell::text_type() }
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.capacity() }
            fn shrink(column: &mut Self::Column) { column.shrink_to_fit(); }
            fn into_array(column: Self::Column, _: $crate::cell::Pools<'_>) -> $crate::cell::ArrayAlias {
                $crate::cell::codes_to_array(&column)
            }
        }
    };
}

#[doc(hidden)]
pub type DataTypeAlias = DataType;
#[doc(hidden)]
pub type ArrayAlias = ArrayRef;
#[doc(hidden)]
#[must_use]
pub fn text_type() -> DataType {
    DataType::Utf8View
}
#[doc(hidden)]
#[must_use]
pub fn codes_to_array<C: Code>(codes: &[C]) -> ArrayRef {
    code_array(codes)
}
