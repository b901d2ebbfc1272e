//! Rules for boots, shutdowns and sleeps of Linux.

mod known_waits;

pub(crate) mod boot_failed;
pub(crate) mod boot_unfinished;
pub(crate) mod driver_slow;
pub(crate) mod encrypted_volume_wait;
pub(crate) mod file_system_check;
pub(crate) mod firmware_or_loader_slow;
pub(crate) mod initrd_long;
pub(crate) mod initrd_unpack_slow;
pub(crate) mod kernel_long;
pub(crate) mod low_power_missed;
pub(crate) mod modules_load_slow;
pub(crate) mod network_slow_after_resume;
pub(crate) mod network_wait;
pub(crate) mod random_seed_wait;
pub(crate) mod resume_firmware_long;
pub(crate) mod selinux_relabel;
pub(crate) mod sleep_aborted;
pub(crate) mod sleep_device_slow;
pub(crate) mod sleep_phase_long;
pub(crate) mod sleep_tasks_slow;
pub(crate) mod udev_settle;
pub(crate) mod unexplained_gap;
pub(crate) mod unit_chain;
pub(crate) mod unit_failed;
pub(crate) mod unit_restarted;
pub(crate) mod unit_slow;
pub(crate) mod unit_slow_to_stop;
pub(crate) mod unit_timed_out;
