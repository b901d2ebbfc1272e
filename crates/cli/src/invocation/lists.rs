//! The verbs that list rows of any range.

use onoff::List;

use super::{Invocation, Task, table};
use crate::arguments::table::TableArguments;
use crate::arguments::{OutputArguments, RecordingArguments};
use crate::failure::Failure;

impl Invocation {
    /// Settles what the arguments of such a verb mean.
    pub(super) fn list(
        list: List,
        recording: RecordingArguments,
        table: TableArguments,
        output: OutputArguments,
    ) -> Result<Self, Failure> {
        let (question, format) = table::resolve(table)?;
        let format = if matches!(list, List::Cpu(_)) { format } else { table::without_picture(format)? };
        Ok(Self { task: Task::List(list, question, format), recording: recording.into(), destination: output.into() })
    }
}
