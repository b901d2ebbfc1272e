//! The meaning of each phase.

use super::Entry;

/// Phases by display name.
pub(super) const PHASES: &[Entry] = &[
    Entry::new(
        "firmware",
        "Before the operating system: UEFI or BIOS firmware tests and initializes the hardware, then runs the loader. See 'onoff firmware' for details.",
    ),
    Entry::new(
        "loader",
        "The boot loader (bootmgfw, winload, GRUB, systemd-boot) finds the kernel, loads it into memory and starts it.",
    ),
    Entry::new(
        "kernel",
        "Linux boot: the kernel starts processors, drivers and devices until it runs the first program. Linux shutdown: the kernel stops devices and turns the machine off or restarts it.",
    ),
    Entry::new(
        "initrd",
        "Linux: the initramfs, a small system in memory that finds, unlocks and mounts the root file system.",
    ),
    Entry::new(
        "user space",
        "Linux: systemd starts units until the default target is reached and no start jobs are left.",
    )
    .also(&["user_space", "userspace"]),
    Entry::new(
        "PreSMSS",
        "Windows: kernel and drivers start. From the start of the kernel to the start of the first process, the session manager smss.exe. Slow drivers block the others here.",
    ),
    Entry::new(
        "SMSSInit",
        "Windows: the session manager opens the registry, starts the remaining drivers and subsystems, and creates page files. Ends with the start of winlogon.exe.",
    ),
    Entry::new(
        "WinLogonInit",
        "Windows: services start and the user logs on. From the start of winlogon.exe to the start of the shell explorer.exe. The usual costs are Group Policy, scripts and services that others wait for. Waiting for the user to log on does not count.",
    ),
    Entry::new(
        "ExplorerInit",
        "Windows: the shell starts. From the start of explorer.exe until the desktop is usable.",
    ),
    Entry::new(
        "PostBoot",
        "Work after the desktop (Windows) or the default target (Linux) until the computer is idle, by default for 10 s (xperf's rule). Only the work counts, not the idle time that ends it.",
    ),
    Entry::new("TraceTail", "The rest of the recording after the computer was idle. Not part of any transition."),
    Entry::new(
        "UserSession",
        "Windows shutdown: the applications in user sessions are notified, and terminated after a timeout.",
    ),
    Entry::new(
        "SystemSession",
        "Windows shutdown: services stop, first those registered for preshutdown notifications, then the rest in parallel.",
    ),
    Entry::new(
        "KernelShutdown",
        "Windows shutdown: the kernel flushes the registry and the file systems and stops the devices.",
    ),
    Entry::new("stop units", "Linux shutdown: systemd stops its units, waiting at most TimeoutStopSec for each.")
        .also(&["stop_units"]),
    Entry::new("sync", "Linux shutdown: systemd-shutdown takes over and syncs the file systems.")
        .also(&["systemd-shutdown starts, sync"]),
    Entry::new("terminate remaining", "Linux shutdown: remaining processes get SIGTERM, and systemd waits for them.")
        .also(&["terminate_remaining", "SIGTERM to remaining processes"]),
    Entry::new("kill remaining", "Linux shutdown: processes that ignored SIGTERM get SIGKILL.")
        .also(&["kill_remaining", "SIGKILL to remaining processes"]),
    Entry::new(
        "unmount",
        "Linux shutdown: file systems are unmounted or made read-only; swap, loop and mapped devices are detached.",
    ),
    Entry::new("hooks", "Linux shutdown: the programs in /usr/lib/systemd/system-shutdown run.")
        .also(&["shutdown hooks"]),
    Entry::new("QueryApps", "Windows sleep (Vista and 7): applications are asked whether the system may sleep."),
    Entry::new("QueryServices", "Windows sleep (Vista and 7): services are asked whether the system may sleep."),
    Entry::new("ShowUI", "Windows sleep: the screen shows that the computer is going to sleep."),
    Entry::new("SuspendApps", "Windows sleep: applications are notified in turn; each has 2 s to respond."),
    Entry::new("SuspendServices", "Windows sleep: services are notified in turn."),
    Entry::new("PrepareSleep", "Windows sleep: the whole preparation, on versions that record it as one phase."),
    Entry::new("Superfetch", "Windows sleep: the prefetcher prepares memory for the resume."),
    Entry::new(
        "Winlogon",
        "Windows sleep: the logon process prepares for the sleep, for example by locking the screen.",
    ),
    Entry::new("PreSleepCallbacks", "Windows sleep: driver callbacks before devices are suspended."),
    Entry::new("QueryDevices", "Windows sleep: devices are asked whether the system may sleep."),
    Entry::new("FlushVolumes", "Windows sleep: volumes are flushed."),
    Entry::new(
        "FlushAllPages",
        "Windows hibernation: modified pages are written to disk before the memory image is created.",
    ),
    Entry::new("BuildNotifyList", "Windows sleep: the order of device notifications is computed."),
    Entry::new("SuspendDevices", "Windows sleep: drivers suspend their devices. The slowest one determines the end."),
    Entry::new("HiberWrite", "Windows hibernation: the memory image (hiberfil.sys) is written."),
    Entry::new("Asleep", "Windows: the computer sleeps or is off. Not part of the time to suspend or to resume."),
    Entry::new(
        "Standby",
        "Windows modern standby (S0 low-power idle): the screen is off, and the computer is on but idle.",
    ),
    Entry::new("BiosInit", "Windows resume: the firmware, according to the kernel's times."),
    Entry::new("BootManager", "Windows resume from a memory image: the boot manager."),
    Entry::new(
        "ResumeLoader",
        "Windows resume from a memory image: winresume, without its reads of the image, which count as HiberRead.",
    ),
    Entry::new("HiberRead", "Windows resume: the resume loader and the kernel read the memory image from disk."),
    Entry::new(
        "ResumeCritical",
        "Windows resume: the part that the kernel counts as critical, including device power-up, by its own times.",
    ),
    Entry::new("ResumeDevices", "Windows resume: drivers power up their devices."),
    Entry::new("HideUI", "Windows resume: the screen turns on again."),
    Entry::new("ResumeServices", "Windows resume: services are notified."),
    Entry::new("ResumeApps", "Windows resume: applications are notified."),
    Entry::new("ZeroHiberFile", "Windows resume: the file with the memory image is overwritten with zeros."),
    Entry::new(
        "PostResume",
        "Work after the resume until the computer is idle. Only the work counts, not the idle time that ends it.",
    ),
    Entry::new("sync file systems", "Linux sleep: file systems are synced before processes are frozen.")
        .also(&["sync_file_systems"]),
    Entry::new(
        "freeze processes",
        "Linux sleep: processes are frozen; one that does not freeze within 20 s aborts the sleep.",
    )
    .also(&["freeze_processes"]),
    Entry::new("create image", "Linux hibernation: memory is freed and the memory image is created.")
        .also(&["create_image"]),
    Entry::new(
        "devices prepare",
        "Linux sleep: the prepare callbacks of drivers; from here on, no device gets new children.",
    )
    .also(&["devices_prepare"]),
    Entry::new("devices suspend", "Linux sleep: the suspend callbacks of drivers; devices stop working.")
        .also(&["devices_suspend"]),
    Entry::new(
        "devices suspend late",
        "Linux sleep: the suspend_late callbacks of drivers, with runtime power management off.",
    )
    .also(&["devices_suspend_late"]),
    Entry::new(
        "devices suspend noirq",
        "Linux sleep: the suspend_noirq callbacks of drivers, with device interrupts off.",
    )
    .also(&["devices_suspend_noirq", "noirq"]),
    Entry::new("processors off", "Linux sleep: all processors but one are stopped.").also(&["processors_off"]),
    Entry::new("system core off", "Linux sleep: timers, interrupt controllers and the clock stop.")
        .also(&["system_core_off"]),
    Entry::new(
        "machine",
        "Linux sleep: from the last step of the kernel before the sleep to the first one after it; mostly time asleep.",
    ),
    Entry::new("write image", "Linux hibernation: the memory image is written to swap.").also(&["write_image"]),
    Entry::new("read image", "Linux resume from hibernation: the memory image is read.").also(&["read_image"]),
    Entry::new("system core on", "Linux resume: timers, interrupt controllers and the clock start.")
        .also(&["system_core_on"]),
    Entry::new("processors on", "Linux resume: the other processors start.").also(&["processors_on"]),
    Entry::new(
        "devices resume noirq",
        "Linux resume: the resume_noirq callbacks of drivers, with device interrupts off.",
    )
    .also(&["devices_resume_noirq"]),
    Entry::new("devices resume early", "Linux resume: the resume_early callbacks of drivers.")
        .also(&["devices_resume_early"]),
    Entry::new("devices resume", "Linux resume: the resume callbacks of drivers; devices work again.")
        .also(&["devices_resume"]),
    Entry::new("devices complete", "Linux resume: the complete callbacks of drivers; devices can get children again.")
        .also(&["devices_complete"]),
    Entry::new("resume console", "Linux resume: the console writes its buffered output.").also(&["resume_console"]),
    Entry::new("thaw processes", "Linux resume: processes run again.").also(&["thaw_processes"]),
];
