//! Untyped access to the columns of a table: name, type, unit, role and values.

use std::fmt::Debug;

use crate::stack::StackId;
use crate::string::StringId;

/// A closed set of named codes: one byte in memory, a short text in Arrow and in reports.
pub trait Code: Copy + Debug + PartialEq {
    /// Returns the name used in reports and exports.
    fn as_str(self) -> &'static str;
}

/// The meaning of a column's values: their unit, and their role in the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnMeaning {
    /// A name, a code, or a number as recorded.
    Plain,
    /// The time of the row's event, which has no duration.
    Time,
    /// Start of the row's work; null if it started before the recording.
    Start,
    /// End of the row's work; null if it did not end in the recording.
    End,
    /// Another time within the row's work.
    OtherTime,
    /// A time of the wall clock, since 1970-01-01 UTC.
    ClockTime,
    Duration,
    /// A size, or a byte offset.
    Bytes,
    Address,
    /// Id of the process that the row belongs to.
    Process,
    /// Id of the thread that the row belongs to.
    Thread,
    /// Number of the processor that the row belongs to.
    Processor,
    /// Id of another process involved.
    OtherProcess,
    /// Id of another thread involved.
    OtherThread,
    /// Number of rows of another table that precede this row; it never decreases.
    RowOffset,
}

impl ColumnMeaning {
    /// Returns the unit of the values; empty if they have none. Times are nanoseconds since the recording's first
    /// event, except those of the wall clock.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Time | Self::Start | Self::End | Self::OtherTime | Self::ClockTime | Self::Duration => "ns",
            Self::Bytes => "bytes",
            _ => "",
        }
    }

    /// Returns the role of the column in the row; empty for plain values.
    #[must_use]
    pub const fn role(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Start => "start",
            Self::End => "end",
            Self::OtherTime => "moment",
            Self::ClockTime => "clock time",
            Self::Duration => "duration",
            Self::Process => "process",
            Self::Thread => "thread",
            Self::Processor => "processor",
            Self::OtherProcess => "other process",
            Self::OtherThread => "other thread",
            Self::Address => "address",
            Self::RowOffset => "place",
            Self::Plain | Self::Bytes => "",
        }
    }

    /// True if the values are times on the recording's axis.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self, Self::Time | Self::Start | Self::End | Self::OtherTime)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float64,
    /// Text; empty means "not known".
    Text,
    /// One of these names.
    Code(&'static [&'static str]),
    /// Return addresses, innermost first; empty means "not recorded".
    Stack,
}

impl ColumnType {
    /// Returns the name used in the reference pages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::Float64 => "float64",
            Self::Text => "text",
            Self::Code(_) => "code",
            Self::Stack => "addresses",
        }
    }
}

/// The declaration of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnDeclaration {
    pub name: &'static str,
    pub column_type: ColumnType,
    /// Whether the value may be null.
    pub nullable: bool,
    pub meaning: ColumnMeaning,
    /// Description, one sentence.
    pub documentation: &'static str,
}

/// Numbers of a column, with their validity.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a, T> {
    /// One value per row; zero for null.
    pub values: &'a [T],
    /// 1 if the value is present, 0 if it is null; `None` if the column has no nulls.
    pub present: Option<&'a [u8]>,
}

impl<T: Copy> Numbers<'_, T> {
    fn get(&self, row: usize) -> Option<T> {
        let is_present = self.present.is_none_or(|present| present.get(row).is_some_and(|&present| present != 0));
        self.values.get(row).copied().filter(|_| is_present)
    }
}

/// Untyped access to a column of codes.
pub trait Codes: std::fmt::Debug + Sync {
    /// Returns the name in `row`; `None` past the last row.
    fn name_at(&self, row: usize) -> Option<&'static str>;
    fn rows(&self) -> usize;
}

impl<C: Code + Sync> Codes for Vec<C> {
    fn name_at(&self, row: usize) -> Option<&'static str> {
        self.get(row).map(|code| code.as_str())
    }
    fn rows(&self) -> usize {
        self.len()
    }
}

/// The values of a column, borrowed from the table.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    Boolean(&'a [bool]),
    Int8(Numbers<'a, i8>),
    Int16(Numbers<'a, i16>),
    Int32(Numbers<'a, i32>),
    Int64(Numbers<'a, i64>),
    UInt8(Numbers<'a, u8>),
    UInt16(Numbers<'a, u16>),
    UInt32(Numbers<'a, u32>),
    UInt64(Numbers<'a, u64>),
    Float64(Numbers<'a, f64>),
    /// Ids into the trace's string pool.
    Text(&'a [StringId]),
    Code(&'a dyn Codes),
    /// Ids into the trace's stack pool.
    Stack(&'a [StackId]),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Null.
    Null,
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    /// Id in the trace's string pool; never empty.
    Text(StringId),
    /// Name of a code.
    Code(&'static str),
    /// Id in the trace's stack pool; never empty.
    Stack(StackId),
}

impl Column<'_> {
    /// Returns the value in `row`; [`Value::Null`] past the last row.
    #[must_use]
    pub fn value(&self, row: usize) -> Value {
        fn signed(value: Option<impl Into<i64>>) -> Value {
            value.map_or(Value::Null, |value| Value::Signed(value.into()))
        }
        fn unsigned(value: Option<impl Into<u64>>) -> Value {
            value.map_or(Value::Null, |value| Value::Unsigned(value.into()))
        }
        match self {
            Self::Boolean(values) => values.get(row).map_or(Value::Null, |&value| Value::Boolean(value)),
            Self::Int8(numbers) => signed(numbers.get(row)),
            Self::Int16(numbers) => signed(numbers.get(row)),
            Self::Int32(numbers) => signed(numbers.get(row)),
            Self::Int64(numbers) => signed(numbers.get(row)),
            Self::UInt8(numbers) => unsigned(numbers.get(row)),
            Self::UInt16(numbers) => unsigned(numbers.get(row)),
            Self::UInt32(numbers) => unsigned(numbers.get(row)),
            Self::UInt64(numbers) => unsigned(numbers.get(row)),
            Self::Float64(numbers) => numbers.get(row).map_or(Value::Null, Value::Float),
            Self::Text(ids) => match ids.get(row) {
                Some(&id) if !id.is_empty() => Value::Text(id),
                _ => Value::Null,
            },
            Self::Code(codes) => codes.name_at(row).map_or(Value::Null, Value::Code),
            Self::Stack(ids) => match ids.get(row) {
                Some(&id) if id != StackId::EMPTY => Value::Stack(id),
                _ => Value::Null,
            },
        }
    }

    /// Returns the time or duration in `row`, in ns; `None` if it is null, or if the column does not have 64-bit signed
    /// integers.
    #[must_use]
    pub fn as_ns(&self, row: usize) -> Option<i64> {
        match self {
            Self::Int64(numbers) => numbers.get(row),
            _ => None,
        }
    }

    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Boolean(values) => values.len(),
            Self::Int8(numbers) => numbers.values.len(),
            Self::Int16(numbers) => numbers.values.len(),
            Self::Int32(numbers) => numbers.values.len(),
            Self::Int64(numbers) => numbers.values.len(),
            Self::UInt8(numbers) => numbers.values.len(),
            Self::UInt16(numbers) => numbers.values.len(),
            Self::UInt32(numbers) => numbers.values.len(),
            Self::UInt64(numbers) => numbers.values.len(),
            Self::Float64(numbers) => numbers.values.len(),
            Self::Text(ids) => ids.len(),
            Self::Code(codes) => codes.rows(),
            Self::Stack(ids) => ids.len(),
        }
    }
}
