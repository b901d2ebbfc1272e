//! The arguments of `onoff completions` and `onoff manual`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::OutputArguments;

/// Write a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff completions bash > ~/.local/share/bash-completion/completions/onoff
  onoff completions zsh > ~/.zfunc/_onoff
  onoff completions fish > ~/.config/fish/completions/onoff.fish
  onoff completions powershell >> $PROFILE")]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Write man pages to a folder: one for the program and one for each verb
#[derive(Debug, Args)]
pub struct ManualArguments {
    /// The folder, such as ~/.local/share/man/man1
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
