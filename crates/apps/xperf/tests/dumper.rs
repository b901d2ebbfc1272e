//! `-a dumper` of a synthetic recording: rows and columns as scripts for xperf read them.

use std::ffi::OsString;
use std::path::Path;

use onoff_testkit::assemble::{ClassHeader, EtlBuilder, EventHeader, ExtendedItem, Payload, Record, Session};
use onoff_testkit::events::kernel::{Image, LifetimeEvent, Process, Thread, mark, sampled_profile};
use onoff_xperf::{CommandLine, parse, run};

/// Returns the clock ticks of a time in µs since the session start, at ten ticks per µs.
fn ticks(us: u64) -> u64 {
    Session::windows_10(1).start_ticks + us * 10
}

/// Creates an event logged by thread 201 of process 200, regardless of the process that it is attributed to.
fn kernel(hook: u16, version: u8, us: u64, payload: Payload) -> Record<'static> {
    Record::system(hook, version, ticks(us), 201, 200, payload)
}

const FILE: u64 = 0xffff_e288_9d1a_a7d0;
const KEY: u64 = 0xffff_e288_0000_1230;
const IRP: u64 = 0xffff_e288_851f_8608;
const BLOCK: u64 = 0xffff_a10f_3bcf_29d0;
const STACK: u64 = 0x77;

