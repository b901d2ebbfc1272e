//! The boot axis from reset through firmware, network boot, loader and kernel to the desktop. Known values are
//! injected: the offset of the capture's clock, and the time from the last byte to the start of the loader.

use onoff_testkit::capture::{
    CaptureBuilder, Container, DhcpFields, DhcpMessageType, Link, PacketLog, event_trace, read_frames,
};
use onoff_trace::CivilTime;
use serde_json::Value;

use crate::firmware::fbpt;
use crate::harness::Folder;

const MS: i64 = 1_000_000;
/// The network boot in table 2 of the paper on PXE performance, in ms: end of reset, load and start of the loader,
/// begin and end of ExitBootServices.
const PAPER_MS: [i64; 5] = [21, 7_037, 20_246, 40_363, 40_365];
const SCENARIO: &str = "table-7-slow-service-in-group.toml";
/// Offset of the capture's clock.
const CLOCK_OFFSET_MS: i64 = 1_500;
/// Time from the last acknowledgment of the boot program to the start of the loader.
const VERIFICATION_MS: i64 = 210;

fn paper() -> Vec<u8> {
    fbpt(PAPER_MS.map(|ms| (ms * MS) as u64))
}

/// The packets of a boot whose reset is at `reset_unix_ms`: an address soon after the loader is loaded, the boot
/// program shortly before the loader starts, an image, and an address for the system itself 5 s after kernel start.
fn packets(reset_unix_ms: i64) -> Vec<u8> {
    let time_ns = |ms: i64| ((reset_unix_ms + ms) * MS) as u64;
    // A request and 800 blocks, each with an acknowledgment, 50 µs per packet.
    let program_ms = 80;
    CaptureBuilder::default()
        .at_unix_ns(time_ns(PAPER_MS[1] + 200))
        .lease(&DhcpFields::default())
        .at_unix_ns(time_ns(PAPER_MS[2] - VERIFICATION_MS - program_ms))
        .file("boot.efi", 800, &CaptureBuilder::uefi_program(0x8664))
        .at_unix_ns(time_ns(PAPER_MS[2] + 400))
        .file("Boot/BCD", 30, b"")
        .wait_ms(9_000)
        .file("boot.wim", 20_000, b"")
        .at_unix_ns(time_ns(PAPER_MS[4] + 5_000))
        .os_lease()
        .bytes()
}

fn boot(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_str(&folder.answer(&format!("boot {arguments} --format json"))).unwrap()
}

fn join<'a>(axis: &'a Value, source: &str) -> &'a Value {
    axis["joins"].as_array().unwrap().iter().find(|join| join["source"] == source).unwrap()
}

fn kinds(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|evidence| evidence["kind"].as_str().unwrap()).collect()
}

/// Returns the kernel start in wall-clock time (ms) and on the recording's axis (ns).
fn kernel_start(folder: &Folder) -> (i64, i64) {
    let info: Value = serde_json::from_str(&folder.answer("info boot.etl --format json")).unwrap();
    // Format: `2024-01-09T08:00:00.0000000Z`.
    let numbers: Vec<i64> = info["start_utc"]
        .as_str()
        .unwrap()
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    let [year, month, day, hour, minute, second, fraction] = numbers[..] else { panic!("{info}") };
    let civil = CivilTime {
        year,
        month: month as u8,
        day: day as u8,
        hour: hour as u8,
        minute: minute as u8,
        second: second as u8,
        nanosecond: fraction as u32 * 100,
    };
    let start = civil.to_unix_ns().unwrap();
    let kernel_ns = boot(folder, "boot.etl")["main_path_boot"]["start_ns"].as_i64().unwrap();
    ((start + kernel_ns) / MS, kernel_ns)
}

