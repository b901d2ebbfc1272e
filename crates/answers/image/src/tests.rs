//! Tests with synthetic images.

use onoff_testkit::hive::HiveKey;
use onoff_trace::{DiskIo, DiskOperation, IoPriority, Trace};

use super::*;
use onoff_testkit::synthetic::MS;

fn image(hives: &[(&str, &HiveKey)]) -> Image {
    let hives = hives.iter().map(|(name, root)| {
        let hive = Hive::read(root.to_hive(), &[]).unwrap();
        ImageHive { name: (*name).to_owned(), kind: HiveKind::from_hive(&hive).unwrap(), hive }
    });
    Image { hives: hives.collect(), ..Image::default() }
}

fn system() -> HiveKey {
    let mut root = HiveKey::root();
    root.subkey("Select").set_value("Current", 2_u32);
    root.subkey(r"ControlSet002\Control\ServiceGroupOrder").set_value("List", ["Early", "Late"].as_slice());
    let mut service = |name: &str, kind: u32, start: u32, path: &str| {
        root.subkey(&format!(r"ControlSet002\Services\{name}"))
            .set_value("Type", kind)
            .set_value("Start", start)
            .set_value("ImagePath", path);
    };
    service("Zeta", 16, 2, r#""C:\Program Files\Zeta\zeta.exe" -run"#);
    service("Alpha", 32, 2, r"%SystemRoot%\system32\svchost.exe -k netsvcs");
    service("Disk", 1, 0, r"\SystemRoot\System32\drivers\disk.sys");
    service("Off", 16, 4, r"C:\old.exe");
    root.subkey(r"ControlSet002\Services\Zeta")
        .set_value("Group", "early")
        .set_value("DependOnService", ["alpha"].as_slice());
    root.subkey(r"ControlSet002\Services\Alpha").set_value("DelayedAutoStart", 1_u32);
    root.subkey(r"ControlSet002\Services\Alpha\Parameters").set_value("ServiceDll", r"%SystemRoot%\system32\alpha.dll");
    root.subkey(r"ControlSet002\Services\Alpha\TriggerInfo\0").set_value("Type", 1_u32);
    root.subkey(r"ControlSet002\Services\Disk").set_value("ErrorControl", 3_u32);
    root.subkey(r"ControlSet002\Services\Settings\Only").set_value("A", 1_u32);
    root
}

#[test]
fn sorts_services_in_start_order() {
    let report = analyze(&image(&[("SYSTEM", &system())]));
    let names: Vec<&str> = report.services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["Disk", "Zeta", "Alpha", "Off"]);
    let [disk, zeta, alpha, _] = report.services.as_slice() else { unreachable!() };
    assert_eq!((disk.start, disk.error_control), (ServiceStart::Boot, ErrorControl::Critical));
    assert_eq!((zeta.file.as_str(), zeta.is_outside_windows), (r"\Program Files\Zeta\zeta.exe", true));
    assert_eq!((alpha.file.as_str(), alpha.is_outside_windows), (r"\Windows\system32\alpha.dll", false));
    assert_eq!(
        (alpha.is_delayed, alpha.has_trigger, alpha.needed_by.as_slice()),
        (true, true, ["Zeta".to_owned()].as_slice())
    );
    assert!(zeta.evidence().contains(r"SYSTEM\ControlSet002\Services\Zeta: start auto"), "{}", zeta.evidence());
    assert!(zeta.evidence().contains("2020-01-02 03:04:05 UTC"), "{}", zeta.evidence());
    let counts = report.counts;
    assert_eq!((counts.auto, counts.delayed, counts.trigger, counts.in_group, counts.outside_windows), (2, 1, 1, 1, 1));
    assert_eq!((counts.boot_start, counts.critical_boot_start), (1, 1));
}

