//! The arguments of `onoff diagnose` as typed.

use std::path::PathBuf;

use clap::Args;
use onoff_usage::idle::IdleMetric;

use super::{EXIT_CODES, IDLE, OutputArguments, PlainFormat, RecordingArguments, one_of};

/// Say what to change, what costs most first, for every boot, shutdown and sleep of a recording
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff diagnose boot.etl
  onoff diagnose                            this Linux computer's last boot
  onoff diagnose boot.etl --top 3           the three that cost most
  onoff diagnose boot.etl --image /mnt/c    with what the registry says about its services
  onoff diagnose sleep.etl --format json | jq '.findings[] | {{code, cost_ns, title}}'
  onoff diagnose boot.etl --fail-on 2s      for a build: exit code 3 if something costs 2 s
  onoff diagnose --list                     every rule
  onoff diagnose --explain boot/driver-start-not-pended

A finding's cost is the time that the transition's main path lost to it; '≤' is an upper
bound: the work ran beside the main path, which may not have waited for it. What could not
be checked, and what to record for it, stands at the end.

{EXIT_CODES}"))]
pub struct DiagnoseArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Folder with the recorded Windows computer's drivers (Windows\System32\drivers, or a copy): shows which are signed by a
    /// catalog only, or for tests
    #[arg(long, value_name = "FOLDER")]
    pub drivers: Vec<PathBuf>,

    /// The installation of the recorded Windows computer, as 'onoff image' takes it: shows for services whom they wait for and what is safe
    /// to change, for drivers how their files are signed
    #[arg(long, value_name = "PATH")]
    pub image: Vec<PathBuf>,

    /// List every rule instead
    #[arg(long, conflicts_with_all = ["files", "explain"])]
    pub list: bool,

    /// Explain the rule of this code instead: what it finds, why that costs time, and when it is wrong
    #[arg(long, value_name = "CODE", conflicts_with = "files")]
    pub explain: Option<String>,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PlainFormat,

    /// Leave out findings that cost less, in milliseconds [default: 300]
    #[arg(long, value_name = "MS")]
    pub noise: Option<u32>,

    /// Exit with code 3 when a finding costs this or more, such as 500ms or 2s; '≤' costs do not count
    #[arg(long, value_name = "COST", conflicts_with_all = ["list", "explain"])]
    pub fail_on: Option<String>,

    /// When the computer counts as settled
    #[arg(long, value_name = "METRIC", default_value = "xperf", value_parser = one_of(&IDLE))]
    pub idle: IdleMetric,

    /// Image name of the user's shell, where it is not Explorer
    #[arg(long, value_name = "IMAGE", default_value = "explorer.exe")]
    pub shell: String,

    /// Findings that the text shows; JSON holds all of them
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
