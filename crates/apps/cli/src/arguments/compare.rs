//! The arguments of `onoff compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onoff_compare::SetApartReason;

use super::{Choice, EXIT_CODES, OutputArguments, one_of};

/// How to answer about a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For a person: the answer, what was set apart, what differs
    Text,
    /// For a program; the names are documented and stay
    Json,
    /// One row per measure and configuration, named as in JSON
    Csv,
    /// The study's tables, or totals and phases, for a pull request
    Markdown,
    /// A picture: a dot for each run at the whole and at each phase, what explains the difference
    Svg,
}

/// Which runs to compare although something speaks against it.
const INCLUDED: [Choice<SetApartReason>; 5] = [
    ("untrained", "Boots before the boot read-ahead was trained", SetApartReason::Untrained),
    ("losses", "Runs and values that losses of the recording touch", SetApartReason::Losses),
    ("analysis-tracing", "Recordings with call stacks, whose times are longer", SetApartReason::AnalysisTracing),
    ("other-kind", "Other kinds of the transition, such as hibernation among sleeps", SetApartReason::OtherKind),
    ("same-recording", "Recordings that are there already, under this or another name", SetApartReason::SameRecording),
];

/// Which recordings are of which side, and which of them count; the same for all that compare.
#[derive(Clone, Debug, Args)]
pub struct SidesArguments {
    /// Recordings of the baseline, one run each; a folder means the recordings in it, A+B for two files of one
    /// recording, and a .json for a baseline that 'onoff gate --save-baseline' kept
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub baseline: Vec<PathBuf>,

    /// Recordings of what is compared with it
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub candidate: Vec<PathBuf>,

    /// Which transition to compare: boot, shutdown, suspend, netboot (of captures), firmware (of its tables), or suspend:2
    /// for the second of several [default: what the first recording holds]
    #[arg(long, value_name = "NAME")]
    pub transition: Option<String>,

    /// Compare runs that would be set apart for this; may be repeated
    #[arg(long, value_name = "REASON", value_parser = one_of(&INCLUDED))]
    pub include: Vec<SetApartReason>,

    /// Runs of each side below which nothing is called a difference
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    pub least_runs: u8,
}

/// The sides of a comparison, and how to read them.
#[derive(Debug, Args)]
pub struct RunsArguments {
    /// Two recordings, or two folders of them: before and after
    #[arg(value_names = ["OLD", "NEW"], num_args = 0..=2, conflicts_with_all = ["baseline", "candidate"])]
    pub pair: Vec<PathBuf>,

    #[command(flatten)]
    pub sides: SidesArguments,

    /// Event schemas of your own providers: an instrumentation manifest (.man), a provider's DLL or EXE, or a folder with such files
    #[arg(long = "manifest", value_name = "PATH")]
    pub manifests: Vec<PathBuf>,
}

/// Compare recordings of one transition: what got slower or faster, what is new or gone, and whether that is more than noise
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff compare before.etl after.etl
  onoff compare before/ after/           folders of runs, three of each or more
  onoff compare before/ after/ --runs    and what each run took
  onoff compare --baseline before/*.etl --candidate after/*.etl
  onoff compare --baseline old/ --candidate new/ --transition suspend
  onoff compare --baseline ipv4/*.pcapng --candidate ipv6/*.pcapng       network boots
  onoff compare --baseline old/ --candidate new/ --transition firmware   stages, phases, drivers
  onoff compare --baseline old/ --candidate new/ --include untrained
  onoff compare --baseline old/ --candidate new/ --format csv -o boots.csv
  onoff compare --study filter.toml --format markdown
  onoff compare --boots                  the last 30 boots of this Linux computer, each after the other
  onoff compare --boots /var/log/journal --last 100

Medians are compared. A difference is called one when it exceeds how far the baseline's own
runs lie apart ('noise') and the runs are separated as far as so few can show ('p').
Three runs of each are the least for that; five are better.

Runs are set apart, each with its reason, when the boot read-ahead was not trained, when losses
touch the phases, when call stacks were recorded, and when the recording cannot be read; the
exit code is 1 then, and the others are compared.

{EXIT_CODES}"))]
pub struct CompareArguments {
    #[command(flatten)]
    pub runs: RunsArguments,

    /// More than two configurations, in a TOML file, with the factors they differ in and tables to show
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pair", "baseline", "candidate", "transition"])]
    pub study: Option<PathBuf>,

    /// The boots of a Linux journal, one after the other: since when a part of the start takes longer, whose time explains
    /// it, and which update was before. Without a file, this computer's
    #[arg(long, value_name = "JOURNAL", num_args = 0.., conflicts_with_all = ["pair", "baseline", "candidate", "transition", "study"])]
    pub boots: Option<Vec<PathBuf>>,

    /// With --boots: how many, the last ones
    #[arg(long, value_name = "N", default_value_t = 30, requires = "boots")]
    pub last: usize,

    /// With --boots: where this computer's files are
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,

    /// Show the totals and phases of each run as well; with --format csv, every value of every run instead
    #[arg(long = "runs")]
    pub each_run: bool,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: CompareFormat,

    /// Rows of each list of the text; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}
