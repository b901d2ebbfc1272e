//! A small TFTP window for network boots.

use super::prelude::*;

rule! {
    /// # What it finds
    /// ramdisktftpwindowsize is 4 or less.
    ///
    /// # Why it costs time
    /// Each window waits for its acknowledgment: the paper loads the same image in 23.7 s with the default window and
    /// in 9.5 s with a large one.
    ///
    /// # Evidence needed
    /// The BCD hive of a server, or of a computer that boots from the network.
    ///
    /// # What to do
    /// Try 8 to 64, and look for lost blocks in a capture (onoff netboot).
    ///
    /// # When it is wrong
    /// On a network that loses packets, a large window costs more than it gains.
    ///
    /// # Source
    /// UEFI PXE Boot Performance Analysis, table 1.
    "image/network-window-small", "network boots use a small TFTP window", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    let Some(menu) = &facts.report.boot_menu else {
        return Err(missing_input("boot loader settings: the hive BCD is missing"));
    };
    let Some(setting) = &menu.network_window else {
        return Err(missing_input("TFTP window: ramdisktftpwindowsize is not set in the BCD"));
    };
    if setting.number().is_none_or(|window| window > 4) {
        return Ok(Vec::new());
    }
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "ramdisktftpwindowsize");
    Ok(vec![
        facts
            .finding(setting, subject, "network boots use a small TFTP window")
            .severity(FindingSeverity::Moderate)
            .advice("set ramdisktftpwindowsize to 8 to 64, and look for lost blocks with 'onoff netboot'"),
    ])
}
