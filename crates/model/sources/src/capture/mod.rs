//! Reads network captures (pcap, pcapng, and packets in Windows event trace logs) down to UDP and TCP.

mod container;
mod decode;
mod fault;
mod ipv6;
mod link;
mod packet_events;
mod tables;

use std::ops::ControlFlow;

use onoff_etl::Recording;
use onoff_netboot::path::{self, CapturePlace};
use onoff_netboot::{Capture, CaptureBuilder, CaptureFile, losses};

use onoff_input::error::Error;
use onoff_input::opened::{Files, SourceFile};
use onoff_input::options::Options;
use onoff_input::options::Progress;
use onoff_input::sniff::RecordingKind;

pub(crate) use tables::tables;

use container::{Container, Item, RawFrame};
use packet_events::{PacketEvent, PacketEvents};

/// Bytes between two progress reports and releases of memory.
const STEP_BYTES: u64 = 16 << 20;

/// Reads a capture from open files.
///
/// # Errors
/// Files that are not captures.
pub fn read_capture(files: &Files, options: &Options) -> Result<Capture, Error> {
    let capture = read_files(files, options);
    files.check_complete()?;
    capture
}

fn read_files(files: &Files, options: &Options) -> Result<Capture, Error> {
    if files.kind() == RecordingKind::EventTraceLog {
        return read_event_trace(files, options);
    }
    files.require_kind(RecordingKind::NetworkCapture)?;
    let mut ordered_files: Vec<OrderedFile<'_>> =
        files.iter().enumerate().map(|(index, file)| (first_frame_ns(file), index, file)).collect();
    ordered_files.sort_by_key(|(time, index, _)| (*time, *index));
    if let [first, second] = ordered_files.as_slice()
        && let Some(capture) = read_two_places((files, options), first, second)?
    {
        return Ok(capture);
    }
    read_sequence((files, options), &ordered_files, CaptureBuilder::default())
}

/// A file of a capture: the time of its first frame, its number, and the file.
type OrderedFile<'a> = (Option<i64>, usize, &'a SourceFile);

/// Reads two captures of one boot from different places. Returns the one near the client, with the path between the
/// places; `None` if the files are not such captures.
fn read_two_places(
    (files, options): (&Files, &Options),
    first: &OrderedFile<'_>,
    second: &OrderedFile<'_>,
) -> Result<Option<Capture>, Error> {
    let read = |file: &OrderedFile<'_>| {
        read_sequence((files, options), std::slice::from_ref(file), CaptureBuilder::with_marks())
    };
    let (first, second) = (read(first)?, read(second)?);
    let (Some(first_place), Some(second_place)) = (place(&first), place(&second)) else { return Ok(None) };
    let Some((path, is_second_near)) = path::measure(first_place, second_place) else { return Ok(None) };
    let (mut capture, other) = if is_second_near { (second, first) } else { (first, second) };
    capture.files.extend(other.files);
    capture.losses.merge(other.losses);
    capture.path = Some(path);
    capture.marks = None;
    Ok(Some(capture))
}

/// Returns what is compared of a capture that was read with marks.
fn place(capture: &Capture) -> Option<CapturePlace<'_>> {
    Some(CapturePlace {
        name: capture.files.first()?.name.as_str(),
        start_unix_ns: capture.start_unix_ns?,
        duration_ns: capture.duration_ns,
        marks: capture.marks.as_ref()?,
    })
}

