//! ETW records, manifests, trace message formats and provider binaries from arbitrary bytes: schemas are learned and records decoded without a
//! panic, and the decoded sizes match the payload.
#![no_main]

use std::fmt::Write as _;
use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use onoff_etl::{Input, Record, Recording};
use onoff_etw::kernel::*;
use onoff_etw::{Field, Fields, Schemas, Status};

fuzz_target!(|bytes: &[u8]| {
    let mut schemas = Schemas::new();
    let input = Input { name: "fuzz.etl", bytes };
    if let Ok(recording) = Recording::open(&[input]) {
        let _ = recording.for_each(|record| {
            schemas.observe(record);
            ControlFlow::<()>::Continue(())
        });
        let _ = recording.for_each(|record| {
            decode(&schemas, record);
            ControlFlow::<()>::Continue(())
        });
        return;
    }
    if bytes.starts_with(b"MZ") {
        let _ = schemas.add_provider_binary(bytes);
    } else if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = schemas.add_manifest(text);
        let _ = schemas.add_message_formats(text);
    }
    // If the bytes are not a file, treat them as consecutive records of a buffer. Observe all records before decoding
    // any.
    let mut remaining = bytes;
    let mut records = Vec::new();
    while let Ok(record) = Record::parse(remaining) {
        records.push(record);
        let stride = record.size().next_multiple_of(8);
        remaining = remaining.get(stride..).unwrap_or_default();
    }
    records.iter().for_each(|record| schemas.observe(record));
    records.iter().for_each(|record| decode(&schemas, record));
});

fn decode(schemas: &Schemas, record: &Record<'_>) {
    let description = schemas.describe(record);
    let _ = schemas.keyword_names(record).count();
    let mut fields = Fields::new();
    let decoded = schemas.decode(record, &mut fields);
    assert_eq!(decoded.source, description.source);
    assert_eq!(decoded.size, record.payload().len());
    assert!(decoded.consumed <= decoded.size);
    let is_complete = decoded.consumed == decoded.size;
    match decoded.status {
        Status::Exact => assert!(is_complete),
        Status::Trailing => assert!(!is_complete),
        _ => {}
    }
    fields.iter().for_each(|field| format_field(&field));
    let mut json = String::new();
    let written = fields.write_json(&mut json);
    assert!(written.is_ok());
    parse_typed(record);
}

fn format_field(field: &Field<'_, '_>) {
    let mut text = String::new();
    let _ = write!(text, "{field}");
    field.children().for_each(|child| {
        let _ = child.value().as_u64();
    });
}

/// Parses a record as every typed struct.
fn parse_typed(record: &Record<'_>) {
    macro_rules! parse {
        ($($name:ident),* $(,)?) => { $(let _ = std::hint::black_box($name::parse(record));)* };
    }
    parse!(
        BootPhaseStart,
        BootPrefetchInformation,
        BuildLab,
        ContextSwitch,
        DeferredProcedureCall,
        DevicePowerEnd,
        DevicePowerStart,
        DevicesStateEnd,
        DevicesStateStart,
        DirectoryOperation,
        DiskFlush,
        DiskRequestStart,
        DiskTransfer,
        DriverCompletion,
        DriverMajorFunctionCall,
        DriverMajorFunctionReturn,
        FileInformation,
        FileMapping,
        FileName,
        FileOpen,
        FileOperation,
        FileOperationEnd,
        FileTransfer,
        GroupMasks,
        HardFault,
        Image,
        ImageIdentification,
        InterruptLine,
        InterruptServiceRoutine,
        KernelDebugId,
        LogicalDisk,
        Mark,
        MemoryInformation,
        NetworkAdapter,
        NetworkConfiguration,
        NetworkTransfer,
        OpticalDisk,
        PageFault,
        PartitionInfo,
        PhysicalDisk,
        Platform,
        PowerActionEnd,
        PowerActionStart,
        PowerConfiguration,
        Process,
        ProcessCounters,
        ProcessTerminate,
        ProcessorConfiguration,
        ProcessorDescription,
        ProfileInterval,
        ReadyThread,
        RegistryHiveLoad,
        RegistryKeyOperation,
        SampledProfile,
        ServiceConfiguration,
        SleepCounter,
        StackKeyReference,
        SubProcessTagChange,
        SystemCallEnter,
        SystemCallExit,
        SystemConfigEx,
        TerminalSession,
        Thread,
        ThreadName,
        ThreadPriorityChange,
        VideoAdapter,
        VirtualAllocation,
        WorkerThreadItem,
    );
    if let Some(switches) = CompactContextSwitches::parse(record) {
        let _ = switches.switches().count();
    }
    if let Some(device) = PlugAndPlayDevice::parse(record) {
        let _ = device.upper_filters().chain(device.lower_filters()).count();
    }
    if let Some(path) = ProviderBinaryPath::parse(record) {
        let _ = path.providers().count();
    }
    if let Some(stack) = Stack::parse(record) {
        assert_eq!(stack.frames.iter().count(), stack.frames.len());
    }
    if let Some(key) = StackKeyDefinition::parse(record) {
        assert_eq!(key.frames.iter().count(), key.frames.len());
    }
}
