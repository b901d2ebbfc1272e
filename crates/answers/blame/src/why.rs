//! Why something took as long as it did: the answer of `onoff why`.

use onoff_trace::{Losses, Pattern, TableName, Tables, Trace};
use serde::Serialize;
use thiserror::Error;

use crate::account::{Accountant, PhaseAccount, has_no_path};
use crate::waits::service_waits::{self, Holds, Segment, Starts};
use crate::waits::timelines::Turn;
use crate::waits::{
    CriticalPath, EndThread, PathOptions, PathThread, TABLES, TransitionPhase, Waits, driver_name, phases, reason,
    unsettled_phases,
};
use onoff_evidence::interval::Interval;
use onoff_evidence::missing_evidence::MissingRecords;
use onoff_evidence::rule::Rule;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_usage::units::{Unit, units};

/// The tables that the question is answered from.
pub const WHY_TABLES: Tables = TABLES.with(TableName::Stacks).with(TableName::Methods);

/// Services whose wait before their start is told, at most.
const MAX_WAITS_BEFORE: usize = 1024;

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The long waits of a process's threads: its image name or id.
    Process(Pattern),
    /// The long waits of a thread.
    Thread(u32),
    /// The start or stop of a service.
    Service(Pattern),
    /// The requests to a device: its instance, description, friendly name or driver.
    Device(Pattern),
    /// Phases of transitions: of this name, of this kind.
    Phase(Option<Pattern>, Option<TransitionKind>),
    /// The longest phase of the transitions of this kind.
    LongestPhase(Option<TransitionKind>),
}

/// A question.
#[derive(Clone, Debug)]
pub struct WhyQuestion {
    /// What is asked about.
    pub about: About,
    /// Only what was under way then, ns.
    pub at_ns: Option<i64>,
    /// Only what was under way within, such as in a phase.
    pub within: Option<Interval>,
    /// Shorter stretches are left out, ns.
    pub min_ns: i64,
    /// At most so many stretches, the longest; `None` for all.
    pub top: Option<usize>,
    /// Whether waits for work count: threads that nobody asked for anything.
    pub waits_for_work: bool,
    /// Which steps to list.
    pub path: PathOptions,
}

/// What a stretch of time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StretchKind {
    /// A wait of a thread, from its leaving the processor to its coming back.
    Wait,
    /// A service's start or stop.
    Service,
    /// A request to a device or the work of a driver.
    Device,
    /// A phase of a transition.
    Phase,
}

/// A stretch of time and why it took so long.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyStretch {
    /// What it is.
    pub kind: StretchKind,
    /// Service, device or phase; empty for waits.
    pub name: String,
    /// What was going on: `start`, `stop`, `wait` (of a service for others before its own start), a kind of request, a transition, or the wait reason that the system gave.
    pub action: String,
    /// Thread that waited; `None` for other stretches.
    pub thread: Option<PathThread>,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
    /// Whose the time was: the parts sum to it.
    pub account: PhaseAccount,
    /// The chain.
    pub path: CriticalPath,
}

/// The answer of `onoff why`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhyReport {
    /// The stretches, phases in order of time, others longest first.
    pub stretches: Vec<WhyStretch>,
    /// How many were long enough, with those that are left out.
    pub found: u64,
    /// Waits for work that are left out: threads that nobody asked for anything.
    pub waits_for_work: u64,
    /// Their time, ns.
    pub waits_for_work_ns: i64,
    /// Records that are lacking and would say more.
    pub missing: Vec<MissingRecords>,
    /// What is not explained because no context switch was recorded in its time.
    pub without_switches: Vec<WithoutSwitches>,
    /// Symbol servers that could not be reached, then PDB files that were looked for and not used, each with the reason.
    pub symbols_missing: Vec<String>,
    /// What was lost.
    pub losses: Losses,
}

/// A phase, a service's start or stop, or a wait in whose time no context switch was recorded: no chain is known there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithoutSwitches {
    /// Which kind it is.
    pub kind: StretchKind,
    /// Name of the phase, the service or the waiting process.
    pub name: String,
    /// What the service did; empty for others.
    pub action: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoWhy {
    /// Nothing by that name.
    #[error("the recording holds no {0}")]
    Nobody(String),
    /// Nothing long enough, or nothing at that time.
    #[error("{0}")]
    NothingLong(String),
}

