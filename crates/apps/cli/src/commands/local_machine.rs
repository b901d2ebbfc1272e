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
    let wanted = Scope::for_boot(options.boot.as_deref(), &machine.boot_id());
    let found = inspect(&mut machine, wanted);
    report_unread(&found);
    let others: Vec<(String, Vec<u8>)> = found.files.into_iter().map(|member| (member.name, member.bytes)).collect();
    if found.journals.is_empty() && others.is_empty() {
        let message = "no boot data is readable for this user; pass a recording, or see 'onoff record'";
        return Err(Failure::no_data(message));
    }
    Ok(onoff_files::open_files_and_bytes(&found.journals, others, options)?)
}

/// Prints on stderr which sources could not be read, and what to do about it.
#[cfg(target_os = "linux")]
pub fn report_unread(found: &onoff_record::running::RunningSystem) {
    use std::io::Write;

    for unread in &found.unreadable {
        let line = format!("not read: {}. Try: {}.", unread.problem, unread.remedy);
        let line = onoff_report::text::printable::printable(&line).into_owned();
        // A closed stderr does not affect the output.
        let _ = writeln!(std::io::stderr(), "onoff: {line}");
    }
}

/// Other systems have no journal, so a recording is required.
#[cfg(not(target_os = "linux"))]
pub fn open(_: &Path, _: &Options) -> Result<Files, Failure> {
    let message =
        "pass a recording (it is optional on Linux only); 'onoff record boot --plan windows' shows how to make one";
    Err(Failure::no_data(message))
}
