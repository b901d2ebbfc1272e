//! Analyzes Linux suspends: suspend-to-idle, standby, suspend-to-RAM, hibernation.
//!
//! [`analyze`] turns a Linux [`Trace`] into a [`LinuxSuspendReport`] with every suspend in the recording.

mod asleep;
mod callbacks;
mod low_power;
pub mod names;
mod path;
mod phases;
pub mod report;
mod tasks;
#[cfg(test)]
mod tests;

use crate::Phase;
use crate::{PhaseInterval, TransitionKind, Variant, total_of_halves};
use crate::{PhaseName, SuspendStage};
use onoff_trace::{
    Activity, ActivityKind, CallGraphSubject, Milestone, PowerRequest, SystemKind, TableName, TableSet, Trace,
    milestone, power_phase,
};

pub use report::*;

use crate::suspend::{FirmwareSleep, NoSuspend, SuspendOptions};
use crate::usage;
use onoff_evidence::call_graph::{self, CallGraph};
use onoff_evidence::missing_evidence::{MissingEvidence, UnknownFact};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, DerivedInterval, affecting_losses};
use onoff_usage::idle::{self, Settling};
use onoff_usage::owners::Owners;
use onoff_usage::processes::Images;

/// The tables that the analysis reads; if a trace was opened with fewer, results are less complete.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::DiskIos,
    TableName::Milestones,
    TableName::Activities,
    TableName::PowerRequests,
    TableName::CallGraphFunctions,
]);

/// The tables that boundary rules read.
const BOUNDARY_TABLES: [TableName; 3] = [TableName::Milestones, TableName::Activities, TableName::PowerRequests];

/// Maximum time after a resume to search for idle time, in ns.
const MAX_POST_RESUME_NS: i64 = 3_600_000_000_000;

/// Analyzes the suspends in `trace`.
///
/// # Errors
/// `trace` contains no suspend, or not the requested one; the error describes what it contains instead.
pub fn analyze(trace: &Trace, options: &SuspendOptions) -> Result<LinuxSuspendReport, NoSuspend> {
    let cycles = cycles(trace);
    if cycles.is_empty() {
        return Err(NoSuspend::NoneOnLinux(describe_recording(trace)));
    }
    let found = u32::try_from(cycles.len()).unwrap_or(u32::MAX);
    let mut source = Source::new(trace);
    let mut sleeps = Vec::new();
    for ((number, cycle), call_graphs) in (1_u32..).zip(&cycles).zip(call_graphs(trace, &cycles)) {
        if options.transition.is_none_or(|requested| requested == number) {
            sleeps.push(source.describe(number, cycle, call_graphs, options));
        }
    }
    if sleeps.is_empty() {
        return Err(NoSuspend::NoSuch {
            number: options.transition.unwrap_or_default(),
            found: match found {
                1 => "1 suspend".to_owned(),
                _ => format!("{found} suspends"),
            },
        });
    }
    usage::fill(trace, sleeps.iter_mut().flat_map(|sleep| &mut sleep.phases));
    let missing_evidence = missing_evidence(trace, &sleeps);
    for sleep in &mut sleeps {
        sleep.missing_evidence = missing_evidence.clone();
    }
    Ok(LinuxSuspendReport { found, transitions: sleeps, absences: Vec::new() })
}

/// Returns start and end of the phases of every suspend, in ns.
pub(crate) fn phase_intervals(trace: &Trace) -> Vec<PhaseInterval> {
    let rows = trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerPhase);
    rows.filter_map(|row| Some((PhaseName::parse(trace.text(row.name))?, Some(row.start_ns), row.end_ns))).collect()
}

/// The rows of one suspend.
struct Cycle {
    /// The activity that spans the suspend and resume.
    pub transition: Activity,
    /// Start of the next suspend, ns; the end of this cycle.
    pub until_ns: i64,
    pub phases: Vec<Activity>,
    pub milestones: Vec<Milestone>,
}

