//! Finds the boots in a computer's logs.
//!
//! The System log is read by record number, because its times step back: when the log service starts, it writes its own
//! records first, then the end of the previous shutdown, then the kernel's start with an earlier time. Sorting by time
//! fails too, because the clock may be hours off until it is set.

use hashbrown::HashMap;
use onoff_event_log::Record;
use onoff_trace::LogChannel;

use super::account::BootAccount;
use super::collection::Machine;
use super::ends::{self, RecordedEnd};
use super::events::{
    BOOT_ACCOUNT, BOOT_RECORD, BOOT_TYPE, CLOCK_SET, DIAGNOSTICS, EVENT_LOG, KERNEL_BOOT, KERNEL_GENERAL, KERNEL_POWER,
    KERNEL_START, KERNEL_STOP, LOG_NOT_STOPPED, LOG_START, LOG_STOP, POWER_ACTION, POWER_TROUBLESHOOTER, RESUME,
    SHUTDOWN_ACCOUNT, SHUTDOWN_DELAYS, SLEEP, is,
};
use super::power::{self, FastStartup};

const SYSTEM: &str = "System";
/// Records of the log service up to this number of records before the kernel's start belong to the new boot if they
/// are later than that start. The end of the previous boot lies between; up to 26 records were measured on 60 boots.
const LOG_START_RECORDS: u64 = 64;
/// Maximum distance of the start of an account from its boot's first record, ns. Measured: 27 to 50 ms.
const MAX_ACCOUNT_DISTANCE_NS: u64 = 1_000_000_000;
/// A wrong hardware clock is corrected within this time, ns.
const CLOCK_SETTING_NS: i64 = 600_000_000_000;
/// `BootType` of a fast startup.
const FAST_STARTUP: u64 = 1;
/// Kernel-General/1 with this reason sets the clock after a sleep: the step is real time.
const AFTER_SLEEP: u64 = 2;

/// The steps of a clock that are not the passing of time, with sums for lookups.
#[derive(Clone, Debug, Default)]
struct ClockSteps {
    /// Number of the record in the System log, and the sum of the steps up to it, ns.
    by_number: Vec<(u64, i64)>,
    /// Clock after the step, and the sum of the steps up to that clock, ns.
    by_clock: Vec<(i64, i64)>,
    /// Sum of the steps soon after the start, which correct a wrong hardware clock, ns.
    at_start_ns: i64,
}

/// A step of the clock.
#[derive(Clone, Copy, Debug)]
struct ClockStep {
    /// Number of the record in the System log.
    number: u64,
    /// Clock before and after the step, ns since 1970.
    old_unix_ns: i64,
    new_unix_ns: i64,
}

impl ClockStep {
    fn step_ns(self) -> i64 {
        self.new_unix_ns.saturating_sub(self.old_unix_ns)
    }
}

impl ClockSteps {
    /// Takes the steps of a boot, ordered by number.
    fn new(mut steps: Vec<ClockStep>, start_unix_ns: i64) -> Self {
        fn sums<K>(steps: impl Iterator<Item = (K, i64)>) -> Vec<(K, i64)> {
            let add = |sum: &mut i64, (key, step_ns)| {
                *sum = sum.saturating_add(step_ns);
                Some((key, *sum))
            };
            steps.scan(0, add).collect()
        }
        let by_number = sums(steps.iter().map(|step| (step.number, step.step_ns())));
        let earlier_ns = std::iter::once(0).chain(by_number.iter().map(|&(_, sum_ns)| sum_ns));
        let at_start = steps.iter().zip(earlier_ns).take_while(|(step, earlier_ns)| {
            step.old_unix_ns.saturating_sub(*earlier_ns).saturating_sub(start_unix_ns) <= CLOCK_SETTING_NS
        });
        let at_start_ns = at_start.fold(0, |sum: i64, (step, _)| sum.saturating_add(step.step_ns()));
        steps.sort_by_key(|step| step.new_unix_ns);
        Self { by_number, by_clock: sums(steps.iter().map(|step| (step.new_unix_ns, step.step_ns()))), at_start_ns }
    }

    /// Returns the sum of all steps, ns.
    fn total_ns(&self) -> i64 {
        self.by_number.last().map_or(0, |&(_, sum_ns)| sum_ns)
    }

    /// Returns the sum of the steps before a record.
    fn before(&self, record: &Record) -> i64 {
        match record.channel == SYSTEM {
            true => sum_before(&self.by_number, |&number| number < record.number),
            false => self.before_clock(record.time_ns),
        }
    }

    /// Returns the sum of the steps up to a reading of the clock.
    fn before_clock(&self, unix_ns: i64) -> i64 {
        sum_before(&self.by_clock, |&clock_ns| clock_ns <= unix_ns)
    }
}

