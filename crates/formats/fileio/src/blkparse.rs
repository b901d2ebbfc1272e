//! Reads the text output of `blkparse`: the actions of the block layer on each request.
//!
//! ```text
//!   8,0    3        1     0.000000000   697  Q   R 223490 + 8 [kjournald]
//! ```
//!
//! The columns are device, processor, sequence number, seconds, process id, action, operation (R, W, D, F, N and
//! modifiers), first sector `+` sectors, process (source: the manual of blkparse). Action Q is the submission of a
//! request, D its dispatch to the disk, C its completion. A sector is 512 bytes.

use hashbrown::HashMap;

use crate::losses::LossKind;
use crate::number::{lines, parse_u32, parse_unsigned, seconds_ns};
use crate::operation::{Level, Operation, OperationKind, OperationWriter};

const SECTOR_BYTES: u64 = 512;

struct Event<'l> {
    device: &'l str,
    time_ns: i64,
    pid: u32,
    action: &'l str,
    kind: Option<OperationKind>,
    sector: u64,
    sectors: u64,
    process: &'l str,
}

/// A request in flight.
struct PendingRequest {
    offset: usize,
    start_ns: i64,
    pid: u32,
    /// Number of the process name.
    process: u32,
    sectors: u64,
}

/// Numbers of names, because requests in flight outlive their lines.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    last: u32,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if self.names.get(self.last as usize).is_some_and(|last| last == name) {
            return self.last;
        }
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.last = *self.numbers.entry_ref(name).or_insert(next);
        if self.last == next {
            self.names.push(name.to_owned());
        }
        self.last
    }

    fn get(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }
}

/// True if the line is a blkparse event.
pub(crate) fn is_event(line: &[u8]) -> bool {
    str::from_utf8(line).is_ok_and(|line| parse(line).is_some_and(|event| !event.action.is_empty()))
}

fn parse(line: &str) -> Option<Event<'_>> {
    let mut words = line.split_ascii_whitespace();
    let device = words.next()?;
    let (major, minor) = device.split_once(',')?;
    parse_u32(major.as_bytes())?;
    parse_u32(minor.as_bytes())?;
    parse_u32(words.next()?.as_bytes())?;
    parse_unsigned(words.next()?.as_bytes())?;
    let time = words.next()?;
    if !time.contains('.') {
        return None;
    }
    let time_ns = seconds_ns(time.as_bytes())?;
    let pid = parse_u32(words.next()?.as_bytes())?;
    let action = words.next()?;
    let flags = words.next()?;
    if action.len() > 2 || !flags.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let kind = match flags.strip_prefix('F').unwrap_or(flags).bytes().next() {
        Some(b'R') => Some(OperationKind::Read),
        Some(b'W') => Some(OperationKind::Write),
        None | Some(b'F') => Some(OperationKind::Flush),
        _ => None,
    };
    let mut event = Event { device, time_ns, pid, action, kind, sector: 0, sectors: 0, process: "" };
    let mut word = words.next();
    if let Some(sector) = word.and_then(|word| parse_unsigned(word.as_bytes())) {
        event.sector = sector;
        word = words.next();
        if word == Some("+") {
            event.sectors = parse_unsigned(words.next()?.as_bytes())?;
            word = words.next();
        }
    }
    // An empty write with a flush in front is how a file system asks for a flush.
    if event.kind == Some(OperationKind::Write) && event.sectors == 0 && flags.starts_with('F') {
        event.kind = Some(OperationKind::Flush);
    }
    // A name can have spaces, so it extends to the end of the line.
    if word.is_some_and(|word| word.starts_with('['))
        && let Some((_, name)) = line.split_once('[')
    {
        event.process = name.trim_end().strip_suffix(']')?;
    }
    Some(event)
}

pub(crate) fn read(bytes: &[u8], out: &mut OperationWriter<'_>) {
    let mut devices = Names::default();
    let mut processes = Names::default();
    let mut pending: HashMap<(u32, u64, OperationKind), PendingRequest> = HashMap::new();
    for (offset, line) in lines(bytes) {
        let Some(event) = str::from_utf8(line).ok().and_then(parse) else {
            // The summary that blkparse appends has no events.
            if line.trim_ascii().is_empty() {
                continue;
            }
            if line.starts_with(b"CPU") || line.starts_with(b"Total") {
                break;
            }
            out.count_record();
            out.count_loss(LossKind::Unreadable, offset);
            continue;
        };
        out.count_record();
        out.report_progress(offset);
        let Some(kind) = event.kind else { continue };
        let key = (devices.number(event.device), event.sector, kind);
        match event.action {
            "Q" | "D" => {
                let process = processes.number(event.process);
                let entry = pending.entry(key).or_insert(PendingRequest {
                    offset,
                    start_ns: event.time_ns,
                    pid: event.pid,
                    process,
                    sectors: event.sectors,
                });
                entry.sectors = event.sectors;
            }
            "M" | "F" if pending.remove(&key).is_some() => out.count_loss(LossKind::Merged, offset),
            "C" => {
                let request = pending.remove(&key);
                let (start_ns, duration_ns) = match &request {
                    Some(request) => (request.start_ns, Some(event.time_ns.saturating_sub(request.start_ns).max(0))),
                    None => (event.time_ns, None),
                };
                let process = match &request {
                    Some(request) => (Some(request.pid), processes.get(request.process)),
                    None => (None, ""),
                };
                push(event.device, event.sector, event.sectors, kind, (start_ns, duration_ns), process, out);
            }
            _ => {}
        }
    }
    // Requests still in flight at the end: every request, if completions were not recorded.
    let mut in_flight: Vec<_> = pending.into_iter().collect();
    in_flight.sort_by_key(|(_, request)| (request.start_ns, request.offset));
    for ((device, sector, kind), request) in in_flight {
        let process = (Some(request.pid), processes.get(request.process));
        push(devices.get(device), sector, request.sectors, kind, (request.start_ns, None), process, out);
    }
}

fn push(
    device: &str,
    sector: u64,
    sectors: u64,
    kind: OperationKind,
    (start_ns, duration_ns): (i64, Option<i64>),
    (pid, process): (Option<u32>, &str),
    out: &mut OperationWriter<'_>,
) {
    out.push(&Operation {
        start_ns,
        duration_ns,
        level: Level::Device,
        unbuffered: true,
        pid,
        process,
        file: device,
        offset: sector.saturating_mul(SECTOR_BYTES),
        length: sectors.saturating_mul(SECTOR_BYTES),
        ..Operation::new(kind)
    });
}
