//! The page's content, from the answers to a recording.

use onoff_analysis::idle::Settling;
use onoff_analysis::recording::summarise;
use onoff_analysis::scope::Range;
use onoff_analysis::waits::{CriticalPath, PathOptions, StepKind, TransitionKind, Waits, phases};
use onoff_analysis::{Certainty, cpu, disk};
use onoff_findings::diagnose;
use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions};
use onoff_report::text::quantity::duration;
use onoff_trace::{Tables, Trace};

use crate::lanes::Track;
use crate::lanes::tracks::{self, tracks};
use crate::page::{
    PageAccountEntry, PageBand, PageFinding, PageMissing, PagePhase, PageRecording, PageSlice, PageTransition,
    PageUsage, PageUsageRow, loss_list, track_list,
};

/// The tables that a page needs.
pub const TABLES: Tables = tracks::TABLES.union(onoff_findings::TABLES);

/// Rows of a table of the page.
const ROWS: usize = 60;

/// A recording, ready to be shown.
#[derive(Debug)]
pub struct Shown {
    /// The tables.
    pub trace: Trace,
    /// Its lanes.
    pub tracks: Vec<Track>,
    /// What the page says of it.
    pub recording: PageRecording,
}

impl Shown {
    /// What there is to show of `trace`, which the page calls `name`.
    #[must_use]
    pub fn of(name: String, trace: Trace) -> Self {
        let summary = summarise(&trace);
        let diagnosis = diagnose(&trace, &DiagnosisOptions::default());
        let all = phases(&trace, None);
        let ranges: Vec<(String, Range)> = all.iter().map(|phase| (phase.name.clone(), phase.range)).collect();
        let tracks = tracks(&trace, &ranges);
        let waits = (!trace.context_switches.is_empty()).then(|| Waits::of(&trace));
        let mut transitions: Vec<PageTransition> = Vec::new();
        for phase in all {
            let page_phase = page_phase(&trace, waits.as_ref(), &phase.name, phase.range);
            let kind = phase.transition.as_str();
            match transitions.last_mut().filter(|known| known.kind == kind) {
                Some(known) => {
                    known.start_ns = known.start_ns.min(phase.range.start_ns);
                    known.end_ns = known.end_ns.max(phase.range.end_ns);
                    known.phases.push(page_phase);
                }
                None => transitions.push(PageTransition {
                    kind: kind.to_owned(),
                    title: title(phase.transition).to_owned(),
                    start_ns: phase.range.start_ns,
                    end_ns: phase.range.end_ns,
                    phases: vec![page_phase],
                    ..PageTransition::default()
                }),
            }
        }
        for transition in &mut transitions {
            transition.findings = findings(&diagnosis, &transition.kind);
            transition.headline = headline(transition, &diagnosis);
        }
        let recording = PageRecording {
            name,
            system: summary.os.clone(),
            machine: onoff_report::text::machine::machine(&summary, None),
            recorded: summary.start_utc.clone().unwrap_or_default(),
            start_ns: 0,
            duration_ns: trace.duration_ns,
            transitions,
            tracks: track_list(&tracks),
            losses: loss_list(&trace.losses),
            missing: missing(&diagnosis),
            drawn: Vec::new(),
        };
        drop(waits);
        Self { trace, tracks, recording }
    }

    /// Who used processors and disks in a range.
    #[must_use]
    pub fn usage(&self, start_ns: i64, end_ns: i64) -> PageUsage {
        usage(&self.trace, start_ns, end_ns)
    }
}

const fn title(kind: TransitionKind) -> &'static str {
    match kind {
        TransitionKind::Boot => "Boot",
        TransitionKind::Shutdown => "Shutdown",
        TransitionKind::Suspend => "Sleep and wake",
    }
}

fn page_phase(trace: &Trace, waits: Option<&Waits<'_>>, name: &str, range: Range) -> PagePhase {
    let account = waits.map(|waits| account(&waits.phase(range, PathOptions::default()))).unwrap_or_default();
    PagePhase {
        name: name.to_owned(),
        start_ns: range.start_ns,
        end_ns: range.end_ns,
        certainty: Certainty::Measured,
        account,
        usage: usage(trace, range.start_ns, range.end_ns),
        ..PagePhase::default()
    }
}

/// What a step of a path was, for people.
const fn did(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Cpu => "ran",
        StepKind::Ready => "was ready, but no processor was free",
        StepKind::Disk => "read or wrote",
        StepKind::Timer => "waited for a timer",
        StepKind::Device => "waited for a device",
        StepKind::ServiceDependency => "was waited for",
        StepKind::Other => "not known",
    }
}

/// The path of a phase as an account: the shares sum to it.
fn account(path: &CriticalPath) -> Vec<PageAccountEntry> {
    path.shares
        .iter()
        .take(ROWS)
        .map(|share| PageAccountEntry {
            subject: match (share.name.as_str(), share.pid) {
                ("", _) => "not known".to_owned(),
                (name, Some(pid)) => format!("{name} ({pid})"),
                (name, None) => name.to_owned(),
            },
            kind: share.kind.as_str().replace('_', " "),
            ns: share.ns,
            did: did(share.kind).to_owned(),
            certainty: if share.kind == StepKind::Other { Certainty::Missing } else { Certainty::Measured },
            stretches: stretches(path, share.kind, &share.name, share.pid),
        })
        .collect()
}

