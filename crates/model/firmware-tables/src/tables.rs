//! Reads binary firmware tables.

use onoff_firmware::{BasicBoot, Event, EventFormat, Issue, IssueKind, Record, RecordContent, Signature, Table, read};
use onoff_trace::Severity;
use onoff_trace::firmware::{
    FirmwareCheckpoints, FirmwareEvent, FirmwareGuid, FirmwarePointer, FirmwareProblemKind, FirmwareRecordCount,
    FirmwareResume, FirmwareSuspend, FirmwareTable,
};

use super::collector::{Boot, FirmwareTableCollector};
use super::progress::decode;

/// Adds the tables in `bytes`.
pub(super) fn add(name: &str, bytes: &[u8], gathering: &mut FirmwareTableCollector) {
    let contents = read(bytes);
    for issue in &contents.issues {
        add_issue(name, issue, gathering);
    }
    for table in contents.tables {
        add_table(name, table, gathering);
    }
}

fn add_table(name: &str, table: Table, gathering: &mut FirmwareTableCollector) {
    for issue in &table.issues {
        add_issue(name, issue, gathering);
    }
    gathering.add_table(describe(name, &table));
    let mut boot = Boot { from: name.to_owned(), ..Boot::default() };
    for record in table.records {
        let place = place(name, record.offset);
        match record.content {
            RecordContent::BasicBoot(times) => {
                let checkpoints = checkpoints(times, &place, gathering);
                if boot.checkpoints.is_some_and(|first| first != checkpoints) {
                    gathering.add_problem(
                        FirmwareProblemKind::SeveralBoots,
                        Severity::Warning,
                        place,
                        "a second boot record with different times was skipped".to_owned(),
                        0,
                    );
                } else {
                    boot.checkpoints = Some(checkpoints);
                }
            }
            RecordContent::Event(event) => boot.events.extend(model_event(event, &place, gathering)),
            RecordContent::S3Resume(resume) => {
                let last_ns = gathering.time_ns(resume.full_resume_ns, "the last resume", &place);
                let average_ns = gathering.time_ns(resume.average_ns, "the mean resume", &place);
                gathering.add_resume(FirmwareResume { count: resume.count.into(), last_ns, average_ns });
            }
            RecordContent::S3Suspend(suspend) => {
                let start_ns = gathering.time_ns(suspend.start_ns, "the suspend start", &place);
                let end_ns = gathering.time_ns(suspend.end_ns, "the suspend end", &place);
                if let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns) {
                    gathering.add_suspend(FirmwareSuspend { start_ns, end_ns });
                }
            }
            // Counted with the table; their content is not publicly documented.
            RecordContent::Pointer { .. } | RecordContent::Other(_) => {}
        }
    }
    gathering.add_boot(boot);
}

pub(super) fn checkpoints(
    times: BasicBoot,
    place: &str,
    gathering: &mut FirmwareTableCollector,
) -> FirmwareCheckpoints {
    let stored = [
        ("the end of reset", times.reset_end_ns),
        ("the loader load", times.loader_load_ns),
        ("the loader start", times.loader_start_ns),
        ("the call of ExitBootServices", times.exit_start_ns),
        ("the return of ExitBootServices", times.exit_end_ns),
    ];
    let times = stored.map(|(what, ns)| gathering.time_ns(ns, what, place));
    let mut checkpoints = FirmwareCheckpoints::from_stored(times.map(|time| time.unwrap_or(0)));
    checkpoints.reset_end_ns = times[0];
    checkpoints
}

pub(super) fn model_event(event: Event, place: &str, gathering: &mut FirmwareTableCollector) -> Option<FirmwareEvent> {
    let (work, edge, class) = decode(event.progress_id);
    let guid = |guid: onoff_firmware::Uuid| FirmwareGuid(guid.into_bytes());
    Some(FirmwareEvent {
        work,
        edge,
        class,
        time_ns: gathering.time_ns(event.time_ns, "the time of a measurement", place)?,
        module: guid(event.guid),
        module_name: String::new(),
        caller: event.second_guid.map(guid),
        handle: event.handle,
        text: event.text,
        apic: event.apic_id,
    })
}

