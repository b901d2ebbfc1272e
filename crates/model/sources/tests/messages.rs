//! Tests software tracing (WPP) messages: with their formats, without formats, and with the formats of another program.

#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;

use onoff_sources::{EventFilter, EventStream, Files, Limits, NamedBytes, Options, files_from_bytes};
use onoff_testkit::assemble::{EtlBuilder, MessageHeader, Payload, Record, Session};
use onoff_trace::{DescribedEvent, FieldValue, Losses, TableName, TableSet};
use uuid::Uuid;

const MESSAGE_GUID: Uuid = Uuid::from_u128(0x5bd1e995_0bd7_4c64_9d1b_0d5c2c0d7a11);

const FORMATS: &str = r#"// PDB:  widget.pdb
5bd1e995-0bd7-4c64-9d1b-0d5c2c0d7a11 widget // SRC=Power.c MJ= MN=
#typev Power_c20 10 "%0 [%!FUNC!] port %11!u! of %10!s! failed: %12!s!" //   LEVEL=TRACE_LEVEL_WARNING FLAGS=POWER FUNC=PortResume
{
name, ItemString -- 10
port, ItemLong -- 11
status, ItemNTSTATUS -- 12
}
"#;

/// Returns a recording that names two PDB files and has two messages with number 10 and one with number 11.
fn recording() -> Vec<u8> {
    const DEBUG_ID: u16 = 0x0040;
    let session = Session::windows_10(1);
    let ticks = session.start_ticks;
    let mut builder = EtlBuilder::new(session);
    for (name, id) in [("widget.pdb", 0xAB), ("hub.pdb", 0xCD)] {
        let payload = Payload::wide().guid(&Uuid::from_u128(id)).u32(2).ansi(name);
        builder.push(0, &Record::perfinfo(DEBUG_ID, 2, ticks, payload));
    }
    for (index, number, port) in [(1, 10, 3), (2, 10, 4), (3, 11, 5)] {
        let header = MessageHeader {
            number,
            guid: Some(MESSAGE_GUID),
            timestamp: true,
            thread_and_process: Some((8, 4)),
            ..MessageHeader::default()
        };
        let arguments = Payload::wide().ansi("hub").u32(port).u32(0xC000_00B5);
        builder.push(0, &Record::message(header, ticks + index * 10, arguments));
    }
    builder.finish()
}

fn options(formats: &[&str]) -> Options {
    let manifests = formats.iter().map(|text| NamedBytes { name: "own.tmf".into(), bytes: text.as_bytes().into() });
    Options { manifests: manifests.collect(), ..Options::default() }
}

fn open_bytes(bytes: Vec<u8>) -> Files {
    files_from_bytes([("a.etl".to_owned(), bytes)], &Limits::default()).unwrap()
}

/// Returns what `visit` returns for each message, and the losses.
fn messages<T>(bytes: &[u8], options: &Options, mut visit: impl FnMut(&DescribedEvent<'_>) -> T) -> (Vec<T>, Losses) {
    let files = open_bytes(bytes.to_vec());
    let stream = EventStream::open(&files, options).unwrap();
    let mut rows = Vec::new();
    let result = stream.for_each(&EventFilter::default(), options, |event| {
        if event.origin == onoff_trace::EventOrigin::Message {
            rows.push(visit(event));
        }
        ControlFlow::<Infallible>::Continue(())
    });
    (rows, result.losses)
}

fn formatted(event: &DescribedEvent<'_>) -> Option<String> {
    event.field("FormattedString").and_then(FieldValue::as_text).map(str::to_owned)
}

#[test]
fn formats_decode_their_messages() {
    let bytes = recording();
    let row = |event: &DescribedEvent<'_>| {
        (event.name.to_owned(), event.task.to_owned(), event.level, event.complete, formatted(event))
    };
    let (rows, losses) = messages(&bytes, &options(&[FORMATS]), row);
    let text = |port| Some(format!("[PortResume] port {port} of hub failed: 0xc00000b5"));
    let expected = [
        ("widget/message 10".to_owned(), "Power_c20".to_owned(), 3, true, text(3)),
        ("widget/message 10".to_owned(), "Power_c20".to_owned(), 3, true, text(4)),
        ("widget/message 11".to_owned(), String::new(), 0, false, None),
    ];
    assert_eq!(rows, expected);
    assert_eq!(losses.count("message_without_format"), 1);
}

