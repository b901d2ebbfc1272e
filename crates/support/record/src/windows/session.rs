//! Does a job on Windows: by the `wpr` that comes with it, a task of the Task Scheduler that goes on after each restart, and the log
//! that Windows writes of each shutdown by itself.
//!
//! ```text
//!  boot:     task, wpr -addboot, restart ─► (task after the logon) ─► wpr -stopboot ─► next run or put back
//!  shutdown: task, restart ─► (task after the logon) ─► copy the log Windows wrote ─► next run or put back
//!  sleep:    wpr -start, wake-up task, sleep ─► awake ─► wpr -stop ─► next run or put back
//! ```
//!
//! State, steps and what undoes them are those of the jobs on Linux ([`crate::state`]); paths are kept with `/`.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use super::commands::{Installation, NO_SUCH_TASK, NOTHING_RECORDED, TASK, WAKE_TASK, typed};
use super::scheduled_task::{self, Trigger};
use super::{BOOT_DELAY_S, PROFILE_FILE, SLEEP_DELAY_S, profile};
use crate::check::{Item, Standing};
use crate::error::Error;
use crate::job::{Job, LoaderChoice, SleepBy, Transition};
use crate::machine::{Files, Machine, Outcome};
use crate::session::{MAX_ATTEMPTS, Progress, end, say_run};
use crate::state::{self, State};
use crate::step::{Step, Undo};
use crate::trace_group::TraceGroup;