fn describe(name: &str, table: &Table) -> FirmwareTable {
    let mut records: Vec<(u16, FirmwareRecordCount)> = Vec::new();
    let mut pointers = Vec::new();
    for record in &table.records {
        let bytes = u64::from(record.length);
        match records.binary_search_by_key(&record.record_type, |(number, _)| *number) {
            Ok(at) => {
                records[at].1.count += 1;
                records[at].1.bytes += bytes;
            }
            Err(at) => {
                let count = FirmwareRecordCount {
                    number: hexadecimal(record.record_type),
                    name: record_name(table.signature, record).to_owned(),
                    count: 1,
                    bytes,
                };
                records.insert(at, (record.record_type, count));
            }
        }
        if let RecordContent::Pointer { address } = record.content {
            let to = match record.record_type {
                0 => "FBPT",
                1 => "S3PT",
                _ => "vendor",
            };
            pointers.push(FirmwarePointer {
                number: hexadecimal(record.record_type),
                to: to.to_owned(),
                address: format!("{address:#x}"),
            });
        }
    }
    let (oem, oem_table) =
        table.header.as_ref().map(|header| (header.oem.clone(), header.oem_table.clone())).unwrap_or_default();
    FirmwareTable {
        signature: table.signature.as_str().to_owned(),
        input: name.to_owned(),
        offset: table.offset,
        length_bytes: table.declared_bytes.into(),
        oem,
        oem_table,
        records: records.into_iter().map(|(_, count)| count).collect(),
        pointers,
    }
}

fn record_name(signature: Signature, record: &Record) -> &'static str {
    match (signature, record.record_type) {
        (Signature::Fpdt, 0) => "pointer to FBPT",
        (Signature::Fpdt, 1) => "pointer to S3PT",
        (Signature::Fbpt, 2) => "basic boot",
        (Signature::S3pt, 0) => "S3 resume",
        (Signature::S3pt, 1) => "S3 suspend",
        (Signature::Fbpt | Signature::S3pt, number) if EventFormat::from_record_type(number).is_some() => {
            EventFormat::from_record_type(number).map_or("", EventFormat::as_str)
        }
        (_, 0x1000..=0x3fff) => "vendor",
        _ => "unknown",
    }
}

fn hexadecimal(number: u16) -> String {
    format!("{number:#06x}")
}

pub(super) fn place(name: &str, offset: u64) -> String {
    format!("{name}: byte offset {offset:#x}")
}

fn add_issue(name: &str, issue: &Issue, gathering: &mut FirmwareTableCollector) {
    use FirmwareProblemKind as Kind;
    let kind = match issue.kind {
        IssueKind::BadChecksum { .. } => Kind::BadChecksum,
        IssueKind::InvalidTableLength { .. } => Kind::ImpossibleTableLength,
        IssueKind::TruncatedTable { .. } => Kind::TruncatedTable,
        IssueKind::ZeroLengthRecord => Kind::ZeroLengthRecord,
        IssueKind::InvalidRecordLength { .. } => Kind::ImpossibleRecordLength,
        IssueKind::RecordPastEnd { .. } => Kind::RecordPastEnd,
        IssueKind::RepeatedSignature => Kind::RepeatedSignature,
        IssueKind::WrongRecordLength { .. } => Kind::WrongRecordLength,
        IssueKind::BytesOutsideTables => Kind::BytesOutsideTables,
        _ => Kind::TooManyRecords,
    };
    // Up to the size of a header is skipped to resynchronize; more means that part of the table is lost.
    let (severity, consequence) = match issue.skipped_bytes {
        0 => (Severity::Warning, String::new()),
        1..=4 => (Severity::Warning, format!("; {} bytes were skipped", issue.skipped_bytes)),
        bytes => (Severity::Error, format!("; {bytes} bytes were skipped")),
    };
    let text = format!("{}{consequence}", issue.kind);
    gathering.add_problem(kind, severity, place(name, issue.offset), text, issue.skipped_bytes);
}
