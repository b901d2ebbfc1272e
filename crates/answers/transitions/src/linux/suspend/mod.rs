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
pub const TABLES: TableSet = TableSet::of(&[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::DiskIos,
    TableName::Milestones,
    TableName::Activities,
    TableName::PowerRequests,
    TableName::CallGraphFunctions,
]);

/// The tables that set boundaries.
const BOUNDARY_TABLES: [TableName; 3] = [TableName::Milestones, TableName::Activities, TableName::PowerRequests];

/// Maximum time after a resume in which idle time is searched, ns.
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
    let mut source = Source::of(trace);
    let mut sleeps = Vec::new();
    for ((number, cycle), call_graphs) in (1_u32..).zip(&cycles).zip(call_graphs(trace, &cycles)) {
        if options.transition.is_none_or(|wanted| wanted == number) {
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
    Ok(LinuxSuspendReport { found, transitions: sleeps })
}

/// Start and end of the phases of every suspend, ns.
pub(crate) fn phase_intervals(trace: &Trace) -> Vec<PhaseInterval> {
    let rows = trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerPhase);
    rows.filter_map(|row| Some((PhaseName::parse(trace.text(row.name))?, Some(row.start_ns), row.end_ns))).collect()
}

/// The rows of one suspend.
struct Cycle {
    pub whole: Activity,
    /// Start of the next suspend, ns.
    pub until_ns: i64,
    pub phases: Vec<Activity>,
    pub milestones: Vec<Milestone>,
}

/// The suspends, ordered by start.
fn cycles(trace: &Trace) -> Vec<Cycle> {
    let mut wholes: Vec<Activity> =
        trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerTransition).collect();
    wholes.sort_by_key(|row| row.start_ns);
    let mut phases: Vec<Activity> =
        trace.activities.iter().filter(|row| row.kind == ActivityKind::PowerPhase).collect();
    phases.sort_by_key(|row| row.start_ns);
    let mut milestones: Vec<Milestone> = trace.milestones.iter().collect();
    milestones.sort_by_key(|row| row.time_ns);
    let nexts: Vec<i64> = wholes.iter().skip(1).map(|row| row.start_ns).chain([i64::MAX]).collect();
    wholes
        .into_iter()
        .zip(nexts)
        .map(|(whole, until_ns)| {
            let inside = |time: i64| whole.start_ns <= time && time < until_ns;
            let first = phases.partition_point(|row| row.start_ns < whole.start_ns);
            let first_milestone = milestones.partition_point(|row| row.time_ns < whole.start_ns);
            Cycle {
                phases: phases.iter().skip(first).take_while(|row| inside(row.start_ns)).copied().collect(),
                milestones: milestones
                    .iter()
                    .skip(first_milestone)
                    .take_while(|row| inside(row.time_ns))
                    .copied()
                    .collect(),
                whole,
                until_ns,
            }
        })
        .collect()
}

impl Cycle {
    /// The milestones with this name, ordered by time.
    fn milestones<'a>(&'a self, trace: &Trace, name: &str) -> impl Iterator<Item = &'a Milestone> + use<'a> {
        let name = trace.strings.find(name);
        self.milestones.iter().filter(move |row| Some(row.name) == name)
    }

    /// The first milestone with this name that has a value: the value and the record.
    fn value<'a>(&'a self, trace: &Trace, name: &str) -> Option<(i64, &'a Milestone)> {
        self.milestones(trace, name).find_map(|row| Some((row.value?, row)))
    }
}

/// The call graphs of callbacks from the start of each suspend to that of the next, longest first.
fn call_graphs(trace: &Trace, cycles: &[Cycle]) -> Vec<Vec<CallGraph>> {
    let mut of_cycles = vec![Vec::new(); cycles.len()];
    for graph in call_graph::of_work(trace, CallGraphSubject::DeviceCallback) {
        let next = cycles.partition_point(|cycle| cycle.whole.start_ns <= graph.start_ns);
        if let Some(graphs) = next.checked_sub(1).and_then(|at| of_cycles.get_mut(at)) {
            graphs.push(graph);
        }
    }
    of_cycles
}

