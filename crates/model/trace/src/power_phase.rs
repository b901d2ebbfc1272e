//! Names of the phases of a power transition, as rows of kind [`crate::ActivityKind::PowerPhase`].

/// Windows asks applications whether the system may suspend (Vista and 7).
pub const QUERY_APPS: &str = "query_apps";
/// Windows asks services whether the system may suspend (Vista and 7).
pub const QUERY_SERVICES: &str = "query_services";
/// Applications are notified of the suspend.
pub const SUSPEND_APPS: &str = "suspend_apps";
/// Services are notified of the suspend.
pub const SUSPEND_SERVICES: &str = "suspend_services";
/// The screen shows that the system suspends.
pub const SHOW_UI: &str = "show_ui";
/// The screen is restored.
pub const HIDE_UI: &str = "hide_ui";
/// The memory manager's prefetcher prepares memory.
pub const SUPERFETCH: &str = "superfetch";
/// Winlogon prepares.
pub const WINLOGON: &str = "winlogon";
/// Callbacks before sleep.
pub const PRE_SLEEP_CALLBACKS: &str = "pre_sleep_callbacks";
/// Preparation as a whole, on versions that record it.
pub const PREPARE_SLEEP: &str = "prepare_sleep";
/// Devices receive a query whether the system may suspend.
pub const QUERY_DEVICES: &str = "query_devices";
/// Volumes are flushed.
pub const FLUSH_VOLUMES: &str = "flush_volumes";
/// Devices are suspended.
pub const SUSPEND_DEVICES: &str = "suspend_devices";
/// Pages are written to disk before the memory image is created.
pub const FLUSH_ALL_PAGES: &str = "flush_all_pages";
/// The kernel determines the order in which devices are notified.
pub const BUILD_NOTIFY_LIST: &str = "build_notify_list";
/// The hibernation file is overwritten with zeros.
pub const ZERO_HIBERNATION_FILE: &str = "zero_hibernation_file";
/// Devices are resumed.
pub const RESUME_DEVICES: &str = "resume_devices";
/// Services are notified of the resume.
pub const RESUME_SERVICES: &str = "resume_services";
/// Applications are notified of the resume.
pub const RESUME_APPS: &str = "resume_apps";

/// File systems are synced before a sleep (Linux).
pub const SYNC_FILE_SYSTEMS: &str = "sync_file_systems";
/// Processes are frozen (Linux).
pub const FREEZE_PROCESSES: &str = "freeze_processes";
/// Processes are thawed (Linux).
pub const THAW_PROCESSES: &str = "thaw_processes";
/// Devices: prepare (Linux `dpm_prepare`).
pub const DEVICES_PREPARE: &str = "devices_prepare";
/// Devices: suspend (Linux `dpm_suspend`).
pub const DEVICES_SUSPEND: &str = "devices_suspend";
/// Devices: suspend, late (Linux `dpm_suspend_late`).
pub const DEVICES_SUSPEND_LATE: &str = "devices_suspend_late";
/// Devices: suspend, interrupts off (Linux `dpm_suspend_noirq`).
pub const DEVICES_SUSPEND_NOIRQ: &str = "devices_suspend_noirq";
/// All processors but one are taken offline (Linux).
pub const PROCESSORS_OFF: &str = "processors_off";
/// The kernel core suspends: timers, interrupt controllers, clocks (Linux `syscore_suspend`).
pub const SYSTEM_CORE_OFF: &str = "system_core_off";
/// The machine: from entering the platform's sleep state to the return, mostly asleep (Linux `machine_suspend`).
pub const MACHINE: &str = "machine";
/// The kernel core resumes (Linux `syscore_resume`).
pub const SYSTEM_CORE_ON: &str = "system_core_on";
/// Processors are brought back online (Linux).
pub const PROCESSORS_ON: &str = "processors_on";
/// Devices: resume, interrupts off (Linux `dpm_resume_noirq`).
pub const DEVICES_RESUME_NOIRQ: &str = "devices_resume_noirq";
/// Devices: resume, early (Linux `dpm_resume_early`).
pub const DEVICES_RESUME_EARLY: &str = "devices_resume_early";
/// Devices: resume (Linux `dpm_resume`).
pub const DEVICES_RESUME: &str = "devices_resume";
/// Devices: complete (Linux `dpm_complete`).
pub const DEVICES_COMPLETE: &str = "devices_complete";
/// The console resumes and prints the messages it buffered (Linux `resume_console`).
pub const RESUME_CONSOLE: &str = "resume_console";
/// Memory is freed and copied for the memory image (Linux).
pub const CREATE_IMAGE: &str = "create_image";
/// The memory image is written (Linux).
pub const WRITE_IMAGE: &str = "write_image";
/// The memory image is read (Linux).
pub const READ_IMAGE: &str = "read_image";

/// Detail of a device phase that covers all stages: the log has messages before and after, but none between them.
pub const ALL_STAGES: &str = "all stages";

/// Record of rows that are based on kernel messages with the time at which the log received them. Nothing reads the
/// kernel log while tasks are frozen, so every message of a sleep except the first has a time that is too late.
pub const RECEIVED_EVENT: &str = "kernel log/PM as received";
