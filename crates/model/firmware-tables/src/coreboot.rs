//! coreboot's timestamps: the text of `cbmem -t` and `cbmem -T`, and the table itself as it lies in memory
//! (`CBMEM_ID_TIMESTAMP`).
//!
//! A timestamp is a moment with a number. Numbers that belong together, such as the start and the end of romstage, make
//! a measurement with a length; the others are points.

use onoff_trace::firmware::{FirmwareEdge, FirmwareEvent, FirmwareForm, FirmwareGuid, FirmwareWork};

use super::gathering::{Boot, Gathering};

/// The class that a measurement's start and end share: EDK II's of stretches between modules and inside one.
const BETWEEN_MODULES: u16 = 0x50;
const INSIDE_A_MODULE: u16 = 0x40;

/// Timestamps that end a stage or a step, each with the one that starts it and with its name
/// (`timestamp_serialized.h`). Stages are between modules.
const PAIRS: &[(u32, u32, &str, u16)] = &[
    (11, 12, "bootblock", BETWEEN_MODULES),
    (1, 4, "romstage", BETWEEN_MODULES),
    (100, 101, "postcar", BETWEEN_MODULES),
    (10, 99, "ramstage", BETWEEN_MODULES),
    (2, 3, "RAM initialization", INSIDE_A_MODULE),
    (5, 6, "verified boot", INSIDE_A_MODULE),
    (8, 9, "load of ramstage", INSIDE_A_MODULE),
    (13, 14, "load of romstage", INSIDE_A_MODULE),
    (15, 16, "LZMA decompression", INSIDE_A_MODULE),
    (17, 18, "LZ4 decompression", INSIDE_A_MODULE),
    (30, 40, "device enumeration", INSIDE_A_MODULE),
    (40, 50, "device configuration", INSIDE_A_MODULE),
    (50, 60, "device enable", INSIDE_A_MODULE),
    (60, 70, "device initialization", INSIDE_A_MODULE),
    (65, 67, "option ROM", INSIDE_A_MODULE),
    (90, 99, "load of the payload", INSIDE_A_MODULE),
    (110, 111, "forced delay", INSIDE_A_MODULE),
    (112, 113, "reading microcode", INSIDE_A_MODULE),
    (114, 115, "event log", INSIDE_A_MODULE),
    (501, 502, "load of verstage", INSIDE_A_MODULE),
    (503, 504, "TPM initialization", INSIDE_A_MODULE),
    (505, 506, "verifying the key block", INSIDE_A_MODULE),
    (507, 510, "verifying the body", INSIDE_A_MODULE),
    (511, 512, "TPM PCR extension", INSIDE_A_MODULE),
    (513, 514, "locking the TPM", INSIDE_A_MODULE),
    (515, 518, "embedded controller sync", INSIDE_A_MODULE),
    (900, 901, "AmdInitReset", INSIDE_A_MODULE),
    (902, 903, "AmdInitEarly", INSIDE_A_MODULE),
    (904, 905, "AmdInitPost", INSIDE_A_MODULE),
    (906, 907, "AmdInitEnv", INSIDE_A_MODULE),
    (908, 909, "AmdInitMid", INSIDE_A_MODULE),
    (910, 911, "AmdInitLate", INSIDE_A_MODULE),
    (940, 941, "waiting for the ME", INSIDE_A_MODULE),
    (942, 943, "end of POST to the ME", INSIDE_A_MODULE),
    (948, 949, "CSE firmware sync", INSIDE_A_MODULE),
    (950, 951, "FspMemoryInit", INSIDE_A_MODULE),
    (952, 953, "FspTempRamExit", INSIDE_A_MODULE),
    (954, 955, "FspSiliconInit", INSIDE_A_MODULE),
    (956, 957, "FspNotify(AfterPciEnumeration)", INSIDE_A_MODULE),
    (958, 959, "FspNotify(ReadyToBoot)", INSIDE_A_MODULE),
    (960, 961, "FspNotify(EndOfFirmware)", INSIDE_A_MODULE),
    (962, 963, "FspMultiPhaseSiInit", INSIDE_A_MODULE),
    (99, 1101, "payload", BETWEEN_MODULES),
];

/// Bytes of the table's header, and of each timestamp.
const HEADER: usize = 16;
const ENTRY: usize = 12;
/// No table holds more timestamps, none has a larger number, and no clock ticks faster, MHz.
const MAX_TIMESTAMPS: usize = 4096;
const MAX_NUMBER: u32 = 2_000;
const FASTEST_MHZ: u16 = 20_000;

/// A timestamp.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Timestamp {
    number: u32,
    time_ns: i64,
    name: String,
}

/// Whether a text is that of `cbmem`: timestamps in the order of time, with the start and the end of a stage among
/// them.
pub(super) fn is_it(text: &str) -> bool {
    let mut row: Vec<Timestamp> = Vec::new();
    for line in text.lines().take(MAX_TIMESTAMPS) {
        match timestamp(line) {
            Some(found) if row.last().is_none_or(|before| before.time_ns <= found.time_ns) => row.push(found),
            _ => row.clear(),
        }
        let has = |number| row.iter().any(|one| one.number == number);
        let stages = PAIRS.iter().filter(|&&(.., class)| class == BETWEEN_MODULES);
        if row.len() >= 3 && stages.into_iter().any(|&(start, end, ..)| has(start) && has(end)) {
            return true;
        }
    }
    false
}