fn sum_before<K>(sums: &[(K, i64)], is_before: impl Fn(&K) -> bool) -> i64 {
    let count = sums.partition_point(|(key, _)| is_before(key));
    count.checked_sub(1).and_then(|last| sums.get(last)).map_or(0, |&(_, sum)| sum)
}

/// A boot, from its kernel's start to the next one. A fast startup counts as a boot; its records start with the
/// shutdown that wrote the memory image.
#[derive(Clone, Debug, Default)]
pub(super) struct LoggedBoot {
    /// Kernel start, or the decision to shut down before a fast startup, by the clock of that moment, ns since 1970.
    pub(super) start_unix_ns: i64,
    /// Set for a fast startup.
    pub(super) fast_startup: Option<FastStartup>,
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
    /// True if the computer slept, or tried to.
    pub(super) has_slept: bool,
    /// What later boots recorded about its end.
    pub(super) end: RecordedEnd,
    steps: ClockSteps,
}

impl LoggedBoot {
    /// Time of a record on the axis, ns since the kernel's start, without clock steps.
    pub(super) fn axis_ns(&self, record: &Record) -> i64 {
        record.time_ns.saturating_sub(self.start_unix_ns).saturating_sub(self.steps.before(record))
    }

    /// Time of a reading of the clock on the axis, ns.
    pub(super) fn axis_of_clock(&self, unix_ns: i64) -> i64 {
        unix_ns.saturating_sub(self.start_unix_ns).saturating_sub(self.steps.before_clock(unix_ns))
    }

    /// Sum of the steps of the clock that are not the passing of time, ns.
    pub(super) fn clock_steps_ns(&self) -> i64 {
        self.steps.total_ns()
    }

    /// Start by the clock after it was corrected, ns since 1970.
    fn corrected_start_unix_ns(&self) -> i64 {
        self.start_unix_ns.saturating_add(self.steps.at_start_ns)
    }

    /// When the computer was turned on, ns since 1970: the kernel's start, or its resume in a fast startup.
    pub(super) fn power_on_unix_ns(&self) -> i64 {
        self.fast_startup.map_or(self.start_unix_ns, |startup| startup.resume_unix_ns)
    }
}

/// Returns the boots in chronological order, and the number of accounts whose boot is not in the logs.
pub(super) fn boots(machine: &Machine) -> (Vec<LoggedBoot>, u64) {
    let mut boots = boots_of_system_log(&machine.records);
    let accounts = accounts(&machine.records);
    let system_start_ns = system_channel(machine).map_or(i64::MAX, |system| system.first_unix_ns);
    let (earlier, later): (Vec<_>, Vec<_>) =
        boots_outside_system_log(machine, &accounts).into_iter().partition(|boot| boot.start_unix_ns < system_start_ns);
    boots.splice(0..0, earlier);
    boots.extend(later);
    let starts = StartTimes::new(&boots);
    let mut unassigned = 0;
    for account in accounts {
        let nearest = starts.nearest(account.start_unix_ns).and_then(|index| boots.get_mut(index));
        match nearest.filter(|boot| boot.account.is_none() && boot.fast_startup.is_none()) {
            Some(boot) => {
                // The first record of the boot is some 40 ms later than the start of the account.
                if boot.start_unix_ns.abs_diff(account.start_unix_ns) <= MAX_ACCOUNT_DISTANCE_NS {
                    boot.start_unix_ns = account.start_unix_ns;
                }
                boot.account = Some(account);
            }
            None => unassigned += 1,
        }
    }
    let starts = StartTimes::new(&boots);
    add_other_channels(machine, &starts, &mut boots);
    for boot in &mut boots {
        for &index in &boot.records {
            let Some(record) = machine.records.get(index) else { continue };
            // Where the System log does not reach, records of services show that they ran.
            boot.has_services |= record.provider == EVENT_LOG && LOG_START.contains(&record.id)
                || record.channel != SYSTEM && !record.provider.starts_with("Microsoft-Windows-Kernel-");
            boot.is_stopped |= is(record, KERNEL_GENERAL, KERNEL_STOP)
                || is(record, KERNEL_POWER, POWER_ACTION)
                || is(record, EVENT_LOG, LOG_STOP);
            boot.has_slept |= is(record, KERNEL_POWER, SLEEP) || power::is_resume(record);
        }
    }
    // A fast startup shows that the computer was shut down before it, and the kernel remembers a good shutdown.
    for place in 1..boots.len() {
        let was_shut_down = boots.get(place).is_some_and(|boot| {
            let mut own_records = boot.records.iter().filter_map(|&index| machine.records.get(index));
            boot.fast_startup.is_some() || own_records.any(ends::is_good_shutdown)
        });
        if let Some(boot) = boots.get_mut(place - 1) {
            boot.is_stopped |= was_shut_down;
        }
    }
    unassigned += assign_ends(&machine.records, &starts, &mut boots);
    (boots, unassigned)
}