/// A stretch to explain.
struct Stretch {
    kind: StretchKind,
    name: String,
    action: String,
    waiting_tid: Option<u32>,
    range: Interval,
    end: EndThread,
    /// The phase, where it is one.
    phase: Option<TransitionPhase>,
    /// The services that were waited for, one after the other.
    chain: Option<(Holds, Vec<Segment>)>,
}

/// Answers `question`.
///
/// # Errors
/// The recording holds nothing of what was asked about.
pub fn why(trace: &Trace, question: &WhyQuestion) -> Result<WhyReport, NoWhy> {
    let waits = Waits::of(trace);
    let mut report = WhyReport { missing: waits.missing(), losses: trace.losses.clone(), ..WhyReport::default() };
    let mut found = match &question.about {
        About::Process(pattern) => {
            let tids = waits.threads_of_processes(pattern);
            if tids.is_empty() {
                return Err(nobody("thread of such a process"));
            }
            waits.waits_of(&tids, question, &mut report)
        }
        About::Thread(tid) => {
            if !waits.identities.is_known(*tid) && waits.timelines.switches_before(*tid, i64::MAX) == 0 {
                return Err(nobody("such thread"));
            }
            waits.waits_of(&[*tid], question, &mut report)
        }
        About::Service(pattern) => named(services(trace, pattern, &waits), "such service")?,
        About::Device(pattern) => named(devices(trace, pattern, &waits), "request to such a device")?,
        About::Phase(pattern, kind) => {
            named(phase_stretches(trace, pattern.as_ref(), *kind, &waits), &no_such_phase(trace))?
        }
        About::LongestPhase(kind) => {
            let mut phases = phase_stretches(trace, None, *kind, &waits);
            // Nobody made a sleep long, nor the idle time that ends a boot.
            phases.retain(|stretch| !has_no_path(&stretch.name));
            named(phases, &no_such_phase(trace))?
        }
    };
    if matches!(question.about, About::Phase(None, _) | About::LongestPhase(_) | About::Service(_)) {
        leave_out_unrecorded(trace, &waits, &mut found, &mut report);
    }
    if let About::LongestPhase(_) = question.about {
        found = found.into_iter().max_by_key(|stretch| stretch.range.length_ns()).into_iter().collect();
    }
    found.retain(|stretch| {
        let at_that_time = question.at_ns.is_none_or(|at| stretch.range.contains(at) || stretch.range.end_ns == at);
        let within = question.within.is_none_or(|range| stretch.range.overlap_ns(range.start_ns, range.end_ns) > 0);
        at_that_time && within && stretch.range.length_ns() >= question.min_ns
    });
    if found.is_empty() {
        return Err(NoWhy::NothingLong(nothing_long(question, &report)));
    }
    report.found = found.len() as u64;
    let are_phases = matches!(question.about, About::Phase(..) | About::LongestPhase(_));
    if !are_phases {
        found.sort_by_key(|stretch| std::cmp::Reverse(stretch.range.length_ns()));
    }
    if let Some(top) = question.top.filter(|_| !are_phases) {
        found.truncate(top);
    }
    let mut accountant = Accountant::of(&waits);
    report.stretches =
        found.into_iter().map(|stretch| waits.explain(stretch, question.path, &mut accountant)).collect();
    waits.add_stacks(report.stretches.iter_mut().map(|stretch| &mut stretch.path).collect());
    Ok(report)
}

/// Phases and services outside of the recorded switches have no chain: a trace of a shutdown says nothing of the boot before. They are
/// named, and left out unless nothing else is there.
fn leave_out_unrecorded(trace: &Trace, waits: &Waits<'_>, found: &mut Vec<Stretch>, report: &mut WhyReport) {
    let first_ns = waits.timelines.first_switch_ns();
    let last = waits.timelines.switches_back(trace.duration_ns, 1).next();
    let last_ns = last.map_or(i64::MIN, |row| row.time_ns);
    let has_switches = |stretch: &Stretch| stretch.range.end_ns > first_ns && stretch.range.start_ns < last_ns;
    if !found.iter().any(has_switches) {
        return;
    }
    // What was before the kernel's clock belongs to a boot that was recorded.
    let is_before_kernel = |stretch: &Stretch| stretch.phase.is_some() && stretch.range.end_ns <= 0;
    let boot_is_recorded = found.iter().any(|stretch| {
        stretch.phase.as_ref().is_some_and(|phase| phase.transition == TransitionKind::Boot) && has_switches(stretch)
    });
    if !boot_is_recorded {
        found.retain(|stretch| !is_before_kernel(stretch));
    }
    let is_recorded = |stretch: &Stretch| is_before_kernel(stretch) || has_switches(stretch);
    report.without_switches = found
        .iter()
        .filter(|stretch| !is_recorded(stretch))
        .map(|stretch| WithoutSwitches {
            kind: stretch.kind,
            name: stretch.name.clone(),
            action: stretch.action.clone(),
        })
        .collect();
    found.retain(is_recorded);
}

