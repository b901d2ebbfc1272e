//! Explains why something took long: the result of `onoff why`.

use onoff_trace::{Duration, Losses, Pattern, TableName, TableSet, Trace};
use serde::Serialize;

use crate::account::{AccountBuilder, PhaseAccount, has_no_path};
use crate::logged_facts::{LoggedFact, logged_facts};
use crate::question::{matching_phases, no_such_phase, not_found};
use crate::waits::service_waits::{self, Blockers, Segment, ServiceStarts};
use crate::waits::timelines::SwitchDirection;
use crate::waits::{
    CriticalPath, EndThread, PathOptions, PathThread, TABLES, TransitionPhase, Waits, driver_name, reason,
};
use onoff_evidence::interval::Interval;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_evidence::rule::Rule;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_usage::units::{Unit, units};

pub use crate::question::{WhyError, WhyQuestion, WhyTarget};

/// The tables that [`why`] reads.
pub const WHY_TABLES: TableSet = TABLES.with(TableName::Stacks).with(TableName::Methods);

/// Maximum number of services whose wait before the start is explained.
const MAX_START_WAITS: usize = 1024;

/// Kind of an explained interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExplainedIntervalKind {
    /// A wait of a thread, from switch-out to switch-in.
    Wait,
    /// The start or stop of a service.
    Service,
    /// A device request or the work of a driver.
    Device,
    /// A phase of a transition.
    Phase,
}

/// An interval and why it took so long.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedInterval {
    /// Kind of the interval.
    pub kind: ExplainedIntervalKind,
    /// Name of the service, device or phase; empty for waits.
    pub name: String,
    /// `start`, `stop`, `wait` (of a service for others before its own start), a kind of request, a transition, or the
    /// recorded wait reason.
    pub action: String,
    /// The waiting thread; `None` if the interval is not a wait.
    pub thread: Option<PathThread>,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Duration, ns.
    pub duration_ns: i64,
    /// The duration divided by subject; the parts sum to it.
    pub account: PhaseAccount,
    /// The critical path.
    pub path: CriticalPath,
}

/// The result of `onoff why`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyReport {
    /// The explained intervals: phases in order of time, others longest first.
    pub intervals: Vec<ExplainedInterval>,
    /// What event logs record about the target, longest first. They have no threads, so `intervals` is empty. Empty for
    /// other recordings.
    pub logged_facts: Vec<LoggedFact>,
    /// Number of matching intervals, including omitted ones.
    pub found: u64,
    /// Number of omitted waits for work items, in which threads were idle.
    pub omitted_work_waits: u64,
    /// Total time of the omitted waits, ns.
    pub omitted_work_waits_ns: i64,
    /// Records that were not recorded but would explain more time.
    pub missing_evidence: Vec<MissingRecords>,
    /// Intervals without an explanation because no context switch was recorded in them.
    pub unexplained: Vec<UnexplainedInterval>,
    /// Unreachable symbol servers, then PDB files that were looked for and not used, each with the reason.
    pub missing_symbols: Vec<String>,
    /// Events lost by the recorder.
    pub losses: Losses,
}

/// A phase, a service's start or stop, or a wait in which no context switch was recorded, so no chain is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnexplainedInterval {
    /// Kind of the interval.
    pub kind: ExplainedIntervalKind,
    /// Name of the phase, service or waiting process.
    pub name: String,
    /// `start` or `stop` of a service; empty for others.
    pub action: String,
}

/// An interval to explain.
struct Candidate {
    kind: ExplainedIntervalKind,
    name: String,
    action: String,
    waiting_tid: Option<u32>,
    range: Interval,
    end: EndThread,
    /// The phase, if the interval is one.
    phase: Option<TransitionPhase>,
    /// The services that were waited for in turn.
    chain: Option<(Blockers, Vec<Segment>)>,
}

