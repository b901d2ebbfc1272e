//! What a column can hold, and how it is stored.

use std::fmt::Debug;

use crate::column::{Column, ColumnType, Numbers};
use crate::stack::StackId;
use crate::string::StringId;

/// A value that a table's column can hold.
pub trait Cell: Copy + Debug + PartialEq {
    /// Storage of a whole column.
    type Column: Clone + Debug + Default;
    /// Whether the column may hold nulls.
    const NULLABLE: bool;
    /// Type of the column.
    const TYPE: ColumnType;
    /// Appends one value.
    fn push(column: &mut Self::Column, value: Self);
    /// The value at `row`; `row` must be below the column's length.
    fn get(column: &Self::Column, row: usize) -> Self;
    /// Bytes of memory the column holds.
    fn memory(column: &Self::Column) -> usize;
    /// Gives back the memory that the column holds beyond its rows.
    fn shrink(column: &mut Self::Column);
    /// The column's values as anybody can read them.
    fn view(column: &Self::Column) -> Column<'_>;
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

/// Gives back what a column of numbers does not need: of zeros only, as where a recording lacks what the column is for, it is memory that was
/// never written, which systems do not take from anybody.
macro_rules! shrink_numbers {
    ($($number:ty)*) => {$(
        impl Shrink for $number {
            fn shrink(column: &mut Vec<Self>) {
                if column.iter().any(|value| value.to_ne_bytes() != [0; size_of::<Self>()]) {
                    column.shrink_to_fit();
                } else {
                    *column = vec![Self::default(); column.len()];
                }
            }
        }
    )*};
}

trait Shrink: Sized {
    fn shrink(column: &mut Vec<Self>);
}

shrink_numbers! { i8 i16 i32 i64 u8 u16 u32 u64 f64 }

fn shrink_numbers<T: Shrink>(column: &mut Vec<T>) {
    T::shrink(column);
}

macro_rules! number_cell {
    ($($number:ty => $kind:ident),* $(,)?) => {$(
        impl Cell for $number {
            type Column = Vec<$number>;
            const NULLABLE: bool = false;
            const TYPE: ColumnType = ColumnType::$kind;
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.capacity() * size_of::<$number>() }
            fn shrink(column: &mut Self::Column) { shrink_numbers(column); }
            fn view(column: &Self::Column) -> Column<'_> {
                Column::$kind(Numbers { values: column, present: None })
            }
        }
        impl Cell for Option<$number> {
            type Column = Nullable<$number>;
            const NULLABLE: bool = true;
            const TYPE: ColumnType = ColumnType::$kind;
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
                shrink_numbers(&mut column.values);
                if column.present.contains(&true) {
                    column.present.shrink_to_fit();
                } else {
                    // Memory that is zero from the start, as below.
                    column.present = vec![false; column.present.len()];
                }
            }
            fn view(column: &Self::Column) -> Column<'_> {
                Column::$kind(Numbers { values: &column.values, present: Some(&column.present) })
            }
        }
    )*};
}

number_cell! {
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => UInt8, u16 => UInt16, u32 => UInt32, u64 => UInt64,
    f64 => Float64,
}

/// A cell whose column is a vector of it. The empty text and the empty stack mean "not known".
macro_rules! plain_cell {
    ($($cell:ty => $kind:ident, $nullable:literal;)*) => {$(
        impl Cell for $cell {
            type Column = Vec<$cell>;
            const NULLABLE: bool = $nullable;
            const TYPE: ColumnType = ColumnType::$kind;
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.capacity() * size_of::<$cell>() }
            fn shrink(column: &mut Self::Column) { column.shrink_to_fit(); }
            fn view(column: &Self::Column) -> Column<'_> { Column::$kind(column) }
        }
    )*};
}

plain_cell! {
    bool => Boolean, false;
    StringId => Text, true;
    StackId => Stack, true;
}

/// The schema of an enumeration that a column can hold: what it is, and each code with what it means.
#[cfg(feature = "schema")]
#[must_use]
pub fn schema_of_codes(about: &str, codes: &[(&str, &str)]) -> schemars::Schema {
    let code = |(means, text): &(&str, &str)| schemars::json_schema!({ "description": means.trim(), "type": "string", "const": text });
    let codes: Vec<schemars::Schema> = codes.iter().map(code).collect();
    schemars::json_schema!({ "description": about.trim(), "oneOf": codes })
}

/// Declares an enumeration that a column can hold, with the names that exports show.
#[macro_export]
macro_rules! codes {
    ($(#[doc = $about:literal])* pub enum $name:ident { $($(#[doc = $doc:literal])* $code:ident = $text:literal),* $(,)? }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[doc = $doc])* $code),* }

        impl $name {
            /// Every code, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$code),*];
            /// The code's name as reports and exports show it.
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
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.capacity() }
            fn shrink(column: &mut Self::Column) { column.shrink_to_fit(); }
            fn view(column: &Self::Column) -> $crate::column::Column<'_> { $crate::column::Column::Code(column) }
        }
    };
}
