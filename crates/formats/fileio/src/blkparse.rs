//! The text of `blkparse`: what the block layer did with each request.
//!
//! ```text
//!   8,0    3        1     0.000000000   697  Q   R 223490 + 8 [kjournald]
//! ```
//!
//! device, processor, sequence number, seconds, process id, action, what it is (R, W, D, F, N and modifiers), first
//! sector `+` sectors, process (source: the manual of blkparse). Q is the request as it was made, D its handing to the
//! disk, C its completion. A sector has 512 bytes.

use hashbrown::HashMap;

use crate::losses::LossKind;
use crate::number::{lines, seconds_ns, unsigned, unsigned32};
use crate::operation::{Counted, Level, Operation, OperationKind};

const SECTOR: u64 = 512;

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

/// A request that has not completed.
struct Waiting {
    offset: usize,
    start_ns: i64,
    pid: u32,
    process: String,
    kind: OperationKind,
    sectors: u64,
}

/// Whether a line is an event of blkparse.
pub(crate) fn is_event(line: &[u8]) -> bool {
    str::from_utf8(line).is_ok_and(|line| parse(line).is_some_and(|event| !event.action.is_empty()))
}

fn parse(line: &str) -> Option<Event<'_>> {
    let mut words = line.split_ascii_whitespace();
    let device = words.next()?;
    let (major, minor) = device.split_once(',')?;
    unsigned32(major.as_bytes())?;
    unsigned32(minor.as_bytes())?;
    unsigned32(words.next()?.as_bytes())?;
    unsigned(words.next()?.as_bytes())?;
    let time = words.next()?;
    if !time.contains('.') {
        return None;
    }
    let time_ns = seconds_ns(time.as_bytes())?;
    let pid = unsigned32(words.next()?.as_bytes())?;
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
    if let Some(sector) = word.and_then(|word| unsigned(word.as_bytes())) {
        event.sector = sector;
        word = words.next();
        if word == Some("+") {
            event.sectors = unsigned(words.next()?.as_bytes())?;
            word = words.next();
        }
    }
    if let Some(at) = word.and_then(|word| line.rfind(word)).filter(|_| word.is_some_and(|word| word.starts_with('[')))
    {
        event.process = line.get(at + 1..)?.trim_end().strip_suffix(']')?;
    }
    Some(event)
}

pub(crate) fn read(bytes: &[u8], out: &mut Counted<'_>) {
    let mut waiting: HashMap<(String, u64, OperationKind), Waiting> = HashMap::new();
    for (offset, line) in lines(bytes) {
        let Some(event) = str::from_utf8(line).ok().and_then(parse) else {
            // The summary that blkparse appends is no event and nothing is lost with it.
            if line.trim_ascii().is_empty() {
                continue;
            }
            if line.starts_with(b"CPU") || line.starts_with(b"Total") {
                break;
            }
            out.record();
            out.lose(LossKind::Unreadable, offset);
            continue;
        };
        out.record();
        out.pass(offset);
        let Some(kind) = event.kind else { continue };
        let key = (event.device.to_owned(), event.sector, kind);
        match event.action {
            "Q" | "D" => {
                let entry = waiting.entry(key).or_insert_with(|| Waiting {
                    offset,
                    start_ns: event.time_ns,
                    pid: event.pid,
                    process: event.process.to_owned(),
                    kind,
                    sectors: event.sectors,
                });
                entry.sectors = event.sectors;
            }
            "M" | "F" if waiting.remove(&key).is_some() => out.lose(LossKind::Merged, offset),
            "C" => {
                let started = waiting.remove(&key);
                let (start_ns, duration_ns) = match &started {
                    Some(started) => (started.start_ns, Some(event.time_ns.saturating_sub(started.start_ns).max(0))),
                    None => (event.time_ns, None),
                };
                let (pid, process) = match &started {
                    Some(started) => (Some(started.pid), started.process.as_str()),
                    None => (None, ""),
                };
                push(&key.0, event.sector, event.sectors, kind, (start_ns, duration_ns), (pid, process), out);
            }
            _ => {}
        }
    }
    // Requests in flight at the end, or all of them when completions were not recorded.
    let mut rest: Vec<_> = waiting.into_iter().collect();
    rest.sort_by_key(|(_, request)| (request.start_ns, request.offset));
    for ((device, sector, kind), request) in rest {
        let who = (Some(request.pid), request.process.as_str());
        debug_assert_eq!(kind, request.kind);
        push(&device, sector, request.sectors, kind, (request.start_ns, None), who, out);
    }
}

fn push(
    device: &str,
    sector: u64,
    sectors: u64,
    kind: OperationKind,
    (start_ns, duration_ns): (i64, Option<i64>),
    (pid, process): (Option<u32>, &str),
    out: &mut Counted<'_>,
) {
    out.push(&Operation {
        start_ns,
        duration_ns,
        level: Level::Device,
        unbuffered: true,
        pid,
        process,
        file: device,
        offset: sector.saturating_mul(SECTOR),
        length: sectors.saturating_mul(SECTOR),
        ..Operation::new(kind)
    });
}