#[test]
fn extracts_files_from_command_lines() {
    for (command, file) in [
        (r"\??\C:\Windows\system32\drivers\x.sys", r"\Windows\system32\drivers\x.sys"),
        (r"system32\DRIVERS\usbhub.sys", r"\Windows\system32\DRIVERS\usbhub.sys"),
        (r"C:\Program Files\A B\c.exe /s", r"\Program Files\A B\c.exe"),
        (r"%ProgramFiles%\x\y.exe", r"\Program Files\x\y.exe"),
        ("lsass.exe", r"\Windows\system32\lsass.exe"),
        ("", ""),
        ("\"", ""),
        (r"\??\\??\", ""),
    ] {
        assert_eq!(services::volume_path(command), file, "{command}");
    }
}

#[test]
fn reads_write_filter_settings() {
    let mut root = system();
    let static_key = root.subkey(r"ControlSet002\Services\uwfvol\Parameters\Static");
    static_key.set_value("CurrentSettings", 1_u32).set_value("UpdatedSettings", 0_u32);
    static_key.subkey("Copy0").set_value("UwfEnabled", 0_u32);
    static_key
        .subkey("Copy1")
        .set_value("UwfEnabled", 1_u32)
        .set_value("OverlayType", 1_u32)
        .set_value("OverlayMaximumSize", 2048_u32);
    static_key.subkey(r"Copy1\0").set_value("VolumeName", r"\\?\Volume{a}").set_value("VolumeEnabled", 1_u32);
    static_key.subkey(r"Copy1\0").set_value("FileExceptionsUserDefined", [r"C:\Windows\Prefetch"].as_slice());
    static_key.subkey(r"Copy1\1").set_value("VolumeEnabled", 0_u32);
    let report = analyze(&image(&[("SYSTEM", &root)]));
    let filter = &report.write_filters[0];
    assert_eq!(
        (filter.is_enabled, filter.is_enabled_after_restart, filter.overlay),
        (Some(true), Some(false), OverlayKind::Disk)
    );
    assert_eq!(filter.max_bytes, Some(2 << 30));
    assert_eq!(filter.excludes(r"\windows\prefetch\a.pf"), Some(true));
    assert_eq!((filter.excludes(r"\windows\prefetched"), filter.excludes(r"\windows")), (Some(false), Some(false)));
    let blockers = [HormBlocker::UnprotectedVolume, HormBlocker::FileExclusion, HormBlocker::DiskOverlay];
    assert_eq!(filter.horm_blockers, blockers);
    assert!(analyze(&image(&[("SYSTEM", &system())])).write_filters.is_empty());
}

#[test]
fn comparison_sorts_by_potential_cost() {
    let was = analyze(&image(&[("SYSTEM", &system())]));
    let mut root = system();
    root.subkey(r"ControlSet002\Services\Off").set_value("Start", 2_u32);
    root.subkey(r"ControlSet002\Services\Disk").set_value("ImagePath", r"\SystemRoot\disk2.sys");
    let is = analyze(&image(&[("SYSTEM", &root)]));
    assert_eq!(compare(&was, &was).changes, []);
    let changes = compare(&was, &is).changes;
    let summaries: Vec<_> =
        changes.iter().map(|change| (change.what, change.name.as_str(), change.field, change.weight)).collect();
    assert_eq!(summaries, [("service", "Off", "start", 3), ("driver", "Disk", "image_path", 1)]);
    assert_eq!((changes[0].was.as_deref(), changes[0].is.as_deref()), (Some("disabled"), Some("auto")));
}

fn write(trace: &mut Trace, time_ms: i64, file: &str, offset: u64, size: u64) {
    let file = trace.strings.intern(file);
    trace.disk_ios.push(DiskIo {
        issue_ns: None,
        complete_ns: time_ms * MS,
        disk: 0,
        operation: DiskOperation::Write,
        offset,
        size,
        priority: IoPriority::Normal,
        service_ns: MS,
        pid: None,
        tid: None,
        file,
        file_object: 1,
        irp: 0,
        irp_flags: 0,
    });
}

#[test]
fn overlay_grows_by_first_writes() {
    let mut trace = Trace { duration_ns: 3_000 * MS, ..Trace::default() };
    assert_eq!(overlay_growth(&trace, &OverlayLimits::default()), None);
    write(&mut trace, 100, r"C:\log.txt", 0, 100);
    // The same cluster again, plus a new one.
    write(&mut trace, 200, r"C:\log.txt", 50, 4096);
    write(&mut trace, 2_500, r"C:\Windows\Prefetch\A.pf", 1 << 20, 8192);
    let limits = OverlayLimits { max_bytes: Some(16_384 + 8192), ..OverlayLimits::default() };
    let growth = overlay_growth(&trace, &limits).unwrap();
    assert_eq!((growth.bytes, growth.written_bytes), (16_384, 100 + 4096 + 8192));
    assert_eq!((growth.prefetch_percent, growth.files[0].new_bytes), (50.0, 8192));
    assert_eq!(growth.curve.last().unwrap().bytes, 16_384);
    // 8 KiB in the last second: another 8 KiB take one second.
    assert!((growth.full_in_ns.unwrap() - 1_000 * MS).abs() < MS, "{:?}", growth.full_in_ns);
    let limits = OverlayLimits { exclusions: vec![r"C:\Windows\Prefetch".to_owned()], ..limits };
    let growth = overlay_growth(&trace, &limits).unwrap();
    assert_eq!((growth.bytes, growth.excluded_bytes, growth.full_in_ns), (8192, 8192, None));
}
