//! Names of milestones. Readers of every kind of recording set them; analyses look them up.
//!
//! Names that end in `.begin` and `.end` bound an interval. The unit of a milestone's value is documented here.

/// Kind of boot; value 0 cold, 1 fast startup, 2 resume from hibernation.
pub const BOOT_TYPE: &str = "boot.type";
/// Firmware and pre-boot time before the boot manager; value in ns.
pub const FIRMWARE: &str = "boot.firmware";
/// Boot manager; value in ns.
pub const BOOT_MANAGER: &str = "boot.manager";
/// Operating-system loader, which runs before time zero; value in ns.
pub const OS_LOADER: &str = "boot.os_loader";
/// Firmware performance table: reset end; value in ns since processor reset.
pub const FIRMWARE_RESET_END: &str = "firmware.reset_end";
/// Firmware performance table: OS loader image loaded; value in ns since processor reset.
pub const FIRMWARE_LOADER_LOADED: &str = "firmware.loader_loaded";
/// Firmware performance table: OS loader started; value in ns since processor reset.
pub const FIRMWARE_LOADER_STARTED: &str = "firmware.loader_started";
/// Firmware performance table: `ExitBootServices` called; value in ns since processor reset.
pub const FIRMWARE_EXIT_BEGIN: &str = "firmware.exit_boot_services.begin";
/// Firmware performance table: `ExitBootServices` returned; value in ns since processor reset.
pub const FIRMWARE_EXIT_END: &str = "firmware.exit_boot_services.end";
/// Time spent waiting for a person at the boot menu or a disk password prompt; value in ns.
pub const BOOT_USER_INPUT: &str = "boot.user_input";

/// Boot-start drivers and devices: begin.
pub const BOOT_START_BEGIN: &str = "devices.boot_start.begin";
/// Boot-start drivers and devices: end.
pub const BOOT_START_END: &str = "devices.boot_start.end";
/// System-start drivers and devices: begin.
pub const SYSTEM_START_BEGIN: &str = "devices.system_start.begin";
/// System-start drivers and devices: end.
pub const SYSTEM_START_END: &str = "devices.system_start.end";

/// Auto-start services: begin.
pub const AUTO_START_BEGIN: &str = "services.auto_start.begin";
/// Auto-start services: end.
pub const AUTO_START_END: &str = "services.auto_start.end";

/// The user's shell was launched; detail = command.
pub const SHELL_LAUNCH: &str = "logon.shell_launch";
/// Begin of the interval that ends with a usable desktop.
pub const DESKTOP_READY_BEGIN: &str = "shell.desktop_ready.begin";
/// The desktop is ready to use.
pub const DESKTOP_READY: &str = "shell.desktop_ready.end";
/// Shell initialization: begin.
pub const SHELL_INITIALIZATION_BEGIN: &str = "shell.initialization.begin";
/// Shell initialization: end.
pub const SHELL_INITIALIZATION_END: &str = "shell.initialization.end";
/// A text mark; detail = text.
pub const MARK: &str = "mark";
/// The session's part of the boot is over, as reported by Winlogon; value = ReadyBoot training count, where logged.
pub const SYSTEM_BOOT_END: &str = "logon.system_boot.end";
/// The user's part of the boot: begin.
pub const USER_BOOT_BEGIN: &str = "logon.user_boot.begin";
/// The user's part of the boot: end.
pub const USER_BOOT_END: &str = "logon.user_boot.end";
/// ReadyBoot training count since servicing; value = count.
pub const READ_AHEAD_TRAINING: &str = "read_ahead.training";
/// Windows' own idle detection after a transition: begin; detail = `boot`, `sleep`, `hibernate`, `fast_startup` or
/// `modern_standby`.
pub const IDLE_DETECTION_BEGIN: &str = "idle_detection.begin";
/// Windows' own idle detection: end.
pub const IDLE_DETECTION_END: &str = "idle_detection.end";
/// Windows' own account of a boot: the session manager starts, so PreSMSS ends.
pub const ACCOUNT_SESSION_MANAGER: &str = "windows_account.session_manager";
/// Windows' own account of a boot: Winlogon starts, so SMSSInit ends.
pub const ACCOUNT_LOGON_PROCESS: &str = "windows_account.logon_process";
/// Windows' own account of a boot: the shell starts, so WinLogonInit ends.
pub const ACCOUNT_SHELL_START: &str = "windows_account.shell_start";
/// Windows' own account of a boot: the desktop is usable, so ExplorerInit ends.
pub const ACCOUNT_DESKTOP: &str = "windows_account.desktop";
/// Windows' own account of a boot: PostBoot ends.
pub const ACCOUNT_IDLE: &str = "windows_account.idle";
/// Windows' own account of a shutdown: it starts, and so does UserSession.
pub const ACCOUNT_SHUTDOWN_START: &str = "windows_account.shutdown_start";
/// Windows' own account of a shutdown: UserSession ends.
pub const ACCOUNT_USER_SESSION_END: &str = "windows_account.user_session_end";
/// Windows' own account of a shutdown: SystemSession ends.
pub const ACCOUNT_SYSTEM_SESSION_END: &str = "windows_account.system_session_end";
/// Windows' own account of a shutdown: KernelShutdown ends.
pub const ACCOUNT_SHUTDOWN_END: &str = "windows_account.shutdown_end";
/// The event log service stops, as part of a shutdown.
pub const EVENT_LOG_STOP: &str = "event_log.stop";
/// The clock was set; value = change in ms.
pub const CLOCK_SET: &str = "clock.set";
/// Reason for setting the clock, from the same event; value 1 by a program or the time service, 2 after a sleep, others
/// unknown.
pub const CLOCK_SET_REASON: &str = "clock.set_reason";
/// The firmware has limited the speed of a processor; value = for how long until then, ns; detail = processor number.
pub const PROCESSOR_LIMITED: &str = "processor.limited";
/// The operating system started; value = boot mode.
pub const SYSTEM_START: &str = "system.start";
/// The operating system stops.
pub const SYSTEM_STOP: &str = "system.stop";

