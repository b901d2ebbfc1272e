//! The Trace Event format of Chrome (`chrome://tracing`, Perfetto, Speedscope and many others): a JSON list of events.
//!
//! Each group of tracks is a process and each row of a track a thread, as in the Perfetto export. Times are in µs.

use std::io::{self, Write};

use onoff_lanes::{Lane, TrackGroup};
use serde_json::{Value, json};

use super::perfetto::{group_name, tone_name};
use crate::build::LoadedRecording;

/// Process id of the phases and findings; groups of tracks follow.
const TRANSITIONS: u32 = 1;

/// Writes a recording.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(recording: &LoadedRecording, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer { out, origin_ns: recording.content.start_ns.min(0), next_thread: 1, is_first: true };
    write!(writer.out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    writer.name("process_name", TRANSITIONS, 0, &recording.content.name)?;
    for transition in &recording.content.transitions {
        let phases = writer.thread(TRANSITIONS, &transition.title)?;
        for phase in &transition.phases {
            let blame = phase.account.iter().take(8).map(|entry| (entry.subject.clone(), json!(entry.ns as f64 / 1e9)));
            let arguments = json!({
                "certainty": phase.certainty.as_str(),
                "ends with": phase.rule,
                "blamed on, s": blame.collect::<serde_json::Map<String, Value>>(),
            });
            writer.slice(
                (TRANSITIONS, phases),
                (phase.start_ns, phase.end_ns),
                &phase.title,
                "phase",
                Some(arguments),
            )?;
        }
        let findings = writer.thread(TRANSITIONS, &format!("{}: findings", transition.title))?;
        for finding in &transition.findings {
            let Some(start_ns) = finding.start_ns else { continue };
            let arguments = json!({ "evidence": finding.evidence, "advice": finding.advice });
            let place = (TRANSITIONS, findings);
            writer.slice(place, (start_ns, start_ns), &finding.title, &finding.code, Some(arguments))?;
        }
    }
    let mut last_group: Option<TrackGroup> = None;
    for track in &recording.tracks {
        let process = TRANSITIONS + 1 + track.group as u32;
        if last_group.replace(track.group) != Some(track.group) {
            writer.name("process_name", process, 0, group_name(track.group))?;
        }
        match &track.lane {
            Lane::Utilization(lane) => {
                let mut last_percent = None;
                for (time_ns, percent) in lane.steps() {
                    let percent = (percent * 10.0).round() / 10.0;
                    if last_percent.replace(percent) != Some(percent) {
                        let event = json!({
                            "ph": "C", "pid": process, "name": track.name, "ts": writer.time(time_ns),
                            "args": { "%": percent },
                        });
                        writer.event(&event)?;
                    }
                }
            }
            // The viewers add up processes by themselves.
            Lane::Stacked(_) => {}
            Lane::Slices(lane) => {
                for row in lane.slice_rows() {
                    let thread = writer.thread(process, &track.name)?;
                    for (start_ns, end_ns, label, tone) in row {
                        writer.slice((process, thread), (start_ns, end_ns), label, tone_name(tone), None)?;
                    }
                }
            }
        }
    }
    write!(writer.out, "\n]}}")
}

struct Writer<'w> {
    out: &'w mut dyn Write,
    /// Subtracted from every time, ns: some viewers have no negative times.
    origin_ns: i64,
    next_thread: u32,
    is_first: bool,
}

impl Writer<'_> {
    /// Converts a time to µs.
    fn time(&self, time_ns: i64) -> f64 {
        time_ns.saturating_sub(self.origin_ns) as f64 / 1e3
    }

    fn event(&mut self, event: &Value) -> io::Result<()> {
        let separator = if std::mem::take(&mut self.is_first) { "\n" } else { ",\n" };
        write!(self.out, "{separator}{event}")
    }

    fn name(&mut self, kind: &str, process: u32, thread: u32, name: &str) -> io::Result<()> {
        self.event(&json!({ "ph": "M", "name": kind, "pid": process, "tid": thread, "args": { "name": name } }))
    }

    /// Writes the name of a new thread and returns its id.
    fn thread(&mut self, process: u32, name: &str) -> io::Result<u32> {
        let thread = self.next_thread;
        self.next_thread = self.next_thread.saturating_add(1);
        self.name("thread_name", process, thread, name)?;
        Ok(thread)
    }

    /// Writes an interval, or an instant if it is empty.
    fn slice(
        &mut self,
        (process, thread): (u32, u32),
        (start_ns, end_ns): (i64, i64),
        name: &str,
        category: &str,
        arguments: Option<Value>,
    ) -> io::Result<()> {
        let mut event =
            json!({ "name": name, "cat": category, "pid": process, "tid": thread, "ts": self.time(start_ns) });
        if end_ns > start_ns {
            event["ph"] = json!("X");
            event["dur"] = json!(end_ns.saturating_sub(start_ns) as f64 / 1e3);
        } else {
            event["ph"] = json!("i");
            event["s"] = json!("t");
        }
        if let Some(arguments) = arguments {
            event["args"] = arguments;
        }
        self.event(&event)
    }
}
