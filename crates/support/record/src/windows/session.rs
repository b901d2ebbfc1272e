//! Runs a job on Windows, with the `wpr` that comes with Windows, a scheduled task that continues the job after each
//! restart, and the log that Windows itself writes of each shutdown.
//!
//! ```text
//!  boot:     task, wpr -addboot, restart ─► (task after the logon) ─► wpr -stopboot ─► next run or restore
//!  shutdown: task, restart ─► (task after the logon) ─► copy the shutdown log ─► next run or restore
//!  sleep:    wpr -start, wake-up task, sleep ─► resume ─► wpr -stop ─► next run or restore
//! ```
//!
//! State and steps are the same as on Linux ([`crate::state`]). Paths use `/`.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use super::commands::{Installation, NO_SUCH_TASK, NOT_RECORDING, TASK, WAKE_TASK, to_windows_path};
use super::scheduled_task::{self, Trigger};
use super::{BOOT_DELAY_S, PROFILE_FILE, SLEEP_DELAY_S, profile};
use crate::check::{Availability, CheckItem};
use crate::error::Error;
use crate::job::{Job, LoaderChoice, SleepMethod, Transition};
use crate::machine::{CommandOutput, Machine, MachineFiles};
use crate::session::{MAX_ATTEMPTS, Progress, conclude, print_status};
use crate::state::{self, State};
use crate::step::{Step, Undo};
use crate::trace_group::TraceGroup;

