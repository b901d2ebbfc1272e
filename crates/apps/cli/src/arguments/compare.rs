//! The arguments of `onoff compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onoff_compare::ExclusionReason;

use super::{Choice, EXIT_CODES, OutputArguments, one_of};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For people: summary, excluded runs, differences
    Text,
    /// For programs; names are documented and stable
    Json,
    /// One row per measure and configuration, named as in JSON
    Csv,
    /// The study's tables, or totals and phases, for a pull request
    Markdown,
    /// A picture: a dot per run for the total and each phase, and what explains the difference
    Svg,
}

/// Exclusion reasons that `--include` overrides.
const OVERRIDABLE_REASONS: [Choice<ExclusionReason>; 5] = [
    ("untrained", "Boots before ReadyBoot was trained", ExclusionReason::Untrained),
    ("losses", "Runs and values affected by lost events", ExclusionReason::Losses),
    ("analysis-tracing", "Recordings with call stacks, which slow down the run", ExclusionReason::AnalysisTracing),
    ("other-kind", "Other kinds of the transition, such as hibernation among sleeps", ExclusionReason::OtherKind),
    ("same-recording", "Duplicates of a recording, under any name", ExclusionReason::SameRecording),
];

/// The recordings of each side, and which of them count; shared by all verbs that compare.
#[derive(Clone, Debug, Args)]
pub struct ComparisonArguments {
    /// Recordings of the baseline, one run each; a folder stands for the recordings in it, A+B for two files of one
    /// recording, and .json for a baseline written by 'onoff gate --save-baseline'
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub baseline: Vec<PathBuf>,

    /// Recordings to compare with the baseline
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub candidate: Vec<PathBuf>,

    /// Transition to compare: boot, shutdown, suspend, netboot (from captures), firmware (from its tables), or
    /// suspend:2 for the second of several [default: the transition in the first recording]
    #[arg(long, value_name = "NAME")]
    pub transition: Option<String>,

    /// Include runs normally excluded for this reason; can be repeated
    #[arg(long, value_name = "REASON", value_parser = one_of(&OVERRIDABLE_REASONS))]
    pub include: Vec<ExclusionReason>,

    /// Minimum runs per side to report a difference
    #[arg(long, alias = "least-runs", value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    pub min_runs: u8,
}

#[derive(Debug, Args)]
pub struct RunsArguments {
    /// Two recordings, or two folders of recordings: before and after
    #[arg(value_names = ["OLD", "NEW"], num_args = 0..=2, conflicts_with_all = ["baseline", "candidate"])]
    pub pair: Vec<PathBuf>,

    #[command(flatten)]
    pub sides: ComparisonArguments,

    /// Event schemas for your own providers: an instrumentation manifest (.man), a provider DLL or EXE, a trace message
    /// format file (.tmf) for software tracing (WPP), or a folder of these
    #[arg(long = "manifest", value_name = "PATH")]
    pub manifests: Vec<PathBuf>,
}

/// Compare recordings of a transition: what got slower or faster, what is new or gone, and whether it is more than
/// noise
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff compare before.etl after.etl
  onoff compare before/ after/          folders, three runs or more each
  onoff compare before/ after/ --runs   with the times of each run
  onoff compare --baseline before/*.etl --candidate after/*.etl
  onoff compare old/ new/ --transition suspend
  onoff compare old/ new/ --transition firmware   stages, phases, drivers
  onoff compare ipv4/ ipv6/             captures of network boots
  onoff compare old/ new/ --include untrained
  onoff compare old/ new/ --format csv -o boots.csv
  onoff compare --study filter.toml --format markdown
  onoff compare --boots                 this computer's last 30 boots
  onoff compare --boots /var/log/journal --last 100
  onoff compare --boots winevt/Logs     event logs of a Windows computer
  onoff compare --sleeps                this computer's last 100 sleeps
  onoff compare --sleeps journal.export

onoff compares medians. It reports a difference if it exceeds the spread of the baseline runs ('noise') \
and a rank test separates the two sides ('p'). This needs at least three runs per side; five are better.

Runs are excluded, and the report says why, if ReadyBoot was not trained, if lost events affect the \
phases, or if call stacks were recorded. Unreadable recordings are excluded as well; the exit code is then 1.

{EXIT_CODES}"))]
pub struct CompareArguments {
    #[command(flatten)]
    pub runs: RunsArguments,

    /// TOML file with two or more configurations, the factors in which they differ, and tables to show
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pair", "baseline", "candidate", "transition"])]
    pub study: Option<PathBuf>,

    /// Compare successive boots in a Linux journal or in Windows event logs: when a part of the boot became slower, what
    /// explains it, and which update preceded it. Without a file, reads this computer's logs
    #[arg(long, value_name = "LOGS", num_args = 0.., conflicts_with_all = ["pair", "baseline", "candidate", "transition", "study"])]
    pub boots: Option<Vec<PathBuf>>,

    /// Compare successive sleeps in a Linux journal or kernel log: list them, the worst first, and find when a phase became
    /// slower or sleeps began to fail, which device explains it, and which update preceded it. Without a file, reads this
    /// computer's journal
    #[arg(long, value_name = "LOGS", num_args = 0.., conflicts_with_all = ["pair", "baseline", "candidate", "transition", "study", "boots"])]
    pub sleeps: Option<Vec<PathBuf>>,

    /// With --boots or --sleeps, how many, most recent first [default: 30 boots, 100 sleeps]
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,

    /// With --boots or --sleeps, root folder to read in place of /
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,

    /// With --boots, for Windows event logs, replace names of computers and accounts, addresses and security
    /// identifiers
    #[arg(long)]
    pub redact: bool,

    /// Also show the totals and phases of each run; with --format csv, show every value of every run instead
    #[arg(long = "runs")]
    pub each_run: bool,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: CompareFormat,

    /// Rows per list in text; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
