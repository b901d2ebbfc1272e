//! The page's content, from the answers to a recording.

use std::sync::Arc;

use onoff_analysis::account::{self, Accountant, PhaseAccount};
use onoff_analysis::idle::Settling;
use onoff_analysis::recording::summarise;
use onoff_analysis::transition::overview::overview;
use onoff_analysis::transition::{Phase, TransitionKind};
use onoff_analysis::waits::{CriticalPath, PathOptions, TransitionPhase, Waits, phases};
use onoff_analysis::{Certainty, cpu, disk};
use onoff_findings::diagnose;
use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions};
use onoff_report::text::quantity::duration;
use onoff_report::text::why::account as said;
use onoff_trace::{Tables, Trace};

use crate::page::{
    PageAccountEntry, PageBand, PageFinding, PageMissing, PagePhase, PageRecording, PageSlice, PageTransition,
    PageUsage, PageUsageRow, loss_list,
};
use crate::path::{self, Arrow};
use crate::ranges;
use crate::track::track_list;
use onoff_analysis::lanes::slices::{LaneSlice, SliceLane, Tone};
use onoff_analysis::lanes::tracks::{self, tracks};
use onoff_analysis::lanes::{Lane, Track, TrackGroup};

/// The tables that a page needs.
pub const TABLES: Tables = tracks::TABLES.union(onoff_findings::TABLES).union(ranges::TABLES);

/// Steps of a path that are kept: short ones too, for between them lies who made whom ready.
const STEPS: PathOptions = PathOptions { shortest_ns: 0, most_steps: 20_000 };
/// Steps and nodes of a flame graph of each phase in a page without a server.
const STEPS_OF_PHASE: usize = 60;
const NODES_OF_PHASE: usize = 300;
/// Rows of a table of the page.
const ROWS: usize = 60;

/// A recording, ready to be shown.
#[derive(Debug)]
pub struct Shown {
    /// The tables.
    pub trace: Arc<Trace>,
    /// Its lanes.
    pub tracks: Vec<Track>,
    /// The critical paths of its phases.
    pub paths: Vec<CriticalPath>,
    /// Who made whom ready on them.
    pub arrows: Vec<Arrow>,
    /// What the page says of it.
    pub recording: PageRecording,
}

impl Shown {
    /// What there is to show of `trace`, which the page calls `name`.
    #[must_use]
    pub fn of(name: String, trace: Arc<Trace>) -> Self {
        let summary = summarise(&trace);
        let mut diagnosis = diagnose(&trace, &DiagnosisOptions::default());
        diagnosis.name_recording(trace.files.iter().map(|file| file.name.as_str()));
        let all = phases(&trace, None);
        // A phase that ends when the computer is idle has no path: nobody at its end was waited for.
        let with_path = all.iter().filter(|phase| !account::has_no_path(&phase.name));
        let waits = Waits::of(&trace);
        let mut paths: Vec<CriticalPath> = match trace.context_switches.is_empty() {
            true => Vec::new(),
            false => with_path.map(|phase| waits.phase(phase.range, STEPS)).collect(),
        };
        waits.add_stacks(paths.iter_mut().collect());
        let mut tracks = tracks(&trace, &paths);
        let reported = Reported::of(&trace);
        let mut accountant = Accountant::of(&waits);
        let mut transitions: Vec<PageTransition> = Vec::new();
        let mut held: Vec<LaneSlice> = Vec::new();
        for phase in all {
            let account = accountant.phase(&phase);
            held.extend(account.entries.iter().filter(|entry| entry.kind.is_somebody()).flat_map(|entry| {
                let label = said::subject(entry);
                entry.stretches.iter().map(move |stretch| LaneSlice {
                    start_ns: stretch.start_ns,
                    end_ns: stretch.end_ns,
                    label: label.clone(),
                    tone: Tone::Initialise,
                })
            }));
            let page_phase = page_phase(&trace, &phase, &account, &reported);
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
                    band: reported.settling(kind).find_map(band),
                    ..PageTransition::default()
                }),
            }
        }
        for transition in &mut transitions {
            transition.findings = findings(&diagnosis, &transition.kind);
            transition.headline = headline(transition, &diagnosis);
        }
        if !held.is_empty() {
            let at = tracks.partition_point(|track| track.group < TrackGroup::CriticalPath);
            let track = Track {
                group: TrackGroup::CriticalPath,
                section: String::new(),
                name: "Who held it".to_owned(),
                note: "the account of each phase: its longest stretches".to_owned(),
                lane: Lane::Slices(SliceLane::new(held)),
            };
            tracks.insert(at, track);
        }
        let arrows = path::arrows(&paths, &tracks);
        let recording = PageRecording {
            name,
            machine: onoff_report::text::machine::machine(&summary, None),
            start_ns: 0,
            duration_ns: trace.duration_ns,
            transitions,
            tracks: track_list(&tracks),
            losses: loss_list(&trace.losses),
            missing: missing(&diagnosis),
            drawn: Vec::new(),
        };
        drop(accountant);
        drop(waits);
        Self { trace, tracks, paths, arrows, recording }
    }

    /// What a page without a server has besides: of each phase the longest steps of the path, and its flame graphs.
    pub fn complete(&mut self) {
        for phase in self.recording.transitions.iter_mut().flat_map(|transition| &mut transition.phases) {
            let range = (phase.start_ns, phase.end_ns);
            phase.steps = path::steps(&self.paths, range.0, range.1, STEPS_OF_PHASE);
            phase.flames = ["samples", "waits"]
                .into_iter()
                .filter_map(|of| ranges::flame_graph(&self.trace, &self.paths, of, range, NODES_OF_PHASE))
                .collect();
        }
    }
}

