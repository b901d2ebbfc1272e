//! Reads Windows event logs into the tables of the model, one boot at a time.
//!
//! The axis starts with the kernel of the boot. Events that traces have too go through the same trackers; only the
//! account that Windows itself writes of each boot is specific to logs.
//!
//! | module | purpose |
//! | --- | --- |
//! | `collection` | reads the files and assigns them to computers |
//! | [`boots`] | finds the boots of a computer and their records |
//! | [`account`] | Windows' own account of a boot |
//! | [`accompanying`] | the accounts of a boot and a shutdown that a trace recorded |
//! | [`ends`] | how boots ended: accounts of shutdowns, requests, ends without a shutdown |
//! | [`power`] | records of sleeps, hibernations and fast startups |
//! | `rows` | rows of sleeps and of the end of a boot |
//! | [`changes`] | what was changed before each boot |
//! | [`service_failures`] | services that failed |
//! | [`events`] | the events that are read |

mod accompanying;
mod account;
mod boots;
mod changes;
mod collection;
mod ends;
mod events;
mod power;
mod rows;
mod service_failures;

use hashbrown::HashSet;
use onoff_event_log::Record;
use onoff_input::error::Error;
use onoff_input::opened::Files;
use onoff_input::options::{Options, Purpose};
use onoff_trace::{
    Activity, Clock, LoggedEnd, Losses, Milestone, RecordedBoot, RecordingFile, StringId, SystemKind, TableName,
    TableSet, Trace, counters, milestone, windows_release,
};

pub use self::accompanying::add_logged_accounts;
use self::boots::LoggedBoot;
use self::changes::Change;
use self::collection::Machine;
use self::events::{BOOT_DELAYS, DIAGNOSTICS, EVENT_LOG, KERNEL_GENERAL, KERNEL_START, SYSTEM_VERSION};
use super::phase_events::PhaseEvent;
use super::phases::Phases;
use super::texts::Texts;

counters! {
    ACCOUNTS_WITHOUT_BOOT = "event_log_accounts_without_boot", Warning, [Milestones, ReportedDelays],
        "Accounts of boots and shutdowns whose boot is not in the event logs. They are not reported.";
}

/// A boot without an account counts as finished after this time, ns. Later activities belong to the session.
const DEFAULT_BOOT_NS: i64 = 600_000_000_000;

/// Reads the selected boot of a set of event logs.
///
/// # Errors
/// A file that is not an event log; a boot that the logs do not have.
pub fn open_logs(files: &Files, wanted: TableSet, options: &Options) -> Result<Trace, Error> {
    let mut losses = Losses::new();
    let logs = Logs::read(files, &mut losses)?;
    let place = match &options.boot {
        Some(requested) => Some(logs.find(requested)?),
        None => logs.default_boot(options.purpose),
    };
    let mut trace = logs.trace(place, files, wanted);
    trace.losses.merge(losses);
    Ok(trace)
}

/// Returns a test for the events that are read from logs. Other records only show which time a channel covers.
pub fn logged_event_filter() -> impl Fn(&Record) -> bool {
    let wanted = events::wanted();
    move |record| wanted.contains(&(record.provider.as_str(), record.id))
}

/// Reads several boots of a set of event logs one after another. `choose` gets all boots in chronological order and
/// returns the indexes of those to read; each is passed to `each`.
///
/// # Errors
/// A file that is not an event log.
pub fn read_each_logged_boot(
    files: &Files,
    wanted: TableSet,
    choose: &dyn Fn(&[RecordedBoot]) -> Vec<usize>,
    each: &mut dyn FnMut(&RecordedBoot, &Trace),
) -> Result<Vec<RecordedBoot>, Error> {
    let logs = Logs::read(files, &mut Losses::new())?;
    let list = logs.list(None);
    for place in choose(&list) {
        let Some(boot) = list.get(place) else { continue };
        each(boot, &logs.trace(Some(place), files, wanted));
    }
    Ok(list)
}

