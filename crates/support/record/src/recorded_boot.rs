//! What a recorded boot is known by: its boot loader entry, and the marks on its kernel's command line.

/// The boot loader entry of a recorded boot. Where no default is set, systemd-boot takes the entry that sorts highest: this
/// one must sort lowest, so that only who asks for it gets it.
pub const LOADER_ENTRY: &str = "0-onoff-record.conf";

/// The option that marks a boot as ours. Neither the kernel nor systemd knows it: both let it pass.
pub const MARK: &str = "onoff.record";
/// The option that tells which of the boot loader's entries this boot's was made from: that one is gone when all is put back,
/// while the boot loader goes on telling that it was taken.
pub(crate) const ENTRY: &str = "onoff.entry";

/// Whether a kernel's command line carries the mark of the job.
#[must_use]
pub fn is_marked(command_line: &str, id: &str) -> bool {
    value(command_line, MARK) == Some(id)
}

/// The entry that the entry of a recorded boot was made from, by the kernel's command line.
#[must_use]
pub fn entry_made_from(command_line: &str) -> Option<&str> {
    value(command_line, ENTRY)
}

/// The last value of an option of ours.
fn value<'a>(command_line: &'a str, name: &str) -> Option<&'a str> {
    command_line.split_whitespace().filter_map(|word| word.strip_prefix(name)?.strip_prefix('=')).next_back()
}
