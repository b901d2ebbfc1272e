//! Hardware counters that are recorded with events, and rows of the events that recorders add at the end.

use onoff_testkit::assemble::{ClassHeader, EtlBuilder, Header, Payload, Record, Session};
use onoff_testkit::compress::Compression;
use onoff_testkit::events::kernel::{LifetimeEvent, Process, Thread};

use crate::dumper::{collapse_blanks, run_actions};

/// Returns the clock ticks of a time in µs since the session start.
fn ticks(us: u64) -> u64 {
    Session::windows_10(1).start_ticks + us * 10
}

/// A context switch. Pairs are (new thread, old thread), except `wait`: (wait reason, flags) of the old thread.
struct Switch {
    threads: (u32, u32),
    priorities: (u8, u8),
    wait: (u8, u8),
    ideal_processor: u8,
    wait_time: u32,
    quantum: u32,
}

impl Switch {
    fn record<'c>(&self, version: u8, us: u64, counters: &'c [u64]) -> Record<'c> {
        let Self { threads: (new_tid, old_tid), priorities: (new_priority, old_priority), .. } = *self;
        let (wait_reason, flags) = self.wait;
        let payload = Payload::wide()
            .u32(new_tid)
            .u32(old_tid)
            .bytes(&[new_priority, old_priority, 0, 0, wait_reason, flags, 5, self.ideal_processor])
            .u32(self.wait_time)
            .u32(self.quantum);
        // Real events of version 5 end with this field.
        let payload = if version >= 5 { payload.u32(2) } else { payload };
        Record::new(ticks(us), Header::Perfinfo { hook: 0x0524, version, pebs_index: None, counters }, payload)
    }
}

const QUEUE: u8 = 15;
const LPC_REPLY: u8 = 17;
const SWITCHES: [(u64, Switch, [u64; 2]); 4] = [
    (
        141_265,
        Switch {
            threads: (0, 14460),
            priorities: (0, 14),
            wait: (QUEUE, 0),
            ideal_processor: 3,
            wait_time: 0,
            quantum: 1,
        },
        [1_000_000, 40_000_000],
    ),
    (
        214_804,
        Switch {
            threads: (560, 5956),
            priorities: (12, 9),
            wait: (QUEUE, 0x25),
            ideal_processor: 3,
            wait_time: 0,
            quantum: 1,
        },
        [1_101_400, 44_324_000],
    ),
    // The next two switches are from published output.
    (
        214_810,
        Switch {
            threads: (5956, 560),
            priorities: (9, 12),
            wait: (QUEUE, 0),
            ideal_processor: 3,
            wait_time: 0,
            quantum: 84_017_152,
        },
        [1_101_534, 44_324_578],
    ),
    (
        214_821,
        Switch {
            threads: (14460, 5956),
            priorities: (14, 9),
            wait: (LPC_REPLY, 1),
            ideal_processor: 3,
            wait_time: 5,
            quantum: 77_701_120,
        },
        [1_101_713, 44_326_484],
    ),
];

fn add_processes(builder: &mut EtlBuilder) {
    for (id, image, thread) in [(4, "System", 560), (888, "csrss.exe", 14460), (14224, "ConditionalCount.exe", 5956)] {
        let process = Process { id, parent: 4, session: 1, exit_status: 0, image, command_line: image, user: &[18] };
        builder.push(0, &process.record(LifetimeEvent::RundownStart, ticks(0), thread, id));
        let thread = Thread { id: thread, process: id, base_priority: 8, io_priority: 2, service_tag: 0 };
        builder.push(0, &thread.record(LifetimeEvent::RundownStart, ticks(0), thread.id, id));
    }
}

fn recording(version: u8) -> Vec<u8> {
    let mut builder = EtlBuilder::new(Session::windows_10(2));
    add_processes(&mut builder);
    for (us, switch, counters) in &SWITCHES {
        builder.push(1, &switch.record(version, *us, counters));
    }
    let interrupt = Payload::wide().pointer(0x7ff8_0000_1234).u32(5956).u16(26).u16(0);
    builder.push(1, &Record::perfinfo(0x0f2f, 2, ticks(214_830), interrupt));
    // Recorders write the names when they stop.
    let names = Payload::wide().u32(2).text("BranchMispredictions").text("BranchInstructions");
    builder.push(0, &Record::perfinfo(0x0f30, 2, ticks(214_900), names));
    builder.finish()
}

