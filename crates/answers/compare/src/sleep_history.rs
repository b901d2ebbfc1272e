//! Analyzes the sleeps of one computer in sequence: how long each took, which failed, when a part of them became slower
//! or faster, which device explains the change, and which updates preceded it.
//!
//! Sleeps of each kind are compared with each other, as [`boot_history`](crate::boot_history) compares boots.

use hashbrown::HashMap;
use onoff_evidence::Certainty;
use onoff_trace::{RecordedBoot, SystemKind, TableName, TableSet, Trace};
use onoff_transitions::linux::suspend::{self, LinuxSleep, SleepOutcome};
use onoff_transitions::suspend::SuspendOptions;
use onoff_transitions::{SuspendStage, Variant};
use serde::Serialize;

use crate::boot_history::change_point::{MIN_SEGMENT_LEN, PERMUTATIONS, find_changes};
use crate::boot_history::sequence::{PartChange, Sample, part_changes};
use crate::boot_history::{ChangedUnit, MAX_UPDATES, PhaseLength, SystemUpdate, UpdateKind, updates};

/// The tables read for each boot.
pub const TABLES: TableSet = suspend::TABLES.union(TableSet::from_names(&[
    TableName::Events,
    TableName::EventFields,
    TableName::ServiceTransitions,
]));

/// Minimum change, ns. Smaller durations are no findings in a single sleep either.
pub const MIN_CHANGE_NS: i64 = 300_000_000;

/// Part names for the halves of a sleep.
const HALVES: [&str; 2] = ["suspend", "resume"];

/// The result of `onoff compare --sleeps`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepHistory {
    /// Computer name; empty if unknown.
    pub host: String,
    /// Sleeps in chronological order.
    pub sleeps: Vec<HistoricSleep>,
    /// Number of earlier sleeps that were omitted.
    pub omitted_sleeps: u64,
    /// Number of boots that were read.
    pub boots: u64,
    /// Number of skipped boots: of other computers in the journal, or of text logs beside journals.
    pub other_machine_boots: u64,
    /// Minimum number of sleeps on either side of a change.
    pub min_sleeps: u64,
    /// Number of random permutations used to test each change.
    pub permutations: u64,
    /// Changes of durations in chronological order.
    pub changes: Vec<SleepChange>,
    /// Changes of the share of sleeps that fail, in chronological order.
    pub failure_changes: Vec<FailureChange>,
}

/// A sleep of the history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoricSleep {
    /// Number relative to the last sleep, which is 0; earlier sleeps have negative numbers.
    pub number: i64,
    /// Number of its boot, as for `--boot`.
    pub boot: i64,
    /// Number in its boot, as for `--transition`.
    pub transition: u32,
    /// Start, ns since 1970-01-01 UTC.
    pub start_unix_ns: Option<i64>,
    /// Kernel release; empty if unknown.
    pub kernel: String,
    /// Kind of sleep.
    pub variant: Variant,
    pub outcome: SleepOutcome,
    /// True if the sleep was aborted, or if the computer did not wake up: its end was not recorded and another boot
    /// followed.
    pub failed: bool,
    /// Error number of an aborted sleep (negative); `None` if not recorded.
    pub error: Option<i32>,
    /// Why it was aborted, as reported by the kernel.
    pub refusals: Vec<String>,
    /// The kernel's message when it crashed (oops, BUG, panic) during the sleep; empty if it did not.
    pub crash: String,
    /// From the decision until the machine entered the sleep state, ns.
    pub suspend_ns: Option<i64>,
    /// Time asleep, ns.
    pub asleep_ns: Option<i64>,
    /// From leaving the sleep state until processes were thawed, ns.
    pub resume_ns: Option<i64>,
    /// Suspend and resume, ns; of a failed sleep, from the decision to its exit.
    pub total_ns: Option<i64>,
    /// What woke the machine.
    pub wake_sources: Vec<String>,
    /// Charge used by all batteries, µWh; negative if they were charged; `None` if not recorded.
    pub battery_used_uwh: Option<i64>,
    /// Time in the hardware low-power state as a percentage of the time asleep; `None` if not recorded.
    pub low_power_percent: Option<f64>,
    /// Known phases except the time asleep, each summed.
    pub phases: Vec<PhaseLength>,
    /// The device with the longest callbacks, with its driver in parentheses; empty if not recorded.
    pub slowest_device: String,
    /// Total time of its callbacks, ns.
    pub slowest_device_ns: Option<i64>,
}