#[test]
fn axis_spans_reset_to_desktop() {
    let folder = Folder::boot(SCENARIO);
    let (kernel_unix_ms, kernel_ns) = kernel_start(&folder);
    let reset_ms = kernel_unix_ms - PAPER_MS[4];
    folder.file("FBPT.bin", &paper()).file("boot.pcapng", &packets(reset_ms + CLOCK_OFFSET_MS));
    let report = boot(&folder, "boot.etl --firmware FBPT.bin --capture boot.pcapng");
    let axis = &report["axis"];
    assert_eq!(axis["origin"], "recording");
    assert_eq!(axis["start_ns"].as_i64().unwrap(), kernel_ns - PAPER_MS[4] * MS);
    assert_eq!(axis["total_ns"], report["total_from_reset_ns"], "both report the same total");
    // The stages are contiguous.
    let stages = axis["stages"].as_array().unwrap();
    for pair in stages.windows(2) {
        assert_eq!(pair[0]["end_ns"], pair[1]["start_ns"], "{} {}", pair[0]["name"], pair[1]["name"]);
    }
    let names: Vec<&str> = stages.iter().map(|stage| stage["name"].as_str().unwrap()).collect();
    assert_eq!(names[..6], ["reset", "firmware", "loader_load", "loader", "exit_boot_services", "PreSMSS"]);

    let capture = join(axis, "capture");
    assert_eq!(capture["joined"], true, "{capture}");
    assert!(kinds(&capture["evidence"]).contains(&"clocks"));
    // The packets are drawn later than they occurred, but within the reported uncertainty.
    let first_frame = PAPER_MS[1] + 200;
    let drawn_ms = (capture["shift_ns"].as_i64().unwrap() - kernel_ns) / MS + PAPER_MS[4];
    let late_ms = drawn_ms - first_frame;
    assert!((VERIFICATION_MS - 2..VERIFICATION_MS + 5).contains(&late_ms), "{late_ms}");
    let at_most_ms = capture["max_earlier_ns"].as_i64().unwrap() / MS;
    assert!(late_ms <= at_most_ms && at_most_ms < 700, "{at_most_ms}");

    // Contents of "load" and "loader".
    let part_names = |stage: &str| -> Vec<String> {
        let stage = stages.iter().find(|candidate| candidate["name"] == stage).unwrap();
        stage["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(part_names("loader_load"), ["DHCP", "boot program"]);
    assert_eq!(part_names("loader"), ["configuration", "ramdisk"]);
    let text = folder.answer("boot boot.etl --firmware FBPT.bin --capture boot.pcapng");
    let section = text.split("\nBoot timeline").nth(1).unwrap().split("\n\n").next().unwrap();
    insta::assert_snapshot!("boot_on_one_axis", section);
}

#[test]
fn packets_precede_kernel_without_firmware() {
    let folder = Folder::boot(SCENARIO);
    let (kernel_unix_ms, kernel_ns) = kernel_start(&folder);
    folder.file("boot.pcapng", &packets(kernel_unix_ms - PAPER_MS[4] + CLOCK_OFFSET_MS));
    let axis = boot(&folder, "boot.etl --capture boot.pcapng")["axis"].take();
    let stage = &axis["stages"][0];
    assert_eq!((stage["name"].as_str(), stage["end_ns"].as_i64()), (Some("network_boot"), Some(kernel_ns)));
    // The true value is within the reported uncertainty: the first frame came 33.128 s before the kernel.
    let capture = join(&axis, "capture");
    let drawn_ms = (kernel_ns - stage["start_ns"].as_i64().unwrap()) / MS;
    let late_ms = PAPER_MS[4] - (PAPER_MS[1] + 200) - drawn_ms;
    assert!(late_ms >= 0 && late_ms <= capture["max_earlier_ns"].as_i64().unwrap() / MS, "{late_ms}");
}

#[test]
fn ignores_capture_of_another_boot() {
    let folder = Folder::boot(SCENARIO);
    let (kernel_unix_ms, _) = kernel_start(&folder);
    let reset_ms = kernel_unix_ms - PAPER_MS[4];
    folder.file("FBPT.bin", &paper());
    let opposing_kinds = |capture: &[u8]| {
        folder.file("boot.pcapng", capture);
        let axis = boot(&folder, "boot.etl --firmware FBPT.bin --capture boot.pcapng")["axis"].take();
        let join = join(&axis, "capture").clone();
        assert_eq!((&join["joined"], &join["shift_ns"]), (&Value::Bool(false), &Value::Null));
        for stage in axis["stages"].as_array().unwrap() {
            assert_ne!(stage["source"], "capture", "{stage}");
        }
        let text = folder.answer("boot boot.etl --firmware FBPT.bin --capture boot.pcapng");
        assert!(text.contains("Capture: not on the timeline."), "{text}");
        kinds(&join["opposing"]).iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>()
    };
    // The same machine, one hour earlier.
    assert_eq!(opposing_kinds(&packets(reset_ms - 3_600_000)), ["clocks"]);
    // The time matches, but downloading the boot program took longer than the firmware took to load the loader.
    let time_ns = |ms: i64| ((reset_ms + ms) * MS) as u64;
    let slow = CaptureBuilder::default()
        .at_unix_ns(time_ns(1_000))
        .lease(&DhcpFields::default())
        .file("boot.efi", 800, b"")
        .at_unix_ns(time_ns(30_000))
        .file("boot.wim", 90, b"")
        .at_unix_ns(time_ns(90_000))
        .file("other.wim", 90, b"");
    assert!(opposing_kinds(&slow.bytes()).contains(&"order".to_owned()));
    // In this capture, nothing was loaded.
    let failed_boot =
        CaptureBuilder::default().at_unix_ns(time_ns(7_300)).lease(&DhcpFields::default()).request("boot.efi", &[]);
    assert_eq!(opposing_kinds(&failed_boot.error(false, 1, "File not found").bytes()), ["no_loaded_boot"]);
}

#[test]
fn selects_network_boot_by_time() {
    let folder = Folder::boot(SCENARIO);
    let (kernel_unix_ms, _) = kernel_start(&folder);
    let reset_ms = kernel_unix_ms - PAPER_MS[4];
    let time_ns = |ms: i64| ((reset_ms + ms) * MS) as u64;
    let add_boot = |builder: CaptureBuilder, reset: i64| {
        builder
            .at_unix_ns(time_ns(reset + PAPER_MS[1] + 200))
            .lease(&DhcpFields::default())
            .at_unix_ns(time_ns(reset + PAPER_MS[2] - VERIFICATION_MS - 80))
            .file("boot.efi", 800, b"")
            .at_unix_ns(time_ns(reset + PAPER_MS[4] + 5_000))
            .os_lease()
    };
    let two_boots = add_boot(add_boot(CaptureBuilder::default(), -100_000), 0);
    folder.file("FBPT.bin", &paper()).file("boot.pcapng", &two_boots.bytes());
    let axis = boot(&folder, "boot.etl --firmware FBPT.bin --capture boot.pcapng")["axis"].take();
    let capture = join(&axis, "capture");
    assert_eq!(capture["joined"], true, "{capture}");
    let clocks = capture["evidence"].as_array().unwrap().iter().find(|evidence| evidence["kind"] == "clocks").unwrap();
    assert!(clocks["difference_ns"].as_i64().unwrap().abs() < 1_000 * MS, "{clocks}");
}

#[test]
fn joins_firmware_and_packets_without_recording() {
    let folder = Folder::new();
    folder.file("FBPT.bin", &paper()).file("boot.pcapng", &packets(1_700_000_000_000));
    let axis = boot(&folder, "--firmware FBPT.bin --capture boot.pcapng");
    assert_eq!((&axis["origin"], axis["total_ns"].as_i64().unwrap()), (&"reset".into(), PAPER_MS[4] * MS));
    let capture = join(&axis, "capture");
    assert_eq!(capture["joined"], true, "{capture}");
    assert!(kinds(&capture["evidence"]).contains(&"fills_load_time"));
    let text = folder.answer("boot --firmware FBPT.bin --capture boot.pcapng");
    insta::assert_snapshot!("firmware_and_packets_on_one_axis", text);

    // Packets that cover only a quarter of the firmware's load time may belong to another computer.
    let time_ns = |ms: i64| ((1_700_000_000_000 + ms) * MS) as u64;
    let brief = CaptureBuilder::default()
        .at_unix_ns(time_ns(0))
        .lease(&DhcpFields::default())
        .at_unix_ns(time_ns(3_000))
        .file("boot.efi", 800, b"");
    folder.file("boot.pcapng", &brief.at_unix_ns(time_ns(9_000)).file("boot.wim", 90, b"").bytes());
    let axis = boot(&folder, "--firmware FBPT.bin --capture boot.pcapng");
    let capture = join(&axis, "capture");
    assert_eq!((&capture["joined"], kinds(&capture["opposing"])), (&Value::Bool(false), vec!["no_evidence"]));
}

/// Tables without a join point stay off the axis, and the correct reason is reported.
#[test]
fn tables_without_join_point() {
    let folder = Folder::boot(SCENARIO);
    let later_ms = 9_000_000;
    for (times, kind, reason) in [
        ([21, 0, 20_246, 0, 0], "no_exit_time", "It has no timestamp for the return from ExitBootServices"),
        (PAPER_MS.map(|ms| ms + later_ms), "spans_resets", "Its clock kept running across earlier boots"),
    ] {
        folder.file("FBPT.bin", &fbpt(times.map(|ms| (ms * MS) as u64)));
        let axis = boot(&folder, "boot.etl --firmware FBPT.bin")["axis"].take();
        let firmware = join(&axis, "firmware");
        assert_eq!((&firmware["joined"], kinds(&firmware["opposing"])), (&Value::Bool(false), vec![kind]));
        let text = folder.answer("boot boot.etl --firmware FBPT.bin");
        assert!(text.contains(&format!("Firmware table: not on the timeline. {reason}")), "{text}");
    }
}

/// Given one input alone, onoff analyzes the file, not this computer.
#[test]
fn firmware_or_packets_alone() {
    let folder = Folder::new();
    folder.file("FBPT.bin", &paper()).file("boot.pcapng", &packets(1_700_000_000_000));
    folder.file("legacy.bin", &fbpt([21, 0, 20_246, 0, 0].map(|ms| ms * MS as u64)));
    let names = |axis: &Value| -> Vec<String> {
        axis["stages"].as_array().unwrap().iter().map(|stage| stage["name"].as_str().unwrap().to_owned()).collect()
    };
    let firmware = boot(&folder, "--firmware FBPT.bin");
    assert_eq!((&firmware["origin"], firmware["total_ns"].as_i64().unwrap()), (&"reset".into(), PAPER_MS[4] * MS));
    assert_eq!(names(&firmware), ["reset", "firmware", "loader_load", "loader", "exit_boot_services"]);
    let text = folder.answer("boot --firmware FBPT.bin");
    assert!(text.starts_with("From CPU reset to the operating system: 40.4 s.\n"), "{text}");
    let legacy = boot(&folder, "--firmware legacy.bin");
    assert_eq!(
        (names(&legacy), legacy["total_ns"].as_i64().unwrap()),
        (vec!["reset".into(), "firmware".into()], 20_246 * MS)
    );
    let capture = boot(&folder, "--capture boot.pcapng");
    assert_eq!((&capture["origin"], names(&capture)), (&"capture".into(), vec!["network_boot".into()]));
    // From the client's first frame to the first packets of the system.
    let total_ms = capture["total_ns"].as_i64().unwrap() / MS;
    assert!((38_000..39_100).contains(&total_ms), "{total_ms}");
    let part_names: Vec<&str> =
        capture["stages"][0]["parts"].as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!(part_names, ["DHCP", "boot program", "configuration", "ramdisk", "OS network"]);
    let text = folder.answer("boot --capture boot.pcapng");
    assert!(text.starts_with("From the first frame of the client to the end of the network boot: "), "{text}");
}

/// The recorded computer itself captured the packets, in an event trace.
#[test]
fn packets_from_event_trace_are_on_axis() {
    let folder = Folder::boot(SCENARIO);
    let (kernel_unix_ms, _) = kernel_start(&folder);
    let capture = packets(kernel_unix_ms - PAPER_MS[4]);
    folder.file("FBPT.bin", &paper()).file("boot.pcapng", &capture);
    folder.file("packets.etl", &event_trace(&read_frames(&capture), PacketLog::Whole));
    let stages_with = |capture: &str| {
        let mut axis = boot(&folder, &format!("boot.etl --firmware FBPT.bin --capture {capture}"))["axis"].take();
        axis["stages"].take()
    };
    let stages = stages_with("packets.etl");
    assert!(stages[2]["parts"].as_array().unwrap().len() == 2, "{stages}");
    assert_eq!(stages, stages_with("boot.pcapng"));
}

#[test]
fn linux_boot_from_reset() {
    let folder = Folder::linux_boot();
    // The zero of the kernel's monotonic clock, from the two clocks of the journal.
    let kernel_unix_ms = 1_700_000_100_000 - 34_680;
    // systemd reports 5.448538 s for firmware and loader.
    let times = [100, 3_000, 5_200, 5_440, 5_448].map(|ms: i64| (ms * MS) as u64);
    folder.file("FBPT.bin", &fbpt(times));
    let time_ns = |ms: i64| ((kernel_unix_ms - 5_448 + ms) * MS) as u64;
    let capture_at = |client_ms: i64| {
        CaptureBuilder::default()
            .at_unix_ns(time_ns(client_ms + 3_100))
            .lease(&DhcpFields::default())
            .at_unix_ns(time_ns(client_ms + 5_000))
            .file("boot.efi", 800, b"")
            .at_unix_ns(time_ns(client_ms + 14_000))
            .os_lease()
            .bytes()
    };
    folder.file("boot.pcapng", &capture_at(400));
    let report = boot(&folder, "linux --firmware FBPT.bin --capture boot.pcapng");
    let axis = &report["axis"];
    let names: Vec<&str> =
        axis["stages"].as_array().unwrap().iter().map(|stage| stage["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["reset", "firmware", "loader_load", "loader", "exit_boot_services", "kernel", "user_space"]);
    assert_eq!(axis["start_ns"].as_i64().unwrap(), -5_448 * MS);
    let firmware = join(axis, "firmware");
    assert_eq!(firmware["joined"], true);
    assert_eq!(firmware["max_earlier_ns"], 538_000, "the difference between the two sources");
    assert_eq!(join(axis, "capture")["joined"], true, "{axis}");
    let text = folder.answer("boot linux --firmware FBPT.bin --capture boot.pcapng");
    insta::assert_snapshot!(
        "linux_boot_on_one_axis",
        text.split("\nBoot timeline").nth(1).unwrap().split("\n\n").next().unwrap()
    );

    // Tables of another machine contradict systemd.
    folder.file("FBPT.bin", &paper());
    let axis = boot(&folder, "linux --firmware FBPT.bin")["axis"].take();
    let firmware = join(&axis, "firmware");
    assert_eq!(
        (&firmware["joined"], kinds(&firmware["opposing"])),
        (&Value::Bool(false), vec!["service_manager_times"])
    );
    assert_eq!(axis["stages"][0]["name"], "firmware", "the phases of the service manager remain");
}

#[test]
fn kernel_with_boot_source() {
    for (mac_address, is_joined) in [("52-54-00-77-00-01", true), ("52-54-00-77-00-02", false)] {
        let folder = Folder::linux_boot();
        let line = format!(
            "[    0.000000] Linux version 6.1.0 (x@y) (gcc 12) #1 SMP\n[    0.000000] Command line: ro BOOTIF=01-{mac_address} quiet\n\
             [    1.000000] Run /sbin/init as init process\n"
        );
        folder.file("linux/dmesg.txt", line.as_bytes());
        let time_ns = |ms: i64| ((1_700_000_100_000 - 34_680 + ms) * MS) as u64;
        let builder = CaptureBuilder::default()
            .at_unix_ns(time_ns(-9_000))
            .lease(&DhcpFields::default())
            .file("boot.efi", 800, b"");
        folder.file("boot.pcapng", &builder.at_unix_ns(time_ns(14_000)).os_lease().bytes());
        let axis = boot(&folder, "linux --capture boot.pcapng")["axis"].take();
        let capture = join(&axis, "capture");
        assert_eq!(capture["joined"], is_joined, "{capture}");
        let list = if is_joined { &capture["evidence"] } else { &capture["opposing"] };
        assert!(kinds(list).contains(&"mac_address"), "{capture}");
    }
}

/// A real Linux boot recorded with its firmware table.
#[test]
fn real_boot_with_its_table() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let folder = Folder::new();
    let path = samples.join("boot-fpdt.tar.xz");
    let report = boot(&folder, &path.display().to_string());
    let firmware = join(&report["axis"], "firmware");
    assert_eq!(firmware["joined"], true);
    assert_eq!(kinds(&firmware["evidence"]), ["same_moment", "in_recording", "service_manager_times"]);
    // ExitBootServices returned 4.809919 s after the reset.
    assert_eq!(report["axis"]["start_ns"], -4_809_919_164_i64);
}

/// Returns the packets of machines that boot at once: the first has the station and address of the builder.
fn room(first: &[u8], machines: u8) -> Vec<u8> {
    let mut frames: Vec<(u64, Vec<u8>)> = Vec::new();
    for machine in 0..machines {
        for (unix_ns, mut frame) in read_frames(first) {
            let station = [0x52, 0x54, 0, 0x77, 0, 1 + machine];
            for index in 0..frame.len().saturating_sub(6) {
                if frame[index..index + 6] == [0x52, 0x54, 0, 0x77, 0, 1] {
                    frame[index..index + 6].copy_from_slice(&station);
                }
                if frame[index..index + 4] == [10, 0, 0, 50] {
                    frame[index + 3] = 50 + machine;
                }
            }
            frames.push((unix_ns + u64::from(machine) * 7_000_000, frame));
        }
    }
    frames.sort();
    let mut writer = Container::Pcapng.writer(Link::Ethernet.number(), 262_144);
    for (unix_ns, frame) in &frames {
        writer.write_frame(*unix_ns, frame);
    }
    writer.bytes
}

/// In a room of machines that start at once, the client of the recording is chosen, or none.
#[test]
fn room_of_machines_that_start_at_once() {
    let time_ns = |ms: i64| ((1_700_000_100_000 - 34_680 + ms) * MS) as u64;
    let builder = CaptureBuilder::default()
        .at_unix_ns(time_ns(-9_000))
        .lease(&DhcpFields::default())
        .file("boot.efi", 300, b"")
        .at_unix_ns(time_ns(14_000))
        .os_lease();
    let room = room(&builder.bytes(), 30);
    let announced = |address: &str| format!("e1000 0000:00:03.0 eth0: (PCI:33MHz:32-bit) {address}");
    for (line, client) in [
        (String::new(), None),
        (announced("52:54:00:77:00:11"), Some("52:54:00:77:00:11")),
        // Another machine's recording.
        (announced("52:54:00:77:01:99"), None),
        // One adapter is not announced, so the client may be any of them.
        (announced("52:54:00:77:01:99") + "\n[    0.500001] virtio_net virtio0 enp0s4: renamed from eth1", None),
    ] {
        let folder = Folder::linux_boot();
        let text = format!(
            "[    0.000000] Linux version 6.1.0 (x@y) (gcc 12) #1 SMP\n[    0.000000] Command line: ro quiet\n\
             [    0.500000] {line}\n[    1.000000] Run /sbin/init as init process\n"
        );
        folder.file("linux/dmesg.txt", text.as_bytes()).file("room.pcapng", &room);
        let axis = boot(&folder, "linux --capture room.pcapng")["axis"].take();
        let capture = join(&axis, "capture");
        assert_eq!(capture["joined"], client.is_some(), "{line}: {capture}");
        let evidence = capture["evidence"].as_array().unwrap();
        let station = evidence.iter().find(|evidence| evidence["kind"] == "mac_address");
        assert_eq!(station.map(|evidence| evidence["detail"].as_str().unwrap()), client, "{line}: {capture}");
    }
}

/// The same with an event trace, whose system configuration names every adapter.
#[test]
fn room_with_event_trace() {
    let station = [0x52, 0x54, 0, 0x77, 0, 0x11];
    for (adapters, client) in [
        (vec![], None),
        (vec![station], Some("52:54:00:77:00:11")),
        // The client boots from the second adapter.
        (vec![[2, 0, 0, 0, 0, 9], station], Some("52:54:00:77:00:11")),
        // Another machine's recording, with an address that differs in the last digit.
        (vec![[0x52, 0x54, 0, 0x77, 0, 0x1f]], None),
    ] {
        let (folder, _) =
            Folder::simulated(SCENARIO, |scenario| scenario.machine.network_adapters.clone_from(&adapters));
        let (kernel_unix_ms, _) = kernel_start(&folder);
        let time_ns = |ms: i64| ((kernel_unix_ms - PAPER_MS[4] + CLOCK_OFFSET_MS + ms) * MS) as u64;
        let builder = CaptureBuilder::default()
            .at_unix_ns(time_ns(PAPER_MS[1] + 200))
            .lease(&DhcpFields::default())
            .at_unix_ns(time_ns(PAPER_MS[2] - VERIFICATION_MS - 80))
            .file("boot.efi", 300, b"")
            .at_unix_ns(time_ns(PAPER_MS[4] + 5_000))
            .os_lease();
        let room = room(&builder.bytes(), 30);
        folder.file("FBPT.bin", &paper()).file("room.pcapng", &room);
        let axis = boot(&folder, "boot.etl --firmware FBPT.bin --capture room.pcapng")["axis"].take();
        let capture = join(&axis, "capture");
        assert_eq!(capture["joined"], client.is_some(), "{adapters:?}: {capture}");
        let evidence = capture["evidence"].as_array().unwrap();
        let station = evidence.iter().find(|evidence| evidence["kind"] == "mac_address");
        assert_eq!(station.map(|evidence| evidence["detail"].as_str().unwrap()), client, "{adapters:?}: {capture}");
        let text = folder.answer("boot boot.etl --firmware FBPT.bin --capture room.pcapng");
        assert_eq!(text.contains("Network boot: boot program boot.efi took"), client.is_some(), "{text}");
        assert_eq!(text.contains("30 boots in the capture match equally well"), adapters.is_empty(), "{text}");
    }
}

/// The firmware cannot request an address before the processor leaves reset.
#[test]
fn capture_that_begins_before_reset_is_of_another_boot() {
    let folder = Folder::boot(SCENARIO);
    let (kernel_unix_ms, _) = kernel_start(&folder);
    let reset_ms = kernel_unix_ms - PAPER_MS[4];
    folder.file("FBPT.bin", &paper());
    for (first_ms, is_joined) in [(-3_000, false), (300, true)] {
        let time_ns = |ms: i64| ((reset_ms + ms) * MS) as u64;
        let builder = CaptureBuilder::default()
            .at_unix_ns(time_ns(first_ms))
            .dhcp(DhcpMessageType::Discover, &DhcpFields::default())
            .at_unix_ns(time_ns(PAPER_MS[1] + 200))
            .lease(&DhcpFields::default())
            .at_unix_ns(time_ns(PAPER_MS[2] - VERIFICATION_MS - 80))
            .file("boot.efi", 800, b"")
            .at_unix_ns(time_ns(PAPER_MS[4] + 5_000))
            .os_lease();
        folder.file("boot.pcapng", &builder.bytes());
        let axis = boot(&folder, "boot.etl --firmware FBPT.bin --capture boot.pcapng")["axis"].take();
        let capture = join(&axis, "capture");
        assert_eq!(capture["joined"], is_joined, "{first_ms}: {capture}");
        let text = folder.answer("boot boot.etl --firmware FBPT.bin --capture boot.pcapng");
        let reason = "The processor's reset would be";
        assert_eq!(text.contains(reason), !is_joined, "{text}");
        // A doubt about the join is in the first lines, beside the download.
        let first_lines = text.lines().take(3).collect::<String>();
        assert_eq!(first_lines.contains("Network boot: boot program boot.efi took"), is_joined, "{text}");
        assert_eq!(first_lines.contains("stations were not compared"), is_joined, "{text}");
    }
}

/// The parts before the kernel and the boot add up to the total.
#[test]
fn parts_of_headline_add_up() {
    let folder = Folder::boot(SCENARIO);
    folder.file("FBPT.bin", &paper());
    let text = folder.answer("boot boot.etl --firmware FBPT.bin");
    let seconds = |before: &str, after: &str| -> f64 {
        let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("'{before}' is missing: {text}"));
        let number = rest.split(after).next().unwrap();
        number.split(" s").next().unwrap().trim().parse().unwrap_or_else(|_| panic!("{number}: {text}"))
    };
    let total = seconds("Total from CPU reset: ", "(");
    let parts = [
        seconds("The boot took ", " s"),
        seconds("Before the kernel: ", "in firmware"),
        seconds("in firmware, ", "in the loader"),
    ];
    assert!((parts.iter().sum::<f64>() - total).abs() < 0.2, "{parts:?}, {total}: {text}");
    assert!(text.contains("(nothing in the recording confirms that the firmware table is of this boot)"), "{text}");
}