/// Maximum number of earlier boots searched for the installed build.
const MAX_BOOTS_SEARCHED: usize = 64;

/// The computers in a set of logs, and their boots.
struct Logs {
    machines: Vec<Machine>,
    /// Index of the computer, and the boot; boots of the computer with the newest record last.
    boots: Vec<(usize, LoggedBoot)>,
    /// The changes before each boot.
    changes: Vec<Vec<Change>>,
}

impl Logs {
    fn read(files: &Files, losses: &mut Losses) -> Result<Self, Error> {
        let machines = collection::read(files, losses)?;
        let (mut boots, mut changes) = (Vec::new(), Vec::new());
        for (index, machine) in machines.iter().enumerate() {
            let (machine_boots, unassigned) = boots::boots(machine);
            losses.add(&ACCOUNTS_WITHOUT_BOOT, unassigned);
            changes.extend(changes::before_boots(machine, &machine_boots));
            boots.extend(machine_boots.into_iter().map(|boot| (index, boot)));
        }
        Ok(Self { machines, boots, changes })
    }

    fn records(&self, place: usize) -> impl Iterator<Item = &Record> {
        let (machine, boot) = &self.boots[place];
        let records = &self.machines[*machine].records;
        boot.records.iter().filter_map(|&index| records.get(index))
    }

    /// Returns the last boot that answers the question best: with an account, otherwise with other evidence, otherwise
    /// the last one.
    fn default_boot(&self, purpose: Purpose) -> Option<usize> {
        let last = |is_suitable: fn(&LoggedBoot) -> bool| self.boots.iter().rposition(|(_, boot)| is_suitable(boot));
        let suitable = match purpose {
            Purpose::Boot => None,
            Purpose::Shutdown => last(|boot| boot.end.account.is_some())
                .or_else(|| last(|boot| boot.is_stopped && boot.start_event.is_some())),
            Purpose::Sleep => last(|boot| boot.has_slept),
        };
        suitable
            .or_else(|| last(|boot| boot.account.is_some()))
            .or_else(|| last(|boot| boot.start_event.is_some()))
            .or_else(|| self.boots.len().checked_sub(1))
    }

    /// Finds a boot by its number as in `--list-boots` (0 is the last, -1 the one before, 1 the first) or by its id.
    fn find(&self, requested: &str) -> Result<usize, Error> {
        let count = self.boots.len();
        let place = match requested.parse::<i64>() {
            Ok(number) if number > 0 => usize::try_from(number).ok().map(|number| number - 1),
            Ok(number) => usize::try_from(number.unsigned_abs()).ok().and_then(|back| count.checked_sub(back + 1)),
            Err(_) => self.list(None).iter().position(|boot| boot.id == requested),
        };
        place
            .filter(|&place| place < count)
            .ok_or_else(|| Error::NoSuchBoot { requested: requested.to_owned(), boots: count })
    }

    fn list(&self, read: Option<usize>) -> Vec<RecordedBoot> {
        let count = i64::try_from(self.boots.len()).unwrap_or(i64::MAX);
        (0..self.boots.len())
            .map(|place| {
                let (machine, boot) = &self.boots[place];
                let last = self.records(place).map(|record| record.time_ns).max();
                RecordedBoot {
                    id: id(boot.power_on_unix_ns()),
                    machine: self.machines[*machine].name.clone(),
                    host: self.records(place).last().map(|record| record.computer.clone()).unwrap_or_default(),
                    number: i64::try_from(place).unwrap_or(i64::MAX) + 1 - count,
                    first_unix_ns: Some(boot.power_on_unix_ns()),
                    last_unix_ns: last,
                    entries: boot.records.len() as u64,
                    kernel_start: Some(boot.start_event.is_some()),
                    started: boot.has_services && boot.start_event.is_some()
                        || boot.account.is_some()
                        || boot.fast_startup.is_some(),
                    fast_startup: boot.fast_startup.is_some(),
                    stopped: boot.is_stopped,
                    read: read == Some(place),
                }
            })
            .collect()
    }

