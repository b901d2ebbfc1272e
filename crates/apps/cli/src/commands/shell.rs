//! `onoff completions` and `onoff manual`: what a shell and `man` know of the program, made of its own arguments.

use std::path::Path;

use clap_complete::Shell;

use crate::arguments::command;
use crate::failure::Failure;
use crate::output::Destination;

/// Writes the script that completes arguments in `shell`.
pub fn completions(shell: Shell, destination: &Destination) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "onoff", &mut script);
    destination.write(|out| Ok(out.write_all(&script)?))
}

/// Writes a page of the manual for the program and each verb into `folder`.
pub fn manual(folder: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Unreadable(format!("{}: cannot write: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(command(), folder).map_err(failed)
}
