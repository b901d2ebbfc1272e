//! A random sequence of file operations, written in two formats: as a kernel logger trace and as Process Monitor CSV.
//!
//! Both are generated from the same operations and share no other code, so the readers of the two formats can be
//! checked against each other.

use std::fmt::Write;

use crate::random::Random;
use onoff_testkit::assemble::{EtlBuilder, Payload, Record, Session};
use onoff_testkit::events::configuration::volume_mapping;
use onoff_testkit::events::kernel::{LifetimeEvent, Process, Thread};
use onoff_testkit::events::storage::{file_name, file_operation_end};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperationKind {
    Read,
    Write,
    Flush,
}

/// An operation that succeeded or hit the end of the file.
#[derive(Clone, Copy, Debug)]
struct Operation {
    start_ns: u64,
    duration_ns: u64,
    program: usize,
    file: usize,
    kind: OperationKind,
    offset: u64,
    length: u32,
    /// Issued by the memory manager for pages of a mapped file.
    is_paging: bool,
    /// A read beyond the end of the file.
    is_at_end: bool,
}

/// Image and process id. The thread id is the process id plus 4.
const PROGRAMS: [(&str, u32); 3] = [("mapviewer.exe", 1204), ("indexer.exe", 3596), ("updater.exe", 5000)];

/// Files on drive C:.
const FILES: [&str; 4] = [r"\Maps\tiles.dat", r"\Users\anna\settings.ini", r"\ProgramData\log.txt", r"\Data, old\x.db"];

/// Operations sorted by start time.
#[derive(Clone, Debug)]
pub struct FileOperationSequence {
    operations: Vec<Operation>,
}

impl FileOperationSequence {
    /// Generates `count` operations; the same seed gives the same operations.
    #[must_use]
    pub fn new(seed: u64, count: usize) -> Self {
        let mut random = Random::new(seed);
        let mut now_ns = 1_000_000;
        let mut positions = [[0_u64; FILES.len()]; PROGRAMS.len()];
        let mut operations = Vec::with_capacity(count);
        for _ in 0..count {
            let program = random.below(PROGRAMS.len() as u64) as usize;
            let file = random.below(FILES.len() as u64) as usize;
            let is_paging = random.below(8) == 0;
            let is_at_end = random.below(50) == 0;
            let kind = match random.below(20) {
                _ if is_paging || is_at_end => OperationKind::Read,
                0 => OperationKind::Flush,
                1..=5 => OperationKind::Write,
                _ => OperationKind::Read,
            };
            let position = &mut positions[program][file];
            if random.below(6) == 0 {
                *position = random.below(3_000_000);
            }
            let sizes = [4, 4, 4, 8, 100, 512, 4096, 6428];
            let length = sizes[random.below(sizes.len() as u64) as usize];
            let (offset, length) = match kind {
                OperationKind::Flush => (0, 0),
                _ if is_paging => (*position / 4096 * 4096, 16_384),
                _ => (*position, length),
            };
            if !is_paging {
                *position = offset + u64::from(length);
            }
            // Process Monitor has a resolution of 100 ns.
            let duration_ns = (1 + random.below(900)) * 100;
            operations.push(Operation {
                start_ns: now_ns,
                duration_ns,
                program,
                file,
                kind,
                offset,
                length,
                is_paging,
                is_at_end,
            });
            now_ns += (1 + random.below(2000)) * 100;
        }
        Self { operations }
    }