/// Returns the suspends, ordered by start.
fn cycles(trace: &Trace) -> Vec<Cycle> {
    let mut transitions: Vec<Activity> =
        trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerTransition).collect();
    transitions.sort_by_key(|row| row.start_ns);
    let mut phases: Vec<Activity> =
        trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerPhase).collect();
    phases.sort_by_key(|row| row.start_ns);
    let mut milestones: Vec<Milestone> = trace.milestones.iter().collect();
    milestones.sort_by_key(|row| row.time_ns);
    let cycle_ends: Vec<i64> = transitions.iter().skip(1).map(|row| row.start_ns).chain([i64::MAX]).collect();
    transitions
        .into_iter()
        .zip(cycle_ends)
        .map(|(transition, until_ns)| {
            let contains = |time: i64| transition.start_ns <= time && time < until_ns;
            let first_phase = phases.partition_point(|row| row.start_ns < transition.start_ns);
            let first_milestone = milestones.partition_point(|row| row.time_ns < transition.start_ns);
            Cycle {
                phases: phases.iter().skip(first_phase).take_while(|row| contains(row.start_ns)).copied().collect(),
                milestones: milestones
                    .iter()
                    .skip(first_milestone)
                    .take_while(|row| contains(row.time_ns))
                    .copied()
                    .collect(),
                transition,
                until_ns,
            }
        })
        .collect()
}

impl Cycle {
    /// Returns the milestones with this name, ordered by time.
    fn milestones<'a>(&'a self, trace: &Trace, name: &str) -> impl Iterator<Item = &'a Milestone> + use<'a> {
        let name = trace.strings.find(name);
        self.milestones.iter().filter(move |row| Some(row.name) == name)
    }

    /// Returns the first milestone with this name that has a value, preceded by the value.
    fn value<'a>(&'a self, trace: &Trace, name: &str) -> Option<(i64, &'a Milestone)> {
        self.milestones(trace, name).find_map(|row| Some((row.value?, row)))
    }
}

/// Returns the call graphs of callbacks for each suspend, up to the start of the next suspend, longest first.
fn call_graphs(trace: &Trace, cycles: &[Cycle]) -> Vec<Vec<CallGraph>> {
    let mut graphs_by_cycle = vec![Vec::new(); cycles.len()];
    for graph in call_graph::call_graphs(trace, CallGraphSubject::DeviceCallback) {
        let next_cycle = cycles.partition_point(|cycle| cycle.transition.start_ns <= graph.start_ns);
        if let Some(graphs) = next_cycle.checked_sub(1).and_then(|index| graphs_by_cycle.get_mut(index)) {
            graphs.push(graph);
        }
    }
    graphs_by_cycle
}

/// A trace, with the rows that all suspends share sorted by time and indexed.
struct Source<'t> {
    trace: &'t Trace,
    images: Images<'t>,
    owners: Owners,
    /// Requests except those of runtime power management, ordered by start.
    requests: Vec<PowerRequest>,
    readings: Vec<Milestone>,
    task_names: tasks::TaskNames<'t>,
}

impl<'t> Source<'t> {
    fn new(trace: &'t Trace) -> Self {
        let mut requests: Vec<PowerRequest> =
            trace.power_requests.iter().filter(|row| !row.kind.is_runtime()).collect();
        requests.sort_by_key(|row| row.start_ns);
        Self {
            trace,
            images: Images::new(trace),
            owners: Owners::from_trace(trace),
            requests,
            readings: low_power::readings(trace),
            task_names: tasks::TaskNames::from_trace(trace),
        }
    }

