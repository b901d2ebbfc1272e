//! Tests Linux recordings from the lab, and arbitrary bytes.
//!
//! Expected counts come from grep on the traces' text, durations from `systemd-analyze time` and the lab's clocks.

#![allow(clippy::unwrap_used, reason = "a recording that cannot be read fails the test")]

use std::io::Read;

use onoff_files::open;
use onoff_sources::{Error, Limits, Options, RecordingKind, files_from_bytes, open_files};
use onoff_testkit::real_recordings::samples_folder;
use onoff_trace::{
    ActivityKind, ContextSwitch, DeviceOperationKind, DiskIo, DiskOperation, InterruptKind, PowerRequestKind,
    ReadyThread, Severity, SystemKind, TableSet, Trace, milestone, power_phase, shutdown_step,
};
use proptest::prelude::*;

fn sample(name: &str) -> Option<Trace> {
    let path = samples_folder("linux")?.join(format!("{name}.tar.xz"));
    let trace = open(&[path], TableSet::all(), &onoff_files::Options::default()).unwrap();
    assert_eq!(trace.system.kind, SystemKind::Linux);
    let errors = trace.losses.iter().filter(|loss| loss.severity > Severity::Notice);
    assert_eq!(errors.map(|loss| loss.counter).collect::<Vec<_>>(), [""; 0]);
    Some(trace)
}

/// Returns the first file of a sample whose name ends with `name`.
fn member(sample: &str, name: &str) -> Option<Vec<u8>> {
    let path = samples_folder("linux")?.join(format!("{sample}.tar.xz"));
    let packed = std::fs::File::open(path).unwrap();
    let mut archive = tar::Archive::new(lzma_rust2::XzReader::new(packed, true));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().ends_with(name) && entry.size() > 0 {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            return Some(bytes);
        }
    }
    panic!("{sample} has no {name}");
}

fn read_bytes(files: &[(&str, &[u8])]) -> Result<Trace, Error> {
    let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()));
    let files = files_from_bytes(files, &Limits::default())?;
    open_files(&files, TableSet::all(), &Options::default())
}

fn value(trace: &Trace, name: &str) -> Option<i64> {
    let name = trace.strings.find(name)?;
    let mut rows = trace.milestones.iter().filter(|row| row.name == name);
    let value = rows.next()?.value;
    assert!(rows.next().is_none(), "found twice");
    value
}

/// Returns the names and durations (ms) of the activities of a kind.
fn activities(trace: &Trace, kind: ActivityKind) -> Vec<(&str, i64)> {
    trace
        .activities
        .iter()
        .filter(|row| row.kind == kind)
        .map(|row| {
            let end_ns = row.end_ns.unwrap_or(row.start_ns);
            (trace.text(row.name), (end_ns - row.start_ns) / 1_000_000)
        })
        .collect()
}

#[test]
fn converts_boot_events_to_rows() {
    let Some(trace) = sample("boot-1") else {
        return;
    };
    assert_eq!(trace.recorder, "ftrace");
    assert_eq!(trace.context_switches.len(), 19_912);
    assert_eq!(trace.ready_threads.len(), 10_571 + 398);
    // Issued requests, except driver-private requests.
    assert_eq!(trace.disk_ios.len(), 1754 - 24);
    // Completions with `R` and `RM`, and with `RA` and `RAM`.
    let reads = |flags| {
        trace.disk_ios.iter().filter(|row| row.operation == DiskOperation::Read && row.irp_flags == flags).count()
    };
    assert_eq!((reads(0), reads(DiskIo::LINUX_READ_AHEAD)), (52 + 181, 1441 + 2));
    let count = |kind| trace.device_operations.iter().filter(|row| row.kind == kind).count();
    assert_eq!(count(DeviceOperationKind::Initcall), 729);
    assert_eq!(count(DeviceOperationKind::ModuleLoad), 68);
    assert_eq!(count(DeviceOperationKind::Probe), 32);
    // Nine modules have no initialization function; all had finished at the end.
    let rows = || trace.device_operations.iter();
    let modules = rows().filter(|row| row.kind == DeviceOperationKind::ModuleLoad);
    let immediate = modules.filter(|row| row.end_ns == Some(row.start_ns));
    assert_eq!(immediate.count(), 9);
    assert!(rows().all(|row| row.end_ns.is_some()));
    assert_eq!(value(&trace, milestone::FIRMWARE), Some(4_940_382_000));
    assert_eq!(value(&trace, milestone::BOOT_MANAGER), Some(419_872_000));
    assert_eq!(trace.system.os_build_text, "6.1.0-50-amd64");
    assert_eq!(trace.system.memory_bytes, 1_969_152 * 1024);
    assert_eq!(trace.system.processors, 2);
    // `aesni_intel` was loaded by thread 252; the trace contains another function's name for its initialization.
    let aesni = trace.device_operations.iter().find(|row| trace.text(row.description) == "aesni_intel").unwrap();
    assert_eq!((trace.text(aesni.driver), aesni.tid), ("aesni_init", Some(252)));
    // 26.799968 to 30.841709 in the trace's text.
    let duration_ns = aesni.end_ns.unwrap() - aesni.start_ns;
    assert!(duration_ns.abs_diff(4_041_741_000) <= 1000);
}

