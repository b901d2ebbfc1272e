//! Synthetic firmware recordings.

use onoff_trace::firmware::{
    FirmwareCheckpoints, FirmwareEdge, FirmwareEvent, FirmwareGuid, FirmwareProblemKind, FirmwareRecording,
    FirmwareWork,
};

use super::*;
use onoff_evidence::Certainty;
use onoff_testkit::synthetic::MS;

use FirmwareEdge::{Begin, End, Point};
use FirmwareWork as Work;

const A: FirmwareGuid = FirmwareGuid([0xaa; 16]);
const B: FirmwareGuid = FirmwareGuid([0xbb; 16]);

fn event(ms: i64, work: Work, edge: FirmwareEdge, module: FirmwareGuid, text: &str) -> FirmwareEvent {
    FirmwareEvent {
        work,
        edge,
        class: work as u16,
        time_ns: ms * MS,
        module,
        module_name: String::new(),
        caller: None,
        handle: None,
        text: text.to_owned(),
        apic: 0,
    }
}

fn with_handle(handle: u64, event: FirmwareEvent) -> FirmwareEvent {
    FirmwareEvent { handle: Some(handle), ..event }
}

/// Returns a boot with these measurements, whose firmware stage is from 0 to 100 ms.
fn recording(events: Vec<FirmwareEvent>) -> FirmwareRecording {
    FirmwareRecording {
        checkpoints: Some(FirmwareCheckpoints::from_stored([0, 100 * MS, 110 * MS, 150 * MS, 151 * MS])),
        events,
        ..FirmwareRecording::default()
    }
}

fn report(events: Vec<FirmwareEvent>) -> FirmwareReport {
    analyze(&recording(events), &FirmwareOptions::default()).unwrap()
}

#[test]
fn exclusive_time_excludes_nested_work() {
    let report = report(vec![
        event(10, Work::CrossModule, Begin, A, "DXE"),
        event(20, Work::EntryPoint, Begin, A, ""),
        event(25, Work::Function, Begin, B, "inner"),
        event(32, Work::Function, End, B, "inner"),
        event(40, Work::EntryPoint, End, A, ""),
        event(60, Work::CrossModule, End, B, "DXE"),
    ]);
    let self_times: Vec<(&str, i64, i64, u32)> = report
        .work
        .iter()
        .map(|work| (work.work.as_str(), work.self_ns / MS, work.duration_ns / MS, work.depth))
        .collect();
    assert_eq!(self_times, [("cross_module", 30, 50, 0), ("entry_point", 13, 20, 1), ("function", 7, 7, 2)]);
    // The phase belongs to no module: 13 ms are A's, 7 ms B's.
    let drivers: Vec<(&str, i64)> =
        report.drivers.iter().map(|driver| (driver.guid.as_str(), driver.self_ns / MS)).collect();
    assert_eq!(drivers, [(A.to_string().as_str(), 13), (B.to_string().as_str(), 7)]);
    assert_eq!(report.drivers[0].phase, "DXE");
    // Only the function contains no other work: 7 of 100 ms.
    assert_eq!(report.coverage.unwrap().measured_ns, 7 * MS);
    let gaps: Vec<(i64, i64, &str)> =
        report.gaps.iter().map(|gap| (gap.start_ns / MS, gap.end_ns / MS, gap.phase.as_str())).collect();
    assert_eq!(gaps, [(60, 100, ""), (40, 60, "DXE"), (0, 10, ""), (10, 20, "DXE")]);
}

#[test]
fn overlapping_work_shares_the_time() {
    let report = report(vec![
        event(10, Work::Function, Begin, A, "first"),
        event(20, Work::Function, Begin, B, "second"),
        event(30, Work::Function, End, A, "first"),
        event(50, Work::Function, End, B, "second"),
    ]);
    let self_times: Vec<i64> = report.work.iter().map(|work| work.self_ns / MS).collect();
    // From 20 ms on, the second is the one that started last.
    assert_eq!(self_times, [10, 30]);
}

#[test]
fn recursive_work_is_nested_and_unmatched_events_are_reported() {
    let report = report(vec![
        event(10, Work::CrossModule, Begin, A, "BDS"),
        event(20, Work::CrossModule, Begin, B, "BDS"),
        event(30, Work::CrossModule, End, A, "BDS"),
        event(40, Work::CrossModule, End, B, "BDS"),
        event(50, Work::CrossModule, Begin, B, "BDS"),
        event(60, Work::CrossModule, End, B, "other"),
    ]);
    // The time from 10 to 40 ms counts once.
    assert_eq!(report.phases[0].duration_ns, 30 * MS);
    assert_eq!((report.unfinished.len(), report.unmatched_ends), (1, 1));
    let kinds: Vec<FirmwareProblemKind> = report.faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [FirmwareProblemKind::BeginWithoutEnd, FirmwareProblemKind::EndWithoutBegin]);
}

