//! What a table's columns are, and how anybody reads them without knowing the table's type: by name, type, unit and
//! role.

use std::fmt::Debug;

use crate::stack::StackId;
use crate::string::StringId;

/// A closed set of named codes: one byte in memory, a short text in Arrow and in reports.
pub trait Code: Copy + Debug + PartialEq {
    /// The code's name as reports and exports show it.
    fn as_str(self) -> &'static str;
}

/// What a column's values mean: their unit, and the part they play in their row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// A name, a code, a number as recorded.
    Plain,
    /// The moment of the row, which has no length.
    Time,
    /// When the row's work began; absent where it began before the recording.
    Start,
    /// When the row's work ended; absent where it outlived the recording.
    End,
    /// Another moment within the row's work.
    Moment,
    /// A length of time.
    Duration,
    /// A size, or a place counted in bytes.
    Bytes,
    /// An address in memory.
    Address,
    /// Id of the process that the row belongs to.
    Process,
    /// Id of the thread that the row belongs to.
    Thread,
    /// Number of the processor that the row belongs to.
    Processor,
    /// Id of another process that took part.
    OtherProcess,
    /// Id of another thread that took part.
    OtherThread,
    /// How many rows of another table come before; it grows from row to row.
    Place,
}

impl Meaning {
    /// The unit of the values; empty where they have none. A moment counts nanoseconds since the recording's first
    /// event.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Time | Self::Start | Self::End | Self::Moment | Self::Duration => "ns",
            Self::Bytes => "bytes",
            _ => "",
        }
    }

    /// The part that the column plays in its row; empty where it only describes.
    #[must_use]
    pub const fn role(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Start => "start",
            Self::End => "end",
            Self::Moment => "moment",
            Self::Duration => "duration",
            Self::Process => "process",
            Self::Thread => "thread",
            Self::Processor => "processor",
            Self::OtherProcess => "other process",
            Self::OtherThread => "other thread",
            Self::Address => "address",
            Self::Place => "place",
            Self::Plain | Self::Bytes => "",
        }
    }

    /// Whether the values are moments on the recording's axis.
    #[must_use]
    pub const fn is_moment(self) -> bool {
        matches!(self, Self::Time | Self::Start | Self::End | Self::Moment)
    }
}

/// Types of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Yes or no.
    Boolean,
    /// Signed, 8 bits.
    Int8,
    /// Signed, 16 bits.
    Int16,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 8 bits.
    UInt8,
    /// Unsigned, 16 bits.
    UInt16,
    /// Unsigned, 32 bits.
    UInt32,
    /// Unsigned, 64 bits.
    UInt64,
    /// Floating point, 64 bits.
    Float64,
    /// A text; the empty one means "not known".
    Text,
    /// One of these names.
    Code(&'static [&'static str]),
    /// Return addresses, innermost first; none means "not recorded".
    Stack,
}

impl ColumnType {
    /// The type's name in the reference.
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

/// A column as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnDeclaration {
    /// Name.
    pub name: &'static str,
    /// Type of its values.
    pub column_type: ColumnType,
    /// Whether a row may lack the value.
    pub nullable: bool,
    /// What the values mean.
    pub meaning: Meaning,
    /// What it is, in a sentence.
    pub documentation: &'static str,
}

/// A column's numbers, and which of them are there.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a, T> {
    /// One per row; zero where absent.
    pub values: &'a [T],
    /// One where the value is there, zero where not; `None` where all are there.
    pub present: Option<&'a [u8]>,
}

impl<T: Copy> Numbers<'_, T> {
    fn at(&self, row: usize) -> Option<T> {
        let there = self.present.is_none_or(|present| present.get(row).is_some_and(|&present| present != 0));
        self.values.get(row).copied().filter(|_| there)
    }
}

/// A column of codes, whatever their type.
pub trait Codes: std::fmt::Debug + Sync {
    /// The name in `row`; `None` beyond the last.
    fn name_at(&self, row: usize) -> Option<&'static str>;
    /// Rows.
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

/// A column's values, borrowed from their table.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// Yes or no.
    Boolean(&'a [bool]),
    /// Signed, 8 bits.
    Int8(Numbers<'a, i8>),
    /// Signed, 16 bits.
    Int16(Numbers<'a, i16>),
    /// Signed, 32 bits.
    Int32(Numbers<'a, i32>),
    /// Signed, 64 bits.
    Int64(Numbers<'a, i64>),
    /// Unsigned, 8 bits.
    UInt8(Numbers<'a, u8>),
    /// Unsigned, 16 bits.
    UInt16(Numbers<'a, u16>),
    /// Unsigned, 32 bits.
    UInt32(Numbers<'a, u32>),
    /// Unsigned, 64 bits.
    UInt64(Numbers<'a, u64>),
    /// Floating point, 64 bits.
    Float64(Numbers<'a, f64>),
    /// Texts of the recording's pool.
    Text(&'a [StringId]),
    /// Codes.
    Code(&'a dyn Codes),
    /// Stacks of the recording's pool.
    Stack(&'a [StackId]),
}

/// One value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Not known.
    Absent,
    /// Yes or no.
    Boolean(bool),
    /// A number with a sign.
    Signed(i64),
    /// A number without one.
    Unsigned(u64),
    /// A number with a fraction.
    Float(f64),
    /// A text of the recording's pool; never the empty one.
    Text(StringId),
    /// A code's name.
    Code(&'static str),
    /// A stack of the recording's pool; never the empty one.
    Stack(StackId),
}

impl Column<'_> {
    /// The value in `row`; [`Value::Absent`] also beyond the last row.
    #[must_use]
    pub fn value(&self, row: usize) -> Value {
        fn signed(value: Option<impl Into<i64>>) -> Value {
            value.map_or(Value::Absent, |value| Value::Signed(value.into()))
        }
        fn unsigned(value: Option<impl Into<u64>>) -> Value {
            value.map_or(Value::Absent, |value| Value::Unsigned(value.into()))
        }
        match self {
            Self::Boolean(values) => values.get(row).map_or(Value::Absent, |&value| Value::Boolean(value)),
            Self::Int8(numbers) => signed(numbers.at(row)),
            Self::Int16(numbers) => signed(numbers.at(row)),
            Self::Int32(numbers) => signed(numbers.at(row)),
            Self::Int64(numbers) => signed(numbers.at(row)),
            Self::UInt8(numbers) => unsigned(numbers.at(row)),
            Self::UInt16(numbers) => unsigned(numbers.at(row)),
            Self::UInt32(numbers) => unsigned(numbers.at(row)),
            Self::UInt64(numbers) => unsigned(numbers.at(row)),
            Self::Float64(numbers) => numbers.at(row).map_or(Value::Absent, Value::Float),
            Self::Text(ids) => match ids.get(row) {
                Some(&id) if !id.is_empty() => Value::Text(id),
                _ => Value::Absent,
            },
            Self::Code(codes) => codes.name_at(row).map_or(Value::Absent, Value::Code),
            Self::Stack(ids) => match ids.get(row) {
                Some(&id) if id != StackId::EMPTY => Value::Stack(id),
                _ => Value::Absent,
            },
        }
    }

    /// The moment or length in `row`, ns; `None` where it is absent, and for columns that hold no 64-bit signed
    /// numbers.
    #[must_use]
    pub fn nanoseconds(&self, row: usize) -> Option<i64> {
        match self {
            Self::Int64(numbers) => numbers.at(row),
            _ => None,
        }
    }

    /// Rows.
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
