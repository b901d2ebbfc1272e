//! Does a job: begins it, goes on after each restart, ends it, and puts everything back.

use crate::capabilities::Offer;
use crate::check;
use crate::collect::{self, About, PreviousEnd};
use crate::error::Error;
use crate::job::Job;
use crate::kernel_options;
use crate::machine::{Files, Machine, STATE_FOLDER};
use crate::pack::{self, pack};
use crate::plan::{Plan, SERVICE, plan};
use crate::private;
use crate::settle::settle;
use crate::shutdown_hook::{BOOT_ID, COMPLETE, last_part, running_part};
use crate::sleep;
use crate::state::{self, State};
use crate::step::{Step, Value};
use crate::tracing;

/// How often a run is begun before the job gives up.
pub(crate) const MAX_ATTEMPTS: u32 = 3;

/// What has come of a job so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The computer is restarting; the service goes on.
    Restarting,
    /// All recordings were made and everything was put back: their files.
    Finished(Vec<String>),
    /// There is no job.
    Nothing,
}

/// Begins a job. `program`: this program's file; `id`: marks its boots.
pub fn start(machine: &mut dyn Machine, job: Job, program: &str, id: &str) -> Result<Progress, Error> {
    if !machine.is_superuser() {
        return Err(Error::Refused(format!(
            "recording changes the system and needs root: sudo onoff record {}",
            job.transition.word()
        )));
    }
    if machine.exists(STATE_FOLDER) {
        return Err(Error::Refused(
            "a recording is under way or was interrupted: 'onoff record --restore' puts everything back".to_owned(),
        ));
    }
    let offer = Offer::probe(machine);
    let plan = plan(&job, &offer, program, id)?;
    check::refuse(&job, &offer, free_bytes(machine, &job))?;
    refuse_overwriting(machine, &job)?;
    let mut job = job;
    job.out = private::prepare(machine, &job.out, job.owner)?;
    let mut state = State::new(job, id.to_owned(), offer.staging.clone());
    state.save(machine)?;
    let prepared = plan.prepare.iter().try_for_each(|step| state.perform(machine, step));
    let begun = prepared.and_then(|()| {
        if state.job.transition.restarts() {
            restart(machine, &mut state, &plan, &offer)
        } else {
            sleep_runs(machine, &mut state, &plan, &offer)
        }
    });
    end(machine, state, begun)
}

/// Goes on after a restart.
pub fn resume(machine: &mut dyn Machine, program: &str) -> Result<Progress, Error> {
    let Some(mut state) = State::load(machine)? else { return Ok(Progress::Nothing) };
    if state.boot_id == machine.boot_id() {
        return Ok(Progress::Nothing);
    }
    let went = after_restart(machine, &mut state, program);
    end(machine, state, went)
}

