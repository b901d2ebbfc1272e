//! What a column can hold, and how it is stored.

use std::fmt::Debug;
use std::sync::Arc;

use crate::column::{Column, ColumnType, Numbers};
use crate::stack::StackId;
use crate::string::StringId;
use crate::values::{Plain, Shelved, Values};

/// A value that a table's column can hold.
pub trait Cell: Copy + Debug + PartialEq {
    /// Storage of a whole column.
    type Column: Clone + Debug + Default;
    /// Whether the column may hold nulls.
    const NULLABLE: bool;
    /// Type of the column.
    const TYPE: ColumnType;
    /// The value in a row of which nothing is known: none, zero, empty, and of codes the first.
    const UNKNOWN: Self;
    /// Appends one value.
    fn push(column: &mut Self::Column, value: Self);
    /// The value at `row`; `row` must be below the column's length.
    fn get(column: &Self::Column, row: usize) -> Self;
    /// Bytes of memory the column holds.
    fn memory(column: &Self::Column) -> usize;
    /// Gives back the memory that the column holds beyond its rows.
    fn shrink(column: &mut Self::Column);
    /// Shows `visit` the values that a shelf can take, one kind after the other.
    fn shelvable(column: &mut Self::Column, visit: &mut ShelfVisitor<'_>);
    /// The column's values as anybody can read them.
    fn view(column: &Self::Column) -> Column<'_>;
}

/// Values that a shelf can take, whatever their type.
pub trait Shelvable {
    /// The bytes that it would take.
    fn held_bytes(&self) -> &[u8];
    /// Reads them from `piece`, from byte `start` on, from now on.
    fn read_from(&mut self, piece: &Arc<dyn Shelved>, start: usize);
}

/// Who is shown values that a shelf can take.
pub type ShelfVisitor<'v> = dyn FnMut(&mut dyn Shelvable) + 'v;

impl<T: Plain> Shelvable for Values<T> {
    fn held_bytes(&self) -> &[u8] {
        self.held_bytes()
    }
    fn read_from(&mut self, piece: &Arc<dyn Shelved>, start: usize) {
        self.read_from(piece, start);
    }
}

/// A column of optional numbers: values (zero where null) and their presence.
#[derive(Clone, Debug)]
pub struct Nullable<T: Plain> {
    values: Values<T>,
    /// One where the value is there, zero where not.
    present: Values<u8>,
}

impl<T: Plain> Default for Nullable<T> {
    fn default() -> Self {
        Self { values: Values::default(), present: Values::default() }
    }
}

impl<T: Plain + Default> Nullable<T> {
    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<T>> + '_ {
        self.values.iter().zip(&self.present).map(|(&value, &present)| (present != 0).then_some(value))
    }
    /// Replaces the value at `row`; nothing happens when there is no such row. For what becomes known later.
    pub fn set(&mut self, row: usize, value: Option<T>) {
        if let (Some(cell), Some(present)) = (self.values.get_mut(row), self.present.get_mut(row)) {
            *present = u8::from(value.is_some());
            *cell = value.unwrap_or_default();
        }
    }
}

/// Gives back what a column of numbers does not need: of zeros only, as where a recording lacks what the column is for,
/// it is memory that was never written, which systems do not take from anybody.
macro_rules! shrink_numbers {
    ($($number:ty)*) => {$(
        impl Shrink for $number {
            fn shrink(column: &mut Values<Self>) {
                if column.iter().any(|value| value.to_ne_bytes() != [0; size_of::<Self>()]) {
                    column.vector().shrink_to_fit();
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
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.memory() }
            fn shrink(column: &mut Self::Column) { shrink_numbers(column); }
            fn shelvable(column: &mut Self::Column, visit: &mut ShelfVisitor<'_>) { visit(column); }
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
                column.values.push(value.unwrap_or_default());
                column.present.push(u8::from(value.is_some()));
            }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self {
                (column.present[row] != 0).then(|| column.values[row])
            }
            fn memory(column: &Self::Column) -> usize {
                column.values.memory() + column.present.memory()
            }
            fn shrink(column: &mut Self::Column) {
                shrink_numbers(&mut column.values);
                // Where none is there, they are zeros too.
                shrink_numbers(&mut column.present);
            }
            fn shelvable(column: &mut Self::Column, visit: &mut ShelfVisitor<'_>) {
                visit(&mut column.values);
                visit(&mut column.present);
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

/// A cell whose column is its values. The empty text and the empty stack mean "not known".
macro_rules! id_cell {
    ($($cell:ty => $kind:ident;)*) => {$(
        impl Cell for $cell {
            type Column = Values<$cell>;
            const NULLABLE: bool = true;
            const TYPE: ColumnType = ColumnType::$kind;
            const UNKNOWN: Self = Self::EMPTY;
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.memory() }
            fn shrink(column: &mut Self::Column) { column.vector().shrink_to_fit(); }
            fn shelvable(column: &mut Self::Column, visit: &mut ShelfVisitor<'_>) { visit(column); }
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
    // Not every byte is one: these stay in memory, as codes do.
    fn shelvable(_: &mut Self::Column, _: &mut ShelfVisitor<'_>) {}
    fn view(column: &Self::Column) -> Column<'_> {
        Column::Boolean(column)
    }
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
            const UNKNOWN: Self = Self::ALL[0];
            #[inline]
            fn push(column: &mut Self::Column, value: Self) { column.push(value); }
            #[inline]
            fn get(column: &Self::Column, row: usize) -> Self { column[row] }
            fn memory(column: &Self::Column) -> usize { column.capacity() }
            fn shrink(column: &mut Self::Column) { column.shrink_to_fit(); }
            fn shelvable(_: &mut Self::Column, _: &mut $crate::cell::ShelfVisitor<'_>) {}
            fn view(column: &Self::Column) -> $crate::column::Column<'_> { $crate::column::Column::Code(column) }
        }
    };
}
