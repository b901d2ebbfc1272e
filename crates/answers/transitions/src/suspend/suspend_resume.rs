//! Measures suspend, sleep and resume from events, from the kernel's own times, and from the wall clock.

use crate::{Phase, PhaseName, SuspendStage, Variant};
use onoff_trace::{Trace, milestone};

use super::report::{PowerTotal, SleepGap};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, DerivedInterval};
use onoff_usage::asleep::cycles::Cycle;
use onoff_usage::asleep::durations::{
    before_kernel_ns, clock_adjustment, clock_kept_running, image_read, uncovered_image_write_ns, wall_clock_gap,
};
use onoff_usage::asleep::trim;
use onoff_usage::user_input::without_user_input;

/// Suspend and resume, and the time between them.
pub(super) struct Halves {
    pub suspend: PowerTotal,
    pub asleep: SleepGap,
    pub resume: PowerTotal,
    /// End of the transition, ns.
    pub end_ns: Option<i64>,
}

pub(super) fn measure(trace: &Trace, cycle: &Cycle, recorded: &[Phase], variant: Variant) -> Halves {
    if let Some((enter, exit)) = cycle.standby {
        let boundary = |row: Option<onoff_trace::Milestone>, rule: Rule| match row {
            Some(row) => boundary_at(row.time_ns, rule, trace.text(row.event), Certainty::Measured),
            None => not_found(rule),
        };
        let gap = DerivedInterval::between(
            &boundary(enter, Rule::ModernStandbyEntered),
            &boundary(exit, Rule::ModernStandbyExited),
        );
        let end_ns = gap.end_ns;
        let mut asleep = SleepGap { measured: gap, ..SleepGap::default() };
        asleep.set_reported(trace);
        return Halves { suspend: PowerTotal::default(), resume: PowerTotal::default(), end_ns, asleep };
    }
    let suspend = suspend_interval(trace, cycle, recorded);
    let resume = resume_interval(trace, cycle, recorded, suspend.end_ns);
    let end_ns = resume.end_ns.or(cycle.transition.and_then(|row| row.end_ns));
    let writes_image = matches!(variant, Variant::Hibernate | Variant::HybridSleep | Variant::FastStartup);
    let reads_image = matches!(variant, Variant::Hibernate | Variant::FastStartup);
    let unrecorded_suspend_ns =
        if writes_image { uncovered_image_write_ns(trace, cycle, suspend.end_ns) } else { Some(0) };
    let is_read_known = !reads_image || image_read(trace, cycle).is_some();
    let unrecorded_resume_ns = is_read_known.then(|| before_kernel_ns(trace, cycle));
    let unrecorded_ns = (unrecorded_suspend_ns.unwrap_or(0), unrecorded_resume_ns.unwrap_or(0));
    let asleep = sleep_gap(trace, cycle, &suspend, &resume, unrecorded_ns);
    Halves {
        suspend: total(trace, cycle, suspend, unrecorded_suspend_ns, &[milestone::POWER_SUSPEND_TIME]),
        asleep,
        resume: total(
            trace,
            cycle,
            resume,
            unrecorded_resume_ns,
            &[milestone::POWER_RESUME_TIME, milestone::RESUME_TIME],
        ),
        end_ns,
    }
}

fn boundary_at(time_ns: i64, rule: Rule, event: &str, certainty: Certainty) -> Boundary {
    Boundary { time_ns: Some(time_ns), rule, event: event.to_owned(), certainty, unmatched_rules: Vec::new() }
}

fn not_found(rule: Rule) -> Boundary {
    Boundary { rule: Rule::NotFound, unmatched_rules: vec![rule], ..Boundary::default() }
}

