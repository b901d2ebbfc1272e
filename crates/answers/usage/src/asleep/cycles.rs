//! Finds the power transitions in a recording, and the rows of each.
//!
//! A transition consists of suspend and resume; a suspend row after a resume row starts the next transition.
//!
//! ```text
//!   start  suspend phases  sleep │ wake  resume phases  end  kernel times │ start …
//!   └────────────────────────── one transition ───────────────────────────┘
//! ```
//!
//! The first and last transitions may be only half recorded, and the records of start and end may be missing.

use super::names::phase_of_row;
use onoff_evidence::phase_name::{PhaseName, SuspendStage};
use onoff_trace::{Activity, ActivityKind, Milestone, StringId, Trace, milestone};

/// The rows of one transition.
#[derive(Clone, Debug, Default)]
pub struct Cycle {
    /// The row of the whole transition.
    pub whole: Option<Activity>,
    /// Phases, ordered by start.
    pub phases: Vec<(PhaseName, Activity)>,
    /// Milestones, ordered by time.
    pub milestones: Vec<Milestone>,
    /// Modern standby: entry and exit.
    pub standby: Option<(Option<Milestone>, Option<Milestone>)>,
    /// Time of the first row, ns.
    pub first_ns: i64,
    /// Time of the first row of the next transition, ns.
    pub until_ns: i64,
    /// Whether the resume has started.
    resuming: bool,
    /// Whether its end was recorded.
    ended: bool,
}

impl Cycle {
    /// The first milestone with this name.
    pub fn milestone(&self, trace: &Trace, name: &str) -> Option<Milestone> {
        let name = trace.strings.find(name)?;
        self.milestones.iter().find(|row| row.name == name).copied()
    }

    /// The first record after the sleep. The kernel writes it before it sets the wall clock for the sleep: if the axis
    /// is the wall clock, this record has a time before the sleep, and the clock change is the first record after it.
    pub fn wake(&self, trace: &Trace) -> Option<Milestone> {
        /// Minimum clock change to consider, ns.
        const MIN_NS: i64 = 1_000_000_000;
        let wake = self.milestone(trace, milestone::WAKE)?;
        let clock_set = self.clock_sets(trace).find_map(|(row, for_sleep)| {
            let set_ns = row.value?.saturating_mul(1_000_000);
            let later_ns = row.time_ns.saturating_sub(wake.time_ns);
            (for_sleep && set_ns >= MIN_NS && later_ns >= set_ns).then_some(row)
        });
        Some(clock_set.unwrap_or(wake))
    }

    /// All changes of the wall clock, and whether each was made for the sleep; true if the reason was not recorded, as
    /// on older systems.
    pub(crate) fn clock_sets(&self, trace: &Trace) -> impl Iterator<Item = (Milestone, bool)> {
        /// Reason code: the system had slept.
        const SLEPT: i64 = 2;
        let [set, reason] = [milestone::CLOCK_SET, milestone::CLOCK_SET_REASON].map(|name| trace.strings.find(name));
        let rows = self.milestones.iter().enumerate().filter(move |(_, row)| Some(row.name) == set);
        rows.map(move |(at, row)| {
            // Both milestones come from the same event.
            let mut of_event = self.milestones.iter().skip(at).take_while(|other| other.time_ns == row.time_ns);
            let reason = of_event.find(|other| Some(other.name) == reason).and_then(|row| row.value);
            (*row, reason.is_none_or(|reason| reason == SLEPT))
        })
    }

    /// When the computer was awake again: the wake record, or the first resume phase; `None` if neither was recorded.
    pub fn awake_ns(&self, trace: &Trace) -> Option<i64> {
        let wake = self.wake(trace).map(|row| row.time_ns);
        let resume_phases = self.phases.iter().filter(|(name, _)| name.half() == Some(SuspendStage::Resume));
        resume_phases.map(|(_, row)| row.start_ns).chain(wake).min()
    }

