//! The arguments of `onoff firmware`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{EXIT_CODES, OutputArguments};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FirmwareFormat {
    /// For people: summary, stages and phases, the slowest of each kind
    Text,
    /// For programs; names are documented and stable
    Json,
    /// For a spreadsheet: one row per stage, phase and measured operation
    Csv,
}

/// Show where the time before the operating system went, from firmware performance tables (FPDT, FBPT, S3PT)
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff firmware FBPT.bin
  onoff firmware /sys/firmware/acpi           the tables as Linux exposes them
  onoff firmware serial.log                   the serial log of a debug build
  onoff firmware serial.log --boot -1         the next-to-last boot in the log
  onoff firmware cbmem.txt                    coreboot: 'cbmem -t > cbmem.txt'
  onoff firmware dp.txt                       UEFI shell: 'dp -R > dp.txt'
  onoff firmware fbpt.bin --guids Guid.xref   with module names
  onoff firmware new.bin --compare old.bin    slower phases and drivers
  onoff firmware fbpt.bin --format csv -o work.csv

Input can be: raw tables, concatenated or in separate files; acpidump text; folders and .tar.xz \
archives that contain them; the values in /sys/firmware/acpi/fpdt on Linux; the serial log of a \
firmware debug build; XML from the EDK II tools; coreboot timestamps (cbmem -t, cbmem -T, or the \
raw table); the Slim Bootloader performance table; output of 'dp' in the UEFI shell ('dp -R' has \
points in time, plain 'dp' only durations). An FPDT alone contains only pointers to the other tables. \
Times are relative to processor reset.

{EXIT_CODES}"))]
pub struct FirmwareArguments {
    /// Firmware tables of one computer: files, folders or archives
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Show what got slower compared with another boot, whose tables you pass here
    #[arg(long, value_name = "OTHER")]
    pub compare: Option<PathBuf>,

    /// File with module names: lines 'GUID name', or a .inf, .dec or .fdf file; can be repeated
    #[arg(long = "guids", value_name = "FILE")]
    pub guids: Vec<PathBuf>,

    /// Boot to read from a serial log: 0 is the last, -1 the one before
    #[arg(long, value_name = "BOOT", allow_hyphen_values = true, default_value_t = 0, value_parser = boot_number)]
    pub boot: i64,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: FirmwareFormat,

    /// Rows per list in text; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Parses the number of a boot, counted back from the last one.
fn boot_number(text: &str) -> Result<i64, String> {
    let number = text.parse::<i64>().ok().filter(|&number| number <= 0);
    number.ok_or_else(|| "boots are counted back from the last one: 0, -1, -2, …".to_owned())
}

#[cfg(test)]
mod tests {
    use super::boot_number;

    #[test]
    fn boots_count_back_from_the_last_one() {
        assert_eq!((boot_number("0"), boot_number("-2")), (Ok(0), Ok(-2)));
        for text in ["3", "", "x", "--1"] {
            assert!(boot_number(text).is_err_and(|message| message.contains("0, -1, -2")), "{text}");
        }
    }
}
