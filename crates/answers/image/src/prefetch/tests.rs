//! Synthetic plans, boots and read-ahead.

use onoff_testkit::prefetch::{PrefetchPlan, ready_boot_layout, ready_boot_trace, superfetch};
use onoff_trace::{DiskIo, DiskOperation, IoPriority, StringId, Trace};

use super::*;
use onoff_testkit::synthetic::MS;
use onoff_transitions::boot::BootOptions;

const VOLUME: &str = r"\DEVICE\HARDDISKVOLUME1";

fn plan(executable: &str, files: &[(&str, u32)]) -> PrefetchPlan {
    PrefetchPlan {
        version: 23,
        executable: executable.to_owned(),
        is_boot: false,
        run_count: 4,
        last_run: 130_000_000_000_000_000,
        volume: VOLUME.to_owned(),
        files: files.iter().map(|&(path, pages)| (path.to_owned(), pages)).collect(),
    }
}

fn file(name: &str, bytes: Vec<u8>) -> PrefetchFile {
    PrefetchFile { name: name.to_owned(), bytes, modified_unix_ns: Some(1_000) }
}

const NTDLL: &str = r"\WINDOWS\SYSTEM32\NTDLL.DLL";

#[test]
fn registry_counts_only_without_other_evidence() {
    let no_evidence =
        || analyze(&[file("A.EXE-1.pf", plan("A.EXE", &[(NTDLL, 10)]).bytes())], &PrefetchOptions::default());
    let training = |mut report: PrefetchReport, boots, prefetcher| {
        report.add_registry(boots, prefetcher);
        (report.training.state, report.training.missing_boots, report.training.evidence)
    };
    assert_eq!(
        training(no_evidence(), Some(1), Some(3)),
        (TrainingState::Training, Some(2), TrainingEvidence::BootCounter)
    );
    assert_eq!(
        training(no_evidence(), Some(90), Some(1)),
        (TrainingState::Untrained, Some(3), TrainingEvidence::Disabled)
    );
    // Many boots do not prove training.
    assert_eq!(training(no_evidence(), Some(90), Some(3)), (TrainingState::Unknown, None, TrainingEvidence::None));
    assert_eq!(training(no_evidence(), None, None), (TrainingState::Unknown, None, TrainingEvidence::None));
    // The boot plan takes precedence.
    let boot = PrefetchPlan { is_boot: true, run_count: 5, ..plan("NTOSBOOT", &[(NTDLL, 10)]) };
    let trained = analyze(&[file("NTOSBOOT-B00DFAAD.pf", boot.bytes())], &PrefetchOptions::default());
    assert_eq!(training(trained, Some(1), Some(0)), (TrainingState::Trained, Some(0), TrainingEvidence::BootPlan));
}

#[test]
fn counts_shared_files_once() {
    let files = [
        file("A.EXE-1.pf", plan("A.EXE", &[(NTDLL, 10), (r"\WINDOWS\A.EXE", 5)]).bytes()),
        file("B.EXE-2.pf", plan("B.EXE", &[(NTDLL, 12), (r"\APP\B.EXE", 1)]).bytes()),
        file("Layout.ini", b"[OptimalLayoutFile]\r\n".iter().flat_map(|&byte| [byte, 0]).collect()),
    ];
    let report = analyze(&files, &PrefetchOptions::default());
    assert_eq!(report.unreadable, []);
    assert_eq!((report.launch_plans, report.max_plans, report.windows), (2, Some(128), "Windows Vista or 7"));
    assert_eq!((report.shared.files, report.shared.bytes), (3, (12 + 5 + 1) * 4096));
    assert_eq!((report.shared.planned_bytes, report.shared.shared_bytes), (28 * 4096, 12 * 4096));
    assert_eq!(report.files[0].path, format!("{VOLUME}{NTDLL}"));
    assert_eq!((report.volumes[0].plans, report.volumes[0].files, report.volumes[0].is_system), (2, 3, true));
    // Without a boot plan or trace the state is unknown, not untrained.
    assert_eq!(report.training.state, TrainingState::Unknown);
    assert_eq!(report.layout_files, Some(0));
    // One program only.
    let options = PrefetchOptions { programs: vec!["b.exe".to_owned()], volume: None };
    let report = analyze(&files, &options);
    assert_eq!((report.shared.plans, report.shared.files, report.shared.bytes), (1, 2, 13 * 4096));
}

