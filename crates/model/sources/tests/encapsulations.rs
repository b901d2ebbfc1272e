//! Tests encapsulated packets: a boot is read the same way regardless of the headers before the packets.
#![allow(clippy::unwrap_used)]

use onoff_netboot::Capture;
use onoff_sources::{Error, Limits, Options, files_from_bytes, read_capture};
use onoff_testkit::capture::{Container, outcomes, read_frames};

const ETHERNET: u16 = 1;
const PPP: u16 = 9;
const PPP_OVER_ETHERNET: u16 = 51;
const WIRELESS: u16 = 105;
const RADIOTAP: u16 = 127;
const SNAP: [u8; 6] = [0xAA, 0xAA, 3, 0, 0, 0];

fn read(link: u16, frames: &[(u64, Vec<u8>)]) -> Result<Capture, Error> {
    let mut writer = Container::Pcapng.writer(link, 262_144);
    for (unix_ns, frame) in frames {
        writer.write_frame(*unix_ns, frame);
    }
    let files = files_from_bytes([("a.pcapng".to_owned(), writer.bytes)], &Limits::default())?;
    read_capture(&files, &Options::default())
}

/// Summarizes a capture without frame lengths and MAC addresses, which not every link has.
fn summary(capture: &Capture) -> String {
    let transfers: Vec<String> = capture
        .transfers
        .iter()
        .map(|transfer| {
            let counts = &transfer.counts;
            format!("{} {:?} {} {} {}", transfer.file, transfer.outcome, transfer.last_ns, counts.blocks, counts.bytes)
        })
        .collect();
    let dhcp: Vec<String> =
        capture.dhcp.iter().map(|message| format!("{} {:?}", message.time_ns, message.kind)).collect();
    format!("{transfers:?} {dhcp:?}")
}

/// Encapsulates Ethernet frames again with `wrap`, which gets the addresses, EtherType and packet of each frame.
fn wrap_frames(frames: &[(u64, Vec<u8>)], wrap: impl Fn(&[u8], &[u8], &[u8]) -> Vec<u8>) -> Vec<(u64, Vec<u8>)> {
    frames.iter().map(|(unix_ns, frame)| (*unix_ns, wrap(&frame[..12], &frame[12..14], &frame[14..]))).collect()
}

fn boot() -> Vec<(u64, Vec<u8>)> {
    let case = outcomes().into_iter().find(|case| case.reason == "system_started").unwrap();
    let frames = read_frames(&case.bytes);
    // Keep only IPv4, which every link supports.
    frames.into_iter().filter(|(_, frame)| frame[12..14] == [8, 0]).collect()
}

/// PPP protocol number of IPv4.
const PPP_IPV4: [u8; 2] = [0, 0x21];

#[test]
fn reads_same_boot_from_every_supported_encapsulation() {
    let frames = boot();
    let plain = read(ETHERNET, &frames).unwrap();
    assert!(plain.transfers.len() > 1 && plain.losses.is_empty(), "{:?}", plain.losses);
    let plain = summary(&plain);
    let pppoe =
        |packet: &[u8]| [&[0x11, 0, 0, 1][..], &(packet.len() as u16 + 2).to_be_bytes(), &PPP_IPV4, packet].concat();
    // A data frame to the network: access point, sender, receiver.
    let wireless = |addresses: &[u8], kind: &[u8], packet: &[u8]| {
        let header = [&[0x08, 0x01, 0, 0][..], &[2; 6], &addresses[6..12], &addresses[..6], &[0, 0]].concat();
        [&header, &SNAP[..], kind, packet].concat()
    };
    type Wrap<'w> = Box<dyn Fn(&[u8], &[u8], &[u8]) -> Vec<u8> + 'w>;
    let cases: [(&str, u16, Wrap<'_>); 9] = [
        ("PPPoE", ETHERNET, Box::new(|addresses, _, packet| [addresses, &[0x88, 0x64], &pppoe(packet)].concat())),
        (
            "PPPoE in a VLAN",
            ETHERNET,
            Box::new(|addresses, _, packet| [addresses, &[0x81, 0, 0, 5, 0x88, 0x64], &pppoe(packet)].concat()),
        ),
        (
            "two MPLS labels",
            ETHERNET,
            Box::new(|addresses, _, packet| [addresses, &[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64], packet].concat()),
        ),
        (
            "LLC and SNAP",
            ETHERNET,
            Box::new(|addresses, kind, packet| {
                [addresses, &(packet.len() as u16 + 8).to_be_bytes(), &SNAP[..], kind, packet].concat()
            }),
        ),
        ("PPP", PPP, Box::new(|_, _, packet| [&[0xFF, 3][..], &PPP_IPV4, packet].concat())),
        ("PPP, compressed", PPP, Box::new(|_, _, packet| [&[0x21], packet].concat())),
        ("PPPoE alone", PPP_OVER_ETHERNET, Box::new(|_, _, packet| pppoe(packet))),
        ("802.11", WIRELESS, Box::new(wireless)),
        (
            "radiotap",
            RADIOTAP,
            Box::new(|addresses, kind, packet| {
                [&[0, 0, 12, 0, 0, 0, 0, 0, 1, 2, 3, 4][..], &wireless(addresses, kind, packet)].concat()
            }),
        ),
    ];
    for (name, link, wrap) in cases {
        let capture = read(link, &wrap_frames(&frames, wrap)).unwrap();
        assert_eq!(summary(&capture), plain, "{name}");
        assert_eq!(capture.losses.count("frames_malformed"), 0, "{name}");
    }
}

#[test]
fn counts_unsupported_encapsulations() {
    let frames = boot();
    let count = frames.len() as u64;
    type Wrap<'w> = &'w dyn Fn(&[u8], &[u8], &[u8]) -> Vec<u8>;
    let losses = |link: u16, wrap: Wrap<'_>| {
        let capture = read(link, &wrap_frames(&frames, wrap)).unwrap();
        assert_eq!((capture.transfers.len(), capture.dhcp.len()), (0, 0));
        let rows: Vec<(&str, u64)> = capture.losses.iter().map(|loss| (loss.counter, loss.count)).collect();
        rows
    };
    // Ethernet inside MPLS, an encrypted wireless frame, a PPP protocol other than IP, an unsupported link type.
    let inner = |addresses: &[u8], kind: &[u8], packet: &[u8]| {
        [addresses, &[0x88, 0x47, 0, 1, 1, 64, 0, 0, 0, 0], addresses, kind, packet].concat()
    };
    assert_eq!(losses(ETHERNET, &inner), [("encapsulation_unsupported", count)]);
    let encrypted = |_: &[u8], _: &[u8], packet: &[u8]| [&[0x08, 0x41][..], &[0; 22], packet].concat();
    assert_eq!(losses(WIRELESS, &encrypted), [("encapsulation_unsupported", count)]);
    let other_protocol = |_: &[u8], _: &[u8], packet: &[u8]| [&[0xFF, 3, 0, 0x2B][..], packet].concat();
    assert_eq!(losses(PPP, &other_protocol), [("encapsulation_unsupported", count)]);
    assert_eq!(losses(147, &|_, _, packet| packet.to_vec()), [("link_type_unknown", count)]);
}
