//! Compares boot analyses of simulated recordings with the truth, through the whole chain: file, reader, tables,
//! analysis.
#![allow(clippy::unwrap_used)]

use onoff_transitions::PhaseName;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use onoff_files::Options;
use onoff_simulator::{Scenario, SimulatedRecording, Truth};
use onoff_transitions::boot::{self, BootOptions, BootReport};

const SLOW_SCENARIOS: &[&str] = &["benchmark"];

fn scenarios() -> Vec<(String, Scenario)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut scenarios: Vec<(String, Scenario)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            (name, Scenario::from_toml(&text).unwrap())
        })
        .filter(|(name, scenario)| scenario.is_boot() && !SLOW_SCENARIOS.contains(&name.as_str()))
        // A coarse clock shows no exact times.
        .filter(|(_, scenario)| scenario.recording.clock_step.is_none())
        .collect();
    scenarios.sort_by(|(left, _), (right, _)| left.cmp(right));
    scenarios
}

fn analyze(files: &[Vec<u8>]) -> BootReport {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(index, bytes)| {
            let path = folder.path().join(format!("boot-{index}.etl"));
            std::fs::write(&path, bytes).unwrap();
            path
        })
        .collect();
    let trace = onoff_files::open(&paths, boot::TABLES, &Options::default()).unwrap();
    boot::analyze(&trace, &BootOptions::default()).unwrap()
}

fn scenario(name: &str) -> Scenario {
    scenarios().into_iter().find(|(candidate, _)| candidate == name).unwrap().1
}

/// Returns the phases with a start and an end. PostBoot has no end if the computer never becomes idle.
fn phases(report: &BootReport) -> Vec<(String, i64, i64)> {
    report
        .phases
        .iter()
        .filter_map(|phase| {
            let name = phase.name.as_str().to_owned();
            Some((name, phase.start_ns?, phase.end_ns?))
        })
        .collect()
}

/// Returns whether the machine becomes idle: 10 s of idle time, as in xperf.
fn settles(truth: &Truth) -> bool {
    let metric = truth.post_boot.as_ref();
    metric.is_some_and(|metric| metric.idle_ns >= 10_000_000_000)
}

fn true_phases(truth: &Truth) -> Vec<(String, i64, i64)> {
    let unsettled = ["PostBoot", "TraceTail"];
    truth
        .phases
        .iter()
        .filter(|phase| settles(truth) || !unsettled.contains(&phase.name))
        .map(|phase| (phase.name.to_owned(), phase.start_ns, phase.end_ns))
        .collect()
}

#[test]
fn phases_and_totals_match_to_the_tick() {
    for (name, scenario) in scenarios() {
        let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
        let report = analyze(&files);
        assert_eq!(phases(&report), true_phases(&truth), "{name}");
        let total = truth.total_boot_ns().filter(|_| settles(&truth));
        // No duration includes the time that the user takes to enter credentials.
        let user_input_ms = if name == "person-logs-on" { 6_500 } else { 0 };
        assert_eq!(report.user_input_ns / 1_000_000, user_input_ms, "{name}");
        assert_eq!(report.total_ns, total.map(|ns| ns - report.user_input_ns), "{name}");
        let loader = report.details.os_loader_ns.unwrap();
        // The loader's time is recorded in whole processor cycles, which are shorter than a tick.
        assert!((loader - truth.os_loader_ns.unwrap()).abs() < 100, "{name}: loader {loader}");
        assert_eq!(report.details.read_ahead.training_count, truth.training_count.map(i64::from), "{name}");
        assert_eq!(report.details.auto_start.start_ns, truth.auto_start_ns.map(|span| span.0), "{name}");
        assert_eq!(report.details.auto_start.end_ns, truth.auto_start_ns.map(|span| span.1), "{name}");
        assert_eq!(report.details.video.system_session.duration_ns, truth.system_video_ns, "{name}");
        assert_eq!(report.details.video.user_session.duration_ns, truth.user_video_ns, "{name}");
    }
}

/// Converts to whole milliseconds, truncated as in the tools of the papers.
fn milliseconds(nanoseconds: Option<i64>) -> Option<u64> {
    u64::try_from(nanoseconds? / 1_000_000).ok()
}

