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

What --redact replaces, each name by the same substitute everywhere:
  names of computers, domains and users; IPv4, IPv6, Ethernet (with and without separators) and email addresses
  Linux: names of wireless networks; serial numbers of disks, USB devices and the computer; UUIDs of file systems, \
volumes and arrays; machine ids; SSH fingerprints and keys, WireGuard keys, passwords after 'psk=' or 'password='
  Windows: security identifiers, serial numbers in device ids of USB, GUIDs of volumes
What stays:
  times, unit and program names, kernel versions, models of devices, PCI and USB ids, GUIDs of providers, boot ids
  labels of file systems, names of volumes, time zones, names of Bluetooth devices, and what nothing identifies as a \
name, such as private data in messages and arguments of programs: check the file before you send it

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

    /// Replace names of computers, users and wireless networks, addresses, serial numbers, UUIDs of file systems, and
    /// keys, each the same way everywhere; the list is below
    #[arg(long)]
    pub redact: bool,

    /// Root folder to read in place of /
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}
