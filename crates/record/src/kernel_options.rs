//! What the kernel is told on its command line, so that it traces from its first moment.

use crate::capabilities::{Loader, Offer};
use crate::job::Job;
use crate::tracing;

/// The option that marks a boot as ours. Neither the kernel nor systemd knows it: both let it pass.
pub const MARK: &str = "onoff.record";
/// The option that tells which of the boot loader's entries this boot's was made from: that one is gone when all is put back,
/// while the boot loader goes on telling that it was taken.
const ENTRY: &str = "onoff.entry";

/// Options for a boot that is recorded, with the job's mark.
#[must_use]
pub fn options(job: &Job, offer: &Offer, id: &str) -> Vec<String> {
    let mut options = vec![
        format!("trace_event={}", tracing::events(job, offer).join(",")),
        format!("trace_buf_size={}M", tracing::buffer_mib(job, offer)),
        // Any clock named here; without one the kernel may go over to another clock late and lose what it has traced.
        "trace_clock=mono".to_owned(),
        "initcall_debug".to_owned(),
        "printk.time=1".to_owned(),
        "log_buf_len=16M".to_owned(),
        format!("{MARK}={id}"),
    ];
    if let Loader::SystemdBoot { entry, .. } = &offer.loader {
        options.push(format!("{ENTRY}={entry}"));
    }
    options
}

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
