//! `onoff record`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod this_windows;

use std::path::PathBuf;

#[cfg(any(target_os = "linux", windows))]
use onoff_record::check::{Item, Standing};
use onoff_record::error::Error;
use onoff_record::job::{Job, Transition};
#[cfg(any(target_os = "linux", windows))]
use onoff_record::machine::Machine;
#[cfg(any(target_os = "linux", windows))]
use onoff_record::session::Progress;
use onoff_record::tracing::TraceGroup;
use onoff_record::windows;

use crate::arguments::record::{PlannedSystem, RecordArguments};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Destination;

/// What to do about recording.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "some of it is done on Linux alone"))]
pub enum RecordTask {
    /// Record; without asking anything, if so wanted.
    Record(Job, bool),
    /// Show what is there and what is lacking, in the tree of files given.
    Check(Job, PathBuf),
    /// Show each step.
    DryRun(Job, PathBuf),
    /// Show how to record it on Windows.
    PlanWindows(Job),
    /// Put everything back.
    Restore,
    /// Go on after a restart.
    Resume,
    /// Keep the last moments of a shutdown of a kind, in a folder.
    ShutdownHook(String, String),
}

/// Settles what the arguments mean.
pub fn resolve(arguments: RecordArguments) -> Result<Invocation, Failure> {
    let task = task(arguments)?;
    Ok(Invocation::alone(Destination::default(), |destination| run(task, destination)).text_if(true))
}

fn task(arguments: RecordArguments) -> Result<RecordTask, Failure> {
    if arguments.resume {
        return Ok(RecordTask::Resume);
    }
    if arguments.restore {
        return Ok(RecordTask::Restore);
    }
    if let (Some(kind), Some(staging)) = (&arguments.shutdown_hook, &arguments.staging) {
        return Ok(RecordTask::ShutdownHook(kind.clone(), staging.clone()));
    }
    let job = job(&arguments)?;
    Ok(if arguments.plan == Some(PlannedSystem::Windows) {
        RecordTask::PlanWindows(job)
    } else if arguments.check {
        RecordTask::Check(job, arguments.root)
    } else if arguments.dry_run {
        RecordTask::DryRun(job, arguments.root)
    } else {
        RecordTask::Record(job, arguments.yes)
    })
}

fn job(arguments: &RecordArguments) -> Result<Job, Failure> {
    let transition = match arguments.transition {
        Some(transition) => transition,
        // What is common to all restarts is what most ask for.
        None if arguments.check || arguments.plan.is_some() => Transition::RebootCycle,
        None => {
            return Err(Failure::nothing("record: say what: boot, shutdown, suspend, hibernate or reboot-cycle"));
        }
    };
    let (groups, events) = trace_flags(&arguments.trace_flags)?;
    let out = std::path::absolute(&arguments.out)?;
    let Some(out) = out.to_str().map(str::to_owned) else {
        return Err(Failure::nothing("--out: the folder's name is no text"));
    };
    Ok(Job {
        transition,
        runs: arguments.runs.unwrap_or(match arguments.plan {
            Some(PlannedSystem::Windows) => 3,
            None => 1,
        }),
        train: arguments.train,
        post_delay_s: arguments.post_boot_delay,
        out,
        groups,
        events,
        buffer_mib: arguments.buffer,
        loader: arguments.loader,
        sleep_by: arguments.sleep_by,
        sleep_state: arguments.state.clone(),
        mem_sleep: arguments.mem_sleep.clone(),
        hibernate_mode: arguments.hibernate_mode.clone(),
        wake_after_s: arguments.wake_after,
        owner: sudo_user(),
    })
}

/// The user behind `sudo`.
fn sudo_user() -> Option<(u32, u32)> {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    Some((number("SUDO_UID")?, number("SUDO_GID")?))
}

/// Groups and single events of `sched+irq,block:block_rq_issue`.
fn trace_flags(text: &str) -> Result<(Vec<TraceGroup>, Vec<String>), Failure> {
    let mut groups = Vec::new();
    let mut events = Vec::new();
    for word in text.split(['+', ',']).map(str::trim) {
        let group = TraceGroup::ALL.into_iter().find(|it| it.word() == word);
        let is_event = word.split_once(':').is_some_and(|(system, event)| {
            let is_name =
                |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            is_name(system) && is_name(event)
        });
        match group {
            Some(group) => groups.push(group),
            None if is_event => events.push(word.to_owned()),
            None => {
                let words: Vec<&str> = TraceGroup::ALL.map(TraceGroup::word).to_vec();
                return Err(Failure::nothing(format!(
                    "--trace-flags: '{word}' is neither one of {} nor an event as system:event",
                    words.join(", ")
                )));
            }
        }
    }
    Ok((groups, events))
}

/// Records, or shows what recording would do.
fn run(task: RecordTask, destination: &Destination) -> Result<(), Failure> {
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
    Err(Failure::nothing(
        "record: onoff records computers with Linux and Windows; '--plan windows' shows what to type on Windows",
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
        return Err(Failure::nothing(format!(
            "record {word}: nothing would wake this computer{times}; add '--wake-after SECONDS', or '--yes' if somebody wakes it by hand"
        )));
    }
    let mut answer = String::new();
    write!(stderr(), "Nothing will wake this computer: it has to be woken by hand{times}. Go on? [y/N] ")?;
    stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::nothing(format!("record {word}: not done"))),
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
        None => Err(Failure::nothing("record: the path of this program is no text")),
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
