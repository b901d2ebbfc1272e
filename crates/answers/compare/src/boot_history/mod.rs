//! The boots of one journal, one after the other: since when a part of the start takes longer or shorter, whose time explains it, and what
//! was changed on the computer before.
//!
//! A change is a place in the order of the boots (see [`change_point`]), sought in each part of the start and, where no part has one, in the
//! whole. What explains it is a unit or a driver of that part whose own time changed as much, so that the rest of the part did not change.

pub mod change_point;
mod updates;

use hashbrown::{HashMap, HashSet};
use onoff_trace::{RecordedBoot, TableName, Tables, Trace};
use serde::Serialize;

use crate::statistics::{chance, interval, median};
use change_point::{MIN_SIDE, changes};
use onoff_evidence::rule::Rule;
use onoff_transitions::boot::BootOptions;
use onoff_transitions::linux::boot::{self, LinuxBootReport};
use onoff_transitions::{Phase, PhaseName};
use onoff_usage::devices;

/// The tables that are read of each boot.
pub const TABLES: Tables = boot::TABLES.union(Tables::of(&[TableName::Events, TableName::EventFields]));

/// A change that is smaller is none, ns: what costs less is no finding of a single boot either.
pub const MIN_CHANGE_NS: i64 = 300_000_000;
/// Nor is one below this part of what the part took: a thirtieth, 3 %.
const MIN_SHARE: i64 = 30;
/// What leaves less than this part of a change unexplained explains it: a quarter. Chosen.
const EXPLAINS: i64 = 4;
/// Units named for a change, at most.
const MAX_NAMED: usize = 5;
/// Updates listed for a change, at most.
const MAX_UPDATES: usize = 200;

/// The answer of `onoff compare --boots`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootHistory {
    /// Name of the computer; empty when no entry names it.
    pub host: String,
    /// The boots, in the order in which they began.
    pub boots: Vec<HistoricBoot>,
    /// Boots of other computers that the journal holds too; they are left out.
    pub of_other_machines: u64,
    /// Boots on either side of a change, at least.
    pub least_boots: u64,
    /// Random orders of the boots that each change was compared with.
    pub orders_tried: u64,
    /// The changes, in the order of time.
    pub changes: Vec<BootChange>,
}

/// A boot of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoricBoot {
    /// Id as the system writes it.
    pub id: String,
    /// Number, counted from the last, which is 0, back.
    pub number: i64,
    /// First entry, ns since 1970-01-01 UTC.
    pub first_unix_ns: Option<i64>,
    /// Release of its kernel; empty when not known.
    pub kernel: String,
    /// From the first part that is known until every job of the start was done, ns; `None` when it was not finished: such a boot is not compared.
    pub startup_ns: Option<i64>,
    /// The parts of the start that are known.
    pub phases: Vec<PhaseLength>,
}

/// How long a part of a start took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseLength {
    /// The part.
    pub phase: String,
    /// Its length, ns.
    pub duration_ns: i64,
}

/// A change between two boots.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootChange {
    /// The part of the start that changed; `startup` for the whole, where no part did by itself.
    pub phase: String,
    /// Number of the last boot before it.
    pub last_before: i64,
    /// Number of the first boot after it.
    pub first_after: i64,
    /// First entry of that boot, ns since 1970-01-01 UTC.
    pub first_after_unix_ns: Option<i64>,
    /// Boots before it, back to the change before, or to the first.
    pub boots_before: u64,
    /// Boots from it on, up to the next change, or to the last.
    pub boots_after: u64,
    /// Median before, ns.
    pub was_ns: i64,
    /// Median after, ns.
    pub is_ns: i64,
    /// The one less the other, ns.
    pub difference_ns: i64,
    /// The 95 % interval of the difference, ns.
    pub low_ns: i64,
    /// Its upper end, ns.
    pub high_ns: i64,
    /// Share of random orders of the boots that show a change as clear somewhere.
    pub p_value: f64,
    /// Units and drivers whose own time changed the same way, what explains most first.
    pub units: Vec<ChangedUnit>,
    /// What was changed on the computer from the last boot before to the first after, in the order of time.
    pub updates: Vec<SystemUpdate>,
    /// Updates that are not listed, because there are too many.
    pub updates_left_out: u64,
}

/// A unit or a driver whose time changed with a part of the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangedUnit {
    /// Its name.
    pub name: String,
    /// Median before, ns; 0 for one that was not there.
    pub was_ns: i64,
    /// Median after, ns; 0 for one that is gone.
    pub is_ns: i64,
    /// The one less the other, ns.
    pub difference_ns: i64,
    /// By how much the part of the start changed without it, ns.
    pub left_ns: i64,
    /// Whether it explains the change: without it nothing of weight is left.
    pub explains: bool,
}

