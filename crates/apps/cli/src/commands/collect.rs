//! `onoff collect`.

use crate::arguments::collect::CollectArguments;
use crate::failure::Failure;
use crate::output::Destination;

/// Packs this computer's boot logs.
#[cfg(target_os = "linux")]
pub fn run(question: &CollectArguments, destination: &Destination) -> Result<(), Failure> {
    use std::io::BufWriter;

    use onoff_record::collection::{CollectionOptions, redaction_for, write};
    use onoff_record::live::LiveMachine;
    use onoff_record::running::{JournalFile, Scope, inspect};
    use onoff_sink::OutputFile;

    let path = &question.output;
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::no_data(format!("{}: the file already exists; choose another name", path.display()))
        }
        _ => Failure::Unreadable(format!("{}: cannot write: {error}", path.display())),
    };
    // Fail early if the file cannot be created: collecting takes a while.
    let file = OutputFile::create_new(path).map_err(failed)?;
    let mut machine = LiveMachine::new(question.root.clone());
    let found = inspect(&mut machine, Scope::ThisBoot);
    super::local_machine::report_unread(&found);
    if found.journals.is_empty() && found.files.is_empty() {
        return Err(Failure::no_data("no boot data is readable for this user; try sudo"));
    }
    let journals = match found.journals.is_empty() {
        true => None,
        false => {
            Some(onoff_files::open_files_and_bytes(&found.journals, Vec::new(), &onoff_files::Options::default())?)
        }
    };
    // Files damaged beyond repair are skipped, as in all verbs.
    let opened: Vec<JournalFile<'_>> = journals
        .iter()
        .flat_map(|files| files.iter())
        .filter_map(|file| JournalFile::open(file.bytes()).ok())
        .collect();
    let wanted = CollectionOptions { boots: question.boots.into(), redact: question.redact };
    let redaction = question.redact.then(|| redaction_for(&machine));
    let writer = BufWriter::new(file.writer().map_err(failed)?);
    let collected = write(&found, &opened, wanted, redaction, writer).map_err(failed)?;
    file.commit().map_err(failed)?;
    destination.write(|out| {
        writeln!(out, "Wrote {}:", path.display())?;
        writeln!(out, "  boots            {}", collected.boots.len())?;
        writeln!(out, "  journal entries  {}", collected.entries)?;
        writeln!(out, "  other files      {}", found.files.len())?;
        if let Some(replaced) = collected.replaced {
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

/// Other systems have no journal to collect.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &CollectArguments, _: &Destination) -> Result<(), Failure> {
    let message = "collect works on Linux only; 'onoff record boot --plan windows' shows how to record on Windows";
    Err(Failure::no_data(message))
}
