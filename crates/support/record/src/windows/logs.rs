//! Finds the event logs of a Windows computer that say something about its boots, shutdowns and sleeps.
//!
//! The files of the logs are read where Windows keeps them. A file that cannot be opened is exported with `wevtutil`,
//! which asks the log service. Nothing on the computer is changed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::commands::Installation;
use crate::error::Error;
use crate::machine::{Machine, MachineFiles};
use crate::running::{CollectedFile, RunningSystem, UnreadableData};

/// The folder of the logs below the Windows folder.
const LOGS: &str = "System32/winevt/Logs";
/// The folder of the boot and shutdown traces that Windows itself records.
const TRACES: &str = "System32/WDI/LogFiles";
/// The traces there of the last boot and the last shutdown.
pub(super) const TRACE_FILES: [&str; 2] = ["BootPerfDiagLogger.etl", "ShutdownPerfDiagLogger.etl"];
/// File name of the report of `powercfg /sleepstudy`.
pub(super) const SLEEP_STUDY: &str = "sleepstudy-report.html";

/// Maximum size in bytes of an exported log, a trace or a report, which are read into memory. Windows limits most logs
/// to 20 MiB by default.
const MAX_BYTES: u64 = 512 << 20;

const AS_ADMINISTRATOR: &str = "Run the same command at a prompt opened with 'Run as administrator'";

/// A channel of the event log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    pub name: &'static str,
    /// What it adds to a report.
    pub purpose: &'static str,
}

impl Channel {
    /// Returns the name of the channel's file, where Windows writes `/` as `%4`.
    #[must_use]
    pub fn file_name(self) -> String {
        format!("{}.evtx", self.name.replace('/', "%4"))
    }
}

/// The channels to read.
pub const CHANNELS: &[Channel] = &[
    channel("System", "every boot, shutdown and sleep, firmware times, services that failed"),
    channel("Application", "logon components that were slow or failed, installed programs"),
    channel("Setup", "installed updates of Windows"),
    channel(
        "Microsoft-Windows-Diagnostics-Performance/Operational",
        "phases of each boot and shutdown, what delayed them",
    ),
    channel("Microsoft-Windows-Winlogon/Operational", "authentication, and the work of each logon component"),
    channel("Microsoft-Windows-GroupPolicy/Operational", "computer and user policy"),
    channel("Microsoft-Windows-User Profile Service/Operational", "loading of user profiles"),
    channel("Microsoft-Windows-Shell-Core/Operational", "programs that start at logon"),
    channel("Microsoft-Windows-Kernel-Boot/Operational", "boots that the System log no longer covers"),
    channel("Microsoft-Windows-Kernel-PnP/Configuration", "installed drivers and devices"),
    channel("Microsoft-Windows-Diagnosis-DPS/Operational", "boots that Windows analyzed"),
    channel("Microsoft-Windows-ReadyBoost/Operational", "the boot prefetcher's planning"),
    channel(
        "Microsoft-Windows-TerminalServices-LocalSessionManager/Operational",
        "sessions and the start of the shell",
    ),
    channel("Microsoft-Windows-WindowsUpdateClient/Operational", "updates found and installed"),
];

const fn channel(name: &'static str, purpose: &'static str) -> Channel {
    Channel { name, purpose }
}

/// Finds the logs of the computer. Channels that the computer does not have are skipped.
pub fn inspect(machine: &mut dyn Machine, installation: &Installation) -> RunningSystem {
    let folder = format!("{}/{LOGS}", installation.windows);
    let mut system = RunningSystem::default();
    let mut unreadable: Vec<(String, Vec<&str>)> = Vec::new();
    for channel in CHANNELS {
        let path = native_path(machine, &format!("{folder}/{}", channel.file_name()));
        let error = match check_readable(&path) {
            Ok(()) => {
                system.logs.push(path);
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                system.absent.push(format!("this Windows has no log {} ({})", channel.name, channel.purpose));
                continue;
            }
            Err(error) => error,
        };
        let reason = match machine.runs_commands().then(|| export(machine, installation, channel.name)) {
            Some(Ok(bytes)) => {
                system.files.push(CollectedFile { name: path.display().to_string(), bytes });
                continue;
            }
            Some(Err(reason)) => format!("{error}; {reason}"),
            None => error.to_string(),
        };
        match unreadable.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, channels)) => channels.push(channel.name),
            None => unreadable.push((reason, vec![channel.name])),
        }
    }
    system.unreadable.extend(unreadable.into_iter().map(|(reason, channels)| UnreadableData {
        problem: format!("cannot read the event logs {}: {reason}", channels.join(", ")),
        remedy: AS_ADMINISTRATOR,
    }));
    if system.logs.is_empty() && system.files.is_empty() && system.unreadable.is_empty() {
        let folder = native_path(machine, &folder);
        let problem = format!("no event logs in {}", folder.display());
        system.unreadable.push(UnreadableData { problem, remedy: "Check 'sc query eventlog'" });
    }
    system
}