/// Registry keys and values that change with every boot: the time of the last shutdown, and the prefetcher's boot
/// number.
const BOOT_MARKS: [(&str, &str); 2] = [
    (r"HKLM\SYSTEM\CurrentControlSet\Control\Windows", "ShutdownTime"),
    (r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters", "BootId"),
];
/// Logs of the last shutdown, below the Windows folder: the current path, and the path before Windows 10 1903.
const SHUTDOWN_LOGS: [&str; 2] =
    ["System32/WDI/LogFiles/ShutdownPerfDiagLogger.etl", "System32/WDI/LogFiles/ShutdownCKCL.etl"];
/// Maximum wait for Windows to release the log after the logon.
const LOG_TIMEOUT: Duration = Duration::from_secs(600);
const LOG_INTERVAL: Duration = Duration::from_secs(15);
/// Minimum excess of a 1 s wait to count as a sleep.
const MIN_SLEEP: Duration = Duration::from_secs(4);
/// Maximum wait for the computer to go to sleep, in seconds. Leaves time for the user to put it to sleep.
const SLEEP_TIMEOUT_S: u32 = 600;

/// Starts a job. `program` is the path of this program.
///
/// # Errors
/// The job cannot be done on this computer, or it failed; all changes are undone.
pub fn start(machine: &mut dyn Machine, windows: &Installation, job: Job, program: &str) -> Result<Progress, Error> {
    refuse(machine, windows, &job)?;
    let boot = boot_id(machine, windows)?;
    let mut state = State::new(job, String::new(), None);
    state.boot_id = boot;
    state.save(machine)?;
    let result = prepare(machine, windows, &mut state, program).and_then(|()| {
        if state.job.transition.restarts() {
            restart(machine, windows, &mut state)
        } else {
            sleep_runs(machine, windows, &mut state)
        }
    });
    conclude(machine, state, result)
}

/// Continues a job after a restart.
///
/// # Errors
/// The job failed; all changes are undone.
pub fn resume(machine: &mut dyn Machine, windows: &Installation) -> Result<Progress, Error> {
    let Some(mut state) = State::load(machine)? else { return Ok(Progress::NoJob) };
    let boot = boot_id(machine, windows)?;
    if state.boot_id == boot {
        return Ok(Progress::NoJob);
    }
    state.boot_id = boot;
    let result = after_restart(machine, windows, &mut state);
    conclude(machine, state, result)
}

/// Undoes all changes of a job. Returns `false` if there was nothing to undo.
///
/// # Errors
/// A change could not be undone; it stays on disk for another attempt.
pub fn restore(machine: &mut dyn Machine) -> Result<bool, Error> {
    match State::load(machine)? {
        Some(state) => state.restore(machine).map(|()| true),
        None if machine.exists(machine.state_folder()) => state::remove(machine).map(|()| true),
        None => Ok(false),
    }
}

/// Checks whether a job can be recorded on this computer.
pub fn check(machine: &mut dyn Machine, windows: &Installation, job: &Job) -> Vec<CheckItem> {
    let recorder = to_windows_path(&windows.program("wpr"));
    let no_recorder = format!("{recorder} is missing; it comes with Windows 10 and 11");
    let no_rights = "not an administrator; open a command prompt with 'Run as administrator'";
    let boot = boot_id(machine, windows);
    let no_boot = boot.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let has_recorder = machine.exists(&windows.program("wpr"));
    let mut items = vec![
        CheckItem::new("rights", machine.is_superuser(), Availability::Missing, "administrator", no_rights),
        CheckItem::new("wpr", has_recorder, Availability::Missing, recorder, no_recorder),
        CheckItem::new("boot detection", boot.is_ok(), Availability::Missing, "boots can be distinguished", no_boot),
    ];
    if job.transition.records_shutdown() {
        let log = SHUTDOWN_LOGS.iter().map(|log| format!("{}/{log}", windows.windows)).find(|log| machine.exists(log));
        let no_log = "Windows has not written a shutdown log yet; it may be disabled by policy";
        let available = log.as_deref().map(to_windows_path).unwrap_or_default();
        items.push(CheckItem::new("shutdown log", log.is_some(), Availability::Limited, available, no_log));
    }
    items
}

/// Describes a job, one sentence per step, in order.
#[must_use]
pub fn describe(windows: &Installation, state_folder: &str, job: &Job) -> Vec<String> {
    let mut sentences = vec![
        format!("Create the folder {}, accessible only to administrators and you", to_windows_path(&job.out)),
        format!("Write the recording profile: {}", to_windows_path(&profile_file(state_folder))),
    ];
    if job.transition.restarts() {
        sentences.push(format!("Copy this program to {}", to_windows_path(&program_file(state_folder))));
        sentences.push(Step::describe(&task(windows, state_folder)));
    }
    sentences.push(match (job.train, job.runs) {
        (0, 1) => "Repeat once:".to_owned(),
        (0, runs) => format!("Repeat {runs} times:"),
        (train, runs) => format!("Repeat {} times:", runs.saturating_add(train)),
    });
    let mut nested = Vec::new();
    if job.transition.records_boot() {
        nested.push(Step::describe(&boot_recording(windows, state_folder, job)));
    }
    if job.transition.restarts() {
        nested.push("Restart the computer immediately (unsaved work is lost)".to_owned());
        nested.push(format!("Wait until {} s after logon", boot_delay(job)));
        if job.transition.records_boot() {
            nested.push(format!("Write {}", to_windows_path(&recording(job, "boot", "N"))));
        }
        if job.transition.records_shutdown() {
            nested.push(format!(
                "Copy the shutdown log of Windows to {}",
                to_windows_path(&recording(job, "shutdown", "N"))
            ));
        }
    } else {
        let kind = job.transition.name();
        nested.push(Step::describe(&running_recording(windows, state_folder, job)));
        nested.extend(
            job.wake_after_s.map(|seconds| format!("Schedule a task that wakes the computer after {seconds} s")),
        );
        nested.push("Put the computer to sleep".to_owned());
        nested.push(format!(
            "After the resume, wait {} s and write {}",
            sleep_delay(job),
            to_windows_path(&recording(job, kind, "N"))
        ));
    }
    sentences.extend(nested.into_iter().map(|sentence| format!("    {sentence}")));
    sentences.push("Undo all changes".to_owned());
    sentences
}

fn refuse(machine: &mut dyn Machine, windows: &Installation, job: &Job) -> Result<(), Error> {
    let refusal = |text: String| Err(Error::Refused(text));
    let verb = job.transition.name();
    let linux_options: [(&str, bool); 7] = [
        ("--trace-flags", job.groups != TraceGroup::ALL || !job.events.is_empty()),
        ("--buffer", job.buffer_mib.is_some()),
        ("--loader", job.loader != LoaderChoice::Found),
        ("--sleep-by", job.sleep_by != SleepMethod::Kernel),
        ("--state", job.sleep_state != "mem"),
        ("--mem-sleep", job.mem_sleep.is_some()),
        ("--hibernate-mode", job.hibernate_mode.is_some()),
    ];
    if let Some((option, _)) = linux_options.iter().find(|(_, given)| *given) {
        return refusal(format!(
            "record {verb}: {option} is for Linux only; on Windows, {PROFILE_FILE} determines what is recorded"
        ));
    }
    if !machine.is_superuser() {
        return refusal(format!(
            "record {verb}: recording requires administrator rights; open a command prompt with 'Run as administrator' and try again"
        ));
    }
    if !machine.exists(&windows.program("wpr")) {
        return refusal(format!(
            "record {verb}: {} is missing; it comes with Windows 10 and 11. For earlier versions, see 'onoff record {verb} --plan windows'",
            to_windows_path(&windows.program("wpr"))
        ));
    }
    if machine.exists(machine.state_folder()) {
        return refusal(
            "a recording is in progress or was interrupted; use 'onoff record --restore' to undo its changes"
                .to_owned(),
        );
    }
    if job.out.starts_with("//") {
        return refusal(format!(
            "{}: this folder is on the network, which is not available during a boot; choose a local folder with '--out'",
            job.out
        ));
    }
    if machine.exists(&job.out) {
        return refusal(format!(
            "{}: the folder already exists; choose another '--out'. Recordings show what ran on this computer, so onoff creates their folder, accessible only to administrators and you",
            to_windows_path(&job.out)
        ));
    }
    Ok(())
}

/// Returns an id of the current boot.
fn boot_id(machine: &mut dyn Machine, windows: &Installation) -> Result<String, Error> {
    let mut marks = Vec::new();
    for (key, name) in BOOT_MARKS {
        let line = windows.registry_value(key, name);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        if let Ok(CommandOutput { code: Some(0), stdout, .. }) = machine.run(&line) {
            let text = String::from_utf8_lossy(&stdout).into_owned();
            let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            marks.extend(words.filter_map(|words| match words.as_slice() {
                [found, _, value] if *found == name => Some(format!("{name} {value}")),
                _ => None,
            }));
        }
    }
    match marks.is_empty() {
        false => Ok(marks.join(", ")),
        true => Err(Error::Refused(
            "the registry has neither the time of the last shutdown nor the number of this boot, so a restart cannot be detected"
                .to_owned(),
        )),
    }
}

fn prepare(machine: &mut dyn Machine, windows: &Installation, state: &mut State, program: &str) -> Result<(), Error> {
    let out = state.job.out.clone();
    state.perform(machine, &Step::Folder { path: out.clone() })?;
    run(machine, &windows.restrict_folder(&out))?;
    // Another user may have placed a link there before access was restricted.
    if fs::read_dir(machine.host_path(&out)).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::Refused(format!("{out}: another process wrote to it while it was being created")));
    }
    let folder = machine.state_folder().to_owned();
    // Files in the state folder are removed with it.
    machine.replace(&profile_file(&folder), profile::profile_xml().as_bytes(), 0o600)?;
    if state.job.transition.restarts() {
        state.perform(machine, &program_copy(program, &folder))?;
        let trigger = Trigger::Logon { delay_s: boot_delay(&state.job) };
        let text = scheduled_task::task_xml(trigger, &windows.user, &program_file(&folder), "record --resume");
        machine.replace(&task_file(&folder, TASK), text.as_bytes(), 0o600)?;
        state.perform(machine, &task(windows, &folder))?;
    }
    Ok(())
}

