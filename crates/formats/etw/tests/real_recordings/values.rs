//! Compares values of real events with the output of another reader (PerfView).

use onoff_etl::ExtendedItem;
use onoff_etw::{Fields, SchemaSource, Schemas, Value};

use super::files;

/// Returns the fields, as text, of the nth event accepted by `is_wanted`.
fn fields_of(
    bytes: &[u8],
    schemas: &Schemas,
    is_wanted: impl Fn(&onoff_etw::Description<'_>) -> bool,
    nth: usize,
) -> Vec<(String, String)> {
    let mut index = 0;
    let mut texts = Vec::new();
    files::for_each(bytes, |record| {
        if !is_wanted(&schemas.describe(record)) {
            return;
        }
        if index == nth {
            let mut fields = Fields::new();
            assert!(schemas.decode(record, &mut fields).is_exact());
            texts = fields.iter().map(|field| (field.name().to_owned(), field.to_string())).collect();
        }
        index += 1;
    });
    texts
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn decodes_every_primitive_trace_logging_type() {
    let Some(bytes) = files::read("primitive-types.etl") else {
        return;
    };
    let schemas = files::learn(&bytes);
    let fields = fields_of(&bytes, &schemas, |description| description.event == "PrimitiveTypesTest", 3);
    let expected = pairs(&[
        ("string_type", "Mars"),
        ("boolean_type", "false"),
        ("char_type", "M"),
        ("int16_type", "-29"),
        ("int32_type", "-58"),
        ("uint16_type", "29"),
        ("uint32_type", "58"),
        // Declared unsigned by the program; the intended value is -116.
        ("int64_type", "18446744073709551500"),
        ("uint64_type", "116"),
        ("guid_type", "0a922cee-67c1-4108-b"),
        ("file_time_type", "2021-09-09T14:59:37.04"),
        // PerfView always prints .03.
        ("system_time_type", "2021-09-09T14:59:37.04"),
    ]);
    assert_eq!(fields.len(), expected.len());
    for ((name, value), (expected_name, expected)) in fields.iter().zip(&expected) {
        assert_eq!(name, expected_name);
        assert!(value.starts_with(expected.as_str()), "{name}: {value} is not {expected}");
    }
    let provider = schemas.provider_name(onoff_etl::Guid::from_u128(0xd3dd3dd4_aac2_4e2a_8dd4_a8fb61b77615));
    assert_eq!(provider, Some("solar_system"), "from the provider traits");
}

#[test]
fn decodes_kernel_events_of_windows_8_recording() {
    let Some(bytes) = files::read("net.4.5.2.x64.etl") else {
        return;
    };
    let schemas = files::learn(&bytes);
    let write =
        fields_of(&bytes, &schemas, |description| (description.provider, description.event) == ("DiskIo", "Write"), 0);
    let value = |name: &str| write.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
    assert_eq!(value("TransferSize"), Some("4096"));
    assert_eq!(value("ByteOffset"), Some("6109835264"));
    assert_eq!(value("Irp"), Some("0xfffffa830047e8f0"));
    assert_eq!(value("FileObject"), Some("0xfffff8a0045ffc50"));

    let send = fields_of(
        &bytes,
        &schemas,
        |description| (description.provider, description.event) == ("TcpIp", "SendIPV6"),
        0,
    );
    let value = |name: &str| send.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
    assert!(value("daddr").is_some_and(|address| address.starts_with("2001:4898:e0:81:7cb9")));
    assert_eq!((value("dport"), value("sport")), (Some("445"), Some("64025")));
    assert_eq!((value("startime"), value("endtime")), (Some("1942"), Some("1942")));
}

/// Removes the formatting information that only one of two schemas may have.
fn without_format(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Mapped(number, _) | Value::Hex(number) => Value::UInt(number),
        value => value,
    }
}

#[test]
fn in_band_manifests_agree_with_merged_schemas() {
    let Some(bytes) = files::read("net.4.5.2.x64.etl") else {
        return;
    };
    let all_schemas = files::learn(&bytes);
    // Only manifests sent by event sources; no schemas added by merging.
    let mut in_band = Schemas::new();
    files::for_each(&bytes, |record| {
        if record.descriptor().is_some_and(|descriptor| descriptor.id == 0xfffe) {
            in_band.observe(record);
        }
    });
    assert_eq!(in_band.losses(), all_schemas.losses());

    let session = |description: &onoff_etw::Description<'_>| {
        description.provider == "PerfView" && description.event == "SessionParameters"
    };
    let expected = pairs(&[
        ("sessionName", "NT Kernel Logger"),
        ("sessionFileName", "net.4.5.2.x64.kernel"),
        ("bufferSizeMB", "256"),
        ("circularBuffSizeMB", "500"),
    ]);
    let fields = fields_of(&bytes, &in_band, session, 0);
    assert_eq!(fields.len(), expected.len());
    for ((name, value), (expected_name, expected)) in fields.iter().zip(&expected) {
        assert_eq!(name, expected_name);
        assert!(value.starts_with(expected.as_str()), "{name}: {value} is not {expected}");
    }

    // Both schemas give the same values for all events known to both.
    let mut compared = 0;
    files::for_each(&bytes, |record| {
        let (mut by_manifest, mut by_metadata) = (Fields::new(), Fields::new());
        let first = in_band.decode(record, &mut by_manifest);
        let second = all_schemas.decode(record, &mut by_metadata);
        if (first.source, second.source) != (SchemaSource::Embedded, SchemaSource::Embedded) {
            return;
        }
        for (left, right) in by_manifest.iter().zip(&by_metadata) {
            assert_eq!(left.name(), right.name());
            assert_eq!(without_format(left.value()), without_format(right.value()), "{}", left.name());
        }
        compared += 1;
    });
    println!("{compared} events with equal values");
    assert!(compared > 100);
}

#[test]
fn every_trace_logging_event_has_event_and_provider_name() {
    for file in ["AMSITrace.etl", "lxcore_kernel.etl", "TraceLoggingTester.etl.xz"] {
        let Some(bytes) = files::read(file) else {
            continue;
        };
        let schemas = files::learn(&bytes);
        files::for_each(&bytes, |record| {
            let item = record.extended_item(ExtendedItem::EVENT_SCHEMA_TRACELOGGING);
            if item.is_some() {
                let description = schemas.describe(record);
                assert_eq!(description.source, SchemaSource::TraceLogging);
                assert!(!description.event.is_empty() && !description.provider.is_empty());
            }
        });
    }
}