/// Measures the suspend from the earliest start to the latest end. Falls back to the ends of phases if the defining
/// events are missing.
fn suspend_interval(trace: &Trace, cycle: &Cycle, phases: &[Phase]) -> DerivedInterval {
    const START: Rule = Rule::KernelTransitionBegins;
    const SLEEP: Rule = Rule::LastRecordBeforeSleep;
    let suspend_phases = || phases.iter().filter(|phase| phase.half == Some(SuspendStage::Suspend));
    let transition_start =
        cycle.transition.map(|row| boundary_at(row.start_ns, START, trace.text(row.event), Certainty::Measured));
    let first_phase = suspend_phases()
        .filter_map(|phase| Some((phase.start_ns?, phase)))
        .min_by_key(|&(start, _)| start)
        .map(|(start, phase)| {
            // Measured if the defining event was recorded and this phase preceded it.
            let measured = transition_start.is_some() || phase.name == PhaseName::UserSession;
            let mut boundary = boundary_at(
                start,
                Rule::PhaseStarts { phase: phase.name },
                &phase.starts.event,
                if measured { Certainty::Measured } else { Certainty::Inferred },
            );
            if !measured {
                boundary.unmatched_rules.push(START);
            }
            boundary
        });
    let image_record = cycle.image_start(trace).map(|row| (row, Rule::MemoryImageWriteStarts));
    let sleep_record = cycle.milestone(trace, milestone::SLEEP).map(|row| (row, SLEEP));
    let stopped_clock = cycle.stopped_clock(trace).map(|row| (row, Rule::ClockStopped));
    let last_record = sleep_record
        .into_iter()
        .chain(image_record)
        .chain(stopped_clock)
        .map(|(row, rule)| boundary_at(row.time_ns, rule, trace.text(row.event), Certainty::Measured))
        .max_by_key(|boundary| boundary.time_ns);
    if transition_start.is_none() && first_phase.is_none() && last_record.is_none() {
        return DerivedInterval::not_found([Rule::SuspendNotRecorded]);
    }
    let awake_ns = cycle.awake_ns(trace).unwrap_or(i64::MAX);
    let phase_ends = suspend_phases().filter_map(|phase| Some((phase.end_ns.filter(|&end| end <= awake_ns)?, phase)));
    let last_phase = phase_ends.max_by_key(|&(end, _)| end).map(|(end, phase)| {
        let certainty = if last_record.is_some() { Certainty::Measured } else { Certainty::Inferred };
        let mut boundary = boundary_at(end, Rule::PhaseEnds { phase: phase.name }, &phase.ends.event, certainty);
        if last_record.is_none() {
            boundary.unmatched_rules.push(SLEEP);
        }
        boundary
    });
    let start = [transition_start, first_phase]
        .into_iter()
        .flatten()
        .min_by_key(|boundary| boundary.time_ns)
        .unwrap_or_else(|| not_found(START));
    let end = [last_phase, last_record]
        .into_iter()
        .flatten()
        .max_by_key(|boundary| boundary.time_ns)
        .unwrap_or_else(|| not_found(SLEEP));
    DerivedInterval::between(&start, &end)
}

