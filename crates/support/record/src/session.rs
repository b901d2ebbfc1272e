//! Runs a job: starts it, continues it after each restart, and restores the computer at the end.

use crate::capabilities::Capabilities;
use crate::check;
use crate::collect::{self, About, PreviousEnd};
use crate::error::Error;
use crate::job::Job;
use crate::kernel_options;
use crate::machine::{Machine, MachineFiles, STATE_FOLDER};
use crate::pack::{self, pack};
use crate::plan::{Plan, SERVICE, plan};
use crate::private;
use crate::settle::settle;
use crate::shutdown_hook::{BOOT_ID, COMPLETE, final_part, running_part};
use crate::sleep;
use crate::state::{self, State};
use crate::step::{Step, Value};
use crate::tracing;

/// How often a run is attempted before the job fails.
pub(crate) const MAX_ATTEMPTS: u32 = 3;

/// Progress of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The computer is restarting; the service continues the job.
    Restarting,
    /// All recordings were made and the computer was restored; the paths of the recordings.
    Finished(Vec<String>),
    /// There is no job to continue.
    NoJob,
}

/// Starts a job. `program` is the path of this program; `id` marks the job's boots.
pub fn start(machine: &mut dyn Machine, job: Job, program: &str, id: &str) -> Result<Progress, Error> {
    if !machine.is_superuser() {
        return Err(Error::Refused(format!(
            "recording changes the system and requires root: sudo onoff record {}",
            job.transition.name()
        )));
    }
    if machine.exists(STATE_FOLDER) {
        return Err(Error::Refused(
            "a recording is in progress or was interrupted; use 'onoff record --restore' to undo its changes"
                .to_owned(),
        ));
    }
    let capabilities = Capabilities::probe(machine);
    let plan = plan(&job, &capabilities, program, id)?;
    check::refuse(&job, &capabilities, free_bytes(machine, &job))?;
    refuse_overwriting(machine, &job)?;
    let mut job = job;
    job.out = private::prepare(machine, &job.out, job.owner)?;
    let mut state = State::new(job, id.to_owned(), capabilities.staging.clone());
    state.save(machine)?;
    let prepared = plan.prepare.iter().try_for_each(|step| state.perform(machine, step));
    let result = prepared.and_then(|()| {
        if state.job.transition.restarts() {
            restart(machine, &mut state, &plan, &capabilities)
        } else {
            sleep_runs(machine, &mut state, &plan, &capabilities)
        }
    });
    conclude(machine, state, result)
}

/// Continues a job after a restart.
pub fn resume(machine: &mut dyn Machine, program: &str) -> Result<Progress, Error> {
    let Some(mut state) = State::load(machine)? else { return Ok(Progress::NoJob) };
    if state.boot_id == machine.boot_id() {
        return Ok(Progress::NoJob);
    }
    let result = after_restart(machine, &mut state, program);
    conclude(machine, state, result)
}

