//! Compares the typed kernel structs with the table of kernel layouts on all real records. Both describe the same
//! payloads but were written independently.

use std::collections::BTreeMap;

use onoff_etl::Record;
use onoff_etw::kernel::*;
use onoff_etw::{Fields, Value};

use super::files;

/// Compares the members of a struct with fields decoded with the table.
struct Check<'f, 'r> {
    fields: &'f Fields<'r>,
    struct_name: &'static str,
}

impl Check<'_, '_> {
    fn number(&self, name: &str, value: impl Into<u64>) {
        let field = self.fields.get(name).and_then(|field| field.as_u64());
        assert_eq!(field, Some(value.into()), "{}.{name}", self.struct_name);
    }

    fn signed(&self, name: &str, value: impl Into<i64>) {
        let field = self.fields.get(name).and_then(|field| field.as_i64());
        assert_eq!(field, Some(value.into()), "{}.{name}", self.struct_name);
    }

    fn text(&self, name: &str, value: impl ToString) {
        let field = self.fields.get(name).map(|field| field.to_string());
        assert_eq!(field, Some(value.to_string()), "{}.{name}", self.struct_name);
    }
}

/// Checks one record. Returns the name of its struct, if any.
fn check(record: &Record<'_>, fields: &Fields<'_>) -> Option<&'static str> {
    let check = |struct_name| Check { fields, struct_name };
    if let Some(process) = Process::parse(record) {
        let check = check("Process");
        check.number("ProcessId", process.process_id);
        check.number("ParentId", process.parent_id);
        check.signed("ExitStatus", process.exit_status);
        check.number("SessionId", process.session_id);
        check.text("ImageFileName", process.image_file_name);
        check.text("CommandLine", process.command_line);
        check.text("UserSID", process.user_sid.map_or(String::new(), |sid| sid.to_string()));
        if record.version() >= 3 {
            check.number("DirectoryTableBase", process.directory_table_base);
        }
        if record.version() >= 4 {
            check.text("PackageFullName", process.package_full_name);
            check.text("ApplicationId", process.application_id);
        }
        return Some("Process");
    }
    if let Some(counters) = ProcessCounters::parse(record) {
        let check = check("ProcessCounters");
        check.number("HandleCount", counters.handle_count);
        check.number("PrivatePageCount", counters.private_page_count);
        check.number("VirtualSize", counters.virtual_size);
        return Some("ProcessCounters");
    }
    if let Some(terminate) = ProcessTerminate::parse(record) {
        check("ProcessTerminate").number("ProcessId", terminate.process_id);
        return Some("ProcessTerminate");
    }
    if let Some(thread) = Thread::parse(record) {
        let check = check("Thread");
        check.number("ProcessId", thread.process_id);
        check.number("TThreadId", thread.thread_id);
        check.number("StackLimit", thread.stack_limit);
        check.number("Win32StartAddr", thread.win32_start_address);
        check.number("TebBase", thread.teb_base);
        check.number("SubProcessTag", thread.sub_process_tag);
        if let Some(priorities) = thread.priorities {
            check.number("Affinity", thread.affinity);
            check.number("BasePriority", priorities.base);
            check.number("IoPriority", priorities.io);
        }
        if fields.get("ThreadName").is_some() {
            check.text("ThreadName", thread.thread_name);
        }
        return Some("Thread");
    }
    if let Some(name) = ThreadName::parse(record) {
        let check = check("ThreadName");
        check.number("ThreadId", name.thread_id);
        check.text("ThreadName", name.thread_name);
        return Some("ThreadName");
    }
    if let Some(image) = Image::parse(record) {
        let check = check("Image");
        check.number("ImageBase", image.image_base);
        check.number("ImageSize", image.image_size);
        check.number("ProcessId", image.process_id);
        check.number("TimeDateStamp", image.time_date_stamp);
        check.number("DefaultBase", image.default_base);
        check.text("FileName", image.file_name);
        return Some("Image");
    }
    check_io(record, fields).or_else(|| check_configuration(record, fields)).or_else(|| check_merged(record, fields))
}

