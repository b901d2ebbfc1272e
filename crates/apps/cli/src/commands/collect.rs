//! `onoff collect`.

use crate::arguments::collect::CollectArguments;
use crate::failure::Failure;
use crate::output::Destination;

/// Packs this computer's boot logs.
#[cfg(target_os = "linux")]
pub fn run(arguments: &CollectArguments, destination: &Destination) -> Result<(), Failure> {
    use std::io::BufWriter;

    use onoff_record::collection::{CollectionOptions, redaction_for, write};
    use onoff_record::live::LiveMachine;
    use onoff_record::running::{JournalFile, Scope, inspect};
    use onoff_sink::OutputFile;

    let path = &arguments.output;
    let cannot_write = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::no_data(format!("{}: the file already exists; choose another name", path.display()))
        }
        _ => Failure::Unreadable(format!("{}: cannot write: {error}", path.display())),
    };
    // Fail early if the file cannot be created: collecting takes a while.
    let file = OutputFile::create_new(path).map_err(cannot_write)?;
    let mut machine = LiveMachine::new(arguments.root.clone());
    let sources = inspect(&mut machine, Scope::ThisBoot);
    super::local_machine::report_unread(&sources);
    if sources.journals.is_empty() && sources.files.is_empty() {
        return Err(Failure::no_data("no boot data is readable for this user; try sudo"));
    }
    let journals = if sources.journals.is_empty() {
        None
    } else {
        Some(onoff_files::open_files_and_bytes(&sources.journals, Vec::new(), &onoff_files::Options::default())?)
    };
    // Files damaged beyond repair are skipped, as in all verbs.
    let opened_journals: Vec<JournalFile<'_>> = journals
        .iter()
        .flat_map(|files| files.iter())
        .filter_map(|file| JournalFile::open(file.bytes()).ok())
        .collect();
    let options = CollectionOptions { boots: arguments.boots.into(), redact: arguments.redact };
    let redaction = arguments.redact.then(|| redaction_for(&machine));
    let writer = BufWriter::new(file.writer().map_err(cannot_write)?);
    let summary = write(&sources, &opened_journals, options, redaction, writer).map_err(cannot_write)?;
    file.commit().map_err(cannot_write)?;
    destination.write(|out| {
        writeln!(out, "Wrote {}:", path.display())?;
        writeln!(out, "  boots            {}", summary.boots.len())?;
        writeln!(out, "  journal entries  {}", summary.entries)?;
        writeln!(out, "  other files      {}", sources.files.len())?;
        if let Some(replaced) = summary.replaced {
            writeln!(out, "Replaced:")?;
            writeln!(out, "  computer names  {}", replaced.hosts)?;
            writeln!(out, "  user names      {}", replaced.users)?;
            writeln!(out, "  addresses       {}", replaced.addresses)?;
            writeln!(out, "Program messages may contain more private data. Check the file before you send it.")?;
            for name in replaced.kept {
                writeln!(out, "Not replaced: '{name}', because the word is common in logs.")?;
            }
        }
        writeln!(out, "Analyze it with 'onoff boot {}'.", path.display())?;
        Ok(())
    })
}

/// Fails, because other systems have no journal to collect.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &CollectArguments, _: &Destination) -> Result<(), Failure> {
    let message = "collect works on Linux only; 'onoff record boot --plan windows' shows how to record on Windows";
    Err(Failure::no_data(message))
}
