//! This computer in place of a recording: what it knows of its own boots.

use std::path::Path;

use onoff_files::Options;
use onoff_sources::Files;

use crate::failure::Failure;

/// Opens what this computer, whose files lie below `root`, knows of the boot that `options` name. What could not be read is said
/// on stderr, with what to do.
#[cfg(target_os = "linux")]
pub fn open(root: &Path, options: &Options) -> Result<Files, Failure> {
    use onoff_record::live::LiveMachine;
    use onoff_record::machine::Files as _;
    use onoff_record::running::{Wanted, look};

    let mut machine = LiveMachine::new(root.to_owned());
    let wanted = Wanted::of(options.boot.as_deref(), &machine.boot_id());
    let found = look(&mut machine, wanted);
    say_unread(&found);
    let held: Vec<(String, Vec<u8>)> = found.members.into_iter().map(|member| (member.name, member.bytes)).collect();
    if found.journals.is_empty() && held.is_empty() {
        let message = "this computer shows nothing of its boots to this user; name a recording, or see 'onoff record'";
        return Err(Failure::nothing(message));
    }
    Ok(onoff_files::open_found(&found.journals, held, options)?)
}

/// Says on stderr what could not be read, and what to do.
#[cfg(target_os = "linux")]
pub fn say_unread(found: &onoff_record::running::RunningSystem) {
    use std::io::Write;

    for unread in &found.unread {
        let line = format!("not read: {}. Instead: {}.", unread.what, unread.instead);
        let line = onoff_report::text::printable::printable(&line).into_owned();
        // Where stderr is gone the answer is still right.
        let _ = writeln!(std::io::stderr(), "onoff: {line}");
    }
}

/// Other systems have no journal: a recording must be named.
#[cfg(not(target_os = "linux"))]
pub fn open(_: &Path, _: &Options) -> Result<Files, Failure> {
    let message =
        "name a recording: only Linux answers without one; 'onoff record boot --plan windows' shows how to make one";
    Err(Failure::nothing(message))
}
