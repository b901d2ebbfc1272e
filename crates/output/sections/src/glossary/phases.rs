//! What each phase is, for a person who meets it for the first time.

use super::Entry;

/// Phases, under the names that reports print; those of Linux with their own names.
pub(super) const PHASES: &[Entry] = &[
    Entry::new(
        "firmware",
        "Before any operating system: UEFI or BIOS tests and starts the hardware, then runs the loader. 'onoff firmware' divides it.",
    ),
    Entry::new(
        "loader",
        "The boot loader (bootmgfw, winload, GRUB, systemd-boot) finds the kernel, reads it into memory and starts it.",
    ),
    Entry::new(
        "kernel",
        "Of a Linux boot: the kernel starts processors, drivers and devices, until it runs the first program. Of a Linux shutdown: the kernel stops devices and turns the machine off or restarts it.",
    ),
    Entry::new(
        "initrd",
        "The initial file system of Linux: a small system in memory that finds, unlocks and mounts the real root.",
    ),
    Entry::new(
        "user space",
        "Linux: systemd starts units until the default target is reached and no start job is left.",
    )
    .also(&["user_space", "userspace"]),
    Entry::new(
        "PreSMSS",
        "Windows: kernel and drivers start. From the kernel's start to the start of the first process, the session manager smss.exe. Drivers that do not return block the others here.",
    ),
    Entry::new(
        "SMSSInit",
        "Windows: the session manager starts. It opens the registry, starts the remaining drivers and subsystems, creates page files, and ends when winlogon.exe starts.",
    ),
    Entry::new(
        "WinLogonInit",
        "Windows: services start and somebody logs on. From the start of winlogon.exe to the start of the shell explorer.exe. Policy, scripts and services that others wait for cost most here. Time in which nobody typed a password is taken off.",
    ),
    Entry::new(
        "ExplorerInit",
        "Windows: the shell starts. From the start of explorer.exe until the desktop is ready for use.",
    ),
    Entry::new(
        "PostBoot",
        "Work after the desktop (Windows) or the default target (Linux) until the computer has settled: 10 s of idle time by xperf's rule. Only the work counts, not the idle time that ends it.",
    ),
    Entry::new("TraceTail", "What was recorded after the computer had settled. It belongs to no transition."),
    Entry::new(
        "UserSession",
        "Windows shutdown: the applications of the users' sessions are asked to end, and ended by force after a time-out.",
    ),
    Entry::new(
        "SystemSession",
        "Windows shutdown: services stop. First those that asked to be notified before all others (pre-shutdown), then the rest, side by side.",
    ),
    Entry::new(
        "KernelShutdown",
        "Windows shutdown: the kernel writes out the registry and file systems and stops the devices.",
    ),
    Entry::new(
        "stop units",
        "Linux shutdown: systemd stops its units, each at most as long as its TimeoutStopSec says.",
    )
    .also(&["stop_units"]),
    Entry::new("sync", "Linux shutdown: systemd-shutdown takes over and writes out file systems.")
        .also(&["last program starts, sync"]),
    Entry::new("terminate remaining", "Linux shutdown: processes that still run get SIGTERM and are waited for.")
        .also(&["terminate_remaining", "SIGTERM to what still runs"]),
    Entry::new("kill remaining", "Linux shutdown: processes that ignored SIGTERM get SIGKILL.")
        .also(&["kill_remaining", "SIGKILL to what still runs"]),
    Entry::new(
        "unmount",
        "Linux shutdown: file systems are unmounted or made read-only; swap, loop and mapped devices are detached.",
    ),
    Entry::new("hooks", "Linux shutdown: the programs in /usr/lib/systemd/system-shutdown run.")
        .also(&["shutdown hooks"]),
    Entry::new("QueryApps", "Windows sleep (Vista and 7): applications are asked whether the system may sleep."),
    Entry::new("QueryServices", "Windows sleep (Vista and 7): services are asked whether the system may sleep."),
    Entry::new("ShowUI", "Windows sleep: the screen shows that the system goes to sleep."),
    Entry::new("SuspendApps", "Windows sleep: applications are notified one after the other; each has 2 s to respond."),
    Entry::new("SuspendServices", "Windows sleep: services are notified one after the other."),
    Entry::new("PrepareSleep", "Windows sleep: the preparation as a whole, on versions that record it so."),
    Entry::new("Superfetch", "Windows sleep: the memory manager's prefetcher prepares memory for the resume."),
    Entry::new("Winlogon", "Windows sleep: the logon process prepares, for example locks the screen."),
    Entry::new("PreSleepCallbacks", "Windows sleep: callbacks of drivers before the devices are touched."),
    Entry::new("QueryDevices", "Windows sleep: devices are asked whether the system may sleep."),
    Entry::new("FlushVolumes", "Windows sleep: volumes are written out."),
    Entry::new("FlushAllPages", "Windows hibernation: modified pages are written out before the memory image is made."),
    Entry::new("BuildNotifyList", "Windows sleep: the order in which devices are notified is worked out."),
    Entry::new("SuspendDevices", "Windows sleep: drivers put their devices to sleep. The slowest one sets the end."),
    Entry::new("HiberWrite", "Windows hibernation: the memory image (hiberfil.sys) is written."),
    Entry::new("Asleep", "Windows: the computer sleeps or is off. Not part of the time to suspend or to resume."),
    Entry::new(
        "Standby",
        "Modern standby of Windows (S0 low-power idle): the screen is off, the computer runs and idles.",
    ),
    Entry::new("BiosInit", "Windows resume: the firmware on the way back, by the kernel's own account."),
    Entry::new("BootManager", "Windows resume from a memory image: the boot manager."),
    Entry::new(
        "ResumeLoader",
        "Windows resume from a memory image: winresume, without what it reads of the image, which counts to HiberRead.",
    ),
    Entry::new(
        "HiberRead",
        "Windows resume: the memory image is read from the disk, by the resume loader and by the kernel.",
    ),
    Entry::new(
        "ResumeCritical",
        "Windows resume: the part that the kernel counts as critical, devices waking, by its own account.",
    ),
    Entry::new("ResumeDevices", "Windows resume: drivers wake their devices."),
    Entry::new("HideUI", "Windows resume: the screen comes back."),
    Entry::new("ResumeServices", "Windows resume: services are notified."),
    Entry::new("ResumeApps", "Windows resume: applications are notified."),
    Entry::new("ZeroHiberFile", "Windows resume: the file of the memory image is overwritten with zeros."),
    Entry::new(
        "PostResume",
        "Work after waking until the computer has settled. Only the work counts, not the idle time that ends it.",
    ),
    Entry::new("sync file systems", "Linux sleep: file systems are written out before processes are frozen.")
        .also(&["sync_file_systems"]),
    Entry::new(
        "freeze processes",
        "Linux sleep: processes are frozen; one that does not freeze in 20 s stops the sleep.",
    )
    .also(&["freeze_processes"]),
    Entry::new("create image", "Linux hibernation: memory is freed and the image is made.").also(&["create_image"]),
    Entry::new("devices prepare", "Linux sleep: drivers' prepare callbacks; from here on no device gets new children.")
        .also(&["devices_prepare"]),
    Entry::new("devices suspend", "Linux sleep: drivers' suspend callbacks; devices stop their work.")
        .also(&["devices_suspend"]),
    Entry::new(
        "devices suspend late",
        "Linux sleep: drivers' suspend_late callbacks, with runtime power management off.",
    )
    .also(&["devices_suspend_late"]),
    Entry::new(
        "devices suspend noirq",
        "Linux sleep: drivers' suspend_noirq callbacks, with the interrupts of devices off.",
    )
    .also(&["devices_suspend_noirq", "noirq"]),
    Entry::new("processors off", "Linux sleep: all processors but one are stopped.").also(&["processors_off"]),
    Entry::new("system core off", "Linux sleep: timers, interrupt controllers and the clock stop.")
        .also(&["system_core_off"]),
    Entry::new(
        "machine",
        "Linux sleep: from the kernel's last step to its first one; the machine sleeps for most of it.",
    ),
    Entry::new("write image", "Linux hibernation: the memory image is written to swap.").also(&["write_image"]),
    Entry::new("read image", "Linux resume from hibernation: the memory image is read.").also(&["read_image"]),
    Entry::new("system core on", "Linux resume: timers, interrupt controllers and the clock start.")
        .also(&["system_core_on"]),
    Entry::new("processors on", "Linux resume: the other processors start.").also(&["processors_on"]),
    Entry::new(
        "devices resume noirq",
        "Linux resume: drivers' resume_noirq callbacks, with the interrupts of devices off.",
    )
    .also(&["devices_resume_noirq"]),
    Entry::new("devices resume early", "Linux resume: drivers' resume_early callbacks.")
        .also(&["devices_resume_early"]),
    Entry::new("devices resume", "Linux resume: drivers' resume callbacks; devices work again.")
        .also(&["devices_resume"]),
    Entry::new("devices complete", "Linux resume: drivers' complete callbacks; devices may get children again.")
        .also(&["devices_complete"]),
    Entry::new("resume console", "Linux resume: the console writes what it held back.").also(&["resume_console"]),
    Entry::new("thaw processes", "Linux resume: processes run again.").also(&["thaw_processes"]),
];