/// A change of a duration between two sleeps.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepChange {
    /// Kind of sleep.
    pub variant: Variant,
    /// The phase that changed; `suspend` or `resume` for a whole half if no single phase changed.
    pub phase: String,
    /// Number of the last sleep before the change.
    pub last_sleep_before: i64,
    /// Number of the first sleep after the change.
    pub first_sleep_after: i64,
    /// Start of the first sleep after the change, ns since 1970-01-01 UTC.
    pub first_sleep_after_unix_ns: Option<i64>,
    /// Number of sleeps before the change, back to the previous change or the first sleep.
    pub sleeps_before: u64,
    /// Number of sleeps after the change, up to the next change or the last sleep.
    pub sleeps_after: u64,
    /// Median before, ns.
    pub before_ns: i64,
    /// Median after, ns.
    pub after_ns: i64,
    /// Difference, ns.
    pub difference_ns: i64,
    /// Lower end of the 95 % confidence interval of the difference, ns.
    pub low_ns: i64,
    /// Upper end of the confidence interval, ns.
    pub high_ns: i64,
    /// Share of random permutations of the sleeps with an equally significant change.
    pub p_value: f64,
    /// Devices whose callbacks changed in the same direction, best explanation first.
    pub devices: Vec<ChangedUnit>,
    /// Updates between the two sleeps, in chronological order.
    pub updates: Vec<SystemUpdate>,
    /// Number of omitted updates.
    pub omitted_updates: u64,
}

/// A change of the share of sleeps that fail.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureChange {
    /// Kind of sleep.
    pub variant: Variant,
    /// Number of the last sleep before the change.
    pub last_sleep_before: i64,
    /// Number of the first sleep after the change.
    pub first_sleep_after: i64,
    /// Start of the first sleep after the change, ns since 1970-01-01 UTC.
    pub first_sleep_after_unix_ns: Option<i64>,
    /// Number of sleeps before the change, back to the previous change or the first sleep.
    pub sleeps_before: u64,
    /// How many of them failed.
    pub failed_before: u64,
    /// Number of sleeps after the change, up to the next change or the last sleep.
    pub sleeps_after: u64,
    /// How many of them failed.
    pub failed_after: u64,
    /// Share of random permutations of the sleeps with an equally significant change.
    pub p_value: f64,
    /// Updates between the two sleeps, in chronological order.
    pub updates: Vec<SystemUpdate>,
    /// Number of omitted updates.
    pub omitted_updates: u64,
}

/// The values of one boot that the history needs.
#[derive(Clone, Debug, Default)]
pub struct BootSleeps {
    sleeps: Vec<SleepSample>,
    versions: updates::Versions,
    updates: Vec<SystemUpdate>,
}

/// The values of one sleep.
#[derive(Clone, Debug)]
struct SleepSample {
    sleep: HistoricSleep,
    /// Callback times by (phase, device), ns.
    own_ns: HashMap<(String, String), i64>,
    /// Position of its boot.
    boot_index: usize,
}

impl BootSleeps {
    /// Samples the sleeps of `boot` from its `trace`. A boot without sleeps still has updates.
    #[must_use]
    pub fn from_trace(boot: &RecordedBoot, trace: &Trace) -> Self {
        let versions = updates::versions(trace);
        let report = match trace.system.kind {
            SystemKind::Linux => suspend::analyze(trace, &SuspendOptions::default()).ok(),
            SystemKind::Windows | SystemKind::Unknown => None,
        };
        let sleeps = report.map_or_else(Vec::new, |report| {
            report.transitions.iter().map(|sleep| sample((boot.number, &versions.kernel), sleep, trace)).collect()
        });
        Self { sleeps, updates: updates::logged_updates(trace), versions }
    }
}

