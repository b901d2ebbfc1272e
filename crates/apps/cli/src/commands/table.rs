//! Resolves the shared arguments of verbs that print a table.

use onoff::ListQuery;
use onoff_sections::table::{RowSelection, TEXT_ROWS};
use onoff_sources::Pattern;

use crate::arguments::table::{TableArguments, TableFormat};
use crate::failure::Failure;
use crate::invocation::time_range;

pub fn resolve(arguments: TableArguments) -> Result<(ListQuery, TableFormat), Failure> {
    let top = match (arguments.top, arguments.format) {
        (None, TableFormat::Text) => Some(TEXT_ROWS),
        (Some(0) | None, _) => None,
        (top, _) => top,
    };
    let query = ListQuery {
        range: time_range(arguments.range.as_deref())?,
        phase: arguments.phase,
        processes: arguments.processes.iter().map(|text| Pattern::new(text)).collect(),
        selection: RowSelection { sort: arguments.sort, reverse: arguments.reverse, top },
    };
    Ok((query, arguments.format))
}

/// Rejects picture formats.
pub fn without_picture(format: TableFormat) -> Result<TableFormat, Failure> {
    if format.is_picture() {
        let message = "--format: only 'onoff cpu', 'disk' and 'hardfaults' write pictures and call stacks";
        return Err(Failure::usage(message));
    }
    Ok(format)
}

/// Rejects formats other than text, JSON and CSV.
pub fn without_page(format: TableFormat) -> Result<TableFormat, Failure> {
    if format == TableFormat::Html {
        let message = "--format: only 'boot', 'shutdown', 'suspend', 'summary' and the lists write html";
        return Err(Failure::usage(message));
    }
    without_picture(format)
}

/// Returns the number of rows per list; 0 means all.
pub const fn all_if_zero(top: usize) -> usize {
    if top == 0 { usize::MAX } else { top }
}
