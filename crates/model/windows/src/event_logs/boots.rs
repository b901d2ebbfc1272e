//! Finds the boots in a computer's logs.
//!
//! The System log is read by record number, because its times step back: when the log service starts, it writes its own
//! records first, then the end of the previous shutdown, then the kernel's start with an earlier time. Sorting by time
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

/// The steps of a clock that are not the passing of time, with sums for lookups.
#[derive(Clone, Debug, Default)]
struct ClockSteps {
    /// Number of the record in the System log, and the sum of the steps up to it, ns.
    by_number: Vec<(u64, i64)>,
    /// Clock after the step, and the sum of the steps up to that clock, ns.
    by_clock: Vec<(i64, i64)>,
}

impl ClockSteps {
    /// Takes record number, clock after the step, and step, ns; ordered by number.
    fn new(mut steps: Vec<(u64, i64, i64)>) -> Self {
        fn sums<K>(steps: impl Iterator<Item = (K, i64)>) -> Vec<(K, i64)> {
            let add = |sum: &mut i64, (key, step_ns)| {
                *sum = sum.saturating_add(step_ns);
                Some((key, *sum))
            };
            steps.scan(0, add).collect()
        }
        let by_number = sums(steps.iter().map(|&(number, _, step_ns)| (number, step_ns)));
        steps.sort_by_key(|&(_, clock_ns, _)| clock_ns);
        Self { by_number, by_clock: sums(steps.into_iter().map(|(_, clock_ns, step_ns)| (clock_ns, step_ns))) }
    }

    /// Returns the sum of the steps before a record.
    fn before(&self, record: &Record) -> i64 {
        fn sum<K>(sums: &[(K, i64)], is_before: impl Fn(&K) -> bool) -> i64 {
            let count = sums.partition_point(|(key, _)| is_before(key));
            count.checked_sub(1).and_then(|last| sums.get(last)).map_or(0, |&(_, sum)| sum)
        }
        match record.channel == SYSTEM {
            true => sum(&self.by_number, |&number| number < record.number),
            false => sum(&self.by_clock, |&clock_ns| clock_ns <= record.time_ns),
        }
    }
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
    steps: ClockSteps,
}

impl LoggedBoot {
    /// Time of a record on the axis, ns since the kernel's start, without clock steps.
    pub(super) fn axis_ns(&self, record: &Record) -> i64 {
        record.time_ns.saturating_sub(self.start_unix_ns).saturating_sub(self.steps.before(record))
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
    let starts = StartTimes::new(&boots);
    for account in accounts {
        let nearest = starts.nearest(account.start_unix_ns).and_then(|index| boots.get_mut(index));
        if let Some(boot) = nearest.filter(|boot| boot.account.is_none()) {
            // The first record of the boot is some 40 ms later than the start of the account.
            boot.start_unix_ns = account.start_unix_ns;
            boot.account = Some(account);
        }
    }
    let starts = StartTimes::new(&boots);
    add_other_channels(machine, &starts, &mut boots);
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
        if let Some(boot) = starts.running_at(start_ns).and_then(|index| boots.get_mut(index)) {
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
    let mut steps: Vec<Vec<(u64, i64, i64)>> = vec![Vec::new(); boots.len()];
    for &(index, record) in &system {
        let mut boot_index = starts.partition_point(|start| start.number <= record.number);
        let next = starts.get(boot_index);
        if record.provider == EVENT_LOG
            && LOG_START.contains(&record.id)
            && next.is_some_and(|next| next.number - record.number <= LOG_START_RECORDS)
        {
            boot_index += 1;
        }
        let Some(boot) = boots.get_mut(boot_index) else { continue };
        boot.records.push(index);
        if is(record, KERNEL_GENERAL, KERNEL_START) {
            boot.start_unix_ns = record.time_ns;
            boot.start_event = Some((KERNEL_GENERAL, KERNEL_START));
        }
        if is(record, KERNEL_GENERAL, CLOCK_SET)
            && record.number("Reason") != Some(AFTER_SLEEP)
            && let (Some(new_ns), Some(old_ns)) = (record.time("NewTime"), record.time("OldTime"))
        {
            steps[boot_index].push((record.number, new_ns, new_ns.saturating_sub(old_ns)));
        }
    }
    for (boot, steps) in boots.iter_mut().zip(steps) {
        boot.steps = ClockSteps::new(steps);
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
        if is_outside(&record.time_ns) {
            starts.push((record.time_ns, (KERNEL_BOOT, BOOT_RECORD)));
        }
    }
    // Both kinds of evidence of the same boot count once.
    starts.sort_unstable();
    starts.dedup_by(|later, earlier| later.0.abs_diff(earlier.0) <= MAX_ACCOUNT_DISTANCE_NS);
    starts
        .into_iter()
        .map(|(start_unix_ns, event)| LoggedBoot { start_unix_ns, start_event: Some(event), ..LoggedBoot::default() })
        .collect()
}

/// The boots by start, to find one by time. Starts may be out of order where the clock was wrong.
struct StartTimes(Vec<(i64, usize)>);

impl StartTimes {
    fn new(boots: &[LoggedBoot]) -> Self {
        let mut starts: Vec<(i64, usize)> =
            boots.iter().enumerate().map(|(index, boot)| (boot.start_unix_ns, index)).collect();
        starts.sort_unstable();
        Self(starts)
    }

    /// Returns the boot with the latest start that is not after `unix_ns`.
    fn running_at(&self, unix_ns: i64) -> Option<usize> {
        let count = self.0.partition_point(|&(start_ns, _)| start_ns <= unix_ns);
        self.0.get(count.checked_sub(1)?).map(|&(_, index)| index)
    }

    /// Returns the boot whose start is nearest to `unix_ns`, if it is near enough for an account.
    fn nearest(&self, unix_ns: i64) -> Option<usize> {
        let next = self.0.partition_point(|&(start_ns, _)| start_ns < unix_ns);
        let neighbors = [next.checked_sub(1), Some(next)].into_iter().flatten().filter_map(|place| self.0.get(place));
        neighbors
            .map(|&(start_ns, index)| (start_ns.abs_diff(unix_ns), index))
            .filter(|&(distance_ns, _)| distance_ns <= MAX_ACCOUNT_DISTANCE_NS)
            .min()
            .map(|(_, index)| index)
    }
}

/// Adds the records of other channels by their times.
fn add_other_channels(machine: &Machine, starts: &StartTimes, boots: &mut [LoggedBoot]) {
    for (index, record) in machine.records.iter().enumerate() {
        if record.channel == SYSTEM {
            continue;
        }
        // The first records carry the time of the kernel's start, rounded differently.
        let time_ns = record.time_ns.saturating_add(MAX_ACCOUNT_DISTANCE_NS as i64);
        if let Some(boot) = starts.running_at(time_ns).and_then(|index| boots.get_mut(index)) {
            boot.records.push(index);
        }
    }
}