/// Something that was changed on the computer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemUpdate {
    /// When, ns since 1970-01-01 UTC; of a version, when the boot that shows it began.
    pub unix_ns: Option<i64>,
    /// What.
    pub kind: UpdateKind,
    /// The package, or what was run; of a version, empty.
    pub name: String,
    /// Version before; empty when not known.
    pub was: String,
    /// Version after; empty when not known.
    pub is: String,
}

/// What was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UpdateKind {
    /// Another kernel runs.
    Kernel,
    /// Another version of the service manager runs.
    ServiceManager,
    /// A package manager installed, upgraded or removed this package.
    Package,
    /// Somebody ran a package manager with this command.
    Command,
    /// A unit that upgrades packages by itself ran.
    AutomaticUpgrade,
}

/// What is kept of one boot while others are read.
#[derive(Clone, Debug, Default)]
pub struct BootSample {
    boot: HistoricBoot,
    manager: String,
    /// By part and name: own times of its units and drivers, ns.
    own_ns: HashMap<(String, String), i64>,
    updates: Vec<SystemUpdate>,
}

/// The whole start, where a part is named.
const STARTUP: &str = "startup";

impl BootSample {
    /// What `trace`, which is of `boot`, says.
    #[must_use]
    pub fn of(boot: &RecordedBoot, trace: &Trace) -> Self {
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
            updates: updates::found(trace),
        };
        // What holds no boot has no times; its updates count.
        if let Ok(report) = boot::analyze(trace, &BootOptions::default()) {
            sample.add(&report);
        }
        sample
    }

    fn add(&mut self, report: &LinuxBootReport) {
        // A start that systemd does not call finished has no length to compare.
        let is_finished = |phase: &Phase| phase.name == PhaseName::UserSpace && phase.ends.rule == Rule::StartJobsDone;
        let finished = report.phases.iter().any(is_finished);
        self.boot.startup_ns = report.details.startup_ns.filter(|_| finished);
        let mut spans: Vec<(&str, i64, i64)> = Vec::new();
        for phase in report.phases.iter().filter(|phase| PhaseName::LINUX_BOOT.contains(&phase.name)) {
            if let (Some(start_ns), Some(end_ns)) = (phase.start_ns, phase.end_ns)
                && !onoff_blame::account::has_no_path(phase.name.as_str())
            {
                spans.push((phase.name.as_str(), start_ns, end_ns));
                let duration_ns = end_ns.saturating_sub(start_ns);
                self.boot.phases.push(PhaseLength { phase: phase.name.as_str().to_owned(), duration_ns });
            }
        }
        let part = |at_ns: i64| spans.iter().find(|span| at_ns >= span.1 && at_ns < span.2).map(|span| span.0);
        let units = report
            .units
            .iter()
            .filter(|unit| unit.automatic && !unit.name.ends_with(".target"))
            .filter_map(|unit| Some((unit.name.clone(), unit.start_ns, unit.duration_ns?)));
        let drivers =
            report.details.devices.iter().filter_map(|device: &devices::Device| {
                Some((device.driver.clone(), device.start_ns, device.duration_ns?))
            });
        for (name, start_ns, duration_ns) in units.chain(drivers).filter(|one| !one.0.is_empty()) {
            for phase in part(start_ns).into_iter().chain([STARTUP]) {
                let sum = self.own_ns.entry((phase.to_owned(), name.clone())).or_default();
                *sum = sum.saturating_add(duration_ns);
            }
        }
    }

    /// How long a part took, ns.
    fn length_ns(&self, phase: &str) -> Option<i64> {
        self.boot.startup_ns?;
        match phase {
            STARTUP => self.boot.startup_ns,
            _ => self.boot.phases.iter().find(|part| part.phase == phase).map(|part| part.duration_ns),
        }
    }
}

/// What changed when, among boots in the order in which they began.
#[must_use]
pub fn history(host: String, of_other_machines: u64, samples: Vec<BootSample>) -> BootHistory {
    let mut phases: Vec<&str> = Vec::new();
    for part in samples.iter().flat_map(|sample| &sample.boot.phases) {
        if !phases.contains(&part.phase.as_str()) {
            phases.push(&part.phase);
        }
    }
    // Each part is looked through: of all that is tried, one in twenty may be found in boots that did not change.
    let tries = phases.len().max(1);
    let mut found: Vec<BootChange> = phases.iter().flat_map(|phase| of_part(&samples, phase, tries)).collect();
    if found.is_empty() {
        found = of_part(&samples, STARTUP, tries);
    }
    found.sort_by(|a, b| (a.first_after, b.difference_ns.abs()).cmp(&(b.first_after, a.difference_ns.abs())));
    BootHistory {
        host,
        boots: samples.into_iter().map(|sample| sample.boot).collect(),
        of_other_machines,
        least_boots: MIN_SIDE as u64,
        orders_tried: change_point::ORDERS as u64,
        changes: found,
    }
}

