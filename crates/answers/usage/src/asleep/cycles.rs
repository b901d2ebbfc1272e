//! Finds the power transitions in a recording, and groups their rows.
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
    pub transition: Option<Activity>,
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
    /// Whether the end was recorded.
    ended: bool,
}

impl Cycle {
    /// Returns the first milestone with this name.
    pub fn milestone(&self, trace: &Trace, name: &str) -> Option<Milestone> {
        let name = trace.strings.find(name)?;
        self.milestones.iter().find(|row| row.name == name).copied()
    }

    /// Returns the first record after the sleep. The kernel writes the wake record before it sets the wall clock for
    /// the sleep. If the axis is the wall clock, the wake record therefore has a time before the sleep, and the clock
    /// change is the first record after it.
    pub fn wake(&self, trace: &Trace) -> Option<Milestone> {
        /// Minimum clock change to consider, ns.
        const MIN_NS: i64 = 1_000_000_000;
        /// The wake record may be a few milliseconds later than the clock before the change; 3 ms were measured, ns.
        const TOLERANCE_NS: i64 = 10_000_000;
        let wake = self.milestone(trace, milestone::WAKE)?;
        let clock_set = self.clock_sets(trace).find_map(|(row, for_sleep)| {
            let set_ns = row.value?.saturating_mul(1_000_000);
            let later_ns = row.time_ns.saturating_sub(wake.time_ns);
            (for_sleep && set_ns >= MIN_NS && later_ns >= set_ns.saturating_sub(TOLERANCE_NS)).then_some(row)
        });
        Some(clock_set.unwrap_or(wake))
    }

    /// Returns the wake record if it has the time at which the wall clock stopped; see [`Self::wake`].
    pub fn stopped_clock(&self, trace: &Trace) -> Option<Milestone> {
        let wake = self.milestone(trace, milestone::WAKE)?;
        self.wake(trace).is_some_and(|first| first.name != wake.name).then_some(wake)
    }

    /// Returns all changes of the wall clock, each with a flag that is true if the change was made for the sleep, or if
    /// its reason was not recorded, as on older systems.
    pub(crate) fn clock_sets(&self, trace: &Trace) -> impl Iterator<Item = (Milestone, bool)> {
        /// Reason code: the system had slept.
        const SLEPT: i64 = 2;
        let [set, reason] = [milestone::CLOCK_SET, milestone::CLOCK_SET_REASON].map(|name| trace.strings.find(name));
        let rows = self.milestones.iter().enumerate().filter(move |(_, row)| Some(row.name) == set);
        rows.map(move |(index, row)| {
            // Both milestones come from the same event.
            let mut same_event = self.milestones.iter().skip(index).take_while(|other| other.time_ns == row.time_ns);
            let reason = same_event.find(|other| Some(other.name) == reason).and_then(|row| row.value);
            (*row, reason.is_none_or(|reason| reason == SLEPT))
        })
    }

    /// Returns when the computer was awake again, in ns: at the wake record or the first resume phase, whichever is
    /// earlier. `None` if neither was recorded.
    pub fn awake_ns(&self, trace: &Trace) -> Option<i64> {
        let wake = self.wake(trace).map(|row| row.time_ns);
        let resume_phases = self.phases.iter().filter(|(name, _)| name.half() == Some(SuspendStage::Resume));
        resume_phases.map(|(_, row)| row.start_ns).chain(wake).min()
    }

    /// Returns the record of the start of writing the memory image. An image record after the resume only shows that
    /// there was an image, so it does not count.
    pub fn image_start(&self, trace: &Trace) -> Option<Milestone> {
        let row = self.milestone(trace, milestone::HIBERNATE)?;
        self.awake_ns(trace).is_none_or(|awake_ns| row.time_ns < awake_ns).then_some(row)
    }

    /// Returns whether an image record belongs to this transition although its resume has already started.
    fn accepts_image_record(&self, trace: &Trace) -> bool {
        /// `SYSTEM_POWER_STATE` value for hibernation.
        const HIBERNATE: i64 = 5;
        let is_hibernation = |row: &Milestone| match trace.text(row.name) {
            milestone::WAKE => row.value == Some(HIBERNATE),
            milestone::SLEEP => row.value == Some(HIBERNATE) || trace.text(row.detail) == "5",
            _ => false,
        };
        self.resuming
            && !self.ended
            && self.milestone(trace, milestone::HIBERNATE).is_none()
            && self.milestones.iter().any(is_hibernation)
    }

    /// Returns the first milestone with this name that has a value, preceded by the value.
    pub fn value(&self, trace: &Trace, name: &str) -> Option<(i64, Milestone)> {
        let name = trace.strings.find(name)?;
        self.milestones.iter().filter(|row| row.name == name).find_map(|row| Some((row.value?, *row)))
    }

    /// Returns one of the kernel's own times, in ns, if positive.
    pub fn duration(&self, trace: &Trace, name: &str) -> Option<(i64, Milestone)> {
        self.value(trace, name).filter(|&(ns, _)| ns > 0)
    }
}

