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
/// The shell initializes, begin.
pub const SHELL_INITIALIZATION_BEGIN: &str = "shell.initialization.begin";
/// The shell initializes, end.
pub const SHELL_INITIALIZATION_END: &str = "shell.initialization.end";
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
/// Idle detection of the system itself begins after a transition; detail = `boot`, `sleep`, `hibernate`,
/// `fast_startup` or `modern_standby`.
pub const IDLE_DETECTION_BEGIN: &str = "idle_detection.begin";
/// Idle detection of the system itself ends.
pub const IDLE_DETECTION_END: &str = "idle_detection.end";
/// The clock was set; value = change in ms.
pub const CLOCK_SET: &str = "clock.set";
/// Why the clock was set, in the same event; value 1 a program or the time service set it, 2 the system had slept,
/// others unknown.
pub const CLOCK_SET_REASON: &str = "clock.set_reason";
/// The operating system started; value = boot mode.
pub const SYSTEM_START: &str = "system.start";
/// The operating system stops.
pub const SYSTEM_STOP: &str = "system.stop";

/// A session's user is to be logged off; value = flags, detail = session where recorded.
pub const LOGOFF_REQUEST: &str = "shutdown.logoff_request";
/// A shutdown was asked for; value = flags, detail = session.
pub const SHUTDOWN_REQUEST: &str = "shutdown.request";
/// What the kernel is to do; value = action (`POWER_ACTION`), detail = reason.
pub const SHUTDOWN_ACTION: &str = "shutdown.action";
/// The kernel was asked to shut down: both sessions are over.
pub const KERNEL_SHUTDOWN: &str = "shutdown.kernel.begin";

/// A power transition began, by the clock of the wall; value ns since 1970-01-01 UTC.
pub const POWER_BEGIN_UTC: &str = "power.begin_utc";
/// A power transition ended, by the clock of the wall; value ns since 1970-01-01 UTC.
pub const POWER_END_UTC: &str = "power.end_utc";
/// The last record before the system sleeps; value = target state (`SYSTEM_POWER_STATE`), detail = the state really
/// entered.
pub const SLEEP: &str = "power.sleep";
/// The first record after it woke; value = state it wakes from, detail = target state.
pub const WAKE: &str = "power.wake";
/// What woke the system; detail = type and name.
pub const WAKE_SOURCE: &str = "power.wake_source";
/// The kernel's own count of the time asleep, by a clock that went on; value ns (Linux).
pub const POWER_SLEEP_TIME: &str = "power.sleep_time";
/// A sleep was given up; detail = why, in the kernel's words (Linux).
pub const POWER_REFUSED: &str = "power.refused";
/// The memory image is about to be written.
pub const HIBERNATE: &str = "power.hibernate";

/// Kernel's own account of a transition: all of suspend; value ns.
pub const POWER_SUSPEND_TIME: &str = "power.total.suspend";
/// Kernel's own account: all of resume; value ns.
pub const POWER_RESUME_TIME: &str = "power.total.resume";
/// Kernel's own account: devices woken; value ns.
pub const POWER_DRIVER_WAKE_TIME: &str = "power.total.driver_wake";
/// Kernel's own account: memory image written; value ns.
pub const POWER_HIBERNATE_WRITE_TIME: &str = "power.total.hibernate_write";
/// Kernel's own account: memory image read; value ns.
pub const POWER_HIBERNATE_READ_TIME: &str = "power.total.hibernate_read";
/// Kernel's own account: firmware on the way back; value ns.
pub const POWER_FIRMWARE_TIME: &str = "power.total.firmware";
/// Kernel's own account: pages in the memory image; value = pages.
pub const POWER_HIBERNATE_PAGES: &str = "power.hibernate.pages";
/// Size of the file of the memory image; value bytes.
pub const HIBERNATE_FILE_SIZE: &str = "power.hibernate.file_size";
/// Hibernation as a whole; value ns.
pub const HIBERNATE_TIME: &str = "power.hibernate.total";
/// Writing the memory image, the kernel's part; value ns.
pub const HIBERNATE_FILE_TIME: &str = "power.hibernate.file";
/// Preparing the memory image; value ns.
pub const HIBERNATE_INIT_TIME: &str = "power.hibernate.init";
/// Applications notified of the resume; value ns.
pub const RESUME_APPS_TIME: &str = "power.resume.apps";
/// Services notified of the resume; value ns.
pub const RESUME_SERVICES_TIME: &str = "power.resume.services";
/// Resume from a memory image: all of it; value ns.
pub const RESUME_TIME: &str = "power.resume.total";
/// Resume from a memory image: firmware; value ns.
pub const RESUME_FIRMWARE_TIME: &str = "power.resume.firmware";
/// Resume from a memory image: boot manager; value ns.
pub const RESUME_BOOT_MANAGER_TIME: &str = "power.resume.boot_manager";
/// Resume from a memory image: the resume loader, with its share of reading; value ns.
pub const RESUME_LOADER_TIME: &str = "power.resume.loader";
/// Resume from a memory image: reading by the resume loader; value ns.
pub const RESUME_LOADER_READ_TIME: &str = "power.resume.loader_read";
/// Resume from a memory image: time a person took at the resume loader; value ns.
pub const RESUME_USER_TIME: &str = "power.resume.user_input";
/// Resume from a memory image: reading by the kernel; value ns.
pub const RESUME_KERNEL_READ_TIME: &str = "power.resume.kernel_read";
/// Resume from a memory image: devices; value ns.
pub const RESUME_DEVICES_TIME: &str = "power.resume.devices";
/// Fast startup: the shutdown that wrote the memory image, all of it; value ns.
pub const HYBRID_SHUTDOWN_TIME: &str = "power.hybrid_shutdown.total";
/// Fast startup: writing the memory image; value ns.
pub const HYBRID_SHUTDOWN_FILE_TIME: &str = "power.hybrid_shutdown.file";
/// Fast startup: main path of the start, by the system's own account; value ns.
pub const HYBRID_BOOT_MAIN_PATH: &str = "power.hybrid_boot.main_path";
/// Fast startup: firmware, by the system's own account; value ns.
pub const HYBRID_BOOT_FIRMWARE: &str = "power.hybrid_boot.firmware";
/// Fast startup: resume, by the system's own account; value ns.
pub const HYBRID_BOOT_RESUME: &str = "power.hybrid_boot.resume";

