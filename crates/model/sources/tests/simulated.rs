//! Compares what is read from simulated boots with what happened in them, to the clock tick.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onoff_files::open;
use onoff_simulator::{Scenario, Truth};
use onoff_sources::{Limits, Options, Progress, files_from_bytes, open_files};
use onoff_trace::{ActivityKind, DevicePhase, DiskOperation, ServiceOutcome, TableName, TableSet, Trace, milestone};

/// Every scenario that simulates quickly: name, what happened, and what was read.
fn simulated() -> Vec<(String, Truth, Trace)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios");
    let mut scenarios: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter(|path| !path.ends_with("benchmark.toml"))
        .collect();
    scenarios.sort();
    assert!(scenarios.len() >= 5);
    let mut simulated = Vec::new();
    for path in scenarios {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut scenario = Scenario::from_toml(&text).unwrap();
        // With a coarse clock, times are not exact.
        if !scenario.is_boot() || scenario.recording.clock_step.is_some() {
            continue;
        }
        simulated.push(simulate(name.clone(), &scenario));
        // The same as two files that were not merged: kernel events in one, provider events in the other.
        scenario.recording.split = !scenario.recording.split;
        simulated.push(simulate(format!("{name}, split otherwise"), &scenario));
    }
    simulated
}

fn simulate(name: String, scenario: &Scenario) -> (String, Truth, Trace) {
    let simulated = scenario.simulate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> =
        (0..simulated.files.len()).map(|number| folder.path().join(format!("{number}.etl"))).collect();
    for (path, bytes) in paths.iter().zip(&simulated.files) {
        std::fs::write(path, bytes).unwrap();
    }
    let trace = open(&paths, TableSet::all(), &onoff_files::Options::default()).unwrap();
    (name, simulated.truth, trace)
}

#[test]
fn reads_what_was_simulated() {
    for (name, truth, trace) in simulated() {
        counts(&name, &truth, &trace);
        processes(&name, &truth, &trace);
        services(&name, &truth, &trace);
        devices(&name, &truth, &trace);
        milestones(&name, &truth, &trace);
        activities(&name, &truth, &trace);
        disk(&name, &truth, &trace);
        scheduling(&name, &truth, &trace);
        losses(&name, &trace);
    }
}

fn counts(name: &str, truth: &Truth, trace: &Trace) {
    let inventory = trace.inventory.as_ref().unwrap();
    assert_eq!(inventory.events, truth.records, "{name}");
    assert_eq!(trace.duration_ns, truth.end_ns, "{name}");
    let recorded = |hook: u16| {
        let count = truth.kinds.get(&format!("{hook:04x}"));
        count.or(truth.kinds.get(&format!("{hook:04X}"))).copied()
    };
    let rows = [
        (0x0524, trace.context_switches.len()),
        (0x0532, trace.ready_threads.len()),
        (0x0f2e, trace.samples.len()),
        (0x1820, trace.stacks.len()),
        (0x0220, trace.hard_faults.len()),
    ];
    for (hook, rows) in rows {
        assert_eq!(rows as u64, recorded(hook).unwrap_or(0), "{name}: {hook:#06x}");
    }
}

fn processes(name: &str, truth: &Truth, trace: &Trace) {
    let read: BTreeMap<_, _> = trace
        .processes
        .iter()
        .filter(|process| process.pid != 0)
        .map(|process| {
            let key = (process.pid, process.start_ns);
            (key, (trace.text(process.image), process.end_ns))
        })
        .collect();
    assert_eq!(read.len(), truth.processes.len(), "{name}");
    for process in &truth.processes {
        let (image, end_ns) = read[&(process.pid, process.start_ns)];
        assert_eq!(image, process.image, "{name}");
        assert_eq!(end_ns, process.end_ns, "{name}: {image}");
    }
    for thread in trace.threads.iter().filter(|thread| thread.tid != 0) {
        assert_eq!(truth.threads.get(&thread.tid), Some(&thread.pid), "{name}");
    }
}

fn services(name: &str, truth: &Truth, trace: &Trace) {
    assert_eq!(trace.service_transitions.len(), truth.services.len(), "{name}");
    for (read, simulated) in trace.service_transitions.iter().zip(&truth.services) {
        let service = trace.text(read.service);
        assert_eq!(service, simulated.name, "{name}");
        assert_eq!(trace.text(read.group), simulated.group, "{name}: {service}");
        assert_eq!(read.start_ns, simulated.start_ns, "{name}: {service}");
        assert_eq!(read.checkpoint_ns, Some(simulated.checkpoint_ns), "{name}: {service}");
        assert_eq!(read.load_ns, Some(simulated.load_ns), "{name}: {service}");
        assert_eq!(read.end_ns, Some(simulated.end_ns), "{name}: {service}");
        assert_eq!(trace.text(read.container), simulated.container, "{name}: {service}");
        assert_eq!(read.container_pid, Some(simulated.container_pid), "{name}: {service}");
        assert_eq!(read.outcome, ServiceOutcome::Completed, "{name}: {service}");
        assert!(read.automatic, "{name}: {service}");
    }
}

