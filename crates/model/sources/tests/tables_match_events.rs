//! Reads every available recording both as tables and as an event stream, and checks that they agree.
//!
//! The event stream is the source of `xperf -a dumper`, the other `xperf` actions, and events as JSON.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use onoff_etl::{ExtendedItem, Input, Recording};
use onoff_files::open_all;
use onoff_simulator::{Scenario, Truth};
use onoff_sources::{EventFilter, EventStream, Files, Limits, Options, Pattern, files_from_bytes, open_files};
use onoff_testkit::assemble::{EtlBuilder, Payload, Record, Session};
use onoff_testkit::events::kernel::{
    Image, LifetimeEvent, Process, sampled_profile, stack_definition, stack_reference,
};
use onoff_testkit::events::storage::{DiskRequest, IoPriority, Operation};
use onoff_trace::{DescribedEvent, EventOrigin, Losses, TableName, TableSet, Trace};

/// Returns the Windows recordings in a folder and its subfolders, packed or not.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            paths.extend(recordings(&path));
        } else if name.ends_with(".etl") || name.ends_with(".etl.xz") {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// A call stack: time of the event, process, thread, return addresses.
type Stack = (i64, u32, u32, Vec<u64>);

/// The contents of a recording, read in one of the two ways.
#[derive(Debug, Default, PartialEq)]
struct Contents {
    switches: usize,
    /// Time and thread.
    samples: Vec<(i64, u32)>,
    /// Completion, size, file.
    disk_requests: Vec<(i64, u64, String)>,
    /// Time and file.
    hard_faults: Vec<(i64, String)>,
    /// Process id and image.
    processes: BTreeSet<(u32, String)>,
    /// Thread id and process id.
    threads: BTreeSet<(u32, u32)>,
    /// Process, address, path.
    images: BTreeSet<(u32, u64, String)>,
    services: BTreeSet<String>,
    stacks: Vec<Stack>,
}

const TABLES: &[TableName] = &[
    TableName::ContextSwitches,
    TableName::Samples,
    TableName::DiskIos,
    TableName::HardFaults,
    TableName::Processes,
    TableName::Threads,
    TableName::Images,
    TableName::ServiceTransitions,
    TableName::Stacks,
];

impl Contents {
    fn from_tables(trace: &Trace) -> Self {
        let text = |id| trace.text(id).to_owned();
        let (path, file_name) = (|id| path_without_volume(trace.text(id)), |id| file_name(trace.text(id)));
        let mut contents = Self {
            switches: trace.context_switches.len(),
            samples: trace.samples.iter().map(|sample| (sample.time_ns, sample.tid)).collect(),
            disk_requests: trace.disk_ios.iter().map(|io| (io.complete_ns, io.size, path(io.file))).collect(),
            hard_faults: trace.hard_faults.iter().map(|fault| (fault.end_ns, path(fault.file))).collect(),
            processes: trace
                .processes
                .iter()
                .map(|process| (process.pid, text(process.image)))
                .collect::<BTreeSet<_>>(),
            threads: trace.threads.iter().map(|thread| (thread.tid, thread.pid)).collect(),
            images: trace.images.iter().map(|image| (image.pid, image.base, file_name(image.path))).collect(),
            services: trace.service_transitions.iter().map(|row| text(row.service)).collect(),
            stacks: trace
                .stacks
                .iter()
                .map(|stack| (stack.time_ns, stack.pid, stack.tid, trace.stack_pool.get(stack.stack).to_vec()))
                .collect(),
        };
        contents.sort();
        contents
    }

    fn sort(&mut self) {
        self.samples.sort_unstable();
        self.disk_requests.sort_unstable();
        self.hard_faults.sort_unstable();
        self.stacks.sort_unstable();
    }

    fn add_event(&mut self, event: &DescribedEvent<'_>) {
        let number = |names: &[&str]| names.iter().find_map(|name| event.number(name)).unwrap_or_default();
        let id = |names: &[&str]| u32::try_from(number(names)).unwrap();
        let text = |names: &[&str]| {
            let value = names.iter().find_map(|name| event.field(name)?.as_text());
            value.unwrap_or_default().to_owned()
        };
        let file = || path_without_volume(event.derived.file.unwrap_or_default());
        const PID: &[&str] = &["ProcessId", "ProcessID"];
        const TID: &[&str] = &["TThreadId", "ThreadID"];
        let process = |pid: u32| event.directory.process(pid).unwrap_or_default().to_owned();
        match (event.provider, event.id) {
            ("Microsoft-Windows-Services", _) => {
                self.services.extend(Some(text(&["ServiceName"])).filter(|name| !name.is_empty()))
            }
            ("Microsoft-Windows-Kernel-Process", 1 | 2 | 15) => {
                self.processes.insert((id(PID), process(id(PID))));
            }
            ("Microsoft-Windows-Kernel-Process", 3 | 4) => {
                self.threads.insert((id(TID), id(PID)));
            }
            ("Microsoft-Windows-Kernel-Process", 5 | 6) => {
                self.images.insert((id(PID), number(&["ImageBase"]), file_name(&text(&["ImageName"]))));
            }
            _ => {}
        }
        // Truncated events are losses and are not read in either way.
        let EventOrigin::Kernel { hook } = event.origin else { return };
        if event.payload_size == 0 {
            return;
        }
        match hook {
            0x0524 => self.switches += 1,
            0x0f2e => self.samples.push((event.time_ns, event.tid.unwrap())),
            0x010a | 0x010b | 0x0137 | 0x0138 => {
                self.disk_requests.push((event.time_ns, number(&["TransferSize"]), file()));
            }
            0x010e | 0x0139 => self.disk_requests.push((event.time_ns, 0, file())),
            0x0220 => self.hard_faults.push((event.time_ns, file())),
            0x0301..=0x0304 => {
                self.processes.insert((id(PID), process(id(PID))));
            }
            0x0501..=0x0504 => {
                self.threads.insert((id(TID), event.directory.thread_process(id(TID)).unwrap()));
            }
            0x030a | 0x1402..=0x1404 => {
                let path = text(&["FileName", "ImageFileName"]);
                self.images.insert((id(PID), number(&["ImageBase", "BaseAddress"]), file_name(&path)));
            }
            0x1820 | 0x1825 | 0x1826 => {
                let frames = event.derived.frames.unwrap_or_default().to_vec();
                let stack = (event.derived.stack_event_ns.unwrap(), event.pid.unwrap(), event.tid.unwrap(), frames);
                self.stacks.push(stack);
            }
            _ => {}
        }
    }
}

/// Returns the file name of a path, because rundowns spell the folders of a module in several ways.
fn file_name(path: &str) -> String {
    path.rsplit('\\').next().unwrap_or(path).to_owned()
}

/// Removes the volume from a path: the table has a device name, and the stream has a drive letter, or two backslashes for
/// the network (`\Device\Mup`).
fn path_without_volume(path: &str) -> String {
    if let Some(network_path) = path.strip_prefix(r"\\") {
        return format!(r"\{network_path}");
    }
    let has_drive = path.get(1..2) == Some(":");
    let path_on_volume = if has_drive {
        path.get(2..)
    } else {
        path.strip_prefix(r"\Device\").and_then(|device_path| device_path.get(device_path.find('\\')?..))
    };
    path_on_volume.unwrap_or(path).to_owned()
}

/// Counts the stacks that are attached to provider events, which are rows of the table but not events.
fn attached_stack_count(files: &Files) -> usize {
    let inputs: Vec<Input<'_>> = files.iter().map(|file| Input { name: file.name(), bytes: file.bytes() }).collect();
    let recording = Recording::open(&inputs).unwrap();
    let mut count = 0;
    let _ = recording.for_each(|record| {
        let is_stack = |item: &ExtendedItem<'_>| {
            matches!(
                item.kind,
                ExtendedItem::STACK_TRACE_32
                    | ExtendedItem::STACK_TRACE_64
                    | ExtendedItem::STACK_KEY_32
                    | ExtendedItem::STACK_KEY_64
            )
        };
        count += record.extended_items().filter(is_stack).count();
        ControlFlow::<Infallible>::Continue(())
    });
    count
}

/// Returns the differences between the table and the event stream, each on one line.
fn differences(path: &Path) -> Vec<String> {
    let options = Options::default();
    let files = open_all(&[path.to_owned()], &Limits::default()).unwrap();
    let trace = open_files(&files, TableSet::from_names(TABLES), &options).unwrap();
    let mut tables = Contents::from_tables(&trace);

    let mut stream = EventStream::open(&files, &options).unwrap();
    let _ = stream.survey(&EventFilter::default());
    let mut events = Contents::default();
    // Lifetimes of process ids, from the table.
    let mut lifetimes: BTreeMap<u32, Vec<(i64, i64, &str)>> = BTreeMap::new();
    for process in trace.processes.iter() {
        let (start_ns, end_ns) = (process.start_ns.unwrap_or(i64::MIN), process.end_ns.unwrap_or(i64::MAX));
        lifetimes.entry(process.pid).or_default().push((start_ns, end_ns, trace.text(process.image)));
    }
    let mut names = BTreeMap::new();
    let end = stream.for_each(&EventFilter::default(), &options, |event| {
        events.add_event(event);
        if let Some(pid) = event.pid.filter(|&pid| pid != 0) {
            let lifetime = lifetimes
                .get(&pid)
                .into_iter()
                .flatten()
                .find(|(start_ns, end_ns, _)| *start_ns <= event.time_ns && event.time_ns < *end_ns);
            let stream_name = event.directory.process(pid).unwrap_or_default();
            if let Some(&(_, _, table_name)) = lifetime
                && table_name != stream_name
            {
                *names.entry((pid, table_name, stream_name.to_owned())).or_insert(0) += 1;
            }
        }
        ControlFlow::<Infallible>::Continue(())
    });
    assert!(end.outcome.is_continue());
    events.sort();
    // The idle process has a name even if it is not in the recording.
    tables.processes.retain(|&(pid, _)| pid != 0);
    events.processes.retain(|&(pid, _)| pid != 0);
    // Only stacks that are attached to events are in the table but not in the stream.
    let mut remaining: BTreeMap<&Stack, i64> = BTreeMap::new();
    tables.stacks.iter().for_each(|stack| *remaining.entry(stack).or_default() += 1);
    events.stacks.iter().for_each(|stack| *remaining.entry(stack).or_default() -= 1);
    let (missing, extra): (i64, i64) =
        remaining.values().fold((0, 0), |(missing, extra), &count| (missing + count.max(0), extra + (-count).max(0)));
    let mut differences = Vec::new();
    let attached_count = i64::try_from(attached_stack_count(&files)).unwrap();
    if (missing, extra) != (attached_count, 0) {
        let example = remaining.iter().find(|(_, count)| **count < 0);
        differences.push(format!(
            "stacks: of {} in the table {missing} are not in the events ({attached_count} are attached to events), \
             of {} in the events {extra} are not in the table, e.g. {example:?}",
            tables.stacks.len(),
            events.stacks.len()
        ));
    }
    (tables.stacks, events.stacks) = (Vec::new(), Vec::new());
    if !names.is_empty() {
        differences.push(format!("process names in the table and in the events: {names:?}"));
    }
    macro_rules! compare {
        ($($field:ident),+) => {
            $(if tables.$field != events.$field {
                let (table, stream) = (format!("{:?}", tables.$field), format!("{:?}", events.$field));
                let common_length = table.bytes().zip(stream.bytes()).take_while(|(a, b)| a == b).count();
                let start = common_length.saturating_sub(100);
                let excerpt = |text: &str| text.get(start..).map(|end| end.chars().take(240).collect::<String>());
                let (table, stream) = (excerpt(&table), excerpt(&stream));
                differences.push(format!("{}: table {table:?}, events {stream:?}", stringify!($field)));
            })+
        };
    }
    compare!(switches, samples, disk_requests, hard_faults, processes, threads, images, services);
    differences
}

fn check_folder(folder: &Path, min_count: usize) {
    let recordings = recordings(folder);
    assert!(recordings.len() >= min_count, "{} recordings in {}", recordings.len(), folder.display());
    let differences: Vec<String> = recordings
        .iter()
        .flat_map(|path| {
            differences(path)
                .into_iter()
                .map(|difference| format!("{}: {difference}", path.display()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn tables_match_events_for_real_recordings() {
    if let Some(folder) = onoff_testkit::real_recordings::samples_folder("etl") {
        check_folder(&folder, 30);
    }
}

#[test]
fn tables_match_events_for_repository_samples() {
    check_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../samples"), 15);
}

/// Simulates a short boot after `change`; returns the recording and the simulated events.
fn boot(change: impl FnOnce(&mut Scenario)) -> (Files, Truth) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios/short-boot.toml");
    let mut scenario = Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    change(&mut scenario);
    let simulated = scenario.simulate().unwrap();
    let files = (0..).zip(simulated.files).map(|(number, bytes)| (format!("{number}.etl"), bytes));
    (files_from_bytes(files, &Limits::default()).unwrap(), simulated.truth)
}

#[test]
fn reused_stack_keys_resolve_by_time() {
    let (files, truth) = boot(|scenario| {
        scenario.recording.switch_stacks_percent = 50;
        scenario.recording.sample_interval = Some("5ms".parse().unwrap());
        scenario.recording.keyed_stacks = true;
    });
    assert!(truth.kinds["1825"] > 300 && truth.kinds["1823"] > 300, "keys are reused: {:?}", truth.kinds);
    let mut simulated: Vec<Stack> =
        truth.stacks.into_iter().map(|stack| (stack.event_ns, stack.pid, stack.tid, stack.frames)).collect();
    simulated.sort_unstable();
    let options = Options::default();
    let trace = open_files(&files, TableSet::from_names(TABLES), &options).unwrap();
    assert_eq!(Contents::from_tables(&trace).stacks, simulated);
    assert_eq!(trace.losses.count("stack_key_unknown"), 0);
    let mut events = Contents::default();
    let end = EventStream::open(&files, &options).unwrap().for_each(&EventFilter::default(), &options, |event| {
        events.add_event(event);
        ControlFlow::<Infallible>::Continue(())
    });
    assert!(end.outcome.is_continue());
    events.sort();
    assert_eq!(events.stacks, simulated);
}

#[test]
fn network_events_have_readable_addresses_and_ports() {
    let (files, _) = boot(|scenario| {
        let sends = ["send 1460 192.0.2.9:443", "send 84 [2001:db8::9]:8443"];
        scenario.logon.work.extend(sends.map(|step| step.parse().unwrap()));
    });
    let options = Options::default();
    let mut transfers = Vec::new();
    let filter =
        EventFilter { providers: vec![Pattern::new("Microsoft-Windows-Kernel-Network")], ..EventFilter::default() };
    let end = EventStream::open(&files, &options).unwrap().for_each(&filter, &options, |event| {
        assert!(event.complete && event.described, "{event:?}");
        let text = |name: &str| event.field(name).and_then(|value| value.as_text()).unwrap().to_owned();
        let number = |name: &str| event.number(name).unwrap();
        assert_eq!((number("connid"), event.number("PID")), (0xffff_a10f_0000_1230, event.pid.map(u64::from)));
        transfers.push(format!(
            "{}: {} of {}:{} to {}:{}",
            event.id,
            number("size"),
            text("saddr"),
            number("sport"),
            text("daddr"),
            number("dport")
        ));
        ControlFlow::<Infallible>::Continue(())
    });
    assert!(end.outcome.is_continue());
    assert_eq!(
        transfers,
        [
            "10: 1460 of 10.0.0.7:49152 to 192.0.2.9:443",
            "11: 1460 of 192.0.2.9:443 to 10.0.0.7:49152",
            "26: 84 of fd00::7:49152 to 2001:db8::9:8443",
            "27: 84 of 2001:db8::9:8443 to fd00::7:49152",
        ]
    );
}

/// Converts a time in ms since the start of the session to ticks: 10,000 per ms.
fn ticks(ms: u64) -> u64 {
    Session::windows_10(1).start_ticks + ms * 10_000
}

/// Builds a recording with `records`.
fn build_recording(records: &[Record<'_>]) -> Files {
    let mut builder = EtlBuilder::new(Session::windows_10(1));
    for record in records {
        builder.push(0, record);
    }
    files_from_bytes([("trace.etl".to_owned(), builder.finish())], &Limits::default()).unwrap()
}

/// Visits the events of a recording with `records`; returns the losses.
fn visit_events(records: &[Record<'_>], mut visit: impl FnMut(&DescribedEvent<'_>)) -> Losses {
    let (files, options) = (build_recording(records), Options::default());
    let end = EventStream::open(&files, &options).unwrap().for_each(&EventFilter::default(), &options, |event| {
        visit(event);
        ControlFlow::<Infallible>::Continue(())
    });
    assert!(end.outcome.is_continue());
    end.losses
}

#[test]
fn reused_file_keys_resolve_by_time() {
    const KEY: u64 = 0xffff_e288_0000_1230;
    let read_request = |ms: u64| {
        let request = DiskRequest {
            disk: 0,
            operation: Operation::Read,
            size: 4096,
            offset: ms << 12,
            file: KEY,
            irp: 0x1000 + ms,
            priority: IoPriority::Normal,
            thread: 101,
        };
        request.complete(ticks(ms), 10_000)
    };
    let file_record = |hook: u16, ms: u64, path: &str| {
        Record::system(hook, 2, ticks(ms), 101, 100, Payload::wide().pointer(KEY).text(path))
    };
    let records = [
        read_request(10),
        // The name of a file that was open before the recording is only in its end record.
        file_record(0x0423, 20, r"\Windows\first.dll"),
        file_record(0x0420, 30, r"\Windows\second.dll"),
        read_request(40),
        file_record(0x0423, 50, r"\Windows\second.dll"),
        file_record(0x0420, 60, r"\Windows\third.dll"),
        read_request(70),
        file_record(0x0424, 90, r"\Windows\third.dll"),
    ];
    let mut files = Vec::new();
    let _ = visit_events(&records, |event| {
        if event.name == "DiskRead" {
            files.push(event.derived.file.unwrap_or_default().to_owned());
        }
    });
    assert_eq!(files, [r"\Windows\first.dll", r"\Windows\second.dll", r"\Windows\third.dll"]);
}

#[test]
fn addresses_resolve_to_the_module_loaded_at_the_time() {
    let process = Process {
        id: 100,
        parent: 4,
        session: 1,
        exit_status: 0,
        image: "spin.exe",
        command_line: "spin.exe",
        user: &[18],
    };
    let image = |base: u64, path: &'static str| Image { process: 100, base, size: 0x4000, path, time_stamp: 7 };
    let (first, second) = (image(0x1_0000, r"\Windows\first.dll"), image(0x1_2000, r"\Windows\second.dll"));
    let unload = |image: &Image<'_>, ms: u64| {
        let payload = Payload::wide().pointer(image.base).pointer(image.size).u32(100).u32(0).u32(7).u32(0);
        let payload = payload.pointer(0).u32(0).u32(0).u32(0).u32(0).text(image.path);
        Record::system(0x1402, 3, ticks(ms), 101, 100, payload)
    };
    let records = [
        process.record(LifetimeEvent::RundownStart, ticks(0), 101, 100),
        sample(10),
        // The first module was loaded before the recording: its first event is the unload.
        unload(&first, 20),
        second.record(LifetimeEvent::Start, ticks(30), 101, 100),
        sample(40),
        second.record(LifetimeEvent::RundownEnd, ticks(90), 101, 100),
    ];
    let mut modules = Vec::new();
    let _ = visit_events(&records, |event| {
        if event.name == "SampledProfile" {
            modules.push(event.directory.module(100, 0x1_2800).unwrap_or_default().to_owned());
        }
    });
    assert_eq!(modules, ["first.dll", "second.dll"]);
}

#[test]
fn undefined_stack_keys_are_counted() {
    const KEY: u64 = 0xffff_8a00_0000_1000;
    let records = [
        stack_definition(true, ticks(10), KEY, &[0x7ff8_1234_0010]),
        sample(20),
        // The key was reused, without a definition.
        stack_reference(ticks(21), ticks(20), 100, 101, KEY),
    ];
    let mut frames = Vec::new();
    let losses = visit_events(&records, |event| {
        if event.name == "Stack" {
            frames.push(event.derived.frames.map(<[u64]>::to_vec));
        }
    });
    assert_eq!(frames, [None]);
    let trace = open_files(&build_recording(&records), TableSet::from_names(TABLES), &Options::default()).unwrap();
    assert_eq!([losses.count("stack_key_unknown"), trace.losses.count("stack_key_unknown")], [1, 1]);
    assert_eq!(Contents::from_tables(&trace).stacks.len(), 1);
    assert!(Contents::from_tables(&trace).stacks[0].3.is_empty());
}

fn sample(ms: u64) -> Record<'static> {
    Record::perfinfo(0x0f2e, 2, ticks(ms), Payload::wide().bytes(&sampled_profile(0x7ff8_1234_0010, 101)))
}
