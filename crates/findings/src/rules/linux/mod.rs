//! A boot, a shutdown, a sleep of Linux.

pub(crate) mod before_kernel_long;
pub(crate) mod driver_slow;
pub(crate) mod resume_firmware_long;
pub(crate) mod sleep_device_slow;
pub(crate) mod sleep_given_up;
pub(crate) mod sleep_tasks_slow;
pub(crate) mod unit_slow;
pub(crate) mod unit_slow_to_stop;
pub(crate) mod unit_timed_out;