fn resume_interval(trace: &Trace, cycle: &Cycle, phases: &[Phase], suspend_end_ns: Option<i64>) -> DerivedInterval {
    const WAKE: Rule = Rule::FirstRecordAfterSleep;
    const END: Rule = Rule::KernelTransitionEnds;
    let resume_phases = || phases.iter().filter(|phase| phase.half == Some(SuspendStage::Resume));
    let wake = cycle.wake(trace).map(|row| boundary_at(row.time_ns, WAKE, trace.text(row.event), Certainty::Measured));
    let first_phase = resume_phases()
        .filter_map(|phase| Some((phase.start_ns?, phase)))
        .min_by_key(|&(start, _)| start)
        .map(|(start, phase)| {
            boundary_at(start, Rule::PhaseStarts { phase: phase.name }, &phase.starts.event, Certainty::Measured)
        });
    let start = [wake, first_phase].into_iter().flatten().min_by_key(|boundary| boundary.time_ns);
    let last_phase_end = resume_phases()
        .filter_map(|phase| Some((phase.end_ns?, phase)))
        .max_by_key(|&(end, _)| end)
        .map(|(end, phase)| Boundary {
            unmatched_rules: vec![END],
            ..boundary_at(end, Rule::PhaseEnds { phase: phase.name }, &phase.ends.event, Certainty::Inferred)
        });
    let kernel_end = [milestone::RESUME_DEVICES_TIME, milestone::POWER_RESUME_TIME, milestone::RESUME_TIME]
        .into_iter()
        .find_map(|name| cycle.value(trace, name))
        .map(|(_, row)| Boundary {
            unmatched_rules: vec![END],
            ..boundary_at(row.time_ns, Rule::KernelAccountAfterResume, trace.text(row.event), Certainty::Inferred)
        });
    let started_ns = start.as_ref().and_then(|start| start.time_ns).or(suspend_end_ns);
    let is_after_start = |boundary: &Boundary| boundary.time_ns.zip(started_ns).is_none_or(|(end, start)| end >= start);
    // The end record, which also has the wall-clock time, exists even if the recording does not contain the start.
    let end_record = cycle.transition.and_then(|row| Some((row.end_ns?, row.event))).or_else(|| {
        let row = cycle.milestone(trace, milestone::POWER_END_UTC)?;
        Some((row.time_ns, row.event))
    });
    let recorded_end = end_record.map(|(end, event)| boundary_at(end, END, trace.text(event), Certainty::Measured));
    // A failed transition ends without having slept: it has no resume.
    let Some(start) = start else {
        return match kernel_end {
            Some(end) => DerivedInterval::between(&not_found(WAKE), &end),
            None => DerivedInterval::not_found([Rule::ResumeNotRecorded]),
        };
    };
    let end = recorded_end
        .filter(is_after_start)
        .or(last_phase_end.filter(is_after_start))
        .or(kernel_end.filter(is_after_start))
        .unwrap_or_else(|| not_found(END));
    DerivedInterval::between(&start, &end)
}

fn total(
    trace: &Trace,
    cycle: &Cycle,
    measured: DerivedInterval,
    unrecorded_ns: Option<i64>,
    names: &[&str],
) -> PowerTotal {
    let kernel = names.iter().find_map(|name| cycle.duration(trace, name));
    let kernel_ns = kernel.map(|(ns, _)| ns);
    PowerTotal {
        whole_ns: measured.duration_ns.zip(unrecorded_ns).map(|(events, unrecorded)| events.saturating_add(unrecorded)),
        at_least_ns: match measured.duration_ns {
            Some(events) => events.saturating_add(unrecorded_ns.unwrap_or(0)),
            None => 0,
        },
        unrecorded_ns,
        difference_ns: measured.duration_ns.zip(kernel_ns).map(|(events, kernel)| events.saturating_sub(kernel)),
        measured,
        kernel_ns,
        kernel_event: kernel.map(|(_, row)| trace.text(row.event).to_owned()).unwrap_or_default(),
    }
}

impl SleepGap {
    /// Takes the time from a power report, whose axis is the wall clock.
    fn set_reported(&mut self, trace: &Trace) {
        if !trace.is_power_report() {
            return;
        }
        (self.wall_ns, self.clock_missed_ns) = (self.measured.duration_ns, Some(0));
        (self.wall_rule, self.wall_certainty) = (Rule::PowerReportSession, Certainty::Measured);
    }
}

impl PowerTotal {
    /// Extends the resume until the desktop of the new session is ready. Without a desktop, the duration is unknown.
    pub(super) fn extend_to_desktop(&mut self, desktop_ns: Option<i64>) {
        let extended_ns = desktop_ns.zip(self.measured.start_ns).map(|(end, start)| end.saturating_sub(start));
        self.whole_ns =
            extended_ns.zip(self.unrecorded_ns).map(|(extended, unrecorded)| extended.saturating_add(unrecorded));
        if let Some(extended) = extended_ns {
            self.at_least_ns = extended.saturating_add(self.unrecorded_ns.unwrap_or(0));
        }
    }