/// Explains what `question` is about.
///
/// # Errors
/// Nothing in the recording matches `question`.
pub fn why(trace: &Trace, question: &WhyQuestion) -> Result<WhyReport, WhyError> {
    // Only event logs have channels.
    if !trace.channels.is_empty() {
        let (logged_facts, losses) = (logged_facts(trace, question)?, trace.losses.clone());
        return Ok(WhyReport { logged_facts, losses, ..WhyReport::default() });
    }
    let waits = Waits::new(trace);
    let mut report =
        WhyReport { missing_evidence: waits.missing_evidence(), losses: trace.losses.clone(), ..WhyReport::default() };
    let mut candidates = match &question.target {
        WhyTarget::Process(pattern) => {
            let tids = waits.threads_of_processes(pattern);
            if tids.is_empty() {
                return Err(not_found("no such process in this recording"));
            }
            waits.waits_of(&tids, question, &mut report)
        }
        WhyTarget::Thread(tid) => {
            if !waits.identities.is_known(*tid) && waits.timelines.switches_before(*tid, i64::MAX) == 0 {
                return Err(not_found("no such thread in this recording"));
            }
            waits.waits_of(&[*tid], question, &mut report)
        }
        WhyTarget::Service(pattern) => {
            non_empty(services(trace, pattern, &waits), "no such service in this recording")?
        }
        WhyTarget::Device(pattern) => {
            non_empty(devices(trace, pattern, &waits), "no request to this device in this recording")?
        }
        WhyTarget::Phase(pattern, kind) => {
            non_empty(phase_candidates(trace, pattern.as_ref(), *kind, &waits), &no_such_phase(trace))?
        }
        WhyTarget::LongestPhase(kind) => {
            let mut phases = phase_candidates(trace, None, *kind, &waits);
            // A sleep, or the idle time at the end of a boot, is nobody's fault.
            phases.retain(|candidate| !has_no_path(&candidate.name));
            non_empty(phases, &no_such_phase(trace))?
        }
    };
    if matches!(question.target, WhyTarget::Phase(None, _) | WhyTarget::LongestPhase(_) | WhyTarget::Service(_)) {
        omit_unrecorded(trace, &waits, &mut candidates, &mut report);
    }
    if let WhyTarget::LongestPhase(_) = question.target {
        candidates = candidates.into_iter().max_by_key(|candidate| candidate.range.duration_ns()).into_iter().collect();
    }
    candidates.retain(|candidate| {
        let contains_time =
            question.at_ns.is_none_or(|time_ns| candidate.range.contains(time_ns) || candidate.range.end_ns == time_ns);
        let is_within =
            question.within.is_none_or(|range| candidate.range.overlap_ns(range.start_ns, range.end_ns) > 0);
        contains_time && is_within && candidate.range.duration_ns() >= question.min_duration_ns
    });
    if candidates.is_empty() {
        return Err(WhyError::NoMatch(no_match_message(question, &report)));
    }
    report.found = candidates.len() as u64;
    let are_phases = matches!(question.target, WhyTarget::Phase(..) | WhyTarget::LongestPhase(_));
    if !are_phases {
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.range.duration_ns()));
    }
    if let Some(max_intervals) = question.max_intervals.filter(|_| !are_phases) {
        candidates.truncate(max_intervals);
    }
    let mut builder = AccountBuilder::new(&waits);
    report.intervals =
        candidates.into_iter().map(|candidate| waits.explain(candidate, question.path, &mut builder)).collect();
    waits.add_stacks(report.intervals.iter_mut().map(|interval| &mut interval.path).collect());
    Ok(report)
}

/// Moves phases and services outside the recorded switches to `report.unexplained`, because they have no chain (a trace
/// of a shutdown does not cover the boot before it). Keeps them if nothing else was found.
fn omit_unrecorded(trace: &Trace, waits: &Waits<'_>, candidates: &mut Vec<Candidate>, report: &mut WhyReport) {
    let first_ns = waits.timelines.first_switch_ns();
    let last_switch = waits.timelines.switches_back(trace.duration_ns, 1).next();
    let last_ns = last_switch.map_or(i64::MIN, |row| row.time_ns);
    let has_switches = |candidate: &Candidate| candidate.range.end_ns > first_ns && candidate.range.start_ns < last_ns;
    if !candidates.iter().any(has_switches) {
        return;
    }
    // Phases before the kernel clock belong to a recorded boot.
    let is_before_kernel = |candidate: &Candidate| candidate.phase.is_some() && candidate.range.end_ns <= 0;
    let boot_is_recorded = candidates.iter().any(|candidate| {
        candidate.phase.as_ref().is_some_and(|phase| phase.transition == TransitionKind::Boot)
            && has_switches(candidate)
    });
    if !boot_is_recorded {
        candidates.retain(|candidate| !is_before_kernel(candidate));
    }
    let is_recorded = |candidate: &Candidate| is_before_kernel(candidate) || has_switches(candidate);
    report.unexplained = candidates
        .iter()
        .filter(|candidate| !is_recorded(candidate))
        .map(|candidate| UnexplainedInterval {
            kind: candidate.kind,
            name: candidate.name.clone(),
            action: candidate.action.clone(),
        })
        .collect();
    candidates.retain(is_recorded);
}

fn non_empty(candidates: Vec<Candidate>, message: &str) -> Result<Vec<Candidate>, WhyError> {
    if candidates.is_empty() { Err(not_found(message)) } else { Ok(candidates) }
}

