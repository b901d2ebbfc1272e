//! `onoff collect`.

use crate::arguments::collect::CollectArguments;
use crate::failure::Failure;
use crate::output::Destination;

#[cfg(target_os = "linux")]
use linux::pack;
#[cfg(windows)]
use local_windows::pack;

/// A line of the summary: what was packed, and how many.
#[cfg(any(target_os = "linux", windows))]
type Count = (&'static str, u64);

/// Packs this computer's boot logs.
#[cfg(any(target_os = "linux", windows))]
pub fn run(arguments: &CollectArguments, destination: &Destination) -> Result<(), Failure> {
    use std::io::BufWriter;

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
    let writer = BufWriter::new(file.writer().map_err(cannot_write)?);
    let (summary, counts) = pack(arguments, writer, &cannot_write)?;
    file.commit().map_err(cannot_write)?;
    destination.write(|out| {
        writeln!(out, "Wrote {}:", path.display())?;
        for (name, count) in counts {
            writeln!(out, "  {name:<15}  {count}")?;
        }
        if !summary.left_out.is_empty() {
            writeln!(out, "Not included:")?;
            for text in &summary.left_out {
                writeln!(out, "  {}", onoff_report::text::printable::printable(text))?;
            }
        }
        if let Some(replaced) = summary.replaced {
            writeln!(out, "Replaced:")?;
            for (name, count, is_always_shown) in [
                ("computer names", replaced.hosts, true),
                ("user names", replaced.users, true),
                ("addresses", replaced.addresses, true),
                ("security ids", replaced.security_ids, false),
                ("network names", replaced.networks, false),
                ("serial numbers", replaced.serial_numbers, false),
                ("UUIDs", replaced.uuids, false),
                ("keys", replaced.keys, false),
            ] {
                if is_always_shown || count > 0 {
                    writeln!(out, "  {name:<14}  {count}")?;
                }
            }
            writeln!(out, "Program messages may contain more private data. Check the file before you send it.")?;
            for name in replaced.kept {
                writeln!(out, "Not replaced: '{name}', because the word is common in logs.")?;
            }
        }
        writeln!(out, "Analyze it with 'onoff boot {}'.", path.display())?;
        Ok(())
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, Write};

    use onoff_record::collection::{CollectionOptions, CollectionSummary, write};
    use onoff_record::known_names::redaction_for;
    use onoff_record::live::LiveMachine;
    use onoff_record::running::{JournalFile, Scope, inspect};

    use super::{CollectArguments, Count, Failure};
    use crate::commands::local_machine::report_unread;

    /// Number of boots to take from the journal.
    const DEFAULT_BOOTS: u16 = 3;

    /// Packs the journal, systemd's times, the kernel log and the firmware's times.
    pub fn pack(
        arguments: &CollectArguments,
        out: impl Write,
        cannot_write: &dyn Fn(io::Error) -> Failure,
    ) -> Result<(CollectionSummary, Vec<Count>), Failure> {
        let mut machine = LiveMachine::new(arguments.root.clone());
        let sources = inspect(&mut machine, Scope::ThisBoot);
        report_unread(&sources);
        if sources.logs.is_empty() && sources.files.is_empty() {
            return Err(Failure::no_data("no boot data is readable for this user; try sudo"));
        }
        let journals = if sources.logs.is_empty() {
            None
        } else {
            Some(onoff_files::open_files_and_bytes(&sources.logs, Vec::new(), &onoff_files::Options::default())?)
        };
        // Files damaged beyond repair are skipped, as in all verbs.
        let opened_journals: Vec<JournalFile<'_>> = journals
            .iter()
            .flat_map(|files| files.iter())
            .filter_map(|file| JournalFile::open(file.bytes()).ok())
            .collect();
        let boots = arguments.boots.unwrap_or(DEFAULT_BOOTS).into();
        let options = CollectionOptions { boots, redact: arguments.redact };
        let redaction = arguments.redact.then(|| redaction_for(&machine));
        let summary = write(&sources, &opened_journals, options, redaction, out).map_err(cannot_write)?;
        let counts = vec![
            ("boots", summary.boots.len() as u64),
            ("journal entries", summary.entries),
            ("other files", sources.files.len() as u64),
        ];
        Ok((summary, counts))
    }
}

#[cfg(windows)]
mod local_windows {
    use std::io::{self, Write};
    use std::path::Path;

    use onoff_files::Options;
    use onoff_record::collection::CollectionSummary;
    use onoff_record::running::RunningSystem;
    use onoff_record::windows::account_names::redaction_for;
    use onoff_record::windows::collection::{LogRange, write};
    use onoff_record::windows::export::EventLog;
    use onoff_record::windows::logs::{add_traces_and_reports, inspect};
    use onoff_trace::TableSet;

    use super::{CollectArguments, Count, Failure};
    use crate::commands::local_machine::{open_logs, report_unread, windows_machine};

    /// Packs the event logs, the traces that Windows itself records, and the report on modern standby.
    pub fn pack(
        arguments: &CollectArguments,
        out: impl Write,
        cannot_write: &dyn Fn(io::Error) -> Failure,
    ) -> Result<(CollectionSummary, Vec<Count>), Failure> {
        let mut machine = windows_machine(&arguments.root)?;
        let installation = machine.installation().clone();
        let logs = inspect(&mut machine, &installation);
        let mut system = RunningSystem {
            unreadable: logs.unreadable.clone(),
            absent: logs.absent.clone(),
            ..RunningSystem::default()
        };
        // They cannot be redacted.
        if !arguments.redact {
            add_traces_and_reports(&mut machine, &installation, &mut system);
        }
        report_unread(&system);
        let files = open_logs(logs, &Options::default())?;
        let boots = onoff_files::open_files(&files, TableSet::NONE, &Options::default())?.boots;
        let range = LogRange::last_boots(&boots, arguments.boots.map(usize::from));
        let redaction = arguments.redact.then(|| {
            let mut redaction = redaction_for(&machine, &installation);
            if arguments.root == Path::new("/") {
                for variable in ["COMPUTERNAME", "USERDNSDOMAIN"] {
                    redaction.add_host(&std::env::var(variable).unwrap_or_default());
                }
            }
            redaction
        });
        let logs: Vec<EventLog<'_>> =
            files.iter().map(|file| EventLog { name: file.name(), bytes: file.bytes() }).collect();
        let summary = write(&system, &logs, &range, redaction, out).map_err(cannot_write)?;
        let other_files = system.files.len();
        // One file describes the archive.
        let log_count = summary.file_count.saturating_sub(other_files + 1);
        let counts = [("boots", summary.boots.len()), ("event logs", log_count), ("other files", other_files)];
        Ok((summary, counts.map(|(name, count)| (name, count as u64)).to_vec()))
    }
}

/// Fails, because other systems have no logs to collect.
#[cfg(not(any(target_os = "linux", windows)))]
pub fn run(_: &CollectArguments, _: &Destination) -> Result<(), Failure> {
    Err(Failure::no_data("collect works on Linux and Windows only"))
}
