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
pub(super) fn add(name: &str, bytes: &[u8], collector: &mut FirmwareTableCollector) {
    let contents = read(bytes);
    for issue in &contents.issues {
        add_issue(name, issue, collector);
    }
    for table in contents.tables {
        add_table(name, table, collector);
    }
}

fn add_table(name: &str, table: Table, collector: &mut FirmwareTableCollector) {
    for issue in &table.issues {
        add_issue(name, issue, collector);
    }
    collector.add_table(describe(name, &table));
    let mut boot = Boot { from: name.to_owned(), ..Boot::default() };
    for record in table.records {
        let place = format_place(name, record.offset);
        match record.content {
            RecordContent::BasicBoot(times) => {
                let checkpoints = convert_checkpoints(times, &place, collector);
                if boot.checkpoints.is_some_and(|first| first != checkpoints) {
                    collector.add_problem(
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
            RecordContent::Event(event) => boot.events.extend(model_event(event, &place, collector)),
            RecordContent::S3Resume(resume) => {
                let last_ns = collector.time_ns(resume.full_resume_ns, "the last resume", &place);
                let average_ns = collector.time_ns(resume.average_ns, "the mean resume", &place);
                collector.add_resume(FirmwareResume { count: resume.count.into(), last_ns, average_ns });
            }
            RecordContent::S3Suspend(suspend) => {
                let start_ns = collector.time_ns(suspend.start_ns, "the suspend start", &place);
                let end_ns = collector.time_ns(suspend.end_ns, "the suspend end", &place);
                if let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns) {
                    collector.add_suspend(FirmwareSuspend { start_ns, end_ns });
                }
            }
            // Counted with the table; their content is not publicly documented.
            RecordContent::Pointer { .. } | RecordContent::Other(_) => {}
        }
    }
    collector.add_boot(boot);
}

pub(super) fn convert_checkpoints(
    times: BasicBoot,
    place: &str,
    collector: &mut FirmwareTableCollector,
) -> FirmwareCheckpoints {
    let stored = [
        ("the end of reset", times.reset_end_ns),
        ("the loader load", times.loader_load_ns),
        ("the loader start", times.loader_start_ns),
        ("the call to ExitBootServices", times.exit_start_ns),
        ("the return from ExitBootServices", times.exit_end_ns),
    ];
    let times = stored.map(|(description, ns)| collector.time_ns(ns, description, place));
    let mut checkpoints = FirmwareCheckpoints::from_stored(times.map(|time| time.unwrap_or(0)));
    checkpoints.reset_end_ns = times[0];
    checkpoints
}

pub(super) fn model_event(event: Event, place: &str, collector: &mut FirmwareTableCollector) -> Option<FirmwareEvent> {
    let (work, edge, class) = decode(event.progress_id);
    let model_guid = |guid: onoff_firmware::Uuid| FirmwareGuid(guid.into_bytes());
    Some(FirmwareEvent {
        work,
        edge,
        class,
        time_ns: collector.time_ns(event.time_ns, "the time of a measurement", place)?,
        module: model_guid(event.guid),
        module_name: String::new(),
        caller: event.second_guid.map(model_guid),
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
            Ok(index) => {
                let (_, count) = &mut records[index];
                count.count += 1;
                count.bytes += bytes;
            }
            Err(index) => {
                let count = FirmwareRecordCount {
                    number: format_hexadecimal(record.record_type),
                    name: record_name(table.signature, record).to_owned(),
                    count: 1,
                    bytes,
                };
                records.insert(index, (record.record_type, count));
            }
        }
        if let RecordContent::Pointer { address } = record.content {
            let target = match record.record_type {
                0 => "FBPT",
                1 => "S3PT",
                _ => "vendor",
            };
            pointers.push(FirmwarePointer {
                number: format_hexadecimal(record.record_type),
                to: target.to_owned(),
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

fn format_hexadecimal(number: u16) -> String {
    format!("{number:#06x}")
}

pub(super) fn format_place(name: &str, offset: u64) -> String {
    format!("{name}: byte offset {offset:#x}")
}

fn add_issue(name: &str, issue: &Issue, collector: &mut FirmwareTableCollector) {
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
    collector.add_problem(kind, severity, format_place(name, issue.offset), text, issue.skipped_bytes);
}
