//! Recording a Linux computer.

use std::path::{Path, PathBuf};

use onoff_record::capabilities::Capabilities;
use onoff_record::check::check;
use onoff_record::job::Job;
use onoff_record::live::LiveMachine;
use onoff_record::machine::Machine;
use onoff_record::plan::plan;
use onoff_record::session;
use onoff_record::shutdown_hook;

use super::{RecordTask, confirm, program_path, report_progress, write_check};
use crate::failure::Failure;
use crate::output::Destination;

const FOLLOW: &str = "follow the progress with 'journalctl --follow --unit onoff-record'";

pub fn run(task: RecordTask, destination: &Destination) -> Result<(), Failure> {
    let mut machine = LiveMachine::new(PathBuf::from("/"));
    match task {
        RecordTask::Record(job, yes) => {
            if !yes {
                confirm(&job)?;
            }
            let id = new_job_id(&machine);
            let progress = session::start(&mut machine, job, &program_path()?, &id)?;
            report_progress(&mut machine, &progress, FOLLOW);
        }
        RecordTask::Resume => {
            let progress = session::resume(&mut machine, &program_path()?)?;
            report_progress(&mut machine, &progress, FOLLOW);
        }
        RecordTask::ShutdownHook(kind, staging) => {
            shutdown_hook::run(&mut machine, &kind, &staging)?;
        }
        RecordTask::PlanWindows(_) => {}
        RecordTask::Restore => {
            if !machine.is_superuser() {
                return Err(Failure::no_data("--restore needs root: sudo onoff record --restore"));
            }
            let text = match session::restore(&mut machine)? {
                true => "All changes were undone.",
                false => "There are no changes to undo.",
            };
            machine.print_line(text);
        }
        RecordTask::Check(job, root) => {
            let mut machine = LiveMachine::new(root);
            let capabilities = Capabilities::probe(&mut machine);
            let free_bytes = session::free_bytes(&machine, &job);
            let items = check(&job, &capabilities, free_bytes);
            write_check(&items, destination)?;
        }
        RecordTask::DryRun(job, root) => {
            let mut machine = LiveMachine::new(root);
            let capabilities = Capabilities::probe(&mut machine);
            write_plan(&job, &capabilities, &machine, destination)?;
        }
    }
    Ok(())
}

/// Returns the id that marks the boots of a job.
fn new_job_id(machine: &LiveMachine) -> String {
    format!("{:x}", machine.clocks().real_ns)
}

fn write_plan(
    job: &Job,
    capabilities: &Capabilities,
    machine: &LiveMachine,
    destination: &Destination,
) -> Result<(), Failure> {
    let plan = plan(job, capabilities, &program_path()?, "ID")?;
    let records_boot = job.transition.records_boot();
    destination.write(|out| {
        for (number, sentence) in (1..).zip(plan.describe(job)) {
            writeln!(out, "{number:>3}. {sentence}")?;
        }
        if records_boot {
            let options = onoff_record::kernel_options::options(job, capabilities, "ID");
            writeln!(out, "\nKernel options: {}", options.join(" "))?;
        }
        if !machine.is_superuser() && machine.root() == Path::new("/") {
            writeln!(out, "\nNothing was changed. To record: sudo onoff record {} …", job.transition.name())?;
        }
        Ok(())
    })
}