/// Registry keys and values that differ from one boot to the next: the moment of the last shutdown, and the number of the boot that
/// Windows keeps for its read-ahead.
const BOOT_MARKS: [(&str, &str); 2] = [
    (r"HKLM\SYSTEM\CurrentControlSet\Control\Windows", "ShutdownTime"),
    (r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters", "BootId"),
];
/// Logs of the last shutdown, since Windows 10 1903 and before, below the folder of Windows.
const SHUTDOWN_LOGS: [&str; 2] =
    ["System32/WDI/LogFiles/ShutdownPerfDiagLogger.etl", "System32/WDI/LogFiles/ShutdownCKCL.etl"];
/// How long Windows may keep that log for itself after the logon.
const LOG_PATIENCE: Duration = Duration::from_secs(600);
const LOG_INTERVAL: Duration = Duration::from_secs(15);
/// A wait of 1 s that took this much longer was a sleep.
const ASLEEP: Duration = Duration::from_secs(4);
/// How long the computer may take to fall asleep, a person's help included.
const SLEEP_PATIENCE_S: u32 = 600;

/// Begins a job. `program`: this program's file.
///
/// # Errors
/// It cannot be done here, or something failed on the way; what was changed is put back.
pub fn start(machine: &mut dyn Machine, windows: &Installation, job: Job, program: &str) -> Result<Progress, Error> {
    refuse(machine, windows, &job)?;
    let boot = boot(machine, windows)?;
    let mut state = State::new(job, String::new(), None);
    state.boot_id = boot;
    state.save(machine)?;
    let begun = prepare(machine, windows, &mut state, program).and_then(|()| {
        if state.job.transition.restarts() {
            restart(machine, windows, &mut state)
        } else {
            sleep_runs(machine, windows, &mut state)
        }
    });
    end(machine, state, begun)
}

/// Goes on after a restart.
///
/// # Errors
/// Something failed; what was changed is put back.
pub fn resume(machine: &mut dyn Machine, windows: &Installation) -> Result<Progress, Error> {
    let Some(mut state) = State::load(machine)? else { return Ok(Progress::Nothing) };
    let boot = boot(machine, windows)?;
    if state.boot_id == boot {
        return Ok(Progress::Nothing);
    }
    state.boot_id = boot;
    let went = after_restart(machine, windows, &mut state);
    end(machine, state, went)
}

/// Puts everything back. `false` when there was nothing to put back.
///
/// # Errors
/// Something could not be put back; it stays noted for another try.
pub fn restore(machine: &mut dyn Machine) -> Result<bool, Error> {
    match State::load(machine)? {
        Some(state) => state.restore(machine).map(|()| true),
        None if machine.exists(machine.state_folder()) => state::forget(machine).map(|()| true),
        None => Ok(false),
    }
}

/// What is there to record with, and what is lacking.
pub fn check(machine: &mut dyn Machine, windows: &Installation, job: &Job) -> Vec<Item> {
    let recorder = typed(&windows.program("wpr"));
    let no_recorder = format!("{recorder} is not there: it comes with Windows 10 and 11");
    let no_rights = "not an administrator's prompt: open one with 'Run as administrator'";
    let boot = boot(machine, windows);
    let no_boot = boot.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let has_recorder = machine.exists(&windows.program("wpr"));
    let mut items = vec![
        Item::of("rights", machine.is_superuser(), Standing::Lacking, "administrator", no_rights),
        Item::of("wpr", has_recorder, Standing::Lacking, recorder, no_recorder),
        Item::of("boots", boot.is_ok(), Standing::Lacking, "one boot can be distinguished from the next", no_boot),
    ];
    if job.transition.records_shutdown() {
        let log = SHUTDOWN_LOGS.iter().map(|log| format!("{}/{log}", windows.windows)).find(|log| machine.exists(log));
        let no_log = "Windows has written no log of a shutdown yet; it may have been turned off by policy";
        let there = log.as_deref().map(typed).unwrap_or_default();
        items.push(Item::of("shutdown log", log.is_some(), Standing::Narrower, there, no_log));
    }
    items
}

/// What will be done, as sentences in the order in which it happens.
#[must_use]
pub fn sentences(windows: &Installation, state_folder: &str, job: &Job) -> Vec<String> {
    let mut sentences = vec![
        format!("Make the folder {}, which only administrators and you can look into", typed(&job.out)),
        format!("Write the profile of the recorder: {}", typed(&profile_file(state_folder))),
    ];
    if job.transition.restarts() {
        sentences.push(format!("Copy this program to {}", typed(&program_file(state_folder))));
        sentences.push(Step::sentence(&task(windows, state_folder)));
    }
    sentences.push(match (job.train, job.runs) {
        (0, 1) => "Do this once:".to_owned(),
        (0, runs) => format!("Do this {runs} times:"),
        (train, runs) => format!("Do this {}:", runs.saturating_add(train)),
    });
    let mut nested = Vec::new();
    if job.transition.records_boot() {
        nested.push(Step::sentence(&boot_recording(windows, state_folder, job)));
    }
    if job.transition.restarts() {
        nested.push("Restart the computer at once: what is open and not saved is lost".to_owned());
        nested.push(format!("{} s after you have logged on, go on", boot_delay(job)));
        if job.transition.records_boot() {
            nested.push(format!("Write {}", typed(&recording(job, "boot", "N"))));
        }
        if job.transition.records_shutdown() {
            nested.push(format!(
                "Copy the log that Windows wrote of the shutdown to {}",
                typed(&recording(job, "shutdown", "N"))
            ));
        }
    } else {
        let kind = job.transition.word();
        nested.push(Step::sentence(&running_recording(windows, state_folder, job)));
        nested.extend(job.wake_after_s.map(|seconds| format!("Have a task wake the computer after {seconds} s")));
        nested.push("Send the computer to sleep".to_owned());
        nested.push(format!("Awake, wait {} s and write {}", sleep_delay(job), typed(&recording(job, kind, "N"))));
    }
    sentences.extend(nested.into_iter().map(|sentence| format!("    {sentence}")));
    sentences.push("Put everything back".to_owned());
    sentences
}

fn refuse(machine: &mut dyn Machine, windows: &Installation, job: &Job) -> Result<(), Error> {
    let refused = |text: String| Err(Error::Refused(text));
    let word = job.transition.word();
    let linux: [(&str, bool); 7] = [
        ("--trace-flags", job.groups != TraceGroup::ALL || !job.events.is_empty()),
        ("--buffer", job.buffer_mib.is_some()),
        ("--loader", job.loader != LoaderChoice::Found),
        ("--sleep-by", job.sleep_by != SleepBy::Kernel),
        ("--state", job.sleep_state != "mem"),
        ("--mem-sleep", job.mem_sleep.is_some()),
        ("--hibernate-mode", job.hibernate_mode.is_some()),
    ];
    if let Some((option, _)) = linux.iter().find(|(_, given)| *given) {
        return refused(format!(
            "record {word}: {option} is for Linux; on Windows {PROFILE_FILE} says what is recorded"
        ));
    }
    if !machine.is_superuser() {
        return refused(format!(
            "record {word}: recording needs an administrator: open a prompt with 'Run as administrator' and type it again"
        ));
    }
    if !machine.exists(&windows.program("wpr")) {
        return refused(format!(
            "record {word}: {} is not there; it comes with Windows 10 and 11. For earlier ones 'onoff record {word} --plan windows' shows what to type",
            typed(&windows.program("wpr"))
        ));
    }
    if machine.exists(machine.state_folder()) {
        return refused(
            "a recording is under way or was interrupted: 'onoff record --restore' puts everything back".to_owned(),
        );
    }
    if job.out.starts_with("//") {
        return refused(format!(
            "{}: is on the network, which is not there while a computer starts: give a folder of this computer with '--out'",
            job.out
        ));
    }
    if machine.exists(&job.out) {
        return refused(format!(
            "{}: is there already; recordings hold what ran on this computer, so their folder is made anew, for administrators and you alone: choose another '--out'",
            typed(&job.out)
        ));
    }
    Ok(())
}

/// What marks the boot that the computer is in.
fn boot(machine: &mut dyn Machine, windows: &Installation) -> Result<String, Error> {
    let mut marks = Vec::new();
    for (key, name) in BOOT_MARKS {
        let line = windows.registry_value(key, name);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        if let Ok(Outcome { code: Some(0), stdout, .. }) = machine.run(&line) {
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
            "the registry has neither the time of the last shutdown nor the number of this boot: a restart could not be noticed"
                .to_owned(),
        )),
    }
}