#[test]
fn converts_kernel_log_clock_to_axis() {
    let Some(trace) = sample("boot-1") else {
        return;
    };
    let log = trace.clock_conversions.iter().find(|clock| clock.from == "kernel log").unwrap();
    // Most functions late in the boot were logged 43.477 ms (median) before the trace's time of their call.
    assert!(log.offset_ns.abs_diff(43_477_000) < 10_000, "{log:?}");
    // `Run /init` has the time 6.183958 in the log.
    let name = trace.strings.find(milestone::INITRD_BEGIN).unwrap();
    let init = trace.milestones.iter().find(|row| row.name == name).unwrap();
    assert!(init.time_ns.abs_diff(6_183_958_000 + 43_477_000) < 10_000);
}

#[test]
fn trace_text_and_trace_file_give_same_rows() {
    for (sample, name) in [("boot-1", "boot.trace"), ("boot-2", "boot.trace"), ("suspend-s3", "sleep.trace")] {
        let (Some(text), Some(data)) = (member(sample, &format!("{name}.txt")), member(sample, &format!("{name}.dat")))
        else {
            return;
        };
        let clock = ("trace_clock", &b"local [mono]\n"[..]);
        let text = read_bytes(&[("trace.txt", &text), clock]).unwrap();
        let data = read_bytes(&[("trace.dat", &data), clock]).unwrap();
        // Text has rounded microseconds, so times of corresponding rows differ by up to half a microsecond.
        let is_near = |a: i64, b: i64| a.abs_diff(b) <= 500;
        let switches = |trace: &Trace, cpu| -> Vec<ContextSwitch> {
            let rows = trace.context_switches.iter();
            rows.filter(|row| row.cpu == cpu).collect()
        };
        let wakings = |trace: &Trace, cpu| -> Vec<ReadyThread> {
            let rows = trace.ready_threads.iter();
            rows.filter(|row| row.cpu == cpu).collect()
        };
        for cpu in [0, 1] {
            let (a, b) = (switches(&text, cpu), switches(&data, cpu));
            assert!(a.len() == b.len() && a.len() > 500, "{sample}");
            for (a, b) in a.iter().zip(&b) {
                assert!(is_near(a.time_ns, b.time_ns), "{sample}: {a:?} {b:?}");
                let a = ContextSwitch { time_ns: b.time_ns, ..*a };
                assert_eq!(a, *b, "{sample}");
            }
            let (a, b) = (wakings(&text, cpu), wakings(&data, cpu));
            assert_eq!(a.len(), b.len(), "{sample}");
            for (a, b) in a.iter().zip(&b) {
                assert!(is_near(a.time_ns, b.time_ns), "{sample}: {a:?} {b:?}");
                // Text has whole microseconds, so records of two processors may be swapped.
                let a = ReadyThread { time_ns: b.time_ns, after_switches: b.after_switches, ..*a };
                assert_eq!(a, *b, "{sample}");
            }
        }
        assert_eq!(text.disk_ios.len(), data.disk_ios.len());
        for (a, b) in text.disk_ios.iter().zip(data.disk_ios.iter()) {
            assert_eq!((a.operation, a.offset, a.size, a.tid), (b.operation, b.offset, b.size, b.tid));
            assert_eq!(a.irp_flags, b.irp_flags);
            assert!(is_near(a.complete_ns, b.complete_ns));
        }
        assert_eq!(text.device_operations.len(), data.device_operations.len());
        for (a, b) in text.device_operations.iter().zip(data.device_operations.iter()) {
            assert_eq!((a.kind, a.tid, a.status), (b.kind, b.tid, b.status));
            assert_eq!(text.text(a.driver), data.text(b.driver));
            assert!(is_near(a.start_ns, b.start_ns));
        }
        assert_eq!(text.power_requests.len(), data.power_requests.len());
        for (a, b) in text.power_requests.iter().zip(data.power_requests.iter()) {
            let words = |trace: &Trace, row: &onoff_trace::PowerRequest| {
                [row.device, row.driver, row.parent, row.message].map(|id| trace.text(id).to_owned())
            };
            assert_eq!(words(&text, &a), words(&data, &b));
            assert_eq!((a.kind, a.status), (b.kind, b.status));
        }
        let processes = |trace: &Trace| -> Vec<(u32, Option<u32>, bool)> {
            let rows = trace.processes.iter();
            rows.map(|row| (row.pid, row.parent_pid, row.end_ns.is_some())).collect()
        };
        assert_eq!(processes(&text), processes(&data), "{sample}");
    }
}

