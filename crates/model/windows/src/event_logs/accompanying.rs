//! Finds the boot that a trace recorded in event logs of the same computer, and adds Windows' own account of it.
//!
//! Both starts are wall-clock times: that of the trace is in its header, that of the boot in event 100 or in the
//! kernel's first record. A boot of another computer never matches, and neither does a distant start: the clock may
//! have been set, but then nothing shows that it is the same boot.

use onoff_event_log::Record;
use onoff_input::error::Error;
use onoff_input::opened::Files;
use onoff_trace::{AccountSearch, ClockStep, LoggedAccount, Losses, TableName, Trace, counters};

use super::boots::{LoggedBoot, boots};
use super::collection::{self, Machine};
use super::events::{CLOCK_SET, KERNEL_GENERAL};
use super::{DEFAULT_BOOT_NS, Texts, recording_file, reported_delays};

/// Maximum distance of the two starts, ns. Measured between an account and its boot's first record: 27 to 50 ms.
const MAX_START_DISTANCE_NS: u64 = 5_000_000_000;
/// Minimum step of the clock to report, ns. The time service makes smaller ones on many boots.
const MIN_CLOCK_STEP_NS: u64 = 1_000_000_000;
/// Kernel-General/1 with this reason sets the clock after a sleep: the step is real time.
const AFTER_SLEEP: u64 = 2;
/// Maximum length of a NetBIOS name, which is all that some records have.
const MAX_SHORT_NAME: usize = 15;
const SYSTEM: &str = "System";
/// The channel of Windows' own accounts.
const ACCOUNTS: &str = "Microsoft-Windows-Diagnostics-Performance/Operational";

counters! {
    LOGS_DAMAGED = "accompanying_event_logs_damaged", Warning, [ReportedDelays],
        "Damaged chunks and unreadable records of the event logs given with the trace. Their records are missing.";
    LOGS_NOT_CLOSED = "accompanying_event_logs_not_closed", Notice, [],
        "Event logs given with the trace that were copied while open. Their last records may be missing.";
}

/// A boot whose start is known.
struct Candidate<'m> {
    machine: &'m Machine,
    boot: LoggedBoot,
    /// Start of the boot minus start of the trace, ns.
    difference_ns: i64,
    is_same_computer: bool,
}

impl Candidate<'_> {
    fn distance_ns(&self) -> u64 {
        self.difference_ns.unsigned_abs()
    }

    fn is_near(&self) -> bool {
        self.distance_ns() <= MAX_START_DISTANCE_NS
    }
}

/// Adds what event logs say about the boot in a trace.
///
/// # Errors
/// A file that is not an event log.
pub fn add_logged_account(logs: &Files, trace: &mut Trace) -> Result<(), Error> {
    let mut losses = Losses::new();
    let machines = collection::read(logs, &mut losses)?;
    // The trace's own tables are complete without these records.
    let damaged = losses.count("event_log_chunks_damaged") + losses.count("event_log_records_unreadable");
    trace.losses.add(&LOGS_DAMAGED, damaged);
    trace.losses.add(&LOGS_NOT_CLOSED, losses.count("event_logs_not_closed"));
    trace.files.extend(logs.iter().map(recording_file));
    let candidates = candidates(&machines, trace);
    let nearest_of = |is_suitable: &dyn Fn(&Candidate<'_>) -> bool| {
        candidates.iter().filter(|candidate| is_suitable(candidate)).min_by_key(|candidate| candidate.distance_ns())
    };
    let matching = nearest_of(&|candidate| candidate.is_near() && candidate.is_same_computer);
    let (search, candidate) = if let Some(candidate) = matching {
        (search_result(candidate), Some(candidate))
    } else if let Some(other) = nearest_of(&|candidate| candidate.is_near()) {
        (AccountSearch::OtherComputer, Some(other))
    } else {
        let nearest = nearest_of(&|candidate| candidate.is_same_computer).or_else(|| nearest_of(&|_| true));
        (nearest.map_or(AccountSearch::NoBoot, |_| AccountSearch::NoBootNear), nearest)
    };
    let mut logged = candidate.map(describe).unwrap_or_default();
    logged.search = search;
    if let Some(&Candidate { machine, ref boot, .. }) = matching {
        logged.account = boot.account.as_ref().map(|account| account.account.clone());
        if trace.requested_tables.contains(TableName::ReportedDelays) {
            let mut texts = Texts::default();
            texts.pool = std::mem::take(&mut trace.strings);
            let timed: Vec<(i64, &Record)> =
                records(machine, boot).map(|record| (boot.axis_ns(record), record)).collect();
            trace.reported_delays = reported_delays(boot, machine, &timed, &mut texts);
            trace.strings = texts.pool;
        }
    }
    trace.logged_account = Some(logged);
    Ok(())
}

