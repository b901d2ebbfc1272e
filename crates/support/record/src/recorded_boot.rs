//! Identifies a recorded boot by its boot loader entry and the marks on its kernel command line.

/// The boot loader entry of a recorded boot. Without a configured default, systemd-boot starts the entry with the
/// highest name, so this entry must have the lowest name.
pub const LOADER_ENTRY: &str = "0-onoff-record.conf";

/// The option that marks a boot as recorded. The kernel and systemd ignore it.
pub const MARK: &str = "onoff.record";
/// The option with the boot loader entry that this boot's entry was derived from. Our entry is removed at the end of a
/// job, but the boot loader still reports it as the selected entry.
pub(crate) const ENTRY: &str = "onoff.entry";

/// True if a kernel command line has the mark of the job.
#[must_use]
pub fn is_marked(command_line: &str, id: &str) -> bool {
    option_value(command_line, MARK) == Some(id)
}

/// Returns the entry that a recorded boot's entry was derived from, according to its kernel command line.
#[must_use]
pub fn original_entry(command_line: &str) -> Option<&str> {
    option_value(command_line, ENTRY)
}

/// Returns the last value of one of our options.
fn option_value<'a>(command_line: &'a str, name: &str) -> Option<&'a str> {
    command_line.split_whitespace().filter_map(|word| word.strip_prefix(name)?.strip_prefix('=')).next_back()
}