/// Expected results come from grep on the trace's text: -13 means that runtime power management is off for the device,
/// and 1 that the device was awake. Steps without a recorded start have no row.
#[test]
fn reads_runtime_power_management_requests() {
    let (Some(trace), Some(text)) = (sample("boot-1"), member("boot-1", "boot.trace.txt")) else {
        return;
    };
    let text = String::from_utf8(text).unwrap();
    let occurrences = |word: &str| text.matches(word).count();
    let rows = |kind: PowerRequestKind| trace.power_requests.iter().filter(move |row| row.kind == kind);
    for (kind, begin) in [
        (PowerRequestKind::RuntimeSuspend, " rpm_suspend: "),
        (PowerRequestKind::RuntimeResume, " rpm_resume: "),
        (PowerRequestKind::RuntimeIdle, " rpm_idle: "),
    ] {
        assert_eq!(rows(kind).count(), occurrences(begin), "{begin}");
        assert!(rows(kind).all(|row| row.end_ns >= Some(row.start_ns)), "{begin}");
    }
    let disabled = Some((-13_i32).cast_unsigned());
    let count_with_status = |kind, status| rows(kind).filter(|row| row.status == status).count();
    assert_eq!(count_with_status(PowerRequestKind::RuntimeIdle, disabled), 272);
    assert_eq!(count_with_status(PowerRequestKind::RuntimeResume, disabled), 131);
    assert_eq!(count_with_status(PowerRequestKind::RuntimeResume, Some(1)), 43);
}

#[test]
fn firmware_table_takes_precedence_over_loader_variables() {
    let Some(trace) = sample("boot-fpdt") else {
        return;
    };
    // `systemd-analyze time`: 1.118s (firmware) + 3.691s (loader).
    let assert_near = |name, expected: i64| {
        let value = value(&trace, name).unwrap();
        assert!(value.abs_diff(expected) < 1_000, "{name} {value}");
    };
    assert_near(milestone::FIRMWARE, 1_118_240_374);
    assert_near(milestone::BOOT_MANAGER, 3_691_678_790);
    assert_eq!(value(&trace, milestone::FIRMWARE_EXIT_END), Some(4_809_919_164));
}

