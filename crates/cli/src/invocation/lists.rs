//! The verbs that list rows of any range.

use onoff_analysis::lists::cpu::CpuGroup;
use onoff_analysis::lists::interrupts::InterruptGroup;
use onoff_analysis::storage::Key;

use super::table::TableQuestion;
use super::{Invocation, Task};
use crate::arguments::table::TableArguments;
use crate::arguments::{OutputArguments, RecordingArguments};
use crate::failure::Failure;

/// What to list.
#[derive(Debug)]
pub enum List {
    /// Who used the processors, told apart by these.
    Cpu(Vec<CpuGroup>),
    /// Work on devices and drivers.
    Devices,
    /// Requests to disks, grouped by these.
    Disk(Vec<Key>),
    /// File operations, grouped by these.
    Files(Vec<Key>),
    /// Hard faults, grouped by these.
    HardFaults(Vec<Key>),
    /// Interrupts, told apart by these.
    Interrupts(Vec<InterruptGroup>),
    /// Work for group policy.
    Policy,
    /// Processes.
    Processes,
    /// Starts and stops of services.
    Services,
}

impl Invocation {
    /// Settles what the arguments of such a verb mean.
    pub(super) fn list(
        list: List,
        recording: RecordingArguments,
        table: TableArguments,
        output: OutputArguments,
    ) -> Result<Self, Failure> {
        Ok(Self {
            task: Task::List(list, TableQuestion::resolve(table)?),
            recording: recording.into(),
            destination: output.into(),
        })
    }
}