#[test]
fn detects_plans_older_than_their_files() {
    let files = [
        file("A.EXE-1.pf", plan("A.EXE", &[(NTDLL, 10), (r"\WINDOWS\A.EXE", 5), (r"\WINDOWS\GONE.DLL", 1)]).bytes()),
        file("B.EXE-2.pf", plan("B.EXE", &[(NTDLL, 12), (r"\APP\B.EXE", 1)]).bytes()),
    ];
    let volume = |path: &str| match path {
        r"\WINDOWS\A.EXE" => Some(VolumeFile { bytes: 77, modified_unix_ns: Some(2_000) }),
        r"\WINDOWS\GONE.DLL" => None,
        _ => Some(VolumeFile { bytes: 99, modified_unix_ns: Some(10) }),
    };
    let report = analyze(&files, &PrefetchOptions { programs: Vec::new(), volume: Some(&volume) });
    let (a, b) = (&report.plans[0], &report.plans[1]);
    assert_eq!((a.is_older_than_program, a.missing_files, a.newer_files), (Some(true), Some(1), Some(1)));
    assert_eq!((b.is_older_than_program, b.missing_files, b.newer_files), (Some(false), Some(0), Some(0)));
    assert_eq!(a.path, r"\WINDOWS\A.EXE");
}

#[test]
fn counts_training_from_boot_plan_and_traces() {
    let mut boot = plan("NTOSBOOT", &[(NTDLL, 1)]);
    (boot.is_boot, boot.run_count) = (true, 2);
    let report = analyze(&[file("NTOSBOOT-B00DFAAD.pf", boot.bytes())], &PrefetchOptions::default());
    assert_eq!(report.training, training_after(2, TrainingEvidence::BootPlan));
    assert_eq!((report.training.state, report.training.missing_boots), (TrainingState::Training, Some(1)));
    assert_eq!(report.launch_plans, 0);
    let reads = [("\\Device\\a", 0, 4096, 0), ("\\Device\\a", 4096, 4096, 500), ("\\Device\\b", 0, 100, 1000)];
    let trace = ready_boot_trace([&reads, &[("", 9, 512, 2000)]]);
    let files: Vec<_> = (0..3).map(|number| file(&format!("Trace{number}.fx"), trace.clone())).collect();
    let report = analyze(&files, &PrefetchOptions::default());
    assert_eq!(report.training.state, TrainingState::Trained);
    assert_eq!(report.files_in_all_boots, Some(2));
    let boot = &report.boots[0];
    assert_eq!((boot.reads, boot.unattributed_reads, boot.files, boot.bytes), (4, 1, 2, 8804));
    assert_eq!((boot.duration_ns, boot.bytes_by_slice[0], boot.bytes_by_slice[19]), (2_000_000, 4096, 512));
    assert!((boot.sequential_percent - 100.0 / 3.0).abs() < 1e-9);
}

/// As many boots as ReadyBoot keeps, with different files, times and order.
#[test]
fn reports_five_boots() {
    // Boot n first reads n consecutive blocks of one file, then n scattered blocks of another file.
    let boot = |number: u64| {
        let mut reads: Vec<(&str, u64, u32, u32)> = Vec::new();
        for index in 0..number {
            reads.push(("\\Device\\sequential", index * 65_536, 65_536, index as u32));
        }
        for index in 0..number {
            reads.push(("\\Device\\scattered", (number - index) * 1_000_000, 4096, 10_500_000 + index as u32));
        }
        if number == 5 {
            reads.push(("\\Device\\last-only", 0, 1 << 20, 12_500_000));
        }
        ready_boot_trace([&reads, &[("", 9, 512, 20_000_000)]])
    };
    let mut files: Vec<PrefetchFile> = (1..=5).map(|number| file(&format!("Trace{number}.fx"), boot(number))).collect();
    // Sorted by boot time, whatever the order of the files.
    for (number, file) in (1..).zip(&mut files) {
        file.modified_unix_ns = Some(number * 1_000);
    }
    files.swap(0, 4);
    let report = analyze(&files, &PrefetchOptions::default());
    assert_eq!(report.training, training_after(5, TrainingEvidence::ReadyBootTraces));
    assert_eq!((report.boots.len(), report.files_in_all_boots), (5, Some(2)));
    for (number, boot) in (1..).zip(&report.boots) {
        assert_eq!(boot.name, format!("Trace{number}.fx"));
        let last_only_bytes = if number == 5 { 1 << 20 } else { 0 };
        assert_eq!(boot.bytes, number * (65_536 + 4096) + last_only_bytes + 512);
        // Twenty slices of one second: sequential reads in the first, scattered reads in the eleventh, and the last
        // read, which has no file, in the last.
        let mut by_slice = vec![0; 20];
        (by_slice[0], by_slice[10], by_slice[19]) = (number * 65_536, number * 4096, 512);
        by_slice[12] += last_only_bytes;
        assert_eq!(boot.bytes_by_slice, by_slice);
        // n - 1 of n sequential reads follow another one; no scattered read does.
        let attributed = 2 * number + u64::from(number == 5);
        assert!((boot.sequential_percent - (number - 1) as f64 * 100.0 / attributed as f64).abs() < 1e-9, "{boot:?}");
        let top: Vec<_> = boot.top_files.iter().map(|file| (file.path.as_str(), file.reads, file.bytes)).collect();
        let mut expected =
            vec![("\\Device\\sequential", number, number * 65_536), ("\\Device\\scattered", number, number * 4096)];
        if number == 5 {
            expected.insert(0, ("\\Device\\last-only", 1, 1 << 20));
        }
        assert_eq!(top, expected);
    }
}

