//! Tables of the page.

use std::borrow::Cow;

use onoff_sections::table::Value;
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
    /// Number of rows before the first one.
    pub skipped: usize,
    /// Names of event fields in the range, most frequent first; only for events.
    pub fields: Vec<String>,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageColumn {
    /// Name, as in `--sort` and CSV.
    pub name: Cow<'static, str>,
    pub title: Cow<'static, str>,
    /// True if the cells are numbers.
    pub number: bool,
}

/// Returns a value as a number; `None` if it is not one.
pub(crate) fn number(value: &Value<'_>) -> Option<f64> {
    match *value {
        Value::Nothing | Value::Unknown | Value::AtLeast(_) | Value::Text(_) | Value::Flag(_) => None,
        Value::Since { ns, origin_ns } => Some(ns.saturating_sub(origin_ns) as f64),
        Value::Real { value, .. } => Some(value),
        Value::Id(number) | Value::Time(number) | Value::Duration(number) | Value::AtMost(number) => {
            Some(number as f64)
        }
        Value::Count(number) | Value::Bytes(number) => Some(number as f64),
        Value::Percent(share) => Some(share),
    }
}

/// Formats a time in seconds with the 100 ns that clocks of Windows count.
pub(crate) fn seconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ticks = ns.unsigned_abs() / 100;
    format!("{sign}{}.{:07}", ticks / 10_000_000, ticks % 10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_distinguish_ticks() {
        assert_eq!(seconds(7_780_014_200), "7.7800142");
        assert_eq!(seconds(-1_500_000_000), "-1.5000000");
        assert_eq!(seconds(i64::MIN), "-9223372036.8547758");
    }
}
