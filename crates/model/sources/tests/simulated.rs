//! Compares the traces of simulated boots with what was simulated, to the clock tick.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onoff_files::open;
use onoff_simulator::{Scenario, Truth};
use onoff_sources::{Limits, Options, Progress, files_from_bytes, open_files};
use onoff_trace::{ActivityKind, DevicePhase, DiskOperation, ServiceOutcome, TableName, TableSet, Trace, milestone};

/// Simulates every scenario that is quick to simulate; returns its name, the simulated events and the trace.
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
        // The same boot in the other layout: one merged file, or one file with kernel events and one with provider
        // events.
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
    let is_within =
        |time_ns, span: Option<(i64, i64)>| span.is_some_and(|(begin, end)| (begin..=end).contains(&time_ns));
    for (read, simulated) in trace.device_operations.iter().zip(&truth.devices) {
        let subject = if read.device.is_empty() { read.driver } else { read.device };
        assert_eq!(read.kind.as_str(), simulated.kind, "{name}");
        assert_eq!(trace.text(subject), simulated.name, "{name}");
        assert_eq!(read.start_ns, simulated.start_ns, "{name}: {}", simulated.name);
        assert_eq!(read.pend_ns, simulated.pend_ns, "{name}: {}", simulated.name);
        assert_eq!(read.end_ns, Some(simulated.end_ns), "{name}: {}", simulated.name);
        let phase = if is_within(read.start_ns, truth.boot_start_ns) {
            DevicePhase::BootStart
        } else if is_within(read.start_ns, truth.system_start_ns) {
            DevicePhase::SystemStart
        } else {
            DevicePhase::Later
        };
        assert_eq!(read.phase, phase, "{name}: {}", simulated.name);
    }
}

fn milestones(name: &str, truth: &Truth, trace: &Trace) {
    let first_row = |milestone: &str| {
        let mut rows = trace.milestones.iter();
        rows.find(|row| trace.text(row.name) == milestone)
    };
    let time_ns = |milestone| first_row(milestone).map(|row| row.time_ns);
    let span = |begin, end| Some((time_ns(begin)?, time_ns(end)?));
    assert_eq!(span(milestone::BOOT_START_BEGIN, milestone::BOOT_START_END), truth.boot_start_ns, "{name}");
    assert_eq!(span(milestone::SYSTEM_START_BEGIN, milestone::SYSTEM_START_END), truth.system_start_ns, "{name}");
    assert_eq!(span(milestone::AUTO_START_BEGIN, milestone::AUTO_START_END), truth.auto_start_ns, "{name}");
    assert_eq!(first_row(milestone::OS_LOADER).and_then(|row| row.value), truth.os_loader_ns, "{name}");
    assert_eq!(time_ns(milestone::DESKTOP_READY), truth.desktop_ready_ns, "{name}");
    assert_eq!(
        first_row(milestone::READ_AHEAD_TRAINING).and_then(|row| row.value),
        truth.training_count.map(i64::from),
        "{name}"
    );
}

fn activities(name: &str, truth: &Truth, trace: &Trace) {
    let rows_of_kind = |kind: ActivityKind| {
        let rows = trace.activities.iter().filter(move |row| row.kind == kind);
        rows.collect::<Vec<_>>()
    };
    let groups: Vec<(String, i64, i64)> = rows_of_kind(ActivityKind::ServiceGroup)
        .iter()
        .map(|row| {
            let end_ns = row.end_ns.unwrap();
            (trace.text(row.name).into(), row.start_ns, end_ns)
        })
        .collect();
    assert_eq!(groups, truth.service_groups, "{name}");
    let policies = rows_of_kind(ActivityKind::GroupPolicy);
    for (target, span) in [("computer", truth.computer_policy_ns), ("user", truth.user_policy_ns)] {
        let row = policies.iter().find(|row| trace.text(row.name) == target);
        let read = row.map(|row| (row.start_ns, row.end_ns.unwrap()));
        assert_eq!(read, span, "{name}: policy of {target}");
    }
    let scripts = rows_of_kind(ActivityKind::GroupPolicyScript);
    let script = scripts.first().map(|row| (row.start_ns, row.end_ns.unwrap()));
    assert_eq!(script, truth.script_ns, "{name}");
    let started: Vec<(String, i64)> = rows_of_kind(ActivityKind::StartupApplication)
        .iter()
        .map(|row| (trace.text(row.name).into(), row.start_ns))
        .collect();
    let simulated: Vec<&String> = truth.startup_applications.iter().map(|(command, ..)| command).collect();
    assert_eq!(started.iter().map(|(command, _)| command).collect::<Vec<_>>(), simulated, "{name}");
}