fn rows(text: &str) -> Vec<String> {
    text.lines().map(collapse_blanks).collect()
}

#[test]
fn counters_precede_the_row_of_their_event() {
    let dump = run_actions(&recording(5), "-a dumper");
    let rows = rows(&dump);
    for expected in [
        "Pmc, TimeStamp, ThreadID, BranchMispredictions, BranchInstructions",
        "CSwitch, TimeStamp, New Process Name ( PID), New TID, NPri, NQnt, TmSinceLast, WaitTime, Old Process Name ( PID), \
         Old TID, OPri, OQnt, OldState, Wait Reason, Swapable, InSwitchTime, CPU, IdealProc, OldRemQnt, NewPriDecr, \
         PrevCState, OldThrdBamQosLevel, NewThrdBamQosLevel",
    ] {
        assert_eq!(rows.iter().filter(|row| *row == expected).count(), 1, "{expected}");
    }
    let index = rows.iter().position(|row| row.starts_with("Pmc, 214810")).unwrap();
    assert_eq!(
        rows[index..index + 4],
        [
            "Pmc, 214810, 5956, 1101534, 44324578",
            "CSwitch, 214810, ConditionalCount.exe (14224), 5956, 9, -1, 6, 0, System ( 4), 560, 12, -1, Waiting, WrQueue, \
             NonSwap, 6, 1, 3, 84017152, 0, 0, Important, Important",
            "Pmc, 214821, 14460, 1101713, 44326484",
            "CSwitch, 214821, csrss.exe ( 888), 14460, 14, -1, 73556, 5, ConditionalCount.exe (14224), 5956, 9, -1, \
             Waiting, WrLpcReply, Swapable, 11, 1, 3, 77701120, 0, 0, Important, Important",
        ]
    );
    // Flags 0x25: wait mode 1, old level 2, new level 2.
    let switch = rows.iter().find(|row| row.starts_with("CSwitch, 214804")).unwrap();
    assert!(switch.contains(", Swapable, ") && switch.ends_with(", Low, Low"), "{switch}");
    // Widths match published rows.
    assert!(dump.contains("\r\n                    Pmc,     214810,       5956, 1101534, 44324578\r\n"), "{dump}");
}

#[test]
fn old_switches_have_no_quality_of_service() {
    let rows = rows(&run_actions(&recording(2), "-a dumper"));
    assert!(rows.iter().any(|row| row.starts_with("CSwitch, ") && row.ends_with(", PrevCState")));
    assert!(rows.iter().any(|row| row.ends_with(", 3, 77701120, 0, 0")));
    assert!(!rows.iter().any(|row| row.contains("Important") || row.contains("BamQos")));
}

#[test]
fn streaming_dump_writes_headers_for_optional_columns() {
    use std::ops::ControlFlow;

    use onoff_sources::{EventFilter, EventStream, Options, files_from_bytes};
    use onoff_xperf::layouts::dumper::Dumper;

    for (version, header_blocks) in [(2, 1), (5, 2)] {
        let options = Options::default();
        let files = files_from_bytes([("trace.etl".to_owned(), recording(version))], &options.limits).unwrap();
        let (mut dumper, mut text) = (Dumper::new(), Vec::new());
        let end = EventStream::open(&files, &options).unwrap().for_each(&EventFilter::default(), &options, |event| {
            dumper.append(event, &mut text);
            ControlFlow::<()>::Continue(())
        });
        assert!(end.outcome.is_continue());
        let text = String::from_utf8(text).unwrap();
        // The header block of the counters does not depend on the version.
        assert_eq!(
            text.matches("ThreadID, BranchMispredictions, BranchInstructions\nEndHeader\n").count(),
            1,
            "{text}"
        );
        assert_eq!(
            text.matches("PrevCState, OldThrdBamQosLevel, NewThrdBamQosLevel\nEndHeader\n").count(),
            header_blocks - 1
        );
    }
}

