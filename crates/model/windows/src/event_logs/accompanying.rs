//! Finds the boot and the shutdown that a trace recorded in event logs of the same computer, and adds Windows' own
//! accounts of them.
//!
//! All starts are wall-clock times. A trace has its start in its header; a boot in event 100 or in the kernel's first
//! record; a shutdown in event 200 or in its first record in the System log. A boot starts with its trace. A shutdown
//! starts within its trace; the analysis compares the exact start, which is not known here. A boot or shutdown of another
//! computer never matches, and neither does a distant start: the clock may have been set,
//! but then nothing shows that it is the same boot.

use onoff_event_log::Record;
use onoff_input::error::Error;
use onoff_input::opened::Files;
use onoff_trace::{AccountSearch, ClockStep, LoggedAccount, LoggedEnd, Losses, Milestone, TableName, Trace, counters};

use super::boots::{LoggedBoot, boots};
use super::collection::{self, Machine};
use super::ends;
use super::events::{
    CLOCK_SET, EVENT_LOG, KERNEL_GENERAL, KERNEL_POWER, KERNEL_STOP, LOG_STOP, POWER_ACTION, SHUTDOWN_REQUEST, USER32,
    is,
};
use super::{DEFAULT_BOOT_NS, Texts, recording_file, reported_delays};
use crate::milestones::MilestoneTracker;
use crate::phase_events::{KERNEL_PROCESSOR_POWER, PhaseEvent};

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

/// A boot or shutdown whose start is known.
struct Candidate<'m> {
    machine: &'m Machine,
    boot: &'m LoggedBoot,
    start_unix_ns: i64,
    start_event: String,
    has_account: bool,
    /// Start minus start of the trace, ns.
    difference_ns: i64,
    /// Distance of the start from the times that match the trace, ns.
    distance_ns: u64,
    is_same_computer: bool,
}

impl<'m> Candidate<'m> {
    fn new(machine: &'m Machine, boot: &'m LoggedBoot, trace: &Trace, start: Start, is_shutdown: bool) -> Option<Self> {
        let trace_start_ns = trace.clock.start_unix_ns?;
        let difference_ns = start.unix_ns.saturating_sub(trace_start_ns);
        // A boot starts with the trace; a shutdown starts within it.
        let end_ns = if is_shutdown { trace.duration_ns.max(0) } else { 0 };
        Some(Self {
            machine,
            boot,
            start_unix_ns: start.unix_ns,
            start_event: start.event,
            has_account: if is_shutdown { boot.end.account.is_some() } else { boot.account.is_some() },
            difference_ns,
            distance_ns: difference_ns.abs_diff(difference_ns.clamp(0, end_ns)),
            is_same_computer: records(machine, boot)
                .any(|record| is_same_computer(&record.computer, &trace.system.computer)),
        })
    }

    fn is_near(&self) -> bool {
        self.distance_ns <= MAX_START_DISTANCE_NS
    }
}

/// The start of a boot or shutdown, and the record with it.
struct Start {
    unix_ns: i64,
    event: String,
}

fn boot_start(boot: &LoggedBoot) -> Option<Start> {
    if boot.fast_startup.is_some() {
        return None;
    }
    let event = match (&boot.account, boot.start_event) {
        (Some(account), _) => account.account.event.clone(),
        (None, Some((provider, id))) => format!("{provider}/{id}"),
        (None, None) => return None,
    };
    Some(Start { unix_ns: boot.start_unix_ns, event })
}

/// Returns the start in Windows' own account of the shutdown, or the first record of the shutdown. Windows writes the
/// account in the next boot.
fn shutdown_start(machine: &Machine, boot: &LoggedBoot) -> Option<Start> {
    if let Some(record) = &boot.end.account {
        return Some(Start { unix_ns: record.corrected_start_unix_ns(), event: record.account.event.clone() });
    }
    let of_event = |provider, id| records(machine, boot).filter(move |record| is(record, provider, id)).last();
    let stops = [(EVENT_LOG, LOG_STOP), (KERNEL_POWER, POWER_ACTION), (KERNEL_GENERAL, KERNEL_STOP)];
    let stop = stops.into_iter().find_map(|(provider, id)| of_event(provider, id));
    let request = || USER32.into_iter().find_map(|provider| of_event(provider, SHUTDOWN_REQUEST));
    let record = stop.or_else(request)?;
    Some(Start { unix_ns: record.time_ns, event: ends::event(record) })
}