fn prepare(machine: &mut dyn Machine, windows: &Installation, state: &mut State, program: &str) -> Result<(), Error> {
    let out = state.job.out.clone();
    state.perform(machine, &Step::Folder { path: out.clone() })?;
    run(machine, &windows.close_folder(&out))?;
    // Others may have been quick enough to put a link there before it was closed.
    if fs::read_dir(machine.at(&out)).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::Refused(format!("{out}: somebody put something into it while it was made")));
    }
    let folder = machine.state_folder().to_owned();
    // What is in the state's folder goes with it.
    machine.replace(&profile_file(&folder), profile::text().as_bytes(), 0o600)?;
    if state.job.transition.restarts() {
        state.perform(machine, &program_copy(program, &folder))?;
        let trigger = Trigger::Logon { delay_s: boot_delay(&state.job) };
        let text = scheduled_task::text(trigger, &windows.user, &program_file(&folder), "record --resume");
        machine.replace(&task_file(&folder, TASK), text.as_bytes(), 0o600)?;
        state.perform(machine, &task(windows, &folder))?;
    }
    Ok(())
}

/// Begins the run of `state`: the computer restarts.
fn restart(machine: &mut dyn Machine, windows: &Installation, state: &mut State) -> Result<Progress, Error> {
    let folder = machine.state_folder().to_owned();
    state.attempts += 1;
    state.restart_ns = machine.clocks().real_ns;
    state.save(machine)?;
    if records_boot(state) {
        state.perform(machine, &boot_recording(windows, &folder, &state.job.clone()))?;
    }
    say_run(machine, state, "restarting");
    run(machine, &windows.restart())?;
    Ok(Progress::Restarting)
}