/// The longest stretches of a share, in order of time.
fn stretches(path: &CriticalPath, kind: StepKind, name: &str, pid: Option<u32>) -> Vec<(i64, i64)> {
    let mut steps: Vec<_> = path
        .steps
        .iter()
        .filter(|step| step.kind == kind && (step.detail == name || (pid.is_some() && step.thread.pid == pid)))
        .collect();
    steps.sort_by_key(|step| std::cmp::Reverse(step.duration_ns));
    steps.truncate(ROWS);
    steps.sort_by_key(|step| step.start_ns);
    steps.into_iter().map(|step| (step.start_ns, step.end_ns)).collect()
}

fn usage(trace: &Trace, start_ns: i64, end_ns: i64) -> PageUsage {
    if start_ns >= end_ns {
        return PageUsage::default();
    }
    let cuts = [start_ns, end_ns];
    let named = |image: &str, pid: Option<u32>| match (image, pid) {
        ("", None) => "not known".to_owned(),
        ("", Some(pid)) => format!("process {pid}"),
        (image, Some(pid)) => format!("{image} ({pid})"),
        (image, None) => image.to_owned(),
    };
    let processors = cpu::usage(trace, &cuts).into_iter().flat_map(|usage| usage.by_process);
    let disks = disk::usage(trace, &cuts);
    let row = |name: String, detail: String, operations: &disk::DiskOperations, ns: i64| PageUsageRow {
        name,
        detail,
        ns,
        count: operations.operations(),
        bytes: operations.bytes(),
    };
    PageUsage {
        processors: processors
            .take(ROWS)
            .map(|process| PageUsageRow {
                name: named(&process.image, process.pid),
                detail: format!("{:.1} % of the processors", process.percent),
                ns: process.cpu_ns,
                ..PageUsageRow::default()
            })
            .collect(),
        disks: disks
            .iter()
            .flat_map(|usage| &usage.by_process)
            .take(ROWS)
            .map(|process| {
                row(named(&process.image, process.pid), String::new(), &process.operations, process.service_ns)
            })
            .collect(),
        files: disks
            .iter()
            .flat_map(|usage| &usage.by_file)
            .take(ROWS)
            .map(|file| {
                let name = if file.name.is_empty() { "file not known".to_owned() } else { file.name.clone() };
                row(name, String::new(), &file.operations, file.service_ns)
            })
            .collect(),
    }
}

fn findings(diagnosis: &Diagnosis, kind: &str) -> Vec<PageFinding> {
    diagnosis
        .findings
        .iter()
        .filter(|finding| finding.transition.starts_with(kind))
        .map(|finding| PageFinding {
            code: finding.code.to_owned(),
            title: finding.title.clone(),
            cost_ns: finding.cost_ns,
            evidence: finding.evidence.iter().map(|each| each.text.as_str()).collect::<Vec<_>>().join("; "),
            advice: finding.advice.clone(),
            certainty: finding.certainty,
            start_ns: finding.evidence.iter().find_map(|each| each.time_ns),
            end_ns: finding
                .evidence
                .iter()
                .find_map(|each| each.time_ns)
                .map(|start_ns| start_ns.saturating_add(finding.cost_ns.unwrap_or(0))),
        })
        .collect()
}

fn headline(transition: &PageTransition, diagnosis: &Diagnosis) -> Vec<String> {
    let length_ns = diagnosis
        .transitions
        .iter()
        .find(|known| known.name.starts_with(&transition.kind))
        .and_then(|known| known.duration_ns)
        .unwrap_or_else(|| transition.end_ns.saturating_sub(transition.start_ns));
    let mut lines = vec![format!("{}: {}.", transition.title, duration(length_ns))];
    if let Some(phase) = transition.phases.iter().max_by_key(|phase| phase.end_ns.saturating_sub(phase.start_ns)) {
        let phase_ns = phase.end_ns.saturating_sub(phase.start_ns);
        let mut line = format!("Longest phase: {}, {}.", phase.name, duration(phase_ns));
        if let Some(first) = phase.account.iter().find(|entry| entry.certainty != Certainty::Missing) {
            line.push_str(&format!(" Longest in it: {} {}, {}.", first.subject, first.did, duration(first.ns)));
        }
        lines.push(line);
    }
    lines
}

fn missing(diagnosis: &Diagnosis) -> Vec<PageMissing> {
    diagnosis
        .lacking
        .items
        .iter()
        .map(|item| PageMissing {
            what: item.question.clone(),
            record: if item.provider.is_empty() {
                format!("kernel flags {}", item.kernel_flags.join("+"))
            } else {
                format!("provider {} (keyword {}, level {})", item.provider, item.keyword, item.level)
            },
        })
        .collect()
}

/// The search for the end of a phase that ends when the computer is idle.
#[must_use]
pub fn band(settling: &Settling) -> Option<PageBand> {
    if settling.slices.is_empty() {
        return None;
    }
    let percent = |value: Option<f64>| value.map_or_else(|| "not recorded".to_owned(), |value| format!("{value:.0} %"));
    let end_ns = settling.end_ns;
    let slices =
        settling.slices.iter().zip(settling.slices.iter().skip(1).map(|next| Some(next.start_ns)).chain([end_ns]));
    Some(PageBand {
        required_ns: settling.metric.required_idle_ns,
        slices: slices
            .map(|(slice, end_ns)| PageSlice {
                start_ns: slice.start_ns,
                end_ns: end_ns.unwrap_or_else(|| slice.start_ns.saturating_add(settling.metric.slice_ns)),
                state: if slice.idle { "idle" } else { "busy" },
                idle_so_far_ns: slice.accumulated_ns,
                note: format!(
                    "processors {}, disk {}",
                    percent(slice.cpu_busy_percent),
                    percent(slice.disk_busy_percent)
                ),
            })
            .collect(),
    })
}