/// Adds what Windows recorded besides its logs: the traces of the last boot and shutdown, and the report on modern
/// standby.
pub fn add_traces_and_reports(machine: &mut dyn Machine, installation: &Installation, system: &mut RunningSystem) {
    for name in TRACE_FILES {
        let path = native_path(machine, &format!("{}/{TRACES}/{name}", installation.windows));
        match read_bounded(&path) {
            Ok(bytes) => system.files.push(CollectedFile { name: name.to_owned(), bytes }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                system.absent.push(format!("Windows recorded no {name}"));
            }
            Err(error) => {
                let problem = format!("{}: {error}", path.display());
                system.unreadable.push(UnreadableData { problem, remedy: AS_ADMINISTRATOR });
            }
        }
    }
    if !machine.runs_commands() {
        return;
    }
    match run_to_file(machine, SLEEP_STUDY, |file| installation.sleep_study(file)) {
        Ok(bytes) => system.files.push(CollectedFile { name: SLEEP_STUDY.to_owned(), bytes }),
        Err(reason) => {
            let remedy = "It requires Windows 10 or later and an administrator";
            system
                .unreadable
                .push(UnreadableData { problem: format!("no report on modern standby: {reason}"), remedy });
        }
    }
}

/// Returns the actual path of one of the machine's paths, with the separators of the system that this program runs on.
fn native_path(machine: &dyn Machine, path: &str) -> PathBuf {
    machine.host_path(path).components().collect()
}

/// Fails if the file cannot be opened and read, such as a file that is locked.
fn check_readable(path: &Path) -> io::Result<()> {
    File::open(path)?.read(&mut [0; 8]).map(|_| ())
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(bytes)
}

/// Exports the log of a channel, or returns why it failed.
fn export(machine: &mut dyn Machine, installation: &Installation, channel: &str) -> Result<Vec<u8>, String> {
    run_to_file(machine, "log.evtx", |file| installation.export_log(channel, file))
}

/// Runs a command that writes a file into a new temporary folder. Returns the contents of the file, or why there is
/// none.
fn run_to_file(
    machine: &mut dyn Machine,
    name: &str,
    line: impl FnOnce(&str) -> Vec<String>,
) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("cannot create a temporary folder: {error}"))?;
    let path = folder.path().join(name);
    let Some(file) = path.to_str() else { return Err("the temporary folder's name is not valid Unicode".to_owned()) };
    let line = line(file);
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    let program = words.first().and_then(|path| path.rsplit('\\').next()).unwrap_or_default();
    machine.run_checked(&words).map_err(|error| match error {
        // Without the rest of the command line, which would differ for each log.
        Error::Command { reason, .. } => format!("{program}: {reason}"),
        error => error.to_string(),
    })?;
    let bytes = read_bounded(&path).map_err(|error| format!("{program} wrote no readable file: {error}"))?;
    // A leftover would contain the user's data.
    fs::remove_file(&path).map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_have_the_file_names_of_windows() {
        let names: Vec<String> = CHANNELS.iter().map(|channel| channel.file_name()).collect();
        assert_eq!(names[0], "System.evtx");
        assert!(names.contains(&"Microsoft-Windows-Diagnostics-Performance%4Operational.evtx".to_owned()));
        let mut distinct = names.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len());
    }
}
