//! `onoff netboot` on real captures. Durations and counts are compared with notes from servers, clients and other
//! tools, taken when the captures were made.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::harness::Folder;
use onoff_testkit::capture::{Container, Link, TftpServer, TftpTransfer};
use serde_json::Value;

/// The known contents of a capture.
struct Truth {
    path: &'static str,
    file: &'static str,
    /// From the read request to the last acknowledgment, in s.
    seconds: f64,
    data: u64,
    blocks: u64,
    acknowledgments: u64,
    bytes: u64,
    window: u64,
    timeouts: u64,
}

const fn truth(
    path: &'static str,
    file: &'static str,
    seconds: f64,
    (data, blocks, acknowledgments): (u64, u64, u64),
    bytes: u64,
    (window, timeouts): (u64, u64),
) -> Truth {
    Truth { path, file, seconds, data, blocks, acknowledgments, bytes, window, timeouts }
}

/// Sizes of the files on the servers.
const UKI: u64 = 38_488_417;
const GRUB: u64 = 3_843_520;
const WIM: u64 = 2_000_000;

const TRUTH: [Truth; 12] = [
    truth("w1_b1456_t1ms.pcap", "boot.wim", 2.1221, (1374, 1374, 1375), WIM, (1, 0)),
    truth("w4_b1456_t1ms.pcap", "boot.wim", 0.4539, (1374, 1374, 345), WIM, (4, 0)),
    truth("w64_b1456_t1ms.pcap", "boot.wim", 0.0329, (1374, 1374, 23), WIM, (64, 0)),
    truth("w32_b1456_t1_loss05.pcap", "boot.wim", 6.3052, (1402, 1374, 54), WIM, (32, 6)),
    truth("w16_b8192_frag.pcap", "boot.wim", 0.0550, (245, 245, 17), WIM, (16, 0)),
    truth("msft_w4to64_b1456_t1ms.pcap", "boot.wim", 0.0478, (1374, 1374, 26), WIM, (4, 0)),
    truth("lab-v4-dnsmasq-uki/v4-dnsmasq-uki.pcap.xz", "uki.efi", 9.01, (26_219, 26_219, 26_220), UKI, (1, 0)),
    truth("lab-v4-atftpd-win/v4-atftpd-win.pcap.xz", "uki.efi", 5.48, (26_219, 26_219, 6_556), UKI, (4, 0)),
    truth("lab-v4-full-baseline/v4-full-baseline.pcap.xz", "grubnetx64.efi", 0.80, (2_619, 2_619, 2_620), GRUB, (1, 0)),
    truth("lab-v6-full-baseline/v6-full-baseline.pcap.xz", "grubnetx64.efi", 2.57, (3_130, 3_130, 3_131), GRUB, (1, 0)),
    truth(
        "lab-v4-rtt4ms-dnsmasq-nowin/v4-rtt4ms-dnsmasq-nowin.pcap.xz",
        "grubnetx64.efi",
        15.46,
        (2_619, 2_619, 2_620),
        GRUB,
        (1, 0),
    ),
    // A relay dropped 14 frames; 12 blocks were sent again.
    truth("lab-v4-loss-dnsmasq/v4-loss-dnsmasq.pcap.xz", "grubnetx64.efi", 23.99, (2_631, 2_619, 2_620), GRUB, (1, 12)),
];

fn report(path: &Path) -> Value {
    let arguments = format!("netboot {} --format json", path.display());
    serde_json::from_str(&Folder::new().answer(&arguments)).unwrap()
}

fn boot(path: &Path) -> Value {
    let report = report(path);
    assert_eq!(report["boots"].as_array().unwrap().len(), 1, "{}", path.display());
    report["boots"][0].clone()
}

/// Returns the longest transfer.
fn main_file(boot: &Value) -> Value {
    let files = boot["transfers"].as_array().unwrap().iter();
    files.max_by_key(|file| file["counts"]["data_packets"].as_u64()).unwrap().clone()
}

fn seconds(ns: &Value) -> f64 {
    ns.as_i64().unwrap() as f64 / 1e9
}