fn check_io(record: &Record<'_>, fields: &Fields<'_>) -> Option<&'static str> {
    let check = |struct_name| Check { fields, struct_name };
    if let Some(transfer) = DiskTransfer::parse(record) {
        let check = check("DiskTransfer");
        check.number("DiskNumber", transfer.disk_number);
        check.number("ByteOffset", transfer.byte_offset);
        check.number("TransferSize", transfer.transfer_size);
        check.number("FileObject", transfer.file_key);
        check.number("Irp", transfer.irp);
        check.number("HighResResponseTime", transfer.response_ticks?);
        if let Some(thread) = transfer.issuing_thread_id {
            check.number("IssuingThreadId", thread);
        }
        return Some("DiskTransfer");
    }
    if let Some(start) = DiskRequestStart::parse(record) {
        check("DiskRequestStart").number("Irp", start.irp);
        return Some("DiskRequestStart");
    }
    if let Some(flush) = DiskFlush::parse(record) {
        check("DiskFlush").number("HighResResponseTime", flush.response_ticks);
        return Some("DiskFlush");
    }
    if let Some(fault) = HardFault::parse(record) {
        let check = check("HardFault");
        check.number("InitialTime", fault.start_ticks);
        check.number("FileObject", fault.file_key);
        check.number("TThreadId", fault.thread_id);
        check.number("ByteCount", fault.byte_count);
        return Some("HardFault");
    }
    if let Some(name) = FileName::parse(record) {
        let check = check("FileName");
        check.number("FileObject", name.file_key);
        check.text("FileName", name.file_name);
        return Some("FileName");
    }
    if let Some(sample) = SampledProfile::parse(record) {
        let check = check("SampledProfile");
        check.number("InstructionPointer", sample.instruction_pointer);
        check.number("ThreadId", sample.thread_id);
        check.number("Count", sample.count);
        return Some("SampledProfile");
    }
    if let Some(stack) = Stack::parse(record) {
        let check = check("Stack");
        check.number("EventTimeStamp", stack.event_ticks);
        check.number("StackThread", stack.thread_id);
        check_frames(fields, stack.frames);
        return Some("Stack");
    }
    if let Some(key) = StackKeyReference::parse(record) {
        let check = check("StackKeyReference");
        check.number("EventTimeStamp", key.event_ticks);
        check.number("StackKey", key.stack_key);
        return Some("StackKeyReference");
    }
    if let Some(key) = StackKeyDefinition::parse(record) {
        check("StackKeyDefinition").number("StackKey", key.stack_key);
        check_frames(fields, key.frames);
        return Some("StackKeyDefinition");
    }
    if let Some(interval) = ProfileInterval::parse(record) {
        let check = check("ProfileInterval");
        check.number("NewInterval", interval.new_interval);
        if record.version() >= 3 {
            check.text("SourceName", interval.source_name);
        }
        return Some("ProfileInterval");
    }
    if let Some(transfer) = NetworkTransfer::parse(record) {
        let check = check("NetworkTransfer");
        check.number("PID", transfer.process_id);
        check.text("daddr", transfer.destination.0);
        check.number("dport", transfer.destination.1);
        check.text("saddr", transfer.source.0);
        check.number("sport", transfer.source.1);
        return Some("NetworkTransfer");
    }
    None
}

fn check_frames(fields: &Fields<'_>, frames: Frames<'_>) {
    let table: Vec<_> = fields.field("Frames").expect("frames").children().map(|f| f.value()).collect();
    assert!(table.into_iter().eq(frames.iter().map(Value::Pointer)));
}