#[test]
fn analysis_matches_published_numbers() {
    let mut compared = 0;
    for (name, scenario) in scenarios() {
        let expect = &scenario.expect;
        let report = analyze(&scenario.simulate().unwrap().files);
        let phase = |phase: PhaseName| milliseconds(report.phase(phase).unwrap().duration_ns);
        let desktop = report.phase(PhaseName::ExplorerInit).unwrap().end_ns;
        let system_start = &report.details.device_phases[1].interval;
        let mut rows = vec![
            ("loader", expect.os_loader_ms, milliseconds(report.details.os_loader_ns)),
            ("PreSMSS", expect.pre_smss_ms, phase(PhaseName::PreSmss)),
            ("SMSSInit", expect.smss_init_ms, phase(PhaseName::SmssInit)),
            ("WinLogonInit", expect.winlogon_init_ms, phase(PhaseName::WinLogonInit)),
            ("ExplorerInit", expect.explorer_init_ms, phase(PhaseName::ExplorerInit)),
            ("PostBoot", expect.post_boot_ms, phase(PhaseName::PostBoot)),
            ("via Explorer", expect.boot_done_via_explorer_ms, milliseconds(desktop)),
            ("total", expect.total_boot_ms, milliseconds(report.total_ns)),
            ("system start", expect.system_start_ms, milliseconds(system_start.duration_ns)),
            ("auto start", expect.auto_start_ms, milliseconds(report.details.auto_start.duration_ns)),
            ("auto start begin", expect.auto_start_begin_ms, milliseconds(report.details.auto_start.start_ns)),
            ("auto start end", expect.auto_start_end_ms, milliseconds(report.details.auto_start.end_ns)),
        ];
        for row in &expect.service {
            let service = report.units.iter().find(|service| service.name == row.name).unwrap();
            let checkpoint = service.checkpoint_ns.unwrap();
            let processing = service.end_ns.map(|end| end - checkpoint);
            rows.extend([
                ("service", Some(row.total_ms), milliseconds(service.duration_ns)),
                ("first checkpoint", row.first_checkpoint_ms, milliseconds(service.container_ns)),
                ("processing", row.processing_ms, milliseconds(processing)),
                ("started", row.started_at_ms, milliseconds(Some(service.start_ns))),
                ("checkpointed", row.first_checkpointed_at_ms, milliseconds(Some(checkpoint))),
                ("ended", row.ended_at_ms, milliseconds(service.end_ns)),
            ]);
        }
        for row in &expect.device {
            let device = report
                .details
                .devices
                .iter()
                .find(|device| {
                    let kind = serde_json::to_value(device.details.kind).unwrap();
                    kind == row.kind && [&device.device, &device.driver].contains(&&row.name)
                })
                .unwrap();
            rows.push(("device", Some(row.duration_ms), milliseconds(device.duration_ns)));
            rows.push(("before pending", Some(row.pre_pend_ms), milliseconds(device.details.pre_pend_ns)));
        }
        for (label, published, analyzed) in rows {
            if published.is_some() {
                assert_eq!(analyzed, published, "{name}: {label}");
                compared += 1;
            }
        }
    }
    assert!(compared > 50, "only {compared} published numbers were compared");
}

#[test]
fn idle_metric_finds_the_same_slices() {
    for (name, scenario) in scenarios() {
        let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
        let settling = analyze(&files).settling.unwrap();
        let metric = truth.post_boot.unwrap();
        assert_eq!((settling.idle_ns, settling.busy_ns), (metric.idle_ns, metric.busy_ns), "{name}");
        let idle: Vec<bool> = settling.slices.iter().map(|slice| slice.idle).collect();
        let true_idle: Vec<bool> = metric.slices.iter().map(|slice| slice.is_idle).collect();
        assert_eq!(idle, true_idle, "{name}");
    }
}

#[test]
fn cpu_time_is_exact() {
    for (name, scenario) in scenarios() {
        let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
        let report = analyze(&files);
        if truth.events_lost > 0 {
            // Lost events are in no sum, so the report must mention the loss.
            assert!(!report.losses.is_empty(), "{name}");
            continue;
        }
        for (phase, true_phase) in report.phases.iter().zip(&truth.phases) {
            let context = format!("{name}, {}", true_phase.name);
            let Some(cpu) = phase.cpu.as_ref() else {
                assert!(!settles(&truth), "{context}");
                continue;
            };
            // The truth is by process id, which may be reused; the report is by process lifetime.
            let mut by_process: BTreeMap<u32, i64> = BTreeMap::new();
            for row in cpu.by_process.iter().filter(|row| row.pid != Some(0) && row.cpu_ns > 0) {
                *by_process.entry(row.pid.unwrap()).or_default() += row.cpu_ns;
            }
            assert_eq!(by_process, true_phase.usage.cpu_by_process_ns, "{context}");
            let by_priority: BTreeMap<u8, i64> =
                cpu.by_priority.iter().filter(|row| row.cpu_ns > 0).map(|row| (row.priority, row.cpu_ns)).collect();
            assert_eq!(by_priority, true_phase.usage.cpu_by_priority_ns, "{context}");
            assert_eq!(cpu.idle_ns + cpu.unknown_ns, true_phase.usage.idle_ns, "{context}");
        }
    }
}