    fn describe(
        &mut self,
        number: u32,
        cycle: &Cycle,
        mut call_graphs: Vec<CallGraph>,
        options: &SuspendOptions,
    ) -> LinuxSleep {
        let trace = self.trace;
        let activity = &cycle.transition;
        let variant = match trace.text(activity.name) {
            "freeze" => Variant::SuspendToIdle,
            "standby" => Variant::Standby,
            "mem" => Variant::Sleep,
            "disk" => Variant::Hibernate,
            _ => Variant::Unknown,
        };
        let mut phases = phases::recorded_phases(trace, cycle);
        let end_ns = activity.end_ns;
        // Requests after the end belong to the runtime power management of individual devices.
        let callbacks_until = end_ns.map_or(cycle.until_ns, |end| end.saturating_add(1).min(cycle.until_ns));
        let mut callbacks = callbacks::in_window(trace, &self.requests, &phases, activity.start_ns, callbacks_until);
        callbacks::sum_up(&mut phases, &mut callbacks);
        let devices = callbacks::devices(&callbacks);
        let machine = asleep::machine_sleep(trace, cycle, &phases);
        let refusals: Vec<String> =
            cycle.milestones(trace, milestone::POWER_ABORTED).map(|row| trace.text(row.detail).to_owned()).collect();
        let error = activity.status.map(u32::cast_signed).filter(|&error| error != 0);
        let aborted = error.is_some() || !refusals.is_empty();
        let (suspend, asleep, resume) = asleep::halves(trace, cycle, variant, &phases, machine.as_ref(), aborted);
        let tasks = tasks::frozen(trace, &self.images, &self.task_names, &phases, cycle.until_ns);
        let crash = cycle.milestones(trace, milestone::KERNEL_OOPS).next();
        let crash = crash.map_or_else(String::new, |row| trace.text(row.detail).to_owned());
        let outcome = match (&machine, end_ns) {
            (_, None) if !crash.is_empty() => SleepOutcome::Crashed,
            (_, None) => SleepOutcome::Unfinished,
            // A hibernation that fails while it writes the image had stopped the machine for the snapshot.
            (Some(_), Some(_)) if variant != Variant::Hibernate || !aborted => SleepOutcome::Slept,
            (_, Some(_)) if aborted => SleepOutcome::Aborted,
            (_, Some(_)) => SleepOutcome::Unknown,
        };
        let value = |name: &str| cycle.value(trace, name).map(|(value, _)| value);
        let readings = low_power::Readings::new(trace, &self.readings, cycle);
        let low_power = low_power::low_power(trace, cycle, variant, (&phases, &asleep), &readings);
        let (total_ns, total_at_least_ns, total_certainty) = match (outcome, end_ns) {
            // Nothing separates the halves: the time between the failure and the exit counts as well.
            (SleepOutcome::Aborted, Some(end_ns)) => {
                let whole_ns = end_ns.saturating_sub(activity.start_ns).max(0);
                (Some(whole_ns), whole_ns, Certainty::Measured)
            }
            _ => total_of_halves(&suspend, &resume),
        };
        call_graphs.retain(|graph| graph.start_ns < callbacks_until);
        call_graphs.truncate(call_graph::MAX_GRAPHS);
        let settling = self.settle(cycle, &resume, options);
        let mut sleep = LinuxSleep {
            system: SystemKind::Linux,
            kind: TransitionKind::Suspend,
            variant,
            number,
            start_ns: Some(activity.start_ns),
            end_ns,
            total_ns,
            total_at_least_ns,
            total_certainty,
            user_input_ns: 0,
            units: Vec::new(),
            settling: Some(settling),
            affecting_losses: affecting_losses(trace, &BOUNDARY_TABLES),
            missing_evidence: MissingEvidence::default(),
            losses: trace.losses.clone(),
            culprits: Vec::new(),
            fix_first: None,
            details: LinuxSuspend {
                mode: trace.text(activity.detail).to_owned(),
                event: trace.text(activity.event).to_owned(),
                outcome,
                error,
                refused_by: refused_by(&callbacks, &refusals, aborted),
                refusals,
                crash,
                requested_by: activity
                    .pid
                    .and_then(|pid| self.images.image_at(pid, activity.start_ns))
                    .unwrap_or_default()
                    .to_owned(),
                requested_by_pid: activity.pid,
                wake_sources: wake_sources(trace, cycle),
                low_power,
                batteries: low_power::batteries(&asleep, &readings),
                reconnections: low_power::reconnections(trace, cycle, &resume),
                image: (variant == Variant::Hibernate).then(|| image(trace, cycle, &phases, &asleep)),
                firmware: FirmwareSleep {
                    suspend_ns: value(milestone::FIRMWARE_SUSPEND_BEGIN)
                        .zip(value(milestone::FIRMWARE_SUSPEND_END))
                        .map(|(begin, end)| end.saturating_sub(begin)),
                    resume_ns: value(milestone::FIRMWARE_RESUME_TIME),
                    average_resume_ns: value(milestone::FIRMWARE_RESUME_AVERAGE),
                },
                suspend,
                asleep,
                resume,
                callbacks,
                call_graphs,
                devices,
                tasks,
                longest_gap: None,
            },
            phases,
        };
        // With times of receipt, the longest gap would be the time asleep.
        let gap_includes_sleep = is_received(&sleep.details.event) && !aborted;
        sleep.details.longest_gap = if gap_includes_sleep { None } else { phases::longest_gap(&sleep) };
        sleep
    }