    /// Returns the build of a boot. The record of the kernel has the base of an enablement package, that of the log service
    /// the installed build, which is also that of an earlier boot with the same kernel. 0 if unknown.
    fn build(&self, place: usize) -> u32 {
        let kernel = |place: usize| self.records(place).find_map(|record| record.number("BuildVersion"));
        let own = kernel(place);
        let machine = self.boots[place].0;
        let earlier =
            (0..=place).rev().take(MAX_BOOTS_SEARCHED).take_while(|&earlier| self.boots[earlier].0 == machine);
        let same_kernel =
            earlier.take_while(|&earlier| own.is_none() || kernel(earlier).is_none_or(|base| Some(base) == own));
        let logged = same_kernel.map(|earlier| logged_build(self.records(earlier))).find(|&build| build > 0);
        logged.or_else(|| own?.try_into().ok()).unwrap_or(0)
    }

    fn trace(&self, place: Option<usize>, files: &Files, wanted: TableSet) -> Trace {
        let mut trace = Trace {
            recorder: "Windows event logs".to_owned(),
            files: files.iter().map(recording_file).collect(),
            boots: self.list(place),
            requested_tables: wanted,
            ..Trace::default()
        };
        trace.system.kind = SystemKind::Windows;
        if let Some(place) = place {
            self.fill(place, &mut trace);
        }
        trace
    }

    /// Fills the tables with the boot at `place`.
    fn fill(&self, place: usize, trace: &mut Trace) {
        let (machine, boot) = &self.boots[place];
        let machine = &self.machines[*machine];
        let wants = |table| trace.requested_tables.contains(table);
        let mut records: Vec<(i64, &Record)> =
            self.records(place).map(|record| (boot.axis_ns(record), record)).collect();
        records.sort_by_key(|&(time_ns, record)| (time_ns, record.number));
        let mut texts = Texts::default();
        let mut phases = Phases::default();
        let power_on_ns = boot.axis_of_clock(boot.power_on_unix_ns());
        let default_end_ns = power_on_ns.saturating_add(DEFAULT_BOOT_NS);
        let boot_end_ns = boot.account.as_ref().map_or(default_end_ns, |account| account.idle_ns());
        for &(time_ns, record) in &records {
            if let Some(event) = PhaseEvent::from_log(record, time_ns) {
                phases.on_log_event(&event, time_ns <= boot_end_ns, &mut texts, &mut trace.losses);
            }
        }
        let kernel_start = boot.start_event.filter(|_| boot.fast_startup.is_none());
        if let Some((provider, id)) = kernel_start.filter(|&event| event != (KERNEL_GENERAL, KERNEL_START)) {
            let event = texts.display(format_args!("{provider}/{id}"));
            let name = texts.str(milestone::SYSTEM_START);
            phases.milestones.push_row(Milestone { time_ns: 0, name, event, ..Milestone::UNKNOWN });
        }
        if let Some(account) = &boot.account {
            let event = texts.str(&account.account.event);
            for (time_ns, name, value) in account.milestones() {
                let name = texts.str(name);
                phases.milestones.push_row(Milestone { time_ns, name, value, event, ..Milestone::UNKNOWN });
            }
            if let Some((kind, start_ns, end_ns)) = account.user_wait() {
                phases.activities.push(Activity { kind, start_ns, end_ns: Some(end_ns), event, ..Activity::UNKNOWN });
            }
        }
        let (transitions, firmware_times) = boot.power_transitions(&records, &mut texts);
        transitions.into_iter().for_each(|row| phases.activities.push(row));
        let end_milestones = boot.end_milestones(&records, &mut texts);
        firmware_times.into_iter().chain(end_milestones).for_each(|row| phases.milestones.push_row(row));
        if wants(TableName::Milestones) {
            trace.milestones = std::mem::take(&mut phases.milestones).finish();
        }
        if wants(TableName::Activities) {
            trace.activities = std::mem::take(&mut phases.activities).finish(&phases.processes, &mut trace.losses);
        }
        if wants(TableName::ReportedDelays) {
            trace.reported_delays = reported_delays(boot, machine, &records, &mut texts);
        }
        trace.logged_end = Some(LoggedEnd {
            account: boot.end.account.as_ref().map(|record| record.account.clone()),
            request: ends::request(&records),
            unclean_end: boot.end.unclean_end.clone(),
        });
        if wants(TableName::SystemChanges)
            && let Some(changes) = self.changes.get(place)
        {
            trace.system_changes = changes::table(changes, &mut texts);
        }
        if wants(TableName::ServiceFailures) {
            trace.service_failures = service_failures::table(&records, &mut texts);
        }
        trace.windows_account = boot.account.as_ref().map(|account| account.account.clone());
        trace.channels = machine.channels.clone();
        let mut used: HashSet<&str> = machine.records.iter().map(|record| record.channel.as_str()).collect();
        // Where these reach, there was no change.
        used.extend(onoff_trace::LogChannel::OF_CHANGES.map(|(channel, _)| channel));
        trace.channels.retain(|channel| used.contains(channel.name.as_str()));
        trace.duration_ns = records.iter().map(|&(time_ns, _)| time_ns).max().unwrap_or(0).max(0);
        trace.clock = Clock {
            start_unix_ns: Some(boot.start_unix_ns),
            source: "wall clock",
            ticks_per_second: 10_000_000,
            ..Clock::default()
        };
        trace.system.computer =
            records.last().map(|(_, record)| record.computer.clone()).unwrap_or_else(|| machine.name.clone());
        trace.system.os_build = self.build(place);
        trace.system.os = windows_release(trace.system.os_build, "");
        trace.strings = texts.pool;
    }
}

