//! A table of a study, as it is shown.

use serde::{Deserialize, Serialize};

/// A unit of times in a table.
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
    /// The name, as in JSON.
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
    /// What stands above it.
    pub title: String,
    /// MeasureUnit of its times.
    pub unit: TimeUnit,
    /// Decimals that times are shown with.
    pub decimals: u8,
    /// What stands above the rows' names.
    pub heading: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, each with as many cells as there are columns.
    pub rows: Vec<StudyRow>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyRow {
    /// Its name.
    pub label: String,
    /// Its cells.
    pub cells: Vec<StudyCell>,
}

/// A number of a table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyCell {
    /// The median, or a difference of medians; `None` where there is none.
    pub number: Option<f64>,
    /// What the number is in.
    pub unit: CellUnit,
}

/// What a number of a table is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CellUnit {
    /// The table's unit of times.
    Time,
    /// Mebibytes.
    Mebibytes,
    /// A number of things.
    Count,
    /// Percent of the baseline's median.
    Percent,
}