/// How a milestone affects the current transition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Belongs to the suspend.
    Suspend,
    /// Belongs to the resume; a recording may start with it.
    Resume,
    /// Describes an existing transition.
    Account,
}

const ROLES: &[(&str, Role)] = &[
    (milestone::SLEEP, Role::Suspend),
    (milestone::HIBERNATE, Role::Suspend),
    (milestone::WAKE, Role::Resume),
    (milestone::POWER_BEGIN_UTC, Role::Account),
    (milestone::POWER_END_UTC, Role::Account),
    (milestone::WAKE_SOURCE, Role::Account),
    (milestone::CLOCK_SET, Role::Account),
    (milestone::CLOCK_SET_REASON, Role::Account),
    (milestone::POWER_SUSPEND_TIME, Role::Resume),
    (milestone::POWER_RESUME_TIME, Role::Resume),
    (milestone::POWER_DRIVER_WAKE_TIME, Role::Resume),
    (milestone::POWER_HIBERNATE_WRITE_TIME, Role::Resume),
    (milestone::POWER_HIBERNATE_READ_TIME, Role::Resume),
    (milestone::POWER_FIRMWARE_TIME, Role::Resume),
    (milestone::POWER_HIBERNATE_PAGES, Role::Resume),
    (milestone::HIBERNATE_FILE_SIZE, Role::Account),
    (milestone::HIBERNATE_TIME, Role::Account),
    (milestone::HIBERNATE_FILE_TIME, Role::Account),
    (milestone::HIBERNATE_INIT_TIME, Role::Account),
    (milestone::RESUME_TIME, Role::Resume),
    (milestone::RESUME_APPS_TIME, Role::Account),
    (milestone::RESUME_SERVICES_TIME, Role::Account),
    (milestone::RESUME_FIRMWARE_TIME, Role::Resume),
    (milestone::RESUME_BOOT_MANAGER_TIME, Role::Resume),
    (milestone::RESUME_LOADER_TIME, Role::Resume),
    (milestone::RESUME_LOADER_READ_TIME, Role::Resume),
    (milestone::RESUME_USER_TIME, Role::Resume),
    (milestone::RESUME_KERNEL_READ_TIME, Role::Resume),
    (milestone::RESUME_DEVICES_TIME, Role::Resume),
    (milestone::HYBRID_SHUTDOWN_TIME, Role::Account),
    (milestone::HYBRID_SHUTDOWN_FILE_TIME, Role::Account),
    (milestone::HYBRID_BOOT_MAIN_PATH, Role::Resume),
    (milestone::HYBRID_BOOT_FIRMWARE, Role::Resume),
    (milestone::HYBRID_BOOT_RESUME, Role::Resume),
    (milestone::FIRMWARE_SUSPEND_BEGIN, Role::Account),
    (milestone::FIRMWARE_SUSPEND_END, Role::Account),
    (milestone::FIRMWARE_RESUME_TIME, Role::Account),
    (milestone::FIRMWARE_RESUME_AVERAGE, Role::Account),
];

enum Item {
    End,
    Transition(Activity),
    Phase(PhaseName, Activity),
    Milestone(Role, Milestone),
}

impl Item {
    /// Returns the order of items at the same time. With a coarse clock, or one that stops during the sleep, the last
    /// record of the suspend and the first of the resume have the same time.
    fn rank(&self) -> u8 {
        match self {
            Self::End => 0,
            Self::Transition(_) => 1,
            Self::Phase(name, _) if name.half() == Some(SuspendStage::Suspend) => 2,
            Self::Milestone(Role::Suspend, _) => 2,
            _ => 3,
        }
    }
}

/// Returns the transitions, ordered by start.
pub fn find(trace: &Trace) -> Vec<Cycle> {
    let mut cycles = power_cycles(trace);
    let last_step_ns = trace
        .activities
        .iter()
        .filter(|row| row.kind == ActivityKind::KernelShutdownStep)
        .map(|row| row.start_ns)
        .max();
    cycles.retain(|cycle| !is_shutdown(trace, cycle, last_step_ns));
    cycles.extend(standbys(trace));
    cycles.sort_by_key(|cycle| cycle.first_ns);
    let starts: Vec<i64> = cycles.iter().map(|cycle| cycle.first_ns).collect();
    for (index, cycle) in cycles.iter_mut().enumerate() {
        cycle.until_ns = starts.get(index + 1).copied().unwrap_or(i64::MAX);
    }
    cycles
}

