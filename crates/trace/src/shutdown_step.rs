//! Names of the steps of a shutdown, as rows of kind [`crate::ActivityKind::ShutdownStep`] and
//! [`crate::ActivityKind::KernelShutdownStep`].

/// The logon process shuts Windows down, all of it until the kernel is asked.
pub const SHUTDOWN_WINDOWS: &str = "shutdown_windows";
/// A shutdown is asked for.
pub const INITIATE_SHUTDOWN: &str = "initiate_shutdown";
/// Waiting for the user's session to be gone.
pub const WAIT_FOR_SESSION: &str = "wait_for_session";
/// Services that asked for it are told before all others, and waited for.
pub const PRE_SHUTDOWN_NOTIFICATION: &str = "pre_shutdown_notification";
/// Waiting for the processes of the system's session.
pub const WAIT_FOR_SYSTEM_PROCESSES: &str = "wait_for_system_processes";
/// System restore is shut down.
pub const SYSTEM_RESTORE: &str = "system_restore";

/// All of the kernel's orderly shutdown.
pub const GRACEFUL_SHUTDOWN: &str = "graceful_shutdown";
/// Waiting for processes that still run.
pub const WAIT_FOR_PROCESSES: &str = "wait_for_processes";
/// The page file is overwritten with zeros.
pub const ZERO_PAGE_FILE: &str = "zero_page_file";
/// Drivers are told of the shutdown.
pub const IO_SYSTEM: &str = "io_system";
/// File systems are shut down.
pub const FILE_SYSTEMS: &str = "file_systems";
/// The registry is written and closed.
pub const REGISTRY: &str = "registry";
/// Devices are told to power down.
pub const DEVICES: &str = "devices";
