//! Finds the boots in a computer's logs.
//!
//! The System log is walked by record number, because its times step back: when the log service starts, it writes its
//! own records first, then the end of the previous shutdown, then the kernel's start with an earlier time. Sorting by time
//! fails too, because the clock may be hours off until it is set.

use onoff_event_log::Record;
use onoff_trace::LogChannel;

use super::account::BootAccount;
use super::collection::Machine;
use super::events::{
    BOOT_ACCOUNT, BOOT_RECORD, CLOCK_SET, DIAGNOSTICS, EVENT_LOG, KERNEL_BOOT, KERNEL_GENERAL, KERNEL_POWER,
    KERNEL_START, KERNEL_STOP, LOG_START, POWER_ACTION, SHUTDOWN_ACCOUNT,
};

const SYSTEM: &str = "System";
/// Records of the log service up to this number of records before the kernel's start belong to the new boot.
const LOG_START_RECORDS: u64 = 4;
/// Maximum distance of the start of an account from its boot's first record, ns. Measured: 27 to 50 ms.
const MAX_ACCOUNT_DISTANCE_NS: u64 = 1_000_000_000;
/// Kernel-General/1 with this reason sets the clock after a sleep: the step is real time.
const AFTER_SLEEP: u64 = 2;

/// A step of the clock that is not the passing of time.
#[derive(Clone, Copy, Debug)]
struct ClockStep {
    /// Number of its record in the System log.
    number: u64,
    /// Clock after the step.
    new_ns: i64,
    step_ns: i64,
}

/// A boot, from its kernel's start to the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct LoggedBoot {
    /// Kernel start by the clock of that moment, ns since 1970.
    pub(super) start_unix_ns: i64,
    /// The record that shows its start, as provider and id; `None` if the logs begin later.
    pub(super) start_event: Option<(&'static str, u32)>,
    /// Windows' own account.
    pub(super) account: Option<BootAccount>,
    /// Indexes of its records.
    pub(super) records: Vec<usize>,
    /// True if the log service started: Windows came far enough to run services.
    pub(super) has_services: bool,
    /// True if the kernel recorded an orderly end.
    pub(super) is_stopped: bool,
    steps: Vec<ClockStep>,
}

impl LoggedBoot {
    /// Time of a record on the axis, ns since the kernel's start, without clock steps.
    pub(super) fn axis_ns(&self, record: &Record) -> i64 {
        let is_system = record.channel == SYSTEM;
        let before = |step: &&ClockStep| match is_system {
            true => step.number < record.number,
            false => step.new_ns <= record.time_ns,
        };
        let steps = self.steps.iter().filter(before).fold(0_i64, |sum, step| sum.saturating_add(step.step_ns));
        record.time_ns.saturating_sub(self.start_unix_ns).saturating_sub(steps)
    }
}

fn is(record: &Record, provider: &str, id: u32) -> bool {
    record.id == id && record.provider == provider
}

/// The boots in chronological order.
pub(super) fn boots(machine: &Machine) -> Vec<LoggedBoot> {
    let mut boots = boots_of_system_log(&machine.records);
    let accounts = accounts(&machine.records);
    let system_start_ns = system_channel(machine).map_or(i64::MAX, |system| system.first_unix_ns);
    let (earlier, later): (Vec<_>, Vec<_>) =
        boots_outside_system_log(machine, &accounts).into_iter().partition(|boot| boot.start_unix_ns < system_start_ns);
    boots.splice(0..0, earlier);
    boots.extend(later);
    for account in accounts {
        let distance = |boot: &LoggedBoot| boot.start_unix_ns.abs_diff(account.start_unix_ns);
        let nearest = boots.iter_mut().filter(|boot| boot.account.is_none()).min_by_key(|boot| distance(boot));
        if let Some(boot) = nearest.filter(|boot| distance(boot) <= MAX_ACCOUNT_DISTANCE_NS) {
            // The account has the kernel's start in ms; its first record is some 40 ms later.
            boot.start_unix_ns = account.start_unix_ns;
            boot.account = Some(account);
        }
    }
    add_other_channels(machine, &mut boots);
    for boot in &mut boots {
        for &index in &boot.records {
            let Some(record) = machine.records.get(index) else { continue };
            boot.has_services |= record.provider == EVENT_LOG && LOG_START.contains(&record.id);
            boot.is_stopped |= is(record, KERNEL_GENERAL, KERNEL_STOP) || is(record, KERNEL_POWER, POWER_ACTION);
        }
    }
    // Windows writes its account of a shutdown in the next boot.
    for record in machine.records.iter().filter(|record| is(record, DIAGNOSTICS, SHUTDOWN_ACCOUNT)) {
        let Some(start_ns) = record.time("ShutdownStartTime") else { continue };
        if let Some(boot) = boot_at(&mut boots, start_ns) {
            boot.is_stopped = true;
        }
    }
    boots
}