    fn settle(&mut self, cycle: &Cycle, resume: &DerivedInterval, options: &SuspendOptions) -> Settling {
        let Some(start_ns) = resume.end_ns else {
            return Settling { metric: options.idle, rule: Rule::ResumeEndNotRecorded, ..Settling::default() };
        };
        let latest_ns = cycle.until_ns.min(start_ns.saturating_add(MAX_POST_RESUME_NS));
        idle::find_settling_before(self.trace, &mut self.owners, start_ns, latest_ns, options.idle)
    }
}

/// Returns the device that refused to suspend: of the first callback with an error, otherwise of the first message that
/// names one, such as `amdgpu 0000:04:00.0: PM: failed to suspend async: error -19` or `Device 1-1 failed to suspend`.
fn refused_by(callbacks: &[DeviceCallback], refusals: &[String], aborted: bool) -> String {
    let failed = callbacks.iter().find(|callback| callback.details.error.is_some_and(|error| error != 0));
    let of_message = || {
        refusals.iter().find_map(|message| {
            let subject = message.split_once(": PM: ").map(|(subject, _)| subject.split(' ').next_back());
            subject.unwrap_or_else(|| Some(message.strip_prefix("Device ")?.split_once(" failed to ")?.0))
        })
    };
    let device = failed.filter(|_| aborted).map(|callback| callback.device.as_str()).or_else(of_message);
    device.unwrap_or_default().to_owned()
}

fn wake_sources(trace: &Trace, cycle: &Cycle) -> Vec<WakeSource> {
    let mut sources: Vec<WakeSource> = Vec::new();
    for row in cycle.milestones(trace, milestone::WAKE_SOURCE) {
        let name = trace.text(row.detail);
        if sources.iter().any(|source| source.name == name) {
            continue;
        }
        let event = trace.text(row.event).to_owned();
        sources.push(WakeSource {
            name: name.to_owned(),
            time_ns: row.time_ns,
            // The kernel log reports the interrupt itself; a source that was active after the resume is only a
            // candidate.
            certainty: if is_logged(&event) { Certainty::Measured } else { Certainty::Inferred },
            event,
        });
    }
    sources
}