/// A trace, with rows sorted by time and indexed for all suspends.
struct Source<'t> {
    trace: &'t Trace,
    images: Images<'t>,
    owners: Owners,
    /// Requests except those of runtime power management, ordered by start.
    requests: Vec<PowerRequest>,
    readings: Vec<Milestone>,
    tasks: tasks::Names<'t>,
}

impl<'t> Source<'t> {
    fn of(trace: &'t Trace) -> Self {
        let mut requests: Vec<PowerRequest> =
            trace.power_requests.iter().filter(|row| !row.kind.is_runtime()).collect();
        requests.sort_by_key(|row| row.start_ns);
        Self {
            trace,
            images: Images::of(trace),
            owners: Owners::of(trace),
            requests,
            readings: low_power::readings(trace),
            tasks: tasks::Names::of(trace),
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
        let whole = &cycle.whole;
        let variant = match trace.text(whole.name) {
            "freeze" => Variant::SuspendToIdle,
            "standby" => Variant::Standby,
            "mem" => Variant::Sleep,
            "disk" => Variant::Hibernate,
            _ => Variant::Unknown,
        };
        let mut phases = phases::recorded(trace, cycle);
        let end_ns = whole.end_ns;
        // Requests after the end belong to runtime power management of single devices.
        let callbacks_until = end_ns.map_or(cycle.until_ns, |end| end.saturating_add(1).min(cycle.until_ns));
        let mut callbacks = callbacks::between(trace, &self.requests, &phases, whole.start_ns, callbacks_until);
        callbacks::sum_up(&mut phases, &mut callbacks);
        let devices = callbacks::devices(&callbacks);
        let machine = asleep::machine(trace, cycle, &phases);
        let refusals: Vec<String> =
            cycle.milestones(trace, milestone::POWER_ABORTED).map(|row| trace.text(row.detail).to_owned()).collect();
        let error = whole.status.map(u32::cast_signed).filter(|&error| error != 0);
        let aborted = error.is_some() || !refusals.is_empty();
        let (suspend, asleep, resume) = asleep::halves(trace, cycle, variant, &phases, machine.as_ref(), aborted);
        let tasks = tasks::frozen(trace, &self.images, &self.tasks, &phases, cycle.until_ns);
        let outcome = match (&machine, end_ns) {
            (_, None) => SleepOutcome::Unfinished,
            (Some(_), Some(_)) => SleepOutcome::Slept,
            (None, Some(_)) if aborted => SleepOutcome::Aborted,
            (None, Some(_)) => SleepOutcome::Unknown,
        };
        let value = |name: &str| cycle.value(trace, name).map(|(value, _)| value);
        let readings = low_power::Readings::of(trace, &self.readings, cycle);
        let low_power = low_power::low_power(trace, cycle, variant, (&phases, &asleep), &readings);
        let (total_ns, total_at_least_ns, total_certainty) = total_of_halves(&suspend, &resume);
        call_graphs.retain(|graph| graph.start_ns < callbacks_until);
        call_graphs.truncate(call_graph::MAX_GRAPHS);
        let settling = self.settle(cycle, &resume, options);
        let mut sleep = LinuxSleep {
            system: SystemKind::Linux,
            kind: TransitionKind::Suspend,
            variant,
            number,
            start_ns: Some(whole.start_ns),
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
                mode: trace.text(whole.detail).to_owned(),
                event: trace.text(whole.event).to_owned(),
                outcome,
                error,
                refusals,
                requested_by: whole
                    .pid
                    .and_then(|pid| self.images.at(pid, whole.start_ns))
                    .unwrap_or_default()
                    .to_owned(),
                requested_by_pid: whole.pid,
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
        // Otherwise the gap would be the time asleep.
        sleep.details.longest_gap =
            if is_received(&sleep.details.event) && !aborted { None } else { phases::longest_gap(&sleep) };
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
            // The kernel reports the interrupt itself; a source that was active after the resume is only a candidate.
            certainty: if is_logged(&event) { Certainty::Measured } else { Certainty::Inferred },
            event,
        });
    }
    sources
}

