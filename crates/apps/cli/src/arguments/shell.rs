//! The arguments of `onoff completions` and `onoff manual`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::OutputArguments;

/// Write a script that completes onoff's arguments in a shell
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

/// Write pages for man(1) into a folder: one of the program, one of each verb
#[derive(Debug, Args)]
pub struct ManualArguments {
    /// The folder, such as ~/.local/share/man/man1
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
