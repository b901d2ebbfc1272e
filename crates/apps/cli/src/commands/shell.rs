//! `onoff completions` and `onoff manual`, generated from the command line definition.

use std::path::Path;

use clap_complete::Shell;
use clap_mangen::Man;
use onoff_sink::OutputFile;

use crate::arguments::command;
use crate::failure::Failure;
use crate::output::Destination;

pub fn completions(shell: Shell, destination: &Destination) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "onoff", &mut script);
    destination.write(|out| Ok(out.write_all(&script)?))
}

/// Writes man pages for the program and each verb to `folder`: all of them or none.
pub fn manual(folder: &Path) -> Result<(), Failure> {
    let cannot_write =
        |error: std::io::Error| Failure::Unreadable(format!("{}: cannot write: {error}", folder.display()));
    let is_new = !folder.exists();
    std::fs::create_dir_all(folder).map_err(cannot_write)?;
    let result = write_pages(folder).map_err(cannot_write);
    if result.is_err() && is_new {
        // Only an empty folder is removed.
        let _ = std::fs::remove_dir(folder);
    }
    result
}

fn write_pages(folder: &Path) -> std::io::Result<()> {
    let mut program = command().disable_help_subcommand(true);
    program.build();
    let mut files = Vec::new();
    for command in std::iter::once(&program).chain(program.get_subcommands().filter(|verb| !verb.is_hide_set())) {
        let page = Man::new(command.clone());
        let mut file = OutputFile::create(&folder.join(page.get_filename()))?;
        page.render(&mut file)?;
        files.push(file);
    }
    files.into_iter().try_for_each(OutputFile::commit)
}
