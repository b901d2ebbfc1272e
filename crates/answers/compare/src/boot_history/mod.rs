//! Analyzes the boots of one journal, or of one computer's event logs, in sequence: when a part of the startup became slower or faster, which unit
//! explains the change, and which updates preceded it.
//!
//! A change is a change point in the sequence of boots (see [`change_point`]). It is searched for in each part of the
//! startup and, if no part has a change, in the whole startup. A unit or driver of that part explains the change if its
//! own time changed by as much, so that the remaining time did not change.

pub mod change_point;
mod logged_changes;
pub(crate) mod sequence;
pub(crate) mod updates;

use hashbrown::HashMap;
use onoff_trace::{RecordedBoot, SystemKind, TableName, TableSet, Trace};
use serde::Serialize;

use change_point::MIN_SEGMENT_LEN;
use onoff_evidence::rule::Rule;
use onoff_transitions::boot::changes::{ChangesBefore, UncoveredChanges, changes_before};
use onoff_transitions::boot::{self as windows_boot, BootOptions, BootReport};
use onoff_transitions::linux::boot::{self, LinuxBootReport};
use onoff_transitions::{Phase, PhaseName};
use onoff_usage::devices;

/// The tables read for each boot.
pub const TABLES: TableSet = boot::TABLES.union(TableSet::from_names(&[
    TableName::Events,
    TableName::EventFields,
    TableName::ReportedDelays,
    TableName::SystemChanges,
]));

/// Minimum change, ns. Smaller durations are no findings in a single boot either.
pub const MIN_CHANGE_NS: i64 = 300_000_000;
/// Maximum number of updates listed per change.
pub(crate) const MAX_UPDATES: usize = 200;

/// The result of `onoff compare --boots`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootHistory {
    /// Computer name; empty if unknown.
    pub host: String,
    /// Operating system.
    pub system: SystemKind,
    /// Boots in chronological order.
    pub boots: Vec<HistoricBoot>,
    /// Number of skipped boots: of other computers in the journal, or of text logs beside journals.
    pub other_machine_boots: u64,
    /// Minimum number of boots on either side of a change.
    pub min_boots: u64,
    /// Number of random permutations used to test each change.
    pub permutations: u64,
    /// Changes in chronological order.
    pub changes: Vec<BootChange>,
}

/// A boot of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoricBoot {
    /// Boot id as written by the system.
    pub id: String,
    /// Number relative to the last boot, which is 0; earlier boots have negative numbers.
    pub number: i64,
    /// First entry, ns since 1970-01-01 UTC.
    pub first_unix_ns: Option<i64>,
    /// Kernel release, or the build of Windows; empty if unknown.
    pub kernel: String,
    /// Duration from the first known part until all start jobs were done, ns; on Windows, from the kernel's start to the
    /// desktop, without waiting for a person. `None` if the startup did not finish, or if Windows wrote no account of it
    /// (the boot is then not compared).
    pub startup_ns: Option<i64>,
    /// Known parts of the startup.
    pub phases: Vec<PhaseLength>,
}

/// Duration of a part of the startup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseLength {
    /// Part.
    pub phase: String,
    /// Duration, ns.
    pub duration_ns: i64,
}

/// A change between two boots.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootChange {
    /// The part of the startup that changed; `startup` for the whole startup if no single part changed.
    pub phase: String,
    /// Number of the last boot before the change.
    pub last_boot_before: i64,
    /// Number of the first boot after the change.
    pub first_boot_after: i64,
    /// First entry of the first boot after the change, ns since 1970-01-01 UTC.
    pub first_boot_after_unix_ns: Option<i64>,
    /// Number of boots before the change, back to the previous change or the first boot.
    pub boots_before: u64,
    /// Number of boots after the change, up to the next change or the last boot.
    pub boots_after: u64,
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
    /// Share of random permutations of the boots with an equally significant change.
    pub p_value: f64,
    /// Units and drivers whose own time changed in the same direction, best explanation first.
    pub units: Vec<ChangedUnit>,
    /// Updates between the last boot before and the first boot after the change, in chronological order.
    pub updates: Vec<SystemUpdate>,
    /// Number of omitted updates.
    pub omitted_updates: u64,
    /// Changes that the event logs do not cover for the whole time between the two boots.
    pub not_covered: Vec<UncoveredChanges>,
}