/// Whether the run under way records a boot; a training run does not.
fn records_boot(state: &State) -> bool {
    state.job.transition.records_boot() && state.job.recording_number(state.run).is_some()
}

fn after_restart(machine: &mut dyn Machine, windows: &Installation, state: &mut State) -> Result<Progress, Error> {
    say_run(machine, state, "the computer is up");
    let kept = match state.job.recording_number(state.run) {
        Some(number) => keep(machine, windows, state, number),
        None => Ok(()),
    };
    match kept {
        Ok(()) if state.run >= state.job.total_runs() => return Ok(Progress::Finished(state.recordings.clone())),
        Ok(()) => {
            state.run += 1;
            state.attempts = 0;
        }
        Err(error) if state.attempts >= MAX_ATTEMPTS => {
            return Err(Error::Refused(format!("{}: {error}, {MAX_ATTEMPTS} times", state.job.run_name(state.run))));
        }
        Err(error) => say_run(machine, state, &format!("no recording: {error}")),
    }
    restart(machine, windows, state)
}

/// Keeps what a run has left.
fn keep(machine: &mut dyn Machine, windows: &Installation, state: &mut State, number: u32) -> Result<(), Error> {
    let mut made = Vec::new();
    if state.job.transition.records_boot() {
        let path = recording(&state.job, "boot", number);
        run(machine, &windows.stop_boot(&path))?;
        made.push(written(machine, path)?);
    }
    if state.job.transition.records_shutdown() {
        let path = recording(&state.job, "shutdown", number);
        copy_shutdown_log(machine, windows, state.restart_ns, &path)?;
        made.push(written(machine, path)?);
    }
    keep_recordings(machine, state, made)
}

fn keep_recordings(machine: &mut dyn Machine, state: &mut State, made: Vec<String>) -> Result<(), Error> {
    for path in made {
        let path = typed(&path);
        machine.say(&format!("onoff record: wrote {path}"));
        state.recordings.push(path);
    }
    state.save(machine)
}

/// A recording that the recorder says it has written.
fn written(machine: &mut dyn Machine, path: String) -> Result<String, Error> {
    match fs::metadata(machine.at(&path)) {
        Ok(file) if file.len() > 0 => Ok(path),
        _ => Err(Error::Refused(format!("{path}: the recorder reported success and wrote nothing"))),
    }
}

/// Copies the log of the shutdown that was requested at `since_ns`, ns since 1970, once Windows lets it be read.
fn copy_shutdown_log(machine: &mut dyn Machine, windows: &Installation, since_ns: u64, to: &str) -> Result<(), Error> {
    let logs = SHUTDOWN_LOGS.map(|log| format!("{}/{log}", windows.windows));
    let mut waited = Duration::ZERO;
    loop {
        let mut reason =
            format!("Windows wrote no log of the shutdown: none of {} is younger than it", logs.join(", "));
        for log in &logs {
            let place = machine.at(log);
            let modified = fs::metadata(&place).and_then(|file| file.modified()).ok();
            let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            if modified.is_none_or(|time| time < Duration::from_nanos(since_ns)) {
                continue;
            }
            match fs::read(&place) {
                Ok(bytes) => return machine.replace(to, &bytes, 0o600),
                Err(error) => reason = format!("{log}: {error}"),
            }
        }
        if waited >= LOG_PATIENCE {
            return Err(Error::Refused(reason));
        }
        machine.wait(LOG_INTERVAL);
        waited += LOG_INTERVAL;
    }
}

