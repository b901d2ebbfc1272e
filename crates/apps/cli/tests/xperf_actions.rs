//! `onoff xperf` actions on a recording that is built event by event, so every number is known.
#![allow(clippy::unwrap_used)]

use crate::harness::Folder;
use onoff_testkit::assemble::{EtlBuilder, EventHeader, Payload, Record, Session};
use onoff_testkit::events::kernel::{Image, LifetimeEvent, Process, Thread, mark};

/// Converts µs from the session start to ticks of 100 ns.
fn ticks(us: u64) -> u64 {
    Session::windows_10(1).start_ticks + us * 10
}

fn kernel(hook: u16, version: u8, us: u64, payload: Payload) -> Record<'static> {
    Record::system(hook, version, ticks(us), 101, 100, payload)
}

fn manifest(
    provider: &str,
    id: u16,
    version: u8,
    (task, opcode): (u16, u8),
    us: u64,
    payload: Payload,
) -> Record<'static> {
    let event = EventHeader {
        provider: provider.parse().unwrap(),
        id,
        version,
        task,
        opcode,
        thread: 101,
        process: 100,
        ..EventHeader::default()
    };
    Record::manifest(event, ticks(us), payload)
}

const WIN32K: &str = "8c416c79-d49b-4f01-a467-e56d3aa8234c";
const POWER: &str = "331c3b3a-2005-44c2-ac5e-77220c37d6b4";
const PREFETCH: &str = "5322d61a-9efa-4bc3-a3f9-14be95c144f8";
const WINLOGON: &str = "dbe9b383-7cf3-4331-91cc-a3cb16a3b538";
const READY_BOOST: &str = "e6307a09-292c-497e-aad6-498f68e2b619";
const READY_BOOST_DRIVER: &str = "2a274310-42d5-4019-b816-e4b8c7abe95c";

fn registry(hook: u16, us: u64, duration_us: u64, status: u32, handle: u64, name: &str) -> Record<'static> {
    let payload = Payload::wide().u64(ticks(us - duration_us)).u32(status).u32(0).pointer(handle).text(name);
    kernel(hook, 2, us, payload)
}

