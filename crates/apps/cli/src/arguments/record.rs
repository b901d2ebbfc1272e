//! The arguments of `onoff record`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onoff_record::job::{LoaderChoice, SleepMethod, Transition};

use super::{Choice, one_of};

const TRANSITIONS: [Choice<Transition>; 5] = [
    ("boot", "From kernel start until the computer is idle; restarts the computer", Transition::Boot),
    ("shutdown", "From the request until the last process ends; restarts the computer", Transition::Shutdown),
    ("suspend", "Sleep and wake up", Transition::Suspend),
    ("hibernate", "Hibernate and resume", Transition::Hibernate),
    ("reboot-cycle", "A shutdown and a boot with each restart", Transition::RebootCycle),
];

/// A system whose own tools make the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlannedSystem {
    /// wpr (with onoff.wprp) and xbootmgr
    Windows,
}

const LOADERS: [Choice<LoaderChoice>; 2] = [
    ("auto", "onoff changes it: systemd-boot, for one boot at a time, or GRUB with update-grub", LoaderChoice::Found),
    ("manual", "You have changed it already", LoaderChoice::Manual),
];

const SLEEP_METHODS: [Choice<SleepMethod>; 2] = [
    ("kernel", "Write to /sys/power/state", SleepMethod::Kernel),
    ("systemd", "Ask systemd, which runs sleep hooks", SleepMethod::Systemd),
];

/// Record boots, shutdowns and sleeps of this computer, several runs in a row (Linux, Windows 10 and 11)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff record boot --check                  what can be recorded
  onoff record boot --dry-run                every step, without running it
  sudo onoff record boot --runs 3 --train 1 --out /var/tmp/boots
  sudo onoff record shutdown --out /var/tmp/off
  sudo onoff record reboot-cycle --runs 10 --out /var/tmp/cycle
  sudo onoff record suspend --wake-after 30 --runs 3 --out /var/tmp/sleep
  sudo onoff record --restore                clean up after a crash
  onoff boot /var/tmp/boots/boot-1.tar.gz    analyze a recording
  onoff record boot --runs 3 --out C:\\traces   on Windows, as administrator
  onoff record boot --plan windows --out .   commands and a profile for Windows
  onoff record boot --plan windows --train --out .
                                             with prefetcher training first

'boot', 'shutdown' and 'reboot-cycle' restart the computer and continue automatically after each \
restart. Progress appears on the console and in the journal ('journalctl -u onoff-record'); on \
Windows, in a window after each logon. When the runs are complete, or if a run fails to come up \
three times, onoff undoes all of its changes.

Exit codes:
  0   success (--check: everything required is available)
  1   recording failed; all changes were undone
  2   recording is not possible here (the message says what to do)
  64  usage error")]
pub struct RecordArguments {
    /// What to record
    #[arg(value_name = "WHAT", value_parser = one_of(&TRANSITIONS))]
    pub transition: Option<Transition>,

    /// Number of recordings [default: 1, or 3 with --plan windows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// Warm-up restarts before the recorded runs; 3 if no number is given. With '--plan windows', how to train the
    /// prefetcher, also under a write filter
    #[arg(long, value_name = "K", default_value_t = 0, num_args = 0..=1, default_missing_value = "3", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub train: u32,

    /// Seconds to keep recording after the boot or wake-up [default: until the CPU has been 80 % idle for 12 s, at most
    /// 180 s; on Windows, 180 s after logon or 120 s after a wake-up]
    #[arg(long, value_name = "S")]
    pub post_boot_delay: Option<u64>,

    /// Folder for the recordings
    #[arg(long, value_name = "DIR", default_value = "onoff-recordings")]
    pub out: PathBuf,

    /// On Linux, kernel events to trace: sched, irq, block, init, power, rpm, signal, or system:event; separated by +
    /// or ,
    #[arg(long, value_name = "FLAGS", default_value = "sched+irq+block+init+power+rpm+signal")]
    pub trace_flags: String,

    /// On Linux, trace buffer per processor in MiB [default: an eighth of memory in total, 4 to 64 per processor]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub buffer: Option<u64>,

    /// On Linux, how to change the kernel command line
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = one_of(&LOADERS))]
    pub loader: LoaderChoice,

    /// On Linux, how to put the computer to sleep
    #[arg(long, value_name = "HOW", default_value = "kernel", value_parser = one_of(&SLEEP_METHODS))]
    pub sleep_by: SleepMethod,

    /// On Linux, sleep state for suspend, from /sys/power/state
    #[arg(long, value_name = "STATE", default_value = "mem")]
    pub state: String,

    /// On Linux, variant of 'mem' for suspend, from /sys/power/mem_sleep [default: the current setting]
    #[arg(long, value_name = "KIND")]
    pub mem_sleep: Option<String>,

    /// On Linux, what to do once the hibernation image is written: a mode from /sys/power/disk [default: the current
    /// setting]
    #[arg(long, value_name = "MODE")]
    pub hibernate_mode: Option<String>,

    /// Seconds until the real-time clock wakes the computer [default: no timer; wake it manually]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(5..=86400))]
    pub wake_after: Option<u64>,

    /// Do not ask for confirmation before a sleep without a wake-up timer
    #[arg(long)]
    pub yes: bool,

    /// Show what can be recorded and what is missing; change nothing
    #[arg(long)]
    pub check: bool,

    /// Show each step; change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Show how to record on another system, and write a profile for its recorder to '--out'; change nothing here
    #[arg(long, value_name = "SYSTEM", conflicts_with_all = ["check", "dry_run"])]
    pub plan: Option<PlannedSystem>,

    /// Undo the changes made by an interrupted recording
    #[arg(long, conflicts_with_all = ["check", "dry_run", "plan", "transition"])]
    pub restore: bool,

    /// Continue after a restart (run by the service)
    #[arg(long, hide = true)]
    pub resume: bool,

    /// Save the last moments of a shutdown (run by systemd)
    #[arg(long, hide = true, value_name = "KIND", requires = "staging")]
    pub shutdown_hook: Option<String>,

    /// Folder for what the shutdown hook saves
    #[arg(long, hide = true, value_name = "DIR")]
    pub staging: Option<String>,

    /// Root folder to read in place of /, for '--check' and '--dry-run'
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}