#[test]
fn counter_interrupts_match_xperf() {
    let titles = "PmcInterrupt, TimeStamp, CPU, Process Name ( PID), Image!Function, ProfileSource, Reserved";
    let output = run_actions(&recording(5), "-a pmc");
    let expected = r#"PmcInterrupt, 214830, 1, ConditionalCount.exe (14224), "Unknown"!0x7ff800001234, 26, 0"#;
    assert_eq!(rows(&output), [titles, expected]);
    let dump = rows(&run_actions(&recording(5), "-a dumper"));
    assert!(dump.iter().any(|row| row == expected) && dump.iter().any(|row| row == titles));
    let mut builder = EtlBuilder::new(Session::windows_10(2));
    add_processes(&mut builder);
    let empty = builder.finish();
    assert_eq!(rows(&run_actions(&empty, "-quiet -a pmc")), [titles]);
    assert_eq!(rows(&run_actions(&empty, "-quiet -a pmc -thread")), ["Usec, Runs, Process Name ( PID), TID"]);
}

#[test]
fn sums_counters_by_thread_and_process() {
    let output = rows(&run_actions(&recording(5), "-a pmc -thread -process"));
    let threads = [
        "Usec, Runs, Process Name ( PID), TID, BranchMispredictions, BranchInstructions",
        "11, 1, ConditionalCount.exe (14224), 5956, 179, 1906",
        "6, 1, System ( 4), 560, 134, 578",
        // Thread 5956 was switched out although the idle thread had been switched in.
        "Skipped runs (a counter ran backwards, or a context switch is missing): 1",
    ];
    assert_eq!(output[..4], threads);
    assert_eq!(output[5], "11, 1, ConditionalCount.exe (14224), 179, 1906");
}

#[test]
fn recorder_events_at_the_end_have_columns() {
    let mut builder = EtlBuilder::new(Session::windows_10(1));
    add_processes(&mut builder);
    let mut push = |class: &str, opcode: u8, version: u16, payload: Payload| {
        let class = class.parse().unwrap();
        let event = ClassHeader { class, opcode, level: 0, version, thread: u32::MAX, process: 4 };
        builder.push(0, &Record::full(event, ticks(50), payload));
    };
    let image = "b3e675d7-2554-4f18-830b-2762732560de";
    let payload_with_base = || Payload::wide().pointer(0x7ff8_1234_0000);
    push(image, 0, 2, payload_with_base().pointer(0x1_2000).u32(888).u32(0x4da8_9d03).text("client.dll"));
    let identity = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    push(image, 36, 2, payload_with_base().u32(888).bytes(&identity).u32(753).bytes(b"u:\\client.pdb\0"));
    push(image, 32, 2, payload_with_base().u32(888));
    let xml = "<SystemConfig>\r\n<Processor><Instance id=\"0\"/>\r\n</Processor></SystemConfig>";
    let text: Vec<u8> = xml.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    let packed = Compression::Lznt1.compress(&text);
    let payload = Payload::wide().u32(1).u32(text.len() as u32).bytes(&packed);
    push("ed54dff8-c409-4cf6-bf83-05e1e61a09c4", 37, 0, payload);
    // A truncated text is decompressed as far as possible.
    push("ed54dff8-c409-4cf6-bf83-05e1e61a09c4", 35, 0, Payload::wide().u32(1).u32(u32::MAX).bytes(&packed[..20]));
    let rows = rows(&run_actions(&builder.finish(), "-a dumper"));
    for expected in [
        "ImageId, 50, csrss.exe ( 888), 0x00007ff812340000, 0x00012000, 0x4da89d03, \"client.dll\"",
        "ImageId/DbgID_RSDS, 50, csrss.exe ( 888), 0x00007ff812340000, {00010203-0405-0607-0809-0a0b0c0d0e0f}, 753, \
         \"u:\\client.pdb\"",
        "ImageId/None, 50, csrss.exe ( 888), 0x00007ff812340000",
        "WinSAT_SystemConfig, TimeStamp, State, Xml",
        "WinSAT_SystemConfig, 50, 1, <SystemConfig> <Processor><Instance id=\"0\"/> </Processor></SystemConfig>",
    ] {
        assert!(rows.iter().any(|row| row == expected), "{expected}\n{}", rows.join("\n"));
    }
    assert!(rows.iter().any(|row| row.starts_with("WinSAT_Metrics, 50, 1, <Sys")), "{}", rows.join("\n"));
}
