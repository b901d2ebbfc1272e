//! Reads coreboot timestamps: the output of `cbmem -t` and `cbmem -T`, and the table in memory (`CBMEM_ID_TIMESTAMP`).
//!
//! A timestamp is a point in time with a number. Numbers that belong together, such as the start and end of romstage,
//! form a measurement with a duration; the others are points.

use onoff_trace::firmware::{FirmwareEdge, FirmwareEvent, FirmwareFormat, FirmwareGuid, FirmwareWork};

use super::collector::{Boot, FirmwareTableCollector};

/// Classes for the begin and end of measurements, as in EDK II: cross-module and in-module work.
const CROSS_MODULE_CLASS: u16 = 0x50;
const IN_MODULE_CLASS: u16 = 0x40;

/// Start and end timestamps of stages and steps, with names (`timestamp_serialized.h`). Stages are cross-module.
const PAIRS: &[(u32, u32, &str, u16)] = &[
    (11, 12, "bootblock", CROSS_MODULE_CLASS),
    (1, 4, "romstage", CROSS_MODULE_CLASS),
    (100, 101, "postcar", CROSS_MODULE_CLASS),
    (10, 99, "ramstage", CROSS_MODULE_CLASS),
    (2, 3, "RAM initialization", IN_MODULE_CLASS),
    (5, 6, "verified boot", IN_MODULE_CLASS),
    (8, 9, "load of ramstage", IN_MODULE_CLASS),
    (13, 14, "load of romstage", IN_MODULE_CLASS),
    (15, 16, "LZMA decompression", IN_MODULE_CLASS),
    (17, 18, "LZ4 decompression", IN_MODULE_CLASS),
    (30, 40, "device enumeration", IN_MODULE_CLASS),
    (40, 50, "device configuration", IN_MODULE_CLASS),
    (50, 60, "device enable", IN_MODULE_CLASS),
    (60, 70, "device initialization", IN_MODULE_CLASS),
    (65, 67, "option ROM", IN_MODULE_CLASS),
    (90, 99, "load of the payload", IN_MODULE_CLASS),
    (110, 111, "forced delay", IN_MODULE_CLASS),
    (112, 113, "reading microcode", IN_MODULE_CLASS),
    (114, 115, "event log", IN_MODULE_CLASS),
    (501, 502, "load of verstage", IN_MODULE_CLASS),
    (503, 504, "TPM initialization", IN_MODULE_CLASS),
    (505, 506, "verifying the key block", IN_MODULE_CLASS),
    (507, 510, "verifying the body", IN_MODULE_CLASS),
    (511, 512, "TPM PCR extension", IN_MODULE_CLASS),
    (513, 514, "locking the TPM", IN_MODULE_CLASS),
    (515, 518, "embedded controller sync", IN_MODULE_CLASS),
    (900, 901, "AmdInitReset", IN_MODULE_CLASS),
    (902, 903, "AmdInitEarly", IN_MODULE_CLASS),
    (904, 905, "AmdInitPost", IN_MODULE_CLASS),
    (906, 907, "AmdInitEnv", IN_MODULE_CLASS),
    (908, 909, "AmdInitMid", IN_MODULE_CLASS),
    (910, 911, "AmdInitLate", IN_MODULE_CLASS),
    (940, 941, "waiting for the ME", IN_MODULE_CLASS),
    (942, 943, "end of POST to the ME", IN_MODULE_CLASS),
    (948, 949, "CSE firmware sync", IN_MODULE_CLASS),
    (950, 951, "FspMemoryInit", IN_MODULE_CLASS),
    (952, 953, "FspTempRamExit", IN_MODULE_CLASS),
    (954, 955, "FspSiliconInit", IN_MODULE_CLASS),
    (956, 957, "FspNotify(AfterPciEnumeration)", IN_MODULE_CLASS),
    (958, 959, "FspNotify(ReadyToBoot)", IN_MODULE_CLASS),
    (960, 961, "FspNotify(EndOfFirmware)", IN_MODULE_CLASS),
    (962, 963, "FspMultiPhaseSiInit", IN_MODULE_CLASS),
    (99, 1101, "payload", CROSS_MODULE_CLASS),
];

/// Size of the table's header and of an entry, bytes.
const HEADER_SIZE: usize = 16;
const ENTRY_SIZE: usize = 12;
/// Limits of valid tables: number of timestamps, timestamp number, and clock frequency.
const MAX_TIMESTAMPS: usize = 4096;
const MAX_NUMBER: u32 = 2_000;
const MAX_MHZ: u16 = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Timestamp {
    number: u32,
    time_ns: i64,
    name: String,
}

/// True if the text is the output of `cbmem`: timestamps in time order, including the start and end of a stage.
pub(super) fn recognizes(text: &str) -> bool {
    let mut consecutive: Vec<Timestamp> = Vec::new();
    for line in text.lines().take(MAX_TIMESTAMPS) {
        match parse_timestamp(line) {
            Some(timestamp) if consecutive.last().is_none_or(|previous| previous.time_ns <= timestamp.time_ns) => {
                consecutive.push(timestamp);
            }
            _ => consecutive.clear(),
        }
        let has_number = |number| consecutive.iter().any(|timestamp| timestamp.number == number);
        let stages = PAIRS.iter().filter(|&&(.., class)| class == CROSS_MODULE_CLASS);
        if consecutive.len() >= 3 && stages.into_iter().any(|&(start, end, ..)| has_number(start) && has_number(end)) {
            return true;
        }
    }
    false
}