/// Starts the current run by restarting the computer.
fn restart(machine: &mut dyn Machine, windows: &Installation, state: &mut State) -> Result<Progress, Error> {
    let folder = machine.state_folder().to_owned();
    state.attempts += 1;
    state.restart_ns = machine.clocks().real_ns;
    state.save(machine)?;
    if records_boot(state) {
        state.perform(machine, &boot_recording(windows, &folder, &state.job.clone()))?;
    }
    print_status(machine, state, "restarting");
    run(machine, &windows.restart())?;
    Ok(Progress::Restarting)
}

/// True if the current run records a boot; a training run does not.
fn records_boot(state: &State) -> bool {
    state.job.transition.records_boot() && state.job.recording_number(state.run).is_some()
}

fn after_restart(machine: &mut dyn Machine, windows: &Installation, state: &mut State) -> Result<Progress, Error> {
    print_status(machine, state, "the computer has started");
    let result = match state.job.recording_number(state.run) {
        Some(number) => save(machine, windows, state, number),
        None => Ok(()),
    };
    match result {
        Ok(()) if state.run >= state.job.total_runs() => return Ok(Progress::Finished(state.recordings.clone())),
        Ok(()) => {
            state.run += 1;
            state.attempts = 0;
        }
        Err(error) if state.attempts >= MAX_ATTEMPTS => {
            return Err(Error::Refused(format!("{}: {error}, {MAX_ATTEMPTS} times", state.job.run_name(state.run))));
        }
        Err(error) => print_status(machine, state, &format!("no recording: {error}")),
    }
    restart(machine, windows, state)
}