    /// Returns the operations as a kernel logger trace: file I/O with completions; names and processes come from the
    /// rundown.
    #[must_use]
    pub fn event_trace(&self) -> Vec<u8> {
        let session = Session { perf_freq: 1_000_000_000, ..Session::windows_10(1) };
        let start = session.start_ticks;
        let mut builder = EtlBuilder::new(session);
        let mut records: Vec<(u64, Record<'static>)> = Vec::new();
        for (image, id) in PROGRAMS {
            let process =
                Process { id, parent: 4, session: 1, exit_status: 0, image, command_line: image, user: &[18] };
            records.push((0, process.record(LifetimeEvent::RundownStart, start, 4, 4)));
            let thread = Thread { id: id + 4, process: id, base_priority: 8, io_priority: 2, service_tag: 0 };
            records.push((0, thread.record(LifetimeEvent::RundownStart, start, 4, 4)));
        }
        for (key, path) in (1..).zip(FILES) {
            let path = format!(r"\Device\HarddiskVolume2{path}");
            records.push((0, file_name(true, start, 4, 4, key << 8, &path)));
        }
        for (packet, operation) in (1_u64..).zip(&self.operations) {
            let ticks = start + operation.start_ns;
            let payload = Payload::wide();
            let transfers = operation.kind != OperationKind::Flush;
            let payload = if transfers { payload.u64(operation.offset) } else { payload };
            let object = 0x1_0000 + (operation.program as u64) * 0x100 + operation.file as u64;
            let payload = payload
                .pointer(packet << 4)
                .pointer(object << 4)
                .pointer((operation.file as u64 + 1) << 8)
                .u32(PROGRAMS[operation.program].1 + 4);
            // IRP_NOCACHE, IRP_PAGING_IO and IRP_SYNCHRONOUS_PAGING_IO.
            let flags = if operation.is_paging { 0x43 } else { 0 };
            let payload = if transfers { payload.u32(operation.length).u32(flags) } else { payload };
            let hook = match operation.kind {
                OperationKind::Read => 0x0443,
                OperationKind::Write => 0x0444,
                OperationKind::Flush => 0x0449,
            };
            records.push((operation.start_ns, Record::perfinfo(hook, 3, ticks, payload)));
            let end_ns = operation.start_ns + operation.duration_ns;
            let end = if operation.is_at_end {
                let payload = Payload::wide().pointer(packet << 4).pointer(0).u32(0xC000_0011);
                Record::perfinfo(0x044C, 3, start + end_ns, payload)
            } else {
                file_operation_end(start + end_ns, packet << 4)
            };
            records.push((end_ns, end));
        }
        records.sort_by_key(|&(time_ns, _)| time_ns);
        let last_ns = records.last().map_or(0, |&(time_ns, _)| time_ns);
        for (_, record) in &records {
            builder.push(0, record);
        }
        builder.push(0, &volume_mapping(start + last_ns, "\\Device\\HarddiskVolume2\\", "C:\\"));
        builder.finish()
    }

    /// Returns the operations as Process Monitor CSV with the Duration and TID columns.
    #[must_use]
    pub fn process_monitor_csv(&self) -> String {
        let mut text = "\u{feff}\"Time of Day\",\"Process Name\",\"PID\",\"TID\",\"Operation\",\"Path\",\"Result\",\"Duration\",\"Detail\"\r\n"
            .to_owned();
        for operation in &self.operations {
            let (image, pid) = PROGRAMS[operation.program];
            let name = match operation.kind {
                OperationKind::Read => "ReadFile",
                OperationKind::Write => "WriteFile",
                OperationKind::Flush => "FlushBuffersFile",
            };
            let mut detail = String::new();
            if operation.kind != OperationKind::Flush {
                let (offset, length) = (
                    with_thousands_separators(operation.offset),
                    with_thousands_separators(u64::from(operation.length)),
                );
                detail = format!("Offset: {offset}, Length: {length}");
                if operation.is_paging {
                    detail += ", I/O Flags: Non-cached, Paging I/O, Synchronous Paging I/O";
                }
                detail += ", Priority: Normal";
            }
            let (tenth_micros, result) =
                (operation.start_ns / 100, if operation.is_at_end { "END OF FILE" } else { "SUCCESS" });
            let (seconds, fraction) = (tenth_micros / 10_000_000, tenth_micros % 10_000_000);
            let duration = operation.duration_ns / 100;
            // Writing to a `String` cannot fail.
            let _ = write!(
                text,
                "\"9:{:02}:{:02}.{fraction:07} AM\",\"{image}\",\"{pid}\",\"{}\",\"{name}\",\"C:{}\",\"{result}\",\"0.{duration:07}\",\"{detail}\"\r\n",
                seconds / 60,
                seconds % 60,
                pid + 4,
                FILES[operation.file],
            );
        }
        text
    }
}

/// Formats a number with thousands separators, as in English Windows.
fn with_thousands_separators(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
