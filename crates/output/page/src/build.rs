//! Builds the page content of a recording from its analyses.

use std::sync::Arc;

use onoff_blame::account::{self, AccountBuilder, PhaseAccount, silent_intervals};
use onoff_blame::waits::{CriticalPath, PathOptions, PathStep, StepKind, TransitionPhase, driver_name};
use onoff_evidence::recording::summarize;
use onoff_findings::diagnosis::{Diagnosis, DiagnosisOptions, diagnose_transitions, find_waits_and_transitions};
use onoff_findings::finding::{FindingSubject, FindingSubjectKind};
use onoff_lanes::axis::axis_end_ns;
use onoff_lanes::slices::{LaneSlice, SliceLane, Tone};
use onoff_lanes::tracks::{self, tracks};
use onoff_lanes::{Lane, Track, TrackGroup};
use onoff_report::text::quantity::duration;
use onoff_report::text::why::account as account_text;
use onoff_trace::{TableSet, Trace};
use onoff_transitions::boot::BootOptions;
use onoff_transitions::{Transition, TransitionKind, TransitionOptions};
use onoff_usage::units::Unit;

use crate::events::EventReader;
use crate::interval_tables::IntervalTable;
use crate::page::{PageFold, PageGap, PageMissing, PageRecording, PageTransition, loss_list};
use crate::path::{self, Arrow};
use crate::track::track_list;
use crate::{ranges, shades, transitions, what_if};

/// Tables that a page requires.
pub const TABLES: TableSet = tracks::TABLES.union(onoff_findings::TABLES).union(ranges::TABLES);

/// Tables that the first picture requires. They are read several times as fast as [`TABLES`].
pub const FIRST_TABLES: TableSet = onoff_transitions::PHASE_TABLES;

/// Limits on path steps. Short steps are kept because arrows between threads start and end at them.
const PATH_OPTIONS: PathOptions = PathOptions { min_step_ns: 0, max_steps: 20_000 };
/// Maximum number of path steps per phase, and of nodes per flame graph, in a page without a server.
const MAX_PHASE_STEPS: usize = 60;
const MAX_PHASE_NODES: usize = 300;

/// A recording with everything needed to draw it and to answer queries about it.
#[derive(Debug, Default)]
pub struct LoadedRecording {
    pub trace: Arc<Trace>,
    pub tracks: Vec<Track>,
    /// Critical paths of the phases.
    pub paths: Vec<CriticalPath>,
    /// Ready-thread arrows on the critical paths.
    pub arrows: Vec<Arrow>,
    /// Reader for individual events; `None` if the recording has none or the page has no server.
    pub events: Option<EventReader>,
    /// Tables that do not come from the trace.
    pub interval_tables: Vec<IntervalTable>,
    /// Content of the page.
    pub content: PageRecording,
}

impl LoadedRecording {
    /// Builds the content for `trace`, displayed as `name`.
    #[must_use]
    pub fn new(name: String, trace: Arc<Trace>) -> Self {
        Self::with_boot_options(name, trace, BootOptions::default())
    }