/// Saves the recordings of a run.
fn save(machine: &mut dyn Machine, windows: &Installation, state: &mut State, number: u32) -> Result<(), Error> {
    let mut paths = Vec::new();
    if state.job.transition.records_boot() {
        let path = recording(&state.job, "boot", number);
        run(machine, &windows.stop_boot(&path))?;
        paths.push(check_written(machine, path)?);
    }
    if state.job.transition.records_shutdown() {
        let path = recording(&state.job, "shutdown", number);
        copy_shutdown_log(machine, windows, state.restart_ns, &path)?;
        paths.push(check_written(machine, path)?);
    }
    add_recordings(machine, state, paths)
}

fn add_recordings(machine: &mut dyn Machine, state: &mut State, paths: Vec<String>) -> Result<(), Error> {
    for path in paths {
        let path = to_windows_path(&path);
        machine.print_line(&format!("onoff record: wrote {path}"));
        state.recordings.push(path);
    }
    state.save(machine)
}

/// Returns `path` if the recorder has written a recording to it.
fn check_written(machine: &mut dyn Machine, path: String) -> Result<String, Error> {
    match fs::metadata(machine.host_path(&path)) {
        Ok(file) if file.len() > 0 => Ok(path),
        _ => Err(Error::Refused(format!("{path}: the recorder reported success but wrote nothing"))),
    }
}

/// Copies the log of the shutdown requested at `since_ns` (ns since 1970), waiting until Windows releases it.
fn copy_shutdown_log(
    machine: &mut dyn Machine,
    windows: &Installation,
    since_ns: u64,
    target: &str,
) -> Result<(), Error> {
    let logs = SHUTDOWN_LOGS.map(|log| format!("{}/{log}", windows.windows));
    let mut waited = Duration::ZERO;
    loop {
        let mut reason = format!("Windows wrote no log of this shutdown: {} are missing or older", logs.join(" and "));
        for log in &logs {
            let host_path = machine.host_path(log);
            let modification_time = fs::metadata(&host_path).and_then(|file| file.modified()).ok();
            let modified = modification_time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            if modified.is_none_or(|time| time < Duration::from_nanos(since_ns)) {
                continue;
            }
            match fs::read(&host_path) {
                Ok(bytes) => return machine.replace(target, &bytes, 0o600),
                Err(error) => reason = format!("{log}: {error}"),
            }
        }
        if waited >= LOG_TIMEOUT {
            return Err(Error::Refused(reason));
        }
        machine.wait(LOG_INTERVAL);
        waited += LOG_INTERVAL;
    }
}

fn sleep_runs(machine: &mut dyn Machine, windows: &Installation, state: &mut State) -> Result<Progress, Error> {
    let folder = machine.state_folder().to_owned();
    let kind = state.job.transition.name();
    while state.run <= state.job.total_runs() {
        let number = state.job.recording_number(state.run);
        if number.is_some() {
            state.perform(machine, &running_recording(windows, &folder, &state.job.clone()))?;
        }
        if let Some(seconds) = state.job.wake_after_s {
            let at_s = (machine.clocks().real_ns / 1_000_000_000).saturating_add(seconds);
            // The task's program does nothing useful; the wake-up is all that matters.
            let text =
                scheduled_task::task_xml(Trigger::Wake { at_s }, &windows.user, &windows.program("whoami"), "/groups");
            machine.replace(&task_file(&folder, WAKE_TASK), text.as_bytes(), 0o600)?;
            state.perform(
                machine,
                &Step::Command {
                    what: "schedules the wake-up".to_owned(),
                    line: Some(windows.create_task(WAKE_TASK, &task_file(&folder, WAKE_TASK))),
                    undo: Some(undo_command(windows.delete_task(WAKE_TASK), NO_SUCH_TASK)),
                },
            )?;
        }
        print_status(machine, state, "going to sleep; if the computer stays awake, put it to sleep manually");
        let line = match state.job.transition {
            Transition::Hibernate => windows.hibernate(),
            _ => windows.sleep(),
        };
        sleep(machine, &line)?;
        print_status(machine, state, "awake");
        machine.wait(Duration::from_secs(sleep_delay(&state.job)));
        if let Some(number) = number {
            let path = recording(&state.job, kind, number);
            run(machine, &windows.stop(&path))?;
            let path = check_written(machine, path)?;
            add_recordings(machine, state, vec![path])?;
        }
        state.run += 1;
        state.save(machine)?;
    }
    Ok(Progress::Finished(state.recordings.clone()))
}