fn devices(name: &str, truth: &Truth, trace: &Trace) {
    assert_eq!(trace.device_operations.len(), truth.devices.len(), "{name}");
    let within = |span: Option<(i64, i64)>, at_ns| span.is_some_and(|(begin, end)| (begin..=end).contains(&at_ns));
    for (read, simulated) in trace.device_operations.iter().zip(&truth.devices) {
        let subject = if read.device.is_empty() { read.driver } else { read.device };
        assert_eq!(read.kind.as_str(), simulated.kind, "{name}");
        assert_eq!(trace.text(subject), simulated.name, "{name}");
        assert_eq!(read.start_ns, simulated.start_ns, "{name}: {}", simulated.name);
        assert_eq!(read.pend_ns, simulated.pend_ns, "{name}: {}", simulated.name);
        assert_eq!(read.end_ns, Some(simulated.end_ns), "{name}: {}", simulated.name);
        let phase = if within(truth.boot_start_ns, read.start_ns) {
            DevicePhase::BootStart
        } else if within(truth.system_start_ns, read.start_ns) {
            DevicePhase::SystemStart
        } else {
            DevicePhase::Later
        };
        assert_eq!(read.phase, phase, "{name}: {}", simulated.name);
    }
}

fn milestones(name: &str, truth: &Truth, trace: &Trace) {
    let first = |wanted: &str| {
        let mut rows = trace.milestones.iter();
        rows.find(|row| trace.text(row.name) == wanted)
    };
    let at = |wanted| first(wanted).map(|row| row.time_ns);
    let span = |begin, end| Some((at(begin)?, at(end)?));
    assert_eq!(span(milestone::BOOT_START_BEGIN, milestone::BOOT_START_END), truth.boot_start_ns, "{name}");
    assert_eq!(span(milestone::SYSTEM_START_BEGIN, milestone::SYSTEM_START_END), truth.system_start_ns, "{name}");
    assert_eq!(span(milestone::AUTO_START_BEGIN, milestone::AUTO_START_END), truth.auto_start_ns, "{name}");
    assert_eq!(first(milestone::OS_LOADER).and_then(|row| row.value), truth.os_loader_ns, "{name}");
    assert_eq!(at(milestone::DESKTOP_READY), truth.desktop_ready_ns, "{name}");
    assert_eq!(
        first(milestone::READ_AHEAD_TRAINING).and_then(|row| row.value),
        truth.training_count.map(i64::from),
        "{name}"
    );
}

fn activities(name: &str, truth: &Truth, trace: &Trace) {
    let of = |kind: ActivityKind| {
        let rows = trace.activities.iter().filter(move |row| row.kind == kind);
        rows.collect::<Vec<_>>()
    };
    let groups: Vec<(String, i64, i64)> = of(ActivityKind::ServiceGroup)
        .iter()
        .map(|row| {
            let end_ns = row.end_ns.unwrap();
            (trace.text(row.name).into(), row.start_ns, end_ns)
        })
        .collect();
    assert_eq!(groups, truth.service_groups, "{name}");
    let policies = of(ActivityKind::GroupPolicy);
    for (who, span) in [("computer", truth.computer_policy_ns), ("user", truth.user_policy_ns)] {
        let row = policies.iter().find(|row| trace.text(row.name) == who);
        let read = row.map(|row| (row.start_ns, row.end_ns.unwrap()));
        assert_eq!(read, span, "{name}: policy of {who}");
    }
    let scripts = of(ActivityKind::GroupPolicyScript);
    let script = scripts.first().map(|row| (row.start_ns, row.end_ns.unwrap()));
    assert_eq!(script, truth.script_ns, "{name}");
    let started: Vec<(String, i64)> =
        of(ActivityKind::StartupApplication).iter().map(|row| (trace.text(row.name).into(), row.start_ns)).collect();
    let simulated: Vec<&String> = truth.startup_applications.iter().map(|(command, ..)| command).collect();
    assert_eq!(started.iter().map(|(command, _)| command).collect::<Vec<_>>(), simulated, "{name}");
}

fn disk(name: &str, truth: &Truth, trace: &Trace) {
    let sum = |wanted: DiskOperation| {
        trace
            .disk_ios
            .iter()
            .filter(|row| row.operation == wanted)
            .fold((0, 0), |(count, bytes), row| (count + 1, bytes + row.size))
    };
    let total =
        |number: fn(&onoff_simulator::Usage) -> u64| truth.phases.iter().map(|phase| number(&phase.usage)).sum::<u64>();
    if truth.phases.is_empty() {
        return;
    }
    let (reads, read_bytes) = sum(DiskOperation::Read);
    let (writes, written_bytes) = sum(DiskOperation::Write);
    assert_eq!((reads, read_bytes), (total(|usage| usage.reads), total(|usage| usage.read_bytes)), "{name}");
    assert_eq!((writes, written_bytes), (total(|usage| usage.writes), total(|usage| usage.written_bytes)), "{name}");
    let service_ns: i64 = trace.disk_ios.iter().map(|row| row.service_ns).sum();
    let busy_ns: i64 = truth.phases.iter().map(|phase| phase.usage.disk_busy_ns).sum();
    assert_eq!(service_ns, busy_ns, "{name}");
    for row in trace.disk_ios.iter() {
        assert!(row.issue_ns.is_some_and(|issue_ns| issue_ns <= row.complete_ns));
        let owner = row.tid.and_then(|tid| truth.threads.get(&tid)).copied();
        assert_eq!(row.pid, owner, "{name}: thread {:?}", row.tid);
    }
}