    /// Creates a recording like [`LoadedRecording::new`], with firmware and packet times of the boot.
    #[must_use]
    pub fn with_boot_options(name: String, trace: Arc<Trace>, boot: BootOptions) -> Self {
        let summary = summarize(&trace);
        let options = DiagnosisOptions { boot, ..DiagnosisOptions::default() };
        let (waits, transitions) = find_waits_and_transitions(&trace, &options);
        let mut diagnosis = diagnose_transitions(&waits, transitions.clone(), &options);
        diagnosis.insert_recording_paths(trace.files.iter().map(|file| file.name.as_str()));
        let phases = waits.phases();
        let shown_transitions = transitions::select_shown(&transitions);
        // Phases that end when the computer becomes idle have no critical path.
        let phases_with_path = phases.iter().filter(|phase| !account::has_no_path(&phase.name));
        let mut paths: Vec<CriticalPath> = match trace.context_switches.is_empty() {
            true => Vec::new(),
            false => phases_with_path.map(|phase| waits.phase(phase.range, PATH_OPTIONS)).collect(),
        };
        waits.add_stacks(paths.iter_mut().collect());
        let units: Vec<Unit> =
            shown_transitions.iter().flat_map(|transition| transition.units.iter().cloned()).collect();
        let mut tracks = transitions::tracks_before_kernel(&shown_transitions);
        tracks.extend(self::tracks(&trace, &paths, &units));
        let mut accountant = AccountBuilder::new(&waits);
        let accounts: Vec<(TransitionPhase, PhaseAccount)> =
            phases.iter().map(|phase| (phase.clone(), accountant.phase(phase))).collect();
        let mut account_slices: Vec<LaneSlice> = Vec::new();
        for (_, account) in &accounts {
            account_slices.extend(account.entries.iter().filter(|entry| entry.kind.is_attributable()).flat_map(
                |entry| {
                    let label = account_text::subject(entry, &account.entries);
                    entry.intervals.iter().map(move |interval| {
                        LaneSlice::new(interval.start_ns, interval.end_ns, label.clone(), Tone::Initialize)
                    })
                },
            ));
        }
        let mut transitions: Vec<PageTransition> = shown_transitions
            .iter()
            .map(|transition| {
                let has_siblings = has_siblings(&shown_transitions, transition.kind);
                transitions::page_transition(&trace, transition, (has_siblings, &accounts), &diagnosis)
            })
            .collect();
        if !account_slices.is_empty() {
            let position = tracks.partition_point(|track| track.group < TrackGroup::CriticalPath);
            let track = Track {
                group: TrackGroup::CriticalPath,
                section: String::new(),
                name: "Blamed on".to_owned(),
                note: "longest intervals of each phase's breakdown".to_owned(),
                lane: Lane::Slices(SliceLane::new(account_slices)),
            };
            tracks.insert(position, track);
        }
        let arrows = path::arrows(&paths, &tracks);
        let axis_end_ns = axis_end_ns(&trace);
        for transition in &mut transitions {
            finish(transition, &tracks, axis_end_ns);
        }
        let (start_ns, end_ns) = axis(&trace, &transitions, axis_end_ns);
        let folds: Vec<PageFold> =
            shown_transitions.iter().filter_map(|transition| transitions::fold(transition)).collect();
        let recording = PageRecording {
            name,
            machine: onoff_report::text::machine::machine(&summary, None),
            is_partial: false,
            start_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
            first: best_recorded(&transitions, &paths),
            transitions,
            beyond_axis: beyond_axis(&trace, axis_end_ns),
            gaps: gaps(&trace, &folds),
            subjects: ranges::recorded_subjects(&trace, &paths),
            folds,
            tracks: track_list(&tracks),
            losses: loss_list(&trace.losses),
            missing: missing(&diagnosis),
            drawn: Vec::new(),
        };
        drop(accountant);
        drop(waits);
        Self { trace, tracks, paths, arrows, events: None, interval_tables: Vec::new(), content: recording }
    }

    /// Builds the first picture of a recording from a trace with [`FIRST_TABLES`]: phases and headlines. It keeps
    /// nothing of the trace, so that the memory is free for the other tables.
    #[must_use]
    pub fn first_picture(name: String, trace: &Trace, boot: BootOptions) -> Self {
        let options = TransitionOptions { boot, ..TransitionOptions::default() };
        let transitions = onoff_transitions::find_all(trace, &options);
        let shown_transitions = transitions::select_shown(&transitions);
        let diagnosis = Diagnosis::default();
        let axis_end_ns = axis_end_ns(trace);
        let mut pages: Vec<PageTransition> = shown_transitions
            .iter()
            .map(|transition| {
                let has_siblings = has_siblings(&shown_transitions, transition.kind);
                transitions::page_transition(trace, transition, (has_siblings, &[]), &diagnosis)
            })
            .collect();
        pages.iter_mut().for_each(|transition| finish(transition, &[], axis_end_ns));
        let (start_ns, end_ns) = axis(trace, &pages, axis_end_ns);
        let folds: Vec<PageFold> =
            shown_transitions.iter().filter_map(|transition| transitions::fold(transition)).collect();
        let content = PageRecording {
            name,
            machine: onoff_report::text::machine::machine(&summarize(trace), None),
            is_partial: true,
            start_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
            transitions: pages,
            beyond_axis: beyond_axis(trace, axis_end_ns),
            folds,
            losses: loss_list(&trace.losses),
            ..PageRecording::default()
        };
        Self { content, ..Self::default() }
    }

    /// Adds what a server would compute: the longest path steps and the flame graphs of each phase, and predictions.
    pub fn add_offline_content(&mut self) {
        for transition in &mut self.content.transitions {
            transition.predictions = what_if::predict_offline(&self.trace, transition);
        }
        for phase in self.content.transitions.iter_mut().flat_map(|transition| &mut transition.phases) {
            let range = (phase.start_ns, phase.end_ns);
            phase.steps = path::steps(&self.paths, range.0, range.1, MAX_PHASE_STEPS);
            phase.flames = ["samples", "waits"]
                .into_iter()
                .filter_map(|kind| ranges::flame_graph(&self.trace, &self.paths, kind, range, MAX_PHASE_NODES))
                .collect();
        }
    }
}

/// True if the recording has several transitions of a kind.
fn has_siblings(transitions: &[&Transition], kind: TransitionKind) -> bool {
    transitions.iter().filter(|transition| transition.kind == kind).count() > 1
}

/// Returns the start and end of the axis.
fn axis(trace: &Trace, transitions: &[PageTransition], axis_end_ns: i64) -> (i64, i64) {
    let start_ns = transitions.iter().map(|transition| transition.start_ns).fold(trace.start_ns, i64::min);
    (start_ns, transitions.iter().map(|transition| transition.end_ns).fold(axis_end_ns, i64::max))
}

