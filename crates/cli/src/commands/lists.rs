//! The commands that list rows of any range.

use onoff_analysis::lists::{cpu, devices, interrupts, policy, processes, services};
use onoff_analysis::storage::{disk, files, hard_faults};

use super::table::run as table;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::lists::List;
use crate::invocation::table::TableQuestion;
use crate::output::Destination;

pub fn run(recording: Recording, list: List, question: TableQuestion, to: &Destination) -> Result<(), Failure> {
    match list {
        List::Cpu(by) => table(recording, cpu::tables(&by), question, to, |trace, scope| cpu::list(trace, scope, &by)),
        List::Devices => {
            no_process(&question, "work on a device")?;
            table(recording, devices::TABLES, question, to, devices::list)
        }
        List::Disk(by) => table(recording, disk::TABLES, question, to, |trace, scope| disk::analyse(trace, scope, &by)),
        List::Files(by) => {
            table(recording, files::TABLES, question, to, |trace, scope| files::analyse(trace, scope, &by))
        }
        List::HardFaults(by) => {
            let list = |trace: &_, scope: &_| hard_faults::analyse(trace, scope, &by);
            table(recording, hard_faults::TABLES, question, to, list)
        }
        List::Interrupts(by) => {
            no_process(&question, "an interrupt")?;
            let list = |trace: &_, scope: &_| interrupts::list(trace, scope, &by);
            table(recording, interrupts::TABLES, question, to, list)
        }
        List::Policy => table(recording, policy::TABLES, question, to, policy::list),
        List::Processes => table(recording, processes::TABLES, question, to, processes::list),
        List::Services => table(recording, services::TABLES, question, to, services::list),
    }
}

/// Refuses a choice of processes where `what` belongs to none.
fn no_process(question: &TableQuestion, what: &str) -> Result<(), Failure> {
    if question.processes.is_empty() {
        return Ok(());
    }
    Err(Failure::WrongUsage(format!("--process: {what} belongs to no process")))
}