/// Each processor runs the thread it switched to until it switches away from it.
fn scheduling(name: &str, truth: &Truth, trace: &Trace) {
    let mut running: BTreeMap<u16, u32> = BTreeMap::new();
    let mut last_ns = i64::MIN;
    for switch in trace.context_switches.iter() {
        assert!(switch.time_ns >= last_ns, "{name}: switches out of order");
        last_ns = switch.time_ns;
        if let Some(before) = running.insert(switch.cpu, switch.new_tid) {
            assert_eq!(switch.old_tid, before, "{name}: cpu {}", switch.cpu);
        }
    }
    let mut attributed = 0;
    for ready in trace.ready_threads.iter() {
        attributed += u64::from(ready.readying_tid.is_some());
        assert!(ready.ready_tid == 0 || truth.threads.contains_key(&ready.ready_tid));
    }
    // Only events before a processor's first switch cannot be attributed to a thread.
    assert!(attributed * 100 >= trace.ready_threads.len() as u64 * 99, "{name}");
}

fn losses(name: &str, trace: &Trace) {
    for counter in [
        "short_payload",
        "bad_record",
        "disk_start_missing",
        "device_end_without_begin",
        "activity_end_without_begin",
        "phase_event_unreadable",
        "schema_unknown",
        "process_end_missing",
        "file_name_unknown",
    ] {
        assert_eq!(trace.losses.count(counter), 0, "{name}: {counter}");
    }
}

#[test]
fn unrequested_tables_are_empty() {
    let text = include_str!("../../../support/simulator/scenarios/slow-boot.toml");
    let simulated = Scenario::from_toml(text).unwrap().simulate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.etl");
    std::fs::write(&path, &simulated.files[0]).unwrap();
    let wanted = TableSet::of(&[TableName::DiskIos]);
    let trace = open(&[path], wanted, &onoff_files::Options::default()).unwrap();
    assert!(!trace.disk_ios.is_empty());
    assert!(trace.processes.is_empty() && trace.threads.is_empty());
    assert!(trace.context_switches.is_empty() && trace.stacks.is_empty());
    assert!(trace.milestones.is_empty() && trace.events.is_empty());
    assert!(trace.inventory.is_none());
    assert!(trace.system.processors > 0);
}

/// The result must not depend on the number of threads or the assignment of windows to them.
#[test]
fn result_does_not_depend_on_number_of_threads() {
    let text = include_str!("../../../support/simulator/scenarios/slow-boot.toml");
    let simulated = Scenario::from_toml(text).unwrap().simulate().unwrap();
    let read = |threads: usize| {
        let bytes = simulated.files[0].clone();
        let files = files_from_bytes([("boot.etl".to_owned(), bytes)], &Limits::default()).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let ends = Arc::new(AtomicUsize::new(0));
        let options = Options {
            progress: Some(Arc::new({
                let ends = Arc::clone(&ends);
                move |progress: Progress| {
                    assert!(progress.done_bytes <= progress.total_bytes);
                    let ended = progress.done_bytes == progress.total_bytes;
                    ends.fetch_add(usize::from(ended), Ordering::Relaxed);
                }
            })),
            ..Options::default()
        };
        let trace = pool.build().unwrap().install(|| open_files(&files, TableSet::all(), &options)).unwrap();
        assert_eq!(ends.load(Ordering::Relaxed), 2, "survey, then reading in order");
        trace
    };
    let (one, many) = (read(1), read(5));
    assert_eq!(one.inventory, many.inventory);
    assert_eq!(one.losses, many.losses);
    assert_eq!(one.system, many.system);
    assert!(one.context_switches.iter().eq(many.context_switches.iter()));
    assert!(one.ready_threads.iter().eq(many.ready_threads.iter()));
    assert!(one.disk_ios.iter().eq(many.disk_ios.iter()));
    assert!(one.processes.iter().eq(many.processes.iter()));
    let stacks = |trace: &Trace| -> Vec<(i64, Vec<u64>)> {
        let rows = trace.stacks.iter();
        rows.map(|row| (row.time_ns, trace.stack_pool.get(row.stack).to_vec())).collect()
    };
    assert_eq!(stacks(&one), stacks(&many));
    let fields = |trace: &Trace| -> Vec<(String, String)> {
        let rows = trace.event_fields.iter();
        rows.map(|row| (trace.text(row.name).into(), trace.text(row.value).into())).collect()
    };
    assert_eq!(fields(&one), fields(&many));
}
