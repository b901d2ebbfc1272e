//! `onoff record`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod local_windows;

use std::path::PathBuf;

#[cfg(any(target_os = "linux", windows))]
use onoff_record::check::{Availability, CheckItem};
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

#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "some tasks exist on Linux only"))]
pub enum RecordTask {
    /// Records; if the flag is set, without asking for confirmation.
    Record(Job, bool),
    /// Shows what can be recorded and what is missing, for the system below a root folder.
    Check(Job, PathBuf),
    /// Shows each step, for the system below a root folder.
    DryRun(Job, PathBuf),
    PlanWindows(Job),
    /// Undoes all changes.
    Restore,
    /// Continues after a restart.
    Resume,
    /// Saves the last moments of a shutdown: its kind, and the folder to write to.
    ShutdownHook(String, String),
}

pub fn resolve(arguments: RecordArguments) -> Result<Invocation, Failure> {
    let task = task(arguments)?;
    Ok(Invocation::without_recording(Destination::default(), |destination| run(task, destination)).text_if(true))
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
        // The requirements of a reboot cycle cover boots and shutdowns.
        None if arguments.check || arguments.plan.is_some() => Transition::RebootCycle,
        None => {
            return Err(Failure::no_data(
                "record: name what to record: boot, shutdown, suspend, hibernate or reboot-cycle",
            ));
        }
    };
    let (groups, events) = trace_flags(&arguments.trace_flags)?;
    let out = std::path::absolute(&arguments.out)?;
    let Some(out) = out.to_str().map(str::to_owned) else {
        return Err(Failure::no_data("--out: the folder name is not valid Unicode"));
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

/// Returns the user and group ids of the user who ran `sudo`.
fn sudo_user() -> Option<(u32, u32)> {
    let id = |name| std::env::var(name).ok()?.parse().ok();
    Some((id("SUDO_UID")?, id("SUDO_GID")?))
}

/// Parses groups and single events, as in `sched+irq,block:block_rq_issue`.
fn trace_flags(text: &str) -> Result<(Vec<TraceGroup>, Vec<String>), Failure> {
    let mut groups = Vec::new();
    let mut events = Vec::new();
    for word in text.split(['+', ',']).map(str::trim) {
        let group = TraceGroup::ALL.into_iter().find(|group| group.name() == word);
        let is_event = word.split_once(':').is_some_and(|(system, event)| {
            let is_name =
                |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            is_name(system) && is_name(event)
        });
        match group {
            Some(group) => groups.push(group),
            None if is_event => events.push(word.to_owned()),
            None => {
                let group_names: Vec<&str> = TraceGroup::ALL.map(TraceGroup::name).to_vec();
                return Err(Failure::no_data(format!(
                    "--trace-flags: '{word}' is invalid; use {} or system:event",
                    group_names.join(", ")
                )));
            }
        }
    }
    Ok((groups, events))
}

fn run(task: RecordTask, destination: &Destination) -> Result<(), Failure> {
    match task {
        RecordTask::PlanWindows(job) => plan_windows(&job, destination),
        task => run_locally(task, destination),
    }
}

#[cfg(target_os = "linux")]
use linux::run as run_locally;
#[cfg(windows)]
use local_windows::run as run_locally;

#[cfg(not(any(target_os = "linux", windows)))]
fn run_locally(_: RecordTask, _: &Destination) -> Result<(), Failure> {
    Err(Failure::no_data("record works on Linux and Windows only; '--plan windows' shows the commands for Windows"))
}

/// Prints the command lines and writes the recording profile.
fn plan_windows(job: &Job, destination: &Destination) -> Result<(), Failure> {
    let path = std::path::Path::new(&job.out).join(windows::PROFILE_FILE);
    let cannot_write =
        |error: std::io::Error| Failure::Unreadable(format!("{}: cannot write: {error}", path.display()));
    std::fs::create_dir_all(&job.out).map_err(cannot_write)?;
    std::fs::write(&path, windows::profile::profile_xml()).map_err(cannot_write)?;
    destination.write(|out| {
        for section in windows::plan(job) {
            writeln!(out, "{}:", section.title)?;
            for line in section.lines {
                let indent = if section.is_commands { "    " } else { "  - " };
                writeln!(out, "{indent}{line}")?;
            }
            writeln!(out)?;
        }
        writeln!(out, "Profile for wpr: {}", path.display())?;
        Ok(())
    })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(message) => Self::NoData(message),
            error => Self::Unreadable(error.to_string()),
        }
    }
}

#[cfg(any(target_os = "linux", windows))]
/// Asks for confirmation before a sleep without a wake-up timer.
fn confirm(job: &Job) -> Result<(), Failure> {
    use std::io::{BufRead, IsTerminal, Write, stderr, stdin};

    if job.transition.restarts() || job.wake_after_s.is_some() {
        return Ok(());
    }
    let transition = job.transition.name();
    let times = match job.total_runs() {
        1 => String::new(),
        runs => format!(", {runs} times"),
    };
    if !stdin().is_terminal() {
        return Err(Failure::no_data(format!(
            "record {transition}: no wake-up timer is set, so this computer has to be woken manually{times}; add '--wake-after SECONDS', or '--yes' to continue anyway"
        )));
    }
    let mut answer = String::new();
    write!(stderr(), "No wake-up timer is set: you will have to wake this computer manually{times}. Continue? [y/N] ")?;
    stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::no_data(format!("record {transition}: canceled"))),
    }
}

#[cfg(any(target_os = "linux", windows))]
/// Prints the progress of the job; `follow` says how to follow it after a restart.
fn report_progress(machine: &mut impl Machine, progress: &Progress, follow: &str) {
    match progress {
        Progress::Restarting => machine.print_line(&format!("onoff record: restarting the computer; {follow}")),
        Progress::Finished(recordings) => {
            for recording in recordings {
                machine.print_line(recording);
            }
        }
        Progress::NoJob => {}
    }
}

#[cfg(any(target_os = "linux", windows))]
/// Returns the path of this program.
fn program_path() -> Result<String, Failure> {
    let path = std::env::current_exe()?;
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => Err(Failure::no_data("record: the path of this program is not valid Unicode")),
    }
}

#[cfg(any(target_os = "linux", windows))]
/// Prints the check; fails with exit code 2 if a requirement is missing.
fn write_check(items: &[CheckItem], destination: &Destination) -> Result<(), Failure> {
    let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0);
    destination.write(|out| {
        for item in items {
            let availability = match item.availability {
                Availability::Available => "ok     ",
                Availability::Limited => "limited",
                Availability::Missing => "missing",
            };
            writeln!(out, "{availability}  {:width$}  {}", item.name, item.text)?;
        }
        Ok(())
    })?;
    match items.iter().any(|item| item.availability == Availability::Missing) {
        true => Err(Failure::Reported(2)),
        false => Ok(()),
    }
}
