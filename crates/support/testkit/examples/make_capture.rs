//! Writes captures of network boots:
//!
//! * `make_capture FILE MEGABYTES`: one boot of about this size
//! * `make_capture outcomes FOLDER`: one capture per outcome of a network boot
//! * `make_capture floods FOLDER`: a million frames of each kind of unrelated traffic
//!
//! Packets have the same size as in real network boots: full frames, 1468-byte blocks in windows of 8.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use onoff_testkit::capture::{Container, Flood, Link, TftpServer, TftpTransfer, outcomes};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, size] = arguments.as_slice() else {
        println!("make_capture FILE MEGABYTES\nmake_capture outcomes FOLDER\nmake_capture floods FOLDER");
        std::process::exit(2);
    };
    if path == "outcomes" {
        for outcome in outcomes() {
            let name = outcome.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            std::fs::write(format!("{size}/{name}.pcapng"), &outcome.bytes).unwrap();
        }
        return;
    }
    if path == "floods" {
        for (name, flood) in [
            ("connections-https", Flood::Connections(443)),
            ("connections-ssh", Flood::Connections(22)),
            ("syns", Flood::Syns),
            ("boots", Flood::Boots),
        ] {
            std::fs::write(format!("{size}/{name}.pcapng"), flood.capture(1_000_000)).unwrap();
        }
        return;
    }
    let megabytes: u64 = size.parse().unwrap();
    let block_size = 1468;
    // A block takes 1,510 bytes plus 16 of its container; each eighth block has an acknowledgment.
    let block = 1_510 + 16 + (46 + 16) / 8;
    let transfer = TftpTransfer {
        client: "192.168.77.80:1789".parse().unwrap(),
        client_mac: [0x52, 0x54, 0, 0x77, 0, 1],
        server: "192.168.77.1:40000".parse().unwrap(),
        file: "boot.wim".into(),
        bytes: megabytes * 1_000_000 / block * u64::from(block_size),
        block_size,
        window: 8,
        server_response_ns: 40_000,
        client_response_ns: 300_000,
        gap_ns: 12_300,
        lost_blocks: vec![80_000],
        timeout_ns: 1_000_000_000,
        duplicated_from: None,
        number_after_rollover: 0,
    };
    let mut capture = Container::Pcap.writer(Link::Ethernet.number(), 262_144);
    let server = TftpServer { link: Link::Ethernet, mac: [2, 0, 0, 0, 0, 1] };
    server.write_transfer(&transfer, 1_700_000_000_000_000_000, &mut capture);
    std::fs::write(path, &capture.bytes).unwrap();
}