#[test]
fn transfers_match_ground_truth() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    for truth in TRUTH {
        let boot = boot(&samples.join(truth.path));
        let file = main_file(&boot);
        let path = truth.path;
        assert_eq!(file["file"], truth.file, "{path}");
        assert_eq!(file["outcome"], "complete", "{path}");
        let duration_s = seconds(&file["duration_ns"]);
        // Compare with the precision of the notes.
        let tolerance_s = if truth.bytes == WIM { 0.000_06 } else { 0.006 };
        assert!((duration_s - truth.seconds).abs() < tolerance_s, "{path}: {duration_s}");
        let counts = &file["counts"];
        assert_eq!(counts["data_packets"], truth.data, "{path}");
        assert_eq!(counts["blocks"], truth.blocks, "{path}");
        assert_eq!(counts["repeated_data"], truth.data - truth.blocks, "{path}");
        assert_eq!(counts["acknowledgments"], truth.acknowledgments, "{path}");
        assert_eq!(counts["bytes"], truth.bytes, "{path}");
        assert_eq!(file["window"], truth.window, "{path}");
        assert_eq!(file["timeout_count"], truth.timeouts, "{path}");
        // The parts sum to the total.
        let costs = file["costs"].as_object().unwrap();
        let sum: i64 = costs.values().map(|ns| ns.as_i64().unwrap()).sum();
        assert_eq!(sum, file["duration_ns"].as_i64().unwrap(), "{path}");
    }
}

#[test]
fn round_trips_match_ground_truth() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    for (name, server_us, client_us) in
        [("w1_b1456_t1ms.pcap", 47, 1142), ("w4_b1456_t1ms.pcap", 60, 1119), ("w64_b1456_t1ms.pcap", 26, 1202)]
    {
        let boot = boot(&samples.join(name));
        let file = main_file(&boot);
        for (turn, expected) in [("server_turn", server_us), ("client_turn", client_us)] {
            let median = file[turn]["median_ns"].as_i64().unwrap();
            let error_ns = (median - expected * 1000).abs();
            assert!(error_ns <= (expected * 10).max(1000), "{name}: {turn} {median} ns");
        }
        assert_eq!(boot["capture_side"], "server", "{name}");
    }
}

#[test]
fn windows_grow_for_microsoft_client() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    let file = main_file(&boot(&samples.join("msft_w4to64_b1456_t1ms.pcap")));
    assert_eq!(file["variable_window"], true);
    assert_eq!(file["requested"]["variable_window"], 31_416);
    assert_eq!(file["granted"]["variable_window"], 27_182);
    let blocks: Vec<u64> =
        file["windows"].as_array().unwrap().iter().map(|change| change["blocks"].as_u64().unwrap()).take(5).collect();
    assert_eq!(blocks, [4, 8, 16, 32, 64]);
    assert_eq!(file["max_window"], 64);
}

#[test]
fn counts_fragments_and_advises() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    let boot = boot(&samples.join("w16_b8192_frag.pcap"));
    let file = main_file(&boot);
    assert_eq!(file["counts"]["later_fragments"], 1220);
    // Every block is fragmented except the short last block.
    assert_eq!(file["counts"]["fragmented"], 244);
    assert!(rules(&boot).contains(&"block_fragmented".to_owned()));
}

