//! The arguments of `onoff collect` as typed.

use std::path::PathBuf;

use clap::Args;

/// Pack what shows where this Linux computer's time goes into one file, for somebody else to read
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo onoff collect -o slow-boot.tar.gz             this boot and the two before
  onoff collect -o slow-boot.tar.gz --boots 1        as a normal user: what is shown to one
  sudo onoff collect -o slow-boot.tar.gz --redact    without names and addresses
  onoff boot slow-boot.tar.gz                        what the colleague does
  onoff shutdown slow-boot.tar.gz --boot -1

The file holds the journal of the boots, systemd's times of every unit, the kernel's log, and
the times that firmware and loader left. Nothing on the computer is changed, and a file that
is there already is left alone.

Exit codes:
  0  packed
  1  the file cannot be written
  2  there is nothing to pack, or the file is there already
  64 the arguments make no sense")]
pub struct CollectArguments {
    /// The file to write, a .tar.gz; it must not be there yet
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// How many boots of the journal, the last ones
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub boots: u16,

    /// Replace names of computers and users, and IPv4, IPv6, Ethernet and e-mail addresses; each by the same other name everywhere
    #[arg(long)]
    pub redact: bool,

    /// A tree of files that is read in place of this computer
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}