/// Modern standby was entered; value = reason.
pub const STANDBY_ENTER: &str = "power.standby.enter";
/// Modern standby was left; value = reason.
pub const STANDBY_EXIT: &str = "power.standby.exit";
/// Modern standby: how long it was, by the kernel's account; value ns.
pub const STANDBY_TIME: &str = "power.standby.total";
/// Modern standby: of that, in the deepest idle state; value ns.
pub const STANDBY_DEEPEST_TIME: &str = "power.standby.deepest";
/// Modern standby: of that, in the deepest idle state as the hardware counted it; value ns.
pub const STANDBY_HARDWARE_TIME: &str = "power.standby.hardware";
/// Modern standby: leaving it; value ns.
pub const STANDBY_EXIT_TIME: &str = "power.standby.exit_latency";

/// Firmware's own account of a sleep: suspend, begin; value ns since processor reset.
pub const FIRMWARE_SUSPEND_BEGIN: &str = "firmware.suspend.begin";
/// Firmware's own account of a sleep: suspend, end; value ns since processor reset.
pub const FIRMWARE_SUSPEND_END: &str = "firmware.suspend.end";
/// Firmware's own account of a sleep: last resume; value ns.
pub const FIRMWARE_RESUME_TIME: &str = "firmware.resume.last";
/// Firmware's own account of a sleep: average resume; value ns.
pub const FIRMWARE_RESUME_AVERAGE: &str = "firmware.resume.average";

/// Something became of a network interface (Linux); detail = its name, empty when not known, a space, and one of the
/// words below.
pub const NETWORK_STEP: &str = "network.step";
/// [`NETWORK_STEP`]: its connection was given up.
pub const NETWORK_LOST: &str = "lost";
/// [`NETWORK_STEP`]: it is associated with an access point.
pub const NETWORK_ASSOCIATED: &str = "associated";
/// [`NETWORK_STEP`]: it carries packets.
pub const NETWORK_READY: &str = "ready";
/// [`NETWORK_STEP`]: it has an address.
pub const NETWORK_ADDRESS: &str = "address";
/// [`NETWORK_STEP`]: its manager calls it connected.
pub const NETWORK_CONNECTED: &str = "connected";
/// A reading of a counter of power (Linux); detail = which, value = the reading.
pub const POWER_READING: &str = "power.reading";
/// The hardware did not reach its low-power state; detail = the kernel's words (Linux).
pub const LOW_POWER_MISSED: &str = "power.low_power_missed";
/// The kernel starts, by its own clock (Linux).
pub const KERNEL_BEGIN: &str = "kernel.begin";
/// The service manager of the initial file system starts (Linux).
pub const INITRD_BEGIN: &str = "initrd.begin";
/// The kernel begins to unpack the initial file system (Linux).
pub const INITRD_UNPACK_BEGIN: &str = "initrd.unpack_begin";
/// The kernel has unpacked the initial file system and gives its memory back; value: its packed size, KiB (Linux).
pub const INITRD_UNPACK_END: &str = "initrd.unpack_end";
/// The service manager of the real root starts; initrd, or the kernel where there is none, is over (Linux).
pub const USER_SPACE_BEGIN: &str = "user_space.begin";
/// Every job of the start is done, by the service manager's own account (Linux).
pub const STARTUP_FINISHED: &str = "startup.finished";
/// The service manager read its units, begin (Linux).
pub const UNITS_LOAD_BEGIN: &str = "units_load.begin";
/// The service manager read its units, end (Linux).
pub const UNITS_LOAD_END: &str = "units_load.end";
/// Generators of units ran, begin (Linux).
pub const GENERATORS_BEGIN: &str = "generators.begin";
/// Generators of units ran, end (Linux).
pub const GENERATORS_END: &str = "generators.end";
/// A target was reached; detail = unit (Linux).
pub const TARGET_REACHED: &str = "target.reached";
/// A target was left; detail = unit (Linux).
pub const TARGET_STOPPED: &str = "target.stopped";
/// What the computer does once user space is gone; detail = `poweroff`, `reboot`, `halt` or `kexec` (Linux).
pub const SHUTDOWN_KIND: &str = "shutdown.kind";
/// The service manager hands over to its last program, which ends what is left (Linux).
pub const SHUTDOWN_EXECUTOR: &str = "shutdown.executor";
/// The last program is done and asks the kernel to stop the machine (Linux).
pub const SHUTDOWN_FINAL: &str = "shutdown.final";