/// Puts everything back. `false` when there was nothing to put back.
pub fn restore(machine: &mut dyn Machine) -> Result<bool, Error> {
    if machine.exists(SERVICE) {
        // After a crash it may be about to go on with the job: it would write its state anew and restart the computer.
        let _ = machine.run(&["systemctl", "stop", "onoff-record.service"]);
    }
    match State::load(machine)? {
        Some(state) => {
            let told = machine.read_text("/proc/cmdline").unwrap_or_default();
            if let (true, Some(tracefs)) = (kernel_options::is_marked(&told, &state.id), collect::tracefs(machine)) {
                // This boot traces since its begin. The next one will not, whether this can be stopped or not.
                let _ = tracing::dismantle(machine, tracefs);
            }
            put_back(machine, state)?;
            Ok(true)
        }
        None if machine.exists(STATE_FOLDER) => {
            state::forget(machine)?;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// Goes on or ends: also a job that failed puts everything back.
pub(crate) fn end(machine: &mut dyn Machine, state: State, went: Result<Progress, Error>) -> Result<Progress, Error> {
    match went {
        Ok(Progress::Restarting) => Ok(Progress::Restarting),
        Ok(progress) => {
            let word = state.job.transition.word();
            put_back(machine, state)?;
            machine.say(&format!("onoff record: {word}: done, everything is put back"));
            Ok(progress)
        }
        Err(error) => {
            let out = format!("{}/FAILED.txt", state.job.out.trim_end_matches('/'));
            let word = state.job.transition.word();
            machine.say(&format!("onoff record: {word}: given up: {error}"));
            let text = format!("{error}\n");
            // Where nobody watches, the folder of the recordings is where somebody will look.
            if private::check(machine, &state.job.out, state.job.owner).is_ok() {
                let _ = machine.replace(&out, text.as_bytes(), 0o600);
            }
            put_back(machine, state)?;
            Err(error)
        }
    }
}

fn put_back(machine: &mut dyn Machine, state: State) -> Result<(), Error> {
    if let Some(staging) = &state.staging
        && !staging.starts_with(STATE_FOLDER)
    {
        machine.remove_tree(staging)?;
    }
    for kind in kinds(&state.job) {
        for number in 1..=state.job.runs {
            if private::check(machine, &state.job.out, state.job.owner).is_ok() {
                machine.remove(&pack::unfinished(&state.job.recording_path(kind, number)))?;
            }
        }
    }
    state.restore(machine)
}

/// Room for what is collected and for what is packed of it.
pub fn free_bytes(machine: &dyn Machine, job: &Job) -> Option<u64> {
    let collected = machine.free_bytes(&machine.at(STATE_FOLDER))?;
    Some(collected.min(machine.free_bytes(&machine.at(&job.out))?))
}

fn refuse_overwriting(machine: &mut dyn Machine, job: &Job) -> Result<(), Error> {
    for kind in kinds(job) {
        for number in 1..=job.runs {
            let path = job.recording_path(kind, number);
            if machine.exists(&path) {
                return Err(Error::Refused(format!("{path} is there already: choose another '--out'")));
            }
        }
    }
    Ok(())
}

/// The kinds of recording that each run leaves.
fn kinds(job: &Job) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    if job.transition.records_shutdown() {
        kinds.push("shutdown");
    }
    if job.transition.records_boot() {
        kinds.push("boot");
    }
    if kinds.is_empty() {
        kinds.push(job.transition.word());
    }
    kinds
}

/// Begins the run of `state`: the computer restarts.
fn restart(machine: &mut dyn Machine, state: &mut State, plan: &Plan, offer: &Offer) -> Result<Progress, Error> {
    state.attempts += 1;
    state.boot_id = machine.boot_id();
    state.save(machine)?;
    if let Some(step) = &plan.before_restart {
        state.perform(machine, step)?;
    }
    say_run(machine, state, "restarting");
    if let (true, Some(staging)) = (state.job.transition.records_shutdown(), state.staging.clone()) {
        stage_running_part(machine, &staging)?;
        if let (Some(step), Some(tracefs)) = (&plan.arm, offer.tracefs.as_deref()) {
            state.perform(machine, step)?;
            tracing::begin(machine, tracefs)?;
            let clock = tracing::mark(machine, Some(tracefs), "shutdown-start");
            collect::clocks(machine, &running_part(&staging), &[clock])?;
        }
    }
    machine.must_run(&["systemctl", "--no-block", "reboot"])?;
    Ok(Progress::Restarting)
}

/// What can only be told while the computer runs.
fn stage_running_part(machine: &mut dyn Machine, staging: &str) -> Result<(), Error> {
    let part = running_part(staging);
    let mut lacking = Vec::new();
    machine.remove_tree(staging)?;
    machine.make_private_folders(&part)?;
    collect::kernel(machine, &part, &mut lacking)?;
    collect::user_space(machine, &part, &mut lacking)?;
    let text = lacking.join("\n");
    machine.replace(&format!("{part}/lacking"), text.as_bytes(), 0o600)?;
    let boot_id = machine.boot_id();
    machine.replace(&format!("{staging}/{BOOT_ID}"), boot_id.as_bytes(), 0o600)
}

fn after_restart(machine: &mut dyn Machine, state: &mut State, program: &str) -> Result<Progress, Error> {
    say_run(machine, state, "the computer is up");
    let fault = fault(machine, state);
    if let Some(fault) = &fault
        && state.attempts >= MAX_ATTEMPTS
    {
        return Err(Error::Refused(format!("{}: {fault}, {MAX_ATTEMPTS} times", state.job.run_name(state.run))));
    }
    settle(machine, state.job.post_delay_s);
    if fault.is_none() {
        keep(machine, state)?;
        if state.run >= state.job.total_runs() {
            return Ok(Progress::Finished(state.recordings.clone()));
        }
        state.run += 1;
        state.attempts = 0;
    }
    let offer = Offer::probe(machine);
    let plan = plan(&state.job, &offer, program, &state.id)?;
    restart(machine, state, &plan, &offer)
}

/// Why this run left no recording.
fn fault(machine: &mut dyn Machine, state: &State) -> Option<String> {
    let job = &state.job;
    if job.transition.records_boot() {
        let told = machine.read_text("/proc/cmdline").unwrap_or_default();
        if !kernel_options::is_marked(&told, &state.id) {
            return Some(
                "the computer came up without the options for tracing: the recorded boot did not come up, or the boot \
                 loader took another entry"
                    .to_owned(),
            );
        }
    }
    if job.transition.records_shutdown() {
        let complete = state.staging.as_ref().map(|staging| format!("{}/{COMPLETE}", last_part(staging)));
        if !complete.is_some_and(|path| machine.exists(&path)) {
            return Some("the shutdown left no recording".to_owned());
        }
    }
    None
}

/// Keeps what a run has left; of a training run, nothing.
fn keep(machine: &mut dyn Machine, state: &mut State) -> Result<(), Error> {
    let number = state.job.recording_number(state.run);
    if state.job.transition.records_shutdown()
        && let (Some(number), Some(staging)) = (number, state.staging.clone())
    {
        let mut lacking = Vec::new();
        for path in [format!("{}/lacking", running_part(&staging)), format!("{}/{COMPLETE}", last_part(&staging))] {
            let text = machine.read_text(&path).unwrap_or_default();
            lacking.extend(text.lines().map(str::to_owned));
            machine.remove(&path)?;
        }
        machine.remove(&format!("{staging}/{BOOT_ID}"))?;
        finish(machine, state, "shutdown", number, &staging, &running_part(&staging), lacking)?;
    }
    if state.job.transition.records_boot() {
        let folder = format!("{}/collected", STATE_FOLDER);
        keep_boot(machine, state, number, &folder)?;
    }
    Ok(())
}

fn keep_boot(machine: &mut dyn Machine, state: &mut State, number: Option<u32>, folder: &str) -> Result<(), Error> {
    let clock = collect::clock(machine, "end");
    let tracefs = collect::tracefs(machine);
    if let Some(tracefs) = tracefs {
        tracing::stop(machine, tracefs)?;
    }
    if let Some(number) = number {
        say_run(machine, state, "collecting");
        let (part, lacking) = collect::computer(machine, folder, "boot", &[clock])?;
        finish(machine, state, "boot", number, folder, &part, lacking)?;
    }
    // The buffers are as large as the command line made them.
    match tracefs {
        Some(tracefs) => tracing::dismantle(machine, tracefs),
        None => Ok(()),
    }
}

/// Packs a collected folder and notes the recording.
fn finish(
    machine: &mut dyn Machine,
    state: &mut State,
    kind: &str,
    number: u32,
    folder: &str,
    part: &str,
    lacking: Vec<String>,
) -> Result<(), Error> {
    let mut lacking = lacking;
    let previous_boot_ended = (kind == "boot").then(|| PreviousEnd::find(machine));
    if previous_boot_ended == Some(PreviousEnd::Cut) {
        lacking.push(
            "an orderly shutdown before this boot: the power was cut or the computer was reset, and the boot may have repaired what that left"
                .to_owned(),
        );
        say_run(machine, state, "this boot followed a power cut or a reset: compare it with others of that kind only");
    }
    let about = About { kind, number, of: state.job.runs, recorder: sleep::recorder(), previous_boot_ended, lacking };
    collect::about(machine, part, &about)?;
    let to = state.job.recording_path(kind, number);
    pack(machine, folder, &format!("{kind}-{number}"), &to, state.job.owner)?;
    machine.say(&format!("onoff record: wrote {to}"));
    state.recordings.push(to);
    state.save(machine)
}

fn sleep_runs(machine: &mut dyn Machine, state: &mut State, plan: &Plan, offer: &Offer) -> Result<Progress, Error> {
    state.boot_id = machine.boot_id();
    state.save(machine)?;
    let mut values = Vec::new();
    if let Some(seconds) = state.job.wake_after_s {
        state.perform(machine, &Step::Alarm { seconds })?;
    }
    if let Some(kind) = &state.job.mem_sleep {
        values.push(Value::new("/sys/power/mem_sleep", kind));
    }
    if let Some(mode) = &state.job.hibernate_mode {
        values.push(Value::new("/sys/power/disk", mode));
    }
    if !values.is_empty() {
        let what = "how the kernel sleeps".to_owned();
        state.perform(machine, &Step::Values { what, values })?;
    }
    if let Some(step) = &plan.arm {
        state.perform(machine, step)?;
    }
    let folder = format!("{}/collected", STATE_FOLDER);
    while state.run <= state.job.total_runs() {
        say_run(machine, state, "going to sleep");
        let made = sleep::run(machine, &state.job, offer, state.run, &folder)?;
        if let Some(recording) = made {
            machine.say(&format!("onoff record: wrote {recording}"));
            state.recordings.push(recording);
        }
        state.run += 1;
        state.save(machine)?;
    }
    Ok(Progress::Finished(state.recordings.clone()))
}

pub(crate) fn say_run(machine: &mut dyn Machine, state: &State, what: &str) {
    let attempt = match state.attempts {
        0 | 1 => String::new(),
        attempts => format!(", attempt {attempts}"),
    };
    machine.say(&format!(
        "onoff record: {}, {}{attempt}: {what}",
        state.job.transition.word(),
        state.job.run_name(state.run)
    ));
}