fn sample((boot, kernel): (i64, &str), sleep: &LinuxSleep, trace: &Trace) -> SleepSample {
    let mut phases: Vec<PhaseLength> = Vec::new();
    for phase in sleep.phases.iter().filter(|phase| phase.half != Some(SuspendStage::Asleep)) {
        let Some(duration_ns) = phase.duration_ns else { continue };
        match phases.iter_mut().find(|known| known.phase == phase.name.as_str()) {
            Some(known) => known.duration_ns = known.duration_ns.saturating_add(duration_ns),
            None => phases.push(PhaseLength { phase: phase.name.as_str().to_owned(), duration_ns }),
        }
    }
    let name = |device: &str, driver: &str| match driver {
        "" => device.to_owned(),
        driver => format!("{device} ({driver})"),
    };
    let mut own_ns: HashMap<(String, String), i64> = HashMap::new();
    for callback in &sleep.details.callbacks {
        if let (Some(phase), Some(duration_ns)) = (callback.details.phase, callback.duration_ns) {
            let key = (phase.as_str().to_owned(), name(&callback.device, &callback.driver));
            let sum = own_ns.entry(key).or_default();
            *sum = sum.saturating_add(duration_ns);
        }
    }
    for device in &sleep.details.devices {
        for (half, duration_ns) in HALVES.iter().zip([device.suspend_ns, device.resume_ns]) {
            own_ns.insert(((*half).to_owned(), name(&device.device, &device.driver)), duration_ns);
        }
    }
    let slowest = sleep.details.devices.first().filter(|device| device.total_ns > 0);
    let batteries = &sleep.details.batteries;
    let used_uwh = batteries.iter().fold(0_i64, |sum, battery| sum.saturating_add(battery.used_uwh));
    let has_failed = matches!(sleep.details.outcome, SleepOutcome::Aborted | SleepOutcome::Crashed);
    let historic = HistoricSleep {
        number: 0,
        boot,
        transition: sleep.number,
        start_unix_ns: sleep.start_ns.and_then(|start_ns| trace.clock.unix_ns(start_ns)),
        kernel: kernel.to_owned(),
        variant: sleep.variant,
        outcome: sleep.details.outcome,
        failed: has_failed,
        error: sleep.details.error,
        refusals: sleep.details.refusals.clone(),
        crash: sleep.details.crash.clone(),
        suspend_ns: sleep.details.suspend.duration_ns,
        asleep_ns: sleep.details.asleep.slept_ns,
        resume_ns: sleep.details.resume.duration_ns,
        total_ns: sleep.total_ns.filter(|_| sleep.total_certainty != Certainty::Missing),
        wake_sources: sleep.details.wake_sources.iter().map(|source| source.name.clone()).collect(),
        battery_used_uwh: (!batteries.is_empty()).then_some(used_uwh),
        low_power_percent: sleep.details.low_power.as_ref().and_then(|power| power.hardware_percent),
        phases,
        slowest_device: slowest.map_or_else(String::new, |device| name(&device.device, &device.driver)),
        slowest_device_ns: slowest.map(|device| device.total_ns),
    };
    SleepSample { sleep: historic, own_ns, boot_index: 0 }
}

impl Sample for &SleepSample {
    fn duration_ns(&self, part: &str) -> Option<i64> {
        // Aborted and unfinished sleeps have no comparable duration.
        if !matches!(self.sleep.outcome, SleepOutcome::Slept | SleepOutcome::Unknown) {
            return None;
        }
        match part {
            "suspend" => self.sleep.suspend_ns,
            "resume" => self.sleep.resume_ns,
            _ => self.sleep.phases.iter().find(|phase| phase.phase == part).map(|phase| phase.duration_ns),
        }
    }

    fn own_ns(&self) -> &HashMap<(String, String), i64> {
        &self.own_ns
    }
}

/// Finds the changes among the last `count` sleeps of `boots`, which are in chronological order.
#[must_use]
pub fn sleep_history(host: String, other_machine_boots: u64, mut boots: Vec<BootSleeps>, count: usize) -> SleepHistory {
    let last_boot = boots.len().saturating_sub(1);
    let mut samples: Vec<SleepSample> = Vec::new();
    for (boot_index, boot) in boots.iter_mut().enumerate() {
        for mut sample in std::mem::take(&mut boot.sleeps) {
            sample.boot_index = boot_index;
            sample.sleep.failed |= sample.sleep.outcome == SleepOutcome::Unfinished && boot_index < last_boot;
            samples.push(sample);
        }
    }
    let omitted = samples.len().saturating_sub(count);
    let mut samples = samples.split_off(omitted);
    let total = samples.len() as i64;
    for (number, sample) in (1..).zip(&mut samples) {
        sample.sleep.number = number - total;
    }
    let mut variants: Vec<Variant> = Vec::new();
    for sample in &samples {
        if !variants.contains(&sample.sleep.variant) {
            variants.push(sample.sleep.variant);
        }
    }
    let (mut changes, mut failure_changes) = (Vec::new(), Vec::new());
    for &variant in &variants {
        let of_variant: Vec<&SleepSample> = samples.iter().filter(|sample| sample.sleep.variant == variant).collect();
        changes.extend(duration_changes(variant, &of_variant, &boots, variants.len()));
        failure_changes.extend(changed_failures(variant, &of_variant, &boots, variants.len()));
    }
    changes.sort_by(|a: &SleepChange, b| {
        (a.first_sleep_after, b.difference_ns.abs()).cmp(&(b.first_sleep_after, a.difference_ns.abs()))
    });
    failure_changes.sort_by_key(|change: &FailureChange| change.first_sleep_after);
    SleepHistory {
        host,
        sleeps: samples.into_iter().map(|sample| sample.sleep).collect(),
        omitted_sleeps: omitted as u64,
        boots: boots.len() as u64,
        other_machine_boots,
        min_sleeps: MIN_SEGMENT_LEN as u64,
        permutations: PERMUTATIONS as u64,
        changes,
        failure_changes,
    }
}

