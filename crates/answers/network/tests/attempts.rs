//! Tests that each attempt is judged by itself, and a boot by the attempt that came furthest.

use onoff_network::report::{AttemptMethod, NetworkBoot, Reason, Verdict};
use onoff_testkit::capture::{CaptureBuilder, DhcpFields, DhcpMessageType};

use crate::support::{assert_outcome, boot, boots, ended, http_fields, lease, unanswered};

fn rows(boot: &NetworkBoot) -> Vec<(String, Verdict, Reason)> {
    let name = |method: AttemptMethod, version| method.name(version);
    boot.attempts
        .iter()
        .map(|attempt| (name(attempt.method, attempt.ip_version), attempt.outcome.verdict, attempt.outcome.reason))
        .collect()
}

fn refused_lease() -> CaptureBuilder {
    let fields = DhcpFields::default();
    let capture = CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields);
    let capture = capture.dhcp(DhcpMessageType::Offer, &fields).dhcp(DhcpMessageType::Request, &fields);
    capture.dhcp(DhcpMessageType::Nak, &fields).wait_ms(20)
}

fn missing_file() -> CaptureBuilder {
    lease().request("boot.efi", &[]).error(false, 1, "File not found").wait_ms(20)
}

#[test]
fn attempts_are_rows() {
    let http = http_fields(9);
    let started =
        |capture: CaptureBuilder| boot(capture.dhcp(DhcpMessageType::Discover, &http).wait_ms(1_000).unrelated_frame());
    let pxe = DhcpFields::default();
    for (capture, reason) in [
        (refused_lease(), Reason::DhcpRefused),
        (unanswered(CaptureBuilder::default(), &pxe), Reason::NoDhcpAnswer),
        (missing_file(), Reason::FileRefused),
    ] {
        let boot = started(capture);
        assert_outcome(&boot, Verdict::Failed, reason, &["HTTPv4 had not ended in this capture"]);
        assert!(!boot.outcome.certain);
        let expected = [
            ("PXEv4".to_owned(), Verdict::Failed, reason),
            ("HTTPv4".to_owned(), Verdict::Unknown, Reason::CaptureEnds),
        ];
        assert_eq!(rows(&boot), expected);
    }
    // One attempt is one row.
    let single = boot(ended(lease().file("boot.efi", 40, b"")));
    assert_eq!(rows(&single), [("PXEv4".to_owned(), Verdict::Loaded, Reason::FilesLoaded)]);
    assert_eq!((single.outcome.repeats, single.outcome.program_loads), (1, 1));
}

#[test]
fn a_later_attempt_may_load() {
    let http = http_fields(9);
    for capture in [refused_lease(), unanswered(CaptureBuilder::default(), &DhcpFields::default()), missing_file()] {
        let boot = boot(ended(capture.lease(&http).http("/boot.efi", "200 OK", &[7; 900])));
        assert_outcome(&boot, Verdict::Loaded, Reason::FilesLoaded, &[]);
        assert_eq!(
            boot.attempts.iter().map(|attempt| attempt.outcome.verdict).collect::<Vec<_>>(),
            [Verdict::Failed, Verdict::Loaded]
        );
    }
    // It is receiving its file when the capture ends.
    let capture = missing_file().lease(&DhcpFields { transaction: 9, ..DhcpFields::default() });
    let receiving = boot(capture.request("other.efi", &[]).blocks(1..30, b"").wait_ms(500).unrelated_frame());
    assert_outcome(&receiving, Verdict::Unknown, Reason::CaptureEnds, &["other.efi"]);
}

#[test]
fn the_attempt_that_came_furthest_explains_the_failure() {
    // OVMF: a file that does not exist, no DHCPv6 server, and no offer for HTTP boot.
    let capture = [4_000, 8_000, 16_000, 32_000]
        .into_iter()
        .fold(missing_file(), |capture, wait_ms| capture.dhcpv6_solicit(1).wait_ms(wait_ms));
    let boot = boot(ended(unanswered(capture, &http_fields(9))));
    assert_outcome(&boot, Verdict::Failed, Reason::FileRefused, &["boot.efi"]);
    assert!(boot.outcome.certain);
    let names: Vec<String> = rows(&boot).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["PXEv4", "PXEv6", "HTTPv4"]);
    assert!(boot.attempts.iter().all(|attempt| attempt.outcome.verdict == Verdict::Failed));
}

#[test]
fn identical_failures_repeat() {
    let fields = |transaction| DhcpFields { transaction, ..DhcpFields::default() };
    let capture = (1..=4).fold(CaptureBuilder::default(), |capture, number| {
        capture.lease(&fields(number)).request("boot.efi", &[]).error(false, 1, "File not found").wait_ms(9_000)
    });
    let boot = boot(ended(capture));
    assert_outcome(&boot, Verdict::Failed, Reason::FileRefused, &[]);
    assert_eq!(boot.outcome.repeats, 4);
    assert_eq!(boot.attempts.iter().map(|attempt| attempt.outcome.repeats).collect::<Vec<_>>(), [4]);
    // Different failures do not.
    let mixed = missing_file().wait_ms(9_000).dhcp(DhcpMessageType::Discover, &fields(9)).wait_ms(4_000);
    let mixed = crate::support::boot(ended(mixed.dhcp(DhcpMessageType::Discover, &fields(9))));
    assert_eq!((mixed.outcome.repeats, mixed.attempts.len()), (1, 2));
}

