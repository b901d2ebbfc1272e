//! Recording a Windows computer.

use onoff_record::job::Job;
use onoff_record::machine::Machine;
use onoff_record::windows::live::WindowsMachine;
use onoff_record::windows::session;

use super::{RecordTask, consent, program, tell, write_check};
use crate::failure::Failure;
use crate::output::Destination;

/// How a person sees what goes on after a restart.
const FOLLOW: &str = "log on: a window shows how it goes on";

/// Records, or shows what recording would do.
pub fn run(task: RecordTask, destination: &Destination) -> Result<(), Failure> {
    let mut machine = WindowsMachine::new()?;
    let windows = machine.installation().clone();
    match task {
        RecordTask::Record(job, yes) => {
            if !yes {
                consent(&job)?;
            }
            let progress = session::start(&mut machine, &windows, here(job), &program()?.replace('\\', "/"))?;
            tell(&mut machine, &progress, FOLLOW);
        }
        RecordTask::Resume => {
            let progress = session::resume(&mut machine, &windows)?;
            tell(&mut machine, &progress, FOLLOW);
        }
        RecordTask::Restore => {
            if !machine.is_superuser() {
                return Err(Failure::nothing(
                    "putting things back needs an administrator: open a prompt with 'Run as administrator'",
                ));
            }
            let text = match session::restore(&mut machine)? {
                true => "everything is put back",
                false => "there is nothing to put back",
            };
            machine.say(text);
        }
        RecordTask::Check(job, _) => {
            write_check(&session::check(&mut machine, &windows, &here(job)), destination)?;
        }
        RecordTask::DryRun(job, _) => {
            let sentences = session::sentences(&windows, machine.state_folder(), &here(job));
            destination.write(|out| {
                for (number, sentence) in (1..).zip(sentences) {
                    writeln!(out, "{number:>3}. {sentence}")?;
                }
                Ok(())
            })?;
        }
        RecordTask::PlanWindows(_) => {}
        RecordTask::ShutdownHook(..) => {
            return Err(Failure::nothing("record --shutdown-hook: only systemd runs this"));
        }
    }
    Ok(())
}

/// The job with its folder as jobs on Windows keep it: `/` between folders.
fn here(mut job: Job) -> Job {
    job.out = job.out.replace('\\', "/");
    job
}