/// A unit or driver whose time changed along with a part of the startup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedUnit {
    /// Name.
    pub name: String,
    /// Median before, ns; 0 if absent.
    pub before_ns: i64,
    /// Median after, ns; 0 if absent.
    pub after_ns: i64,
    /// Difference, ns.
    pub difference_ns: i64,
    /// Change of the part without this unit, ns.
    pub remaining_ns: i64,
    /// True if the unit explains the change: little of the change remains without the unit.
    pub explains: bool,
}

/// An update of the computer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemUpdate {
    /// Time, ns since 1970-01-01 UTC; for a version, the start of the first boot that shows it.
    pub unix_ns: Option<i64>,
    /// Kind.
    pub kind: UpdateKind,
    /// Package or command; empty for a version.
    pub name: String,
    /// Old version; empty if unknown.
    pub was: String,
    /// New version; empty if unknown.
    pub is: String,
    /// True if the same update also preceded many other boots, so that it is an unlikely cause.
    pub is_routine: bool,
}

/// Kind of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UpdateKind {
    /// A different kernel version.
    Kernel,
    /// A different version of the service manager.
    ServiceManager,
    /// A package was installed, upgraded or removed.
    Package,
    /// A user ran a package manager with this command.
    Command,
    /// A unit for automatic upgrades ran.
    AutomaticUpgrade,
    /// Windows Update installed an update.
    Update,
    /// Windows Update started to install an update and had not finished before the restart.
    UpdateStarted,
    /// A driver was installed for a device.
    Driver,
    /// A device did not start with its driver.
    DeviceFailed,
    /// A service or a driver service was installed.
    Service,
    /// The start type of a service changed.
    StartType,
    /// A program was installed.
    Program,
    /// A program was removed.
    ProgramRemoved,
}

/// The values of one boot that the history needs.
#[derive(Clone, Debug, Default)]
pub struct BootSample {
    boot: HistoricBoot,
    manager: String,
    /// Own times of units and drivers by (part, name), ns.
    own_ns: HashMap<(String, String), i64>,
    updates: Vec<SystemUpdate>,
    /// What event logs record between the previous boot and this one.
    changes: Option<ChangesBefore>,
}

/// Part name for the whole startup.
const STARTUP: &str = "startup";

impl BootSample {
    /// Samples `boot` from its `trace`.
    #[must_use]
    pub fn from_trace(boot: &RecordedBoot, trace: &Trace) -> Self {
        let versions = updates::versions(trace);
        let mut sample = Self {
            boot: HistoricBoot {
                id: boot.id.clone(),
                number: boot.number,
                first_unix_ns: boot.first_unix_ns,
                kernel: versions.kernel,
                ..HistoricBoot::default()
            },
            manager: versions.manager,
            own_ns: HashMap::new(),
            updates: updates::logged_updates(trace),
            changes: changes_before(trace),
        };
        // A recording without a boot has no times, but its updates count.
        let options = BootOptions::default();
        if trace.system.kind == SystemKind::Windows {
            let build = Some(trace.system.os_build).filter(|&build| build > 0);
            sample.boot.kernel = build.map_or_else(String::new, |build| build.to_string());
            if let Ok(report) = windows_boot::analyze(trace, &options) {
                sample.add_windows(&report);
            }
        } else if let Ok(report) = boot::analyze(trace, &options) {
            sample.add(&report);
        }
        sample
    }

    /// Adds a boot of which Windows wrote an account. The restart after an installation is slower and not comparable.
    fn add_windows(&mut self, report: &BootReport) {
        let account = report.details.windows_account.as_ref().filter(|account| !account.is_after_installation);
        let Some(account) = account else { return };
        self.boot.startup_ns = Some(account.main_path_ns);
        for phase in &report.phases {
            // The two kinds of PostBoot are different quantities.
            if phase.name == PhaseName::PostBoot && !account.is_post_boot_without_idle {
                continue;
            }
            if let Some(duration_ns) = phase.duration_without_input_ns() {
                self.boot.phases.push(PhaseLength { phase: phase.name.as_str().to_owned(), duration_ns });
            }
        }
    }

