//! Tests answers from another address than the requested one, and captures that lack the ports of transfers.

use onoff_network::report::{Reason, Verdict};
use onoff_testkit::capture::CaptureBuilder;

use crate::support::{assert_outcome, boot, ended, lease};

const OTHER: [u8; 4] = [10, 0, 0, 2];
const OPTIONS: [(&str, &str); 1] = [("blksize", "1468")];

/// Requests a file again and again; each time, `answer` adds what the server sends.
fn requests(capture: CaptureBuilder, answer: impl Fn(CaptureBuilder) -> CaptureBuilder) -> CaptureBuilder {
    let first = answer(capture.request("boot.efi", &OPTIONS)).wait_ms(4_000);
    (0..4).fold(first, |capture, _| answer(capture.request_again("boot.efi", &OPTIONS)).wait_ms(4_000))
}

#[test]
fn answers_from_another_address_are_named() {
    let from_other = || lease().answer_address(OTHER.into());
    let words = ["to 10.0.0.1, and 5 answers came from 10.0.0.2", "5 requests", "RFC 1350", "listen on 10.0.0.1"];
    let oacks = boot(ended(requests(from_other(), |capture| capture.oack(&OPTIONS))));
    assert_outcome(&oacks, Verdict::Failed, Reason::AnsweredFromOtherAddress, &words);
    assert!(oacks.outcome.certain);
    assert!(oacks.outcome.codes.iter().any(|code| code.code == "PXE-E18"));
    let blocks = boot(ended(requests(from_other(), |capture| capture.data(1, &[7; 512]))));
    assert_outcome(&blocks, Verdict::Failed, Reason::AnsweredFromOtherAddress, &words);
    let refusals = boot(ended(requests(from_other(), |capture| capture.error(false, 1, "File not found"))));
    assert_outcome(&refusals, Verdict::Failed, Reason::AnsweredFromOtherAddress, &words);
    // The answers are packets of a server, so the capture is not one of the client's direction.
    let without_lease = CaptureBuilder::default().answer_address(OTHER.into());
    let without_lease = boot(ended(requests(without_lease, |capture| capture.oack(&OPTIONS))));
    assert_outcome(&without_lease, Verdict::Failed, Reason::AnsweredFromOtherAddress, &[]);
}

#[test]
fn clients_that_accept_another_address_load() {
    // iPXE takes the server's address from the first answer.
    let blocks = lease().answer_address(OTHER.into()).file("boot.efi", 40, b"");
    let loaded = boot(ended(blocks));
    assert_outcome(&loaded, Verdict::Loaded, Reason::FilesLoaded, &[]);
    let file = &loaded.transfers[0];
    assert_eq!((file.counts.blocks, file.counts.repeated_data, file.requests), (40, 0, 1));
    assert!(file.server.starts_with("10.0.0.2:"), "{}", file.server);
    let options = lease().answer_address(OTHER.into()).request("boot.efi", &OPTIONS).oack(&OPTIONS).acknowledge(0);
    let options = (1..40).fold(options, |capture, block| capture.data(block, &[7; 1_468]).acknowledge(block));
    let options = boot(ended(options.data(40, b"end").acknowledge(40)));
    assert_outcome(&options, Verdict::Loaded, Reason::FilesLoaded, &[]);
    assert_eq!((options.transfers[0].block_size, options.transfers[0].counts.bytes), (1_468, 39 * 1_468 + 3));
}

#[test]
fn packets_of_other_programs_are_no_answers() {
    // Another program of the other computer sends to the client's port.
    let stray = || lease().answer_address(OTHER.into());
    let noise = boot(ended(requests(stray(), |capture| capture.data(7_000, b"not a first block"))));
    assert_outcome(&noise, Verdict::Failed, Reason::RequestUnanswered, &["10.0.0.1 did not answer 5 requests"]);
    // The requested server answers as well.
    let both = stray().request("boot.efi", &[]).data(1, &[7; 512]).answer_address([10, 0, 0, 1].into());
    let both = boot(ended(both.blocks(1..40, b"").data(40, b"end").acknowledge(40)));
    assert_outcome(&both, Verdict::Loaded, Reason::FilesLoaded, &[]);
    assert!(both.transfers[0].server.starts_with("10.0.0.1:"), "{}", both.transfers[0].server);
    assert_eq!(both.transfers[0].counts.repeated_data, 0);
    // The capture ends after the first answer.
    let early = boot(stray().request("boot.efi", &OPTIONS).oack(&OPTIONS));
    assert_outcome(&early, Verdict::Unknown, Reason::CaptureEnds, &[]);
}

/// A boot of three files and the operating system's lease.
fn whole_boot() -> CaptureBuilder {
    let files = lease().file("boot.efi", 40, b"").wait_ms(400).file("grub.cfg", 3, b"").file("vmlinuz", 90, b"");
    ended(files.wait_ms(9_000).os_lease())
}

#[test]
fn capture_of_request_ports_does_not_show_transfers() {
    let words =
        ["ports of DHCP and of file requests only", "3 requests for files, the last one for vmlinuz", "ether host"];
    for ports in [&[69][..], &[67, 69], &[67, 68, 69]] {
        let filtered = boot(whole_boot().only_ports(ports));
        assert_outcome(&filtered, Verdict::Unknown, Reason::TransfersNotCaptured, &words);
        assert!(!filtered.outcome.description.contains("did not answer"));
    }
    // Other packets passed the filter, but a client that has no answer does not go on to the next file.
    let with_arp = whole_boot().only_ports(&[67, 69]).arp_request([10, 0, 0, 1].into());
    let words = ["went on to the next file", "ether host"];
    assert_outcome(&boot(with_arp), Verdict::Unknown, Reason::TransfersNotCaptured, &words);
    // No answer reached the client, whether it was sent or not.
    let repeated = boot(ended(requests(lease(), |capture| capture)).only_ports(&[67, 69]));
    assert_outcome(&repeated, Verdict::Failed, Reason::RequestUnanswered, &["no answer reached it", "not known"]);
    assert!(!repeated.outcome.certain);
}

#[test]
fn whole_captures_show_transfers_and_silent_servers() {
    assert_outcome(&boot(whole_boot()), Verdict::Loaded, Reason::SystemStarted, &[]);
    let words = ["10.0.0.1 did not answer 5 requests", "UDP port 69"];
    let silent = boot(ended(requests(lease(), |capture| capture)));
    assert_outcome(&silent, Verdict::Failed, Reason::RequestUnanswered, &words);
    let once = boot(ended(lease().request("boot.efi", &OPTIONS)));
    assert_outcome(&once, Verdict::Failed, Reason::RequestUnanswered, &["10.0.0.1 did not answer 1 request"]);
    // A client that gives up on one file and tries the next.
    let next = requests(lease(), |capture| capture).request("grubx64.efi", &OPTIONS);
    let next = boot(ended(next.wait_ms(4_000).request_again("grubx64.efi", &OPTIONS)));
    assert_outcome(&next, Verdict::Failed, Reason::RequestUnanswered, &["did not answer 2 requests"]);
}