fn recording() -> Vec<u8> {
    let mut builder = EtlBuilder::new(Session::windows_10(1));
    let mut push = |record: Record<'_>| {
        builder.push(0, &record);
    };
    for (id, image, thread) in [(100, "spin.exe", 101), (200, "helper.exe", 201)] {
        let process = Process { id, parent: 4, session: 1, exit_status: 0, image, command_line: image, user: &[18] };
        push(process.record(LifetimeEvent::RundownStart, ticks(0), thread, id));
        let thread = Thread { id: thread, process: id, base_priority: 8, io_priority: 2, service_tag: 0 };
        push(thread.record(LifetimeEvent::RundownStart, ticks(0), thread.id, id));
    }
    // Contains the start addresses of the simulated threads.
    let image = Image {
        process: 100,
        base: 0x7ff8_1234_0000,
        size: 0x1_0000,
        path: r"\Device\HarddiskVolume3\Windows\ntdll.dll",
        time_stamp: 7,
    };
    push(image.record(LifetimeEvent::RundownStart, ticks(0), 101, 100));
    let create = Payload::wide().pointer(IRP).pointer(FILE).u32(101).u32(0x0300_0060).u32(0x80).u32(5);
    push(kernel(0x0440, 3, 10, create.text(r"\Device\HarddiskVolume3\data\phase.tsv")));
    push(kernel(0x044c, 3, 12, Payload::wide().pointer(IRP).pointer(3).u32(0)));
    let write =
        |flags: u32| Payload::wide().u64(0xce).pointer(IRP).pointer(FILE).pointer(KEY).u32(101).u32(0x41).u32(flags);
    push(kernel(0x0444, 3, 20, write(0)));
    push(kernel(0x044c, 3, 22, Payload::wide().pointer(IRP).pointer(0).u32(0xc01c_0004)));
    push(kernel(0x0444, 3, 30, write(0x0006_0a00)));
    push(kernel(0x044c, 3, 38, Payload::wide().pointer(IRP).pointer(0x41).u32(0)));
    let subject = || Payload::wide().pointer(IRP).pointer(FILE).pointer(KEY);
    push(kernel(0x0445, 3, 40, subject().pointer(1).u32(101).u32(13)));
    push(kernel(0x0442, 3, 41, subject().u32(101)));
    push(kernel(0x0424, 2, 42, Payload::wide().pointer(0x9990).text(r"\Device\HarddiskVolume3\late.txt")));
    let registry = |hook: u16, us: u64, name: &str| {
        let payload = Payload::wide().u64(ticks(us - 4)).u32(0xc000_0034).u32(2).pointer(BLOCK);
        kernel(hook, 2, us, payload.text(name))
    };
    let pattern = subject().u32(101).u32(0x400).u32(37).u32(1).text("*.tsv");
    push(kernel(0x0448, 3, 43, pattern));
    push(kernel(0x0263, 2, 44, Payload::wide().pointer(0x1000).pointer(0x2000).u32(100).u32(0x4000)));
    let peaks = Payload::wide().u32(100).u32(7).u32(9).u32(0).pointer(2).pointer(1).pointer(3).pointer(4).pointer(5);
    let uses = peaks.pointer(12).pointer(11).pointer(13).pointer(14).pointer(15).pointer(16);
    push(kernel(0x0321, 2, 45, uses));
    push(registry(0x0916, 50, r"\REGISTRY\MACHINE\SYSTEM"));
    push(registry(0x090b, 51, "Setup"));
    push(registry(0x090d, 52, ""));
    push(registry(0x0914, 53, ""));
    let socket = Payload::wide().u32(100).u32(1460).bytes(&[10, 0, 0, 9]).bytes(&[10, 0, 0, 1]);
    push(kernel(0x060a, 2, 60, socket.bytes(&[1, 187]).bytes(&[0xc0, 0]).u32(1).u32(2).u32(0).pointer(0)));
    let socket = Payload::wide().u32(100).u32(84).bytes(&[0xff; 16]).bytes(&[0x20; 16]);
    push(kernel(0x061b, 2, 60, socket.bytes(&[1, 187]).bytes(&[0xc0, 0]).u32(0).pointer(0)));
    push(kernel(0x0262, 2, 61, Payload::wide().pointer(0x1000).pointer(0x2000).u32(100).u32(0x3000)));
    push(kernel(0x020b, 2, 62, Payload::wide().pointer(0x6000).pointer(0x7ff8_1234_0010)));
    push(Record::perfinfo(0x0f2e, 2, ticks(70), Payload::wide().bytes(&sampled_profile(0x7ff8_1234_0010, 101))));
    push(Record::perfinfo(0x1826, 2, ticks(71), Payload::wide().u64(ticks(70)).u32(100).u32(101).pointer(STACK)));
    push(mark(ticks(72), "ready"));
    let event = EventHeader {
        provider: "331c3b3a-2005-44c2-ac5e-77220c37d6b4".parse().unwrap(),
        id: 121,
        version: 1,
        task: 33,
        thread: 101,
        process: 100,
        activity: "11111111-2222-3333-4444-555555555555".parse().unwrap(),
        extended: vec![
            ExtendedItem { kind: 2, data: vec![1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0] },
            ExtendedItem { kind: 3, data: vec![1, 0, 0, 0] },
        ],
        ..EventHeader::default()
    };
    push(Record::manifest(event, ticks(80), Payload::wide().u32(1).u32(2).u32(3).u32(4).u32(5)));
    let class = ClassHeader {
        class: "12345678-1234-1234-1234-123456789abc".parse().unwrap(),
        opcode: 0x50,
        level: 0,
        version: 2,
        thread: 101,
        process: 100,
    };
    push(Record::full(class, ticks(81), Payload::wide().u32(1)));
    // Recorders write these events when they stop.
    push(Record::perfinfo(
        0x1824,
        2,
        ticks(90),
        Payload::wide().pointer(STACK).pointer(0x7ff8_1234_0020).pointer(0x10),
    ));
    let mapping = ClassHeader {
        class: "9b79ee91-b5fd-41c0-a243-4248e266e9d0".parse().unwrap(),
        opcode: 35,
        level: 0,
        version: 0,
        thread: 101,
        process: 100,
    };
    push(Record::full(mapping, ticks(91), Payload::wide().text(r"\Device\HarddiskVolume3\").text(r"C:\")));
    builder.finish()
}

fn run_on_recording(options: &str) -> String {
    run_actions(&recording(), options)
}

/// Returns the output of `onoff xperf -i trace.etl OPTIONS`.
pub fn run_actions(recording: &[u8], options: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> OsString { Path::new(folder.path()).join(name).into() };
    std::fs::write(path("trace.etl"), recording).unwrap();
    let mut words: Vec<OsString> = vec!["-i".into(), path("trace.etl"), "-o".into(), path("out.txt")];
    words.extend(options.split_whitespace().map(OsString::from));
    let Ok(CommandLine::Process(line)) = parse(words) else {
        panic!("{options}");
    };
    struct Silent;
    impl onoff_xperf::ReadingProgress for Silent {
        fn listener(&self) -> std::sync::Arc<dyn Fn(onoff_sources::Progress) + Send + Sync> {
            std::sync::Arc::new(|_| {})
        }
    }
    let outcome = run(line, &|| Box::new(Silent), None);
    assert!(matches!(outcome, Ok(())), "{outcome:?}");
    // An action without output creates no file.
    std::fs::read_to_string(path("out.txt")).unwrap_or_default()
}

/// Replaces runs of blanks by one blank.
pub fn collapse_blanks(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn has_one_header_block_and_crlf_line_ends() {
    let dump = run_on_recording("-a dumper");
    assert_eq!(dump.matches("BeginHeader\r\n").count(), 1);
    assert_eq!(dump.matches("EndHeader\r\n").count(), 1);
    assert_eq!(dump.matches('\n').count(), dump.matches("\r\n").count());
    let header = dump.split("EndHeader").next().unwrap();
    let titles: Vec<String> = header.lines().map(collapse_blanks).collect();
    for expected in [
        "FileIoRead, TimeStamp, Process Name ( PID), ThreadID, LoggingProcessName ( PID), LoggingThreadID, CPU, IrpPtr, \
         FileObject, ByteOffset, Size, Flags, ExtraFlags, Priority, FileName, ParsedFlags",
        "FileIoCreate, TimeStamp, Process Name ( PID), ThreadID, LoggingProcessName ( PID), LoggingThreadID, CPU, \
         IrpPtr, FileObject, Options, Attributes, ShareAccess, FileName, ParsedOptions, ParsedAttributes, \
         ParsedShareAccess",
        "FileIoOpEnd, TimeStamp, Process Name ( PID), ThreadID, LoggingProcessName ( PID), LoggingThreadID, CPU, IrpPtr, \
         FileObject, ElapsedTime, Status, ExtraInfo, Type, FileName",
        "FileIoClose, TimeStamp, Process Name ( PID), ThreadID, LoggingProcessName ( PID), LoggingThreadID, CPU, IrpPtr, \
         FileObject, FileName",
        "FileIoFSCTL, TimeStamp, Process Name ( PID), ThreadID, LoggingProcessName ( PID), LoggingThreadID, CPU, IrpPtr, \
         FileObject, ExtraInfo, InfoClass, FileName",
        "FileNameRundown, TimeStamp, FileObject, FileName, NT FileName",
        "RegKcbCreate, TimeStamp, KCB, Key Name",
        "RegOpenKey, TimeStamp, KCB, Process Name ( PID), ThreadID, Status, ElapsedTime, Key Name",
        "VolumeMapping, TimeStamp, NtPath, DosPath",
        "TcpSend, TimeStamp, Process Name ( PID), Transfer Size, Remote IPv4 Addr, Remote IPv4 Port, Local IPv4 Addr, \
         Local IPv4 Port",
        "VirtualAlloc, TimeStamp, Process Name ( PID), BaseAddr, EndAddr, Flags",
        "PageFault, TimeStamp, Process Name ( PID), ThreadID, VirtualAddr, IP, Type, Image!Function",
        "Mark, TimeStamp, Label",
        "UnknownEvent/Classic, TimeStamp, Process Name ( PID), ThreadID, CPU, EventGuid, Type, Level, Version, MofLength",
        "UnknownEvent/Crimson, TimeStamp, Process Name ( PID), ThreadID, CPU, ProviderId, Id, Task, Opcode, Version, \
         Channel, Level, Keyword, UserDataLength",
        "P-Zombie, TimeStamp, Process Name ( PID), ParentPID, SessionID, UniqueKey, DirectoryTableBase, Flags, UserSid, \
         Command Line, Package Full Name, Package Relative Application Id",
        "ProcessPerfCtrRundown, TimeStamp, Process Name ( PID), Peak WS, Peak VM, Peak PF, Peak PP, Peak NPP, End WS, \
         End VM, End PF, End PP, End NPP, # Handles",
        "I-Start, TimeStamp, Process Name ( PID), BaseAddr, EndAddr, Checksum, TimeDateStamp, DefaultBase, FileName",
        "FileIoDirEnum, TimeStamp, Process Name ( PID), ThreadID, LoggingProcessName ( PID), LoggingThreadID, CPU, \
         IrpPtr, FileObject, FileIndex, Size, InfoClass, FileName, FileName",
        "Microsoft-Windows-Kernel-Power/PowerTransition/win:Info, TimeStamp, Process Name ( PID), ThreadID, CPU, \
         etw:ActivityId, etw:Related ActivityId, etw:UserSid, etw:SessionId, DriverWakeTime, TotalResumeTime, \
         BiosInitTime, ResumeAppsTime, ResumeServicesTime",
    ] {
        assert!(titles.iter().any(|titles| titles == expected), "{expected}\n{titles:#?}");
    }
}

#[test]
fn kernel_events_match_xperf() {
    let dump = run_on_recording("-a dumper");
    let rows: Vec<String> = dump.lines().map(collapse_blanks).collect();
    let operation = "spin.exe ( 100), 101, helper.exe ( 200), 201, 0, 0xffffe288851f8608, 0xffffe2889d1aa7d0";
    let file = r#""C:\data\phase.tsv""#;
    for expected in [
        &*format!(
            "FileIoCreate, 10, {operation}, 0x03000060, 0x00000080, 0x00000005, {file}, \
             open_if | synchronous_io_nonalert | non_directory_file, normal, read | delete"
        ),
        &format!("FileIoOpEnd, 12, {operation}, 2, 0x00000000, 0x0000000000000003, FileIoCreate, {file}"),
        // The next two rows are from a published dump.
        &format!("FileIoWrite, 20, {operation}, 0x00000000ce, 0x00000041, 0x00000000, 0x00000000, NotSet, {file},"),
        &format!("FileIoOpEnd, 22, {operation}, 2, 0xc01c0004, 0x0000000000000000, FileIoWrite, {file}"),
        &format!(
            "FileIoWrite, 30, {operation}, 0x00000000ce, 0x00000041, 0x00060a00, 0x00000000, Normal, {file}, \
             write_operation | defer_io_completion | 17 | 18"
        ),
        &format!("FileIoOpEnd, 38, {operation}, 8, 0x00000000, 0x0000000000000041, FileIoWrite, {file}"),
        &format!("FileIoSetInfo, 40, {operation}, 0x0000000000000001, 13, {file}"),
        &format!("FileIoClose, 41, {operation}, {file}"),
        r#"FileNameRundown, 42, 0x0000000000009990, "C:\late.txt", "\Device\HarddiskVolume3\late.txt""#,
        &format!("FileIoDirEnum, 43, {operation}, 1, 0x00000400, 37, {file}, \"*.tsv\""),
        "VirtualFree, 44, spin.exe ( 100), 0x0000000000001000, 0x0000000000003000, DECOMMIT",
        "ProcessPerfCtrRundown, 45, spin.exe ( 100), 1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 9",
        r"RegKcbCreate, 50, 0xffffa10f3bcf29d0, \REGISTRY\MACHINE\SYSTEM",
        "RegOpenKey, 51, 0xffffa10f3bcf29d0, helper.exe ( 200), 201, 0xc0000034, 4, Setup",
        "RegQueryKey, 52, 0xffffa10f3bcf29d0, helper.exe ( 200), 201, 0xc0000034, 4, 2",
        "RegSetInformation, 53, 0xffffa10f3bcf29d0, helper.exe ( 200), 201, 0xc0000034, 4",
        // The process in the payload, not the process that logged the event.
        "TcpSend, 60, spin.exe ( 100), 1460, 10.0.0.9, 443, 10.0.0.1, 49152",
        "TcpRecvIPV6, 60, spin.exe ( 100), 84, ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff, 443, \
         2020:2020:2020:2020:2020:2020:2020:2020, 49152",
        "VirtualAlloc, 61, spin.exe ( 100), 0x0000000000001000, 0x0000000000003000, COMMIT RESERVE",
        r#"I-DCStart, 0, spin.exe ( 100), 0x00007ff812340000, 0x00007ff812350000, 0x00012345, 0x00000007, 0x00007ff812340000, "C:\Windows\ntdll.dll""#,
        "Mark, 72, ready",
        r"VolumeMapping, 91, \Device\HarddiskVolume3\, C:\",
    ] {
        assert!(rows.iter().any(|row| row == expected), "{expected}\n{}", rows.join("\n"));
    }
    let row = |name: &str| rows.iter().rfind(|row| row.starts_with(name)).unwrap();
    assert!(row("PageFault,").contains(", DemandZeroFault, "), "{}", row("PageFault,"));
    // The Win32 start address, not the kernel's.
    assert!(row("SampledProfile,").contains("ntdll.dll!0x7ff812340650"), "{}", row("SampledProfile,"));
}

#[test]
fn resolves_stack_keys_from_rundown() {
    let dump = run_on_recording("-a dumper");
    let rows: Vec<String> = dump.lines().map(collapse_blanks).filter(|row| row.starts_with("Stack, 7")).collect();
    assert_eq!(
        rows,
        [
            "Stack, 70, 101, 1, 0x00007ff812340020, ntdll.dll!0x7ff812340020",
            "Stack, 70, 101, 2, 0x0000000000000010, \"Unknown\"!0x10",
        ]
    );
}

#[test]
fn manifest_rows_have_activity_user_and_session() {
    let dump = run_on_recording("-a dumper");
    let rows: Vec<String> = dump.lines().map(collapse_blanks).collect();
    let name = "Microsoft-Windows-Kernel-Power/PowerTransition/win:Info";
    let prefix =
        format!("{name}, 80, spin.exe ( 100), 101, 0, {{11111111-2222-3333-4444-555555555555}}, , S-1-5-18, 1");
    assert!(rows.contains(&format!("{prefix}, 1, 2, 3, 4, 5")), "{}", rows.join("\n"));
    let dump_with_names = run_on_recording("-a dumper -add_fieldnames");
    assert!(
        dump_with_names.lines().map(collapse_blanks).any(|row| row
            == format!(
                "{prefix}, DriverWakeTime : 1, TotalResumeTime : 2, BiosInitTime : 3, ResumeAppsTime : 4, \
                 ResumeServicesTime : 5"
            )),
        "{dump_with_names}"
    );
    let unknown = "UnknownEvent/Classic, 81, spin.exe ( 100), 101, 0, {12345678-1234-1234-1234-123456789abc}, 0x50, ";
    assert!(rows.iter().any(|row| row.starts_with(unknown)), "{}", rows.join("\n"));
}

#[test]
fn uses_late_rundown_for_earlier_rows() {
    let mut builder = EtlBuilder::new(Session::windows_10(1));
    let mut push = |record: &Record<'_>| {
        builder.push(0, record);
    };
    let sample = |us: u64, thread: u32| {
        Record::perfinfo(0x0f2e, 2, ticks(us), Payload::wide().bytes(&sampled_profile(0x7ff8_1234_0010, thread)))
    };
    let thread = |id: u32, process: u32| Thread { id, process, base_priority: 8, io_priority: 2, service_tag: 0 };
    // Thread 301 is in a late rundown, 302 has only an end, and 303 starts later, so the earlier owner of that id is
    // unknown.
    for (us, id) in [(10, 301), (11, 302), (12, 303)] {
        push(&sample(us, id));
    }
    let image = "late.exe";
    let process = Process { id: 300, parent: 4, session: 1, exit_status: 0, image, command_line: image, user: &[18] };
    push(&process.record(LifetimeEvent::RundownStart, ticks(20), 301, 300));
    push(&thread(301, 300).record(LifetimeEvent::RundownStart, ticks(21), 301, 300));
    push(&thread(302, 300).record(LifetimeEvent::End, ticks(22), 302, 300));
    push(&thread(303, 300).record(LifetimeEvent::Start, ticks(23), 303, 300));
    // Another process reuses the id, which does not affect earlier rows.
    push(&thread(302, 4).record(LifetimeEvent::Start, ticks(24), 302, 4));
    push(&sample(30, 303));
    let dump = run_actions(&builder.finish(), "-a dumper");
    let processes_and_threads: Vec<String> = dump
        .lines()
        .map(collapse_blanks)
        .filter(|row| row.starts_with("SampledProfile, ") && !row.contains("TimeStamp"))
        .map(|row| row.split(", ").skip(2).take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        processes_and_threads,
        ["late.exe ( 300) 301", "late.exe ( 300) 302", "\"Unknown\" ( -1) 303", "late.exe ( 300) 303"]
    );
}

#[test]
fn action_without_data_writes_column_titles() {
    assert!(run_on_recording("-quiet -a dumper -provider Nobody").contains("EndHeader\r\nOS Version: "));
    assert_eq!(run_on_recording("-quiet -a marks -range 1s").lines().count(), 1);
}

/// Creates the header of an event from a provider with a manifest.
fn manifest(provider: &str, id: u16, opcode: u8, extended: Vec<ExtendedItem>) -> EventHeader {
    let provider = provider.parse().unwrap();
    EventHeader { provider, id, opcode, extended, ..EventHeader::default() }
}

#[test]
fn event_names_are_provider_task_and_opcode() {
    let mut builder = EtlBuilder::new(Session::windows_10(1));
    let mut push = |us: u64, event: EventHeader, payload: Payload| {
        builder.push(0, &Record::manifest(event, ticks(us), payload));
    };
    const GROUP_POLICY: &str = "aea1b4fa-97d1-45f2-a64c-4d69fffd92c9";
    const SELF_DESCRIBING: &str = "d1d93ef7-0000-1111-2222-333344445555";
    // No task; the payload is a text and a GUID.
    let client = [4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16];
    let payload = Payload::wide().text("Folders").bytes(&client);
    push(10, manifest(GROUP_POLICY, 8016, 0, Vec::new()), payload);
    // Neither task nor opcode has a name.
    const SERVICE_CONTROL_MANAGER: &str = "555908d1-a6d7-4695-8e1e-26931d2012f4";
    push(11, manifest(SERVICE_CONTROL_MANAGER, 7000, 192, Vec::new()), Payload::wide().text("Spooler").text("Error 2"));
    // TraceLogging metadata: size, no tags, name, no fields.
    let metadata = |name: &str| {
        let size = u16::try_from(name.len() + 4).unwrap().to_le_bytes();
        vec![ExtendedItem { kind: 11, data: [&size[..], &[0], name.as_bytes(), &[0]].concat() }]
    };
    push(20, EventHeader { channel: 11, ..manifest(SELF_DESCRIBING, 0, 0, metadata("Render")) }, Payload::wide());
    push(21, EventHeader { channel: 11, ..manifest(SELF_DESCRIBING, 0, 1, metadata("Work")) }, Payload::wide());
    // A provider with an unknown manifest.
    let unknown = EventHeader {
        version: 3,
        channel: 16,
        level: 4,
        task: 7,
        keyword: 0x8000_0000_0000_0001,
        ..manifest("99999999-0000-1111-2222-333344445555", 300, 9, Vec::new())
    };
    push(30, unknown, Payload::wide().u32(1).u32(2));
    let dump = run_actions(&builder.finish(), "-a dumper");
    let rows: Vec<String> = dump.lines().map(collapse_blanks).collect();
    for expected in [
        "Microsoft-Windows-GroupPolicy//win:Info, 10,",
        "Service Control Manager//, 11,",
        "d1d93ef7-0000-1111-2222-333344445555/Render/, 20,",
        "d1d93ef7-0000-1111-2222-333344445555/Work/win:Start, 21,",
        "UnknownEvent/Crimson, 30,",
    ] {
        assert!(rows.iter().any(|row| row.starts_with(expected)), "{expected}\n{}", rows.join("\n"));
    }
    let any_ends_with = |suffix: &str| rows.iter().any(|row| row.ends_with(suffix));
    assert!(any_ends_with("\"Folders\", 01020304-0506-0708-090a-0b0c0d0e0f10"), "{}", rows.join("\n"));
    let numbers = "{99999999-0000-1111-2222-333344445555}, 0x12c, 7, 9, 0x3, 16, 0x4, 0x8000000000000001, 8";
    assert!(any_ends_with(numbers), "{}", rows.join("\n"));
    assert_eq!(rows.iter().filter(|row| row.contains("99999999")).count(), 1, "no separate titles");
}

#[test]
fn title_lines_equal_real_ones() {
    let page = include_str!("../../../../docs/src/reference/xperf-lines.md");
    let blocks = page.split("```text dump\n").skip(1).filter_map(|rest| rest.split("```").next());
    let real_lines: Vec<String> = blocks.flat_map(str::lines).map(collapse_blanks).collect();
    assert!(real_lines.len() >= 10, "the page has lines of dumps");
    let dump = run_on_recording("-a dumper");
    let titles: Vec<String> = dump.split("EndHeader").next().unwrap().lines().map(collapse_blanks).collect();
    for line in real_lines {
        assert!(titles.contains(&line), "{line}\n{titles:#?}");
    }
}

/// The titles as in the public dump of Windows 11 that the page on xperf names: `ObjectArray[ObjectCount]`.
#[test]
fn titles_of_arrays_name_the_field_with_their_count() {
    let mut builder = EtlBuilder::new(Session::windows_10(1));
    const DOT_NET: &str = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";
    let stack_walk = Payload::wide().bytes(&[7, 0, 0, 0]).u32(2).pointer(0x10).pointer(0x7ff8_1234_0020);
    builder.push(0, &Record::manifest(manifest(DOT_NET, 82, 82, Vec::new()), ticks(10), stack_walk));
    let edges = Payload::wide().u32(0).u32(1).bytes(&[7, 0]).pointer(0x30).u32(5);
    builder.push(0, &Record::manifest(manifest(DOT_NET, 19, 23, Vec::new()), ticks(11), edges));
    let dump = run_actions(&builder.finish(), "-a dumper");
    let has_line = |end: &str| dump.lines().any(|line| line.trim_end().ends_with(end));
    assert!(has_line(", ClrInstanceID, Reserved1, Reserved2, FrameCount, Stack[FrameCount]"), "{dump}");
    assert!(has_line(", 7, 0, 0, 2, [0x0000000000000010; 0x00007ff812340020]"), "{dump}");
    assert!(has_line(", Index, Count, ClrInstanceID, Values[Count] {Value; ReferencingFieldID}"), "{dump}");
    assert!(has_line(", 0, 1, 7, [{Value : 0x0000000000000030; ReferencingFieldID : 5}]"), "{dump}");
    assert!(dump.contains("FrameCount,"), "a field that is no array has only its name");
}

#[test]
fn machine_stack_is_one_row_with_trailing_comma() {
    let dump = run_on_recording("-target machine -a dumper");
    let rows: Vec<&str> = dump.lines().filter(|row| row.trim_start().starts_with("Stack, ")).collect();
    assert_eq!(collapse_blanks(rows[0]), "Stack, TimeStamp, ThreadID, Image!Function");
    assert_eq!(collapse_blanks(rows[1]), "Stack, 70, 101, ntdll.dll!0x7ff812340020, \"Unknown\"!0x10,");
    assert_eq!(rows.len(), 2);
}

/// With a provider whose events do not depend on others, the dump is read with less work: rows must be the same.
#[test]
fn rows_of_a_provider_are_those_of_the_whole_dump() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples/slow-boot.etl");
    let recording = std::fs::read(sample).unwrap();
    let rows = |options: &str, provider: &str| -> Vec<String> {
        let text = run_actions(&recording, options);
        let (_, rows) = text.split_once("EndHeader").unwrap();
        let prefix = format!("{provider}/");
        rows.lines().map(collapse_blanks).filter(|row| row.starts_with(&prefix)).collect()
    };
    for provider in ["Microsoft-Windows-Winlogon", "Microsoft-Windows-Kernel-PnP", "EventTrace"] {
        let selected = rows(&format!("-a dumper -provider {provider}"), provider);
        assert!(!selected.is_empty(), "{provider}");
        assert_eq!(selected, rows("-a dumper", provider), "{provider}");
    }
}