/// The changes of one part of the start.
fn of_part(samples: &[BootSample], phase: &str, tries: usize) -> Vec<BootChange> {
    let (places, lengths): (Vec<usize>, Vec<i64>) =
        samples.iter().enumerate().filter_map(|(at, sample)| Some((at, sample.length_ns(phase)?))).unzip();
    let mut found = Vec::new();
    for change in changes(&lengths, tries) {
        let (Some(before), Some(after)) = (lengths.get(change.from..change.at), lengths.get(change.at..change.until))
        else {
            continue;
        };
        let (before, after) = (ascending(before), ascending(after));
        let (Some(was_ns), Some(is_ns), Some(interval)) = (median(&before), median(&after), interval(&before, &after))
        else {
            continue;
        };
        let difference_ns = is_ns.saturating_sub(was_ns);
        let (low_ns, high_ns) = (interval.low, interval.high);
        let is_of_weight = difference_ns.abs() >= MIN_CHANGE_NS.max(was_ns / MIN_SHARE);
        let (Some(&last), Some(&first), true) = (places.get(change.at - 1), places.get(change.at), is_of_weight) else {
            continue;
        };
        let side = |range: std::ops::Range<usize>| -> Vec<&BootSample> {
            places.get(range).unwrap_or_default().iter().filter_map(|&at| samples.get(at)).collect()
        };
        let (side_before, side_after) = (side(change.from..change.at), side(change.at..change.until));
        let mut updates = updates::between(samples, last, first);
        let updates_left_out = updates.len().saturating_sub(MAX_UPDATES) as u64;
        updates.truncate(MAX_UPDATES);
        let number = |at: usize| samples.get(at).map_or(0, |sample| sample.boot.number);
        found.push(BootChange {
            phase: phase.to_owned(),
            last_before: number(last),
            first_after: number(first),
            first_after_unix_ns: samples.get(first).and_then(|sample| sample.boot.first_unix_ns),
            boots_before: before.len() as u64,
            boots_after: after.len() as u64,
            was_ns,
            is_ns,
            difference_ns,
            low_ns,
            high_ns,
            p_value: change.p_value,
            units: changed_units(&side_before, &side_after, phase, difference_ns),
            updates,
            updates_left_out,
        });
    }
    found
}

fn ascending(values: &[i64]) -> Vec<i64> {
    let mut values = values.to_vec();
    values.sort();
    values
}

/// The units and drivers of a part whose own time changed with it.
fn changed_units(before: &[&BootSample], after: &[&BootSample], phase: &str, difference_ns: i64) -> Vec<ChangedUnit> {
    let names: HashSet<&str> = before
        .iter()
        .chain(after)
        .flat_map(|sample| sample.own_ns.keys())
        .filter(|(part, _)| part == phase)
        .map(|(_, name)| name.as_str())
        .collect();
    let least_ns = MIN_CHANGE_NS.max(difference_ns.abs() / EXPLAINS);
    let mut units: Vec<ChangedUnit> = names
        .into_iter()
        .filter_map(|name| {
            let key = (phase.to_owned(), name.to_owned());
            let own_ns = |sample: &&BootSample| sample.own_ns.get(&key).copied().unwrap_or(0);
            let rest_ns = |sample: &&BootSample| sample.length_ns(phase).unwrap_or(0).saturating_sub(own_ns(sample));
            let of = |side: &[&BootSample], value: &dyn Fn(&&BootSample) -> i64| {
                ascending(&side.iter().map(value).collect::<Vec<i64>>())
            };
            let (was, is) = (of(before, &own_ns), of(after, &own_ns));
            let (was_ns, is_ns) = (median(&was)?, median(&is)?);
            let own_difference_ns = is_ns.saturating_sub(was_ns);
            let left_ns = median(&of(after, &rest_ns))?.saturating_sub(median(&of(before, &rest_ns))?);
            let same_way = own_difference_ns.signum() == difference_ns.signum();
            let is_so = same_way && own_difference_ns.abs() >= least_ns && chance(&was, &is)?.is_separated();
            is_so.then(|| ChangedUnit {
                name: name.to_owned(),
                was_ns,
                is_ns,
                difference_ns: own_difference_ns,
                left_ns,
                explains: left_ns.abs() <= least_ns,
            })
        })
        .collect();
    // A device appears when somebody else has found it: of two that explain as much the unit that worked comes first.
    units.sort_by(|a, b| {
        let key = |unit: &ChangedUnit| (!unit.explains, unit.name.ends_with(".device"), unit.left_ns.abs());
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    units.truncate(MAX_NAMED);
    units
}
