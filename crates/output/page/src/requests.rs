//! Page content of a recording of file operations.

use std::sync::Arc;

use onoff_evidence::Certainty;
use onoff_lanes::request_tracks::request_tracks;
use onoff_report::text::io;
use onoff_report::text::quantity::{counted, size};
use onoff_requests::IoReport;
use onoff_trace::Trace;

use crate::build::LoadedRecording;
use crate::page::{PageFinding, PagePhase, PageRecording, PageTransition, loss_list};
use crate::ranges;
use crate::track::track_list;

impl LoadedRecording {
    /// Builds the content for the file operations in `trace`, displayed as `name`; `report` is the result of
    /// `onoff io`.
    #[must_use]
    pub fn from_requests(name: String, trace: Arc<Trace>, report: &IoReport) -> Self {
        let tracks = request_tracks(&trace);
        let starts = trace.file_ios.iter().map(|row| row.start_ns);
        let start_ns = starts.min().unwrap_or(0);
        let ends = trace.file_ios.iter().map(|row| row.end_ns.unwrap_or(row.start_ns));
        // Ranges exclude their end, and the last request may have zero duration.
        let end_ns = ends.max().unwrap_or(0).max(start_ns).saturating_add(1);
        let findings = report.findings.iter().map(|finding| PageFinding {
            code: finding.code.as_str().to_owned(),
            title: io::sentence(finding),
            // Time of all requests; the savings of a change are unknown.
            cost_ns: finding.on_path_ns,
            evidence: String::new(),
            advice: io::advice(finding, report.buffer_bytes).unwrap_or_default(),
            certainty: Certainty::Measured,
            explained_by: "onoff io --help".to_owned(),
            ..PageFinding::default()
        });
        // The page takes ranges from phases, so put all requests into a single phase.
        let phase = PagePhase {
            name: "requests".to_owned(),
            title: "Requests".to_owned(),
            start_ns,
            end_ns,
            rule: "first to last operation".to_owned(),
            ..PagePhase::default()
        };
        let transition = PageTransition {
            kind: "requests".to_owned(),
            title: "File requests".to_owned(),
            headline: io::headline_sentences(report),
            start_ns,
            end_ns,
            phases: vec![phase],
            findings: findings.collect(),
            ..PageTransition::default()
        };
        let views = report.views.iter().map(|view| {
            let title = format!("{} {}", view.level, view.direction);
            format!("{title}: {}, {}", counted(view.table.requests, "request"), size(view.table.bytes))
        });
        let recording = PageRecording {
            name,
            machine: views.collect::<Vec<_>>().join(" · "),
            start_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
            transitions: vec![transition],
            tracks: track_list(&tracks),
            // Single events are only listed for traces and logs.
            subjects: ranges::recorded_subjects(&trace, &[]).into_iter().filter(|&name| name != "events").collect(),
            losses: loss_list(&report.losses),
            ..PageRecording::default()
        };
        Self { trace, tracks, content: recording, ..Self::default() }
    }
}