fn rules(boot: &Value) -> Vec<String> {
    let findings = boot["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn model_predicts_other_captures() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    // (Capture to fit, capture to predict).
    for (fitted, predicted) in [
        ("w4_b1456_t1ms.pcap", "w1_b1456_t1ms.pcap"),
        ("w4_b1456_t1ms.pcap", "w64_b1456_t1ms.pcap"),
        ("w4_b1456_t1ms.pcap", "msft_w4to64_b1456_t1ms.pcap"),
        ("w64_b1456_t1ms.pcap", "w4_b1456_t1ms.pcap"),
        ("w64_b1456_t1ms.pcap", "w1_b1456_t1ms.pcap"),
        ("lab-v4-dnsmasq-uki/v4-dnsmasq-uki.pcap.xz", "lab-v4-full-baseline/v4-full-baseline.pcap.xz"),
    ] {
        let model = main_file(&boot(&samples.join(fitted)))["model"].clone();
        let file = main_file(&boot(&samples.join(predicted)));
        let measured = &file["model"];
        let number = |value: &Value| value.as_i64().unwrap() as f64;
        // T = N g + ceil(N / W) (s + c), calculated manually. If windows vary, use the actual number of round trips.
        let blocks = number(&file["counts"]["blocks"]);
        let turns = if file["variable_window"] == true {
            number(&measured["turns"])
        } else {
            (blocks / number(&file["window"])).ceil()
        };
        let predicted_ns = blocks * number(&model["gap_ns"]) + turns * number(&model["turn_ns"]);
        // Capture-specific times: setup, pauses and timeouts.
        let setup = number(&measured["model_ns"]) - number(&measured["steady_ns"]);
        let steady = number(&measured["measured_ns"]) - number(&measured["pauses_ns"]) - setup;
        let error_percent = (predicted_ns - steady) / steady * 100.0;
        println!(
            "{fitted} -> {predicted}: {:.4} s for {:.4} s, {error_percent:+.1} %",
            predicted_ns / 1e9,
            steady / 1e9
        );
        assert!(error_percent.abs() < 15.0, "{fitted} -> {predicted}: {error_percent:.1} %");
    }
}

#[test]
fn predicts_firmware_client_from_other_windows() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    let boot = boot(&samples.join("lab-v4-shell-tftp-windows/v4-shell-tftp-windows.pcap.xz"));
    let number = |value: &Value| value.as_f64().unwrap();
    let file_with_window = |window: u64| {
        let mut files = boot["transfers"].as_array().unwrap().iter();
        files.rfind(|file| file["window"] == window && file["outcome"] == "complete").unwrap()
    };
    let turn = |window: u64| number(&file_with_window(window)["client_turn"]["usual_ns"]);
    // From windows of 4 and 64 blocks, calculated manually: c0 + 4 k and c0 + 64 k.
    let per_block = (turn(64) - turn(4)) / 60.0;
    let fixed = turn(4) - 4.0 * per_block;
    for window in [1, 16] {
        let file = file_with_window(window);
        let blocks = number(&file["counts"]["blocks"]);
        let turns = (blocks / window as f64).ceil();
        let (server, gap) =
            (number(&file_with_window(4)["server_turn"]["usual_ns"]), number(&file_with_window(4)["gap"]["median_ns"]));
        let predicted = (blocks - turns) * gap + turns * (server + fixed) + blocks * per_block;
        let steady = number(&file["model"]["steady_ns"]);
        let error_percent = (predicted - steady) / steady * 100.0;
        println!("window {window}: {:.3} s for {:.3} s, {error_percent:+.1} %", predicted / 1e9, steady / 1e9);
        assert!(error_percent.abs() < 15.0, "window {window}: {error_percent:.1} %");
    }
    // The report separates the fixed time from the time per block.
    let model = &file_with_window(16)["model"];
    assert_eq!(model["fitted"], true);
    assert_eq!(model["fitted_windows"], serde_json::json!([1, 4, 16, 64]));
    let reported = number(&model["per_block"]["per_block_ns"]);
    assert!((reported / per_block - 1.0).abs() < 0.1, "{reported} {per_block}");
    // A constant round trip would be off by far more than 15 %.
    assert!(turn(64) / turn(1) > 10.0);
}

