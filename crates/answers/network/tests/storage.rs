//! Tests what a started program does with storage servers.

use onoff_network::report::{Reason, Verdict};
use onoff_testkit::capture::CaptureBuilder;

use crate::support::{ACK, RESET, SYN, assert_outcome, boot, connect, ended, lease};

fn kernel() -> CaptureBuilder {
    lease().file("boot.efi", 40, b"").file("vmlinuz", 60, b"").wait_ms(3_000)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn storage_shows_that_the_program_started() {
    for (port, name) in [(3260, "iSCSI"), (10_809, "NBD"), (2049, "NFS"), (445, "SMB")] {
        let granted = connect(kernel(), port).tcp_segment(false, (1, 1), ACK, &[0; 60]);
        assert_outcome(&boot(ended(granted)), Verdict::Loaded, Reason::SystemStarted, &[name]);
        let refused = kernel().tcp_port(port).tcp_segment(true, (0, 0), SYN, b"");
        let refused = boot(ended(refused.tcp_segment(false, (0, 1), RESET, b"")));
        assert_outcome(&refused, Verdict::Failed, Reason::StorageRefused, &[name, "TCP reset"]);
        let silent = kernel().tcp_port(port).tcp_segment(true, (0, 0), SYN, b"").wait_ms(1_000);
        let silent = silent.tcp_segment(true, (0, 0), SYN, b"").wait_ms(2_000).tcp_segment(true, (0, 0), SYN, b"");
        assert_outcome(&boot(ended(silent)), Verdict::Failed, Reason::StorageUnanswered, &[name, "3 requests"]);
    }
}

#[test]
fn refusal_in_the_protocol_stops_the_boot() {
    let mut login = vec![0_u8; 48];
    (login[0], login[36], login[37]) = (0x23, 2, 3);
    let iscsi = connect(kernel(), 3260).tcp_segment(false, (1, 1), ACK, &login);
    assert_outcome(&boot(ended(iscsi)), Verdict::Failed, Reason::StorageRefused, &["target not found"]);
    let option = [&0x0003_E889_0455_65A9_u64.to_be_bytes()[..], &words(&[7, 0x8000_0006, 0])].concat();
    let nbd = connect(kernel(), 10_809).tcp_segment(false, (1, 1), ACK, &option);
    assert_outcome(&boot(ended(nbd)), Verdict::Failed, Reason::StorageRefused, &["unknown export"]);
    let mount = |status: u32| {
        let call = words(&[77, 0, 2, 100_005, 3, 1, 0, 0, 0, 0]);
        let capture = kernel().datagram(true, (900, 700), &call).wait_ms(2);
        boot(ended(capture.datagram(false, (900, 700), &words(&[77, 1, 0, 0, 0, 0, status, 0]))))
    };
    assert_outcome(&mount(13), Verdict::Failed, Reason::StorageRefused, &["permission denied"]);
    assert_outcome(&mount(0), Verdict::Loaded, Reason::SystemStarted, &["NFS"]);
}

#[test]
fn ordinary_connections_do_not_fail_a_boot() {
    // A running system connects to a file server that it does not reach.
    let system = kernel().os_lease().wait_ms(2_000).tcp_port(445).tcp_segment(true, (0, 0), SYN, b"");
    let system = boot(ended(system.tcp_segment(false, (0, 1), RESET, b"")));
    assert_outcome(&system, Verdict::Loaded, Reason::SystemStarted, &["operating system's network"]);
    // The first target refuses, the second grants.
    let second = kernel().tcp_port(3260).tcp_segment(true, (0, 0), SYN, b"").tcp_segment(false, (0, 1), RESET, b"");
    let second = connect(second, 3260).tcp_segment(false, (1, 1), ACK, &[0x23; 1]);
    assert_outcome(&boot(ended(second)), Verdict::Loaded, Reason::SystemStarted, &["iSCSI"]);
}