const fn title(kind: TransitionKind) -> &'static str {
    match kind {
        TransitionKind::Boot => "Boot",
        TransitionKind::Shutdown => "Shutdown",
        TransitionKind::Suspend => "Sleep and wake",
    }
}

/// The phases as the reports have them, with the rules of their ends, and the searches for idle time.
#[derive(Default)]
struct Reported {
    phases: Vec<(TransitionKind, Phase)>,
    settling: Vec<(TransitionKind, Settling)>,
}

impl Reported {
    fn of(trace: &Trace) -> Self {
        let mut all = Self::default();
        for each in overview(trace) {
            all.phases.extend(each.phases.into_iter().map(|phase| (each.kind, phase)));
            all.settling.extend(each.settling.map(|settling| (each.kind, settling)));
        }
        all
    }

    fn phase(&self, wanted: &TransitionPhase) -> Option<&Phase> {
        let ends = (Some(wanted.range.start_ns), Some(wanted.range.end_ns));
        let same = |phase: &Phase| phase.name.as_str() == wanted.name && (phase.start_ns, phase.end_ns) == ends;
        self.phases.iter().find(|(kind, phase)| *kind == wanted.transition && same(phase)).map(|(_, phase)| phase)
    }

    fn settling<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Settling> + 'a {
        self.settling.iter().filter(move |(of, _)| of.as_str() == kind).map(|(_, settling)| settling)
    }

    /// The idle time that ends a phase and is no part of what it took, ns.
    fn idle_ns(&self, phase: &TransitionPhase) -> i64 {
        self.settling(phase.transition.as_str())
            .find(|one| (one.start_ns, one.end_ns) == (Some(phase.range.start_ns), Some(phase.range.end_ns)))
            .map_or(0, |one| one.idle_ns)
    }
}

fn page_phase(trace: &Trace, phase: &TransitionPhase, account_of: &PhaseAccount, reported: &Reported) -> PagePhase {
    let range = phase.range;
    let known = reported.phase(phase);
    PagePhase {
        name: phase.name.clone(),
        start_ns: range.start_ns,
        end_ns: range.end_ns,
        idle_ns: reported.idle_ns(phase),
        rule: known.map(|known| known.ends.rule.clone()).unwrap_or_default(),
        event: known.map(|known| known.ends.event.clone()).unwrap_or_default(),
        certainty: known.map_or(Certainty::Missing, |known| known.certainty),
        account: account_entries(account_of),
        usage: usage(trace, range.start_ns, range.end_ns),
        ..PagePhase::default()
    }
}

/// The account of a phase as the page lists it.
fn account_entries(account: &PhaseAccount) -> Vec<PageAccountEntry> {
    account
        .entries
        .iter()
        .take(ROWS)
        .map(|entry| PageAccountEntry {
            subject: said::subject(entry),
            kind: said::kind(entry.kind).to_owned(),
            ns: entry.ns,
            did: said::actions(entry),
            certainty: if entry.not_known.is_some() { Certainty::Missing } else { entry.certainty },
            stretches: entry.stretches.iter().map(|stretch| (stretch.start_ns, stretch.end_ns)).collect(),
        })
        .collect()
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

/// What a phase took: its length without the idle time that ends it, ns.
fn took_ns(phase: &PagePhase) -> i64 {
    phase.end_ns.saturating_sub(phase.start_ns).saturating_sub(phase.idle_ns)
}

fn headline(transition: &PageTransition, diagnosis: &Diagnosis) -> Vec<String> {
    let length_ns = diagnosis
        .transitions
        .iter()
        .find(|known| known.name.starts_with(&transition.kind))
        .and_then(|known| known.duration_ns)
        .unwrap_or_else(|| transition.end_ns.saturating_sub(transition.start_ns));
    let mut lines = vec![format!("{}: {}.", transition.title, duration(length_ns))];
    if let Some(phase) = transition.phases.iter().max_by_key(|phase| took_ns(phase)) {
        let phase_ns = took_ns(phase);
        let mut line = format!("Longest phase: {}, {}.", phase.name, duration(phase_ns));
        if let Some(first) =
            phase.account.iter().find(|entry| entry.certainty != Certainty::Missing && entry.kind != "idle")
        {
            line.push_str(&format!(" {} held it for {}: {}.", first.subject, duration(first.ns), first.did));
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
            what: item.unknown.clone(),
            record: if !item.part.is_empty() {
                format!("{}: {}", item.part, item.record)
            } else if item.provider.is_empty() {
                format!("kernel flags {}", item.kernel_flags.join("+"))
            } else {
                format!("provider {} (keyword {}, level {})", item.provider, item.keyword, item.level)
            },
        })
        .collect()
}

/// The search for the end of a phase that ends when the computer is idle.
fn band(settling: &Settling) -> Option<PageBand> {
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