/// Finds the changes of the phases of `samples`, which are of one variant; otherwise of the halves.
fn duration_changes(
    variant: Variant,
    samples: &[&SleepSample],
    boots: &[BootSleeps],
    variants: usize,
) -> Vec<SleepChange> {
    let mut phases: Vec<&str> = Vec::new();
    for phase in samples.iter().flat_map(|sample| &sample.sleep.phases) {
        if !phases.contains(&phase.phase.as_str()) {
            phases.push(&phase.phase);
        }
    }
    // The probability of a false change covers all parts and variants that are searched.
    let search = |parts: &[&str]| -> Vec<SleepChange> {
        let tries = parts.len().max(1).saturating_mul(variants);
        let mut found: Vec<(&str, PartChange)> = Vec::new();
        for &part in parts {
            found.extend(part_changes(samples, part, tries, MIN_CHANGE_NS).into_iter().map(|change| (part, change)));
        }
        let found = found.into_iter().filter_map(|(phase, change)| {
            let (before, after) = (samples.get(change.last_before)?, samples.get(change.first_after)?);
            let (updates, omitted_updates) = updates_between(before, after, boots);
            Some(SleepChange {
                variant,
                phase: phase.to_owned(),
                last_sleep_before: before.sleep.number,
                first_sleep_after: after.sleep.number,
                first_sleep_after_unix_ns: after.sleep.start_unix_ns,
                sleeps_before: change.runs_before,
                sleeps_after: change.runs_after,
                before_ns: change.before_ns,
                after_ns: change.after_ns,
                difference_ns: change.difference_ns,
                low_ns: change.low_ns,
                high_ns: change.high_ns,
                p_value: change.p_value,
                devices: change.subjects,
                updates,
                omitted_updates,
            })
        });
        found.collect()
    };
    let changes = search(&phases);
    if changes.is_empty() { search(&HALVES) } else { changes }
}

/// Finds the changes of the share of sleeps that fail.
fn changed_failures(
    variant: Variant,
    samples: &[&SleepSample],
    boots: &[BootSleeps],
    variants: usize,
) -> Vec<FailureChange> {
    let failures: Vec<i64> = samples.iter().map(|sample| i64::from(sample.sleep.failed)).collect();
    let failed = |range: std::ops::Range<usize>| failures.get(range).unwrap_or_default().iter().sum::<i64>().max(0);
    let changes = find_changes(&failures, variants).into_iter().filter_map(|change| {
        let last_before = change.position.checked_sub(1)?;
        let (before, after) = (samples.get(last_before)?, samples.get(change.position)?);
        let (updates, omitted_updates) = updates_between(before, after, boots);
        Some(FailureChange {
            variant,
            last_sleep_before: before.sleep.number,
            first_sleep_after: after.sleep.number,
            first_sleep_after_unix_ns: after.sleep.start_unix_ns,
            sleeps_before: change.position.saturating_sub(change.start) as u64,
            failed_before: failed(change.start..change.position).unsigned_abs(),
            sleeps_after: change.end.saturating_sub(change.position) as u64,
            failed_after: failed(change.position..change.end).unsigned_abs(),
            p_value: change.p_value,
            updates,
            omitted_updates,
        })
    });
    changes.collect()
}

/// Returns the updates between two sleeps, and the number of omitted ones.
fn updates_between(before: &SleepSample, after: &SleepSample, boots: &[BootSleeps]) -> (Vec<SystemUpdate>, u64) {
    let range = before.boot_index..=after.boot_index;
    let read_boots = boots.get(range).unwrap_or_default();
    let is_between = |update: &&SystemUpdate| match update.unix_ns {
        Some(unix_ns) => {
            before.sleep.start_unix_ns.is_none_or(|start_ns| unix_ns > start_ns)
                && after.sleep.start_unix_ns.is_none_or(|start_ns| unix_ns <= start_ns)
        }
        None => true,
    };
    let mut found: Vec<SystemUpdate> =
        read_boots.iter().flat_map(|boot| &boot.updates).filter(is_between).cloned().collect();
    if let (Some(first), Some(last)) = (read_boots.first(), read_boots.last()) {
        for (kind, was, is) in [
            (UpdateKind::Kernel, &first.versions.kernel, &last.versions.kernel),
            (UpdateKind::ServiceManager, &first.versions.manager, &last.versions.manager),
        ] {
            found.extend(updates::version_change(kind, was, is, after.sleep.start_unix_ns));
        }
    }
    found.sort_by_key(|update| update.unix_ns);
    let omitted = found.len().saturating_sub(MAX_UPDATES) as u64;
    found.truncate(MAX_UPDATES);
    (found, omitted)
}