#[test]
fn recognizes_all_file_kinds() {
    let files = [
        file("rblayout.xin", ready_boot_layout(&["\\Device\\x"])),
        file("AgGlGlobalHistory.db", superfetch(1, 20, 3, true)),
        file("notes.txt", b"hello".to_vec()),
        file("X.EXE-3.pf", b"SCCA".to_vec()),
    ];
    let report = analyze(&files, &PrefetchOptions::default());
    assert_eq!(report.next_boot_files, Some(2));
    assert_eq!((report.databases[0].files, report.databases[0].packing), (20, "mam"));
    let names: Vec<_> = report.unreadable.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["notes.txt", "X.EXE-3.pf"]);
    assert!(!report.is_empty() && analyze(&[], &PrefetchOptions::default()).is_empty());
}

fn read(trace: &mut Trace, (issue_ms, complete_ms): (i64, i64), offset: u64, is_prefetch: bool) {
    let file = if is_prefetch { StringId::EMPTY } else { trace.strings.intern("a.dll") };
    trace.disk_ios.push(DiskIo {
        issue_ns: Some(issue_ms * MS),
        complete_ns: complete_ms * MS,
        disk: 0,
        operation: DiskOperation::Read,
        offset,
        size: 8192,
        priority: IoPriority::Normal,
        service_ns: (complete_ms - issue_ms) * MS,
        pid: None,
        tid: None,
        file,
        file_object: u64::from(!is_prefetch),
        irp: 0,
        irp_flags: 0,
    });
}

#[test]
fn computes_late_and_wasted_reads() {
    let mut trace = Trace { duration_ns: 1_000 * MS, ..Trace::default() };
    read(&mut trace, (10, 20), 0, true);
    // Needed after the data had been prefetched: not late, although the disk served the read.
    read(&mut trace, (30, 40), 4096, false);
    read(&mut trace, (50, 90), 100_000, true);
    // Needed while being prefetched.
    read(&mut trace, (60, 80), 104_096, false);
    // Not prefetched.
    read(&mut trace, (100, 130), 500_000, false);
    let Ok(report) = onoff_transitions::boot::analyze(&with_boot(&trace), &BootOptions::default()) else {
        unreachable!("the synthetic recording is a boot")
    };
    let work = boot_read_ahead(&trace, &report, None);
    assert_eq!((work.ahead.operations, work.misses.operations, work.late.operations), (2, 3, 1));
    // Without ReadyBoot's totals the hits are unknown.
    assert_eq!((work.wasted_bytes, work.read_ns), (None, 110 * MS));
    let totals = ReadyBootTotals { hits: 10, hit_bytes: 10_000, prefetch_bytes: 16_384, ..ReadyBootTotals::default() };
    let work = boot_read_ahead(&trace, &report, Some(totals));
    assert_eq!(work.wasted_bytes, Some(6384));
}

/// Turns the recording into a boot.
fn with_boot(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    onoff_testkit::synthetic::process(&mut trace, 4, "System", Some(0), None);
    onoff_testkit::synthetic::process(&mut trace, 300, "smss.exe", Some(100 * MS), None);
    trace
}
