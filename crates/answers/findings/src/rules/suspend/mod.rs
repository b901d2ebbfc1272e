//! Rules for a Windows sleep, hibernation or fast startup.

pub(crate) mod application_slow;
pub(crate) mod driver_slow_to_resume;
pub(crate) mod driver_slow_to_suspend;
pub(crate) mod kept_awake;
pub(crate) mod long_dpc;
pub(crate) mod low_power_missed;
pub(crate) mod memory_image_share;
pub(crate) mod post_resume_busy;
pub(crate) mod service_slow;

mod answers;
mod devices;
