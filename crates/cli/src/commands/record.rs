//! `onoff record`.

use onoff_record::error::Error;
use onoff_record::job::Job;
use onoff_record::windows;

use crate::failure::Failure;
use crate::invocation::record::RecordTask;
use crate::output::Destination;

/// Records, or shows what recording would do.
pub fn run(task: RecordTask, destination: &Destination) -> Result<(), Failure> {
    match task {
        RecordTask::PlanWindows(job) => plan_windows(&job, destination),
        task => run_here(task, destination),
    }
}

#[cfg(target_os = "linux")]
fn run_here(task: RecordTask, destination: &Destination) -> Result<(), Failure> {
    linux::run(task, destination)
}

#[cfg(not(target_os = "linux"))]
fn run_here(_: RecordTask, _: &Destination) -> Result<(), Failure> {
    Err(Failure::NothingToAnswer(
        "record: onoff records Linux only; '--plan windows' shows how Windows is recorded".to_owned(),
    ))
}

/// Shows the command lines and writes the profile.
fn plan_windows(job: &Job, destination: &Destination) -> Result<(), Failure> {
    let path = std::path::Path::new(&job.out).join(windows::PROFILE_FILE);
    let failed = |error: std::io::Error| Failure::Unreadable(format!("{}: cannot write: {error}", path.display()));
    std::fs::create_dir_all(&job.out).map_err(failed)?;
    std::fs::write(&path, windows::profile::text()).map_err(failed)?;
    destination.write(|out| {
        for section in windows::plan(job) {
            writeln!(out, "{}:", section.title)?;
            for line in section.lines {
                let indent = if section.commands { "    " } else { "  - " };
                writeln!(out, "{indent}{line}")?;
            }
            writeln!(out)?;
        }
        writeln!(out, "The profile for wpr: {}", path.display())?;
        Ok(())
    })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(message) => Self::NothingToAnswer(message),
            error => Self::Unreadable(error.to_string()),
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::path::{Path, PathBuf};

    use onoff_record::capabilities::Offer;
    use onoff_record::check::{Item, Standing, check};
    use onoff_record::job::Job;
    use onoff_record::live::LiveMachine;
    use onoff_record::machine::Machine;
    use onoff_record::plan::plan;
    use onoff_record::session::{self, Progress};
    use onoff_record::shutdown_hook;

    use crate::failure::Failure;
    use crate::invocation::record::RecordTask;
    use crate::output::Destination;

    pub fn run(task: RecordTask, destination: &Destination) -> Result<(), Failure> {
        let mut machine = LiveMachine::new(PathBuf::from("/"));
        match task {
            RecordTask::Record(job, yes) => {
                if !yes {
                    consent(&job)?;
                }
                let id = mark(&machine);
                let progress = session::start(&mut machine, job, &program()?, &id)?;
                tell(&mut machine, &progress);
            }
            RecordTask::Resume => {
                let progress = session::resume(&mut machine, &program()?)?;
                tell(&mut machine, &progress);
            }
            RecordTask::ShutdownHook(kind, staging) => {
                shutdown_hook::run(&mut machine, &kind, &staging)?;
            }
            RecordTask::PlanWindows(_) => {}
            RecordTask::Restore => {
                if !machine.is_superuser() {
                    return Err(Failure::NothingToAnswer(
                        "putting things back needs root: sudo onoff record --restore".to_owned(),
                    ));
                }
                let text = match session::restore(&mut machine)? {
                    true => "everything is put back",
                    false => "there is nothing to put back",
                };
                machine.say(text);
            }
            RecordTask::Check(job, root) => {
                let mut machine = LiveMachine::new(root);
                let offer = Offer::probe(&mut machine);
                let free = session::free_bytes(&machine, &job);
                let items = check(&job, &offer, free);
                write_check(&items, destination)?;
                if items.iter().any(|item| item.standing == Standing::Lacking) {
                    return Err(Failure::Told(2));
                }
            }
            RecordTask::DryRun(job, root) => {
                let mut machine = LiveMachine::new(root);
                let offer = Offer::probe(&mut machine);
                write_plan(&job, &offer, &machine, destination)?;
            }
        }
        Ok(())
    }

    /// Has a person agree to a sleep that nothing ends.
    fn consent(job: &Job) -> Result<(), Failure> {
        use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

        if job.transition.restarts() || job.wake_after_s.is_some() {
            return Ok(());
        }
        let word = job.transition.word();
        let times = match job.total_runs() {
            1 => String::new(),
            runs => format!(", {runs} times"),
        };
        if !stdin().is_terminal() {
            return Err(Failure::NothingToAnswer(format!(
                "record {word}: nothing would wake this computer{times}; add '--wake-after SECONDS', or '--yes' if somebody wakes it by hand"
            )));
        }
        let mut answer = String::new();
        write!(stderr(), "Nothing will wake this computer: it has to be woken by hand{times}. Go on? [y/N] ")?;
        stdin().lock().read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err(Failure::NothingToAnswer(format!("record {word}: not done"))),
        }
    }

    fn tell(machine: &mut LiveMachine, progress: &Progress) {
        match progress {
            Progress::Restarting => machine.say(
                "onoff record: the computer restarts; 'journalctl --follow --unit onoff-record' shows how it goes on",
            ),
            Progress::Finished(recordings) => {
                for recording in recordings {
                    machine.say(recording);
                }
            }
            Progress::Nothing => {}
        }
    }

    fn program() -> Result<String, Failure> {
        let path = std::env::current_exe()?;
        match path.to_str() {
            Some(path) => Ok(path.to_owned()),
            None => Err(Failure::NothingToAnswer("record: the path of this program is no text".to_owned())),
        }
    }

    /// What marks the boots of a job that begins now.
    fn mark(machine: &LiveMachine) -> String {
        format!("{:x}", machine.clocks().real_ns)
    }

    fn write_check(items: &[Item], destination: &Destination) -> Result<(), Failure> {
        let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
        destination.write(|out| {
            for item in items {
                let standing = match item.standing {
                    Standing::There => "ok      ",
                    Standing::Narrower => "narrower",
                    Standing::Lacking => "LACKING ",
                };
                writeln!(out, "{standing}  {:width$}  {}", item.name, item.text)?;
            }
            Ok(())
        })
    }

    fn write_plan(job: &Job, offer: &Offer, machine: &LiveMachine, destination: &Destination) -> Result<(), Failure> {
        let plan = plan(job, offer, &program()?, "ID")?;
        let options = job.transition.records_boot();
        destination.write(|out| {
            for (number, sentence) in (1..).zip(plan.sentences(job)) {
                writeln!(out, "{number:>3}. {sentence}")?;
            }
            if options {
                let options = onoff_record::kernel_options::options(job, offer, "ID");
                writeln!(out, "\nOptions for the kernel: {}", options.join(" "))?;
            }
            if !machine.is_superuser() && machine.root() == Path::new("/") {
                writeln!(out, "\nNothing was changed. To do it: sudo onoff record {} …", job.transition.word())?;
            }
            Ok(())
        })
    }
}
