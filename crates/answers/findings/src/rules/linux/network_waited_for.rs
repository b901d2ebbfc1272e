//! Boots that wait until the network is there.

use onoff_trace::ServiceOutcome;

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that does nothing but wait for the network (`systemd-networkd-wait-online`, `NetworkManager-wait-online`, `ifupdown-wait-
    /// online`, `connman-wait-online`) for 1 s or more, on the way to the default target.
    ///
    /// # Why it costs time
    /// Addresses come when the other side answers. Whatever is ordered after `network-online.target` waits, also what could connect later
    /// by itself. An interface without a cable makes the wait run into its time-out, 60 s or 120 s.
    ///
    /// # Evidence needed
    /// Times of units (the journal or the service manager's own dump); their ordering (properties of units) for what it cost.
    ///
    /// # What to do
    /// See who asks for it (`systemctl list-dependencies --reverse network-online.target`). What can connect later loses its
    /// `After=network-online.target`. Else let the wait end with the first interface (`--any`), leave out those that need not be there
    /// (`--ignore=`, `RequiredForOnline=no`), or give it a shorter time-out.
    ///
    /// # When it is wrong
    /// A computer whose files or users are on the network needs it before anybody can log in.
    ///
    /// # Source
    /// systemd-networkd-wait-online.service(8), NetworkManager-wait-online.service(8), systemd.special(7), `network-online.target`; the
    /// limit is onoff's.
    "linux/network-waited-for", "boots that wait until the network is there", LinuxBoot(check)
}

/// Whether a unit does nothing but wait for the network.
pub(super) fn is_it(unit: &str) -> bool {
    const NAMES: [&str; 4] =
        ["systemd-networkd-wait-online", "NetworkManager-wait-online", "ifupdown-wait-online", "connman-wait-online"];
    // One instance for each interface: `systemd-networkd-wait-online@eth0`.
    let name = unit.strip_suffix(".service").and_then(|name| name.split('@').next());
    name.is_some_and(|name| NAMES.contains(&name))
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let failed =
        |name: &str| facts.report.units.iter().any(|unit| unit.name == name && unit.outcome == ServiceOutcome::Failed);
    Ok(waits(facts, is_it, thresholds::UNIT_NS)?
        .iter()
        .map(|wait| {
            let in_vain = if failed(wait.unit) { " in vain" } else { "" };
            wait.finding(
                format!("the boot waits {}{in_vain} for the network ({})", time(wait.duration_ns), wait.unit),
                "see who asks for it ('systemctl list-dependencies --reverse network-online.target'): what can connect later loses its \
                 'After=network-online.target'; else end the wait with the first interface ('--any'), or leave out those that need not \
                 be there ('RequiredForOnline=no')",
            )
        })
        .collect())
}
