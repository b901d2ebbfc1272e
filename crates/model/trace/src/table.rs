//! How a table is declared: a row, its columns, and what they mean.

use std::fmt::Debug;

use crate::cell::ShelfVisitor;
use crate::column::{Column, ColumnDeclaration};
use crate::values::{SHELF_ALIGNMENT, Shelf};

/// What a table says of itself.
pub(crate) trait Declared {
    const DOCUMENTATION: &'static str;
    const COLUMNS: &'static [ColumnDeclaration];
}

/// The rows of a table, or of one consecutive piece of it, for callers that do not know its type.
pub trait TableRows: Debug + Sync {
    /// Number of rows.
    fn rows(&self) -> usize;
    /// The columns in declaration order, borrowed.
    fn columns(&self) -> Vec<Column<'_>>;
}

/// Declares a row type and the table that holds many of them, one column per field. A column that is more than a name
/// or a number as recorded says so: `start_ns: i64 as Start` (see [`Meaning`](crate::column::Meaning)).
///
/// The table has `push`, `get`, `iter`, `len`, collects from rows, and shows its columns to whoever does not know its
/// type.
macro_rules! table {
    (
        $(#[doc = $documentation:literal])*
        $table:ident of $row:ident {
            $($(#[doc = $field_documentation:literal])* $field:ident: $cell:ty $(as $meaning:ident)?),* $(,)?
        }
    ) => {
        $(#[doc = $documentation])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $row {
            $($(#[doc = $field_documentation])* pub $field: $cell),*
        }

        impl $row {
            /// A row of which nothing is known.
            pub const UNKNOWN: Self = Self { $($field: <$cell as $crate::cell::Cell>::UNKNOWN),* };
        }

        #[doc = concat!("Table of [`", stringify!($row), "`] rows, one column per field.")]
        #[derive(Clone, Debug, Default)]
        pub struct $table {
            $($(#[doc = $field_documentation])* pub $field: <$cell as $crate::cell::Cell>::Column,)*
            rows: usize,
        }

        impl $table {
            /// An empty table.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }
            /// Appends a row.
            #[inline]
            pub fn push(&mut self, row: $row) {
                $(<$cell as $crate::cell::Cell>::push(&mut self.$field, row.$field);)*
                self.rows += 1;
            }
            /// Number of rows.
            #[must_use]
            pub fn len(&self) -> usize {
                self.rows
            }
            /// Whether there is no row.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.rows == 0
            }
            /// The row at `index`, if there is one.
            #[must_use]
            pub fn get(&self, index: usize) -> Option<$row> {
                (index < self.rows).then(|| self.row(index))
            }
            fn row(&self, index: usize) -> $row {
                $row { $($field: <$cell as $crate::cell::Cell>::get(&self.$field, index)),* }
            }
            /// The rows in order.
            pub fn iter(&self) -> impl ExactSizeIterator<Item = $row> + DoubleEndedIterator + '_ {
                (0..self.rows).map(|index| self.row(index))
            }
            /// Bytes of memory the columns hold.
            #[must_use]
            pub fn memory(&self) -> usize {
                0 $(+ <$cell as $crate::cell::Cell>::memory(&self.$field))*
            }
            /// Gives back the memory that growing reserved beyond the rows.
            pub fn shrink_to_fit(&mut self) {
                $(<$cell as $crate::cell::Cell>::shrink(&mut self.$field);)*
            }
            /// Puts what is in memory of the columns on `shelf`, if it takes them.
            pub fn shelve(&mut self, shelf: &dyn $crate::values::Shelf) {
                $crate::table::shelve(shelf, &mut |visit| {
                    $(<$cell as $crate::cell::Cell>::shelvable(&mut self.$field, visit);)*
                });
            }
        }

        impl FromIterator<$row> for $table {
            fn from_iter<I: IntoIterator<Item = $row>>(rows: I) -> Self {
                let mut table = Self::new();
                table.extend(rows);
                table
            }
        }

        impl Extend<$row> for $table {
            fn extend<I: IntoIterator<Item = $row>>(&mut self, rows: I) {
                for row in rows {
                    self.push(row);
                }
            }
        }

        impl $crate::table::Table for $table {
            type Row = $row;
            fn len(&self) -> usize {
                self.rows
            }
            fn row_at(&self, index: usize) -> Option<$row> {
                self.get(index)
            }
            fn memory(&self) -> usize {
                self.memory()
            }
        }

        impl $crate::table::TableRows for $table {
            fn rows(&self) -> usize {
                self.rows
            }
            fn columns(&self) -> Vec<$crate::column::Column<'_>> {
                vec![$(<$cell as $crate::cell::Cell>::view(&self.$field)),*]
            }
        }

        impl $crate::table::Declared for $table {
            const DOCUMENTATION: &'static str = concat!($($documentation, "\n"),*);
            const COLUMNS: &'static [$crate::column::ColumnDeclaration] = &[$(
                $crate::column::ColumnDeclaration {
                    name: stringify!($field),
                    column_type: <$cell as $crate::cell::Cell>::TYPE,
                    nullable: <$cell as $crate::cell::Cell>::NULLABLE,
                    meaning: $crate::table::meaning!($($meaning)?),
                    documentation: concat!($($field_documentation),*),
                }
            ),*];
        }
    };
}

/// Puts values on a shelf, in one piece: `each` shows all of them whenever it is called.
pub(crate) fn shelve(shelf: &dyn Shelf, each: &mut dyn FnMut(&mut ShelfVisitor<'_>)) {
    let mut bytes = Vec::new();
    each(&mut |values| {
        let end: usize = bytes.len().next_multiple_of(SHELF_ALIGNMENT);
        bytes.resize(end, 0);
        bytes.extend_from_slice(values.held_bytes());
    });
    let Some(piece) = shelf.keep(&bytes) else { return };
    let mut start = 0_usize;
    each(&mut |values| {
        let length = values.held_bytes().len();
        start = start.next_multiple_of(SHELF_ALIGNMENT);
        values.read_from(&piece, start);
        start += length;
    });
}

/// The meaning of a column that says it, or else the plain one.
macro_rules! meaning {
    () => {
        $crate::column::Meaning::Plain
    };
    ($meaning:ident) => {
        $crate::column::Meaning::$meaning
    };
}

pub(crate) use {meaning, table};

/// What every table can do, whatever its rows.
pub trait Table: Default {
    /// One row.
    type Row: Copy;
    /// Number of rows.
    fn len(&self) -> usize;
    /// Whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The row at `index`, if there is one.
    fn row_at(&self, index: usize) -> Option<Self::Row>;
    /// Bytes of memory the columns hold.
    fn memory(&self) -> usize;
}

/// A large table in consecutive pieces, as parallel readers fill it; rows stay in order across pieces.
#[derive(Clone, Debug)]
pub struct Batches<T> {
    pieces: Vec<T>,
}

impl<T> Default for Batches<T> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<T: Table> Batches<T> {
    /// Appends a piece whose rows come after all present ones. Empty pieces are dropped.
    pub fn push(&mut self, piece: T) {
        if !piece.is_empty() {
            self.pieces.push(piece);
        }
    }
    /// The pieces in order; none is empty.
    #[must_use]
    pub fn pieces(&self) -> &[T] {
        &self.pieces
    }
    /// Number of rows of all pieces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Table::len).sum()
    }
    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = T::Row> + '_ {
        self.pieces.iter().flat_map(|piece| (0..piece.len()).filter_map(|index| piece.row_at(index)))
    }
    /// Bytes of memory held.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.pieces.iter().map(Table::memory).sum()
    }
}

impl<T: Table> FromIterator<T> for Batches<T> {
    fn from_iter<I: IntoIterator<Item = T>>(pieces: I) -> Self {
        let mut batches = Self::default();
        for piece in pieces {
            batches.push(piece);
        }
        batches
    }
}
