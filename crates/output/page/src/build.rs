//! The page's content, from the answers to a recording.

use std::sync::Arc;

use onoff_blame::account::{self, Accountant, PhaseAccount};
use onoff_blame::waits::{CriticalPath, PathOptions, PathStep, StepKind, TransitionPhase, Waits, phases};
use onoff_evidence::recording::summarize;
use onoff_findings::diagnose;
use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions};
use onoff_lanes::slices::{LaneSlice, SliceLane, Tone};
use onoff_lanes::tracks::{self, tracks};
use onoff_lanes::{Lane, Track, TrackGroup};
use onoff_report::text::why::account as said;
use onoff_trace::{Tables, Trace};
use onoff_transitions::TransitionOptions;
use onoff_transitions::boot::BootOptions;
use onoff_usage::units::Unit;

use crate::events::EventReader;
use crate::page::{PageMissing, PageRecording, PageTransition, loss_list};
use crate::path::{self, Arrow};
use crate::track::track_list;
use crate::{ranges, transitions};

/// The tables that a page needs.
pub const TABLES: Tables = tracks::TABLES.union(onoff_findings::TABLES).union(ranges::TABLES);

/// Steps of a path that are kept: short ones too, for between them lies who made whom ready.
const STEPS: PathOptions = PathOptions { shortest_ns: 0, most_steps: 20_000 };
/// Steps and nodes of a flame graph of each phase in a page without a server.
const STEPS_OF_PHASE: usize = 60;
const NODES_OF_PHASE: usize = 300;

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
    /// What reads its single events; `None` where there are none, or nobody will ask.
    pub events: Option<EventReader>,
    /// What the page says of it.
    pub recording: PageRecording,
}

impl Shown {
    /// What there is to show of `trace`, which the page calls `name`.
    #[must_use]
    pub fn of(name: String, trace: Arc<Trace>) -> Self {
        Self::with(name, trace, BootOptions::default())
    }

    /// The same, with what firmware and packets say of the boot.
    #[must_use]
    pub fn with(name: String, trace: Arc<Trace>, boot: BootOptions) -> Self {
        let summary = summarize(&trace);
        let mut diagnosis = diagnose(&trace, &DiagnosisOptions { boot: boot.clone(), ..DiagnosisOptions::default() });
        diagnosis.name_recording(trace.files.iter().map(|file| file.name.as_str()));
        let all = phases(&trace, None);
        let found = onoff_transitions::all(&trace, &TransitionOptions { boot, ..TransitionOptions::default() });
        let found = transitions::shown(&found);
        // A phase that ends when the computer is idle has no path: nobody at its end was waited for.
        let with_path = all.iter().filter(|phase| !account::has_no_path(&phase.name));
        let waits = Waits::of(&trace);
        let mut paths: Vec<CriticalPath> = match trace.context_switches.is_empty() {
            true => Vec::new(),
            false => with_path.map(|phase| waits.phase(phase.range, STEPS)).collect(),
        };
        waits.add_stacks(paths.iter_mut().collect());
        let units: Vec<Unit> = found.iter().flat_map(|one| one.units.iter().cloned()).collect();
        let mut tracks = transitions::tracks_before_kernel(&found);
        tracks.extend(self::tracks(&trace, &paths, &units));
        let mut accountant = Accountant::of(&waits);
        let accounts: Vec<(TransitionPhase, PhaseAccount)> = all
            .into_iter()
            .map(|phase| {
                let account = accountant.phase(&phase);
                (phase, account)
            })
            .collect();
        let mut held: Vec<LaneSlice> = Vec::new();
        for (_, account) in &accounts {
            held.extend(account.entries.iter().filter(|entry| entry.kind.is_somebody()).flat_map(|entry| {
                let label = said::subject(entry);
                entry.stretches.iter().map(move |stretch| {
                    LaneSlice::new(stretch.start_ns, stretch.end_ns, label.clone(), Tone::Initialize)
                })
            }));
        }
        let several = |kind| found.iter().filter(|one| one.kind == kind).count() > 1;
        let transitions: Vec<PageTransition> = found
            .iter()
            .map(|one| transitions::page_transition(&trace, one, (several(one.kind), &accounts), &diagnosis))
            .filter(|one| !one.phases.is_empty())
            .collect();
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
        let start_ns = transitions.iter().map(|one| one.start_ns).fold(trace.start_ns, i64::min);
        let end_ns = transitions.iter().map(|one| one.end_ns).fold(trace.duration_ns, i64::max);
        let recording = PageRecording {
            name,
            machine: onoff_report::text::machine::machine(&summary, None),
            start_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
            first: best_recorded(&transitions, &paths),
            transitions,
            folds: found.iter().filter_map(|one| transitions::fold(one)).collect(),
            tracks: track_list(&tracks),
            losses: loss_list(&trace.losses),
            missing: missing(&diagnosis),
            drawn: Vec::new(),
        };
        drop(accountant);
        drop(waits);
        Self { trace, tracks, paths, arrows, events: None, recording }
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

/// The transition of which most is known of who waited for whom: what a recording was made for. The first where nothing is known.
fn best_recorded(transitions: &[PageTransition], paths: &[CriticalPath]) -> usize {
    let known_ns = |one: &PageTransition| {
        let steps = paths.iter().flat_map(|path| &path.steps);
        let of_phase = |step: &&PathStep| {
            let mut closed = one.phases.iter().filter(|phase| !phase.is_open);
            closed.any(|phase| step.start_ns >= phase.start_ns && step.end_ns <= phase.end_ns)
        };
        let inside = steps.filter(of_phase);
        inside.filter(|step| step.kind != StepKind::Other).fold(0_i64, |sum, step| sum.saturating_add(step.duration_ns))
    };
    let best = transitions.iter().enumerate().rev().max_by_key(|(_, one)| known_ns(one));
    best.map_or(0, |(at, _)| at)
}

fn missing(diagnosis: &Diagnosis) -> Vec<PageMissing> {
    diagnosis
        .lacking
        .items
        .iter()
        .map(|item| PageMissing {
            what: item.unanswered.question().to_owned(),
            record: if let Some(part) = item.unanswered.part_of_linux() {
                format!("{}: {}", part.part, part.record)
            } else if item.provider.is_empty() {
                format!("kernel flags {}", item.kernel_flags.join("+"))
            } else {
                format!("provider {} (keyword {}, level {})", item.provider, item.keyword, item.level)
            },
        })
        .collect()
}