#[test]
fn reads_suspend_phases_and_sleep() {
    let Some(trace) = sample("suspend-s3") else {
        return;
    };
    assert_eq!(activities(&trace, ActivityKind::PowerTransition), [("mem", 1523)]);
    let phases = activities(&trace, ActivityKind::PowerPhase);
    // Expected durations from the trace's text.
    assert_eq!(
        phases,
        [
            (power_phase::SYNC_FILE_SYSTEMS, 142),
            (power_phase::FREEZE_PROCESSES, 256),
            (power_phase::DEVICES_PREPARE, 1),
            (power_phase::DEVICES_SUSPEND, 87),
            (power_phase::DEVICES_SUSPEND_LATE, 9),
            (power_phase::DEVICES_SUSPEND_NOIRQ, 14),
            (power_phase::PROCESSORS_OFF, 39),
            (power_phase::SYSTEM_CORE_OFF, 0),
            (power_phase::MACHINE, 0),
            (power_phase::SYSTEM_CORE_ON, 0),
            (power_phase::PROCESSORS_ON, 43),
            (power_phase::DEVICES_RESUME_NOIRQ, 611),
            (power_phase::DEVICES_RESUME_EARLY, 2),
            (power_phase::DEVICES_RESUME, 220),
            (power_phase::DEVICES_COMPLETE, 7),
            (power_phase::RESUME_CONSOLE, 0),
            (power_phase::THAW_PROCESSES, 37),
        ]
    );
    // Between the readings before and after, the boot clock gained 20.772585 s on the monotonic clock; the kernel
    // logged `Timekeeping suspended for 20.772 seconds`.
    let slept = value(&trace, milestone::WAKE).unwrap();
    assert!(slept.abs_diff(20_772_000_000) < 1_000_000, "{slept}");
    // 17 and 1 are runtime power management.
    assert_eq!(trace.power_requests.len(), 830 + 17 + 1);
    let count = |kind| {
        let rows = trace.power_requests.iter();
        rows.filter(|row| row.kind == kind).count()
    };
    assert_eq!(count(PowerRequestKind::Prepare), 345);
    assert_eq!(count(PowerRequestKind::SuspendNoIrq), 9 + 1 + 1);
    assert_eq!(count(PowerRequestKind::Resume), 32 + 5 + 1 + 1 + 10);
    assert_eq!(count(PowerRequestKind::Complete), 344);
    let slowest =
        trace.power_requests.iter().max_by_key(|row| row.end_ns.unwrap_or(row.start_ns) - row.start_ns).unwrap();
    assert_eq!(trace.text(slowest.device), "0000:00:10.0");
    assert_eq!(trace.text(slowest.message), "noirq bus [resume]");
    let source = trace.strings.find(milestone::WAKE_SOURCE).unwrap();
    let source = trace.milestones.iter().find(|row| row.name == source).unwrap();
    assert_eq!(trace.text(source.detail), "00:03");
}

#[test]
fn completes_hibernation_from_kernel_log() {
    let Some(trace) = sample("hibernate-s4") else {
        return;
    };
    let names: Vec<&str> = activities(&trace, ActivityKind::PowerPhase).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[..3], [power_phase::SYNC_FILE_SYSTEMS, power_phase::FREEZE_PROCESSES, power_phase::CREATE_IMAGE]);
    assert_eq!(value(&trace, milestone::POWER_HIBERNATE_PAGES), Some(94_948));
    let slept = value(&trace, milestone::WAKE).unwrap();
    // `Timekeeping suspended for 73.211 seconds`: writing the image, power off, and reading the image.
    assert!(slept.abs_diff(73_211_000_000) < 2_000_000, "{slept}");
}

#[test]
fn reads_shutdown_steps_from_kernel_log() {
    let Some(trace) = sample("shutdown-slowstop") else {
        return;
    };
    let steps = activities(&trace, ActivityKind::ShutdownStep);
    assert_eq!(
        steps,
        [
            (shutdown_step::TERMINATE_REMAINING, 315),
            (shutdown_step::KILL_REMAINING, 60),
            (shutdown_step::UNMOUNT, 102),
            (shutdown_step::SHUTDOWN_HOOKS, 0),
        ]
    );
}

#[test]
fn tracks_interrupts_and_softirqs_per_processor() {
    let trace = read_bytes(&[(
        "trace",
        b"# tracer: nop
          a-10  [000] d.h1.  1.000010: irq_handler_entry: irq=19 name=ahci
          a-10  [000] d.h1.  1.000030: irq_handler_exit: irq=19 ret=handled
          b-11  [001] ..s1.  1.000040: softirq_entry: vec=3 [action=NET_RX]
          b-11  [001] d.H1.  1.000050: irq_handler_entry: irq=4 name=ttyS0
          b-11  [001] d.H1.  1.000055: irq_handler_exit: irq=4 ret=handled
          b-11  [001] ..s1.  1.000060: sched_waking: comm=a pid=10 prio=120 target_cpu=000
          b-11  [001] ..s1.  1.000090: softirq_exit: vec=3 [action=NET_RX]
          b-11  [001] d..1.  1.000095: sched_waking: comm=a pid=10 prio=120 target_cpu=000
",
    )])
    .unwrap();
    let rows: Vec<_> = trace
        .interrupts
        .iter()
        .map(|row| {
            let duration_ns = row.end_ns - row.start_ns;
            (row.kind, row.cpu, row.vector, trace.text(row.name), duration_ns)
        })
        .collect();
    assert_eq!(
        rows,
        [
            (InterruptKind::Interrupt, 0, 19, "ahci", 20_000),
            (InterruptKind::Interrupt, 1, 4, "ttyS0", 5_000),
            (InterruptKind::SoftInterrupt, 1, 3, "NET_RX", 50_000),
        ]
    );
    let flags: Vec<u8> = trace.ready_threads.iter().map(|row| row.flags).collect();
    assert_eq!(flags, [1, 0]);
    assert_eq!(trace.losses.count("trace_clock_unknown"), 1);
    // The recorder can state the clock.
    let heading = b"# tracer: nop\n# trace_clock: mono\n   a-10  [000] ..s1.  1.000060: sched_waking: comm=a pid=10 prio=120 target_cpu=000\n";
    assert_eq!(read_bytes(&[("trace", heading)]).unwrap().losses.count("trace_clock_unknown"), 0);
}