#[test]
fn an_image_load_belongs_to_the_image_named_by_its_end() {
    let report = report(vec![
        with_handle(7, event(10, Work::LoadImage, Begin, A, "")),
        with_handle(8, event(12, Work::LoadImage, Begin, A, "")),
        with_handle(8, event(15, Work::LoadImage, End, A, "")),
        with_handle(7, event(30, Work::LoadImage, End, B, "")),
    ]);
    let loads: Vec<(&str, i64)> =
        report.drivers.iter().map(|driver| (driver.guid.as_str(), driver.load_ns / MS)).collect();
    assert_eq!(loads, [(B.to_string().as_str(), 20), (A.to_string().as_str(), 3)]);
}

#[test]
fn driver_starts_are_grouped_by_device() {
    let start =
        |ms, edge, handle, module, text: &str| with_handle(handle, event(ms, Work::DriverStart, edge, module, text));
    let report = report(vec![
        start(10, Begin, 1, A, ""),
        start(30, End, 1, A, "Disk PciRoot(0x0)/Pci(0x6,0x0)"),
        start(30, Begin, 1, B, ""),
        start(33, End, 1, B, "PciRoot(0x0)/Pci(0x6,0x0)"),
        // Without a path, but with the handle of a known device.
        start(40, Begin, 1, B, ""),
        start(44, End, 1, B, ""),
    ]);
    let [device] = &report.devices[..] else { panic!("{:?}", report.devices) };
    assert_eq!((device.path.as_str(), device.name.as_str()), ("PciRoot(0x0)/Pci(0x6,0x0)", "Disk"));
    assert_eq!((device.driver_start_ns, device.self_ns), (27 * MS, 27 * MS));
    let drivers: Vec<(u64, i64)> =
        device.drivers.iter().map(|driver| (driver.calls, driver.driver_start_ns / MS)).collect();
    assert_eq!(drivers, [(1, 20), (2, 7)]);
}

#[test]
fn a_missing_phase_end_is_inferred_from_its_neighbor() {
    let report = report(vec![
        event(5, Work::Point, Point, A, "SEC"),
        event(20, Work::CrossModule, End, A, "PEI"),
        event(21, Work::CrossModule, Begin, A, "DXE"),
        event(50, Work::CrossModule, Begin, A, "BDS"),
    ]);
    let phases: Vec<(&str, i64, i64, Certainty)> = report
        .phases
        .iter()
        .map(|phase| (phase.name.as_str(), phase.start_ns / MS, phase.end_ns / MS, phase.certainty))
        .collect();
    assert_eq!(
        phases,
        [
            ("SEC", 0, 5, Certainty::Inferred),
            ("PEI", 5, 20, Certainty::Inferred),
            ("DXE", 21, 50, Certainty::Inferred),
            ("BDS", 50, 110, Certainty::Inferred),
        ]
    );
}

#[test]
fn an_end_before_its_start_is_skipped_and_counted() {
    let report = report(vec![event(30, Work::Function, Begin, A, "f"), event(20, Work::Function, End, A, "f")]);
    assert!(report.work.is_empty());
    assert_eq!(report.faults[0].kind, FirmwareProblemKind::EventsNotMonotonic);
    assert!(report.faults[0].text.contains("1 with an end before the start"), "{}", report.faults[0].text);
}

#[test]
fn extreme_times_do_not_overflow() {
    let mut events = Vec::new();
    for module in 0..20 {
        let guid = FirmwareGuid([module; 16]);
        for time_ns in [0, i64::MAX] {
            let edge = if time_ns == 0 { Begin } else { End };
            for work in [Work::EntryPoint, Work::CrossModule, Work::DriverStart, Work::InModule] {
                let text = if work == Work::CrossModule { "PEI" } else { "x" };
                events.push(FirmwareEvent { time_ns, ..event(0, work, edge, guid, text) });
            }
        }
    }
    let mut recording = recording(events);
    recording.checkpoints = Some(FirmwareCheckpoints::from_stored([i64::MAX; 5]));
    let first = analyze(&recording, &FirmwareOptions::default()).unwrap();
    recording.checkpoints = Some(FirmwareCheckpoints::from_stored([0, i64::MAX, i64::MAX, i64::MAX, i64::MAX]));
    let second = analyze(&recording, &FirmwareOptions::default()).unwrap();
    let _ = compare(&first, &second);
}

#[test]
fn the_largest_increase_is_named() {
    let boot = |function: i64, entry: i64| {
        report(vec![
            event(0, Work::CrossModule, Begin, A, "PEI"),
            event(1, Work::Function, Begin, A, "f"),
            event(1 + function, Work::Function, End, A, "f"),
            event(50, Work::CrossModule, End, A, "PEI"),
            event(50, Work::CrossModule, Begin, A, "DXE"),
            event(51, Work::EntryPoint, Begin, B, ""),
            event(51 + entry, Work::EntryPoint, End, B, ""),
            event(70 + entry, Work::CrossModule, End, A, "DXE"),
        ])
    };
    let comparison = compare(&boot(5, 2), &boot(4, 12));
    let increase = comparison.grown_driver.unwrap();
    assert_eq!((increase.guid, increase.change_ns), (B.to_string(), Some(10 * MS)));
    let increase = comparison.grown_phase.unwrap();
    assert_eq!((increase.name.as_str(), increase.change_ns), ("DXE", Some(10 * MS)));
    assert_eq!(comparison.drivers[1].change_ns, Some(-MS));
    assert_eq!(comparison.intervals[1].change_ns, Some(0));
}