#[test]
fn predicts_firmware_client_for_other_files_servers_and_delays() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    let number = |value: &Value| value.as_f64().unwrap();
    let turn = |file: &Value| number(&file["client_turn"]["usual_ns"]);
    let largest_file = |name: &str, window: u64| {
        let boot = boot(&samples.join(format!("lab-{name}/{name}.pcap.xz")));
        let files = boot["transfers"].as_array().unwrap().clone();
        let complete = files.into_iter().filter(|file| file["outcome"] == "complete" && file["window"] == window);
        let blocks = |file: &Value| file["counts"]["blocks"].as_u64();
        complete.max_by_key(blocks).map(|file| (file, number(&boot["max_round_trip_ns"]))).unwrap()
    };
    // c0 + k W calculated manually, from two windows in one or two captures.
    let fit = |(small, large): (&str, &str), windows: (u64, u64)| {
        let small_turn = turn(&largest_file(small, windows.0).0);
        let large_turn = turn(&largest_file(large, windows.1).0);
        let per_block = (large_turn - small_turn) / (windows.1 - windows.0) as f64;
        (small_turn - windows.0 as f64 * per_block, per_block)
    };
    let shell = fit(("v4-shell-tftp-windows", "v4-shell-tftp-windows"), (4, 64));
    let boots = fit(("v4-dnsmasq-uki", "v4-atftpd-win"), (1, 4));
    for (case, (fixed, per_block), capture, window, is_delayed) in [
        ("another file, another server", shell, "v4-dnsmasq-uki", 1, false),
        ("another file, window 4", shell, "v4-atftpd-win", 4, false),
        ("a small file, another server", shell, "v4-full-baseline", 1, false),
        ("4 ms away", shell, "v4-rtt4ms-dnsmasq-nowin", 1, true),
        ("window 16 from windows 1 and 4", boots, "v4-shell-tftp-windows", 16, false),
        ("window 64 from windows 1 and 4", boots, "v4-shell-tftp-windows", 64, false),
    ] {
        let (file, round_trip) = largest_file(capture, window);
        let blocks = number(&file["counts"]["blocks"]);
        let turns = (blocks / window as f64).ceil();
        let gap = file["gap"]["median_ns"].as_f64().unwrap_or(0.0);
        let network = if is_delayed { round_trip } else { 0.0 };
        // Another server program has its own round-trip time.
        let server = number(&file["server_turn"]["usual_ns"]);
        let predicted = (blocks - turns) * gap + turns * (server + fixed + network) + blocks * per_block;
        let steady = number(&file["model"]["steady_ns"]);
        let error_percent = (predicted - steady) / steady * 100.0;
        println!("{case}: {:.3} s for {:.3} s, {error_percent:+.1} %", predicted / 1e9, steady / 1e9);
        assert!(error_percent.abs() < 15.0, "{case}: {error_percent:.1} %");
    }
}

