//! The arguments of `onoff suspend`.

use clap::{Args, ValueEnum};
use onoff_usage::idle::IdleMetric;

use super::{EXIT_CODES, IDLE, OutputArguments, RecordingArguments, one_of};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PowerFormat {
    /// For people: summary, phases, the slowest of each kind
    Text,
    /// For programs; names are documented and stable
    Json,
    /// The XML of 'xperf -a suspend'
    Xml,
    /// One row per phase, application, service, device and driver, named as in JSON
    Csv,
    /// A picture: phases, what each is blamed on, what to fix
    Svg,
    /// The text as an HTML page without scripts, to mail or print
    Html,
}

/// Show where the time of sleep, hibernation and wake-up went, for every transition in a recording
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff suspend sleep.etl
  onoff suspend day.etl --transition 2   the second of several
  onoff suspend sleep.etl --top 20       longer lists
  onoff suspend sleep.etl --format json |
      jq '.transitions[].phases[] | {{name, duration_ns}}'
  onoff suspend sleep.etl --format xml --timeunit ms.3 -o summary.xml
  onoff suspend sleepstudy-report.html   the page of 'powercfg /sleepstudy'
  onoff suspend battery-report.html      the page of 'powercfg /batteryreport'
  onoff suspend system-sleep-diagnostics.html
                                         why the computer did not sleep
  onoff suspend linux.tar.xz             Linux: trace, journal, kernel log
  onoff suspend dmesg.txt                Linux: kernel log only

onoff distinguishes sleep, hibernation, hybrid sleep, modern standby and fast startup; on Linux, \
suspend to idle, standby, S3 and hibernation. Timestamps are relative to the start of the recording.

{EXIT_CODES}"))]
pub struct SuspendArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Only the transition with this number; 1 is the first [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub transition: Option<u32>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PowerFormat,

    /// Time unit in XML (ns, us, ms or s), optionally with a number of decimals, such as ms.3 [default: us]
    #[arg(long, value_name = "UNIT[.N]")]
    pub timeunit: Option<String>,

    /// How to decide that the computer is idle after a resume
    #[arg(long, value_name = "METRIC", default_value = "xperf", value_parser = one_of(&IDLE))]
    pub idle: IdleMetric,

    /// Image name of the user's shell, if it is not Explorer; its start ends a fast startup
    #[arg(long, value_name = "IMAGE", default_value = "explorer.exe")]
    pub shell: String,

    /// Rows per list in text; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    /// For Windows event logs, replace names of computers and accounts, addresses and security identifiers; each is
    /// replaced the same way everywhere
    #[arg(long)]
    pub redact: bool,

    #[command(flatten)]
    pub output: OutputArguments,
}