fn check_configuration(record: &Record<'_>, fields: &Fields<'_>) -> Option<&'static str> {
    let check = |struct_name| Check { fields, struct_name };
    if let Some(cpu) = ProcessorConfiguration::parse(record) {
        let check = check("ProcessorConfiguration");
        check.number("MemSize", cpu.memory_mib);
        check.text("ComputerName", cpu.computer_name);
        check.text("DomainName", cpu.domain_name);
        check.number("HyperThreadingFlag", cpu.hyper_threading);
        if let Some(speed) = cpu.memory_speed {
            check.number("MemorySpeed", speed);
        }
        return Some("ProcessorConfiguration");
    }
    if let Some(disk) = PhysicalDisk::parse(record) {
        let check = check("PhysicalDisk");
        check.number("Cylinders", disk.cylinders);
        check.text("Manufacturer", disk.manufacturer);
        check.text("BootDriveLetter", disk.boot_drive_letter);
        return Some("PhysicalDisk");
    }
    if let Some(disk) = LogicalDisk::parse(record) {
        let check = check("LogicalDisk");
        check.number("PartitionSize", disk.partition_size);
        check.text("DriveLetterString", disk.drive_letter);
        check.text("FileSystem", disk.file_system);
        check.signed("TotalNumberOfClusters", disk.total_clusters);
        return Some("LogicalDisk");
    }
    if let Some(optical) = OpticalDisk::parse(record) {
        let check = check("OpticalDisk");
        check.text("DriveLetter", optical.drive_letter);
        check.text("FileSystemName", optical.file_system);
        return Some("OpticalDisk");
    }
    if let Some(adapter) = NetworkAdapter::parse(record) {
        let check = check("NetworkAdapter");
        check.number("PhysicalAddr", u64::from_le_bytes(adapter.physical_address));
        check.text("IpAddresses", adapter.ip_addresses);
        check.text("DnsServerAddresses", adapter.dns_servers);
        return Some("NetworkAdapter");
    }
    if let Some(video) = VideoAdapter::parse(record) {
        let check = check("VideoAdapter");
        check.number("XResolution", video.width);
        check.text("DeviceId", video.device_id);
        check.number("StateFlags", video.state_flags);
        return Some("VideoAdapter");
    }
    if let Some(service) = ServiceConfiguration::parse(record) {
        let check = check("ServiceConfiguration");
        check.number("ProcessId", service.process_id);
        check.number("SubProcessTag", service.sub_process_tag?);
        check.text("ServiceName", service.service_name);
        check.text("ProcessName", service.process_name);
        if record.version() >= 3 {
            check.text("LoadOrderGroup", service.load_order_group);
            check.text("SvchostGroup", service.svchost_group);
        }
        return Some("ServiceConfiguration");
    }
    if let Some(device) = PlugAndPlayDevice::parse(record) {
        let check = check("PlugAndPlayDevice");
        check.text("DeviceID", device.device_id);
        check.text("FriendlyName", device.friendly_name);
        if record.version() >= 3 {
            check.text("PdoName", device.pdo_name);
        }
        if record.version() >= 4 {
            check.text("ServiceName", device.service_name);
            let list = |name: &str| fields.field(name).map(|list| list.to_string());
            let texts = |texts: Vec<String>| Some(format!("[{}]", texts.join(", ")));
            let upper = device.upper_filters().map(|filter| filter.to_string()).collect();
            assert_eq!(list("UpperFilters"), texts(upper));
            let lower = device.lower_filters().map(|filter| filter.to_string()).collect();
            assert_eq!(list("LowerFilters"), texts(lower));
        }
        return Some("PlugAndPlayDevice");
    }
    if let Some(line) = InterruptLine::parse(record) {
        let check = check("InterruptLine");
        check.number("IRQNum", line.number);
        check.text("DeviceDescription", line.device_description);
        return Some("InterruptLine");
    }
    if let Some(processor) = ProcessorDescription::parse(record) {
        let check = check("ProcessorDescription");
        check.text("ProcessorName", processor.name);
        check.text("ProcessorIdentifier", processor.identifier);
        return Some("ProcessorDescription");
    }
    if let Some(platform) = Platform::parse(record) {
        let check = check("Platform");
        check.text("SystemProductName", platform.product_name);
        check.text("BiosVersion", platform.bios_version);
        return Some("Platform");
    }
    if let Some(masks) = GroupMasks::parse(record) {
        if let Some(version) = masks.kernel_event_version {
            check("GroupMasks").number("KernelEventVersion", version);
        }
        return Some("GroupMasks");
    }
    if let Some(id) = KernelDebugId::parse(record) {
        let check = check("KernelDebugId");
        check.text("Guid", id.guid);
        check.text("PdbName", id.pdb_name);
        return Some("KernelDebugId");
    }
    if let Some(build) = BuildLab::parse(record) {
        check("BuildLab").text("BuildString", build.build);
        return Some("BuildLab");
    }
    if let Some(partition) = PartitionInfo::parse(record) {
        let check = check("PartitionInfo");
        check.signed("QpcOffsetFromRoot", partition.ticks_offset_from_root);
        check.text("ParentId", partition.parent_id);
        return Some("PartitionInfo");
    }
    None
}

