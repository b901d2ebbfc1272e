//! Display options, accepted by every verb, before or after its name.

use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// Only on a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Display")]
pub struct DisplayArguments {
    /// When to color text [default: auto; overridden by ONOFF_COLOR; never if NO_COLOR is set]
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<Color>,

    /// Wrap text at this width [default: the terminal's width; unlimited in a pipe or file]
    #[arg(long, global = true, value_name = "COLUMNS")]
    pub width: Option<u16>,

    /// Do not wrap or shorten text to fit the terminal
    #[arg(long, global = true, conflicts_with = "width")]
    pub wide: bool,

    /// Print only the summary: the first lines of the text, at most five
    #[arg(long, global = true)]
    pub brief: bool,
}
