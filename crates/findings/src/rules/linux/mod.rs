//! A boot and a shutdown of Linux.

pub(crate) mod before_kernel_long;
pub(crate) mod driver_slow;
pub(crate) mod unit_slow;
pub(crate) mod unit_slow_to_stop;
pub(crate) mod unit_timed_out;