fn nobody(what: &str) -> NoWhy {
    NoWhy::Nobody(what.to_owned())
}

fn named(found: Vec<Stretch>, what: &str) -> Result<Vec<Stretch>, NoWhy> {
    if found.is_empty() { Err(nobody(what)) } else { Ok(found) }
}

fn nothing_long(question: &WhyQuestion, report: &WhyReport) -> String {
    let when = match (question.at_ns, question.within) {
        (Some(_), _) => " at that time",
        (None, Some(_)) => " in that phase",
        (None, None) => "",
    };
    let what = match question.about {
        About::Process(_) | About::Thread(_) => "no wait",
        _ => "nothing",
    };
    let hint = if report.waits_for_work > 0 { "; waits for work are left out, --idle counts them" } else { "" };
    format!("{what}{when} took {} ms or longer{hint}", question.min_ns / 1_000_000)
}

fn services(trace: &Trace, pattern: &Pattern, waits: &Waits<'_>) -> Vec<Stretch> {
    let services = units(trace);
    let starts = Starts::of(&services);
    let waited = services
        .iter()
        .enumerate()
        .filter(|(_, row)| pattern.matches(&row.name) && row.waited_for.is_some())
        .take(MAX_WAITS_BEFORE)
        .filter_map(|(at, _)| waits.wait_before(&services, &starts, at));
    trace
        .service_transitions
        .iter()
        .filter(|row| pattern.matches(trace.text(row.service)))
        .map(|row| {
            let end_ns = row.end_ns.unwrap_or(trace.duration_ns);
            Stretch {
                kind: StretchKind::Service,
                name: trace.text(row.service).to_owned(),
                action: row.kind.as_str().to_owned(),
                waiting_tid: None,
                range: Interval::new(row.start_ns, end_ns),
                end: waits.end_of_service(
                    row.container_pid.or_else(|| waits.holds.stopper(row.service, row.start_ns)),
                    trace.text(row.service),
                    end_ns,
                ),
                phase: None,
                chain: None,
            }
        })
        .chain(waited)
        .collect()
}

