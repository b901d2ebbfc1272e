//! Invariants of all captures: stages cover the whole boot, the parts of a transfer sum to its duration, and a failed
//! boot has exactly one finding with the reason.

use onoff::answers::network::outcome::Verdict;
use onoff::answers::network::report::{FileTransfer, NetworkBoot};
use onoff::answers::network::{NetbootOptions, NoNetboot};
use onoff::{QueryError, Session};
use onoff_testkit::capture::{CaptureBuilder, DhcpFields, DhcpMessageType, Flood, TftpTransfer};
use proptest::prelude::*;

/// An action of a client, its servers or the recorder.
#[derive(Clone, Debug)]
enum Step {
    Lease(u32),
    Dhcp(DhcpMessageType, u32),
    Solicit(u8),
    File(u64, u16),
    Transfer(Box<TftpTransfer>),
    Request(&'static str),
    OptionAck(&'static str),
    Blocks(u64, u64),
    Acknowledge(u64),
    Error(bool, u16),
    Upload,
    Fragmented(u64),
    Http(&'static str),
    Unreachable(u8),
    OsLease,
    Wait(u64),
    SetClockBack(u64),
    DuplicateFrames(usize),
    MissEvery(u64),
    UnrelatedFrame,
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(vec![
        DhcpMessageType::Discover,
        DhcpMessageType::Offer,
        DhcpMessageType::Request,
        DhcpMessageType::Decline,
        DhcpMessageType::Ack,
        DhcpMessageType::Nak,
    ]);
    let transfer = (1_u64..300_000, 8_u32..1_500, 1_u32..70, 0_u64..3_000_000, 0_u64..3_000_000, 0_u64..40).prop_map(
        |(bytes, block_size, window, server_turn_ns, client_turn_ns, lost)| {
            let last_block = bytes / u64::from(block_size) + 1;
            // Only the last block of a window can be lost.
            let lost = if lost > 0 && window == 1 { vec![lost.min(last_block)] } else { Vec::new() };
            let transfer = TftpTransfer {
                server_response_ns: server_turn_ns,
                client_response_ns: client_turn_ns,
                lost_blocks: lost,
                timeout_ns: 3_000_000_000,
                ..TftpTransfer::default()
            };
            Step::Transfer(Box::new(TftpTransfer { bytes, block_size, window, ..transfer }))
        },
    );
    prop_oneof![
        4 => (0_u32..5).prop_map(Step::Lease),
        2 => (kind, 0_u32..5).prop_map(|(kind, number)| Step::Dhcp(kind, number)),
        1 => any::<u8>().prop_map(Step::Solicit),
        3 => (1_u64..80, prop::sample::select(vec![0_u16, 0x8664, 0xAA64, 0x14C])).prop_map(|(blocks, machine)| Step::File(blocks, machine)),
        3 => transfer,
        2 => prop::sample::select(vec!["boot.efi", "grub.cfg", "vmlinuz", "", "a/../b"]).prop_map(Step::Request),
        1 => prop::sample::select(vec!["0", "512", "70000000000", "x"]).prop_map(Step::OptionAck),
        2 => (0_u64..70_000, 0_u64..30).prop_map(|(first, count)| Step::Blocks(first, count)),
        1 => (0_u64..70_000).prop_map(Step::Acknowledge),
        1 => (any::<bool>(), 0_u16..10).prop_map(|(client, code)| Step::Error(client, code)),
        1 => Just(Step::Upload),
        1 => (1_u64..5).prop_map(Step::Fragmented),
        1 => prop::sample::select(vec!["200 OK", "404 Not Found", "999 x"]).prop_map(Step::Http),
        1 => (0_u8..14).prop_map(Step::Unreachable),
        1 => Just(Step::OsLease),
        3 => (0_u64..40_000).prop_map(Step::Wait),
        1 => (0_u64..40_000).prop_map(Step::SetClockBack),
        1 => (1_usize..4).prop_map(Step::DuplicateFrames),
        1 => (0_u64..12).prop_map(Step::MissEvery),
        1 => Just(Step::UnrelatedFrame),
    ]
}

fn apply(builder: CaptureBuilder, step: &Step) -> CaptureBuilder {
    let fields = |transaction: u32| DhcpFields { transaction, ..DhcpFields::default() };
    match step {
        Step::Lease(number) => builder.lease(&fields(*number)),
        Step::Dhcp(kind, number) => builder.dhcp(*kind, &fields(*number)),
        Step::Solicit(number) => builder.dhcpv6_solicit(*number),
        Step::File(blocks, machine) => builder.file("boot.efi", *blocks, &CaptureBuilder::uefi_program(*machine)),
        Step::Transfer(transfer) => builder.transfer(transfer),
        Step::Request(file) => builder.request(file, &[("tsize", "0"), ("blksize", "1468"), ("windowsize", "4")]),
        Step::OptionAck(value) => builder.oack(&[("tsize", value), ("blksize", value)]),
        Step::Blocks(first, count) => builder.blocks(*first..first + count, b""),
        Step::Acknowledge(block) => builder.acknowledge(*block),
        Step::Error(client, code) => builder.error(*client, *code, "no"),
        Step::Upload => builder.upload("switch.cfg"),
        Step::Fragmented(blocks) => builder.fragmented_file("boot.wim", *blocks, 4_000),
        Step::Http(status) => builder.http("/boot.efi", status, &[7; 400]),
        Step::Unreachable(code) => builder.icmp_unreachable(*code),
        Step::OsLease => builder.os_lease(),
        Step::Wait(ms) => builder.wait_ms(*ms),
        Step::SetClockBack(ms) => builder.set_clock_back_ms(*ms),
        Step::DuplicateFrames(copies) => builder.duplicate_frames(*copies),
        Step::MissEvery(nth) => builder.miss_every(*nth),
        Step::UnrelatedFrame => builder.unrelated_frame(),
    }
}

fn boots(bytes: Vec<u8>) -> Vec<NetworkBoot> {
    let session = Session::from_bytes([("boot.pcapng".to_owned(), bytes)]).unwrap();
    match session.netboot(&NetbootOptions::default()) {
        Ok(report) => report.boots,
        Err(QueryError::Unanswerable(NoNetboot { .. })) => Vec::new(),
        Err(QueryError::Unreadable(error)) => panic!("{error}"),
    }
}

fn check_invariants(boot: &NetworkBoot, is_clock_set_back: bool) {
    let mut previous_end_ns = boot.start_ns;
    for stage in &boot.stages {
        assert_eq!(stage.start_ns, previous_end_ns, "{:?}", boot.stages);
        assert!(stage.end_ns >= stage.start_ns);
        previous_end_ns = stage.end_ns;
    }
    // If the clock was set back, an end can precede its start, and there is no total to cover.
    if !is_clock_set_back {
        assert_eq!(previous_end_ns, boot.end_ns, "{:?}", boot.stages);
        assert_eq!(boot.duration_ns, boot.end_ns - boot.start_ns);
    }
    boot.transfers.iter().for_each(|file| check_transfer_costs(file, is_clock_set_back));
    let stops = boot.findings.iter().filter(|finding| finding.stops_boot).count();
    assert_eq!(stops, usize::from(boot.outcome.verdict == Verdict::Failed), "{:?}", boot.outcome);
    assert!(!boot.outcome.description.is_empty());
    assert_eq!(boot.outcome.advice.is_empty(), boot.outcome.verdict == Verdict::Loaded);
    let repeated = boot.transfers.iter().any(|file| file.counts.repeated_data > 0)
        || boot.downloads.iter().any(|download| download.repeated_segments > 0);
    for finding in &boot.findings {
        assert!(repeated || !finding.advice.contains("cable"), "{finding:?}");
    }
}

fn check_transfer_costs(file: &FileTransfer, is_clock_set_back: bool) {
    let Some(costs) = file.costs else { return };
    let parts = [
        costs.setup_ns,
        costs.blocks_ns,
        costs.server_ns,
        costs.client_ns,
        costs.server_pauses_ns,
        costs.client_pauses_ns,
        costs.timeouts_ns,
        costs.remainder_ns,
    ];
    assert_eq!(Some(parts.iter().sum::<i64>()), file.duration_ns, "{file:?}");
    if is_clock_set_back {
        return;
    }
    // No time is counted twice. Without retransmissions and losses, there is no remainder.
    assert!(parts.iter().all(|&ns| ns >= 0), "{file:?}");
    let counts = &file.counts;
    let irregular = counts.repeated_data
        + counts.repeated_acknowledgments
        + counts.repeated_option_acknowledgments
        + counts.rollbacks
        + counts.missing_blocks
        + file.timeout_count;
    if irregular == 0 && file.requests == 1 {
        assert_eq!(costs.remainder_ns, 0, "{file:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn invariants_hold_for_any_capture(steps in prop::collection::vec(step(), 0..14)) {
        let is_clock_set_back = steps.iter().any(|step| matches!(step, Step::SetClockBack(_)));
        let builder = steps.iter().fold(CaptureBuilder::default(), apply);
        for boot in boots(builder.bytes()) {
            check_invariants(&boot, is_clock_set_back);
        }
    }
}

/// Summarizes a boot without its position in the capture.
fn summarize(boot: &NetworkBoot) -> (String, usize, u64, Vec<&'static str>) {
    let rules = boot.findings.iter().map(|finding| finding.rule).collect();
    (boot.outcome.description.clone(), boot.stages.len(), boot.total.bytes, rules)
}

#[test]
fn other_traffic_does_not_change_boot() {
    let capture = CaptureBuilder::default().lease(&DhcpFields::default()).file(
        "boot.efi",
        40,
        &CaptureBuilder::uefi_program(0x8664),
    );
    let boots_without_flood = boots(capture.wait_ms(200).unrelated_frame().bytes());
    for flood in [Flood::Syns, Flood::Connections(443), Flood::Connections(22)] {
        // More addresses and connections than the limits.
        let boots = boots(flood.capture(100_000));
        let [boot] = boots.as_slice() else { panic!("{flood:?}: {} boots", boots.len()) };
        let (description, stages, bytes, rules) = summarize(boot);
        let (_, expected_stages, expected_bytes, expected_rules) = summarize(&boots_without_flood[0]);
        assert!(description.starts_with("boot.efi, the only file, was loaded"), "{flood:?}: {description}");
        assert_eq!((stages, bytes, rules), (expected_stages, expected_bytes, expected_rules), "{flood:?}");
    }
}

/// More boots of one client than the limit: the reported boots are complete, the others are counted, and no other loss
/// is reported.
#[test]
fn counts_boots_beyond_limit() {
    let session = Session::from_bytes([("boot.pcapng".to_owned(), Flood::Boots.capture(400_000))]).unwrap();
    let report = session.netboot(&NetbootOptions::default()).unwrap();
    assert!(report.boots.len() > 10_000, "{}", report.boots.len());
    let loaded = report.boots.iter().filter(|boot| boot.outcome.verdict == Verdict::Loaded).count();
    // The messages of the last boot may have been dropped.
    assert!(loaded + 1 >= report.boots.len(), "{loaded} of {}", report.boots.len());
    let lost: Vec<&str> = report.losses.iter().map(|loss| loss.counter).collect();
    assert_eq!(lost, ["limit_reached"]);
}