/// Logoff of a session requested; value = flags, detail = session where recorded.
pub const LOGOFF_REQUEST: &str = "shutdown.logoff_request";
/// Shutdown requested; value = flags, detail = session.
pub const SHUTDOWN_REQUEST: &str = "shutdown.request";
/// Action requested from the kernel; value = action (`POWER_ACTION`), detail = reason.
pub const SHUTDOWN_ACTION: &str = "shutdown.action";
/// Shutdown requested from the kernel; both sessions have ended.
pub const KERNEL_SHUTDOWN: &str = "shutdown.kernel.begin";

/// Start of a power transition by wall-clock time; value in ns since 1970-01-01 UTC.
pub const POWER_BEGIN_UTC: &str = "power.begin_utc";
/// End of a power transition by wall-clock time; value in ns since 1970-01-01 UTC.
pub const POWER_END_UTC: &str = "power.end_utc";
/// The last record before the system sleeps; value = target state (`SYSTEM_POWER_STATE`), detail = state entered.
pub const SLEEP: &str = "power.sleep";
/// The first record after a wake; value = state it wakes from, detail = target state.
pub const WAKE: &str = "power.wake";
/// What woke the system; detail = type and name.
pub const WAKE_SOURCE: &str = "power.wake_source";
/// Time asleep, measured by the kernel with a clock that kept running; value in ns (Linux).
pub const POWER_SLEEP_TIME: &str = "power.sleep_time";
/// A sleep was aborted; detail = reason, in the kernel's words (Linux).
pub const POWER_ABORTED: &str = "power.refused";
/// The memory image is about to be written.
pub const HIBERNATE: &str = "power.hibernate";

