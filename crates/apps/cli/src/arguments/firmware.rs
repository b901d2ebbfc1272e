//! `onoff firmware`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{EXIT_CODES, OutputArguments};

/// How to answer about a firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FirmwareFormat {
    /// For a person: the answer, the stages and phases, the worst of each kind
    Text,
    /// For a program; the names are documented and stay
    Json,
    /// For a spreadsheet: a row for every stage, phase and measured piece of work
    Csv,
}

/// Show where the time before the operating system went, from the tables that the firmware leaves (FPDT, FBPT, S3PT)
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff firmware FBPT.bin
  onoff firmware /sys/firmware/acpi             what Linux shows of the tables
  onoff firmware serial.log                     a debug build's serial log
  onoff firmware serial.log --boot -1           the boot before the last in it
  onoff firmware cbmem.txt                      coreboot's 'cbmem -t'
  onoff firmware dp.txt                         the UEFI shell's 'dp -R > dp.txt'
  onoff firmware fbpt.bin --guids Guid.xref     with the modules' names
  onoff firmware new.bin --compare old.bin      which phase and driver grew
  onoff firmware fbpt.bin --format csv -o work.csv

Reads the bytes of the tables, one after the other or in files of their own; acpidump text;
folders and .tar.xz archives of folders, searched for them; the numbers that Linux shows below
/sys/firmware/acpi/fpdt; the serial log of a firmware's debug build; the XML of EDK II's tools;
coreboot's timestamps (cbmem -t, cbmem -T, the table itself); Slim Bootloader's table of times;
what the UEFI shell's 'dp' prints ('dp -R' has the moments, plain 'dp' lengths only).
The FPDT itself only says where the others lie. Times count from the processor's reset.

{EXIT_CODES}"))]
pub struct FirmwareArguments {
    /// The tables of one machine: files, folders or archives
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Show what grew since another boot: its tables, as FILE
    #[arg(long, value_name = "OTHER")]
    pub compare: Option<PathBuf>,

    /// Names of modules: lines 'GUID name', or a .inf, .dec or .fdf file; may be repeated
    #[arg(long = "guids", value_name = "FILE")]
    pub guids: Vec<PathBuf>,

    /// Which boot of a serial log that holds several: 0 is the last, -1 the one before
    #[arg(long, value_name = "BOOT", allow_hyphen_values = true, default_value_t = 0, value_parser = clap::value_parser!(i64).range(..=0))]
    pub boot: i64,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: FirmwareFormat,

    /// Rows of each list of the text; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