/// The accounts, oldest first; the last one of several of the same boot.
fn accounts(records: &[Record]) -> Vec<BootAccount> {
    let of_event = records.iter().filter(|record| is(record, DIAGNOSTICS, BOOT_ACCOUNT));
    let mut accounts: Vec<BootAccount> = of_event.filter_map(BootAccount::new).collect();
    accounts.sort_by_key(|account| account.start_unix_ns);
    accounts.dedup_by_key(|account| account.start_unix_ns);
    accounts
}

/// Cuts the System log at each start of a kernel. Records before the first one are a boot without a start.
fn boots_of_system_log(records: &[Record]) -> Vec<LoggedBoot> {
    let system: Vec<(usize, &Record)> =
        records.iter().enumerate().filter(|(_, record)| record.channel == SYSTEM).collect();
    let starts: Vec<&Record> =
        system.iter().map(|&(_, record)| record).filter(|record| is(record, KERNEL_GENERAL, KERNEL_START)).collect();
    let mut boots: Vec<LoggedBoot> = Vec::new();
    // Index 0 is for the records before the first start.
    boots.resize_with(starts.len() + 1, LoggedBoot::default);
    for &(index, record) in &system {
        let mut boot = starts.partition_point(|start| start.number <= record.number);
        let next = starts.get(boot);
        if record.provider == EVENT_LOG
            && LOG_START.contains(&record.id)
            && next.is_some_and(|next| next.number - record.number <= LOG_START_RECORDS)
        {
            boot += 1;
        }
        let Some(boot) = boots.get_mut(boot) else { continue };
        boot.records.push(index);
        if is(record, KERNEL_GENERAL, KERNEL_START) {
            boot.start_unix_ns = record.time_ns;
            boot.start_event = Some((KERNEL_GENERAL, KERNEL_START));
        }
        if is(record, KERNEL_GENERAL, CLOCK_SET)
            && record.number("Reason") != Some(AFTER_SLEEP)
            && let (Some(new_ns), Some(old_ns)) = (record.time("NewTime"), record.time("OldTime"))
        {
            boot.steps.push(ClockStep { number: record.number, new_ns, step_ns: new_ns.saturating_sub(old_ns) });
        }
    }
    if let Some(first) = boots.first_mut() {
        let times = first.records.iter().filter_map(|&index| records.get(index)).map(|record| record.time_ns);
        first.start_unix_ns = times.min().unwrap_or(0);
    }
    boots.retain(|boot| !boot.records.is_empty());
    boots
}

fn system_channel(machine: &Machine) -> Option<&LogChannel> {
    machine.channels.iter().find(|channel| channel.name == SYSTEM)
}

/// Outside the time that the System log covers, boots are known from their accounts and from a record of Kernel-Boot
/// that each boot writes.
fn boots_outside_system_log(machine: &Machine, accounts: &[BootAccount]) -> Vec<LoggedBoot> {
    let system = system_channel(machine);
    let is_outside = |time_ns: &i64| {
        system.is_none_or(|system| {
            *time_ns < system.first_unix_ns.saturating_sub(MAX_ACCOUNT_DISTANCE_NS as i64)
                || *time_ns > system.last_unix_ns
        })
    };
    let of_accounts = accounts.iter().map(|account| account.start_unix_ns).filter(is_outside);
    let mut starts: Vec<_> = of_accounts.map(|start_ns| (start_ns, (DIAGNOSTICS, BOOT_ACCOUNT))).collect();
    for record in machine.records.iter().filter(|record| is(record, KERNEL_BOOT, BOOT_RECORD)) {
        let is_known = |&(start_ns, _): &(i64, _)| start_ns.abs_diff(record.time_ns) <= MAX_ACCOUNT_DISTANCE_NS;
        if is_outside(&record.time_ns) && !starts.iter().any(is_known) {
            starts.push((record.time_ns, (KERNEL_BOOT, BOOT_RECORD)));
        }
    }
    starts.sort_unstable();
    starts
        .into_iter()
        .map(|(start_unix_ns, event)| LoggedBoot { start_unix_ns, start_event: Some(event), ..LoggedBoot::default() })
        .collect()
}

/// The boot that was running at a time. Starts may be out of order where the clock was wrong.
fn boot_at(boots: &mut [LoggedBoot], unix_ns: i64) -> Option<&mut LoggedBoot> {
    boots.iter_mut().filter(|boot| boot.start_unix_ns <= unix_ns).max_by_key(|boot| boot.start_unix_ns)
}

/// Adds the records of other channels by their times.
fn add_other_channels(machine: &Machine, boots: &mut [LoggedBoot]) {
    for (index, record) in machine.records.iter().enumerate() {
        if record.channel == SYSTEM {
            continue;
        }
        // The first records carry the time of the kernel's start, rounded differently.
        let time_ns = record.time_ns.saturating_add(MAX_ACCOUNT_DISTANCE_NS as i64);
        if let Some(boot) = boot_at(boots, time_ns) {
            boot.records.push(index);
        }
    }
}
