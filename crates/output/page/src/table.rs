//! Tables of the page.

use serde::Serialize;

/// A table of a range.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageTable {
    pub columns: Vec<PageColumn>,
    /// Formatted cells by row.
    pub rows: Vec<Vec<String>>,
    /// Numeric values of the cells, for sorting and bars; `null` if a cell is not a number.
    pub numbers: Vec<Vec<Option<f64>>>,
    /// Interval of each row as (start, end), ns: the longest one of a group; empty if rows have no intervals.
    pub spans: Vec<(i64, i64)>,
    /// Number of rows before truncation.
    pub of: usize,
    /// Note about omitted data; empty if there are none.
    pub omitted: String,
    /// Message if there are no rows; empty otherwise.
    pub nothing: String,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageColumn {
    /// Name, as in `--sort` and CSV.
    pub name: &'static str,
    pub title: &'static str,
    /// True if the cells are numbers.
    pub number: bool,
}