fn devices(trace: &Trace, pattern: &Pattern, waits: &Waits<'_>) -> Vec<Stretch> {
    let stretch = |kind: &str, ends: (i64, Option<i64>), name: &str, tid: Option<u32>| {
        let end_ns = ends.1.unwrap_or(trace.duration_ns);
        Stretch {
            kind: StretchKind::Device,
            name: name.to_owned(),
            action: kind.to_owned(),
            waiting_tid: None,
            range: Interval::new(ends.0, end_ns),
            end: match tid {
                Some(tid) => EndThread { rule: Rule::SendingThread, ..EndThread::known(tid) },
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
            let ends = (row.start_ns, row.end_ns);
            stretch(row.kind.as_str(), ends, name(row.device, row.driver), row.tid)
        });
    let requests = trace
        .power_requests
        .iter()
        .filter(|row| row.scope == onoff_trace::PowerRequestScope::Device)
        .filter(|row| matches([row.device, row.driver, row.description, row.friendly_name]))
        .map(|row| {
            let ends = (row.start_ns, row.end_ns);
            stretch(row.kind.as_str(), ends, name(row.device, row.driver), row.tid)
        });
    operations.chain(requests).collect()
}

/// What the recording does not hold, with what it does hold.
fn no_such_phase(trace: &Trace) -> String {
    let all = phases(trace, None).into_iter().chain(unsettled_phases(trace, None));
    let mut names: Vec<String> = all.map(|it| it.name).collect();
    names.dedup();
    match names.as_slice() {
        [] => "phase whose begin and end are known".to_owned(),
        names => format!("such phase; its phases are {}", names.join(", ")),
    }
}

fn phase_stretches(
    trace: &Trace,
    pattern: Option<&Pattern>,
    kind: Option<TransitionKind>,
    waits: &Waits<'_>,
) -> Vec<Stretch> {
    phases(trace, kind)
        .into_iter()
        .chain(unsettled_phases(trace, kind))
        .filter(|phase| {
            // As JSON has it, and as text shows it.
            let shown = phase.name.replace('_', " ");
            pattern.is_none_or(|pattern| pattern.matches(&phase.name) || pattern.matches(&shown))
        })
        .map(|phase| Stretch {
            kind: StretchKind::Phase,
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

    /// The waits of `tids` that are long enough.
    fn waits_of(&self, tids: &[u32], question: &WhyQuestion, report: &mut WhyReport) -> Vec<Stretch> {
        let mut found = Vec::new();
        for &tid in tids {
            let mut out = None;
            for place in 0.. {
                let Some(switch) = self.timelines.switch(tid, place) else { break };
                if switch.turn == Turn::Out {
                    out = Some(switch.row);
                    continue;
                }
                let Some(out) = out.take() else { continue };
                let range = Interval::new(out.time_ns, switch.row.time_ns);
                if reason::off(out.old_state) == reason::Off::Ended || range.length_ns() < question.min_ns {
                    continue;
                }
                if reason::is_for_work(out.old_wait_reason) && !question.waits_for_work {
                    report.waits_for_work += 1;
                    report.waits_for_work_ns = report.waits_for_work_ns.saturating_add(range.length_ns());
                    continue;
                }
                if !self.is_asked_about(question, tid, range) {
                    continue;
                }
                found.push(Stretch {
                    kind: StretchKind::Wait,
                    name: String::new(),
                    action: reason::of_switch(self.trace.system.kind, &out).to_owned(),
                    waiting_tid: Some(tid),
                    range,
                    end: EndThread::known(tid),
                    phase: None,
                    chain: None,
                });
            }
        }
        found
    }

    /// Whether the thread with id `tid` then belonged to the process asked about: ids are reused.
    fn is_asked_about(&self, question: &WhyQuestion, tid: u32, range: Interval) -> bool {
        let About::Process(pattern) = &question.about else { return true };
        self.identities.pid_of(tid, range.end_ns).is_some_and(|pid| {
            let image = self.identities.image(pid, range.end_ns);
            pattern.is_number(pid) || image.is_some_and(|image| pattern.matches(image))
        })
    }

    /// What service `at` of `services` waited for before it was asked to start.
    fn wait_before(&self, services: &[Unit], starts: &Starts<'_>, at: usize) -> Option<Stretch> {
        let service = services.get(at)?;
        let (holds, segments, certainty) = Holds::before(self.trace, services, starts, at);
        let range = Interval::new(segments.last()?.start_ns, segments.first()?.end_ns);
        let manager = service_waits::manager(self.trace, &self.identities, range.end_ns)
            .map(|pid| self.end_of_service(Some(pid), &service.name, range.end_ns));
        Some(Stretch {
            kind: StretchKind::Service,
            name: service.name.clone(),
            action: "wait".to_owned(),
            waiting_tid: None,
            range,
            end: EndThread { tid: manager.and_then(|end| end.tid), rule: Rule::ServiceManagerStartsIt, certainty },
            phase: None,
            chain: Some((holds, segments)),
        })
    }

    fn explain(&self, stretch: Stretch, options: PathOptions, accountant: &mut Accountant<'_, '_>) -> WhyStretch {
        let (walked, ends, holds) = match &stretch.chain {
            Some((holds, segments)) => {
                let (walked, ends) = self.walk_through(holds, segments, &stretch.end);
                (walked, ends, holds)
            }
            None => {
                let by_units = stretch.phase.as_ref().and_then(|phase| self.walked_by_units(phase));
                let (walked, ends) = by_units.unwrap_or_else(|| {
                    let ends = self.recorded(stretch.range);
                    (self.walked(ends, &stretch.end), ends)
                });
                (walked, ends, &self.holds)
            }
        };
        let path = self.describe(&walked, holds, ends, &stretch.end, options);
        let account = match &stretch.phase {
            Some(phase) => accountant.phase_of_walk(phase, &walked),
            None => accountant.of_walk(&walked, ends, &|step| holds.get(step.hold).map(|hold| hold.service)),
        };
        // What was before the kernel's clock has an account and no path.
        let is_before_kernel = stretch.phase.is_some() && stretch.range.end_ns <= 0;
        let range = if is_before_kernel { stretch.range } else { Interval::new(path.start_ns, path.end_ns) };
        WhyStretch {
            kind: stretch.kind,
            name: stretch.name,
            action: stretch.action,
            thread: stretch.waiting_tid.map(|_| path.end_thread.clone()),
            start_ns: range.start_ns,
            end_ns: range.end_ns,
            duration_ns: range.length_ns(),
            account,
            path,
        }
    }
}
