//! The arguments as typed. What they mean together is settled in [`crate::invocation`].

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::output::Color;

const EXIT_CODES: &str = "\
Exit codes:
  0  answered (also when the reader of a pipe has seen enough)
  1  could not read the recording, or could not write the answer
  2  the recording holds nothing of what was asked for, or the arguments make no sense";

const EXAMPLES: &str = "\
Examples:
  onoff boot BootCKCL.etl                where the time of a boot went
  onoff boot boot.etl.xz --format json   the same for a program
  onoff info trace.etl                   what a recording holds
  onoff events trace.etl --process smss.exe | less

A Windows computer records every boot by itself, in
C:\\Windows\\System32\\WDI\\LogFiles\\BootCKCL.etl; 'wpr -boottrace -addboot' and
'xbootmgr -trace boot' record more of it.";

/// Shows where a computer's time goes while it turns on or off, from a recording.
#[derive(Debug, Parser)]
#[command(name = "onoff", version, max_term_width = 100, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Info(InfoArguments),
}

/// The recording.
#[derive(Debug, Args)]
pub struct RecordingArguments {
    /// The recording: an Event Trace Log (.etl), as it is or packed (.xz, .gz, .zst, .zip). Several files are read as
    /// one recording, such as a kernel log and a user log that were never merged
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Event schemas of your own providers: an instrumentation manifest (.man) or a provider's DLL or EXE
    #[arg(long = "manifest", value_name = "FILE")]
    pub manifests: Vec<PathBuf>,
}

/// Where the answer goes.
#[derive(Debug, Args)]
pub struct OutputArguments {
    /// Write the answer to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// When to colour text
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// For a person or for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlainFormat {
    /// For a person
    Text,
    /// For a program; the names are documented and stay
    Json,
}

/// Show what a recording holds: machine, clock, events by provider and kind, and what was lost
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff info trace.etl
  onoff info kernel.etl user.etl        two logs of one recording
  onoff info trace.etl --format json | jq '.providers[] | select(.events > 1000)'

{EXIT_CODES}"))]
pub struct InfoArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PlainFormat,

    /// Rows of each list of the text; JSON holds all of them
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
