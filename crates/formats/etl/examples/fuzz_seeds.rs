//! Writes short recordings of every file mode, compression, clock and header kind as a seed corpus for a fuzzer:
//! `cargo run -p onoff-etl --example fuzz_seeds -- fuzz/corpus/etl`.

use std::path::Path;

use onoff_testkit::assemble::{
    ClassHeader, ClockKind, EtlBuilder, EventHeader, ExtendedItem, MessageHeader, Payload, PointerSize, Record, Session,
};
use onoff_testkit::compress::Compression;

const FORMATS: [(&str, Option<Compression>); 4] = [
    ("plain", None),
    ("lznt1", Some(Compression::Lznt1)),
    ("xpress", Some(Compression::Xpress)),
    ("huffman", Some(Compression::XpressHuffman)),
];

const CLOCKS: [(&str, ClockKind); 3] =
    [("counter", ClockKind::Qpc), ("system", ClockKind::SystemTime), ("cycles", ClockKind::CpuCycles)];

const RECORDS: u64 = 60;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    for (format, compression) in FORMATS {
        for (clock, kind) in CLOCKS {
            let session = session(compression, kind);
            let all_records = || build_recording(&session, 0..RECORDS);
            let (first, second) = (build_recording(&session, 0..30), build_recording(&session, 30..RECORDS));
            for (mode, bytes) in [
                ("sequential", all_records().finish()),
                ("interrupted", all_records().finish_interrupted()),
                ("circular", all_records().finish_circular(3)),
                ("preallocated", all_records().finish_preallocated(500)),
                ("appended", first.finish_appended(second)),
            ] {
                let name = format!("assembled-{format}-{clock}-{mode}");
                std::fs::write(Path::new(&folder).join(name), bytes)?;
            }
        }
    }
    Ok(())
}

fn session(compression: Option<Compression>, clock: ClockKind) -> Session {
    let mut session = Session { buffer_size: 0x400, header_buffer_size: 0x400, clock, ..Session::windows_10(2) };
    if clock == ClockKind::SystemTime {
        session.start_ticks = session.start_time;
    }
    match compression {
        Some(compression) => session.with_compression(compression),
        None => session,
    }
}

/// Builds a recording that cycles through two processors, every header kind and both pointer sizes.
fn build_recording(session: &Session, numbers: std::ops::Range<u64>) -> EtlBuilder {
    let mut etl = EtlBuilder::new(session.clone());
    for number in numbers {
        let ticks = session.start_ticks + number * 100;
        let pointer_size = match number % 4 {
            0 => PointerSize::Four,
            _ => PointerSize::Eight,
        };
        let payload = Payload::new(pointer_size).u64(number).text("disk");
        let record = match number % 6 {
            0 => Record::system(0x0301, 4, ticks, 1, 2, payload),
            1 => Record::compact(0x0302, 4, ticks, 1, 2, payload),
            2 => Record::full(ClassHeader::default(), ticks, payload),
            3 => Record::manifest(manifest_event(), ticks, payload),
            4 => Record::message(message(number % 4 == 0), ticks, payload),
            _ => Record::perfinfo(0x0524, 4, ticks, payload),
        };
        etl.push((number % 2) as u16, &record);
    }
    etl
}

fn manifest_event() -> EventHeader {
    let item = |kind, length| ExtendedItem { kind, data: vec![1; length] };
    EventHeader { extended: vec![item(1, 16), item(6, 40)], ..EventHeader::default() }
}

fn message(timestamp: bool) -> MessageHeader {
    MessageHeader { timestamp, thread_and_process: Some((1, 2)), ..MessageHeader::default() }
}
