//! Error codes shown on the client's screen.

use super::{ErrorCode, Reason};

/// Returns the error codes for a reason. UEFI: as shown by OVMF on its serial console in a recorded boot for each
/// reason (E05 and E09: from EDK II's UefiPxeBcDxe). BIOS: the list of Intel's PXE option ROMs, from which most others
/// are derived.
pub(super) fn codes(reason: Reason, bios: Option<bool>, ip_version: u8) -> Vec<ErrorCode> {
    let (uefi, rom): (&[&'static str], &[&'static str]) = match (reason, ip_version) {
        (Reason::NoDhcpAnswer, 6) => (&["PXE-E16"], &[]),
        (Reason::NoDhcpAnswer, _) => (&["PXE-E18"], &["PXE-E51"]),
        (Reason::NoBootFile, _) => (&["PXE-E16"], &["PXE-E53"]),
        (Reason::DhcpRefused, 4) => (&["PXE-E07"], &[]),
        (Reason::BootServerSilent, _) => (&["PXE-E16"], &["PXE-E55"]),
        (Reason::ServerNotOnLink, _) => (&["PXE-E18"], &["PXE-E11"]),
        (Reason::FragmentsLost, _) => (&["PXE-E18"], &["PXE-E35"]),
        (Reason::ServerUnreachable, _) => (&["PXE-E99"], &["PXE-E32"]),
        (Reason::RequestUnanswered | Reason::AnsweredFromOtherAddress | Reason::OptionsUnanswered, _) => {
            (&["PXE-E18"], &["PXE-E32"])
        }
        (Reason::ServerSilent | Reason::BlockNumberLimit, _) => (&["PXE-E18"], &["PXE-E35"]),
        (Reason::OptionsRefused, _) => (&["PXE-E23"], &[]),
        (Reason::OptionsIgnored, _) => (&["PXE-E99"], &[]),
        (Reason::FileRefused, _) => (&["PXE-E23"], &["PXE-E36"]),
        (Reason::FileTooLarge, _) => (&["PXE-E05", "PXE-E07", "PXE-E09"], &["PXE-E79"]),
        _ => (&[], &[]),
    };
    let shown_codes = |codes: &[&'static str], shown_by: &'static str| {
        codes.iter().map(|code| ErrorCode { code, shown_by }).collect::<Vec<_>>()
    };
    match bios {
        Some(true) => shown_codes(rom, "BIOS"),
        Some(false) => shown_codes(uefi, "UEFI"),
        None => [shown_codes(uefi, "UEFI"), shown_codes(rom, "BIOS")].concat(),
    }
}