/// The accounts, oldest first; the last one of several of the same boot.
fn accounts(records: &[Record]) -> Vec<BootAccount> {
    let of_event = records.iter().filter(|record| is(record, DIAGNOSTICS, BOOT_ACCOUNT));
    let mut accounts: Vec<BootAccount> = of_event.filter_map(BootAccount::new).collect();
    accounts.sort_by_key(|account| account.start_unix_ns);
    accounts.dedup_by_key(|account| account.start_unix_ns);
    accounts
}

/// A record at which a boot starts.
struct Start {
    /// Number of its first record in the System log.
    number: u64,
    unix_ns: i64,
    event: (&'static str, u32),
    fast_startup: Option<FastStartup>,
}

/// Returns the starts of kernels and the fast startups, by record number.
fn starts_in_system_log(system: &[(usize, &Record)]) -> Vec<Start> {
    let mut starts: Vec<Start> = Vec::new();
    // The last record that announces a sleep, until a resume is recorded.
    let mut sleep: Option<&Record> = None;
    for &(_, record) in system {
        if is(record, KERNEL_POWER, SLEEP) {
            sleep = Some(record);
        } else if is(record, KERNEL_GENERAL, KERNEL_START) {
            sleep = None;
            starts.push(Start {
                number: record.number,
                unix_ns: record.time_ns,
                event: (KERNEL_GENERAL, KERNEL_START),
                fast_startup: None,
            });
        } else if let Some(fast_startup) = FastStartup::new(record) {
            let number = sleep.take().map_or(record.number, |sleep| sleep.number);
            starts.push(Start::from_fast_startup(number, fast_startup));
        } else if is(record, POWER_TROUBLESHOOTER, RESUME) {
            sleep = None;
        } else if is(record, KERNEL_BOOT, BOOT_TYPE)
            && record.number("BootType") == Some(FAST_STARTUP)
            && let Some(sleep) = sleep.filter(|sleep| power::is_off_with_image(sleep))
        {
            // Some fast startups have no record of the resume's account; one with an account replaces this.
            let fast_startup = FastStartup { shutdown_unix_ns: sleep.time_ns, resume_unix_ns: record.time_ns };
            starts.push(Start::from_fast_startup(sleep.number, fast_startup));
        }
    }
    // The account of a resume follows its other records.
    starts.reverse();
    starts.dedup_by_key(|start| start.number);
    starts.reverse();
    starts
}

impl Start {
    fn from_fast_startup(number: u64, fast_startup: FastStartup) -> Self {
        Self {
            number,
            unix_ns: fast_startup.shutdown_unix_ns,
            event: (POWER_TROUBLESHOOTER, RESUME),
            fast_startup: Some(fast_startup),
        }
    }
}

/// Cuts the System log at each start of a kernel and at each fast startup. Records before the first one are a boot
/// without a start.
fn boots_of_system_log(records: &[Record]) -> Vec<LoggedBoot> {
    let system: Vec<(usize, &Record)> =
        records.iter().enumerate().filter(|(_, record)| record.channel == SYSTEM).collect();
    let starts = starts_in_system_log(&system);
    // Index 0 is for the records before the first start.
    let mut boots = vec![LoggedBoot::default()];
    boots.extend(starts.iter().map(|start| LoggedBoot {
        start_unix_ns: start.unix_ns,
        start_event: Some(start.event),
        fast_startup: start.fast_startup,
        ..LoggedBoot::default()
    }));
    let mut steps: Vec<Vec<ClockStep>> = vec![Vec::new(); boots.len()];
    for &(index, record) in &system {
        let mut boot_index = starts.partition_point(|start| start.number <= record.number);
        let next_kernel = starts.get(boot_index).filter(|next| next.fast_startup.is_none());
        if record.provider == EVENT_LOG
            && (LOG_START.contains(&record.id) || record.id == LOG_NOT_STOPPED)
            && next_kernel
                .is_some_and(|next| next.number - record.number <= LOG_START_RECORDS && record.time_ns >= next.unix_ns)
        {
            boot_index += 1;
        }
        let Some(boot) = boots.get_mut(boot_index) else { continue };
        boot.records.push(index);
        if is(record, KERNEL_GENERAL, CLOCK_SET)
            && record.number("Reason") != Some(AFTER_SLEEP)
            && let (Some(new_unix_ns), Some(old_unix_ns)) = (record.time("NewTime"), record.time("OldTime"))
        {
            steps[boot_index].push(ClockStep { number: record.number, old_unix_ns, new_unix_ns });
        }
    }
    if let Some(first) = boots.first_mut() {
        let times = first.records.iter().filter_map(|&index| records.get(index)).map(|record| record.time_ns);
        first.start_unix_ns = times.min().unwrap_or(0);
    }
    for (boot, steps) in boots.iter_mut().zip(steps) {
        boot.steps = ClockSteps::new(steps, boot.start_unix_ns);
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
pub(super) struct StartTimes {
    /// Start by the clock of that moment, ns since 1970, and index of the boot.
    recorded: Vec<(i64, usize)>,
    /// Start by the corrected clock, ns since 1970, and index of the boot.
    corrected: Vec<(i64, usize)>,
}

impl StartTimes {
    fn new(boots: &[LoggedBoot]) -> Self {
        let sorted = |start_of: fn(&LoggedBoot) -> i64| {
            let mut starts: Vec<(i64, usize)> =
                boots.iter().enumerate().map(|(index, boot)| (start_of(boot), index)).collect();
            starts.sort_unstable();
            starts
        };
        Self { recorded: sorted(|boot| boot.start_unix_ns), corrected: sorted(LoggedBoot::corrected_start_unix_ns) }
    }

    /// Returns the boot with the latest start that is not after `unix_ns`. Most records have the corrected clock.
    pub(super) fn running_at(&self, unix_ns: i64) -> Option<usize> {
        let count = self.corrected.partition_point(|&(start_ns, _)| start_ns <= unix_ns);
        self.corrected.get(count.checked_sub(1)?).map(|&(_, index)| index)
    }

    /// Returns the boot whose start is nearest to `unix_ns`, if it is near enough for an account.
    fn nearest(&self, unix_ns: i64) -> Option<usize> {
        let nearest_of = |starts: &[(i64, usize)]| {
            let next = starts.partition_point(|&(start_ns, _)| start_ns < unix_ns);
            let neighbors =
                [next.checked_sub(1), Some(next)].into_iter().flatten().filter_map(|place| starts.get(place));
            neighbors
                .map(|&(start_ns, index)| (start_ns.abs_diff(unix_ns), index))
                .filter(|&(distance_ns, _)| distance_ns <= MAX_ACCOUNT_DISTANCE_NS)
                .min()
                .map(|(_, index)| index)
        };
        nearest_of(&self.recorded).or_else(|| nearest_of(&self.corrected))
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

/// Maximum number of successive boots without the log service.
const MAX_BOOTS_WITHOUT_LOG: usize = 64;

/// Assigns what was recorded about ends to the boots that ended; returns the number of accounts without a boot.
fn assign_ends(records: &[Record], starts: &StartTimes, boots: &mut [LoggedBoot]) -> u64 {
    let mut unassigned = 0;
    let diagnostics = || records.iter().enumerate().filter(|(_, record)| record.provider == DIAGNOSTICS);
    let mut boots_by_start: HashMap<i64, usize> = HashMap::new();
    for (_, record) in diagnostics().filter(|(_, record)| record.id == SHUTDOWN_ACCOUNT) {
        let account = ends::ShutdownRecord::new(record);
        // The start is wrong if the clock was set during the boot, but the end is right.
        let place = account.as_ref().and_then(|account| starts.running_at(account.end_unix_ns));
        match (account, place.and_then(|place| Some((place, boots.get_mut(place)?)))) {
            (Some(account), Some((place, boot))) => {
                boots_by_start.insert(account.start_unix_ns, place);
                boot.is_stopped = true;
                boot.end.account = Some(account.without_clock_steps(boot.clock_steps_ns()));
            }
            _ => unassigned += 1,
        }
    }
    for (index, record) in diagnostics().filter(|(_, record)| SHUTDOWN_DELAYS.contains(&record.id)) {
        let place = record.time("StartTime").and_then(|start_ns| boots_by_start.get(&start_ns));
        match place.and_then(|&place| boots.get_mut(place)) {
            Some(boot) => boot.end.delays.push(index),
            None => unassigned += 1,
        }
    }
    assign_unclean_ends(records, boots);
    unassigned
}

/// Assigns ends without a shutdown. The record of the kernel says more than that of the log service, which notices the
/// end only of a boot in which it ran.
fn assign_unclean_ends(records: &[Record], boots: &mut [LoggedBoot]) {
    for place in 1..boots.len() {
        let Some((earlier, [boot, ..])) = boots.split_at_mut_checked(place) else { continue };
        let mut own_records = boot.records.iter().filter_map(|&index| records.get(index));
        if let Some(unclean_end) = own_records.clone().find_map(ends::kernel_end)
            && let Some(boot) = earlier.last_mut()
        {
            boot.end.unclean_end = Some(unclean_end);
        } else if let Some(unclean_end) = own_records.find_map(ends::log_service_end)
            && let Some(boot) = earlier.iter_mut().rev().take(MAX_BOOTS_WITHOUT_LOG).find(|boot| boot.has_services)
        {
            boot.end.unclean_end = boot.end.unclean_end.take().or(Some(unclean_end).filter(|_| !boot.is_stopped));
        }
    }
}
