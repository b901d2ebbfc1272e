//! `HTTP_Server.etl`, decoded by its manifest, against the event log Windows itself made of it: 2,041
//! records, field for field.

use std::ops::ControlFlow;

use onoff_etl::{Clock, ExtendedItem, Guid, Input, Record, Recording};
use onoff_etw::{Field, Fields, FileTime, SchemaSource, Schemas, Value};
use serde_json::Value as Json;

use super::files;

/// Events whose last text has no terminator: Windows gives up on them and logs the bytes instead. This
/// decoder takes such a text to end with the payload.
const REFUSED_BY_WINDOWS: usize = 291;

#[test]
fn every_record_is_the_one_windows_made_of_it() {
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
    every_record(&etl, &schemas, SchemaSource::User, &expected);
    // The catalog knows them too.
    every_record(&etl, &Schemas::new(), SchemaSource::Catalog, &expected);
}

fn every_record(etl: &[u8], schemas: &Schemas, source: SchemaSource, expected: &[Json]) {
    let recording = Recording::open(&[Input { name: "HTTP_Server.etl", bytes: etl }]).expect("a recording");
    let mut expected = expected.iter();
    let mut refused = 0;
    let _walk = recording.for_each(|record| {
        if record.descriptor().is_some() {
            let expected = &expected.next().expect("as many records")["Event"];
            header(record, schemas, source, recording.clock(), &expected["System"]);
            refused += usize::from(!payload(record, schemas, expected));
        }
        ControlFlow::<()>::Continue(())
    });
    assert!(expected.next().is_none());
    assert_eq!(refused, REFUSED_BY_WINDOWS);
}

fn header(record: &Record<'_>, schemas: &Schemas, source: SchemaSource, clock: &Clock, system: &Json) {
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
    // The first record was logged before there was a process: the log has 0 for none.
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

/// Whether Windows decoded the payload; if so, every field is compared.
fn payload(record: &Record<'_>, schemas: &Schemas, event: &Json) -> bool {
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
        assert!(equal(expected, &field), "{name}: {expected} is not {field}");
    }
    true
}

/// The log's values without their presentation: it has numbers as such whatever their out type, pointers
/// in hexadecimal, and bytes as upper-case digits.
fn equal(expected: &Json, field: &Field<'_, '_>) -> bool {
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
