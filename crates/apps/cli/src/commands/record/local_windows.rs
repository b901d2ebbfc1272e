//! Recording a Windows computer.

use onoff_record::job::Job;
use onoff_record::machine::Machine;
use onoff_record::windows::live::WindowsMachine;
use onoff_record::windows::session;

use super::{RecordTask, confirm, program_path, report_progress, write_check};
use crate::failure::Failure;
use crate::output::Destination;

const FOLLOW: &str = "log on afterwards: a window shows the progress";

pub fn run(task: RecordTask, destination: &Destination) -> Result<(), Failure> {
    let mut machine = WindowsMachine::new()?;
    let windows = machine.installation().clone();
    match task {
        RecordTask::Record(job, yes) => {
            if !yes {
                confirm(&job)?;
            }
            let job = with_forward_slashes(job);
            let progress = session::start(&mut machine, &windows, job, &program_path()?.replace('\\', "/"))?;
            report_progress(&mut machine, &progress, FOLLOW);
        }
        RecordTask::Resume => {
            let progress = session::resume(&mut machine, &windows)?;
            report_progress(&mut machine, &progress, FOLLOW);
        }
        RecordTask::Restore => {
            if !machine.is_superuser() {
                return Err(Failure::no_data(
                    "--restore needs administrator rights: open a prompt with 'Run as administrator'",
                ));
            }
            let text = match session::restore(&mut machine)? {
                true => "All changes were undone.",
                false => "There are no changes to undo.",
            };
            machine.print_line(text);
        }
        RecordTask::Check(job, _) => {
            write_check(&session::check(&mut machine, &windows, &with_forward_slashes(job)), destination)?;
        }
        RecordTask::DryRun(job, _) => {
            let sentences = session::describe(&windows, machine.state_folder(), &with_forward_slashes(job));
            destination.write(|out| {
                for (number, sentence) in (1..).zip(sentences) {
                    writeln!(out, "{number:>3}. {sentence}")?;
                }
                Ok(())
            })?;
        }
        RecordTask::PlanWindows(_) => {}
        RecordTask::ShutdownHook(..) => {
            return Err(Failure::no_data("record --shutdown-hook is for systemd only"));
        }
    }
    Ok(())
}

/// Windows jobs store their folder with forward slashes.
fn with_forward_slashes(mut job: Job) -> Job {
    job.out = job.out.replace('\\', "/");
    job
}
