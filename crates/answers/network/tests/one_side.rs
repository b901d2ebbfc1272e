//! Tests captures of one direction: they prove little, and must not claim that nobody answered.

use onoff_network::report::{Reason, Verdict};
use onoff_testkit::capture::{CaptureBuilder, DhcpFields, DhcpMessageType};

use crate::support::{assert_outcome, boot, ended, lease, unanswered};

#[test]
fn packets_of_the_client_only() {
    let loaded = || lease().request("boot.efi", &[("blksize", "512")]).oack(&[("blksize", "512")]).acknowledge(0);
    let transfer = loaded().blocks(1..40, b"").data(40, b"end").acknowledge(40);
    let one = boot(ended(transfer.clone()).one_direction(true));
    assert_outcome(&one, Verdict::Unknown, Reason::OneDirection, &["only the packets of the client", "40 blocks"]);
    assert!(!one.outcome.description.contains("did not answer"));
    assert!(one.findings.iter().all(|finding| finding.rule != "dhcp_retries"), "{:?}", one.findings);
    // The request after the DISCOVER proves an offer.
    let leased = boot(ended(lease()).one_direction(true));
    assert_outcome(&leased, Verdict::Unknown, Reason::OneDirection, &[]);
    // The system's request proves that the files arrived.
    let system = boot(ended(transfer.clone().wait_ms(9_000).os_lease()).one_direction(true));
    assert_outcome(&system, Verdict::Loaded, Reason::SystemStarted, &["not in the capture"]);
    // Nobody answered, and both directions were captured.
    let silent = boot(ended(unanswered(CaptureBuilder::default(), &DhcpFields::default())).one_direction(true));
    assert_outcome(&silent, Verdict::Failed, Reason::NoDhcpAnswer, &[]);
    assert_outcome(&boot(ended(transfer)), Verdict::Loaded, Reason::FilesLoaded, &[]);
}

#[test]
fn an_earlier_attempt_is_not_unanswered_either() {
    let http = crate::support::http_fields(9);
    let capture = unanswered(CaptureBuilder::default(), &http).lease(&DhcpFields::default());
    let capture = capture.request("boot.efi", &[]).blocks(1..40, b"").data(40, b"end").acknowledge(40);
    let boot = boot(ended(capture).one_direction(true));
    assert_outcome(&boot, Verdict::Unknown, Reason::OneDirection, &[]);
    assert!(boot.attempts.iter().all(|attempt| attempt.outcome.reason == Reason::OneDirection), "{:?}", boot.attempts);
}

#[test]
fn packets_of_the_server_only() {
    let transfer = || lease().request("boot.efi", &[]).blocks(1..40, b"").data(40, b"end").acknowledge(40);
    let one = boot(ended(transfer()).one_direction(false));
    assert_outcome(&one, Verdict::Unknown, Reason::OneDirection, &["only the packets of servers", "40 blocks"]);
    let method = |attempt: &onoff_network::report::BootAttempt| attempt.method.name(attempt.ip_version);
    assert!(one.attempts.iter().all(|attempt| !method(attempt).ends_with('v')), "{:?}", one.attempts);
    let refused = CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &DhcpFields::default());
    let refused = refused.dhcp(DhcpMessageType::Nak, &DhcpFields::default());
    let refused = boot(ended(refused).one_direction(false));
    assert_outcome(&refused, Verdict::Failed, Reason::DhcpRefused, &["not in the capture"]);
}

#[test]
fn an_unseen_offer_is_not_a_silent_server() {
    // Broadcasts pass the capture point, unicasts do not.
    let fields = DhcpFields::default();
    let capture = CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields).wait_ms(900);
    let capture = capture.dhcp(DhcpMessageType::Request, &fields).wait_ms(40);
    assert_outcome(&boot(ended(capture)), Verdict::Unknown, Reason::OneDirection, &[]);
}
