//! Names of the phases of a power transition, as rows of kind [`crate::ActivityKind::PowerPhase`].

/// Applications are asked whether the system may suspend (Vista and 7).
pub const QUERY_APPS: &str = "query_apps";
/// Services are asked whether the system may suspend (Vista and 7).
pub const QUERY_SERVICES: &str = "query_services";
/// Applications are told that the system suspends.
pub const SUSPEND_APPS: &str = "suspend_apps";
/// Services are told that the system suspends.
pub const SUSPEND_SERVICES: &str = "suspend_services";
/// The screen shows that the system suspends.
pub const SHOW_UI: &str = "show_ui";
/// The screen comes back.
pub const HIDE_UI: &str = "hide_ui";
/// Memory is prepared by the memory manager's prefetcher.
pub const SUPERFETCH: &str = "superfetch";
/// The logon process prepares.
pub const WINLOGON: &str = "winlogon";
/// Callbacks before sleep.
pub const PRE_SLEEP_CALLBACKS: &str = "pre_sleep_callbacks";
/// Preparation as a whole, on versions that record it.
pub const PREPARE_SLEEP: &str = "prepare_sleep";
/// Devices are asked whether the system may suspend.
pub const QUERY_DEVICES: &str = "query_devices";
/// Volumes are flushed.
pub const FLUSH_VOLUMES: &str = "flush_volumes";
/// Devices are told to go to sleep.
pub const SUSPEND_DEVICES: &str = "suspend_devices";
/// Pages are written out before the memory image is made.
pub const FLUSH_ALL_PAGES: &str = "flush_all_pages";
/// The order in which devices are told is worked out.
pub const BUILD_NOTIFY_LIST: &str = "build_notify_list";
/// The file of the memory image is overwritten with zeros.
pub const ZERO_HIBERNATION_FILE: &str = "zero_hibernation_file";
/// Devices are told to wake up.
pub const RESUME_DEVICES: &str = "resume_devices";
/// Services are told that the system resumed.
pub const RESUME_SERVICES: &str = "resume_services";
/// Applications are told that the system resumed.
pub const RESUME_APPS: &str = "resume_apps";