fn image(trace: &Trace, cycle: &Cycle, phases: &[Phase], asleep: &LinuxAsleep) -> MemoryImage {
    let length = |name: PhaseName| {
        let lengths: Vec<i64> =
            phases.iter().filter(|phase| phase.name == name).filter_map(|phase| phase.duration_ns).collect();
        (!lengths.is_empty()).then(|| lengths.into_iter().fold(0, i64::saturating_add))
    };
    let write_ns = length(PhaseName::WriteImage);
    let read_ns = length(PhaseName::ReadImage);
    let known = write_ns.is_some() && read_ns.is_some();
    MemoryImage {
        pages: cycle.value(trace, milestone::POWER_HIBERNATE_PAGES).map(|(pages, _)| pages),
        create_ns: length(PhaseName::CreateImage),
        write_ns,
        read_ns,
        max_ns: asleep.slept_ns.filter(|_| !known),
        rule: match (known, asleep.slept_ns) {
            (true, _) => Rule::None,
            (false, Some(_)) => Rule::ImageWithinSleep,
            (false, None) => Rule::ImageAndClockNotRecorded,
        },
    }
}

/// Evidence that the recording does not contain.
fn missing_evidence(trace: &Trace, sleeps: &[LinuxSleep]) -> MissingEvidence {
    let mut parts = Vec::new();
    let wanted = |table| trace.requested_tables.contains(table);
    let traced = sleeps.iter().flat_map(|sleep| &sleep.phases).any(|phase| !is_logged(&phase.starts.event));
    if !traced {
        parts.push(UnknownFact::LinuxSleepPhases);
    }
    if wanted(TableName::PowerRequests) && trace.power_requests.is_empty() {
        parts.push(UnknownFact::LinuxDeviceCallbacks);
    }
    if wanted(TableName::ContextSwitches) && trace.context_switches.is_empty() {
        parts.push(UnknownFact::LinuxProcessorsInSleep);
    }
    if wanted(TableName::DiskIos) && trace.disk_ios.is_empty() {
        parts.push(UnknownFact::LinuxDisks);
    }
    let unknown_length =
        |sleep: &LinuxSleep| sleep.details.outcome == SleepOutcome::Slept && sleep.details.asleep.slept_ns.is_none();
    if sleeps.iter().any(unknown_length) {
        parts.push(UnknownFact::TimeAsleep);
    }
    if sleeps
        .iter()
        .filter(|sleep| sleep.variant != Variant::Hibernate)
        .any(|sleep| sleep.details.outcome == SleepOutcome::Slept && sleep.details.wake_sources.is_empty())
    {
        parts.push(UnknownFact::WakeSource);
    }
    if sleeps.iter().any(|sleep| sleep.variant == Variant::Sleep && sleep.details.firmware == FirmwareSleep::default())
    {
        parts.push(UnknownFact::FirmwareOfResume);
    }
    MissingEvidence::of_linux(parts)
}

fn describe_recording(trace: &Trace) -> String {
    use crate::{TransitionKind, contents};
    contents::describe_instead(trace, TransitionKind::Suspend).found
}

/// The boundary of a half; `found` is its time and event.
fn boundary(found: Option<(i64, &str)>, rule: Rule, certainty: Certainty) -> Boundary {
    match found {
        Some((time_ns, event)) => {
            Boundary { time_ns: Some(time_ns), rule, event: event.to_owned(), certainty, unmatched_rules: Vec::new() }
        }
        None => Boundary { rule: Rule::NotFound, unmatched_rules: vec![rule], ..Boundary::default() },
    }
}

/// Whether a row comes from the kernel log rather than from a trace.
fn is_logged(event: &str) -> bool {
    event.starts_with("kernel log")
}

/// Whether a row comes from kernel messages with the times of their receipt.
fn is_received(event: &str) -> bool {
    event == power_phase::RECEIVED_EVENT
}

/// Whether a phase precedes the sleep state.
fn is_down(phase: &Phase) -> bool {
    phase.half == Some(SuspendStage::Suspend)
}
