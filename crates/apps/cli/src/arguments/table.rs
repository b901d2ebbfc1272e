//! The shared arguments of verbs that print a table.

use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For people: summary, first rows, what was not recorded
    Text,
    /// For programs; names are documented and stable
    Json,
    /// For a spreadsheet: one header line with the JSON names, numbers without units
    Csv,
    /// A picture: a flame graph for 'onoff cpu', 'disk' and 'hardfaults'
    Svg,
    /// Folded call stacks with their time, one per line, for flame graph tools; 'onoff cpu', 'disk' and 'hardfaults'
    /// only
    Folded,
    /// A file for speedscope; 'onoff cpu', 'disk' and 'hardfaults' only
    Speedscope,
    /// The text as an HTML page without scripts, to mail or print; lists only
    Html,
}

impl TableFormat {
    /// True for graphics and for formats made of call stacks.
    pub const fn is_picture(self) -> bool {
        matches!(self, Self::Svg | Self::Folded | Self::Speedscope)
    }
}

#[derive(Debug, Args)]
pub struct TableArguments {
    /// Only this phase of the boot, shutdown or sleep, such as WinLogonInit
    #[arg(long, value_name = "NAME", conflicts_with = "range")]
    pub phase: Option<String>,

    /// Only this time range, end excluded: 1234[s|ms|us|ns] from the start of the recording (default unit µs), or
    /// yyyy/mm/dd:hh:mm:ss.ffff in the local time of the recorded computer, or in UTC with +UTC
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    pub range: Option<Vec<String>>,

    /// Only this process: image name or id, * as a wildcard; can be repeated
    #[arg(long = "process", value_name = "NAME")]
    pub processes: Vec<String>,

    /// Sort by this column (name or title). Numbers sort in descending order, names alphabetically, points in time
    /// earliest first
    #[arg(long, value_name = "COLUMN")]
    pub sort: Option<String>,

    /// Reverse the order
    #[arg(long)]
    pub reverse: bool,

    /// Rows to show, 0 for all [default: 25 in text, all in other formats]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TableFormat,
}
