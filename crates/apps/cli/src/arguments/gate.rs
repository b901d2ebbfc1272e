//! The arguments of `onoff gate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::OutputArguments;
use super::compare::RunsArguments;
use super::netboot::ExpectedOutcome;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateFormat {
    /// For people: the verdict, then every limit
    Text,
    /// For programs; names are documented and stable
    Json,
    /// JUnit XML, for the test reports of build servers
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// GitHub workflow annotations
    Github,
    /// A table for a pull request or a workflow step summary
    Markdown,
}

/// Fail a build if a transition got slower than its limits allow, or if a network boot did not load: exit code 1 for a
/// regression, 2 for no verdict
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff gate good/ new/ --limit 'boot.total 5% and 500ms'
  onoff gate --baseline good/ --save-baseline boot.json
  onoff gate --baseline boot.json --candidate new/ \\
      --limit 'boot.total 5% and 500ms' --limit 'boot.phase.* 10% and 1s'
  onoff gate good/ new/ --limit 'boot.total 1s' --format junit -o gate.xml
  onoff gate good/ new/ --limit 'boot.total 1s' --format github
  onoff gate good/ new/ --limit 'boot.total 1s' --format markdown \\
      >> $GITHUB_STEP_SUMMARY
  onoff gate boot.pcap --expect loaded --max 'netboot.total 30s'
  onoff gate pxe.json new/ --expect loaded --limit 'netboot.server 10%'

A limit names a measure and how much its median may grow: percent, time (ns, us, ms, s, min), \
bytes (B, KiB, MiB, GiB) or a number, combined with 'and' (both must be exceeded) and 'or'; * in \
a name is a wildcard. 'onoff compare --format csv' lists the measures with their keys.

Growth beyond a limit but within noise gives no verdict: record more runs.

--max and --expect need no baseline: every run of the candidate must meet them. The time of a \
network boot is checked only if it has the expected outcome, by default 'loaded'. The parts of its \
time are netboot.client, netboot.server, netboot.network and netboot.timeouts.

Exit codes:
  0   all limits were met
  1   a limit was exceeded by more than noise, or an outcome differs from --expect
  2   no verdict: too few runs, excluded runs, a phase affected by lost events,
      an unknown outcome, an unreadable recording, or a report that could not be
      written
  64  usage error")]
pub struct GateArguments {
    #[command(flatten)]
    pub runs: RunsArguments,

    /// A measure and how much it may grow, such as 'boot.total 5% and 500ms'; can be repeated
    #[arg(long = "limit", value_name = "LIMIT")]
    pub limits: Vec<String>,

    /// A measure and its maximum in every run of the candidate, such as 'netboot.total 30s'; can be repeated
    #[arg(long = "max", value_name = "LIMIT")]
    pub maxima: Vec<String>,

    /// The outcome of every network boot of the candidate
    #[arg(long, value_name = "OUTCOME")]
    pub expect: Option<ExpectedOutcome>,

    /// Save the measures of the baseline to a file, to use as --baseline later
    #[arg(long, value_name = "FILE")]
    pub save_baseline: Option<PathBuf>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: GateFormat,

    /// Rows per limit in text; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
