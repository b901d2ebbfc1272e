//! The arguments of `onoff collect`.

use std::path::PathBuf;

use clap::Args;

/// Pack this computer's boot logs and times into one file, for someone else to analyze
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo onoff collect -o slow-boot.tar.gz        this boot and the two before
  onoff collect -o slow-boot.tar.gz --boots 1   what this user may read
  sudo onoff collect -o slow-boot.tar.gz --redact   without names and addresses
  onoff collect -o slow-boot.tar.gz             on Windows, as administrator: all boots in the logs
  onoff boot slow-boot.tar.gz                   what the recipient runs
  onoff shutdown slow-boot.tar.gz --boot -1

On Linux, the file contains the journal of the boots, systemd's times of every unit, the kernel log, and \
the times left by firmware and boot loader.

On Windows, it contains the event logs that onoff reads, the traces that Windows itself records of the last boot and \
shutdown, and the report of 'powercfg /sleepstudy'. Run it as administrator. With --redact, the logs contain only \
what onoff reads, and the traces and the report are left out.

Nothing on the computer is changed, and an existing file is not overwritten.

Exit codes:
  0   success
  1   the file could not be written
  2   there is nothing to pack, or the file already exists
  64  usage error")]
pub struct CollectArguments {
    /// The .tar.gz file to write; it must not exist yet
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Number of boots to take from the logs, most recent first [default: 3 on Linux, all on Windows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub boots: Option<u16>,

    /// Replace computer and user names, security identifiers, and IPv4, IPv6, Ethernet and email addresses; each is
    /// replaced the same way everywhere
    #[arg(long)]
    pub redact: bool,

    /// Root folder to read in place of /
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}
