//! Sorting and truncating the rows of a table.

use std::fmt;

use super::{Column, Kind, TableReport};

/// The sort order and number of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSelection {
    /// The column to sort by; `None` for the default order.
    pub sort: Option<String>,
    pub reverse: bool,
    /// Maximum number of rows; `None` for all.
    pub top: Option<usize>,
}

/// A sort column that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownColumn {
    pub requested: String,
    /// The existing columns.
    pub columns: Vec<&'static str>,
}

impl fmt::Display for UnknownColumn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no column '{}'; columns are {}", self.requested, self.columns.join(", "))
    }
}

impl std::error::Error for UnknownColumn {}

/// Unit suffixes of names, which can be omitted in `--sort`.
const UNITS: [&str; 3] = ["_ns", "_bytes", "_percent"];

/// Sorts and truncates the rows of `report`; returns the number of removed rows.
///
/// # Errors
/// The sort column does not exist.
pub fn sort_and_truncate<T: TableReport>(report: &mut T, order: &RowSelection) -> Result<usize, UnknownColumn> {
    let columns = report.columns();
    let column = match &order.sort {
        Some(name) => Some(find(&columns, name)?),
        None => None,
    };
    let rows = report.rows_mut();
    if let Some(Column { kind, value, .. }) = column {
        rows.sort_by(|a, b| value(a).compare(&value(b), kind));
    }
    if order.reverse {
        rows.reverse();
    }
    let total = rows.len();
    rows.truncate(order.top.unwrap_or(usize::MAX));
    Ok(total - rows.len())
}

/// Former titles of columns, which are still accepted in `--sort`.
const FORMER_TITLES: [(&str, &str); 6] = [
    ("took", "duration_ns"),
    ("begins", "start_ns"),
    ("container", "container_ns"),
    ("init", "initialization_ns"),
    ("lived", "lifetime_ns"),
    ("held up", "held_up_total"),
];

/// Finds the column with the requested name (with or without its unit) or title.
fn find<R>(columns: &[Column<R>], requested: &str) -> Result<Column<R>, UnknownColumn> {
    let normalized = requested.trim().to_lowercase();
    let former = FORMER_TITLES.iter().find(|(title, _)| *title == normalized);
    let current = former.map_or(normalized, |(_, name)| (*name).to_owned());
    let matches = |name: &str| {
        let name_without_unit = UNITS.iter().find_map(|unit| name.strip_suffix(unit));
        current == name || Some(current.as_str()) == name_without_unit
    };
    columns
        .iter()
        .find(|column| matches(column.name))
        .or_else(|| columns.iter().find(|column| !current.is_empty() && column.title.to_lowercase() == current))
        .copied()
        .ok_or_else(|| UnknownColumn { requested: requested.to_owned(), columns: short_names(columns) })
}

/// Returns the names of the columns without units, except where two columns differ only in the unit.
fn short_names<R>(columns: &[Column<R>]) -> Vec<&'static str> {
    let is_unique = |name: &str| columns.iter().filter(|column| short_name(column) == name).count() == 1;
    columns
        .iter()
        .map(|column| Some(short_name(column)).filter(|name| is_unique(name)).unwrap_or(column.name))
        .collect()
}

fn short_name<R>(column: &Column<R>) -> &'static str {
    let name = column.name;
    let name_without_unit = UNITS.iter().find_map(|unit| name.strip_suffix(unit));
    match (column.kind, name_without_unit) {
        (Kind::Name | Kind::Id, _) | (_, None) => name,
        (_, Some(name_without_unit)) => name_without_unit,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Row, report};
    use super::*;

    fn names(order: &RowSelection) -> (Vec<String>, usize) {
        let mut report = report();
        let omitted = sort_and_truncate(&mut report, order).unwrap();
        let names = report.rows().iter().map(|row: &Row| row.name.clone());
        (names.collect(), omitted)
    }

    fn sorted_by(sort: &str) -> RowSelection {
        RowSelection { sort: Some(sort.to_owned()), ..RowSelection::default() }
    }

    #[test]
    fn sorts_by_kind_with_unknown_last() {
        assert_eq!(names(&sorted_by("cpu_ns")).0, ["b", "C", "a,\"x\""]);
        assert_eq!(names(&sorted_by("cpu")).0, ["b", "C", "a,\"x\""]);
        assert_eq!(names(&sorted_by("cpu time")).0, ["b", "C", "a,\"x\""]);
        assert_eq!(names(&sorted_by("name")).0, ["a,\"x\"", "b", "C"]);
        let reversed = RowSelection { reverse: true, top: Some(2), ..sorted_by("name") };
        assert_eq!(names(&reversed), (vec!["C".to_owned(), "b".to_owned()], 1));
    }

    #[test]
    fn reports_unknown_column() {
        let error = sort_and_truncate(&mut report(), &sorted_by("speed")).unwrap_err();
        assert_eq!(error.to_string(), "no column 'speed'; columns are name, cpu, start");
    }
}
