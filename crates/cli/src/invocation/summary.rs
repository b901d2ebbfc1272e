//! What the arguments of `onoff summary` mean.

use onoff_report::table::Order;

use super::{Invocation, Recording, Task};
use crate::arguments::summary::SummaryArguments;
use crate::arguments::table::TableFormat;

/// Which rows, and how.
#[derive(Debug)]
pub struct SummaryQuestion {
    /// Which rows, in which order.
    pub order: Order,
    /// How.
    pub format: TableFormat,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: SummaryArguments) -> Invocation {
    let top = (arguments.top > 0).then_some(arguments.top);
    let order = Order { sort: arguments.sort, reverse: arguments.reverse, top };
    Invocation {
        task: Task::Summary(SummaryQuestion { order, format: arguments.format }),
        recording: Recording { files: arguments.paths, ..Recording::none() },
        destination: arguments.output.into(),
    }
}
