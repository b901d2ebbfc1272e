//! What the arguments mean that all verbs share whose answer is a table.

use onoff_report::table::{Order, TEXT_ROWS};
use onoff_report::text::time_point::TimePoint;
use onoff_sources::Pattern;

use super::time_range;
use crate::arguments::table::{TableArguments, TableFormat};
use crate::failure::Failure;

/// About what, which rows, and how.
#[derive(Debug)]
pub struct TableQuestion {
    /// From when to when; calendar times wait for the recording's clock.
    pub range: Option<(TimePoint, TimePoint)>,
    /// The processes; all when empty.
    pub processes: Vec<Pattern>,
    /// Which rows, in which order.
    pub order: Order,
    /// How.
    pub format: TableFormat,
}

impl TableQuestion {
    /// Settles what the arguments mean.
    pub fn resolve(arguments: TableArguments) -> Result<Self, Failure> {
        let top = match (arguments.top, arguments.format) {
            (Some(0), _) | (None, TableFormat::Json | TableFormat::Csv) => None,
            (None, TableFormat::Text) => Some(TEXT_ROWS),
            (top, _) => top,
        };
        Ok(Self {
            range: time_range(arguments.range.as_deref())?,
            processes: arguments.processes.iter().map(|text| Pattern::new(text)).collect(),
            order: Order { sort: arguments.sort, reverse: arguments.reverse, top },
            format: arguments.format,
        })
    }
}
