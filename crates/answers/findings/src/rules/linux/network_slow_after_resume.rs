//! Networks that are slow to return after a resume.

use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A network interface that gets an address only 4 s or more after the resume.
    ///
    /// # Why it costs time
    /// The screen is on but nothing on the network responds, so for the user the resume is not over.
    ///
    /// # Evidence needed
    /// The journal, or a kernel log with the interface's messages: association, carrier, lease.
    ///
    /// # What to do
    /// If the association is slow, check the driver, its firmware and the scan (`iw event -t`). If the address is slow,
    /// check the DHCP server, and let the client request its last lease first (`INIT-REBOOT`).
    ///
    /// # When it is wrong
    /// The network was out of reach, or is a different one. Some access points make clients wait.
    ///
    /// # Source
    /// RFC 2131, 3.2, for a client that had an address before; the threshold is onoff's.
    "linux/network-slow-after-resume", "networks that are slow to return after a resume", LinuxSuspend(check)
}

fn check(sleep: &LinuxSleep) -> Outcome {
    let details = &sleep.details;
    let Some(resumed_ns) = details.resume.start_ns.filter(|_| details.outcome == SleepOutcome::Slept) else {
        return Ok(Vec::new());
    };
    if details.reconnections.is_empty() {
        return Err(missing_input(
            "network reconnection times (in the journal after the resume, if a connection was lost)",
        ));
    }
    let findings = details.reconnections.iter().filter_map(|reconnection| {
        let duration_ns = reconnection.took_ns.filter(|&ns| ns >= thresholds::NETWORK_RESUME_NS)?;
        let name = if reconnection.interface.is_empty() { "the network" } else { &reconnection.interface };
        let mut finding = RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Device, reconnection.interface.clone()),
            format!("{name} was back {} after the resume", time(duration_ns)),
        )
        .evidence(resumed_ns, "the computer resumed");
        for (time_ns, event) in [
            (reconnection.associated_ns, "associated with an access point"),
            (reconnection.ready_ns, "carrier up"),
            (reconnection.address_ns, "address assigned"),
            (reconnection.connected_ns, "reported as connected by its network manager"),
        ] {
            if time_ns.is_some() {
                finding = finding.evidence(time_ns, event);
            }
        }
        // Advise on the longer of the two parts.
        let associated_ns = reconnection.associated_ns.or(reconnection.ready_ns);
        let association_ns = associated_ns.map(|time_ns| time_ns.saturating_sub(resumed_ns));
        let is_association = association_ns.is_some_and(|ns| ns.saturating_mul(2) >= duration_ns);
        Some(finding.advice(if is_association {
            "association or carrier took most of the time: check the driver, its firmware and the scan ('iw event -t' shows the scan)"
        } else {
            "the address took most of the time: check the DHCP server, and let the client request its last lease first"
        }))
    });
    Ok(findings.collect())
}
