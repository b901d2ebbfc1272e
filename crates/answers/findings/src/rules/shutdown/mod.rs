//! Rules for a Windows shutdown.

pub(crate) mod application_slow;
pub(crate) mod application_unresponsive;
pub(crate) mod console_program_slow;
pub(crate) mod explicit_flush;
pub(crate) mod kernel_step_slow;
pub(crate) mod page_file_cleared;
pub(crate) mod reported_slow;
pub(crate) mod script;
pub(crate) mod service_slow;
pub(crate) mod service_unresponsive;

mod applications;
