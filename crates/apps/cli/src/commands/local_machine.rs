//! Reads this computer's own boot logs in place of a recording.

use std::path::Path;

use onoff_files::Options;
#[cfg(any(target_os = "linux", windows))]
use onoff_record::running::RunningSystem;
use onoff_sources::Files;

use crate::failure::Failure;

#[cfg(target_os = "linux")]
const NO_DATA: &str = "no boot data is readable for this user; pass a recording, or see 'onoff record'";
#[cfg(windows)]
const NO_DATA: &str =
    "no event log is readable for this user; run the same command as administrator, or pass a recording";

/// Opens the logs below `root` for the boot selected in `options`. Reports unreadable sources on stderr.
#[cfg(any(target_os = "linux", windows))]
pub fn open(root: &Path, options: &Options) -> Result<Files, Failure> {
    let system = inspect(root, options)?;
    report_unread(&system);
    open_logs(system, options)
}

/// Opens the logs and files of a computer as one recording.
#[cfg(any(target_os = "linux", windows))]
pub fn open_logs(system: RunningSystem, options: &Options) -> Result<Files, Failure> {
    let files: Vec<(String, Vec<u8>)> = system.files.into_iter().map(|file| (file.name, file.bytes)).collect();
    if system.logs.is_empty() && files.is_empty() {
        return Err(Failure::no_data(NO_DATA));
    }
    Ok(onoff_files::open_files_and_bytes(&system.logs, files, options)?)
}

#[cfg(target_os = "linux")]
fn inspect(root: &Path, options: &Options) -> Result<RunningSystem, Failure> {
    use onoff_record::live::LiveMachine;
    use onoff_record::machine::MachineFiles as _;
    use onoff_record::running::{Scope, inspect};

    let mut machine = LiveMachine::new(root.to_owned());
    let scope = Scope::for_boot(options.boot.as_deref(), &machine.boot_id());
    Ok(inspect(&mut machine, scope))
}

#[cfg(windows)]
fn inspect(root: &Path, _: &Options) -> Result<RunningSystem, Failure> {
    let mut machine = windows_machine(root)?;
    let installation = machine.installation().clone();
    Ok(onoff_record::windows::logs::inspect(&mut machine, &installation))
}

/// Returns this computer, or for a `root` other than `/`, the computer whose files are there.
#[cfg(windows)]
pub fn windows_machine(root: &Path) -> Result<onoff_record::windows::live::WindowsMachine, Failure> {
    use onoff_record::windows::live::WindowsMachine;

    match root == Path::new("/") {
        true => Ok(WindowsMachine::new()?),
        false => Ok(WindowsMachine::at(root.to_owned())),
    }
}

/// Prints on stderr which sources could not be read, and what to do about it.
#[cfg(any(target_os = "linux", windows))]
pub fn report_unread(system: &RunningSystem) {
    for source in &system.unreadable {
        // Windows programs end their messages with a period.
        super::report_on_stderr(&format!("{}. {}.", source.problem.trim_end_matches('.'), source.remedy));
    }
}

/// Fails, because this system has no logs to read in place of a recording.
#[cfg(not(any(target_os = "linux", windows)))]
pub fn open(_: &Path, _: &Options) -> Result<Files, Failure> {
    Err(Failure::no_data("pass a recording; it is optional on Linux and Windows only"))
}
