//! The arguments of `onoff suspend`.

use clap::{Args, ValueEnum};
use onoff_usage::idle::IdleMetric;

use super::{EXIT_CODES, IDLE, OutputArguments, RecordingArguments, one_of};

/// How to answer about power transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PowerFormat {
    /// For a person: the answer, the phases, the worst of each kind
    Text,
    /// For a program; the names are documented and stay
    Json,
    /// The document of 'xperf -a suspend', for scripts that read it
    Xml,
    /// One row for each phase, application, service, device and driver, named as in JSON
    Csv,
    /// A picture: phases, who held each, what to change
    Svg,
    /// The text as a page without scripts, to mail or to print
    Html,
}

/// Show where the time of sleeping, hibernating and waking went, of every transition of a recording
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff suspend sleep.etl
  onoff suspend day.etl --transition 2   the second of several
  onoff suspend sleep.etl --top 20       longer lists
  onoff suspend sleep.etl --format json | jq '.transitions[].phases[] | {{name, duration_ns}}'
  onoff suspend sleep.etl --format xml --timeunit ms.3 -o summary.xml
  onoff suspend linux.tar.xz             Linux: trace, journal and kernel log, any of them
  onoff suspend dmesg.txt                Linux: the kernel's log alone

Sleep, hibernation, hybrid sleep, modern standby and fast startup are told apart by what was
recorded; on Linux suspend to idle, standby, S3 and hibernation. Times count from the
recording's begin, unless they are lengths.

{EXIT_CODES}"))]
pub struct SuspendArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Only the transition of this number: 1 is the recording's first [default: all of them]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub transition: Option<u32>,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PowerFormat,

    /// Unit of times in XML, ns, us, ms or s, with decimals after a dot, as in ms.3 [default: us]
    #[arg(long, value_name = "UNIT[.N]")]
    pub timeunit: Option<String>,

    /// When the computer counts as settled after a resume
    #[arg(long, value_name = "METRIC", default_value = "xperf", value_parser = one_of(&IDLE))]
    pub idle: IdleMetric,

    /// Image name of the user's shell, where it is not Explorer: it ends a fast startup
    #[arg(long, value_name = "IMAGE", default_value = "explorer.exe")]
    pub shell: String,

    /// Rows of each list of the text; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