fn candidates<'m>(machines: &'m [Machine], trace: &Trace) -> Vec<Candidate<'m>> {
    let Some(start_unix_ns) = trace.clock.start_unix_ns else { return Vec::new() };
    let mut candidates = Vec::new();
    for machine in machines {
        for boot in boots(machine).0 {
            if boot.fast_startup.is_none() && (boot.start_event.is_some() || boot.account.is_some()) {
                let is_same_computer =
                    records(machine, &boot).any(|record| is_same_computer(&record.computer, &trace.system.computer));
                let difference_ns = boot.start_unix_ns.saturating_sub(start_unix_ns);
                candidates.push(Candidate { machine, boot, difference_ns, is_same_computer });
            }
        }
    }
    candidates
}

fn records<'m>(machine: &'m Machine, boot: &'m LoggedBoot) -> impl Iterator<Item = &'m Record> {
    boot.records.iter().filter_map(|&index| machine.records.get(index))
}

/// Compares the computer names of a log and of a trace. A name that is not recorded fits any computer; a log may have
/// the full name with its domain, or the first 15 characters.
fn is_same_computer(logged: &str, traced: &str) -> bool {
    let host = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
    let (logged, traced) = (host(logged), host(traced));
    let is_short_for = |short: &str, long: &str| short.chars().count() == MAX_SHORT_NAME && long.starts_with(short);
    logged.is_empty()
        || traced.is_empty()
        || logged == traced
        || is_short_for(&logged, &traced)
        || is_short_for(&traced, &logged)
}

/// Tells a boot without an account from logs that do not show whether there is one.
fn search_result(Candidate { machine, boot, .. }: &Candidate<'_>) -> AccountSearch {
    if boot.account.is_some() {
        return AccountSearch::Found;
    }
    let start_ns = boot.start_unix_ns;
    match machine.channels.iter().find(|channel| channel.name == ACCOUNTS) {
        None => AccountSearch::NoAccountLog,
        Some(channel) if channel.first_unix_ns <= start_ns && channel.last_unix_ns > start_ns => {
            AccountSearch::NotWritten
        }
        Some(_) => AccountSearch::NotCovered,
    }
}

fn describe(Candidate { machine, boot, difference_ns, .. }: &Candidate<'_>) -> LoggedAccount {
    let start_event = match (&boot.account, boot.start_event) {
        (Some(account), _) => account.account.event.clone(),
        (None, Some((provider, id))) => format!("{provider}/{id}"),
        (None, None) => String::new(),
    };
    let computer = records(machine, boot).last().map_or(&machine.name, |record| &record.computer);
    LoggedAccount {
        computer: computer.clone(),
        start_unix_ns: Some(boot.start_unix_ns),
        start_difference_ns: Some(*difference_ns),
        start_event,
        clock_steps: clock_steps(machine, boot),
        channels: machine.channels.clone(),
        ..LoggedAccount::default()
    }
}

/// Returns the steps of the clock until the computer was idle.
fn clock_steps(machine: &Machine, boot: &LoggedBoot) -> Vec<ClockStep> {
    let end_ns = boot.account.as_ref().map_or(DEFAULT_BOOT_NS, |account| account.idle_ns());
    let mut steps = Vec::new();
    let mut sum_ns = 0_i64;
    for record in records(machine, boot) {
        let is_step = record.channel == SYSTEM
            && record.provider == KERNEL_GENERAL
            && record.id == CLOCK_SET
            && record.number("Reason") != Some(AFTER_SLEEP);
        let times = record.time("OldTime").zip(record.time("NewTime"));
        let Some((old_ns, new_ns)) = times.filter(|_| is_step) else { continue };
        let time_ns = old_ns.saturating_sub(boot.start_unix_ns).saturating_sub(sum_ns);
        let step_ns = new_ns.saturating_sub(old_ns);
        sum_ns = sum_ns.saturating_add(step_ns);
        if step_ns.unsigned_abs() >= MIN_CLOCK_STEP_NS && time_ns <= end_ns {
            steps.push(ClockStep { time_ns, step_ns });
        }
    }
    steps
}