#[test]
fn what_if_with_own_settings_matches_measurement() {
    let folder = simulate_two_clients();
    let boot_with = |options: &str| -> Value {
        let json = folder.answer(&format!("netboot boot.pcapng --client 10.0.0.2 --format json {options}"));
        serde_json::from_str::<Value>(&json).unwrap()["boots"][0].clone()
    };
    let boot = boot_with("");
    assert_eq!(boot["what_if"], Value::Null);
    let measured = main_file(&boot)["duration_ns"].as_i64().unwrap();
    let prediction = boot["predictions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["window"] == 4 && row["block_size"] == 1468)
        .unwrap()
        .clone();
    assert!((prediction["shortest_ns"].as_i64().unwrap() - measured).abs() < 1_000, "{prediction} {measured}");
    assert_eq!(prediction["shortest_ns"], prediction["longest_ns"]);
    // 171 round trips, each 20 ms longer, minus at most the existing bound. The client's turn may grow by 30 % of it.
    let long_rtt = boot_with("--rtt 20ms")["what_if"].clone();
    let added_ns = |end: &str| long_rtt[end].as_i64().unwrap() - measured;
    assert!((171 * 18_500_000..=171 * 20_000_000).contains(&added_ns("shortest_ns")), "{long_rtt}");
    assert!((171 * 20_000_000..171 * 27_000_000).contains(&added_ns("longest_ns")), "{long_rtt}");
    let large_window = boot_with("--window 16 --loss 0.5%")["what_if"].clone();
    assert_eq!(large_window["window"], 16);
    assert!(large_window["losses_ns"].as_i64().unwrap() > 0);
    assert!(large_window["shortest_ns"].as_i64().unwrap() < large_window["longest_ns"].as_i64().unwrap());
    for invalid in ["--rtt soon", "--loss 80%", "--window 0", "--block 70000"] {
        assert_eq!(folder.failure(&format!("netboot boot.pcapng {invalid}")).0, 64, "{invalid}");
    }
}

#[test]
fn lists_dhcp_messages() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    let boot = boot(&samples.join("lab-v4-full-baseline/v4-full-baseline.pcap.xz"));
    let exchange = &boot["dhcp"][0];
    let kinds: Vec<&str> =
        exchange["messages"].as_array().unwrap().iter().map(|message| message["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["discover", "offer", "request", "ack"]);
    assert_eq!(exchange["vendor_class"], "PXEClient:Arch:00007:UNDI:003000");
    assert_eq!(exchange["boot_file"], "grubnetx64.efi");
    assert_eq!(exchange["address"], "192.168.77.80");
    assert_eq!(boot["client"]["architecture"], 7);
    // The server probes three times whether the address is in use, which takes 3.01 s.
    assert_eq!(exchange["address_probes"], 3);
    assert!((seconds(&exchange["offer_delay_ns"]) - 3.01).abs() < 0.006);
    assert_eq!(rules(&boot)[0], "offer_delay");

    let boot = self::boot(&samples.join("lab-v6-full-baseline/v6-full-baseline.pcap.xz"));
    let exchange = &boot["dhcp"][1];
    assert_eq!(exchange["boot_file"], "tftp://[fd77::1]/grubnetx64.efi");
    assert_eq!(exchange["address"], "fd77::64");
    assert_eq!(exchange["ip_version"], 6);
}

#[test]
fn missing_server_and_missing_file() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    let boot = boot(&samples.join("lab-v4-dhcp-timeout/v4-dhcp-timeout.pcap.xz"));
    let exchange = &boot["dhcp"][0];
    assert_eq!((&exchange["attempts"], &exchange["complete"]), (&4.into(), &false.into()));
    // Requests at 0, +4.3, +12.9 and +31.9 s. The client gives up about 74 s after the first request.
    let mut time_s = 0.0;
    for (wait, expected) in exchange["waits_ns"].as_array().unwrap().iter().zip([4.3, 12.9, 31.9]) {
        time_s += seconds(wait);
        assert!((time_s - expected).abs() < 0.06, "{time_s}");
    }
    assert!((seconds(&exchange["duration_ns"]) - 74.0).abs() < 0.5);
    // IPv4 failed, and the capture ends before IPv6 failed.
    assert_eq!(boot["outcome"]["verdict"], "failed");
    assert_eq!(boot["outcome"]["reason"], "no_dhcp_answer");
    assert_eq!(boot["outcome"]["certain"], false);
    let verdicts: Vec<_> =
        boot["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["outcome"]["verdict"]).collect();
    assert_eq!(verdicts, ["failed", "unknown"]);

    let boot = self::boot(&samples.join("lab-v4-tftp-notfound/v4-tftp-notfound.pcap.xz"));
    let file = &boot["transfers"][0];
    assert_eq!(file["outcome"], "refused");
    assert_eq!(file["error"]["code"], 1);
    assert_eq!(file["error"]["text"], "File not found");
    assert_eq!(boot["findings"][0]["rule"], "file_refused");
    assert_eq!(boot["findings"][0]["stops_boot"], true);
    // The serial console of the recorded boot shows the same.
    let outcome = &boot["outcome"];
    assert_eq!((&outcome["verdict"], &outcome["reason"]), (&"failed".into(), &"file_refused".into()));
    assert_eq!((&outcome["tftp_code"], &outcome["stage"]), (&1.into(), &"boot_program".into()));
    assert!(outcome["codes"].as_array().unwrap().iter().any(|code| code["code"] == "PXE-E23"));
    // IPv6 was tried for 74 s.
    assert!((seconds(&boot["dhcp"][1]["duration_ns"]) - 74.0).abs() < 0.5);
}

#[test]
fn public_captures() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    let file = main_file(&boot(&samples.join("spicy-tftp_rrq.pcap")));
    assert_eq!(file["counts"]["bytes"], 24_599);
    assert_eq!(file["counts"]["blocks"], 49);
    let after_first_block_ns = file["end_ns"].as_i64().unwrap() - file["first_data_ns"].as_i64().unwrap();
    assert!((after_first_block_ns as f64 / 1e9 - 0.1816).abs() < 0.000_06);

    let file = main_file(&boot(&samples.join("spicy-tftp_oack.pcap")));
    assert_eq!(file["granted"]["block_size"], 256);
    assert_eq!(file["counts"]["bytes"], 446);
}

/// Simulates a capture of two clients: one loads a file over TFTP with a timeout, the other loads a file a minute
/// later.
fn simulate_two_clients() -> Folder {
    let mut writer = Container::Pcapng.writer(1, 65_536);
    let server = TftpServer { link: Link::Ethernet, mac: [2, 0, 0, 0, 0, 1] };
    for client in [1_u8, 2] {
        let transfer = TftpTransfer {
            client: format!("10.0.0.{client}:1789").parse().unwrap(),
            client_mac: [0x52, 0x54, 0, 0x77, 0, client],
            server: "10.0.0.9:40000".parse().unwrap(),
            file: format!("boot-<{client}>.wim"),
            bytes: 1_000_000,
            block_size: 1468,
            window: 4,
            server_response_ns: 50_000,
            client_response_ns: 1_000_000,
            gap_ns: 12_000,
            lost_blocks: if client == 1 { vec![400] } else { Vec::new() },
            timeout_ns: 1_000_000_000,
            duplicated_from: None,
            number_after_rollover: 0,
        };
        let start = 1_700_000_000_000_000_000 + u64::from(client) * 60_000_000_000;
        server.write_transfer(&transfer, start, &mut writer);
    }
    let folder = Folder::new();
    folder.file("boot.pcapng", &writer.bytes);
    folder
}

#[test]
fn as_text() {
    insta::assert_snapshot!(simulate_two_clients().answer("netboot boot.pcapng --client 10.0.0.1"));
}

#[test]
fn lists_and_selects_clients() {
    let folder = simulate_two_clients();
    let text = folder.answer("netboot boot.pcapng");
    assert!(text.starts_with("2 network boots\n"), "{text}");
    for client in ["10.0.0.2", "52:54:00:77:00:02", "52-54-00-77-00-02"] {
        let json = folder.answer(&format!("netboot boot.pcapng --format json --client {client}"));
        let report: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(report["boots"].as_array().unwrap().len(), 1, "{client}");
        assert_eq!(report["boots"][0]["client"]["mac"], "52:54:00:77:00:02");
    }
    let (code, message) = folder.failure("netboot boot.pcapng --client 10.0.0.3");
    assert_eq!(code, 2);
    assert!(
        message.contains("the clients that booted are 52:54:00:77:00:01 (10.0.0.1), 52:54:00:77:00:02"),
        "{message}"
    );
    assert_eq!(folder.failure("netboot boot.pcapng --client nobody").0, 64);
    assert_eq!(folder.failure("netboot boot.pcapng --link-rate fast").0, 64);
}

#[test]
fn writes_svg_and_csv() {
    let folder = simulate_two_clients();
    let svg = folder.answer("netboot boot.pcapng --format svg");
    let picture = roxmltree::Document::parse(&svg).unwrap();
    let titles = picture
        .descendants()
        .filter(|node| node.has_tag_name("title"))
        .map(|node| node.text().unwrap().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(titles.len(), 2);
    assert!(titles[0].starts_with("ramdisk: boot-<1>.wim\n"), "{}", titles[0]);
    let csv = folder.answer("netboot boot.pcapng --format csv");
    let widths: Vec<usize> = csv.lines().map(|line| line.matches(',').count()).collect();
    assert_eq!(widths, [18; 5], "{csv}");
}

#[test]
fn identifies_other_recordings() {
    let folder = simulate_two_clients();
    folder.file("empty.pcap", &Container::Pcap.writer(1, 65_536).bytes);
    let (code, message) = folder.failure("boot boot.pcapng");
    assert_eq!(code, 2);
    assert!(message.contains("is a network capture; read it with 'onoff netboot'"), "{message}");
    let etl = Folder::boot("services-wes7.toml");
    let (code, message) = etl.failure("netboot boot.etl");
    assert_eq!(code, 2);
    assert!(message.contains("no packets ("), "{message}");
    let (code, message) = folder.failure("netboot empty.pcap");
    assert_eq!(code, 2);
    assert!(message.contains("no network boot in this network capture: 0 frames"), "{message}");
}