/// Adds the timestamps in the text of `cbmem`.
pub(super) fn add(name: &str, text: &str, gathering: &mut Gathering) {
    gathering.input(name, FirmwareForm::Cbmem);
    let found: Vec<Timestamp> = text.lines().filter_map(timestamp).take(MAX_TIMESTAMPS).collect();
    gathering.boot(boot(name, &found));
}

/// A line of `cbmem -t`, as in `   2:before RAM initialization     46,334 (27,376)`, or of `cbmem -T`: number, time,
/// difference and name between tabs. Times are in µs since the processor's clock started.
fn timestamp(line: &str) -> Option<Timestamp> {
    let of = |number: &str, time: &str, name: &str| {
        let number: u32 = number.trim().parse().ok().filter(|&number| number <= MAX_NUMBER)?;
        let digits: String = time.trim().chars().filter(|&digit| digit != ',').collect();
        let micros: i64 = digits.parse().ok().filter(|&micros| micros >= 0)?;
        let name = name.trim();
        (!name.is_empty()).then(|| Timestamp { number, time_ns: micros.saturating_mul(1_000), name: name.to_owned() })
    };
    // Logs are sent by mail: a reply has a mark before each line it quotes.
    let line = line.trim_start_matches(['>', ' ']);
    let mut parts = line.split('\t');
    if let (Some(number), Some(time), Some(_), Some(name), None) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    {
        return of(number, time, name);
    }
    let (number, rest) = line.split_once(':')?;
    let rest = match rest.trim_end().strip_suffix(')') {
        Some(rest) => rest.rsplit_once('(')?.0,
        None => rest,
    };
    // At least two blanks keep name and time apart.
    let (name, time) = rest.trim_end().rsplit_once("  ")?;
    of(number, time, name)
}

/// The timestamps of a table's bytes; `None` for bytes that are no such table. It has no signature: every field must be
/// one that a table can have.
fn table(bytes: &[u8]) -> Option<Vec<Timestamp>> {
    let u64_at = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let u16_at = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let base = u64_at(0)?;
    let (room, mhz) = (usize::from(u16_at(8)?), u16_at(10)?);
    let count = usize::try_from(u32_at(12)?).ok()?;
    let sound = (2..=room).contains(&count) && room <= MAX_TIMESTAMPS && (1..=FASTEST_MHZ).contains(&mhz);
    if !sound || bytes.len() < HEADER + count * ENTRY || bytes.len() > (HEADER + room * ENTRY).next_multiple_of(4096) {
        return None;
    }
    let mut found = Vec::with_capacity(count);
    for entry in bytes.get(HEADER..)?.chunks_exact(ENTRY).take(count) {
        let number = u32::from_le_bytes(*entry.first_chunk()?);
        let stamp = i64::from_le_bytes(*entry.get(4..)?.first_chunk()?);
        let ticks = i128::from(base) + i128::from(stamp);
        let time_ns = i64::try_from(ticks * 1_000 / i128::from(mhz)).ok().filter(|&ns| ns >= 0);
        found.push(Timestamp { number, time_ns: time_ns.filter(|_| number <= MAX_NUMBER)?, name: String::new() });
    }
    // A boot that takes a day is none.
    let longest_ns = 86_400_000_000_000;
    found.iter().all(|one| one.time_ns < longest_ns).then_some(found)
}

/// Adds the timestamps of a table's bytes; whether they are one.
pub(super) fn add_table(name: &str, bytes: &[u8], gathering: &mut Gathering) -> bool {
    let Some(found) = table(bytes) else { return false };
    gathering.input(name, FirmwareForm::CbmemTable);
    gathering.boot(boot(name, &found));
    true
}

fn boot(name: &str, found: &[Timestamp]) -> Boot {
    let mut events = Vec::new();
    let mut event = |work, edge, class, time_ns, text: &str| {
        events.push(FirmwareEvent {
            work,
            edge,
            class,
            time_ns,
            module: FirmwareGuid::default(),
            // A step is the only thing with a name inside a stage.
            module_name: if work == FirmwareWork::InModule { text.to_owned() } else { String::new() },
            caller: None,
            handle: None,
            text: text.to_owned(),
            apic: 0,
        });
    };
    for one in found {
        let mut in_pair = false;
        for &(start, end, text, class) in PAIRS {
            let work = if class == BETWEEN_MODULES { FirmwareWork::CrossModule } else { FirmwareWork::InModule };
            // A start whose end was never written is a point: the stage was left on another way.
            let has_other = |number| found.iter().any(|other| other.number == number);
            if one.number == end && has_other(start) {
                in_pair = true;
                event(work, FirmwareEdge::End, class, one.time_ns, text);
            }
            if one.number == start && has_other(end) {
                in_pair = true;
                event(work, FirmwareEdge::Begin, class, one.time_ns, text);
            }
        }
        if !in_pair {
            let text = if one.name.is_empty() { format!("timestamp {}", one.number) } else { one.name.clone() };
            event(FirmwareWork::Point, FirmwareEdge::Point, 0, one.time_ns, &text);
        }
    }
    Boot { from: name.to_owned(), checkpoints: None, events }
}
