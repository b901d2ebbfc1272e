//! Compares `HTTP_Server.etl`, decoded with its manifest, field by field with the event log that Windows converted it
//! to: 2,041 records.

use std::ops::ControlFlow;

use onoff_etl::{Clock, ExtendedItem, Guid, Input, Record, Recording};
use onoff_etw::{Field, Fields, FileTime, SchemaSource, Schemas, Value};
use serde_json::Value as Json;

use super::files;

/// Number of events whose last text has no terminator. Windows does not decode them and logs their bytes instead. In
/// this decoder, such a text ends with the payload.
const NOT_DECODED_BY_WINDOWS: usize = 291;

#[test]
fn every_record_matches_event_log() {
    let Some(etl) = files::read("HTTP_Server.etl") else {
        return;
    };
    let Some(man) = files::read("HTTP_Server.man") else {
        return;
    };
    let Some(evtx) = files::read("HTTP_Server.evtx") else {
        return;
    };

    let mut parser = evtx::EvtxParser::from_buffer(evtx).expect("an event log");
    let expected: Vec<Json> = parser.records_json_value().map(|record| record.expect("a record").data).collect();
    assert_eq!(expected.len(), 2041);

    let mut schemas = Schemas::new();
    let manifest = std::str::from_utf8(&man).expect("UTF-8");
    assert_eq!(schemas.add_manifest(manifest).expect("a manifest"), 1);
    check_every_record(&etl, &schemas, SchemaSource::User, &expected);
    // The catalog also has these events.
    check_every_record(&etl, &Schemas::new(), SchemaSource::Catalog, &expected);
}

fn check_every_record(etl: &[u8], schemas: &Schemas, source: SchemaSource, expected: &[Json]) {
    let recording = Recording::open(&[Input { name: "HTTP_Server.etl", bytes: etl }]).expect("a recording");
    let mut expected = expected.iter();
    let mut not_decoded = 0;
    let _walk = recording.for_each(|record| {
        if record.descriptor().is_some() {
            let expected = &expected.next().expect("as many records")["Event"];
            check_header(record, schemas, source, recording.clock(), &expected["System"]);
            not_decoded += usize::from(!check_payload(record, schemas, expected));
        }
        ControlFlow::<()>::Continue(())
    });
    assert!(expected.next().is_none());
    assert_eq!(not_decoded, NOT_DECODED_BY_WINDOWS);
}

fn check_header(record: &Record<'_>, schemas: &Schemas, source: SchemaSource, clock: &Clock, system: &Json) {
    let descriptor = record.descriptor().expect("an event");
    let context = format!("{system}");
    assert_eq!(system["EventID"], descriptor.id, "{context}");
    assert_eq!(system["Version"], descriptor.version, "{context}");
    assert_eq!(system["Level"], descriptor.level, "{context}");
    assert_eq!(system["Task"], descriptor.task, "{context}");
    assert_eq!(system["Opcode"], descriptor.opcode, "{context}");
    assert_eq!(system["Keywords"], format!("{:#x}", descriptor.keyword), "{context}");

    let provider = &system["Provider"]["#attributes"];
    let description = schemas.describe(record);
    assert_eq!(provider["Name"], description.provider, "{context}");
    assert_eq!(guid(&provider["Guid"]), description.provider_guid, "{context}");
    assert_eq!((description.source, description.exact_version), (source, true));

    let filetime = clock.filetime(record.time_ns());
    let time = FileTime(u64::try_from(filetime).expect("after 1601")).to_string();
    assert_eq!(system["TimeCreated"]["#attributes"]["SystemTime"], time, "{context}");

    let execution = &system["Execution"]["#attributes"];
    // The first record was logged outside a process, which is 0 in the event log.
    assert_eq!(execution["ProcessID"], record.process_id().unwrap_or(0), "{context}");
    assert_eq!(execution["ThreadID"], record.thread_id().unwrap_or(0), "{context}");
    assert_eq!(execution["ProcessorID"], record.cpu(), "{context}");

    let correlation = &system["Correlation"]["#attributes"];
    let activity = record.activity_id().filter(|activity| !activity.is_nil());
    assert_eq!(guid(&correlation["ActivityID"]), activity, "{context}");
    let related = record
        .extended_item(ExtendedItem::RELATED_ACTIVITY_ID)
        .and_then(|item| item.data.try_into().ok())
        .map(Guid::from_bytes_le);
    assert_eq!(guid(&correlation["RelatedActivityID"]), related, "{context}");
}

fn guid(json: &Json) -> Option<Guid> {
    json.as_str().map(|text| Guid::parse_str(text).expect("a GUID"))
}

/// Compares all fields if Windows decoded the payload, and returns whether it did.
fn check_payload(record: &Record<'_>, schemas: &Schemas, event: &Json) -> bool {
    let mut fields = Fields::new();
    let decoded = schemas.decode(record, &mut fields);
    assert!(decoded.is_exact(), "{decoded:?} {event}");
    if let Some(error) = event.get("ProcessingErrorData") {
        let bytes: String = record.payload().iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(error["EventPayload"], bytes);
        let name = error["DataItemName"].as_str().expect("a name");
        let text = fields.get(name).and_then(|value| value.as_text()).expect("a text");
        assert!(text.starts_with("http://"), "{text}");
        return false;
    }
    let expected = event["EventData"].as_object().expect("data");
    assert_eq!(fields.iter().count(), expected.len(), "{event}");
    for ((name, expected), field) in expected.iter().zip(&fields) {
        assert_eq!(name, field.name(), "{event}");
        assert!(is_equal(expected, &field), "{name}: {expected} is not {field}");
    }
    true
}

/// Compares a value with the event log, which shows numbers in decimal independently of the out-type, pointers in
/// hexadecimal, and bytes as upper-case digits.
fn is_equal(expected: &Json, field: &Field<'_, '_>) -> bool {
    match (expected, field.value()) {
        (Json::Number(number), value) => number.as_u64() == value.as_u64(),
        (Json::String(text), Value::Pointer(address)) => *text == format!("{address:#x}"),
        (Json::String(text), Value::Binary(bytes) | Value::SocketAddress(bytes)) => {
            *text == bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>()
        }
        (Json::String(text), value) => value.as_text().as_deref() == Some(text),
        _ => false,
    }
}