#[test]
fn zip_and_tar_of_a_folder_give_same_rows() {
    let Some(folder) = samples_folder("linux") else {
        return;
    };
    let path = folder.join("shutdown-slowstop.tar.xz");
    let packed = std::fs::File::open(&path).unwrap();
    let mut archive = tar::Archive::new(lzma_rust2::XzReader::new(packed, true));
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let name = entry.path().unwrap().display().to_string();
            let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
            zip.start_file(name, stored).unwrap();
            std::io::copy(&mut entry, &mut zip).unwrap();
        }
    }
    let bytes = zip.finish().unwrap().into_inner();
    let from_zip = read_bytes(&[("x.zip", &bytes)]).unwrap();
    let from_tar = open(&[path], TableSet::all(), &onoff_files::Options::default()).unwrap();
    let summary = |trace: &Trace| {
        let losses = trace.losses.iter();
        (
            trace.files.iter().map(|file| (file.content, file.bytes)).collect::<Vec<_>>(),
            trace.service_transitions.len(),
            trace.context_switches.len(),
            losses.map(|loss| (loss.counter, loss.count)).collect::<Vec<_>>(),
        )
    };
    assert_eq!(summary(&from_zip), summary(&from_tar));
    assert!(!from_zip.service_transitions.is_empty());
}

#[test]
fn rejects_supplementary_part_with_other_recording() {
    let result = read_bytes(&[("cmdline", b"root=/dev/vda\n")]);
    // The part is accepted alone but rejected together with a recording of another kind.
    assert!(result.is_ok());
    let capture = b"\x4D\x3C\xB2\xA1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let mixed = read_bytes(&[("a.pcap", capture), ("cmdline", b"root=/dev/vda\n")]);
    assert!(matches!(mixed, Err(Error::NotARecording { .. })), "{mixed:?}");
}

#[test]
fn searches_folders_and_counts_skipped_files() {
    let folder = tempfile::tempdir().unwrap();
    let subfolder = folder.path().join("deeper");
    std::fs::create_dir(&subfolder).unwrap();
    let log = b"[    0.000000] Linux version 6.1\n[    0.500000] Run /sbin/init as init process\n";
    std::fs::write(subfolder.join("dmesg"), log).unwrap();
    std::fs::write(subfolder.join("the same"), log).unwrap();
    std::fs::write(folder.path().join("picture"), b"\x89PNG").unwrap();
    let files = onoff_files::open_all(&[folder.path().to_owned()], &Limits::default()).unwrap();
    assert_eq!((files.kind(), files.iter().len()), (RecordingKind::Linux, 1));
    let trace = open_files(&files, TableSet::all(), &Options::default()).unwrap();
    assert_eq!(trace.losses.count("files_skipped"), 1);
    assert_eq!(trace.milestones.len(), 2);
    let empty = tempfile::tempdir().unwrap();
    let error = onoff_files::open_all(&[empty.path().to_owned()], &Limits::default());
    assert!(matches!(error, Err(Error::NoRecordingInside { .. })));
}