    /// When writing the memory image started. An image record after the resume only shows that there was an image, so
    /// it does not count.
    pub fn image_begins(&self, trace: &Trace) -> Option<Milestone> {
        let row = self.milestone(trace, milestone::HIBERNATE)?;
        self.awake_ns(trace).is_none_or(|awake_ns| row.time_ns < awake_ns).then_some(row)
    }

    /// Whether an image record belongs to this transition, whose resume has already started.
    fn takes_image_record(&self, trace: &Trace) -> bool {
        /// `SYSTEM_POWER_STATE`: hibernation.
        const HIBERNATE: i64 = 5;
        let of_image = |row: &Milestone| match trace.text(row.name) {
            milestone::WAKE => row.value == Some(HIBERNATE),
            milestone::SLEEP => row.value == Some(HIBERNATE) || trace.text(row.detail) == "5",
            _ => false,
        };
        self.resuming
            && !self.ended
            && self.milestone(trace, milestone::HIBERNATE).is_none()
            && self.milestones.iter().any(of_image)
    }

    /// The first milestone with this name that has a value: the value and the record.
    pub fn value(&self, trace: &Trace, name: &str) -> Option<(i64, Milestone)> {
        let name = trace.strings.find(name)?;
        self.milestones.iter().filter(|row| row.name == name).find_map(|row| Some((row.value?, *row)))
    }

    /// One of the kernel's own times, if positive, ns.
    pub fn length(&self, trace: &Trace, name: &str) -> Option<(i64, Milestone)> {
        self.value(trace, name).filter(|&(ns, _)| ns > 0)
    }
}

/// How a milestone affects the current transition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Belongs to the suspend.
    Down,
    /// Belongs to the resume; a recording may start with it.
    Up,
    /// Describes an existing transition.
    Account,
}

const ROLES: &[(&str, Role)] = &[
    (milestone::SLEEP, Role::Down),
    (milestone::HIBERNATE, Role::Down),
    (milestone::WAKE, Role::Up),
    (milestone::POWER_BEGIN_UTC, Role::Account),
    (milestone::POWER_END_UTC, Role::Account),
    (milestone::WAKE_SOURCE, Role::Account),
    (milestone::CLOCK_SET, Role::Account),
    (milestone::CLOCK_SET_REASON, Role::Account),
    (milestone::POWER_SUSPEND_TIME, Role::Up),
    (milestone::POWER_RESUME_TIME, Role::Up),
    (milestone::POWER_DRIVER_WAKE_TIME, Role::Up),
    (milestone::POWER_HIBERNATE_WRITE_TIME, Role::Up),
    (milestone::POWER_HIBERNATE_READ_TIME, Role::Up),
    (milestone::POWER_FIRMWARE_TIME, Role::Up),
    (milestone::POWER_HIBERNATE_PAGES, Role::Up),
    (milestone::HIBERNATE_FILE_SIZE, Role::Account),
    (milestone::HIBERNATE_TIME, Role::Account),
    (milestone::HIBERNATE_FILE_TIME, Role::Account),
    (milestone::HIBERNATE_INIT_TIME, Role::Account),
    (milestone::RESUME_TIME, Role::Up),
    (milestone::RESUME_APPS_TIME, Role::Account),
    (milestone::RESUME_SERVICES_TIME, Role::Account),
    (milestone::RESUME_FIRMWARE_TIME, Role::Up),
    (milestone::RESUME_BOOT_MANAGER_TIME, Role::Up),
    (milestone::RESUME_LOADER_TIME, Role::Up),
    (milestone::RESUME_LOADER_READ_TIME, Role::Up),
    (milestone::RESUME_USER_TIME, Role::Up),
    (milestone::RESUME_KERNEL_READ_TIME, Role::Up),
    (milestone::RESUME_DEVICES_TIME, Role::Up),
    (milestone::HYBRID_SHUTDOWN_TIME, Role::Account),
    (milestone::HYBRID_SHUTDOWN_FILE_TIME, Role::Account),
    (milestone::HYBRID_BOOT_MAIN_PATH, Role::Up),
    (milestone::HYBRID_BOOT_FIRMWARE, Role::Up),
    (milestone::HYBRID_BOOT_RESUME, Role::Up),
    (milestone::FIRMWARE_SUSPEND_BEGIN, Role::Account),
    (milestone::FIRMWARE_SUSPEND_END, Role::Account),
    (milestone::FIRMWARE_RESUME_TIME, Role::Account),
    (milestone::FIRMWARE_RESUME_AVERAGE, Role::Account),
];