    fn add(&mut self, report: &LinuxBootReport) {
        // A startup that systemd did not report as finished has no comparable duration.
        let is_finished = |phase: &Phase| phase.name == PhaseName::UserSpace && phase.ends.rule == Rule::StartJobsDone;
        let has_finished = report.phases.iter().any(is_finished);
        self.boot.startup_ns = report.details.startup_ns.filter(|_| has_finished);
        let mut intervals: Vec<(&str, i64, i64)> = Vec::new();
        for phase in report.phases.iter().filter(|phase| PhaseName::LINUX_BOOT.contains(&phase.name)) {
            if let (Some(start_ns), Some(end_ns)) = (phase.start_ns, phase.end_ns)
                && !onoff_blame::account::has_no_path(phase.name.as_str())
            {
                intervals.push((phase.name.as_str(), start_ns, end_ns));
                let duration_ns = end_ns.saturating_sub(start_ns);
                self.boot.phases.push(PhaseLength { phase: phase.name.as_str().to_owned(), duration_ns });
            }
        }
        let phase_at = |time_ns: i64| {
            intervals.iter().find(|&&(_, start, end)| time_ns >= start && time_ns < end).map(|&(name, ..)| name)
        };
        let units = report
            .units
            .iter()
            .filter(|unit| unit.automatic && !unit.name.ends_with(".target"))
            .filter_map(|unit| Some((unit.name.clone(), unit.start_ns, unit.duration_ns?)));
        let drivers =
            report.details.devices.iter().filter_map(|device: &devices::Device| {
                Some((device.driver.clone(), device.start_ns, device.duration_ns?))
            });
        for (name, start_ns, duration_ns) in units.chain(drivers).filter(|(name, ..)| !name.is_empty()) {
            for phase in phase_at(start_ns).into_iter().chain([STARTUP]) {
                let sum = self.own_ns.entry((phase.to_owned(), name.clone())).or_default();
                *sum = sum.saturating_add(duration_ns);
            }
        }
    }
}

impl sequence::Sample for BootSample {
    fn duration_ns(&self, phase: &str) -> Option<i64> {
        self.boot.startup_ns?;
        match phase {
            STARTUP => self.boot.startup_ns,
            _ => self.boot.phases.iter().find(|part| part.phase == phase).map(|part| part.duration_ns),
        }
    }

    fn own_ns(&self) -> &HashMap<(String, String), i64> {
        &self.own_ns
    }
}

/// Finds the changes among boots in chronological order.
#[must_use]
pub fn boot_history(
    (host, system): (String, SystemKind),
    other_machine_boots: u64,
    samples: Vec<BootSample>,
) -> BootHistory {
    let mut phases: Vec<&str> = Vec::new();
    for part in samples.iter().flat_map(|sample| &sample.boot.phases) {
        if !phases.contains(&part.phase.as_str()) {
            phases.push(&part.phase);
        }
    }
    // The probability of a false change covers all parts that are searched.
    let tries = phases.len().max(1);
    let mut changes: Vec<BootChange> = phases.iter().flat_map(|phase| part_changes(&samples, phase, tries)).collect();
    if changes.is_empty() {
        changes = part_changes(&samples, STARTUP, tries);
    }
    changes
        .sort_by(|a, b| (a.first_boot_after, b.difference_ns.abs()).cmp(&(b.first_boot_after, a.difference_ns.abs())));
    BootHistory {
        host,
        system,
        boots: samples.into_iter().map(|sample| sample.boot).collect(),
        other_machine_boots,
        min_boots: MIN_SEGMENT_LEN as u64,
        permutations: change_point::PERMUTATIONS as u64,
        changes,
    }
}

fn part_changes(samples: &[BootSample], phase: &str, tries: usize) -> Vec<BootChange> {
    let mut boot_changes = Vec::new();
    for change in sequence::part_changes(samples, phase, tries, MIN_CHANGE_NS) {
        let (last_before, first_after) = (change.last_before, change.first_after);
        let mut updates = updates::between_boots(samples, last_before, first_after);
        updates.extend(logged_changes::between_boots(samples, last_before, first_after));
        updates.sort_by_key(|update| update.unix_ns);
        let not_covered = logged_changes::not_covered(samples, last_before, first_after);
        let omitted_updates = updates.len().saturating_sub(MAX_UPDATES) as u64;
        updates.truncate(MAX_UPDATES);
        let boot_number = |index: usize| samples.get(index).map_or(0, |sample| sample.boot.number);
        boot_changes.push(BootChange {
            phase: phase.to_owned(),
            last_boot_before: boot_number(last_before),
            first_boot_after: boot_number(first_after),
            first_boot_after_unix_ns: samples.get(first_after).and_then(|sample| sample.boot.first_unix_ns),
            boots_before: change.runs_before,
            boots_after: change.runs_after,
            before_ns: change.before_ns,
            after_ns: change.after_ns,
            difference_ns: change.difference_ns,
            low_ns: change.low_ns,
            high_ns: change.high_ns,
            p_value: change.p_value,
            units: change.subjects,
            updates,
            omitted_updates,
            not_covered,
        });
    }
    boot_changes
}
