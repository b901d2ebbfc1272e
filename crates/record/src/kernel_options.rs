//! What the kernel is told on its command line, so that it traces from its first moment.

use crate::job::Job;
use crate::offer::Offer;
use crate::tracing;

/// The option that marks a boot as ours. Neither the kernel nor systemd knows it: both let it pass.
pub const MARK: &str = "onoff.record";

/// Options for a boot that is recorded, with the job's mark.
#[must_use]
pub fn options(job: &Job, offer: &Offer, id: &str) -> Vec<String> {
    vec![
        format!("trace_event={}", tracing::events(job, offer).join(",")),
        format!("trace_buf_size={}M", tracing::buffer_mib(job, offer)),
        // Any clock named here; without one the kernel may go over to another clock late and lose what it has traced.
        "trace_clock=mono".to_owned(),
        "initcall_debug".to_owned(),
        "printk.time=1".to_owned(),
        "log_buf_len=16M".to_owned(),
        format!("{MARK}={id}"),
    ]
}

/// Whether a kernel's command line carries the mark of the job.
#[must_use]
pub fn is_marked(command_line: &str, id: &str) -> bool {
    command_line
        .split_whitespace()
        .any(|word| word.strip_prefix(MARK).and_then(|it| it.strip_prefix('=')) == Some(id))
}