fn no_match_message(question: &WhyQuestion, report: &WhyReport) -> String {
    let when = match (question.at_ns, question.within) {
        (Some(_), _) => " at that time",
        (None, Some(_)) => " in that phase",
        (None, None) => "",
    };
    let subject = match question.target {
        WhyTarget::Process(_) | WhyTarget::Thread(_) => "no wait",
        _ => "nothing",
    };
    let hint = if report.omitted_work_waits > 0 {
        "; waits for work items are excluded (use --idle to include them)"
    } else {
        ""
    };
    format!("{subject}{when} took {} or longer{hint}", Duration::from_ns(question.min_duration_ns))
}

fn services(trace: &Trace, pattern: &Pattern, waits: &Waits<'_>) -> Vec<Candidate> {
    let services = units(trace);
    let starts = ServiceStarts::new(&services);
    let start_waits = services
        .iter()
        .enumerate()
        .filter(|(_, row)| pattern.matches(&row.name) && row.waited_for.is_some())
        .take(MAX_START_WAITS)
        .filter_map(|(index, _)| waits.wait_before(&services, &starts, index));
    trace
        .service_transitions
        .iter()
        .filter(|row| pattern.matches(trace.text(row.service)))
        .map(|row| {
            let end_ns = row.end_ns.unwrap_or(trace.duration_ns);
            Candidate {
                kind: ExplainedIntervalKind::Service,
                name: trace.text(row.service).to_owned(),
                action: row.kind.as_str().to_owned(),
                waiting_tid: None,
                range: Interval::new(row.start_ns, end_ns),
                end: waits.end_of_service(
                    row.container_pid.or_else(|| waits.blockers.stopper(row.service, row.start_ns)),
                    trace.text(row.service),
                    end_ns,
                ),
                phase: None,
                chain: None,
            }
        })
        .chain(start_waits)
        .collect()
}

fn devices(trace: &Trace, pattern: &Pattern, waits: &Waits<'_>) -> Vec<Candidate> {
    let candidate = |kind: &str, (start_ns, end_ns): (i64, Option<i64>), name: &str, tid: Option<u32>| {
        let end_ns = end_ns.unwrap_or(trace.duration_ns);
        Candidate {
            kind: ExplainedIntervalKind::Device,
            name: name.to_owned(),
            action: kind.to_owned(),
            waiting_tid: None,
            range: Interval::new(start_ns, end_ns),
            end: match tid {
                Some(tid) => EndThread { rule: Rule::SendingThread, ..EndThread::from_tid(tid) },
                None => waits.end_at(end_ns),
            },
            phase: None,
            chain: None,
        }
    };
    let matches = |texts: [onoff_trace::StringId; 4]| {
        texts.iter().any(|&id| {
            let text = trace.text(id);
            pattern.matches(text) || pattern.matches(driver_name(text))
        })
    };
    let name = |device, driver| match trace.text(device) {
        "" => trace.text(driver),
        device => device,
    };
    let operations = trace
        .device_operations
        .iter()
        .filter(|row| matches([row.device, row.driver, row.description, row.friendly_name]))
        .map(|row| {
            let interval = (row.start_ns, row.end_ns);
            candidate(row.kind.as_str(), interval, name(row.device, row.driver), row.tid)
        });
    let requests = trace
        .power_requests
        .iter()
        .filter(|row| row.scope == onoff_trace::PowerRequestScope::Device)
        .filter(|row| matches([row.device, row.driver, row.description, row.friendly_name]))
        .map(|row| {
            let interval = (row.start_ns, row.end_ns);
            candidate(row.kind.as_str(), interval, name(row.device, row.driver), row.tid)
        });
    operations.chain(requests).collect()
}

/// Error message that lists the recorded phases.
fn phase_candidates(
    trace: &Trace,
    pattern: Option<&Pattern>,
    kind: Option<TransitionKind>,
    waits: &Waits<'_>,
) -> Vec<Candidate> {
    matching_phases(trace, pattern, kind)
        .map(|phase| Candidate {
            kind: ExplainedIntervalKind::Phase,
            name: phase.name.clone(),
            action: phase.transition.as_str().to_owned(),
            waiting_tid: None,
            end: waits.end_at(phase.range.end_ns),
            range: phase.range,
            phase: Some(phase.clone()),
            chain: None,
        })
        .collect()
}

