//! The arguments of `onoff gate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::OutputArguments;
use super::compare::RunsArguments;

/// How to answer about limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GateFormat {
    /// For a person: the verdict, then every limit
    Text,
    /// For a program; the names are documented and stay
    Json,
    /// JUnit XML, which build servers show as tests
    Junit,
    /// SARIF 2.1.0, which code hosts show next to changes
    Sarif,
    /// Annotations of a GitHub workflow
    Github,
    /// A table for a pull request, or for the summary of a workflow's step
    Markdown,
}

/// Fail when a transition got slower than limits allow: exit code 1 for a regression, 2 without a verdict
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff gate --baseline good/ --candidate new/ --limit 'boot.total 5% and 500ms'
  onoff gate --baseline good/ --save-baseline boot.json
  onoff gate --baseline boot.json --candidate new/ --limit 'boot.total 5% and 500ms' \\
             --limit 'boot.phase.* 10% and 1s' --limit 'boot.service.* 50% and 250ms'
  onoff gate --baseline boot.json --candidate new/ --limit 'boot.total 1s' --format junit -o gate.xml
  onoff gate --baseline boot.json --candidate new/ --limit 'boot.total 1s' --format github
  onoff gate old/ new/ --limit 'boot.total 1s' --format markdown >> $GITHUB_STEP_SUMMARY

A limit is a measure and by how much its median may grow: percent, time (ns, us, ms, s, min),
bytes (B, KiB, MiB, GiB) or a number, joined by 'and' (both must be exceeded) and 'or'; * stands
for any text. 'onoff compare --format csv' lists the measures with their keys.

Growth beyond a limit that is not beyond noise is no verdict: record more runs.

Exit codes:
  0  every limit was kept
  1  a limit was exceeded, by more than noise
  2  no verdict: too few runs, losses touch the phase, runs were set apart, a recording could not be
     read, or the report not be written
  64 the arguments make no sense")]
pub struct GateArguments {
    #[command(flatten)]
    pub runs: RunsArguments,

    /// A measure and by how much it may grow, as in 'boot.total 5% and 500ms'; may be repeated
    #[arg(long = "limit", value_name = "LIMIT")]
    pub limits: Vec<String>,

    /// Keep the measures of the baseline in a file, for --baseline of later runs
    #[arg(long, value_name = "FILE")]
    pub save_baseline: Option<PathBuf>,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: GateFormat,

    /// Rows of each limit of the text; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