fn disk(name: &str, truth: &Truth, trace: &Trace) {
    let sum = |operation: DiskOperation| {
        trace
            .disk_ios
            .iter()
            .filter(|row| row.operation == operation)
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

/// Checks that each processor switches away from the thread that it last switched to.
fn scheduling(name: &str, truth: &Truth, trace: &Trace) {
    let mut running: BTreeMap<u16, u32> = BTreeMap::new();
    let mut last_ns = i64::MIN;
    for switch in trace.context_switches.iter() {
        assert!(switch.time_ns >= last_ns, "{name}: switches out of order");
        last_ns = switch.time_ns;
        if let Some(previous_tid) = running.insert(switch.cpu, switch.new_tid) {
            assert_eq!(switch.old_tid, previous_tid, "{name}: cpu {}", switch.cpu);
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
    let wanted = TableSet::from_names(&[TableName::DiskIos]);
    let trace = open(&[path], wanted, &onoff_files::Options::default()).unwrap();
    assert!(!trace.disk_ios.is_empty());
    assert!(trace.processes.is_empty() && trace.threads.is_empty());
    assert!(trace.context_switches.is_empty() && trace.stacks.is_empty());
    assert!(trace.milestones.is_empty() && trace.events.is_empty());
    assert!(trace.inventory.is_none());
    assert!(trace.system.processors > 0);
}

/// The result must not depend on the number of threads or on which thread reads which window.
#[test]
fn result_does_not_depend_on_number_of_threads() {
    let text = include_str!("../../../support/simulator/scenarios/slow-boot.toml");
    let simulated = Scenario::from_toml(text).unwrap().simulate().unwrap();
    let read = |threads: usize| {
        let bytes = simulated.files[0].clone();
        let files = files_from_bytes([("boot.etl".to_owned(), bytes)], &Limits::default()).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let ends_reported = Arc::new(AtomicUsize::new(0));
        let options = Options {
            progress: Some(Arc::new({
                let ends_reported = Arc::clone(&ends_reported);
                move |progress: Progress| {
                    assert!(progress.done_bytes <= progress.total_bytes);
                    let is_end = progress.done_bytes == progress.total_bytes;
                    ends_reported.fetch_add(usize::from(is_end), Ordering::Relaxed);
                }
            })),
            ..Options::default()
        };
        let trace = pool.build().unwrap().install(|| open_files(&files, TableSet::all(), &options)).unwrap();
        assert_eq!(ends_reported.load(Ordering::Relaxed), 2, "survey, then reading in order");
        trace
    };
    let (one_thread, five_threads) = (read(1), read(5));
    assert_eq!(one_thread.inventory, five_threads.inventory);
    assert_eq!(one_thread.losses, five_threads.losses);
    assert_eq!(one_thread.system, five_threads.system);
    assert!(one_thread.context_switches.iter().eq(five_threads.context_switches.iter()));
    assert!(one_thread.ready_threads.iter().eq(five_threads.ready_threads.iter()));
    assert!(one_thread.disk_ios.iter().eq(five_threads.disk_ios.iter()));
    assert!(one_thread.processes.iter().eq(five_threads.processes.iter()));
    let stacks = |trace: &Trace| -> Vec<(i64, Vec<u64>)> {
        let rows = trace.stacks.iter();
        rows.map(|row| (row.time_ns, trace.stack_pool.get(row.stack).to_vec())).collect()
    };
    assert_eq!(stacks(&one_thread), stacks(&five_threads));
    let fields = |trace: &Trace| -> Vec<(String, String)> {
        let rows = trace.event_fields.iter();
        rows.map(|row| (trace.text(row.name).into(), trace.text(row.value).into())).collect()
    };
    assert_eq!(fields(&one_thread), fields(&five_threads));
}