/// Undoes all changes of a job. Returns `false` if there was nothing to undo.
pub fn restore(machine: &mut dyn Machine) -> Result<bool, Error> {
    if machine.exists(SERVICE) {
        // After a crash, the service may be about to continue the job: it would save the state again and restart the
        // computer.
        let _ = machine.run(&["systemctl", "stop", "onoff-record.service"]);
    }
    match State::load(machine)? {
        Some(state) => {
            let command_line = machine.read_text("/proc/cmdline").unwrap_or_default();
            if let (true, Some(tracefs)) =
                (kernel_options::is_marked(&command_line, &state.id), collect::tracefs(machine))
            {
                // This boot has been tracing since its start. The next boot will not, even if stopping the trace fails
                // here.
                let _ = tracing::release(machine, tracefs);
            }
            restore_all(machine, state)?;
            Ok(true)
        }
        None if machine.exists(STATE_FOLDER) => {
            state::remove(machine)?;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// Restores the computer unless the job continues after a restart; a failed job is restored too.
pub(crate) fn conclude(
    machine: &mut dyn Machine,
    state: State,
    result: Result<Progress, Error>,
) -> Result<Progress, Error> {
    match result {
        Ok(Progress::Restarting) => Ok(Progress::Restarting),
        Ok(progress) => {
            let verb = state.job.transition.name();
            restore_all(machine, state)?;
            machine.print_line(&format!("onoff record: {verb}: done; all changes were undone"));
            Ok(progress)
        }
        Err(error) => {
            let out = format!("{}/FAILED.txt", state.job.out.trim_end_matches('/'));
            let verb = state.job.transition.name();
            machine.print_line(&format!("onoff record: {verb}: failed: {error}"));
            let text = format!("{error}\n");
            // The user may not see the console, but will look into the folder of the recordings.
            if private::check(machine, &state.job.out, state.job.owner).is_ok() {
                let _ = machine.replace(&out, text.as_bytes(), 0o600);
            }
            restore_all(machine, state)?;
            Err(error)
        }
    }
}

fn restore_all(machine: &mut dyn Machine, state: State) -> Result<(), Error> {
    if let Some(staging) = &state.staging
        && !staging.starts_with(STATE_FOLDER)
    {
        machine.remove_tree(staging)?;
    }
    for kind in kinds(&state.job) {
        for number in 1..=state.job.runs {
            if private::check(machine, &state.job.out, state.job.owner).is_ok() {
                machine.remove(&pack::unfinished_path(&state.job.recording_path(kind, number)))?;
            }
        }
    }
    state.restore(machine)
}

/// Returns the free space for the collected files and for the packed recordings: the smaller of the two.
pub fn free_bytes(machine: &dyn Machine, job: &Job) -> Option<u64> {
    let collected = machine.free_bytes(&machine.host_path(STATE_FOLDER))?;
    Some(collected.min(machine.free_bytes(&machine.host_path(&job.out))?))
}

fn refuse_overwriting(machine: &mut dyn Machine, job: &Job) -> Result<(), Error> {
    for kind in kinds(job) {
        for number in 1..=job.runs {
            let path = job.recording_path(kind, number);
            if machine.exists(&path) {
                return Err(Error::Refused(format!("{path} already exists; choose another '--out'")));
            }
        }
    }
    Ok(())
}

/// Returns the kinds of recordings that each run makes.
fn kinds(job: &Job) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    if job.transition.records_shutdown() {
        kinds.push("shutdown");
    }
    if job.transition.records_boot() {
        kinds.push("boot");
    }
    if kinds.is_empty() {
        kinds.push(job.transition.name());
    }
    kinds
}

/// Starts the current run by restarting the computer.
fn restart(
    machine: &mut dyn Machine,
    state: &mut State,
    plan: &Plan,
    capabilities: &Capabilities,
) -> Result<Progress, Error> {
    state.attempts += 1;
    state.boot_id = machine.boot_id();
    state.save(machine)?;
    if let Some(step) = &plan.before_restart {
        state.perform(machine, step)?;
    }
    print_status(machine, state, "restarting");
    if let (true, Some(staging)) = (state.job.transition.records_shutdown(), state.staging.clone()) {
        stage_running_part(machine, &staging)?;
        if let (Some(step), Some(tracefs)) = (&plan.arm, capabilities.tracefs.as_deref()) {
            state.perform(machine, step)?;
            tracing::begin(machine, tracefs)?;
            let clock = tracing::mark(machine, Some(tracefs), "shutdown-start");
            collect::clocks(machine, &running_part(&staging), &[clock])?;
        }
    }
    machine.run_checked(&["systemctl", "--no-block", "reboot"])?;
    Ok(Progress::Restarting)
}

/// Collects the part of a shutdown recording that requires a running system.
fn stage_running_part(machine: &mut dyn Machine, staging: &str) -> Result<(), Error> {
    let part = running_part(staging);
    let mut missing = Vec::new();
    machine.remove_tree(staging)?;
    machine.make_private_folders(&part)?;
    collect::kernel(machine, &part, &mut missing)?;
    collect::user_space(machine, &part, &mut missing)?;
    let text = missing.join("\n");
    machine.replace(&format!("{part}/missing"), text.as_bytes(), 0o600)?;
    let boot_id = machine.boot_id();
    machine.replace(&format!("{staging}/{BOOT_ID}"), boot_id.as_bytes(), 0o600)
}

fn after_restart(machine: &mut dyn Machine, state: &mut State, program: &str) -> Result<Progress, Error> {
    print_status(machine, state, "the computer has started");
    let failure = run_failure(machine, state);
    if let Some(failure) = &failure
        && state.attempts >= MAX_ATTEMPTS
    {
        return Err(Error::Refused(format!("{}: {failure}, {MAX_ATTEMPTS} times", state.job.run_name(state.run))));
    }
    settle(machine, state.job.post_delay_s);
    if failure.is_none() {
        save_recordings(machine, state)?;
        if state.run >= state.job.total_runs() {
            return Ok(Progress::Finished(state.recordings.clone()));
        }
        state.run += 1;
        state.attempts = 0;
    }
    let capabilities = Capabilities::probe(machine);
    let plan = plan(&state.job, &capabilities, program, &state.id)?;
    restart(machine, state, &plan, &capabilities)
}

/// Returns the reason if this run made no recording.
fn run_failure(machine: &mut dyn Machine, state: &State) -> Option<String> {
    let job = &state.job;
    if job.transition.records_boot() {
        let command_line = machine.read_text("/proc/cmdline").unwrap_or_default();
        if !kernel_options::is_marked(&command_line, &state.id) {
            return Some(
                "the computer started without the trace options: the boot to record failed, or the boot loader \
                 started another entry"
                    .to_owned(),
            );
        }
    }
    if job.transition.records_shutdown() {
        let marker_path = state.staging.as_ref().map(|staging| format!("{}/{COMPLETE}", final_part(staging)));
        if !marker_path.is_some_and(|path| machine.exists(&path)) {
            return Some("the shutdown was not recorded".to_owned());
        }
    }
    None
}

/// Saves the recordings of a run; a training run has none.
fn save_recordings(machine: &mut dyn Machine, state: &mut State) -> Result<(), Error> {
    let number = state.job.recording_number(state.run);
    if state.job.transition.records_shutdown()
        && let (Some(number), Some(staging)) = (number, state.staging.clone())
    {
        let mut missing = Vec::new();
        for path in [format!("{}/missing", running_part(&staging)), format!("{}/{COMPLETE}", final_part(&staging))] {
            let text = machine.read_text(&path).unwrap_or_default();
            missing.extend(text.lines().map(str::to_owned));
            machine.remove(&path)?;
        }
        machine.remove(&format!("{staging}/{BOOT_ID}"))?;
        pack_recording(machine, state, "shutdown", number, &staging, &running_part(&staging), missing)?;
    }
    if state.job.transition.records_boot() {
        let folder = format!("{}/collected", STATE_FOLDER);
        save_boot(machine, state, number, &folder)?;
    }
    Ok(())
}

fn save_boot(machine: &mut dyn Machine, state: &mut State, number: Option<u32>, folder: &str) -> Result<(), Error> {
    let clock = collect::clock(machine, "end");
    let tracefs = collect::tracefs(machine);
    if let Some(tracefs) = tracefs {
        tracing::stop(machine, tracefs)?;
    }
    if let Some(number) = number {
        print_status(machine, state, "collecting");
        let (part, missing) = collect::computer(machine, folder, "boot", &[clock])?;
        pack_recording(machine, state, "boot", number, folder, &part, missing)?;
    }
    // The kernel options made the trace buffers large.
    match tracefs {
        Some(tracefs) => tracing::release(machine, tracefs),
        None => Ok(()),
    }
}

/// Packs a collected folder and adds the recording to the state.
fn pack_recording(
    machine: &mut dyn Machine,
    state: &mut State,
    kind: &str,
    number: u32,
    folder: &str,
    part: &str,
    missing: Vec<String>,
) -> Result<(), Error> {
    let mut missing = missing;
    let previous_boot_ended = (kind == "boot").then(|| PreviousEnd::find(machine));
    if previous_boot_ended == Some(PreviousEnd::Cut) {
        missing.push(
            "an orderly shutdown before this boot: power was cut or the computer was reset, so this boot may include repairs"
                .to_owned(),
        );
        print_status(
            machine,
            state,
            "this boot followed a power cut or a reset: compare it only with boots that did too",
        );
    }
    let about = About { kind, number, of: state.job.runs, recorder: sleep::recorder(), previous_boot_ended, missing };
    collect::about(machine, part, &about)?;
    let path = state.job.recording_path(kind, number);
    pack(machine, folder, &format!("{kind}-{number}"), &path, state.job.owner)?;
    machine.print_line(&format!("onoff record: wrote {path}"));
    state.recordings.push(path);
    state.save(machine)
}

fn sleep_runs(
    machine: &mut dyn Machine,
    state: &mut State,
    plan: &Plan,
    capabilities: &Capabilities,
) -> Result<Progress, Error> {
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
        let description = "the kernel's sleep mode".to_owned();
        state.perform(machine, &Step::Values { what: description, values })?;
    }
    if let Some(step) = &plan.arm {
        state.perform(machine, step)?;
    }
    let folder = format!("{}/collected", STATE_FOLDER);
    while state.run <= state.job.total_runs() {
        print_status(machine, state, "going to sleep");
        let recording = sleep::run(machine, &state.job, capabilities, state.run, &folder)?;
        if let Some(recording) = recording {
            machine.print_line(&format!("onoff record: wrote {recording}"));
            state.recordings.push(recording);
        }
        state.run += 1;
        state.save(machine)?;
    }
    Ok(Progress::Finished(state.recordings.clone()))
}

pub(crate) fn print_status(machine: &mut dyn Machine, state: &State, status: &str) {
    let attempt = match state.attempts {
        0 | 1 => String::new(),
        attempts => format!(", attempt {attempts}"),
    };
    machine.print_line(&format!(
        "onoff record: {}, {}{attempt}: {status}",
        state.job.transition.name(),
        state.job.run_name(state.run)
    ));
}
