//! Names of milestones. An analysis asks for these; a reader of any recording kind sets them.
//!
//! A name ending in `.begin` or `.end` bounds an interval. Where a value is carried, its unit is said here.

/// Kind of boot; value 0 cold, 1 fast startup, 2 resume from hibernation.
pub const BOOT_TYPE: &str = "boot.type";
/// Firmware and pre-boot time before the boot manager; value ns.
pub const FIRMWARE: &str = "boot.firmware";
/// Boot manager; value ns.
pub const BOOT_MANAGER: &str = "boot.manager";
/// Operating-system loader; value ns. It runs before time zero.
pub const OS_LOADER: &str = "boot.os_loader";
/// Firmware performance table: reset ended, ns since processor reset in value.
pub const FIRMWARE_RESET_END: &str = "firmware.reset_end";
/// Firmware performance table: the loader's image was loaded, ns since processor reset in value.
pub const FIRMWARE_LOADER_LOADED: &str = "firmware.loader_loaded";
/// Firmware performance table: the loader was started, ns since processor reset in value.
pub const FIRMWARE_LOADER_STARTED: &str = "firmware.loader_started";
/// Firmware performance table: boot services were left, begin, ns since processor reset in value.
pub const FIRMWARE_EXIT_BEGIN: &str = "firmware.exit_boot_services.begin";
/// Firmware performance table: boot services were left, end, ns since processor reset in value.
pub const FIRMWARE_EXIT_END: &str = "firmware.exit_boot_services.end";
/// Time a person took at the boot menu or a disk password; value ns.
pub const BOOT_USER_INPUT: &str = "boot.user_input";

/// Boot-start drivers and devices, begin.
pub const BOOT_START_BEGIN: &str = "devices.boot_start.begin";
/// Boot-start drivers and devices, end.
pub const BOOT_START_END: &str = "devices.boot_start.end";
/// System-start drivers and devices, begin.
pub const SYSTEM_START_BEGIN: &str = "devices.system_start.begin";
/// System-start drivers and devices, end.
pub const SYSTEM_START_END: &str = "devices.system_start.end";

/// Services that start by themselves, begin.
pub const AUTO_START_BEGIN: &str = "services.auto_start.begin";
/// Services that start by themselves, end.
pub const AUTO_START_END: &str = "services.auto_start.end";

/// The user's shell was launched; detail = command.
pub const SHELL_LAUNCH: &str = "logon.shell_launch";
/// The interval that ends with a usable desktop begins.
pub const DESKTOP_READY_BEGIN: &str = "shell.desktop_ready.begin";
/// The desktop is ready to use.
pub const DESKTOP_READY: &str = "shell.desktop_ready.end";
/// The shell initialises, begin.
pub const SHELL_INITIALISATION_BEGIN: &str = "shell.initialisation.begin";
/// The shell initialises, end.
pub const SHELL_INITIALISATION_END: &str = "shell.initialisation.end";
/// A mark with text; detail = text.
pub const MARK: &str = "mark";
/// The session's boot is over by the logon process's own account; value = training count of read-ahead when logged.
pub const SYSTEM_BOOT_END: &str = "logon.system_boot.end";
/// The user's part of the boot, begin.
pub const USER_BOOT_BEGIN: &str = "logon.user_boot.begin";
/// The user's part of the boot, end.
pub const USER_BOOT_END: &str = "logon.user_boot.end";
/// Read-ahead (ReadyBoot) training count since servicing; value = count.
pub const READ_AHEAD_TRAINING: &str = "read_ahead.training";
/// Idle detection of the system itself begins after a transition.
pub const IDLE_DETECTION_BEGIN: &str = "idle_detection.begin";
/// Idle detection of the system itself ends.
pub const IDLE_DETECTION_END: &str = "idle_detection.end";
/// The clock was set; value = change in ms.
pub const CLOCK_SET: &str = "clock.set";
/// The operating system started; value = boot mode.
pub const SYSTEM_START: &str = "system.start";
/// The operating system stops.
pub const SYSTEM_STOP: &str = "system.stop";