/// Shortens a transition to the axis, and finds the colors of its phases and the tracks of its findings.
fn finish(transition: &mut PageTransition, tracks: &[Track], axis_end_ns: i64) {
    let axis_end_ns = axis_end_ns.max(transition.start_ns);
    for phase in transition.phases.iter_mut().filter(|phase| phase.is_open) {
        phase.end_ns = phase.end_ns.min(axis_end_ns).max(phase.start_ns);
    }
    if transition.phases.last().is_some_and(|phase| phase.is_open) {
        transition.end_ns = transition.end_ns.min(axis_end_ns);
    }
    shades::assign(&mut transition.phases);
    for finding in &mut transition.findings {
        finding.track = finding.subject.as_ref().and_then(|subject| track_of(subject, tracks));
    }
}

/// Returns the track of the subject of a finding: the one with most time, if several have its name.
fn track_of(subject: &FindingSubject, tracks: &[Track]) -> Option<u32> {
    let groups: &[TrackGroup] = match subject.kind {
        FindingSubjectKind::Service => &[TrackGroup::Services, TrackGroup::Processes],
        FindingSubjectKind::Driver | FindingSubjectKind::Device => &[TrackGroup::Devices, TrackGroup::Power],
        FindingSubjectKind::Process => &[TrackGroup::Processes, TrackGroup::Notifications],
        FindingSubjectKind::Disk => &[TrackGroup::Disks],
        FindingSubjectKind::Work => &[TrackGroup::Session, TrackGroup::Notifications],
        _ => return None,
    };
    let name = driver_name(&subject.name);
    if name.is_empty() {
        return None;
    }
    let is_subject = |track: &Track| {
        let matches = |text: &str| driver_name(text).eq_ignore_ascii_case(name);
        match subject.pid {
            Some(pid) => track.name.ends_with(&format!(" ({pid})")) && track.name.starts_with(name),
            None => {
                matches(&track.name)
                    || matches(&track.note)
                    || track.name.rsplit_once(" (").is_some_and(|(image, _)| matches(image))
            }
        }
    };
    groups.iter().find_map(|group| {
        let candidates = tracks.iter().zip(0_u32..).filter(|(track, _)| track.group == *group && is_subject(track));
        candidates.max_by_key(|(track, _)| track.total_ns()).map(|(_, id)| id)
    })
}

/// Says how far the recording extends beyond the axis; empty if it does not.
fn beyond_axis(trace: &Trace, axis_end_ns: i64) -> String {
    if axis_end_ns >= trace.duration_ns {
        return String::new();
    }
    format!(
        "The last times of this recording are isolated: up to {} after {}, where the axis ends. Such times are usually \
         damaged.",
        duration(trace.duration_ns.saturating_sub(axis_end_ns)),
        duration(axis_end_ns)
    )
}

/// Returns where the recorder lost all events while the computer was awake.
fn gaps(trace: &Trace, folds: &[PageFold]) -> Vec<PageGap> {
    silent_intervals(trace)
        .into_iter()
        .filter(|&(start_ns, end_ns)| !folds.iter().any(|fold| fold.start_ns < end_ns && fold.end_ns > start_ns))
        .map(|(start_ns, end_ns)| PageGap { start_ns, end_ns })
        .collect()
}

/// Returns the index of the transition with the most time on known path steps, presumably the purpose of the recording.
fn best_recorded(transitions: &[PageTransition], paths: &[CriticalPath]) -> usize {
    let known_ns = |transition: &PageTransition| {
        let steps = paths.iter().flat_map(|path| &path.steps);
        let is_in_phase = |step: &&PathStep| {
            let mut closed_phases = transition.phases.iter().filter(|phase| !phase.is_open);
            closed_phases.any(|phase| step.start_ns >= phase.start_ns && step.end_ns <= phase.end_ns)
        };
        steps
            .filter(is_in_phase)
            .filter(|step| step.kind != StepKind::Other)
            .fold(0_i64, |sum, step| sum.saturating_add(step.duration_ns))
    };
    let best = transitions.iter().enumerate().rev().max_by_key(|(_, transition)| known_ns(transition));
    best.map_or(0, |(index, _)| index)
}

fn missing(diagnosis: &Diagnosis) -> Vec<PageMissing> {
    diagnosis
        .missing_evidence
        .items
        .iter()
        .map(|item| PageMissing {
            what: item.unknown.phrase().to_owned(),
            record: if let Some(part) = item.unknown.linux_source() {
                format!("{}: {}", part.part, part.record)
            } else if item.provider.is_empty() {
                format!("kernel flags {}", item.kernel_flags.join("+"))
            } else {
                format!("provider {} (keyword {}, level {})", item.provider, item.keyword, item.level)
            },
        })
        .collect()
}