fn recording() -> Folder {
    let mut builder = EtlBuilder::new(Session::windows_10(1));
    let mut push = |record: Record<'_>| {
        builder.push(0, &record);
    };
    let process =
        Process { id: 100, parent: 4, session: 1, exit_status: 0, image: "a.exe", command_line: "a.exe", user: &[18] };
    let thread = Thread { id: 101, process: 100, base_priority: 8, io_priority: 2, service_tag: 0 };
    let driver = Image {
        process: 0,
        base: 0xffff_f800_0000_1000,
        size: 0x1000,
        path: r"\SystemRoot\System32\drivers\slow.sys",
        time_stamp: 0x5a00_0040,
    };
    push(process.record(LifetimeEvent::RundownStart, ticks(0), 101, 100));
    push(thread.record(LifetimeEvent::RundownStart, ticks(0), 101, 100));
    push(driver.record(LifetimeEvent::RundownStart, ticks(0), 101, 100));
    push(registry(0x0918, 1, 0, 0, 0x10, r"\REGISTRY\MACHINE\SYSTEM"));
    push(registry(0x090b, 20, 5, 0, 0x10, "Setup"));
    push(registry(0x090b, 30, 7, 0xc000_0034, 0x10, "Setup"));
    push(registry(0x0910, 40, 1, 0, 0x77, "Lost"));
    for (hook, entry, bytes, us) in [(0x0e20, 0x1000, 100, 50), (0x0e20, 0x2000, 3000, 51), (0x0e22, 0x1000, 100, 52)] {
        let payload = Payload::wide().u32(1).bytes(b"File").pointer(bytes).pointer(entry);
        push(kernel(hook, 2, us, payload));
    }
    push(kernel(0x1021, 2, 60, Payload::wide().u32(0x7000).pointer(2048).u32(0x7100).u32(1)));
    let lock = Payload::wide()
        .pointer(0x9000)
        .pointer(driver.base + 0x10)
        .u64(100)
        .u64(130)
        .u32(500)
        .u32(3)
        .u32(101)
        .u32(0)
        .bytes(&[2, 0, 0, 0, 0, 0, 0, 0]);
    push(kernel(0x0529, 2, 70, lock));
    let call = Payload::wide().u32(3).u32(0).pointer(driver.base + 0x20).pointer(0).pointer(0x55).u32(9);
    push(kernel(0x0122, 2, 80, call));
    push(kernel(0x0123, 2, 95, Payload::wide().pointer(0x55).u32(9)));
    let mut counters = Payload::wide().u32(100).u32(11).u32(12).u32(0);
    for kilobytes in 1..=11 {
        counters = counters.pointer(kilobytes * 1024);
    }
    push(kernel(0x0320, 2, 100, counters));
    push(manifest(WIN32K, 26, 0, (26, 0), 110, Payload::wide().u32(1).u32(4).u32(100)));
    let scenario = |payload: Payload| payload.u16(5).units("A.EXE").u32(0xabcd).u32(0).u32(2).u32(1).u8(0);
    push(manifest(PREFETCH, 1, 0, (1, 1), 120, scenario(Payload::wide())));
    push(manifest(PREFETCH, 2, 0, (1, 2), 135, scenario(Payload::wide()).u64(40).u32(2)));
    push(manifest(WINLOGON, 805, 0, (805, 1), 140, Payload::wide().u32(1).text("Profiles")));
    push(manifest(WINLOGON, 806, 0, (805, 2), 149, Payload::wide().u32(1).text("Profiles")));
    let request = Payload::wide().u64(0).u64(0x4000).pointer(0).u32(0x1000).u32(5);
    push(manifest(READY_BOOST_DRIVER, 12, 1, (11, 0), 150, request));
    let sums = Payload::wide().u64(800).u64(600).u64(700).f64(75.0).u32(8).u32(6).u32(7).u32(90);
    push(manifest(READY_BOOST, 1015, 1, (1016, 0), 155, sums));
    let resume = Payload::wide().u32(1).u32(2).u32(3).u32(4).u32(5);
    push(manifest(POWER, 121, 1, (33, 0), 157, resume));
    push(mark(ticks(160), "ready"));
    push(mark(ticks(170), "ready"));
    let folder = Folder::new();
    folder.file("trace.etl", &builder.finish());
    folder
}