impl Waits<'_> {
    fn threads_of_processes(&self, pattern: &Pattern) -> Vec<u32> {
        let mut tids: Vec<u32> = self
            .trace
            .processes
            .iter()
            .filter(|process| {
                let image = onoff_usage::owners::file_name(self.trace.text(process.image));
                pattern.matches(image) || pattern.is_number(process.pid)
            })
            .flat_map(|process| self.identities.threads_of(process.pid))
            .collect();
        tids.sort();
        tids.dedup();
        tids
    }

    /// Returns the waits of `tids` that are long enough.
    fn waits_of(&self, tids: &[u32], question: &WhyQuestion, report: &mut WhyReport) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for &tid in tids {
            let mut out = None;
            for index in 0.. {
                let Some(switch) = self.timelines.switch(tid, index) else { break };
                if switch.direction == SwitchDirection::Out {
                    out = Some(switch);
                    continue;
                }
                let Some(out) = out.take() else { continue };
                let range = Interval::new(out.time_ns, switch.time_ns);
                if reason::state_after_switch_out(out.old_state()) == reason::ThreadState::Ended
                    || range.duration_ns() < question.min_duration_ns
                {
                    continue;
                }
                if reason::is_work_item_wait(out.old_wait_reason()) && !question.include_work_waits {
                    report.omitted_work_waits += 1;
                    report.omitted_work_waits_ns = report.omitted_work_waits_ns.saturating_add(range.duration_ns());
                    continue;
                }
                if !self.is_in_process(question, tid, range) {
                    continue;
                }
                candidates.push(Candidate {
                    kind: ExplainedIntervalKind::Wait,
                    name: String::new(),
                    action: reason::recorded_reason(self.trace.system.kind, out.old_wait_mode(), out.old_wait_reason())
                        .to_owned(),
                    waiting_tid: Some(tid),
                    range,
                    end: EndThread::from_tid(tid),
                    phase: None,
                    chain: None,
                });
            }
        }
        candidates
    }

    /// True if the thread with id `tid` belonged to the requested process at the time: ids are reused.
    fn is_in_process(&self, question: &WhyQuestion, tid: u32, range: Interval) -> bool {
        let WhyTarget::Process(pattern) = &question.target else { return true };
        self.identities.pid_of(tid, range.end_ns).is_some_and(|pid| {
            let image = self.identities.image(pid, range.end_ns);
            pattern.is_number(pid) || image.is_some_and(|image| pattern.matches(image))
        })
    }

    /// Returns the wait of service `index` of `services` before it was asked to start.
    fn wait_before(&self, services: &[Unit], starts: &ServiceStarts<'_>, index: usize) -> Option<Candidate> {
        let service = services.get(index)?;
        let (blockers, segments, certainty) = Blockers::chain_before(self.trace, services, starts, index);
        let range = Interval::new(segments.last()?.start_ns, segments.first()?.end_ns);
        let manager_end = service_waits::manager(self.trace, &self.identities, range.end_ns)
            .map(|pid| self.end_of_service(Some(pid), &service.name, range.end_ns));
        Some(Candidate {
            kind: ExplainedIntervalKind::Service,
            name: service.name.clone(),
            action: "wait".to_owned(),
            waiting_tid: None,
            range,
            end: EndThread { tid: manager_end.and_then(|end| end.tid), rule: Rule::ServiceManagerStartsIt, certainty },
            phase: None,
            chain: Some((blockers, segments)),
        })
    }

    fn explain(
        &self,
        candidate: Candidate,
        options: PathOptions,
        builder: &mut AccountBuilder<'_, '_>,
    ) -> ExplainedInterval {
        let (walk, interval, blockers) = match &candidate.chain {
            Some((blockers, segments)) => {
                let (walk, interval) = self.walk_through(blockers, segments, &candidate.end);
                (walk, interval, blockers)
            }
            None => {
                let unit_walk = candidate.phase.as_ref().and_then(|phase| self.walk_units(phase));
                let (walk, interval) = unit_walk.unwrap_or_else(|| {
                    let interval = self.clip(candidate.range);
                    (self.walk_back(interval, &candidate.end), interval)
                });
                (walk, interval, &self.blockers)
            }
        };
        let path = self.describe(&walk, blockers, interval, &candidate.end, options);
        let account = match &candidate.phase {
            Some(phase) => builder.phase_of_walk(phase, &walk),
            None => {
                builder.walk_account(&walk, interval, &|step| blockers.get(step.blocker).map(|blocker| blocker.service))
            }
        };
        // A phase before the kernel clock starts has an account but no path.
        let is_before_kernel = candidate.phase.is_some() && candidate.range.end_ns <= 0;
        let range = if is_before_kernel { candidate.range } else { Interval::new(path.start_ns, path.end_ns) };
        ExplainedInterval {
            kind: candidate.kind,
            name: candidate.name,
            action: candidate.action,
            thread: candidate.waiting_tid.map(|_| path.end_thread.clone()),
            start_ns: range.start_ns,
            end_ns: range.end_ns,
            duration_ns: range.duration_ns(),
            account,
            path,
        }
    }
}