/// Kernel's own times of a transition: total suspend; value in ns.
pub const POWER_SUSPEND_TIME: &str = "power.total.suspend";
/// Kernel's own times: total resume; value in ns.
pub const POWER_RESUME_TIME: &str = "power.total.resume";
/// Kernel's own times: waking devices; value in ns.
pub const POWER_DRIVER_WAKE_TIME: &str = "power.total.driver_wake";
/// Kernel's own times: writing the memory image; value in ns.
pub const POWER_HIBERNATE_WRITE_TIME: &str = "power.total.hibernate_write";
/// Kernel's own times: reading the memory image; value in ns.
pub const POWER_HIBERNATE_READ_TIME: &str = "power.total.hibernate_read";
/// Kernel's own times: firmware during resume; value in ns.
pub const POWER_FIRMWARE_TIME: &str = "power.total.firmware";
/// Number of pages in the memory image, from the kernel; value = pages.
pub const POWER_HIBERNATE_PAGES: &str = "power.hibernate.pages";
/// Size of the hibernation file; value in bytes.
pub const HIBERNATE_FILE_SIZE: &str = "power.hibernate.file_size";
/// Total hibernation; value in ns.
pub const HIBERNATE_TIME: &str = "power.hibernate.total";
/// Writing the memory image, kernel part; value in ns.
pub const HIBERNATE_FILE_TIME: &str = "power.hibernate.file";
/// Preparing the memory image; value in ns.
pub const HIBERNATE_INIT_TIME: &str = "power.hibernate.init";
/// Notifying applications of the resume; value in ns.
pub const RESUME_APPS_TIME: &str = "power.resume.apps";
/// Notifying services of the resume; value in ns.
pub const RESUME_SERVICES_TIME: &str = "power.resume.services";
/// Resume from a memory image: total; value in ns.
pub const RESUME_TIME: &str = "power.resume.total";
/// Resume from a memory image: firmware; value in ns.
pub const RESUME_FIRMWARE_TIME: &str = "power.resume.firmware";
/// Resume from a memory image: boot manager; value in ns.
pub const RESUME_BOOT_MANAGER_TIME: &str = "power.resume.boot_manager";
/// Resume from a memory image: resume loader, including its reads; value in ns.
pub const RESUME_LOADER_TIME: &str = "power.resume.loader";
/// Resume from a memory image: reads by the resume loader; value in ns.
pub const RESUME_LOADER_READ_TIME: &str = "power.resume.loader_read";
/// Resume from a memory image: user input at the resume loader; value in ns.
pub const RESUME_USER_TIME: &str = "power.resume.user_input";
/// Resume from a memory image: reads by the kernel; value in ns.
pub const RESUME_KERNEL_READ_TIME: &str = "power.resume.kernel_read";
/// Resume from a memory image: devices; value in ns.
pub const RESUME_DEVICES_TIME: &str = "power.resume.devices";
/// Fast startup: total time of the shutdown that wrote the memory image; value in ns.
pub const HYBRID_SHUTDOWN_TIME: &str = "power.hybrid_shutdown.total";
/// Fast startup: writing the memory image; value in ns.
pub const HYBRID_SHUTDOWN_FILE_TIME: &str = "power.hybrid_shutdown.file";
/// Fast startup: main path of the start, as measured by Windows; value in ns.
pub const HYBRID_BOOT_MAIN_PATH: &str = "power.hybrid_boot.main_path";
/// Fast startup: firmware, as measured by Windows; value in ns.
pub const HYBRID_BOOT_FIRMWARE: &str = "power.hybrid_boot.firmware";
/// Fast startup: resume, as measured by Windows; value in ns.
pub const HYBRID_BOOT_RESUME: &str = "power.hybrid_boot.resume";

/// Modern standby entered; value = reason.
pub const STANDBY_ENTER: &str = "power.standby.enter";
/// Modern standby left; value = reason.
pub const STANDBY_EXIT: &str = "power.standby.exit";
/// Modern standby: duration, as measured by the kernel; value in ns.
pub const STANDBY_TIME: &str = "power.standby.total";
/// Modern standby: time in the deepest idle state; value in ns.
pub const STANDBY_DEEPEST_TIME: &str = "power.standby.deepest";
/// Modern standby: time in the deepest idle state, from the hardware counter; value in ns.
pub const STANDBY_HARDWARE_TIME: &str = "power.standby.hardware";
/// Modern standby: exit latency; value in ns.
pub const STANDBY_EXIT_TIME: &str = "power.standby.exit_latency";

/// Firmware's own times of a sleep: suspend begin; value in ns since processor reset.
pub const FIRMWARE_SUSPEND_BEGIN: &str = "firmware.suspend.begin";
/// Firmware's own times of a sleep: suspend end; value in ns since processor reset.
pub const FIRMWARE_SUSPEND_END: &str = "firmware.suspend.end";
/// Firmware's own times of a sleep: last resume; value in ns.
pub const FIRMWARE_RESUME_TIME: &str = "firmware.resume.last";
/// Firmware's own times of a sleep: average resume; value in ns.
pub const FIRMWARE_RESUME_AVERAGE: &str = "firmware.resume.average";

