//! What the arguments of `onoff summary` mean.

use onoff_report::table::Order;

use super::{Invocation, Recording, Task};
use crate::arguments::summary::SummaryArguments;
use crate::arguments::table::TableFormat;
use crate::failure::Failure;

/// Which rows, and how.
#[derive(Debug)]
pub struct SummaryQuestion {
    /// Which rows, in which order.
    pub order: Order,
    /// How.
    pub format: TableFormat,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: SummaryArguments) -> Result<Invocation, Failure> {
    if matches!(arguments.format, TableFormat::Folded | TableFormat::Speedscope) {
        let message = "--format: a summary has no call stacks; 'onoff cpu', 'disk' and 'hardfaults' have";
        return Err(Failure::WrongUsage(message.to_owned()));
    }
    let top = (arguments.top > 0).then_some(arguments.top);
    let order = Order { sort: arguments.sort, reverse: arguments.reverse, top };
    Ok(Invocation {
        task: Task::Summary(SummaryQuestion { order, format: arguments.format }),
        recording: Recording { files: arguments.paths, ..Recording::none() },
        destination: arguments.output.into(),
    })
}
