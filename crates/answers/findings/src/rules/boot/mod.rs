//! Rules for a Windows boot.

pub(crate) mod antivirus;
pub(crate) mod background_disk;
pub(crate) mod boot_driver_slow;
pub(crate) mod catalog_signed_boot_driver;
pub(crate) mod cpu_hog;
pub(crate) mod disk_slow;
pub(crate) mod driver_enumeration_not_pended;
pub(crate) mod driver_load_slow;
pub(crate) mod driver_start_not_pended;
pub(crate) mod firmware_long;
pub(crate) mod logon_subscriber_slow;
pub(crate) mod long_dpc;
pub(crate) mod network_connections;
pub(crate) mod nfs_client;
pub(crate) mod os_loader_long;
pub(crate) mod phase_beyond_normal;
pub(crate) mod policy_script;
pub(crate) mod policy_slow;
pub(crate) mod post_boot_busy;
pub(crate) mod read_ahead_unused;
pub(crate) mod reported_slow;
pub(crate) mod service_chain;
pub(crate) mod service_could_start_later;
pub(crate) mod service_failed;
pub(crate) mod service_in_group_slow;
pub(crate) mod service_start_slow;
pub(crate) mod service_timed_out;
pub(crate) mod shell_reads_folder;
pub(crate) mod startup_applications;
pub(crate) mod usb_device_slow;
pub(crate) mod video_driver_slow;

mod pending;
mod starts;