#[test]
fn disk_requests_count_in_their_phase() {
    for (name, scenario) in scenarios() {
        let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
        let report = analyze(&files);
        let mut service_ns = 0;
        for (phase, true_phase) in report.phases.iter().zip(&truth.phases) {
            let Some(disk) = phase.disk.as_ref() else {
                assert!(!settles(&truth), "{name}");
                continue;
            };
            let counts = (
                disk.operations.read.operations,
                disk.operations.read.bytes,
                disk.operations.write.operations,
                disk.operations.write.bytes,
                disk.operations.flush.operations,
            );
            let usage = &true_phase.usage;
            let expected = (usage.reads, usage.read_bytes, usage.writes, usage.written_bytes, usage.flushes);
            assert_eq!(counts, expected, "{name}, {}", true_phase.name);
            service_ns += disk.service_ns;
        }
        let busy: i64 = truth.phases.iter().map(|phase| phase.usage.disk_busy_ns).sum();
        assert_eq!(service_ns, busy, "{name}: service time of all phases");
    }
}

#[test]
fn services_match_to_the_tick() {
    for (name, scenario) in scenarios() {
        let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
        let report = analyze(&files);
        let mut expected = truth.services.clone();
        expected.sort_by_key(|service| service.start_ns);
        assert_eq!(report.units.len(), expected.len(), "{name}");
        for (service, truth) in report.units.iter().zip(&expected) {
            let context = format!("{name}: {}", truth.name);
            assert_eq!(service.name, truth.name, "{name}");
            assert_eq!(service.group, truth.group, "{context}");
            assert_eq!(service.start_ns, truth.start_ns, "{context}: start");
            assert_eq!(service.checkpoint_ns, Some(truth.checkpoint_ns), "{context}: container");
            assert_eq!(service.load_done_ns, Some(truth.load_ns), "{context}: load");
            assert_eq!(service.end_ns, Some(truth.end_ns), "{context}: end");
            assert_eq!(service.pid, Some(truth.container_pid), "{context}");
            assert_eq!(service.command, truth.container, "{context}");
            assert!(service.automatic, "{context}");
        }
        let groups: Vec<(String, i64, Option<i64>)> = report
            .details
            .service_groups
            .iter()
            .map(|group| (group.name.clone(), group.start_ns, group.end_ns))
            .collect();
        let expected: Vec<(String, i64, Option<i64>)> =
            truth.service_groups.iter().map(|(group, begin, end)| (group.clone(), *begin, Some(*end))).collect();
        assert_eq!(groups, expected, "{name}");
    }
}

/// Start, kind, name of driver or device, pend time and end of an operation.
type Operation = (i64, String, String, Option<i64>, Option<i64>);

#[test]
fn device_operations_match_to_the_tick() {
    for (name, scenario) in scenarios() {
        let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
        let report = analyze(&files);
        let mut operations: Vec<Operation> = report
            .details
            .devices
            .iter()
            .map(|device| {
                let name = if device.device.is_empty() { device.driver.clone() } else { device.device.clone() };
                let kind = serde_json::to_value(device.details.kind).unwrap();
                let kind = kind.as_str().unwrap().to_owned();
                (device.start_ns, kind, name, device.details.pend_ns, device.end_ns)
            })
            .collect();
        operations.sort();
        let mut expected: Vec<Operation> = truth
            .devices
            .iter()
            .map(|device| {
                let name = device.name.clone();
                (device.start_ns, device.kind.to_owned(), name, device.pend_ns, Some(device.end_ns))
            })
            .collect();
        expected.sort();
        assert_eq!(operations, expected, "{name}");
    }
}

