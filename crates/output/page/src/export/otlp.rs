//! OpenTelemetry spans in OTLP/JSON, as an OTLP receiver accepts them: a trace for each transition. Its phases are spans
//! below it; services and devices are spans below the phase in which they began; findings are events.
//!
//! The mapping is that of `opentelemetry/proto/trace/v1/trace.proto` to JSON: ids are hexadecimal, and 64-bit numbers
//! are text. The ids depend on the recording only, so a second export replaces the first.

use std::io::{self, Write};

use onoff_lanes::{Lane, TrackGroup};
use onoff_transitions::overview::overview;
use serde_json::{Value, json};

use crate::build::LoadedRecording;
use crate::page::PageTransition;

/// Why a recording has no spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSpans {
    #[error("the recording does not show the wall-clock time, which spans need")]
    NoWallClock,
    #[error("no transition in this recording")]
    NoTransition,
}

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: i32 = 1;
/// Maximum number of subjects in the blame of a phase.
const MAX_SUBJECTS: usize = 16;

/// Writes the spans of a recording.
///
/// # Errors
/// Returns errors from `out`, and why there are no spans.
pub fn write(recording: &LoadedRecording, out: &mut dyn Write) -> io::Result<Result<(), NoSpans>> {
    let trace = &recording.trace;
    let Some(origin_unix_ns) = trace.clock.start_unix_ns else { return Ok(Err(NoSpans::NoWallClock)) };
    if recording.content.transitions.is_empty() {
        return Ok(Err(NoSpans::NoTransition));
    }
    let durations = overview(trace);
    let mut spans: Vec<Value> = Vec::new();
    for transition in &recording.content.transitions {
        let duration = durations
            .iter()
            .find(|row| row.kind.as_str() == transition.kind && row.number == transition.number)
            .and_then(|row| row.duration_ns);
        let identity = (&recording.content.name, origin_unix_ns, &transition.kind, transition.number);
        let ids = Ids { trace: hash(&format!("{identity:?}")) };
        add_transition(recording, transition, (origin_unix_ns, duration), ids, &mut spans);
    }
    let system = &trace.system;
    let resource = json!({ "attributes": [
        text("service.name", "onoff"),
        text("host.name", &system.computer),
        text("os.description", &recording.content.machine),
        text("onoff.recording", &recording.content.name),
    ]});
    let scope = json!({ "name": "onoff", "version": env!("CARGO_PKG_VERSION") });
    let document = json!({
        "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "scope": scope, "spans": spans }] }],
    });
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)?;
    Ok(Ok(()))
}

/// Ids of a trace and its spans.
#[derive(Clone, Copy)]
struct Ids {
    trace: u128,
}

impl Ids {
    fn trace(self) -> String {
        format!("{:032x}", self.trace)
    }

    fn span(self, number: usize) -> String {
        let low = self.trace as u64 ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{:016x}", low.max(1))
    }
}

/// The FNV-1a hash with 128 bits.
fn hash(text: &str) -> u128 {
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
    })
}

fn add_transition(
    recording: &LoadedRecording,
    transition: &PageTransition,
    (origin_unix_ns, duration_ns): (i64, Option<i64>),
    ids: Ids,
    spans: &mut Vec<Value>,
) {
    let first = spans.len();
    let span =
        |number: usize, parent: Option<usize>, name: &str, (start_ns, end_ns): (i64, i64), attributes: Vec<Value>| {
            let time = |time_ns: i64| origin_unix_ns.saturating_add(time_ns).max(0).to_string();
            json!({
                "traceId": ids.trace(),
                "spanId": ids.span(number),
                "parentSpanId": parent.map_or(String::new(), |parent| ids.span(parent)),
                "name": name,
                "kind": INTERNAL,
                "startTimeUnixNano": time(start_ns),
                "endTimeUnixNano": time(end_ns.max(start_ns)),
                "attributes": attributes,
            })
        };
    let mut attributes = vec![
        text("onoff.transition", &transition.kind),
        text("onoff.variant", &transition.variant),
        text("onoff.headline", &transition.headline.join(" ")),
    ];
    attributes.extend(duration_ns.map(|ns| number("onoff.duration_ns", ns)));
    let mut root = span(0, None, &transition.title, (transition.start_ns, transition.end_ns), attributes);
    let events = transition.findings.iter().map(|finding| {
        let mut attributes = vec![
            text("title", &finding.title),
            text("evidence", &finding.evidence),
            text("advice", &finding.advice),
            text("certainty", finding.certainty.as_str()),
        ];
        attributes.extend(finding.cost_ns.map(|ns| number("cost_ns", ns)));
        let time_ns = finding.start_ns.unwrap_or(transition.start_ns);
        json!({
            "timeUnixNano": origin_unix_ns.saturating_add(time_ns).max(0).to_string(),
            "name": finding.code,
            "attributes": attributes,
        })
    });
    root["events"] = events.collect();
    spans.push(root);
    for phase in &transition.phases {
        let blame = || phase.account.iter().take(MAX_SUBJECTS);
        let attributes = vec![
            text("onoff.phase", &phase.name),
            text("onoff.certainty", phase.certainty.as_str()),
            text("onoff.rule", &phase.rule),
            json!({ "key": "onoff.is_open", "value": { "boolValue": phase.is_open } }),
            list("onoff.blame.subjects", blame().map(|entry| json!({ "stringValue": entry.subject })).collect()),
            list("onoff.blame.ns", blame().map(|entry| json!({ "intValue": entry.ns.to_string() })).collect()),
        ];
        spans.push(span(spans.len() - first, Some(0), &phase.title, (phase.start_ns, phase.end_ns), attributes));
    }
    let is_work = |group| matches!(group, TrackGroup::Services | TrackGroup::Devices);
    for track in recording.tracks.iter().filter(|track| is_work(track.group)) {
        let Lane::Slices(lane) = &track.lane else { continue };
        for (start_ns, end_ns, label, _) in lane.slice_rows().flatten() {
            if !(transition.start_ns..transition.end_ns).contains(&start_ns) {
                continue;
            }
            let is_around = |phase: &crate::page::PagePhase| (phase.start_ns..phase.end_ns).contains(&start_ns);
            let parent = transition.phases.iter().position(is_around).map_or(0, |phase| phase + 1);
            let kind = if track.group == TrackGroup::Services { "service" } else { "device" };
            let attributes = vec![text("onoff.kind", kind), text("onoff.operation", label)];
            spans.push(span(spans.len() - first, Some(parent), &track.name, (start_ns, end_ns), attributes));
        }
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: i64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn list(key: &str, values: Vec<Value>) -> Value {
    json!({ "key": key, "value": { "arrayValue": { "values": values } } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_the_published_one() {
        // Test vectors of the FNV authors.
        assert_eq!(hash(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