#[test]
fn a_failing_boot_after_a_good_one_is_another_boot() {
    let again = DhcpFields { transaction: 9, ..DhcpFields::default() };
    let good = || lease().file("grubx64.efi", 40, b"").file("vmlinuz", 60, b"").file("initrd.img", 60, b"");
    let two = boots(ended(good().wait_ms(40_000).lease(&again).request("grubx64.efi", &[]).error(false, 1, "gone")));
    let verdicts: Vec<_> = two.iter().map(|boot| (boot.outcome.verdict, boot.outcome.reason)).collect();
    assert_eq!(verdicts, [(Verdict::Loaded, Reason::FilesLoaded), (Verdict::Failed, Reason::FileRefused)]);
    // A kernel that the loader rejects returns at once; a boot program alone may return after its message.
    let returned = boot(ended(good().wait_ms(1_000).dhcp(DhcpMessageType::Discover, &again)));
    assert_outcome(&returned, Verdict::Failed, Reason::BackToFirmware, &[]);
    let program = lease().file("boot.efi", 40, b"").wait_ms(20_000);
    assert_outcome(
        &boot(ended(program.dhcp(DhcpMessageType::Discover, &again))),
        Verdict::Failed,
        Reason::BackToFirmware,
        &["Secure Boot"],
    );
}

#[test]
fn a_program_that_goes_on_without_an_optional_file_is_judged_by_what_follows() {
    let program = DhcpFields { transaction: 9, user_class: "iPXE".into(), ..DhcpFields::default() };
    let loaded = || lease().file("ipxe.efi", 40, b"").request("autoexec.ipxe", &[]).error(false, 1, "File not found");
    assert_outcome(&boot(ended(loaded())), Verdict::Failed, Reason::FileRefused, &["autoexec.ipxe"]);
    let unanswered = [1_000, 2_000, 4_000]
        .into_iter()
        .fold(loaded(), |capture, wait_ms| capture.dhcp(DhcpMessageType::Discover, &program).wait_ms(wait_ms));
    let unanswered = boot(ended(unanswered));
    assert_outcome(&unanswered, Verdict::Failed, Reason::NoDhcpAnswer, &["ipxe.efi was loaded"]);
    assert_eq!(unanswered.attempts.len(), 1, "{:?}", unanswered.attempts);
}

#[test]
fn parallel_dialogues_are_one_attempt() {
    let capture = CaptureBuilder::default().dhcpv6_solicit(1).wait_ms(5).lease(&DhcpFields::default());
    let boot = boot(ended(capture.file("boot.efi", 40, b"")));
    assert_eq!(boot.attempts.len(), 1, "{:?}", boot.attempts);
}

#[test]
fn a_telephone_is_not_a_boot() {
    let phone = DhcpFields { vendor_class: "Acme IP Phone 7".into(), boot_file: None, ..DhcpFields::default() };
    let capture = CaptureBuilder::default().lease(&phone).file("SEP525400770001.cnf.xml", 4, b"");
    let error = crate::support::analyze_bytes(ended(capture).bytes()).unwrap_err();
    assert!(error.to_string().contains("1 telephone or network device fetched its configuration"), "{error}");
    // A board that identifies itself by no class, and a computer that loads its configuration.
    let board = DhcpFields { vendor_class: String::new(), ..DhcpFields::default() };
    let board = boot(ended(CaptureBuilder::default().lease(&board).file("uImage", 40, b"")));
    assert_eq!(board.outcome.verdict, Verdict::Loaded);
    let computer = boot(ended(lease().file("boot.efi", 40, b"").file("grub.cfg", 4, b"")));
    assert_eq!(computer.outcome.verdict, Verdict::Loaded);
}

#[test]
fn recorded_firmware_attempts() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("netboot") else {
        return;
    };
    let recorded = |name: &str| {
        let bytes = std::fs::read(samples.join(format!("lab-{name}/{name}.pcap.xz"))).unwrap();
        let contents = [(format!("{name}.pcap.xz"), bytes)];
        let files = onoff_sources::files_from_bytes(contents, &onoff_sources::Limits::default()).unwrap();
        let capture = onoff_sources::read_capture(&files, &onoff_sources::Options::default()).unwrap();
        onoff_network::analyze(&capture, &onoff_network::NetbootOptions::default()).unwrap().boots.remove(0)
    };
    // The screen showed PXE-E18 for IPv4, and the recording ends during IPv6.
    let timeout = recorded("v4-dhcp-timeout");
    assert_outcome(&timeout, Verdict::Failed, Reason::NoDhcpAnswer, &["had not ended"]);
    assert!(timeout.outcome.codes.iter().any(|code| code.code == "PXE-E18"));
    let verdicts: Vec<_> =
        timeout.attempts.iter().map(|attempt| (attempt.ip_version, attempt.outcome.verdict)).collect();
    assert_eq!(verdicts, [(Some(4), Verdict::Failed), (Some(6), Verdict::Unknown)]);
    // PXEv4 showed PXE-E23, PXEv6 PXE-E16, and HTTP boot had started.
    let missing = recorded("v4-tftp-notfound");
    assert_outcome(&missing, Verdict::Failed, Reason::FileRefused, &["File not found"]);
    let reasons: Vec<_> =
        missing.attempts.iter().map(|attempt| (attempt.ip_version, attempt.outcome.reason)).take(2).collect();
    assert_eq!(reasons, [(Some(4), Reason::FileRefused), (Some(6), Reason::NoDhcpAnswer)]);
    assert_eq!(missing.attempts.len(), 3);
}
