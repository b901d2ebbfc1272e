//! Rules for boots, shutdowns and sleeps of Linux.

mod known_waits;

pub(crate) mod before_kernel_long;
pub(crate) mod boot_unfinished;
pub(crate) mod driver_slow;
pub(crate) mod encrypted_volume_waited_for;
pub(crate) mod file_system_check;
pub(crate) mod initrd_long;
pub(crate) mod initrd_unpack_slow;
pub(crate) mod kernel_modules_loaded;
pub(crate) mod low_power_missed;
pub(crate) mod network_slow_after_resume;
pub(crate) mod network_waited_for;
pub(crate) mod random_numbers_waited_for;
pub(crate) mod relabeled;
pub(crate) mod resume_firmware_long;
pub(crate) mod sleep_device_slow;
pub(crate) mod sleep_given_up;
pub(crate) mod sleep_tasks_slow;
pub(crate) mod udev_settled;
pub(crate) mod unit_failed;
pub(crate) mod unit_restarted;
pub(crate) mod unit_slow;
pub(crate) mod unit_slow_to_stop;
pub(crate) mod unit_timed_out;
pub(crate) mod units_in_a_row;