/// Reads files one after another, as parts of one capture.
fn read_sequence(
    (files, options): (&Files, &Options),
    sequence: &[OrderedFile<'_>],
    builder: CaptureBuilder,
) -> Result<Capture, Error> {
    let mut reader = CaptureReader {
        builder,
        options,
        files,
        start_unix_ns: sequence.iter().find_map(|(time, _, _)| *time),
        last_unix_ns: i64::MIN,
        done_bytes: 0,
        total_bytes: sequence.iter().map(|(_, _, file)| file.bytes().len() as u64).sum(),
        snap_length: None,
    };
    let mut capture_files = Vec::new();
    for &(first_ns, index, file) in sequence {
        if first_ns.is_some_and(|first_ns| first_ns < reader.last_unix_ns) {
            let location = || file.name().to_owned();
            reader.builder.losses().add_at(&losses::FILES_OVERLAP, location);
        }
        capture_files.push(reader.read_file(index, file)?);
    }
    let (start_unix_ns, snap_length) = (reader.start_unix_ns, reader.snap_length);
    let mut capture = reader.builder.finish();
    capture.files = capture_files;
    capture.start_unix_ns = start_unix_ns;
    capture.snap_length = snap_length;
    Ok(capture)
}

/// Reads the packets of an event trace log, in event order.
fn read_event_trace(files: &Files, options: &Options) -> Result<Capture, Error> {
    let recording = Recording::open(&files.inputs())?;
    let clock = recording.clock();
    let bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
    let windows = recording.windows((bytes / STEP_BYTES as usize).max(1));
    let total_bytes = windows.iter().map(|window| window.size() as u64).sum();
    let mut builder = CaptureBuilder::default();
    let mut events = PacketEvents::default();
    let mut frames = vec![0_u64; files.iter().len()];
    let mut start_ns: Option<i64> = None;
    let mut snap_length: Option<u32> = None;
    let mut walk_losses = onoff_etl::Losses::default();
    let mut done_bytes = 0;
    for window in windows {
        let walk = window.for_each(|record| {
            let location = || {
                format!("{}, {} ns", files.iter().nth(record.file()).map_or("", |file| file.name()), record.time_ns())
            };
            match events.process(record) {
                PacketEvent::Other | PacketEvent::Incomplete => {}
                PacketEvent::Lost(counter) => builder.losses().add_at(counter, location),
                PacketEvent::Packet { link, bytes, wire_bytes } => {
                    if let Some(frames) = frames.get_mut(record.file()) {
                        *frames += 1;
                    }
                    let time_ns = record.time_ns().saturating_sub(*start_ns.get_or_insert(record.time_ns()));
                    if bytes.len() < wire_bytes as usize {
                        builder.losses().add_at(&losses::FRAMES_TRUNCATED, location);
                        snap_length = snap_length.max(u32::try_from(bytes.len()).ok());
                    }
                    let raw = RawFrame { unix_ns: clock.unix_ns(record.time_ns()), link, wire_bytes, bytes };
                    match decode::decode(time_ns, &raw) {
                        Ok(frame) => builder.on_frame(&frame),
                        Err(fault) => builder.losses().add_at(fault.counter(), location),
                    }
                }
            }
            ControlFlow::<()>::Continue(())
        });
        walk_losses.merge(&walk.losses);
        done_bytes += window.size() as u64;
        for range in window.releasable_ranges() {
            files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
        }
        options.report(Progress { done_bytes, total_bytes });
    }
    builder.losses().add(&losses::FRAMES_INCOMPLETE, events.incomplete_count());
    if start_ns.is_none() {
        let name = files.iter().next().map_or_else(String::new, |file| file.name().to_owned());
        return Err(Error::NoPackets { name });
    }
    onoff_windows::count_losses(&recording, &walk_losses, builder.losses());
    let mut capture = builder.finish();
    capture.files = files
        .iter()
        .zip(frames)
        .map(|(file, frames)| CaptureFile {
            name: file.name().to_owned(),
            bytes: file.stored_bytes(),
            container: "etl",
            frames,
        })
        .collect();
    capture.start_unix_ns = start_ns.map(|start| clock.unix_ns(start));
    capture.snap_length = snap_length;
    Ok(capture)
}

/// Returns the time of a file's first frame, ns since 1970-01-01 UTC.
fn first_frame_ns(file: &SourceFile) -> Option<i64> {
    let mut container = Container::open(file.name(), file.bytes()).ok()?;
    loop {
        match container.next()? {
            Item::Frame(frame) => return Some(frame.unix_ns),
            Item::Loss(..) => {}
        }
    }
}

struct CaptureReader<'a> {
    builder: CaptureBuilder,
    options: &'a Options,
    files: &'a Files,
    start_unix_ns: Option<i64>,
    last_unix_ns: i64,
    done_bytes: u64,
    total_bytes: u64,
    snap_length: Option<u32>,
}

impl CaptureReader<'_> {
    fn read_file(&mut self, index: usize, file: &SourceFile) -> Result<CaptureFile, Error> {
        let mut container = Container::open(file.name(), file.bytes())?;
        let start_unix_ns = self.start_unix_ns.unwrap_or(0);
        let mut frames = 0_u64;
        let mut released = 0;
        while let Some(item) = container.next() {
            match item {
                Item::Frame(frame) => {
                    frames += 1;
                    self.last_unix_ns = self.last_unix_ns.max(frame.unix_ns);
                    let time_ns = frame.unix_ns.saturating_sub(start_unix_ns);
                    let is_truncated = frame.bytes.len() < frame.wire_bytes as usize;
                    let location = || format!("{}, frame {frames}", file.name());
                    let losses = self.builder.losses();
                    if is_truncated {
                        losses.add_at(&losses::FRAMES_TRUNCATED, location);
                    }
                    match decode::decode(time_ns, &frame) {
                        Ok(frame) => self.builder.on_frame(&frame),
                        Err(fault) => losses.add_at(fault.counter(), location),
                    }
                }
                Item::Loss(counter, count, offset) => {
                    let losses = self.builder.losses();
                    losses.add(counter, count);
                    losses.set_first_place(counter, || format!("{}, byte {offset:#x}", file.name()));
                }
            }
            let offset = container.offset();
            if offset - released >= STEP_BYTES {
                self.files.release(index, released..offset);
                released = offset;
                self.options.report(Progress { done_bytes: self.done_bytes + offset, total_bytes: self.total_bytes });
            }
        }
        self.done_bytes += file.bytes().len() as u64;
        self.snap_length = self.snap_length.max(container.snap_length());
        Ok(CaptureFile {
            name: file.name().to_owned(),
            bytes: file.stored_bytes(),
            container: container.name(),
            frames,
        })
    }
}
