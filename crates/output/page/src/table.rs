//! A table of the page.

use serde::Serialize;

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageTable {
    /// Its columns.
    pub columns: Vec<PageColumn>,
    /// Its rows, as a person reads them.
    pub rows: Vec<Vec<String>>,
    /// The same as numbers, to sort by and to draw; `null` where a cell is none.
    pub numbers: Vec<Vec<Option<f64>>>,
    /// Where a row is about intervals on the path, when the longest was, ns.
    pub spans: Vec<(i64, i64)>,
    /// Rows that there are.
    pub of: usize,
    /// What the rows leave out; empty when nothing.
    pub left_out: String,
    /// Why there is none; empty when there are.
    pub nothing: String,
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageColumn {
    /// Its name, as `--sort` and CSV have it.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Whether it holds numbers.
    pub number: bool,
}