/// Adds the timestamps in the output of `cbmem`.
pub(super) fn add(name: &str, text: &str, collector: &mut FirmwareTableCollector) {
    collector.add_input(name, FirmwareFormat::Cbmem);
    let timestamps: Vec<Timestamp> = text.lines().filter_map(parse_timestamp).take(MAX_TIMESTAMPS).collect();
    collector.add_boot(build_boot(name, &timestamps));
}

/// Parses a line of `cbmem -t`, such as `   2:before RAM initialization     46,334 (27,376)`, or of `cbmem -T`: number,
/// time, difference and name separated by tabs. Times are in µs since the processor's clock started.
fn parse_timestamp(line: &str) -> Option<Timestamp> {
    let parse = |number: &str, time: &str, name: &str| {
        let number: u32 = number.trim().parse().ok().filter(|&number| number <= MAX_NUMBER)?;
        let digits: String = time.trim().chars().filter(|&digit| digit != ',').collect();
        let micros: i64 = digits.parse().ok().filter(|&micros| micros >= 0)?;
        let name = name.trim();
        (!name.is_empty()).then(|| Timestamp { number, time_ns: micros.saturating_mul(1_000), name: name.to_owned() })
    };
    // Logs are quoted in mails, with a `>` before each line.
    let line = line.trim_start_matches(['>', ' ']);
    let mut parts = line.split('\t');
    if let (Some(number), Some(time), Some(_), Some(name), None) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    {
        return parse(number, time, name);
    }
    let (number, rest) = line.split_once(':')?;
    let rest = match rest.trim_end().strip_suffix(')') {
        Some(rest) => rest.rsplit_once('(')?.0,
        None => rest,
    };
    // Name and time are separated by at least two spaces.
    let (name, time) = rest.trim_end().rsplit_once("  ")?;
    parse(number, time, name)
}

/// Parses the bytes of a table; `None` for other bytes. The table has no signature, so every field must be plausible.
fn parse_table(bytes: &[u8]) -> Option<Vec<Timestamp>> {
    let u64_at = |offset: usize| Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?));
    let u32_at = |offset: usize| Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?));
    let u16_at = |offset: usize| Some(u16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?));
    let base = u64_at(0)?;
    let (capacity, mhz) = (usize::from(u16_at(8)?), u16_at(10)?);
    let count = usize::try_from(u32_at(12)?).ok()?;
    let is_plausible = (2..=capacity).contains(&count) && capacity <= MAX_TIMESTAMPS && (1..=MAX_MHZ).contains(&mhz);
    if !is_plausible
        || bytes.len() < HEADER_SIZE + count * ENTRY_SIZE
        || bytes.len() > (HEADER_SIZE + capacity * ENTRY_SIZE).next_multiple_of(4096)
    {
        return None;
    }
    let mut timestamps = Vec::with_capacity(count);
    for entry in bytes.get(HEADER_SIZE..)?.chunks_exact(ENTRY_SIZE).take(count) {
        let number = u32::from_le_bytes(*entry.first_chunk()?);
        let relative_ticks = i64::from_le_bytes(*entry.get(4..)?.first_chunk()?);
        let ticks = i128::from(base) + i128::from(relative_ticks);
        let time_ns = i64::try_from(ticks * 1_000 / i128::from(mhz)).ok().filter(|&ns| ns >= 0);
        timestamps.push(Timestamp { number, time_ns: time_ns.filter(|_| number <= MAX_NUMBER)?, name: String::new() });
    }
    // A plausible boot is shorter than a day.
    let max_ns = 86_400_000_000_000;
    timestamps.iter().all(|timestamp| timestamp.time_ns < max_ns).then_some(timestamps)
}

/// Adds the timestamps of a table. Returns false if the bytes are not a table.
pub(super) fn add_table(name: &str, bytes: &[u8], collector: &mut FirmwareTableCollector) -> bool {
    let Some(timestamps) = parse_table(bytes) else { return false };
    collector.add_input(name, FirmwareFormat::CbmemTable);
    collector.add_boot(build_boot(name, &timestamps));
    true
}

fn build_boot(name: &str, timestamps: &[Timestamp]) -> Boot {
    let mut events = Vec::new();
    let mut add_event = |work, edge, class, time_ns, text: &str| {
        events.push(FirmwareEvent {
            work,
            edge,
            class,
            time_ns,
            module: FirmwareGuid::default(),
            // Inside a stage, only steps have names.
            module_name: if work == FirmwareWork::InModule { text.to_owned() } else { String::new() },
            caller: None,
            handle: None,
            text: text.to_owned(),
            apic: 0,
        });
    };
    for timestamp in timestamps {
        let mut is_paired = false;
        for &(start, end, text, class) in PAIRS {
            let work = if class == CROSS_MODULE_CLASS { FirmwareWork::CrossModule } else { FirmwareWork::InModule };
            // A start without an end is a point: the stage was left in another way.
            let is_recorded = |number| timestamps.iter().any(|other| other.number == number);
            if timestamp.number == end && is_recorded(start) {
                is_paired = true;
                add_event(work, FirmwareEdge::End, class, timestamp.time_ns, text);
            }
            if timestamp.number == start && is_recorded(end) {
                is_paired = true;
                add_event(work, FirmwareEdge::Begin, class, timestamp.time_ns, text);
            }
        }
        if !is_paired {
            let text = if timestamp.name.is_empty() {
                format!("timestamp {}", timestamp.number)
            } else {
                timestamp.name.clone()
            };
            add_event(FirmwareWork::Point, FirmwareEdge::Point, 0, timestamp.time_ns, &text);
        }
    }
    Boot { from: name.to_owned(), checkpoints: None, events }
}