#[test]
fn processes_and_startup_programs_match() {
    for (name, scenario) in scenarios() {
        let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
        let report = analyze(&files);
        let processes: BTreeMap<u32, (String, Option<i64>, Option<i64>)> = report
            .details
            .processes
            .iter()
            .filter(|process| process.pid != 0)
            .map(|process| (process.pid, (process.image.clone(), process.start_ns, process.end_ns)))
            .collect();
        let expected: BTreeMap<u32, (String, Option<i64>, Option<i64>)> = truth
            .processes
            .iter()
            .map(|process| (process.pid, (process.image.clone(), process.start_ns, process.end_ns)))
            .collect();
        assert_eq!(processes, expected, "{name}");
        let mut programs: Vec<(String, i64)> = report
            .details
            .startup_applications
            .programs
            .iter()
            .map(|work| (work.name.clone(), work.start_ns))
            .collect();
        programs.sort_by_key(|(_, start)| *start);
        let expected: Vec<(String, i64)> =
            truth.startup_applications.iter().map(|(command, _, start)| (command.clone(), *start)).collect();
        assert_eq!(programs, expected, "{name}");
    }
}

#[test]
fn policy_and_script_of_slow_boot_match() {
    let SimulatedRecording { files, truth } = scenario("slow-boot").simulate().unwrap();
    let policy = analyze(&files).details.group_policy;
    let mut applications: Vec<(i64, i64)> =
        policy.applications.iter().map(|work| (work.start_ns, work.end_ns.unwrap())).collect();
    applications.sort_unstable();
    assert_eq!(applications, [truth.computer_policy_ns.unwrap(), truth.user_policy_ns.unwrap()]);
    assert_eq!(policy.scripts.len(), 1);
    let script = &policy.scripts[0];
    assert_eq!(Some((script.start_ns, script.end_ns.unwrap())), truth.script_ns);
    assert_eq!(policy.extensions.len(), 2);
}

#[test]
fn kernel_and_user_files_are_one_boot() {
    let mut scenario = scenario("table-5-run-1");
    scenario.recording.split = true;
    let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
    assert_eq!(files.len(), 2);
    assert_eq!(phases(&analyze(&files)), true_phases(&truth));
}

#[test]
fn compression_changes_nothing() {
    for compression in ["lznt1", "xpress", "xpress_huffman"] {
        let mut scenario = scenario("table-5-run-2");
        scenario.recording.compression = Some(compression.parse().unwrap());
        let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
        assert_eq!(phases(&analyze(&files)), true_phases(&truth), "{compression}");
    }
}

#[test]
fn infers_end_of_explorer_init_without_desktop_event() {
    let mut scenario = scenario("table-5-run-1");
    scenario.recording.desktop_ready = false;
    let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
    let report = analyze(&files);
    let explorer = report.phase(PhaseName::ExplorerInit).unwrap();
    assert_eq!(explorer.end_ns, truth.desktop_ready_ns);
    assert_ne!(serde_json::to_value(explorer.certainty).unwrap(), "measured", "{}", explorer.ends.rule);
}

#[test]
fn truncated_recording_has_no_total() {
    let mut scenario = scenario("table-5-run-1");
    scenario.recording.max_length = "30s".parse().unwrap();
    let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
    assert!(!truth.post_boot.as_ref().unwrap().is_satisfied);
    let report = analyze(&files);
    assert_eq!(report.total_ns, None);
    assert_eq!(report.phase(PhaseName::ExplorerInit).unwrap().end_ns, truth.desktop_ready_ns);
}

#[test]
fn analyzes_kernel_file_alone() {
    let mut scenario = scenario("table-5-run-1");
    scenario.recording.split = true;
    let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
    let report = analyze(&files[..1]);
    // Process starts are in the kernel log; only the shell's event is in the other file.
    assert_eq!(phases(&report)[..3], true_phases(&truth)[..3]);
    let explorer = report.phase(PhaseName::ExplorerInit).unwrap();
    assert_ne!(serde_json::to_value(explorer.certainty).unwrap(), "measured");
    assert!(report.units.is_empty());
    assert!(report.details.devices.is_empty());
}

#[test]
fn analyzes_recording_after_power_loss() {
    let SimulatedRecording { mut files, truth } = scenario("table-5-run-1").simulate().unwrap();
    let file = &mut files[0];
    // The header as written at the start: no end time, one buffer written (ETL format, section 3.1).
    let payload = 0x48 + 0x20;
    file[payload + 0x10..payload + 0x18].fill(0);
    file[payload + 0x24..payload + 0x28].copy_from_slice(&1u32.to_le_bytes());
    let cut = file.len() * 7 / 10;
    file.truncate(cut);
    let report = analyze(&files);
    let pre_smss = report.phase(PhaseName::PreSmss).unwrap();
    assert_eq!(pre_smss.end_ns, truth.phase("PreSMSS").map(|phase| phase.end_ns));
    assert_eq!(report.total_ns, None, "the end is not in the recording");
    assert!(!report.losses.is_empty());
}
