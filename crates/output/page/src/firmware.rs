//! Page content of firmware tables: stages become phases; firmware phases and the work of each module become lanes.
//! Times count from the processor's reset.

use onoff_evidence::Certainty;
use onoff_evidence::interval::covered_ns;
use onoff_firmware_times::{FirmwareInterval, FirmwarePhase, FirmwareReport, FirmwareStage};
use onoff_lanes::slices::{LaneSlice, SliceLane, Tone};
use onoff_lanes::{Lane, Track, TrackGroup};
use onoff_report::text::boot_axis::title as stage_title;
use onoff_report::text::firmware::sentences;
use onoff_report::text::quantity::counted;

use crate::build::LoadedRecording;
use crate::page::{PageAccountEntry, PagePhase, PageRecording, PageTransition};
use crate::track::track_list;
use crate::transitions::explains;
use crate::{interval_tables, shades};

/// Maximum number of modules with a track, longest self time first.
const MAX_MODULES: usize = 200;

impl LoadedRecording {
    /// Builds the content of firmware tables, displayed as `name`; `None` if they contain no times.
    #[must_use]
    pub fn from_firmware(name: String, report: &FirmwareReport) -> Option<Self> {
        let bounds = || {
            let stages = report.stages.iter().map(|stage| (stage.start_ns, stage.end_ns));
            let phases = report.phases.iter().map(|phase| (phase.start_ns, phase.end_ns));
            stages.chain(phases).chain(report.work.iter().map(|work| (work.start_ns, work.end_ns)))
        };
        let start_ns = bounds().map(|(start, _)| start).min()?;
        let end_ns = bounds().map(|(_, end)| end).max()?.max(start_ns);
        let phases = match report.stages.is_empty() {
            false => report.stages.iter().map(|stage| stage_phase(stage, &report.phases)).collect(),
            true => report.phases.iter().filter(|phase| phase.parent.is_empty()).map(page_phase).collect(),
        };
        let missing =
            report.missing_tables.iter().map(|missing| format!("{}: missing; {}", missing.part, missing.unknown));
        let faults = match report.faults.len() {
            0 => None,
            count => Some(format!(
                "{} in the firmware tables: run 'onoff firmware' for details",
                counted(count as u64, "fault")
            )),
        };
        let mut transition = PageTransition {
            kind: "firmware".to_owned(),
            title: "Firmware".to_owned(),
            headline: sentences(report),
            start_ns,
            end_ns,
            phases,
            unplaced: missing.chain(faults).collect(),
            ..PageTransition::default()
        };
        shades::assign(&mut transition.phases);
        let tracks = tracks(report);
        let interval_tables = interval_tables::firmware(report);
        let recording = PageRecording {
            name,
            machine: "times from the processor's reset".to_owned(),
            start_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
            transitions: vec![transition],
            tracks: track_list(&tracks),
            subjects: interval_tables.iter().map(|table| table.subject).collect(),
            ..PageRecording::default()
        };
        Some(Self { tracks, interval_tables, content: recording, ..Self::default() })
    }
}

/// Converts a stage. Its breakdown lists the top-level firmware phases within it.
fn stage_phase(stage: &FirmwareStage, phases: &[FirmwarePhase]) -> PagePhase {
    let bounds = (stage.start_ns, stage.end_ns);
    let clipped = |phase: &FirmwarePhase| (phase.start_ns.max(bounds.0), phase.end_ns.min(bounds.1));
    let entry = |subject: &str, intervals: Vec<(i64, i64)>, actions: &str, certainty| PageAccountEntry {
        subject: subject.to_owned(),
        kind: "firmware".to_owned(),
        ns: covered_ns(intervals.clone(), bounds),
        actions: actions.to_owned(),
        certainty,
        intervals,
    };
    let top_level = phases.iter().filter(|phase| phase.parent.is_empty());
    let mut account: Vec<PageAccountEntry> = top_level
        .filter(|phase| clipped(phase).0 < clipped(phase).1)
        .map(|phase| entry(&phase.name, vec![clipped(phase)], &phase.rule.to_string(), phase.certainty))
        .collect();
    let measured_ns = account.iter().fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
    let uncovered_ns = stage.duration_ns.saturating_sub(measured_ns);
    if uncovered_ns > 0 {
        let uncovered = entry("not covered by a phase", Vec::new(), "", Certainty::Missing);
        account.push(PageAccountEntry { ns: uncovered_ns, ..uncovered });
    }
    let name = stage.name.as_str();
    PagePhase {
        name: name.to_owned(),
        title: stage_title(name),
        start_ns: stage.start_ns,
        end_ns: stage.end_ns,
        rule: "firmware table".to_owned(),
        certainty: Certainty::Measured,
        explains: explains(name),
        account,
        ..PagePhase::default()
    }
}