#[test]
fn losses_name_the_message_and_the_pdb() {
    let (rows, losses) = messages(&recording(), &Options::default(), formatted);
    assert_eq!(rows, [None, None, None]);
    let loss = losses.iter().find(|loss| loss.counter == "message_without_format").unwrap();
    assert_eq!(loss.count, 3);
    let expected = "message 10 of 5bd1e995-0bd7-4c64-9d1b-0d5c2c0d7a11; the recording names \
                    widget.pdb 000000000000000000000000000000AB2, hub.pdb 000000000000000000000000000000CD2";
    assert_eq!(loss.first.as_deref(), Some(expected));

    let wanted = TableSet::from_names(&[TableName::Events]);
    let files = open_bytes(recording());
    let trace = onoff_sources::open_files(&files, wanted, &Options::default()).unwrap();
    let loss = trace.losses.iter().find(|loss| loss.counter == "message_without_format").unwrap();
    assert_eq!((loss.count, loss.first.as_deref()), (3, Some(expected)));
}

/// The decoy has the same message number and source file name, but another GUID: another build of the source file.
#[test]
fn formats_of_another_build_are_not_used() {
    let other = FORMATS.replace("5bd1e995", "5bd1e996");
    let (rows, losses) = messages(&recording(), &options(&[&other]), formatted);
    assert_eq!(rows, [None, None, None]);
    assert_eq!(losses.count("message_without_format"), 3);
}

#[test]
fn malformed_formats_are_refused() {
    let files = open_bytes(recording());
    let broken = FORMATS.replace(" -- 11", "");
    let error = EventStream::open(&files, &options(&[&broken])).unwrap_err().to_string();
    assert!(error.contains("own.tmf") && error.contains("line 6") && error.contains("port, ItemLong"), "{error}");
}

/// A real recording of a driver that refuses to attach. Its messages have 20 bytes: two kernel addresses and a status,
/// `STATUS_FLT_DO_NOT_ATTACH` in `ntstatus.h`.
#[test]
fn real_messages_have_the_declared_arguments() {
    const DO_NOT_ATTACH: u64 = 0xC01C_000F;
    let Some(folder) = onoff_testkit::real_recordings::samples_folder("etl") else { return };
    let formats = FORMATS
        .replace("5bd1e995-0bd7-4c64-9d1b-0d5c2c0d7a11", "2818ef08-6a54-396f-2244-5a6ea4a98cf0")
        .replace("_c20 10", "_c20 43")
        .replace("ItemString", "ItemPtr")
        .replace("ItemLong", "ItemPtr");
    let bytes = std::fs::read(Path::new(&folder).join("CldFlt0.etl")).unwrap();
    let (rows, losses) = messages(&bytes, &options(&[&formats]), |event| {
        let Some(FieldValue::Structure(arguments)) = event.field("Arguments") else { return None };
        let numbers: Vec<u64> = arguments.iter().filter_map(|argument| argument.value.as_u64()).collect();
        Some((event.complete, numbers))
    });
    assert_eq!((rows.len(), losses.count("message_without_format")), (13, 0));
    for row in rows {
        let (is_complete, numbers) = row.unwrap();
        assert!(is_complete && numbers.len() == 3, "{numbers:x?}");
        assert!(
            numbers[0] >> 48 == 0xFFFF && numbers[1] >> 48 == 0xFFFF && numbers[2] == DO_NOT_ATTACH,
            "{numbers:x?}"
        );
    }
    let (_, losses) = messages(&bytes, &Options::default(), |_| ());
    let first = losses.iter().find_map(|loss| loss.first.clone());
    assert!(first.unwrap().ends_with("the recording names cldflt.pdb 00BC69A6D1E08F4DDB35C75A4A07C3CD1"));
}