/// Puts the computer to sleep and returns after the resume, which shows as a jump of the clock.
fn sleep(machine: &mut dyn Machine, line: &[String]) -> Result<(), Error> {
    let second = Duration::from_secs(1);
    let start = machine.clocks().real_ns;
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    // Some computers go to sleep while the command runs, others after it. With Modern Standby it fails, and the user
    // has to put the computer to sleep.
    let outcome = machine.run(&line).ok();
    if Duration::from_nanos(machine.clocks().real_ns.saturating_sub(start)) > MIN_SLEEP + second {
        return Ok(());
    }
    for _ in 0..SLEEP_TIMEOUT_S {
        let wait_start = machine.clocks().real_ns;
        machine.wait(second);
        if Duration::from_nanos(machine.clocks().real_ns.saturating_sub(wait_start)) > MIN_SLEEP + second {
            return Ok(());
        }
    }
    let stderr =
        outcome.map(|output| String::from_utf8_lossy(&output.stderr).trim().to_owned()).filter(|text| !text.is_empty());
    let details = stderr.map_or_else(String::new, |text| format!(": {text}"));
    Err(Error::Refused(format!("the computer did not go to sleep within {} min{details}", SLEEP_TIMEOUT_S / 60)))
}

fn boot_delay(job: &Job) -> u64 {
    job.post_delay_s.unwrap_or(BOOT_DELAY_S)
}

fn sleep_delay(job: &Job) -> u64 {
    job.post_delay_s.unwrap_or(SLEEP_DELAY_S)
}

fn recording(job: &Job, kind: &str, number: impl std::fmt::Display) -> String {
    format!("{}/{kind}-{number}.etl", job.out.trim_end_matches('/'))
}

fn profile_file(state_folder: &str) -> String {
    format!("{state_folder}/{PROFILE_FILE}")
}

fn program_file(state_folder: &str) -> String {
    format!("{state_folder}/onoff.exe")
}

fn task_file(state_folder: &str, task: &str) -> String {
    format!("{state_folder}/{task}.xml")
}

/// Copies this program to a folder that only administrators can change, because it will run with administrator rights.
fn program_copy(program: &str, state_folder: &str) -> Step {
    Step::Copy {
        from: program.to_owned(),
        to: program_file(state_folder),
        what: "this program".to_owned(),
        mode: 0o755,
    }
}

fn task(windows: &Installation, state_folder: &str) -> Step {
    Step::Command {
        what: "continues after logon".to_owned(),
        line: Some(windows.create_task(TASK, &task_file(state_folder, TASK))),
        undo: Some(undo_command(windows.delete_task(TASK), NO_SUCH_TASK)),
    }
}

fn boot_recording(windows: &Installation, state_folder: &str, job: &Job) -> Step {
    Step::Command {
        what: "records the next boot".to_owned(),
        line: Some(windows.record_boot(state_folder, &job.out)),
        undo: Some(undo_command(windows.cancel_boot(), NOT_RECORDING)),
    }
}

fn running_recording(windows: &Installation, state_folder: &str, job: &Job) -> Step {
    Step::Command {
        what: "starts the recording".to_owned(),
        line: Some(windows.record(state_folder, &job.out)),
        undo: Some(undo_command(windows.cancel(), NOT_RECORDING)),
    }
}

fn undo_command(line: Vec<String>, nothing_to_undo: i32) -> Undo {
    Undo::Run { line, nothing_to_undo: vec![nothing_to_undo] }
}

fn run(machine: &mut dyn Machine, line: &[String]) -> Result<(), Error> {
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    machine.run_checked(&line).map(|_| ())
}