fn image(trace: &Trace, cycle: &Cycle, phases: &[Phase], asleep: &LinuxAsleep) -> MemoryImage {
    let total_ns = |name: PhaseName| {
        let lengths: Vec<i64> =
            phases.iter().filter(|phase| phase.name == name).filter_map(|phase| phase.duration_ns).collect();
        (!lengths.is_empty()).then(|| lengths.into_iter().fold(0, i64::saturating_add))
    };
    let write_ns = total_ns(PhaseName::WriteImage);
    let read_ns = total_ns(PhaseName::ReadImage);
    let are_known = write_ns.is_some() && read_ns.is_some();
    MemoryImage {
        pages: cycle.value(trace, milestone::POWER_HIBERNATE_PAGES).map(|(pages, _)| pages),
        create_ns: total_ns(PhaseName::CreateImage),
        write_ns,
        read_ns,
        max_ns: asleep.slept_ns.filter(|_| !are_known),
        rule: match (are_known, asleep.slept_ns) {
            (true, _) => Rule::None,
            (false, Some(_)) => Rule::ImageWithinSleep,
            (false, None) => Rule::ImageAndClockNotRecorded,
        },
    }
}

/// Returns the evidence that the recording does not contain.
fn missing_evidence(trace: &Trace, sleeps: &[LinuxSleep]) -> MissingEvidence {
    let mut facts = Vec::new();
    let is_requested = |table| trace.requested_tables.contains(table);
    let is_traced = sleeps.iter().flat_map(|sleep| &sleep.phases).any(|phase| !is_logged(&phase.starts.event));
    if !is_traced {
        facts.push(UnknownFact::LinuxSleepPhases);
    }
    if is_requested(TableName::PowerRequests) && trace.power_requests.is_empty() {
        facts.push(UnknownFact::LinuxDeviceCallbacks);
    }
    if is_requested(TableName::ContextSwitches) && trace.context_switches.is_empty() {
        facts.push(UnknownFact::LinuxProcessorsInSleep);
    }
    if is_requested(TableName::DiskIos) && trace.disk_ios.is_empty() {
        facts.push(UnknownFact::LinuxDisks);
    }
    let has_unknown_duration =
        |sleep: &LinuxSleep| sleep.details.outcome == SleepOutcome::Slept && sleep.details.asleep.slept_ns.is_none();
    if sleeps.iter().any(has_unknown_duration) {
        facts.push(UnknownFact::TimeAsleep);
    }
    if sleeps
        .iter()
        .filter(|sleep| sleep.variant != Variant::Hibernate)
        .any(|sleep| sleep.details.outcome == SleepOutcome::Slept && sleep.details.wake_sources.is_empty())
    {
        facts.push(UnknownFact::WakeSource);
    }
    if sleeps.iter().any(|sleep| sleep.variant == Variant::Sleep && sleep.details.firmware == FirmwareSleep::default())
    {
        facts.push(UnknownFact::FirmwareOfResume);
    }
    MissingEvidence::for_linux(facts)
}

fn describe_recording(trace: &Trace) -> String {
    use crate::{TransitionKind, contents};
    let found = contents::describe_instead(trace, TransitionKind::Suspend).found;
    match trace.boots.len() {
        0 | 1 => found,
        boots => format!("{found}; 'onoff compare --sleeps' lists the sleeps of all {boots} boots"),
    }
}

/// Returns a boundary at `time_and_event`. `None` means that `rule` did not match.
fn boundary(time_and_event: Option<(i64, &str)>, rule: Rule, certainty: Certainty) -> Boundary {
    match time_and_event {
        Some((time_ns, event)) => {
            Boundary { time_ns: Some(time_ns), rule, event: event.to_owned(), certainty, unmatched_rules: Vec::new() }
        }
        None => Boundary { rule: Rule::NotFound, unmatched_rules: vec![rule], ..Boundary::default() },
    }
}

/// Returns whether a row comes from the kernel log rather than from a trace.
fn is_logged(event: &str) -> bool {
    event.starts_with("kernel log")
}

/// Returns whether a row comes from kernel messages with the times of their receipt.
fn is_received(event: &str) -> bool {
    event == power_phase::RECEIVED_EVENT
}

/// Returns whether a phase precedes the sleep state.
fn precedes_sleep(phase: &Phase) -> bool {
    phase.half == Some(SuspendStage::Suspend)
}
