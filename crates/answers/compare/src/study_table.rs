//! Defines the tables of a study.

use serde::{Deserialize, Serialize};

/// Unit of times in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    /// Milliseconds.
    #[default]
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    /// Returns the name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ms => "ms",
            Self::S => "s",
        }
    }

    pub(super) const fn nanoseconds(self) -> f64 {
        match self {
            Self::Ms => 1e6,
            Self::S => 1e9,
        }
    }
}

/// A table of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyTable {
    /// Title.
    pub title: String,
    /// Unit of times.
    pub unit: TimeUnit,
    /// Number of decimals of times.
    pub decimals: u8,
    /// Heading of the row names.
    pub heading: String,
    /// Column names.
    pub columns: Vec<String>,
    /// Rows, with one cell per column.
    pub rows: Vec<StudyRow>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyRow {
    /// Row name.
    pub label: String,
    /// Cells.
    pub cells: Vec<StudyCell>,
}

/// A cell of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyCell {
    /// Median or difference of medians; `None` if unknown.
    pub number: Option<f64>,
    /// Unit of the number.
    pub unit: CellUnit,
}

/// Unit of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CellUnit {
    /// The table's unit of times.
    Time,
    /// Mebibytes.
    Mebibytes,
    /// A count.
    Count,
    /// Percent of the baseline's median.
    Percent,
}
