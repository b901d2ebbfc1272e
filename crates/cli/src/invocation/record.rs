//! What the arguments of `onoff record` mean.

use std::path::PathBuf;

use onoff_record::job::{Job, LoaderChoice, SleepBy, Transition};
use onoff_record::tracing::TraceGroup;

use super::{Invocation, Recording, Task};
use crate::arguments::record::{LoaderArgument, PlannedSystem, RecordArguments, RecordedTransition, SleepArgument};
use crate::failure::Failure;
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

impl Invocation {
    /// Settles what the arguments of `onoff record` mean.
    pub(super) fn record(arguments: RecordArguments) -> Result<Self, Failure> {
        Ok(Self {
            task: Task::Record(task(arguments)?),
            recording: Recording::none(),
            destination: Destination::default(),
        })
    }
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
        Some(RecordedTransition::Boot) => Transition::Boot,
        Some(RecordedTransition::Shutdown) => Transition::Shutdown,
        Some(RecordedTransition::Suspend) => Transition::Suspend,
        Some(RecordedTransition::Hibernate) => Transition::Hibernate,
        Some(RecordedTransition::RebootCycle) => Transition::RebootCycle,
        // What is common to all restarts is what most ask for.
        None if arguments.check || arguments.plan.is_some() => Transition::RebootCycle,
        None => {
            return Err(Failure::NothingToAnswer(
                "record: say what: boot, shutdown, suspend, hibernate or reboot-cycle".to_owned(),
            ));
        }
    };
    let (groups, events) = trace_flags(&arguments.trace_flags)?;
    let out = std::path::absolute(&arguments.out)?;
    let Some(out) = out.to_str().map(str::to_owned) else {
        return Err(Failure::NothingToAnswer("--out: the folder's name is no text".to_owned()));
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
        loader: match arguments.loader {
            LoaderArgument::Auto => LoaderChoice::Found,
            LoaderArgument::Manual => LoaderChoice::Manual,
        },
        sleep_by: match arguments.sleep_by {
            SleepArgument::Kernel => SleepBy::Kernel,
            SleepArgument::Systemd => SleepBy::Systemd,
        },
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
                return Err(Failure::NothingToAnswer(format!(
                    "--trace-flags: '{word}' is neither one of {} nor an event as system:event",
                    words.join(", ")
                )));
            }
        }
    }
    Ok((groups, events))
}
