//! `onoff record`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onoff_record::job::{LoaderChoice, SleepBy, Transition};

use super::{Choice, one_of};

/// What to record.
const RECORDED: [Choice<Transition>; 5] = [
    ("boot", "From the kernel's first moment until the computer has settled; restarts the computer", Transition::Boot),
    ("shutdown", "From the request until the last process has ended; restarts the computer", Transition::Shutdown),
    ("suspend", "Into sleep and back", Transition::Suspend),
    ("hibernate", "To disk and back", Transition::Hibernate),
    ("reboot-cycle", "Each restart gives a shutdown and a boot", Transition::RebootCycle),
];

/// A system that is recorded by its own recorders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlannedSystem {
    /// wpr and xbootmgr, and onoff.wprp for wpr
    Windows,
}

/// Who puts kernel options onto the command line.
const LOADERS: [Choice<LoaderChoice>; 2] = [
    ("auto", "onoff: systemd-boot, for one boot at a time, or GRUB with update-grub", LoaderChoice::Found),
    ("manual", "You have done it", LoaderChoice::Manual),
];

/// Who sends the computer to sleep.
const SLEEP_BY: [Choice<SleepBy>; 2] = [
    ("kernel", "A write to /sys/power/state", SleepBy::Kernel),
    ("systemd", "systemd, with the hooks of other programs", SleepBy::Systemd),
];

/// Record this computer turning on and off (Linux, Windows 10 and 11): boots, shutdowns, sleep, several runs in a row
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff record boot --dry-run                       what would be done, step by step
  onoff record boot --check                         what is there to record with, what is lacking
  sudo onoff record boot --runs 3 --train 1 --out /var/tmp/boots
  sudo onoff record shutdown --out /var/tmp/off
  sudo onoff record reboot-cycle --runs 10 --out /var/tmp/cycle
  sudo onoff record suspend --wake-after 30 --runs 3 --out /var/tmp/sleep
  sudo onoff record --restore                       put everything back after a crash
  onoff boot /var/tmp/boots/boot-1.tar.gz           where the time went
  onoff record boot --runs 3 --out C:\\traces        on Windows, in an administrator's prompt
  onoff record boot --plan windows --out .          command lines and a profile for Windows
  onoff record boot --plan windows --train --out .  the same, after training its read-ahead

'boot', 'shutdown' and 'reboot-cycle' restart the computer as often as asked and go on by
themselves after each restart; progress is on the console and in the journal
('journalctl -u onoff-record'), on Windows in a window after each logon. At the end, and when a run does not come up three times,
everything that was changed is put back.

Exit codes:
  0  recorded, or answered (--check: nothing needed is lacking)
  1  something failed on the way; what was changed is put back
  2  it cannot be done here (the text says what to do)
  64 the arguments make no sense")]
pub struct RecordArguments {
    /// What to record
    #[arg(value_name = "WHAT", value_parser = one_of(&RECORDED))]
    pub transition: Option<Transition>,

    /// Recordings to make [default: 1; for Windows 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// Runs before those, without a recording, so that caches get used to the restarts; 3 without a number. With '--plan windows':
    /// how its read-ahead is trained, also below a write filter
    #[arg(long, value_name = "K", default_value_t = 0, num_args = 0..=1, default_missing_value = "3", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub train: u32,

    /// Seconds to wait after the boot or the wake before the recording ends [default: until the processors were 80 % idle
    /// for 12 s, 180 s at most; on Windows 180 s after the logon, 120 s after a wake]
    #[arg(long, value_name = "S")]
    pub post_boot_delay: Option<u64>,

    /// Folder of the recordings
    #[arg(long, value_name = "DIR", default_value = "onoff-recordings")]
    pub out: PathBuf,

    /// On Linux, what the kernel traces: sched, irq, block, init, power, rpm, signal, or an event as system:event; joined by + or ,
    #[arg(long, value_name = "FLAGS", default_value = "sched+irq+block+init+power+rpm+signal")]
    pub trace_flags: String,

    /// On Linux, trace buffer for each processor, MiB [default: an eighth of the memory, 4 to 64 each]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub buffer: Option<u64>,

    /// On Linux, who puts options onto the kernel's command line
    #[arg(long, value_name = "WHO", default_value = "auto", value_parser = one_of(&LOADERS))]
    pub loader: LoaderChoice,

    /// On Linux, who sends the computer to sleep
    #[arg(long, value_name = "WHO", default_value = "kernel", value_parser = one_of(&SLEEP_BY))]
    pub sleep_by: SleepBy,

    /// On Linux, for suspend: the state to write, one of /sys/power/state
    #[arg(long, value_name = "STATE", default_value = "mem")]
    pub state: String,

    /// On Linux, for suspend: the kind of 'mem', one of /sys/power/mem_sleep [default: as it is set]
    #[arg(long, value_name = "KIND")]
    pub mem_sleep: Option<String>,

    /// On Linux, for hibernate: what happens after the image is written, one of /sys/power/disk [default: as it is set]
    #[arg(long, value_name = "MODE")]
    pub hibernate_mode: Option<String>,

    /// Seconds until the real-time clock wakes the computer [default: wake it by hand]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(5..=86400))]
    pub wake_after: Option<u64>,

    /// Do not ask, where something would be asked: a sleep that nothing ends
    #[arg(long)]
    pub yes: bool,

    /// Show what is there to record with and what is lacking; change nothing
    #[arg(long)]
    pub check: bool,

    /// Show each step; change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Show how to record it on another system, and write a profile for its recorder into '--out'; change nothing here
    #[arg(long, value_name = "SYSTEM", conflicts_with_all = ["check", "dry_run"])]
    pub plan: Option<PlannedSystem>,

    /// Put back what a recording that was interrupted has changed
    #[arg(long, conflicts_with_all = ["check", "dry_run", "plan", "transition"])]
    pub restore: bool,

    /// Go on after a restart: what the service runs
    #[arg(long, hide = true)]
    pub resume: bool,

    /// Keep the last moments of a shutdown: what systemd runs
    #[arg(long, hide = true, value_name = "KIND", requires = "staging")]
    pub shutdown_hook: Option<String>,

    /// Where to keep them
    #[arg(long, hide = true, value_name = "DIR")]
    pub staging: Option<String>,

    /// A tree of files in place of the computer: for '--check' and '--dry-run'
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}