enum Item {
    End,
    Whole(Activity),
    Phase(PhaseName, Activity),
    Milestone(Role, Milestone),
}

impl Item {
    /// Order of items at the same time.
    fn rank(&self) -> u8 {
        match self {
            Self::End => 0,
            Self::Whole(_) => 1,
            _ => 2,
        }
    }
}

/// The transitions, ordered by start.
pub fn find(trace: &Trace) -> Vec<Cycle> {
    let mut cycles = power_cycles(trace);
    let last_step_ns = trace
        .activities
        .iter()
        .filter(|row| row.kind == ActivityKind::KernelShutdownStep)
        .map(|row| row.start_ns)
        .max();
    cycles.retain(|cycle| !is_a_shutdown(trace, cycle, last_step_ns));
    cycles.extend(standbys(trace));
    cycles.sort_by_key(|cycle| cycle.first_ns);
    let starts: Vec<i64> = cycles.iter().map(|cycle| cycle.first_ns).collect();
    for (at, cycle) in cycles.iter_mut().enumerate() {
        cycle.until_ns = starts.get(at + 1).copied().unwrap_or(i64::MAX);
    }
    cycles
}

fn power_cycles(trace: &Trace) -> Vec<Cycle> {
    let mut cycles: Vec<Cycle> = Vec::new();
    for (time_ns, item) in items(trace) {
        let current = cycles.last();
        let fresh = match &item {
            Item::End | Item::Milestone(Role::Account, _) => false,
            Item::Whole(_) => current.is_none_or(|cycle| cycle.resuming || cycle.whole.is_some()),
            Item::Phase(name, _) => match name.half() {
                // Zeroing happens much later and does not show the state of the transition.
                _ if *name == PhaseName::ZeroHiberFile => false,
                Some(SuspendStage::Suspend) => current.is_none_or(|cycle| {
                    let again = || cycle.phases.iter().any(|(other, _)| other == name);
                    cycle.resuming || (cycle.whole.is_none() && again())
                }),
                _ => current.is_none(),
            },
            Item::Milestone(Role::Down, row) => current.is_none_or(|cycle| {
                let is_image_record =
                    || trace.text(row.name) == milestone::HIBERNATE && cycle.takes_image_record(trace);
                cycle.resuming && !is_image_record()
            }),
            Item::Milestone(Role::Up, _) => current.is_none(),
        };
        if fresh {
            cycles.push(Cycle { first_ns: time_ns, ..Cycle::default() });
        }
        let Some(cycle) = cycles.last_mut() else { continue };
        match item {
            Item::End => (cycle.resuming, cycle.ended) = (true, true),
            Item::Whole(row) => cycle.whole = Some(row),
            Item::Phase(name, row) => {
                cycle.resuming |= name.half() == Some(SuspendStage::Resume);
                cycle.phases.push((name, row));
            }
            Item::Milestone(role, row) => {
                cycle.resuming |= role == Role::Up;
                cycle.milestones.push(row);
            }
        }
    }
    cycles
}

