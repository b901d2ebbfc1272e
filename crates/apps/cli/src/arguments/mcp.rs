//! The arguments of `onoff guide` and `onoff mcp`.

use std::path::PathBuf;

use clap::Args;

use super::OutputArguments;

/// Print how to investigate a slow boot, shutdown or wake-up, step by step
#[derive(Debug, Args)]
pub struct GuideArguments {
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Serve the verbs to an assistant as Model Context Protocol (MCP) tools over stdin and stdout
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff mcp recordings/   the command for an assistant's configuration

The tools match the verbs: overview, boot, shutdown, suspend, netboot, firmware, io, diagnose, \
why, list, what-if, compare, summary, info, explain. 'recordings' lists the files; 'guide' prints \
the text of 'onoff guide'. The server is read-only and does not record. It rejects paths outside the folders. \
Long answers come in parts, each with a handle for the next.

Exit codes:
  0   the assistant closed the connection
  1   a folder could not be read, or the connection was lost
  64  usage error")]
pub struct McpArguments {
    /// Folders the server may read, including subfolders
    #[arg(value_name = "FOLDER", required = true)]
    pub folders: Vec<PathBuf>,
}