/// Beginning of each kind of part.
const BEGINNINGS: &[(&str, &[u8])] = &[
    ("trace", b"# tracer: nop\n  a-1 [000] d..2. 1.5: sched_switch: "),
    ("trace", b"  a-1 [000] 1.5: suspend_resume: "),
    ("trace.dat", b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0"),
    ("trace.dat", b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\0\0"),
    ("log", b"[    1.000000] PM: suspend entry (deep)\n[    1.0] "),
    ("log", b"[    1.000000] calling  f+0x0/0x1 @ 1\n[    1.0] initcall "),
    ("log", b"{ \"dmesg\": [ { \"time\": 1.0, \"msg\": \"PM: "),
    ("manager", b"Version=1\nUserspaceTimestampMonotonic=1\n"),
    ("units", b"Id=a.service\nLoadState=loaded\n"),
    ("dump", b"Manager: systemd 252\n-> Unit a.service:\n"),
    ("journal", b"__CURSOR=s\n__REALTIME_TIMESTAMP=1\n_BOOT_ID=1\n"),
    ("journal", b"{\"__CURSOR\":\"s\",\"__REALTIME_TIMESTAMP\":\"1\""),
    ("LoaderTimeInitUSec-1", b"\x06\0\0\0"),
    ("LoaderTimeExecUSec-1", b"\x06\0\0\0"),
    ("FBPT", b"FBPT\x30\0\0\0"),
    ("clock", b"mono=1.5 boot=2.5 real=3.5\nmono="),
    ("cpuinfo", b"processor\t: 0\ncpu MHz\t: "),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_bytes_do_not_panic(
        parts in prop::collection::vec(
            (0..BEGINNINGS.len(), prop::collection::vec(any::<u8>(), 0..200), ".{0,80}"),
            1..4,
        ),
    ) {
        let parts: Vec<(&str, Vec<u8>)> = parts
            .into_iter()
            .map(|(index, bytes, text)| {
                let (name, beginning) = BEGINNINGS[index];
                (name, [beginning, text.as_bytes(), b"\n", &bytes].concat())
            })
            .collect();
        let parts: Vec<(&str, &[u8])> = parts
            .iter()
            .map(|(name, bytes)| (*name, bytes.as_slice()))
            .collect();
        if let Ok(trace) = read_bytes(&parts) {
            prop_assert_eq!(trace.system.kind, SystemKind::Linux);
        }
    }
}

#[test]
fn pairs_early_initcalls_despite_coarse_clock() {
    let Some(trace) = sample("boot-2") else {
        return;
    };
    let call = |name: &str| {
        let row = trace.device_operations.iter().find(|row| trace.text(row.driver) == name).unwrap();
        (row.start_ns, row.end_ns)
    };
    // In the trace, the end of the first function is 20 lines after its begin, and the end of the second precedes its
    // begin.
    assert_eq!(call("e820__register_nvs_regions"), (1_056_000_000, Some(1_060_000_000)));
    assert_eq!(call("inet_frag_wq_init"), (1_056_000_000, Some(1_056_000_000)));
    let unfinished = trace.device_operations.iter().filter(|row| row.end_ns.is_none()).count();
    assert_eq!(unfinished, 0);
}

#[test]
fn reads_firmware_times_from_sysfs() {
    let folder = tempfile::tempdir().unwrap();
    let boot = folder.path().join("fpdt/boot");
    std::fs::create_dir_all(&boot).unwrap();
    for (file, value) in [
        ("firmware_start_ns", 700_000_000_u64),
        ("bootloader_load_ns", 1_115_334_092),
        ("bootloader_launch_ns", 1_118_240_374),
        ("exitbootservice_start_ns", 4_792_421_179),
        ("exitbootservice_end_ns", 4_809_919_164),
    ] {
        std::fs::write(boot.join(file), format!("{value}\n")).unwrap();
    }
    let manager = "UserspaceTimestampMonotonic=5000000\nFinishTimestampMonotonic=9000000\n\
                   KernelTimestampMonotonic=0\nVersion=252\n";
    std::fs::write(folder.path().join("show-manager.txt"), manager).unwrap();
    let trace = open(&[folder.path().to_owned()], TableSet::all(), &onoff_files::Options::default()).unwrap();
    assert_eq!(value(&trace, milestone::FIRMWARE), Some(1_118_240_374));
    assert_eq!(value(&trace, milestone::BOOT_MANAGER), Some(3_691_678_790));
    assert_eq!(value(&trace, milestone::FIRMWARE_EXIT_END), Some(4_809_919_164));
}