fn sleep_runs(machine: &mut dyn Machine, windows: &Installation, state: &mut State) -> Result<Progress, Error> {
    let folder = machine.state_folder().to_owned();
    let kind = state.job.transition.word();
    while state.run <= state.job.total_runs() {
        let number = state.job.recording_number(state.run);
        if number.is_some() {
            state.perform(machine, &running_recording(windows, &folder, &state.job.clone()))?;
        }
        if let Some(seconds) = state.job.wake_after_s {
            let at_s = (machine.clocks().real_ns / 1_000_000_000).saturating_add(seconds);
            // What it runs does nothing: the waking is all that is wanted.
            let text =
                scheduled_task::text(Trigger::Wake { at_s }, &windows.user, &windows.program("whoami"), "/groups");
            machine.replace(&task_file(&folder, WAKE_TASK), text.as_bytes(), 0o600)?;
            state.perform(
                machine,
                &Step::Command {
                    what: "a task wakes the computer".to_owned(),
                    line: Some(windows.create_task(WAKE_TASK, &task_file(&folder, WAKE_TASK))),
                    undo: Some(undo(windows.delete_task(WAKE_TASK), NO_SUCH_TASK)),
                },
            )?;
        }
        say_run(machine, state, "going to sleep; if the computer does not, send it to sleep by hand");
        let line = match state.job.transition {
            Transition::Hibernate => windows.hibernate(),
            _ => windows.sleep(),
        };
        sleep(machine, &line)?;
        say_run(machine, state, "awake");
        machine.wait(Duration::from_secs(sleep_delay(&state.job)));
        if let Some(number) = number {
            let path = recording(&state.job, kind, number);
            run(machine, &windows.stop(&path))?;
            let path = written(machine, path)?;
            keep_recordings(machine, state, vec![path])?;
        }
        state.run += 1;
        state.save(machine)?;
    }
    Ok(Progress::Finished(state.recordings.clone()))
}

/// Sends the computer to sleep and returns when it is awake again: the moment after which the clock has jumped.
fn sleep(machine: &mut dyn Machine, line: &[String]) -> Result<(), Error> {
    let second = Duration::from_secs(1);
    let begin = machine.clocks().real_ns;
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    // Some computers fall asleep while the command runs, some after it; and with Modern Standby it fails, and a person does it.
    let outcome = machine.run(&line).ok();
    if Duration::from_nanos(machine.clocks().real_ns.saturating_sub(begin)) > ASLEEP + second {
        return Ok(());
    }
    for _ in 0..SLEEP_PATIENCE_S {
        let before = machine.clocks().real_ns;
        machine.wait(second);
        if Duration::from_nanos(machine.clocks().real_ns.saturating_sub(before)) > ASLEEP + second {
            return Ok(());
        }
    }
    let said = outcome.map(|it| String::from_utf8_lossy(&it.stderr).trim().to_owned()).filter(|it| !it.is_empty());
    let said = said.map_or_else(String::new, |said| format!("; Windows said: {said}"));
    Err(Error::Refused(format!("the computer did not go to sleep within {} min{said}", SLEEP_PATIENCE_S / 60)))
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

/// What runs with administrator's rights is where only administrators can change it.
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
        what: "a task goes on after you have logged on".to_owned(),
        line: Some(windows.create_task(TASK, &task_file(state_folder, TASK))),
        undo: Some(undo(windows.delete_task(TASK), NO_SUCH_TASK)),
    }
}

fn boot_recording(windows: &Installation, state_folder: &str, job: &Job) -> Step {
    Step::Command {
        what: "the next boot is recorded".to_owned(),
        line: Some(windows.record_boot(state_folder, &job.out)),
        undo: Some(undo(windows.cancel_boot(), NOTHING_RECORDED)),
    }
}

fn running_recording(windows: &Installation, state_folder: &str, job: &Job) -> Step {
    Step::Command {
        what: "the recording begins".to_owned(),
        line: Some(windows.record(state_folder, &job.out)),
        undo: Some(undo(windows.cancel(), NOTHING_RECORDED)),
    }
}

fn undo(line: Vec<String>, nothing_there: i32) -> Undo {
    Undo::Run { line, nothing_there: vec![nothing_there] }
}

fn run(machine: &mut dyn Machine, line: &[String]) -> Result<(), Error> {
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    machine.must_run(&line).map(|_| ())
}
