//! `onoff completions` and `onoff manual`, generated from the command line definition.

use std::path::Path;

use clap_complete::Shell;

use crate::arguments::command;
use crate::failure::Failure;
use crate::output::Destination;

pub fn completions(shell: Shell, destination: &Destination) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "onoff", &mut script);
    destination.write(|out| Ok(out.write_all(&script)?))
}

/// Writes man pages for the program and each verb to `folder`.
pub fn manual(folder: &Path) -> Result<(), Failure> {
    let cannot_write =
        |error: std::io::Error| Failure::Unreadable(format!("{}: cannot write: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(cannot_write)?;
    clap_mangen::generate_to(command(), folder).map_err(cannot_write)
}
