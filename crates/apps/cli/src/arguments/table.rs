//! The arguments that all verbs share whose answer is a table.

use clap::{Args, ValueEnum};

/// How to show a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For a person: the answer, the first rows, what was missing
    Text,
    /// For a program; the names are documented and stay
    Json,
    /// For a spreadsheet: one header line, the names of the JSON, numbers without units
    Csv,
    /// A picture: of 'onoff summary' a bar for each transition; of 'onoff cpu', 'disk' and 'hardfaults' a flame graph
    Svg,
    /// Call stacks with their time, one a line, for programs that draw flame graphs; of 'onoff cpu', 'disk' and 'hardfaults'
    Folded,
    /// Call stacks as a file for speedscope; of the same verbs
    Speedscope,
    /// The text as a page without scripts, to mail or to print; of the lists and of 'onoff summary'
    Html,
}

impl TableFormat {
    /// Whether it is made of call stacks, or drawn.
    pub const fn is_picture(self) -> bool {
        matches!(self, Self::Svg | Self::Folded | Self::Speedscope)
    }
}

/// About what, which rows, and how.
#[derive(Debug, Args)]
pub struct TableArguments {
    /// Only this phase of the boot, shutdown or sleep, as 'onoff boot' names it
    #[arg(long, value_name = "NAME", conflicts_with = "range")]
    pub phase: Option<String>,

    /// Only from one time up to, not including, another: 1234[s|ms|us|ns] from the recording's start (µs without a
    /// unit), or yyyy/mm/dd:hh:mm:ss.ffff in the recorded machine's local time, with +UTC in UTC
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    pub range: Option<Vec<String>>,

    /// Only this process: image name or id, * for any text; may be repeated
    #[arg(long = "process", value_name = "NAME")]
    pub processes: Vec<String>,

    /// Sort by this column: its name or its title. Quantities come largest first, names by the alphabet, times earliest
    /// first
    #[arg(long, value_name = "COLUMN")]
    pub sort: Option<String>,

    /// Reverse the order
    #[arg(long)]
    pub reverse: bool,

    /// Rows to show, 0 for all [default: 25 in text, all in other formats]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TableFormat,
}
