//! Boots from the network get few blocks at a time.

use super::prelude::*;

rule! {
    /// # What it finds
    /// ramdisktftpwindowsize is 4 or less.
    ///
    /// # Why it costs time
    /// Each window waits for its acknowledgement: the paper loads the same image in 23.7 s with the default and 9.5 s with a large
    /// window.
    ///
    /// # Evidence needed
    /// The hive BCD of a server or computer that boots from the network.
    ///
    /// # What to do
    /// Try 8 to 64, and look for lost blocks in a capture: onoff netboot.
    ///
    /// # When it is wrong
    /// On a network that loses packets a large window costs more than it gains.
    ///
    /// # Source
    /// UEFI PXE Boot Performance Analysis, table 1.
    "image/network-window-small", "boots from the network get few blocks at a time", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    let Some(menu) = &facts.report.boot_menu else {
        return Err(lacks_other("how the boot loader is set: the hive BCD is not there"));
    };
    let Some(setting) = &menu.network_window else {
        return Err(lacks_other(
            "how blocks come from the network: the boot loader's store does not set ramdisktftpwindowsize",
        ));
    };
    if setting.number().is_none_or(|window| window > 4) {
        return Ok(Vec::new());
    }
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "ramdisktftpwindowsize");
    Ok(vec![
        facts
            .finding(setting, subject, "boots from the network get few blocks at a time")
            .graded(FindingSeverity::Moderate)
            .advise("set ramdisktftpwindowsize to 8 or more, up to 64, and look for losses with 'onoff netboot'"),
    ])
}