/// Adds what event logs say about the boot and the shutdown in a trace.
///
/// # Errors
/// A file that is not an event log.
pub fn add_logged_accounts(logs: &Files, trace: &mut Trace) -> Result<(), Error> {
    let mut losses = Losses::new();
    let machines = collection::read(logs, &mut losses)?;
    // The trace's own tables are complete without these records.
    let damaged = losses.count("event_log_chunks_damaged") + losses.count("event_log_records_unreadable");
    trace.losses.add(&LOGS_DAMAGED, damaged);
    trace.losses.add(&LOGS_NOT_CLOSED, losses.count("event_logs_not_closed"));
    trace.files.extend(logs.iter().map(recording_file));
    let boots: Vec<(&Machine, LoggedBoot)> =
        machines.iter().flat_map(|machine| boots(machine).0.into_iter().map(move |boot| (machine, boot))).collect();
    let boot_candidates: Vec<_> = boots
        .iter()
        .filter_map(|(machine, boot)| Candidate::new(machine, boot, trace, boot_start(boot)?, false))
        .collect();
    let shutdown_candidates: Vec<_> = boots
        .iter()
        .filter_map(|(machine, boot)| Candidate::new(machine, boot, trace, shutdown_start(machine, boot)?, true))
        .collect();
    let (boot_search, boot) = choose(&boot_candidates);
    let (shutdown_search, shutdown) = choose(&shutdown_candidates);
    let mut logged_boot = boot.map(describe).unwrap_or_default();
    logged_boot.search = boot_search;
    logged_boot.clock_steps = boot.map(|boot| clock_steps(boot.machine, boot.boot)).unwrap_or_default();
    let boot = boot.filter(|_| boot_search.has_transition());
    logged_boot.account = boot.and_then(|boot| boot.boot.account.as_ref()).map(|account| account.account.clone());
    let mut logged_shutdown = shutdown.map(describe).unwrap_or_default();
    logged_shutdown.search = shutdown_search;
    let shutdown = shutdown.filter(|_| shutdown_search.has_transition());
    logged_shutdown.end = shutdown.map(|shutdown| logged_end(shutdown, trace));
    if let Some(candidate) = boot.filter(|_| trace.requested_tables.contains(TableName::Milestones)) {
        add_processor_limits(candidate, trace);
    }
    if trace.requested_tables.contains(TableName::ReportedDelays)
        && let Some(candidate) = boot.or(shutdown)
    {
        let Candidate { machine, boot: logged, .. } = *candidate;
        // Only a trace of the boot has the delays of the boot.
        let timed: Vec<(i64, &Record)> = match boot {
            Some(_) => records(machine, logged).map(|record| (logged.axis_ns(record), record)).collect(),
            None => Vec::new(),
        };
        let mut texts = Texts::default();
        texts.pool = std::mem::take(&mut trace.strings);
        trace.reported_delays = reported_delays(logged, machine, &timed, &mut texts);
        trace.strings = texts.pool;
    }
    trace.logged_account = Some(logged_boot);
    trace.logged_shutdown = Some(logged_shutdown);
    Ok(())
}

/// Adds when the firmware limited the speed of processors, which most traces do not contain.
fn add_processor_limits(boot: &Candidate<'_>, trace: &mut Trace) {
    let mut texts = Texts::default();
    texts.pool = std::mem::take(&mut trace.strings);
    let mut tracker = MilestoneTracker::default();
    let is_limit = |record: &&Record| record.provider == KERNEL_PROCESSOR_POWER.name;
    for record in records(boot.machine, boot.boot).filter(is_limit) {
        if let Some(event) = PhaseEvent::from_log(record, boot.boot.axis_ns(record)) {
            // A record without the time says nothing.
            let _ = tracker.on_event(&event, 0, &mut texts);
        }
    }
    let mut rows: Vec<Milestone> = trace.milestones.iter().chain(tracker.finish().iter()).collect();
    rows.sort_by_key(|row| row.time_ns);
    trace.milestones = rows.into_iter().collect();
    trace.strings = texts.pool;
}

/// Chooses the boot or shutdown of the trace, or else the one nearest to it.
fn choose<'c, 'm>(candidates: &'c [Candidate<'m>]) -> (AccountSearch, Option<&'c Candidate<'m>>) {
    let nearest_of = |is_suitable: &dyn Fn(&Candidate<'_>) -> bool| {
        let suitable = candidates.iter().filter(|candidate| is_suitable(candidate));
        suitable.min_by_key(|candidate| (candidate.distance_ns, std::cmp::Reverse(candidate.start_unix_ns)))
    };
    if let Some(candidate) = nearest_of(&|candidate| candidate.is_near() && candidate.is_same_computer) {
        return (search_result(candidate), Some(candidate));
    }
    if let Some(other) = nearest_of(&|candidate| candidate.is_near()) {
        return (AccountSearch::OtherComputer, Some(other));
    }
    let nearest = nearest_of(&|candidate| candidate.is_same_computer).or_else(|| nearest_of(&|_| true));
    (nearest.map_or(AccountSearch::NoTransition, |_| AccountSearch::NoTransitionNear), nearest)
}

/// Returns what the logs say about a shutdown, on the axis of the trace.
fn logged_end(shutdown: &Candidate<'_>, trace: &Trace) -> LoggedEnd {
    let start_unix_ns = trace.clock.start_unix_ns.unwrap_or(0);
    let mut timed: Vec<(i64, &Record)> = records(shutdown.machine, shutdown.boot)
        .map(|record| (record.time_ns.saturating_sub(start_unix_ns), record))
        .collect();
    timed.sort_by_key(|&(time_ns, record)| (time_ns, record.number));
    let end = &shutdown.boot.end;
    LoggedEnd {
        account: end.account.as_ref().map(|record| record.account.clone()),
        request: ends::request(&timed),
        unclean_end: end.unclean_end.clone(),
    }
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

/// Distinguishes a boot or shutdown without an account from logs that do not show whether there is one.
fn search_result(candidate: &Candidate<'_>) -> AccountSearch {
    if candidate.has_account {
        return AccountSearch::Found;
    }
    let start_ns = candidate.start_unix_ns;
    match candidate.machine.channels.iter().find(|channel| channel.name == ACCOUNTS) {
        None => AccountSearch::NoAccountLog,
        Some(channel) if channel.first_unix_ns <= start_ns && channel.last_unix_ns > start_ns => {
            AccountSearch::NotWritten
        }
        Some(_) => AccountSearch::NotCovered,
    }
}

fn describe(candidate: &Candidate<'_>) -> LoggedAccount {
    let machine = candidate.machine;
    let computer = records(machine, candidate.boot).last().map_or(&machine.name, |record| &record.computer);
    LoggedAccount {
        computer: computer.clone(),
        start_unix_ns: Some(candidate.start_unix_ns),
        start_difference_ns: Some(candidate.difference_ns),
        start_event: candidate.start_event.clone(),
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
