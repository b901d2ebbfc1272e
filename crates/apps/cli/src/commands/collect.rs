//! `onoff collect`.

use crate::arguments::collect::CollectArguments;
use crate::failure::Failure;
use crate::output::Destination;

/// Packs what this computer knows of its boots.
#[cfg(target_os = "linux")]
pub fn run(question: &CollectArguments, destination: &Destination) -> Result<(), Failure> {
    use std::io::BufWriter;

    use onoff_record::collection::{Collecting, redaction_of, write};
    use onoff_record::live::LiveMachine;
    use onoff_record::running::{JournalFile, Wanted, look};
    use onoff_sink::OutputFile;

    let path = &question.output;
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::nothing(format!("{}: there is such a file already; name another", path.display()))
        }
        _ => Failure::Unreadable(format!("{}: cannot write: {error}", path.display())),
    };
    // Before anything is read: collecting takes a while.
    let file = OutputFile::create_new(path).map_err(failed)?;
    let mut machine = LiveMachine::new(question.root.clone());
    let found = look(&mut machine, Wanted::ThisBoot);
    super::this_computer::say_unread(&found);
    if found.journals.is_empty() && found.members.is_empty() {
        return Err(Failure::nothing("this computer shows nothing of its boots to this user; try with sudo"));
    }
    let journals = match found.journals.is_empty() {
        true => None,
        false => Some(onoff_files::open_found(&found.journals, Vec::new(), &onoff_files::Options::default())?),
    };
    // A file that is damaged beyond use is left out here as everywhere.
    let opened: Vec<JournalFile<'_>> = journals
        .iter()
        .flat_map(|files| files.iter())
        .filter_map(|file| JournalFile::open(file.bytes()).ok())
        .collect();
    let wanted = Collecting { boots: question.boots.into(), redact: question.redact };
    let redaction = question.redact.then(|| redaction_of(&machine));
    let writer = BufWriter::new(file.writer().map_err(failed)?);
    let collected = write(&found, &opened, wanted, redaction, writer).map_err(failed)?;
    file.commit().map_err(failed)?;
    destination.write(|out| {
        writeln!(out, "Packed into {}:", path.display())?;
        writeln!(out, "  boots            {}", collected.boots.len())?;
        writeln!(out, "  journal entries  {}", collected.entries)?;
        writeln!(out, "  other files      {}", found.members.len())?;
        if let Some(replaced) = collected.replaced {
            writeln!(out, "Replaced:")?;
            writeln!(out, "  names of computers  {}", replaced.hosts)?;
            writeln!(out, "  names of users      {}", replaced.users)?;
            writeln!(out, "  addresses           {}", replaced.addresses)?;
            writeln!(out, "Messages of programs may hold more. Look through the file before you send it.")?;
            for name in replaced.kept {
                writeln!(out, "Not replaced: '{name}', which is a word of the logs themselves.")?;
            }
        }
        writeln!(out, "Read it with 'onoff boot {}'.", path.display())?;
        Ok(())
    })
}

/// Other systems have no journal.
#[cfg(not(target_os = "linux"))]
pub fn run(_: &CollectArguments, _: &Destination) -> Result<(), Failure> {
    let message = "collect: only Linux is collected; 'onoff record boot --plan windows' shows how Windows is recorded";
    Err(Failure::nothing(message))
}