/// State change of a network interface (Linux); detail = interface name (empty when not known), a space, and one of the
/// words below.
pub const NETWORK_STEP: &str = "network.step";
/// [`NETWORK_STEP`]: the connection was dropped.
pub const NETWORK_LOST: &str = "lost";
/// [`NETWORK_STEP`]: the interface is associated with an access point.
pub const NETWORK_ASSOCIATED: &str = "associated";
/// [`NETWORK_STEP`]: the interface carries packets.
pub const NETWORK_READY: &str = "ready";
/// [`NETWORK_STEP`]: the interface has an address.
pub const NETWORK_ADDRESS: &str = "address";
/// [`NETWORK_STEP`]: the network manager reports the interface as connected.
pub const NETWORK_CONNECTED: &str = "connected";
/// Reading of a power counter (Linux); detail = counter, value = reading.
pub const POWER_READING: &str = "power.reading";
/// The hardware did not reach its low-power state; detail = the kernel's words (Linux).
pub const LOW_POWER_NOT_REACHED: &str = "power.low_power_missed";
/// The kernel starts, by its own clock (Linux).
pub const KERNEL_BEGIN: &str = "kernel.begin";
/// The service manager of the initramfs starts (Linux).
pub const INITRD_BEGIN: &str = "initrd.begin";
/// The kernel starts to unpack the initramfs (Linux).
pub const INITRD_UNPACK_BEGIN: &str = "initrd.unpack_begin";
/// The kernel has unpacked the initramfs and frees its memory; value = packed size, KiB (Linux).
pub const INITRD_UNPACK_END: &str = "initrd.unpack_end";
/// The service manager of the real root starts, which ends the initramfs, or the kernel phase without one (Linux).
pub const USER_SPACE_BEGIN: &str = "user_space.begin";
/// Every startup job is finished, as reported by the service manager (Linux).
pub const STARTUP_FINISHED: &str = "startup.finished";
/// How long a unit took to start, if the time of its start was not recorded (Linux): the value is the duration, the time
/// is the start of user space.
pub const UNIT_DURATION: &str = "unit.duration";
/// The service manager loads its units: begin (Linux).
pub const UNITS_LOAD_BEGIN: &str = "units_load.begin";
/// The service manager loads its units: end (Linux).
pub const UNITS_LOAD_END: &str = "units_load.end";
/// Unit generators: begin (Linux).
pub const GENERATORS_BEGIN: &str = "generators.begin";
/// Unit generators: end (Linux).
pub const GENERATORS_END: &str = "generators.end";
/// A target was reached; detail = unit (Linux).
pub const TARGET_REACHED: &str = "target.reached";
/// A target was stopped; detail = unit (Linux).
pub const TARGET_STOPPED: &str = "target.stopped";
/// The kernel panicked; detail = message.
pub const KERNEL_PANIC: &str = "kernel.panic";
/// The kernel crashed while the computer suspended or resumed; detail = message (Linux).
pub const KERNEL_OOPS: &str = "kernel.oops";
/// The root file system could not be mounted; detail = message.
pub const ROOT_MISSING: &str = "root.missing";
/// The kernel began to wait for the device of the root file system; detail = message.
pub const ROOT_WAIT: &str = "root.wait";
/// The initramfs gave up and opened a shell; detail = message.
pub const INITRAMFS_SHELL: &str = "shell.initramfs";
/// Emergency mode was entered; detail = message.
pub const EMERGENCY_SHELL: &str = "shell.emergency";
/// Rescue mode was entered; detail = message.
pub const RESCUE_SHELL: &str = "shell.rescue";
/// The program that asks for a login failed repeatedly; detail = message.
pub const LOGIN_FAILED: &str = "login.failed";
/// A program that asks for a login ended and is started again; detail = message (Linux without systemd).
pub const LOGIN_RESTARTED: &str = "login.restarted";
/// A console shows that somebody can log in; detail = message.
pub const LOGIN_PROMPT: &str = "login.prompt";
/// A console shows, without a time, that a unit has started; detail = unit, time = last time in the log before it
/// (Linux).
pub const CONSOLE_STARTED: &str = "console.started";
/// A part of the firmware or a loader starts, as a serial console shows; detail = name, value = duration in ns. The time
/// is unknown for rows of [`NO_TIME_EVENT`].
pub const BRING_UP_STAGE: &str = "bring_up.stage";
/// The firmware or the loader gave up before the kernel started; detail = message.
pub const LOADER_FAILED: &str = "loader.failed";
/// Event of rows whose time is unknown, because the console had no times.
pub const NO_TIME_EVENT: &str = "console without times";
/// Event of rows from lines of a log with a wall-clock time.
pub const WALL_CLOCK_EVENT: &str = "log by wall clock";
/// A device's driver still waited for another device; detail = message.
pub const PROBE_DEFERRED: &str = "device.probe_deferred";
/// Final action after user space has ended; detail = `poweroff`, `reboot`, `halt` or `kexec` (Linux).
pub const SHUTDOWN_KIND: &str = "shutdown.kind";
/// The service manager executes `systemd-shutdown`, which ends the remaining processes (Linux).
pub const SHUTDOWN_EXECUTOR: &str = "shutdown.executor";
/// `systemd-shutdown` is done and requests the final action from the kernel (Linux).
pub const SHUTDOWN_FINAL: &str = "shutdown.final";