/// Returns the lines of the output, with whitespace collapsed.
fn lines(folder: &Folder, action: &str) -> Vec<String> {
    let text = folder.answer(&format!("xperf -i trace.etl -quiet -a {action}"));
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn counts_registry_by_operation_and_key() {
    let folder = recording();
    assert_eq!(
        lines(&folder, "registry"),
        [
            "Count, Failed, Time (us), Operation",
            "2, 1, 12, Open",
            "1, 0, 1, QueryValue",
            "",
            "Count, Failed, Time (us), Key",
            r"2, 1, 12, \REGISTRY\MACHINE\SYSTEM\Setup",
            r"1, 0, 1, {0x77}\Lost",
        ]
    );
    assert_eq!(lines(&folder, "registry -counts 1").len(), 6);
    assert_eq!(lines(&folder, "registry -unknown"), ["Count, Failed, Time (us), Key", r"1, 0, 1, {0x77}\Lost"]);
    assert_eq!(
        lines(&folder, "registry -tree"),
        [
            "Count, Failed, Time (us), Key",
            "2, 1, 12, REGISTRY",
            "2, 1, 12, MACHINE",
            "2, 1, 12, SYSTEM",
            "2, 1, 12, Setup"
        ]
    );
    // The range excludes the operation that ends after it.
    assert!(lines(&folder, "registry -range 0 25").contains(&"1, 0, 5, Open".to_owned()));
}

#[test]
fn counts_outstanding_memory() {
    let folder = recording();
    assert_eq!(
        lines(&folder, "pool -pooltags -images"),
        ["Image, Tag, Alloc #, Alloc KB, Out Alloc#, Out Alloc KB", "Unknown, File, 2, 4, 1, 3"]
    );
    assert_eq!(lines(&folder, "pooltag")[1], "File, Paged, 2, 4, 1, 3");
    assert_eq!(lines(&folder, "heap")[1], "a.exe ( 100), 0x0000000000007000, 1, 2, 0, 1, 2");
}

#[test]
fn names_modules_of_locks_and_drivers() {
    let folder = recording();
    assert_eq!(lines(&folder, "spinlock")[1], "1, 1, 3, 500, 30, slow.sys");
    assert_eq!(
        lines(&folder, "spinlock -counts")[1],
        "1, 1, 3, 500, 30, 0x0000000000009000, slow.sys!0xfffff80000001010"
    );
    let delays = lines(&folder, "drvdelay -min 10 -name SLOW");
    assert_eq!(delays[1], "1, 15, 15, slow.sys");
    assert_eq!(delays[4], "80, 95, 15, a.exe ( 100), 3, 0, slow.sys!0xfffff80000001020, \"\"");
    assert_eq!(lines(&folder, "drvdelay -min 16us").len(), 4);
}

#[test]
fn shows_provider_activity() {
    let folder = recording();
    assert_eq!(
        lines(&folder, "winlogon")[1],
        "140, 149, 9, a.exe ( 100), 101, NotifySubscriber, Event=1; SubscriberName=Profiles"
    );
    assert_eq!(
        lines(&folder, "prefetch -timeunit ms 3"),
        [
            "Start (ms), End (ms), Time (ms), Pages, ReadLists, Type, Hash, Task, Scenario",
            "0.120, 0.135, 0.015, 40, 2, 0, 0x0000abcd, PrefetchSections, A.EXE"
        ]
    );
    assert_eq!(lines(&folder, "focuschange")[1..], ["MIN, 110, -1, 1, Unknown ( 4)", "110, MAX, -1, 1, a.exe ( 100)"]);
    assert_eq!(
        lines(&folder, "bootprefetch -events"),
        [
            "Reads: 8 (800 bytes)",
            "Hits: 6 (600 bytes)",
            "Prefetch reads: 7 (700 bytes, 90 us)",
            "",
            "TimeStamp, ByteOffset, IOSize, Flags, FileName",
            "150, 0x000000004000, 0x00001000, 0x00000005, \"\""
        ]
    );
    // The event has the peak values of virtual size, working set and page file before the current values.
    assert_eq!(lines(&folder, "perfctrs")[1], "100, a.exe ( 100), No, 11, 12, 7, 2, 6, 1, 8, 3, 9, 4, 10, 5, 11264");
}

#[test]
fn marks_modules_and_statistics_in_one_pass() {
    let folder = recording();
    assert_eq!(lines(&folder, "mark"), ["Mark Type, TimeStamp, Label", "Mark, 160, ready", "Mark, 170, ready"]);
    assert_eq!(lines(&folder, "marks -summary")[1], "2, 160, 170, \"ready\"");
    assert_eq!(
        lines(&folder, "image")[1],
        "MIN, MAX, Unknown ( 0), 0xfffff80000001000, 0xfffff80000002000, 0x00012345, 0x5a000040, \
         \"\\SystemRoot\\System32\\drivers\\slow.sys\""
    );
    assert_eq!(
        lines(&folder, "symcache -quiet -imageid"),
        ["TimeDateStamp, ImageSize, OrigFileName", "0x5a000040, 0x00001000, \"slow.sys\""]
    );
    // The symbols of the module are not identified, so it has no row: scripts parse each row.
    assert_eq!(
        lines(&folder, "symcache -quiet -imageid -dbgid"),
        ["TimeDateStamp, ImageSize, OrigFileName, CodeView Record"]
    );
    let statistics = lines(&folder, "tracestats -detail -timezone utc");
    for line in [
        "Number of Processors : 1",
        "Start time (UTC) : 2024/01/09:08:00:00.6370000",
        "# Lost Events : 0",
        "Total # Lost Buffers : 0",
        "0x0020 0x00 0x0002 2 112 Pool: PoolAllocation",
    ] {
        assert!(statistics.iter().any(|row| row == line), "{line}: {statistics:#?}");
    }
    let metadata = lines(&folder, "eventmetadata");
    assert!(metadata.iter().any(|row| row == "Fields: SessionId, OldProcessId, NewProcessId"), "{metadata:#?}");
    let configuration = folder.answer("xperf -i trace.etl -a sysconfig -xml -cpu -build");
    let document = roxmltree::Document::parse(&configuration).unwrap();
    let names: Vec<&str> = document
        .root_element()
        .first_element_child()
        .unwrap()
        .children()
        .filter(roxmltree::Node::is_element)
        .map(|node| node.tag_name().name())
        .collect();
    assert_eq!(names, ["cpu", "build"]);
}

#[test]
fn reports_missing_evidence_and_flags() {
    let folder = Folder::boot("services-wes7.toml");
    for action in [
        "registry",
        "pool",
        "pooltag",
        "heap",
        "spinlock",
        "drvdelay",
        "focuschange",
        "winsat",
        "prefetch",
        "perfctrs",
        "pnp",
    ] {
        // Scripts continue with an empty table, as with xperf.
        let (columns, message) = folder.empty_table(&format!("xperf -i boot.etl -a {action}"));
        assert!(columns.contains(','), "{action}: {columns}");
        assert!(message.contains("; this needs "), "{action}: {message}");
        let (columns_again, message) = folder.empty_table(&format!("xperf -i boot.etl -quiet -a {action}"));
        assert_eq!((columns_again, message.as_str()), (columns, ""), "{action}");
    }
    let (code, message) = folder.failure("xperf -i boot.etl -quiet -a bootprefetch -events");
    assert_eq!(code, 2);
    assert!(message.contains("; this needs "), "{message}");
}

#[test]
fn shows_read_ahead_by_phase_and_disk() {
    let folder = Folder::boot("slow-boot.toml");
    let text = folder.answer("xperf -i boot.etl -quiet -a bootprefetch -summary -disktime");
    let rows: Vec<&str> = text.lines().map(|line| line.split(',').next().unwrap().trim()).collect();
    assert_eq!(
        rows[..9],
        [
            "ReadyBoot Summary Table",
            "Boot Phase",
            "Pre Session Init",
            "Session Init",
            "WinLogon Init",
            "Explorer Init",
            "Post Boot",
            "Boot Total",
            "Trace Tail"
        ]
    );
    let number = |row: &str, column: usize| -> f64 {
        let row = text.lines().find(|line| line.starts_with(row)).unwrap();
        row.split(',').nth(column).unwrap().trim().parse().unwrap()
    };
    // The requests of the phases sum to the requests of the boot, and the disk times to the elapsed time.
    for column in [4, 8, 11] {
        let phases = ["Pre Session Init", "Session Init", "WinLogon Init", "Explorer Init", "Post Boot"];
        let sum: f64 = phases.iter().map(|phase| number(phase, column)).sum();
        assert!((sum - number("Boot Total", column)).abs() < 0.5, "{text}");
    }
    let parts =
        ["Prefetching", "System Volume Misses", "System Volume Writes", "Non-System", "Flushes", "Disk Idle Time"];
    let sum: f64 = parts.iter().map(|part| number(part, 1)).sum();
    assert!((sum - number("Total", 1)).abs() < 0.01, "{text}");
    assert!((number("Total", 1) - number("Boot Total", 2)).abs() < 0.01, "{text}");
}

#[test]
fn power_events_are_rows_of_provider_task_and_fields() {
    let rows = lines(&recording(), "dumper -provider Microsoft-Windows-Kernel-Power");
    let last_preamble_row = rows.iter().position(|row| row.starts_with("FirstReliableCSwitch") && row.ends_with("-1"));
    assert_eq!(
        rows[last_preamble_row.unwrap() + 1..],
        ["Microsoft-Windows-Kernel-Power/PowerTransition/win:Info, 157, a.exe ( 100), 101, 0, , , , , 1, 2, 3, 4, 5"]
    );
    let header = rows.iter().position(|row| row == "EndHeader").unwrap();
    assert!(
        rows[..header].contains(
            &"Microsoft-Windows-Kernel-Power/PowerTransition/win:Info, TimeStamp, Process Name ( PID), ThreadID, CPU, \
          etw:ActivityId, etw:Related ActivityId, etw:UserSid, etw:SessionId, DriverWakeTime, TotalResumeTime, \
          BiosInitTime, ResumeAppsTime, ResumeServicesTime"
                .to_owned()
        )
    );
}
