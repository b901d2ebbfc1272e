//! The arguments of `onoff diagnose`.

use std::path::PathBuf;

use clap::Args;
use onoff_usage::idle::IdleMetric;

use super::{EXIT_CODES, IDLE, OutputArguments, PlainFormat, RecordingArguments, one_of};

/// Show what to fix in every boot, shutdown and sleep of a recording, most expensive first
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff diagnose boot.etl
  onoff diagnose                           this computer's last boot
  onoff diagnose boot.etl --top 3          the three most expensive findings
  onoff diagnose boot.etl --image /mnt/c   with settings from its registry
  onoff diagnose boot.etl --fail-on 2s     exit code 3 if a finding costs 2 s
  onoff diagnose sleep.etl --format json |
      jq '.findings[] | {{code, cost_ns, title}}'
  onoff diagnose --list                    every rule
  onoff diagnose --explain boot/driver-start-not-pended

The cost of a finding is what fixing it alone would save, predicted by a replay of the recording \
as in 'onoff what-if'. Where no replay is possible, it is the time the critical path lost to it, \
and '≤' marks an upper bound: the work ran in parallel with the critical path. A service, driver, \
program, script or unit is reported from 5 % of the transition on (at least 300 ms, at most 1 s), \
its times in all phases added. The report ends \
with the rules that could not be checked, and what to record for them.

{EXIT_CODES}"))]
pub struct DiagnoseArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Folder with the drivers of the recorded Windows computer (Windows\System32\drivers, or a copy), to find drivers
    /// that are test-signed or signed only by a catalog
    #[arg(long, value_name = "FOLDER")]
    pub drivers: Vec<PathBuf>,

    /// Windows installation of the recorded computer, as for 'onoff image': adds service dependencies, settings that
    /// are safe to change, and driver signatures
    #[arg(long, value_name = "PATH")]
    pub image: Vec<PathBuf>,

    /// List all rules instead
    #[arg(long, conflicts_with_all = ["files", "explain"])]
    pub list: bool,

    /// Explain the rule with this code instead: what it finds, why that costs time, known false positives
    #[arg(long, value_name = "CODE", conflicts_with = "files")]
    pub explain: Option<String>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PlainFormat,

    /// Hide findings that cost less than this many milliseconds [default: 300]
    #[arg(long, value_name = "MS")]
    pub noise: Option<u32>,

    /// Exit with code 3 if a finding costs this much or more, such as 500ms or 2s; '≤' costs do not count
    #[arg(long, value_name = "COST", conflicts_with_all = ["list", "explain"])]
    pub fail_on: Option<String>,

    /// How to decide that the computer is idle
    #[arg(long, value_name = "METRIC", default_value = "xperf", value_parser = one_of(&IDLE))]
    pub idle: IdleMetric,

    /// Image name of the user's shell, if it is not Explorer
    #[arg(long, value_name = "IMAGE", default_value = "explorer.exe")]
    pub shell: String,

    /// Findings to show in text; JSON shows all of them
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// For Windows event logs, replace names of computers and accounts, addresses and security identifiers; each is
    /// replaced the same way everywhere
    #[arg(long, conflicts_with = "image")]
    pub redact: bool,

    #[command(flatten)]
    pub output: OutputArguments,
}
