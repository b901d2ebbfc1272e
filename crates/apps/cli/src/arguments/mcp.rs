//! The arguments of `onoff guide` and `onoff mcp`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArguments;

/// Print how to investigate a slow boot, shutdown or wake, step by step
#[derive(Debug, Args)]
pub struct GuideArguments {
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Serve the verbs as tools of the Model Context Protocol, over stdin and stdout, for an assistant
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff mcp recordings/          an assistant starts this and asks about the recordings in it

Tools answer what the verbs do: overview, boot, shutdown, suspend, netboot, firmware, io, diagnose,
why, list, compare, summary, info, explain; 'recordings' lists the files, 'guide' the steps of
'onoff guide'. Nothing is written and nothing recorded. Paths that lead out of the folders are
refused. A long answer comes in parts, each with a handle for the next.

Exit codes:
  0   the assistant has closed the connection
  1   a folder cannot be read, or the connection broke
  2   this program was built without the feature 'mcp'
  64  the arguments make no sense")]
pub struct McpArguments {
    /// Folders whose recordings may be asked about, with all below them
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
}
