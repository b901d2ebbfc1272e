//! `onoff record`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod this_windows;

#[cfg(any(target_os = "linux", windows))]
use onoff_record::check::{Item, Standing};
use onoff_record::error::Error;
use onoff_record::job::Job;
#[cfg(any(target_os = "linux", windows))]
use onoff_record::machine::Machine;
#[cfg(any(target_os = "linux", windows))]
use onoff_record::session::Progress;
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
use linux::run as run_here;
#[cfg(windows)]
use this_windows::run as run_here;

#[cfg(not(any(target_os = "linux", windows)))]
fn run_here(_: RecordTask, _: &Destination) -> Result<(), Failure> {
    Err(Failure::NothingToAnswer(
        "record: onoff records computers with Linux and Windows; '--plan windows' shows what to type on Windows"
            .to_owned(),
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

#[cfg(any(target_os = "linux", windows))]
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

#[cfg(any(target_os = "linux", windows))]
/// Says what has come of the job; `follow`: how a person sees what goes on after a restart.
fn tell(machine: &mut impl Machine, progress: &Progress, follow: &str) {
    match progress {
        Progress::Restarting => machine.say(&format!("onoff record: the computer restarts; {follow}")),
        Progress::Finished(recordings) => {
            for recording in recordings {
                machine.say(recording);
            }
        }
        Progress::Nothing => {}
    }
}

#[cfg(any(target_os = "linux", windows))]
/// The file of this program.
fn program() -> Result<String, Failure> {
    let path = std::env::current_exe()?;
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => Err(Failure::NothingToAnswer("record: the path of this program is no text".to_owned())),
    }
}

#[cfg(any(target_os = "linux", windows))]
/// Writes what is there and what is lacking; exit code 2 when something needed is.
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
    })?;
    match items.iter().any(|item| item.standing == Standing::Lacking) {
        true => Err(Failure::Told(2)),
        false => Ok(()),
    }
}