fn page_phase(phase: &FirmwarePhase) -> PagePhase {
    PagePhase {
        name: phase.name.clone(),
        title: phase.name.clone(),
        start_ns: phase.start_ns,
        end_ns: phase.end_ns,
        rule: phase.rule.to_string(),
        certainty: phase.certainty,
        explains: explains(&phase.name),
        ..PagePhase::default()
    }
}

fn tracks(report: &FirmwareReport) -> Vec<Track> {
    let track = |section: &str, name: &str, note: &str, slices: Vec<LaneSlice>| Track {
        group: TrackGroup::Firmware,
        section: section.to_owned(),
        name: name.to_owned(),
        note: note.to_owned(),
        lane: Lane::Slices(SliceLane::new(slices)),
    };
    let stages = report
        .stages
        .iter()
        .map(|stage| LaneSlice::new(stage.start_ns, stage.end_ns, stage_title(stage.name.as_str()), Tone::Work));
    let phases = report
        .phases
        .iter()
        .map(|phase| LaneSlice::new(phase.start_ns, phase.end_ns, phase.name.clone(), Tone::Initialize));
    let gaps = report.gaps.iter().map(|gap| {
        let label = format!("no measurement between {} and {}", gap.module_before, gap.module_after);
        LaneSlice::new(gap.start_ns, gap.end_ns, label, Tone::Unknown)
    });
    let mut tracks = vec![
        track("", "Stages", "FPDT boot performance record", stages.collect()),
        track("", "Phases", "phases measured by the firmware", phases.collect()),
        track("", "Gaps", "intervals without module measurements", gaps.collect()),
    ];
    for driver in report.drivers.iter().take(MAX_MODULES) {
        let intervals = report.work.iter().filter(|work| work.module == driver.name);
        let slices =
            intervals.map(|work| LaneSlice::new(work.start_ns, work.end_ns, work_label(work), Tone::Ran)).collect();
        tracks.push(track("Modules", &driver.name, &driver.phase, slices));
    }
    tracks.retain(|track| matches!(&track.lane, Lane::Slices(lane) if !lane.is_empty()));
    tracks
}

/// Describes the work of a module, with the device or function if known.
fn work_label(work: &FirmwareInterval) -> String {
    let actions = work.work.as_str().replace('_', " ");
    if work.text.is_empty() { actions } else { format!("{actions}: {}", work.text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_evidence::rule::Rule;
    use onoff_firmware_times::FirmwareStageName;

    const MS: i64 = 1_000_000;

    fn phase(name: &str, start_ns: i64, end_ns: i64) -> FirmwarePhase {
        FirmwarePhase {
            name: name.to_owned(),
            parent: String::new(),
            start_ns,
            end_ns,
            duration_ns: end_ns - start_ns,
            self_ns: 0,
            rule: Rule::LogLines,
            certainty: Certainty::Measured,
        }
    }

    #[test]
    fn divides_a_stage_into_phases_and_the_rest() {
        let stage = FirmwareStage {
            name: FirmwareStageName::Firmware,
            start_ns: 100 * MS,
            end_ns: 1_000 * MS,
            duration_ns: 900 * MS,
        };
        let page = stage_phase(&stage, &[phase("PEI", 0, 300 * MS), phase("DXE", 300 * MS, 800 * MS)]);
        let parts: Vec<(&str, i64)> =
            page.account.iter().map(|entry| (entry.subject.as_str(), entry.ns / MS)).collect();
        assert_eq!(parts, [("PEI", 200), ("DXE", 500), ("not covered by a phase", 200)]);
        assert_eq!(page.account.iter().map(|entry| entry.ns).sum::<i64>(), stage.duration_ns);
    }

    #[test]
    fn uses_phases_in_place_of_stages_and_rejects_tables_without_times() {
        assert!(LoadedRecording::from_firmware("FACP".to_owned(), &FirmwareReport::default()).is_none());
        let report = FirmwareReport { phases: vec![phase("DXE", 0, 5 * MS)], ..FirmwareReport::default() };
        let shown = LoadedRecording::from_firmware("FBPT".to_owned(), &report).unwrap();
        assert_eq!(shown.content.transitions[0].phases[0].name, "DXE");
        assert_eq!(shown.content.duration_ns, 5 * MS);
    }
}
