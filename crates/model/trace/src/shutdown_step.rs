//! Names of the steps of a shutdown, as rows of kind [`crate::ActivityKind::ShutdownStep`] and
//! [`crate::ActivityKind::KernelShutdownStep`].

/// Winlogon shuts Windows down, up to its call into the kernel.
pub const SHUTDOWN_WINDOWS: &str = "shutdown_windows";
/// A shutdown is requested.
pub const INITIATE_SHUTDOWN: &str = "initiate_shutdown";
/// Waiting for the user's session to end.
pub const WAIT_FOR_SESSION: &str = "wait_for_session";
/// Services registered for preshutdown are notified before all others, and waited for.
pub const PRE_SHUTDOWN_NOTIFICATION: &str = "pre_shutdown_notification";
/// Waiting for the processes of the system session.
pub const WAIT_FOR_SYSTEM_PROCESSES: &str = "wait_for_system_processes";
/// System restore is shut down.
pub const SYSTEM_RESTORE: &str = "system_restore";

/// The kernel's graceful shutdown as a whole.
pub const GRACEFUL_SHUTDOWN: &str = "graceful_shutdown";
/// Waiting for processes that are still running.
pub const WAIT_FOR_PROCESSES: &str = "wait_for_processes";
/// The page file is overwritten with zeros.
pub const ZERO_PAGE_FILE: &str = "zero_page_file";
/// Drivers are notified of the shutdown.
pub const IO_SYSTEM: &str = "io_system";
/// File systems are shut down.
pub const FILE_SYSTEMS: &str = "file_systems";
/// The registry is written and closed.
pub const REGISTRY: &str = "registry";
/// Devices are powered down.
pub const DEVICES: &str = "devices";

/// The service manager stops its units (Linux).
pub const STOP_UNITS: &str = "stop_units";
/// `systemd-shutdown` sends `SIGTERM` to the remaining processes, and waits (Linux).
pub const TERMINATE_REMAINING: &str = "terminate_remaining";
/// `systemd-shutdown` sends `SIGKILL` to the remaining processes, and waits (Linux).
pub const KILL_REMAINING: &str = "kill_remaining";
/// File systems are unmounted or made read-only, swap is turned off, loop and mapped devices are detached (Linux).
pub const UNMOUNT: &str = "unmount";
/// Programs in the `systemd-shutdown` hook directory run (Linux).
pub const SHUTDOWN_HOOKS: &str = "shutdown_hooks";
/// The kernel's part: devices are shut down, the machine is stopped (Linux).
pub const KERNEL_STOP: &str = "kernel_stop";
