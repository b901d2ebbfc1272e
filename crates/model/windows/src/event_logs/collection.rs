//! Reads log files and assigns them to computers.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use onoff_event_log::{Record, Summary};
use onoff_input::error::Error;
use onoff_input::opened::{Files, SourceFile};
use onoff_trace::{LogChannel, Losses, counters};
use rayon::prelude::*;

use super::events;

counters! {
    CHUNKS_DAMAGED = "event_log_chunks_damaged", Warning,
        [Milestones, Activities, ReportedDelays, SystemChanges, ServiceFailures],
        "Damaged chunks of event logs. Their records are missing.";
    RECORDS_UNREADABLE = "event_log_records_unreadable", Warning,
        [Milestones, Activities, ReportedDelays, SystemChanges, ServiceFailures],
        "Event log records that could not be decoded. They are missing.";
    RECORDS_JOINED = "event_log_records_joined", Warning, [Activities, SystemChanges],
        "Event log records whose texts a CSV export joined into one. They are missing. Pass the .evtx file instead.";
    NOT_CLOSED = "event_logs_not_closed", Notice, [],
        "Event logs copied while Windows was writing to them. Their last records may be missing.";
}

/// The wanted records of one log file.
struct LogFile {
    records: Vec<Record>,
    channels: BTreeMap<String, LogChannel>,
    /// What only files of the same computer share: its names, and the folder of a file that Windows itself named.
    keys: Vec<String>,
    summary: Summary,
}

/// The logs of one computer.
#[derive(Debug, Default)]
pub(super) struct Machine {
    /// Its latest name.
    pub(super) name: String,
    /// Wanted records, by channel and record number.
    pub(super) records: Vec<Record>,
    pub(super) channels: Vec<LogChannel>,
}

/// Maximum number of computer names per file; real logs have up to five.
const MAX_NAMES: usize = 64;

/// Channel of records that were sent by other computers.
const FORWARDED: &str = "ForwardedEvents";

/// Reads all logs and returns their computers, the one with the newest record last.
///
/// # Errors
/// A file that is not an event log.
pub(super) fn read(files: &Files, losses: &mut Losses) -> Result<Vec<Machine>, Error> {
    let wanted = events::wanted();
    let files: Vec<&SourceFile> = files.iter().collect();
    let logs: Vec<LogFile> = files.par_iter().map(|file| read_file(file, &wanted)).collect::<Result<_, Error>>()?;
    for (log, file) in logs.iter().zip(&files) {
        losses.add(&CHUNKS_DAMAGED, log.summary.damaged_chunks);
        losses.add(&RECORDS_UNREADABLE, log.summary.unreadable_records);
        losses.add(&RECORDS_JOINED, log.summary.joined_records);
        losses.add(&NOT_CLOSED, u64::from(log.summary.is_dirty));
        if let Some(offset) = log.summary.first_damage {
            let place = || format!("{}, byte offset {offset:#x}", file.name());
            losses.set_first_place(&CHUNKS_DAMAGED, place);
            losses.set_first_place(&RECORDS_UNREADABLE, place);
        }
    }
    Ok(machines(logs))
}

fn read_file(file: &SourceFile, wanted: &HashSet<(&str, u32)>) -> Result<LogFile, Error> {
    let mut channels: BTreeMap<String, LogChannel> = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    let mut records = Vec::new();
    let mut choose = |record: &Record| {
        if record.channel == FORWARDED {
            return false;
        }
        let channel = channels.entry(record.channel.clone()).or_insert_with(|| LogChannel {
            name: record.channel.clone(),
            first_unix_ns: record.time_ns,
            last_unix_ns: record.time_ns,
            records: 0,
        });
        channel.first_unix_ns = channel.first_unix_ns.min(record.time_ns);
        channel.last_unix_ns = channel.last_unix_ns.max(record.time_ns);
        channel.records += 1;
        if names.len() < MAX_NAMES && !names.contains(&record.computer) {
            names.push(record.computer.clone());
        }
        wanted.contains(&(record.provider.as_str(), record.id))
    };
    let summary = onoff_event_log::read(file.bytes(), &mut choose, &mut |record| records.push(record))
        .map_err(|source| Error::EventLog { name: file.name().to_owned(), source })?;
    names.retain(|name| !name.is_empty());
    names.extend(folder_of_windows(file.name(), channels.keys()));
    Ok(LogFile { records, channels, keys: names, summary })
}

/// The folder of a log with the file name that Windows gives it, or its export under that name, marked by its final
/// separator. Such a folder holds one file per channel, so all of them are of one computer.
fn folder_of_windows<'c>(name: &str, channels: impl Iterator<Item = &'c String>) -> Option<String> {
    let (folder, file) = name.split_at(name.rfind(['/', '\\']).map_or(0, |separator| separator + 1));
    let mut channels = channels;
    let channel = channels.next().filter(|_| channels.next().is_none())?;
    let (stem, extension) = file.rsplit_once('.')?;
    let is_log = ["evtx", "xml"].iter().any(|known| extension.eq_ignore_ascii_case(known));
    (is_log && stem.eq_ignore_ascii_case(&channel.replace('/', "%4"))).then(|| format!("{folder}/"))
}

/// Groups log files by computer. Names change during setup, and a log keeps the old ones; so files that share any name
/// are of one computer.
fn machines(logs: Vec<LogFile>) -> Vec<Machine> {
    let mut group_of_key: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Vec<LogFile>> = Vec::new();
    for log in logs {
        let mut joined: Vec<usize> = log.keys.iter().filter_map(|key| group_of_key.get(key).copied()).collect();
        joined.sort_unstable();
        joined.dedup();
        let target = joined.first().copied().unwrap_or_else(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        for &other in joined.iter().skip(1) {
            let moved = std::mem::take(&mut groups[other]);
            groups[target].extend(moved);
            group_of_key.values_mut().filter(|group| **group == other).for_each(|group| *group = target);
        }
        for key in &log.keys {
            group_of_key.insert(key.clone(), target);
        }
        groups[target].push(log);
    }
    let mut machines: Vec<Machine> = groups.into_iter().filter(|group| !group.is_empty()).map(machine).collect();
    machines.sort_by_key(|machine| machine.channels.iter().map(|channel| channel.last_unix_ns).max());
    machines
}

fn machine(logs: Vec<LogFile>) -> Machine {
    let mut channels: BTreeMap<String, LogChannel> = BTreeMap::new();
    let mut records: Vec<Record> = Vec::new();
    for log in logs {
        for (name, part) in log.channels {
            channels
                .entry(name)
                .and_modify(|channel| {
                    channel.first_unix_ns = channel.first_unix_ns.min(part.first_unix_ns);
                    channel.last_unix_ns = channel.last_unix_ns.max(part.last_unix_ns);
                    channel.records += part.records;
                })
                .or_insert(part);
        }
        records.extend(log.records);
    }
    records.sort_by(|a, b| (&a.channel, a.number, a.time_ns).cmp(&(&b.channel, b.number, b.time_ns)));
    // A log that was copied twice, or exported beside the original, counts once.
    records.dedup_by(|a, b| a.channel == b.channel && a.number == b.number && a.time_ns == b.time_ns);
    let name = records.iter().max_by_key(|record| record.time_ns).map(|record| record.computer.clone());
    Machine { name: name.unwrap_or_default(), records, channels: channels.into_values().collect() }
}