fn check_merged(record: &Record<'_>, fields: &Fields<'_>) -> Option<&'static str> {
    let check = |struct_name| Check { fields, struct_name };
    match ImageIdentification::parse(record) {
        Some(ImageIdentification::Info(info)) => {
            let check = check("ImageInfo");
            check.number("ImageBase", info.image_base);
            check.text("OriginalFileName", info.original_file_name);
            return Some("ImageInfo");
        }
        Some(ImageIdentification::DebugId(id)) => {
            let check = check("ImageDebugId");
            check.number("ProcessId", id.process_id);
            check.text("GuidSig", id.guid);
            check.number("Age", id.age);
            check.text("PdbFileName", id.pdb_file_name);
            return Some("ImageDebugId");
        }
        Some(ImageIdentification::FileVersion(version)) => {
            let check = check("ImageFileVersion");
            check.text("FileVersion", version.file_version);
            check.text("ProgramId", version.program_id);
            return Some("ImageFileVersion");
        }
        _ => {}
    }
    match SystemConfigEx::parse(record)? {
        SystemConfigEx::BuildInfo { build_lab, .. } => {
            check("SystemConfigEx").text("BuildLab", build_lab);
        }
        SystemConfigEx::SystemPaths { windows_directory, .. } => {
            check("SystemConfigEx").text("SystemWindowsDirectory", windows_directory);
        }
        SystemConfigEx::UnknownVolume { name } => {
            check("SystemConfigEx").text("VolumeName", name);
        }
        SystemConfigEx::VolumeMapping { nt_path, dos_path } => {
            check("SystemConfigEx").text("NtPath", nt_path);
            check("SystemConfigEx").text("DosPath", dos_path);
        }
        _ => return None,
    }
    Some("SystemConfigEx")
}

#[test]
fn structs_agree_with_table() {
    let mut struct_counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut files_read = 0;
    for file in [
        "ShutdownPerfDiagLogger.etl",
        "diagsession-diaghub.kernel.1.etl",
        "net.4.5.2.x64.etl",
        "net.4.5.x86-2016.etl.xz",
        "TraceLoggingTester.etl.xz",
    ] {
        let Some(bytes) = files::read(file) else {
            continue;
        };
        files_read += 1;
        let schemas = files::learn(&bytes);
        files::for_each(&bytes, |record| {
            let mut fields = Fields::new();
            schemas.decode(record, &mut fields);
            if let Some(name) = check(record, &fields) {
                *struct_counts.entry(name).or_default() += 1;
            }
        });
    }
    if files_read == 5 {
        println!("{struct_counts:?}");
        assert_eq!(struct_counts.len(), 34);
    }
}

#[test]
fn shutdown_ends_60_processes() {
    let Some(bytes) = files::read("ShutdownPerfDiagLogger.etl") else {
        return;
    };
    let mut names = Vec::new();
    files::for_each(&bytes, |record| {
        if let Some(process) = Process::parse(record)
            && process.kind == ProcessEventKind::End
        {
            names.push(process.image_file_name.to_string());
        }
    });
    assert_eq!(names.len(), 60);
    assert!(names.iter().all(|name| !name.is_empty()));
    assert!(names.contains(&"explorer.exe".to_owned()), "{names:?}");
}
