//! Networks that come back long after the machine.

use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A network interface that has an address only 4 s or more after the machine is back.
    ///
    /// # Why it costs time
    /// The screen is there and nothing on the network answers: for who waits the resume is not over.
    ///
    /// # Evidence needed
    /// The journal, or a kernel log with the lines of the interface: association, carrier, lease.
    ///
    /// # What to do
    /// Where the association takes the time, look at the driver, its firmware and the scan (`iw event -t`). Where the address does, look at
    /// the DHCP server, and let the client ask for its last lease first (`INIT-REBOOT`).
    ///
    /// # When it is wrong
    /// A network that was out of reach, or another one than before, takes as long as it takes. Some access points let a client wait.
    ///
    /// # Source
    /// RFC 2131, 3.2, for a client that has had an address; the limit is onoff's.
    "linux/network-slow-after-resume", "networks that come back long after the machine", LinuxSuspend(check)
}

fn check(sleep: &LinuxSleep) -> Outcome {
    let details = &sleep.details;
    let Some(back_ns) = details.resume.start_ns.filter(|_| details.outcome == SleepOutcome::Slept) else {
        return Ok(Vec::new());
    };
    if details.reconnections.is_empty() {
        return Err(lacks_other(
            "when network interfaces were back: the journal after the resume tells, where one was lost",
        ));
    }
    let slow = details.reconnections.iter().filter_map(|one| {
        let took_ns = one.took_ns.filter(|&ns| ns >= thresholds::NETWORK_RESUME_NS)?;
        let name = if one.interface.is_empty() { "the network" } else { &one.interface };
        let mut finding = RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Device, one.interface.clone()),
            format!("{name} was back only {} after the machine", time(took_ns)),
        )
        .because(back_ns, "the machine is back");
        for (at, what) in [
            (one.associated_ns, "it is associated with an access point"),
            (one.ready_ns, "it carries packets"),
            (one.address_ns, "it has an address"),
            (one.connected_ns, "its manager calls it connected"),
        ] {
            if at.is_some() {
                finding = finding.because(at, what);
            }
        }
        // The longer of the two parts is where to look.
        let association_ns = one.associated_ns.or(one.ready_ns).map(|at| at.saturating_sub(back_ns));
        let is_association = association_ns.is_some_and(|ns| ns.saturating_mul(2) >= took_ns);
        Some(finding.advise(if is_association {
            "look at the driver, its firmware and the scan: association or carrier took most of it ('iw event -t' shows the scan)"
        } else {
            "look at the DHCP server, and let the client ask for its last lease first: the address took most of it"
        }))
    });
    Ok(slow.collect())
}
