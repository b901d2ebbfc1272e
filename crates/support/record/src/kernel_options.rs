//! Kernel command-line options that start the trace as early as possible.

use crate::capabilities::{Capabilities, Loader};
use crate::job::Job;
use crate::recorded_boot::{ENTRY, MARK};
pub use crate::recorded_boot::{is_marked, original_entry};
use crate::tracing;

/// Options for a recorded boot, including the job's mark.
#[must_use]
pub fn options(job: &Job, capabilities: &Capabilities, id: &str) -> Vec<String> {
    let mut options = vec![
        format!("trace_event={}", tracing::events(job, capabilities).join(",")),
        format!("trace_buf_size={}M", tracing::buffer_mib(job, capabilities)),
        // Without a clock here, the kernel may switch clocks later and lose what it has traced.
        "trace_clock=mono".to_owned(),
        "initcall_debug".to_owned(),
        "printk.time=1".to_owned(),
        "log_buf_len=16M".to_owned(),
        format!("{MARK}={id}"),
    ];
    if let Loader::SystemdBoot { entry, .. } = &capabilities.loader {
        options.push(format!("{ENTRY}={entry}"));
    }
    options
}
