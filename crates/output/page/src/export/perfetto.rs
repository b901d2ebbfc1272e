//! Perfetto's native format: a stream of `TracePacket` messages (protocol buffers), as read by
//! <https://ui.perfetto.dev> and `trace_processor`. Field numbers are from Perfetto's
//! `protos/perfetto/trace/trace_packet.proto`, `track_event/track_event.proto`, `track_event/track_descriptor.proto`
//! and `track_event/counter_descriptor.proto`.
//!
//! Each track of the page becomes a Perfetto track below the track of its group. If intervals overlap, each row becomes
//! a separate track, because Perfetto nests overlapping slices. Ready-thread arrows become flows between steps of the
//! critical path.

use std::io::{self, Write};

use hashbrown::HashMap;
use prost::Message;

use crate::build::LoadedRecording;
use onoff_lanes::slices::Tone;
use onoff_lanes::{Lane, TrackGroup};

/// All packets of the file belong to one sequence.
const SEQUENCE: u32 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`: the first packet depends on no earlier state.
const STATE_CLEARED: u32 = 1;
/// Values of `TrackEvent.Type`.
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const INSTANT: i32 = 3;
const COUNTER: i32 = 4;
/// `TrackDescriptor.ChildTracksOrdering.EXPLICIT`: by rank.
const EXPLICIT: i32 = 3;
/// Number of the field `packet` of the message `Trace`.
const PACKET: u32 = 1;

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    sibling_order_rank: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {
    #[prost(string, optional, tag = "6")]
    unit_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(double, optional, tag = "44")]
    double_counter_value: Option<f64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
}

/// Writes a recording.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(recording: &LoadedRecording, out: &mut dyn Write) -> io::Result<()> {
    let mut writer =
        Writer { out, buffer: Vec::new(), origin_ns: recording.content.start_ns.min(0), next_uuid: 1, is_first: true };
    phases(recording, &mut writer)?;
    let flows = Flows::new(recording);
    let mut groups: HashMap<TrackGroup, u64> = HashMap::new();
    let mut sections: HashMap<(TrackGroup, &str), u64> = HashMap::new();
    for (track, id) in recording.tracks.iter().zip(0_u32..) {
        let group = match groups.get(&track.group) {
            Some(&group) => group,
            None => {
                let rank = track.group as i32 + 1;
                let group = writer.track(group_name(track.group), None, Some(rank), None)?;
                groups.insert(track.group, group);
                group
            }
        };
        let parent = match (track.section.as_str(), sections.get(&(track.group, track.section.as_str()))) {
            ("", _) => group,
            (_, Some(&section)) => section,
            (name, None) => {
                let section = writer.track(name, Some(group), None, None)?;
                sections.insert((track.group, name), section);
                section
            }
        };
        let rank = i32::try_from(id).ok();
        match &track.lane {
            Lane::Utilization(lane) => {
                let uuid = writer.track(&track.name, Some(parent), rank, Some("%"))?;
                let mut last_percent = None;
                for (time_ns, percent) in lane.steps() {
                    let percent = (percent * 10.0).round() / 10.0;
                    if last_percent != Some(percent) {
                        writer.counter(uuid, time_ns, percent)?;
                        last_percent = Some(percent);
                    }
                }
            }
            // Perfetto adds up processes by itself.
            Lane::Stacked(_) => {}
            Lane::Slices(lane) => {
                for row in lane.slice_rows() {
                    let uuid = writer.track(&track.name, Some(parent), rank, None)?;
                    for (start_ns, end_ns, label, tone) in row {
                        let (outgoing, incoming) = flows.for_slice(id, start_ns, end_ns);
                        let event = TrackEvent {
                            name: Some(label.to_owned()),
                            categories: vec![tone_name(tone).to_owned()],
                            flow_ids: outgoing,
                            terminating_flow_ids: incoming,
                            ..TrackEvent::default()
                        };
                        writer.slice(uuid, start_ns, end_ns, event)?;
                    }
                }
            }
        }
    }
    writer.flush()
}

fn phases(recording: &LoadedRecording, writer: &mut Writer<'_>) -> io::Result<()> {
    let annotation =
        |name: &str, value: &str| DebugAnnotation { name: Some(name.to_owned()), string_value: Some(value.to_owned()) };
    for transition in &recording.content.transitions {
        let uuid = writer.track(&transition.title, None, Some(0), None)?;
        // Slices of a track must nest or be disjoint, so overlapping phases go to separate tracks.
        let mut rows: Vec<(u64, i64)> = vec![(uuid, i64::MIN)];
        for phase in &transition.phases {
            let row = match rows.iter().position(|(_, row_end_ns)| *row_end_ns <= phase.start_ns) {
                Some(row) => row,
                None => {
                    rows.push((writer.track(&transition.title, Some(uuid), Some(0), None)?, i64::MIN));
                    rows.len() - 1
                }
            };
            rows[row].1 = phase.end_ns;
            let mut annotations = vec![annotation("certainty", phase.certainty.as_str())];
            for (name, value) in [("ends with", &phase.rule), ("event", &phase.event)] {
                if !value.is_empty() {
                    annotations.push(annotation(name, value));
                }
            }
            for entry in phase.account.iter().take(8) {
                let time = onoff_report::text::quantity::duration(entry.ns);
                annotations
                    .push(annotation(&format!("blamed on {}", entry.subject), &format!("{time} {}", entry.actions)));
            }
            let event = TrackEvent {
                name: Some(phase.title.clone()),
                categories: vec!["phase".to_owned()],
                debug_annotations: annotations,
                ..TrackEvent::default()
            };
            writer.slice(rows[row].0, phase.start_ns, phase.end_ns, event)?;
        }
        let mut findings: Vec<_> = transition.findings.iter().filter(|finding| finding.start_ns.is_some()).collect();
        findings.sort_by_key(|finding| finding.start_ns);
        let findings_track = writer.track("Findings", Some(uuid), None, None)?;
        for finding in findings {
            let event = TrackEvent {
                name: Some(finding.title.clone()),
                categories: vec![finding.code.clone()],
                debug_annotations: vec![
                    annotation("evidence", &finding.evidence),
                    annotation("advice", &finding.advice),
                ],
                ..TrackEvent::default()
            };
            let start_ns = finding.start_ns.unwrap_or_default();
            writer.slice(findings_track, start_ns, start_ns, event)?;
        }
    }
    Ok(())
}

/// Ids of flows by their start and end points.
struct Flows {
    /// Key: track and end time of the readying step.
    outgoing: HashMap<(u32, i64), Vec<u64>>,
    /// Key: track and start time of the readied step.
    incoming: HashMap<(u32, i64), Vec<u64>>,
}

impl Flows {
    fn new(recording: &LoadedRecording) -> Self {
        let mut flows = Self { outgoing: HashMap::new(), incoming: HashMap::new() };
        for (arrow, id) in recording.arrows.iter().zip(1_u64..) {
            flows.outgoing.entry((arrow.from, arrow.time_ns)).or_default().push(id);
            flows.incoming.entry((arrow.to, arrow.time_ns)).or_default().push(id);
        }
        flows
    }

    fn for_slice(&self, track: u32, start_ns: i64, end_ns: i64) -> (Vec<u64>, Vec<u64>) {
        let outgoing = self.outgoing.get(&(track, end_ns)).cloned().unwrap_or_default();
        (outgoing, self.incoming.get(&(track, start_ns)).cloned().unwrap_or_default())
    }
}

/// Buffered writer of packets.
struct Writer<'w> {
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    /// Subtracted from every time, ns: Perfetto has no negative times.
    origin_ns: i64,
    next_uuid: u64,
    is_first: bool,
}

impl Writer<'_> {
    fn packet(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        packet.sequence_flags = self.is_first.then_some(STATE_CLEARED);
        self.is_first = false;
        prost::encoding::message::encode(PACKET, &packet, &mut self.buffer);
        if self.buffer.len() >= 1 << 16 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes a track and returns its UUID; a track with a unit is a counter.
    fn track(&mut self, name: &str, parent: Option<u64>, rank: Option<i32>, unit: Option<&str>) -> io::Result<u64> {
        let uuid = self.next_uuid;
        self.next_uuid += 1;
        self.packet(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(name.to_owned()),
                parent_uuid: parent,
                counter: unit.map(|unit| CounterDescriptor { unit_name: Some(unit.to_owned()) }),
                child_ordering: Some(EXPLICIT),
                sibling_order_rank: rank,
            }),
            ..TracePacket::default()
        })?;
        Ok(uuid)
    }

    fn event(&mut self, time_ns: i64, event: TrackEvent) -> io::Result<()> {
        let time = i128::from(time_ns) - i128::from(self.origin_ns);
        let timestamp = u64::try_from(time.clamp(0, i128::from(i64::MAX))).unwrap_or(0);
        self.packet(TracePacket { timestamp: Some(timestamp), track_event: Some(event), ..TracePacket::default() })
    }

    /// Writes an interval, or an instant if it is empty.
    fn slice(&mut self, uuid: u64, start_ns: i64, end_ns: i64, event: TrackEvent) -> io::Result<()> {
        let is_point = end_ns <= start_ns;
        let kind = if is_point { INSTANT } else { SLICE_BEGIN };
        self.event(start_ns, TrackEvent { r#type: Some(kind), track_uuid: Some(uuid), ..event })?;
        if is_point {
            return Ok(());
        }
        self.event(end_ns, TrackEvent { r#type: Some(SLICE_END), track_uuid: Some(uuid), ..TrackEvent::default() })
    }

    fn counter(&mut self, uuid: u64, time_ns: i64, value: f64) -> io::Result<()> {
        let event = TrackEvent {
            r#type: Some(COUNTER),
            track_uuid: Some(uuid),
            double_counter_value: Some(value),
            ..TrackEvent::default()
        };
        self.event(time_ns, event)
    }
}

pub(super) const fn group_name(group: TrackGroup) -> &'static str {
    match group {
        TrackGroup::Firmware => "Firmware",
        TrackGroup::Network => "Network boot",
        TrackGroup::Requests => "File requests",
        TrackGroup::Processors => "CPU",
        TrackGroup::Disks => "Disks",
        TrackGroup::CriticalPath => "Critical path",
        TrackGroup::Devices => "Devices and drivers",
        TrackGroup::Services => "Services",
        TrackGroup::Session => "Session and policy",
        TrackGroup::Notifications => "Notifications",
        TrackGroup::Power => "Power requests",
        TrackGroup::Processes => "Processes",
        TrackGroup::Log => "Log",
    }
}

/// Returns the category of a slice.
pub(super) const fn tone_name(tone: Tone) -> &'static str {
    match tone {
        Tone::Present => "alive",
        Tone::Container => "host process",
        Tone::Load => "image load",
        Tone::Initialize => "start or stop",
        Tone::Blocked => "blocked",
        Tone::Pended => "pended",
        Tone::Ran => "running",
        Tone::Ready => "ready",
        Tone::Disk => "disk",
        Tone::Timer => "timer",
        Tone::Interrupt => "device",
        Tone::Service => "service",
        Tone::Unknown => "unknown",
        Tone::Notified => "notified",
        Tone::Work => "work",
        Tone::Failed => "failed",
        Tone::Thread => "thread",
    }
}