fn recording_file(file: &onoff_input::opened::SourceFile) -> RecordingFile {
    RecordingFile {
        name: file.name().to_owned(),
        content: "event log",
        bytes: file.stored_bytes(),
        compressed: false,
        finished: true,
    }
}

/// Id of a boot: its start to the second, as `20241115T142834Z`.
fn id(start_unix_ns: i64) -> String {
    let time = onoff_trace::CivilTime::from_unix_ns(start_unix_ns);
    format!("{:04}{:02}{:02}T{:02}{:02}{:02}Z", time.year, time.month, time.day, time.hour, time.minute, time.second)
}

/// The delays that Windows reports for this boot and its shutdown: those with the same start as its account.
fn reported_delays(
    boot: &LoggedBoot,
    machine: &Machine,
    records: &[(i64, &Record)],
    texts: &mut Texts,
) -> onoff_trace::ReportedDelays {
    let of_boot = records
        .iter()
        .filter(|(_, record)| record.provider == DIAGNOSTICS && BOOT_DELAYS.contains(&record.id))
        .filter_map(|(_, record)| Some((account::reported_delay(record)?, ends::event(record))))
        .filter(|(delay, _)| boot.account.is_some() && delay.start_unix_ns == boot.start_unix_ns);
    of_boot
        .chain(boot.shutdown_delays(&machine.records))
        .map(|(delay, event)| {
            let [name, friendly_name, version, path, company]: [StringId; 5] = delay.texts.map(|text| texts.str(&text));
            let event = texts.str(&event);
            onoff_trace::ReportedDelay { name, friendly_name, version, path, company, event, ..delay.row }
        })
        .collect()
}

/// Returns the build that the log service of a boot recorded; 0 if none.
fn logged_build<'a>(records: impl Iterator<Item = &'a Record>) -> u32 {
    let mut versions = records.filter(|record| record.provider == EVENT_LOG && record.id == SYSTEM_VERSION);
    versions.find_map(|record| record.unnamed(1)?.parse().ok()).unwrap_or(0)
}
