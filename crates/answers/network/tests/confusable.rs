//! Tests captures whose outcome is easily confused with another one.

use onoff_network::report::{Reason, Verdict};
use onoff_testkit::capture::{CaptureBuilder, DhcpFields, DhcpMessageType};

use crate::support::{assert_outcome, boot, boots, ended, lease, unanswered};

/// A network boot that fails is no success of the operating system on the disk, which starts afterwards.
#[test]
fn a_system_from_disk_is_not_loaded_from_the_network() {
    let fields = DhcpFields::default();
    let refused = CaptureBuilder::default().dhcp(DhcpMessageType::Discover, &fields);
    let refused = refused.dhcp(DhcpMessageType::Offer, &fields).dhcp(DhcpMessageType::Request, &fields);
    let refused = refused.dhcp(DhcpMessageType::Nak, &fields).wait_ms(15_000).os_lease();
    assert_outcome(&boot(refused), Verdict::Failed, Reason::DhcpRefused, &[]);
    let silent = unanswered(CaptureBuilder::default(), &fields).wait_ms(10_000).os_lease();
    assert_outcome(&boot(silent), Verdict::Failed, Reason::NoDhcpAnswer, &["4 requests"]);
    let missing = lease().request("boot.efi", &[]).error(false, 1, "File not found").wait_ms(20_000).os_lease();
    assert_outcome(&boot(missing), Verdict::Failed, Reason::FileRefused, &["boot.efi"]);
}

#[test]
fn loaders_that_search_for_their_configuration() {
    let search = |found: bool| {
        let names = ["uuid", "01-52-54-00-77-00-01", "0A000032", "0A00003", "0A"];
        let capture = names.iter().fold(lease().file("pxelinux.0", 40, b""), |capture, name| {
            capture.request(&format!("pxelinux.cfg/{name}"), &[]).error(false, 1, "File not found").wait_ms(3)
        });
        match found {
            true => capture.file("pxelinux.cfg/default", 2, b"").wait_ms(40_000).file("vmlinuz", 60, b""),
            false => capture.request("pxelinux.cfg/default", &[]).error(false, 1, "File not found"),
        }
    };
    let loaded = search(true).file("initrd.img", 60, b"").wait_ms(5_000).os_lease();
    assert_outcome(&boot(loaded), Verdict::Loaded, Reason::SystemStarted, &["initrd.img"]);
    assert_outcome(&boot(ended(search(false))), Verdict::Failed, Reason::FileRefused, &["6 files"]);
}

#[test]
fn a_reset_of_a_started_kernel_is_another_boot() {
    let first = lease().file("boot.efi", 40, b"").file("vmlinuz", 60, b"").file("initrd.img", 60, b"");
    let second = DhcpFields { transaction: 77, ..DhcpFields::default() };
    let capture = first.wait_ms(20_000).lease(&second).request("boot.efi", &[]).error(false, 1, "File not found");
    let verdicts: Vec<Verdict> = boots(ended(capture)).iter().map(|boot| boot.outcome.verdict).collect();
    assert_eq!(verdicts, [Verdict::Loaded, Verdict::Failed]);
}