    /// Subtracts the time spent waiting for user input.
    pub(super) fn subtract_user_input(&mut self, user_input_ns: i64) {
        self.whole_ns = self.whole_ns.map(|ns| without_user_input(ns, user_input_ns));
        self.at_least_ns = without_user_input(self.at_least_ns, user_input_ns);
    }
}

impl Halves {
    /// Returns the duration of suspend plus resume, its lower bound, and its certainty; times in ns. A fast startup is
    /// a shutdown and a startup that may be recorded separately, so a recording of only one half is complete.
    pub(super) fn total(&self, variant: Variant) -> (Option<i64>, i64, Certainty) {
        let halves = [&self.suspend, &self.resume];
        let allows_single_half = variant == Variant::FastStartup && halves.iter().any(|half| half.is_recorded());
        let counted_halves = || halves.iter().filter(|half| !allows_single_half || half.is_recorded());
        let total_ns = counted_halves().try_fold(0_i64, |sum, half| Some(sum.saturating_add(half.whole_ns?)));
        let at_least_ns = counted_halves().map(|half| half.at_least_ns).fold(0, i64::saturating_add);
        let certainty = counted_halves().map(|half| half.measured.certainty).reduce(Certainty::and);
        match total_ns {
            Some(ns) => (Some(ns), ns, certainty.unwrap_or_default()),
            None => (None, at_least_ns, Certainty::Missing),
        }
    }
}

/// Measures the time between suspend and resume. `unrecorded` is the time at its start and end that belongs to suspend
/// and resume although no event covers it, in ns.
fn sleep_gap(
    trace: &Trace,
    cycle: &Cycle,
    suspend: &DerivedInterval,
    resume: &DerivedInterval,
    unrecorded: (i64, i64),
) -> SleepGap {
    let (unrecorded_start_ns, unrecorded_end_ns) = unrecorded;
    let unrecorded_ns = unrecorded_start_ns.saturating_add(unrecorded_end_ns);
    let boundary = |time_ns: Option<i64>, rule: Rule| match time_ns {
        Some(time_ns) => boundary_at(time_ns, rule, "", Certainty::Measured),
        None => not_found(rule),
    };
    let mut gap = SleepGap {
        measured: DerivedInterval::between(
            &boundary(suspend.end_ns, Rule::SuspendEnds),
            &boundary(resume.start_ns, Rule::ResumeStarts),
        ),
        start_unix_ns: cycle.value(trace, milestone::POWER_BEGIN_UTC).map(|(ns, _)| ns),
        end_unix_ns: cycle.value(trace, milestone::POWER_END_UTC).map(|(ns, _)| ns),
        clock_adjustment_ns: clock_adjustment(trace, cycle, suspend.start_ns),
        ..SleepGap::default()
    };
    if gap.measured.duration_ns.is_some_and(|ns| ns < 0) {
        gap.measured = DerivedInterval::not_found([Rule::ResumeBeforeSuspend]);
    }
    let Some(axis_ns) = gap.measured.duration_ns else { return gap };
    if let Some((real_ns, rule, certainty)) = wall_clock_gap(trace, cycle, axis_ns, suspend.start_ns) {
        gap.clock_missed_ns = Some(real_ns.saturating_sub(axis_ns));
        gap.wall_ns = Some(real_ns.saturating_sub(unrecorded_ns));
        (gap.wall_rule, gap.wall_certainty) = (rule, certainty);
    }
    if let Some(interval) = gap.measured.start_ns.zip(gap.measured.end_ns)
        && clock_kept_running(gap.clock_missed_ns)
    {
        let (start_ns, end_ns) = trim(interval, unrecorded);
        gap.measured.duration_ns = Some(end_ns.saturating_sub(start_ns));
        (gap.measured.start_ns, gap.measured.end_ns) = (Some(start_ns), Some(end_ns));
    }
    gap.set_reported(trace);
    // A negative sleep time means that the clock was changed.
    if gap.wall_ns.is_some_and(|ns| ns < 0) {
        gap.wall_ns = None;
        gap.wall_certainty = Certainty::Missing;
        gap.wall_rule = Rule::WallClockContradicts;
    }
    gap
}
