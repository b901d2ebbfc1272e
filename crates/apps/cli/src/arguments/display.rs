//! How text is shown: the same for every verb, and before or after its name.

use clap::{Args, ValueEnum};

/// When to color text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How text is shown.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Display")]
pub struct DisplayArguments {
    /// When to color text [default: auto; ONOFF_COLOR sets another, NO_COLOR means never]
    #[arg(long, global = true, value_name = "WHEN")]
    pub color: Option<Color>,

    /// Fit text to so many columns [default: the terminal's; not at all in a pipe or a file]
    #[arg(long, global = true, value_name = "COLUMNS")]
    pub width: Option<u16>,

    /// Do not wrap or shorten text to fit the terminal
    #[arg(long, global = true, conflicts_with = "width")]
    pub wide: bool,

    /// Print only the first lines of the text, at most five: the answer
    #[arg(long, global = true)]
    pub brief: bool,
}
