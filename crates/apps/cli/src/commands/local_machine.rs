//! Reads this computer's own boot logs in place of a recording.

use std::path::Path;

use onoff_files::Options;
use onoff_sources::Files;

use crate::failure::Failure;

/// Opens the logs below `root` for the boot selected in `options`. Reports unreadable sources on stderr.
#[cfg(target_os = "linux")]
pub fn open(root: &Path, options: &Options) -> Result<Files, Failure> {
    use onoff_record::live::LiveMachine;
    use onoff_record::machine::MachineFiles as _;
    use onoff_record::running::{Scope, inspect};

    let mut machine = LiveMachine::new(root.to_owned());
    let scope = Scope::for_boot(options.boot.as_deref(), &machine.boot_id());
    let sources = inspect(&mut machine, scope);
    report_unread(&sources);
    let files: Vec<(String, Vec<u8>)> = sources.files.into_iter().map(|file| (file.name, file.bytes)).collect();
    if sources.journals.is_empty() && files.is_empty() {
        let message = "no boot data is readable for this user; pass a recording, or see 'onoff record'";
        return Err(Failure::no_data(message));
    }
    Ok(onoff_files::open_files_and_bytes(&sources.journals, files, options)?)
}

/// Prints on stderr which sources could not be read, and what to do about it.
#[cfg(target_os = "linux")]
pub fn report_unread(sources: &onoff_record::running::RunningSystem) {
    use std::io::Write;

    for source in &sources.unreadable {
        let line = format!("{}. {}.", source.problem, source.remedy);
        let line = onoff_report::text::printable::printable(&line).into_owned();
        // A closed stderr does not affect the output.
        let _ = writeln!(std::io::stderr(), "onoff: {line}");
    }
}

/// Fails, because only Linux has a journal to read in place of a recording.
#[cfg(not(target_os = "linux"))]
pub fn open(_: &Path, _: &Options) -> Result<Files, Failure> {
    let message =
        "pass a recording (it is optional on Linux only); 'onoff record boot --plan windows' shows how to make one";
    Err(Failure::no_data(message))
}
