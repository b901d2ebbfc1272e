//! What the arguments mean that all verbs share whose answer is a table.

use onoff::ListQuestion;
use onoff_sections::table::{Order, TEXT_ROWS};
use onoff_sources::Pattern;

use crate::arguments::table::{TableArguments, TableFormat};
use crate::failure::Failure;
use crate::invocation::time_range;

/// Settles what the arguments mean: about what, which rows, and how.
pub fn resolve(arguments: TableArguments) -> Result<(ListQuestion, TableFormat), Failure> {
    let top = match (arguments.top, arguments.format) {
        (None, TableFormat::Text) => Some(TEXT_ROWS),
        (Some(0) | None, _) => None,
        (top, _) => top,
    };
    let question = ListQuestion {
        range: time_range(arguments.range.as_deref())?,
        phase: arguments.phase,
        processes: arguments.processes.iter().map(|text| Pattern::new(text)).collect(),
        order: Order { sort: arguments.sort, reverse: arguments.reverse, top },
    };
    Ok((question, arguments.format))
}

/// A format of a verb that draws nothing.
pub fn without_picture(format: TableFormat) -> Result<TableFormat, Failure> {
    if format.is_picture() {
        let drawn = "this verb draws nothing and has no call stacks; 'onoff cpu', 'disk' and 'hardfaults' do";
        return Err(Failure::usage(format!("--format: {drawn}")));
    }
    Ok(format)
}

/// A format of a verb that is written as text, JSON and comma-separated values alone.
pub fn without_page(format: TableFormat) -> Result<TableFormat, Failure> {
    if format == TableFormat::Html {
        let written = "this verb writes no page; 'boot', 'shutdown', 'suspend', 'summary' and the lists do";
        return Err(Failure::usage(format!("--format: {written}")));
    }
    without_picture(format)
}

/// Rows of each list of text, of which 0 means all.
pub const fn all_if_zero(top: usize) -> usize {
    if top == 0 { usize::MAX } else { top }
}