fn power_cycles(trace: &Trace) -> Vec<Cycle> {
    let mut cycles: Vec<Cycle> = Vec::new();
    for (time_ns, item) in items(trace) {
        let current = cycles.last();
        let starts_cycle = match &item {
            Item::End | Item::Milestone(Role::Account, _) => false,
            Item::Transition(_) => current.is_none_or(|cycle| cycle.resuming || cycle.transition.is_some()),
            Item::Phase(name, _) => match name.half() {
                // Zeroing happens much later and does not show the state of the transition.
                _ if *name == PhaseName::ZeroHiberFile => false,
                Some(SuspendStage::Suspend) => current.is_none_or(|cycle| {
                    let is_repeated = || cycle.phases.iter().any(|(other, _)| other == name);
                    cycle.resuming || (cycle.transition.is_none() && is_repeated())
                }),
                _ => current.is_none(),
            },
            Item::Milestone(Role::Suspend, row) => current.is_none_or(|cycle| {
                let is_image_record =
                    || trace.text(row.name) == milestone::HIBERNATE && cycle.accepts_image_record(trace);
                cycle.resuming && !is_image_record()
            }),
            Item::Milestone(Role::Resume, _) => current.is_none(),
        };
        if starts_cycle {
            cycles.push(Cycle { first_ns: time_ns, ..Cycle::default() });
        }
        let Some(cycle) = cycles.last_mut() else { continue };
        match item {
            Item::End => (cycle.resuming, cycle.ended) = (true, true),
            Item::Transition(row) => cycle.transition = Some(row),
            Item::Phase(name, row) => {
                cycle.resuming |= name.half() == Some(SuspendStage::Resume);
                cycle.phases.push((name, row));
            }
            Item::Milestone(role, row) => {
                cycle.resuming |= role == Role::Resume;
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
                items.push((row.start_ns, Item::Transition(row)));
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
    let roles: Vec<_> = ROLES.iter().filter_map(|&(name, role)| Some((trace.strings.find(name)?, role))).collect();
    for row in trace.milestones.iter() {
        if let Some(role) = role_of(trace, &row, &roles) {
            items.push((row.time_ns, Item::Milestone(role, row)));
        }
    }
    items.sort_by_key(|(time_ns, item)| (*time_ns, item.rank()));
    items
}

fn role_of(trace: &Trace, row: &Milestone, roles: &[(StringId, Role)]) -> Option<Role> {
    if let Some(&(_, role)) = roles.iter().find(|(name, _)| *name == row.name) {
        return Some(role);
    }
    match trace.text(row.name) {
        // A boot from power-off does not end a transition.
        milestone::BOOT_TYPE => matches!(row.value, Some(1 | 2)).then_some(Role::Resume),
        milestone::IDLE_DETECTION_BEGIN => match trace.text(row.detail) {
            "sleep" | "hibernate" | "fast_startup" => Some(Role::Resume),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether a transition is a shutdown, which the power manager starts in the same way: the kernel records a
/// shutdown action or shutdown steps, and there is no sleep.
fn is_shutdown(trace: &Trace, cycle: &Cycle, last_step_ns: Option<i64>) -> bool {
    let has_slept = cycle
        .milestones
        .iter()
        .any(|row| !matches!(trace.text(row.name), milestone::POWER_BEGIN_UTC | milestone::POWER_END_UTC))
        || cycle.phases.iter().any(|(name, _)| name.half() == Some(SuspendStage::Resume));
    let kernel_logger_row = cycle.transition.filter(|row| is_kernel_logger(trace, row.event));
    // `POWER_ACTION`: 4 shutdown, 5 restart, 6 power off, 7 eject, 8 display off.
    let action = kernel_logger_row.and_then(|row| trace.text(row.name).parse::<u32>().ok());
    let has_shutdown_step = last_step_ns.is_some_and(|step| step >= cycle.first_ns);
    !has_slept && (matches!(action, Some(4..=8)) || has_shutdown_step)
}

/// Returns the modern standbys, each with its entry and exit.
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
            match standby_of(&mut cycles, &row).and_then(|cycle| cycle.standby.as_mut()) {
                Some((_, exit @ None)) => *exit = Some(row),
                _ => cycles.push(standby(row.time_ns, None, Some(row))),
            }
        } else if figures.contains(&row.name)
            && let Some(cycle) = standby_of(&mut cycles, &row)
        {
            cycle.milestones.push(row);
        }
    }
    cycles
}

/// Returns the standby that a row belongs to: the last one, unless a recent one was entered by the same event. Sessions
/// of power reports can overlap by some seconds, and all rows of a session have the same event.
fn standby_of<'c>(cycles: &'c mut [Cycle], row: &Milestone) -> Option<&'c mut Cycle> {
    /// Maximum number of standbys to search.
    const MAX_OVERLAPPING: usize = 16;
    let is_same_event = |cycle: &Cycle| matches!(cycle.standby, Some((Some(enter), _)) if enter.event == row.event);
    let last = cycles.len().checked_sub(1)?;
    let recent = (cycles.len().saturating_sub(MAX_OVERLAPPING)..cycles.len()).rev();
    let index = recent.into_iter().find(|&index| cycles.get(index).is_some_and(is_same_event)).unwrap_or(last);
    cycles.get_mut(index)
}

/// Returns whether a row is from the NT Kernel Logger rather than the Kernel-Power provider.
pub fn is_kernel_logger(trace: &Trace, event: StringId) -> bool {
    trace.text(event).starts_with("Power/")
}