fn items(trace: &Trace) -> Vec<(i64, Item)> {
    let mut items: Vec<(i64, Item)> = Vec::new();
    for row in trace.activities.iter() {
        match row.kind {
            ActivityKind::PowerTransition => {
                items.push((row.start_ns, Item::Whole(row)));
                if let Some(end) = row.end_ns {
                    items.push((end, Item::End));
                }
            }
            ActivityKind::PowerPhase => {
                if let Some(name) = phase_of_row(trace.text(row.name)) {
                    items.push((row.start_ns, Item::Phase(name, row)));
                }
            }
            _ => {}
        }
    }
    let known: Vec<_> = ROLES.iter().filter_map(|&(name, role)| Some((trace.strings.find(name)?, role))).collect();
    for row in trace.milestones.iter() {
        if let Some(role) = role_of(trace, &row, &known) {
            items.push((row.time_ns, Item::Milestone(role, row)));
        }
    }
    items.sort_by_key(|(time_ns, item)| (*time_ns, item.rank()));
    items
}

fn role_of(trace: &Trace, row: &Milestone, known: &[(StringId, Role)]) -> Option<Role> {
    if let Some(&(_, role)) = known.iter().find(|(name, _)| *name == row.name) {
        return Some(role);
    }
    match trace.text(row.name) {
        // A boot from power-off does not end a transition.
        milestone::BOOT_TYPE => matches!(row.value, Some(1 | 2)).then_some(Role::Up),
        milestone::IDLE_DETECTION_BEGIN => match trace.text(row.detail) {
            "sleep" | "hibernate" | "fast_startup" => Some(Role::Up),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it is a shutdown, which the power manager starts like a transition: the kernel records shutdown steps, and
/// there is no sleep.
fn is_a_shutdown(trace: &Trace, cycle: &Cycle, last_step_ns: Option<i64>) -> bool {
    let sleeps = cycle
        .milestones
        .iter()
        .any(|row| !matches!(trace.text(row.name), milestone::POWER_BEGIN_UTC | milestone::POWER_END_UTC))
        || cycle.phases.iter().any(|(name, _)| name.half() == Some(SuspendStage::Resume));
    let by_kernel_logger = cycle.whole.filter(|row| is_kernel_logger(trace, row.event));
    // `POWER_ACTION`: 4 shutdown, 5 restart, 6 power off, 7 eject, 8 display off.
    let action = by_kernel_logger.and_then(|row| trace.text(row.name).parse::<u32>().ok());
    let steps = last_step_ns.is_some_and(|step| step >= cycle.first_ns);
    !sleeps && (matches!(action, Some(4..=8)) || steps)
}

/// Modern standby: each entry with the exit after it.
fn standbys(trace: &Trace) -> Vec<Cycle> {
    let (enter, exit) = (trace.strings.find(milestone::STANDBY_ENTER), trace.strings.find(milestone::STANDBY_EXIT));
    let figures: Vec<_> = [
        milestone::STANDBY_TIME,
        milestone::STANDBY_DEEPEST_TIME,
        milestone::STANDBY_HARDWARE_TIME,
        milestone::STANDBY_EXIT_TIME,
    ]
    .into_iter()
    .filter_map(|name| trace.strings.find(name))
    .collect();
    let mut cycles: Vec<Cycle> = Vec::new();
    for row in trace.milestones.iter() {
        let standby = |first_ns, enter, exit| Cycle { standby: Some((enter, exit)), first_ns, ..Cycle::default() };
        if Some(row.name) == enter {
            cycles.push(standby(row.time_ns, Some(row), None));
        } else if Some(row.name) == exit {
            match cycles.last_mut().and_then(|cycle| cycle.standby.as_mut()) {
                Some((_, end @ None)) => *end = Some(row),
                _ => cycles.push(standby(row.time_ns, None, Some(row))),
            }
        } else if figures.contains(&row.name)
            && let Some(cycle) = cycles.last_mut()
        {
            cycle.milestones.push(row);
        }
    }
    cycles
}

/// Whether a row is from the NT Kernel Logger rather than the Kernel-Power provider.
pub fn is_kernel_logger(trace: &Trace, event: StringId) -> bool {
    trace.text(event).starts_with("Power/")
}
