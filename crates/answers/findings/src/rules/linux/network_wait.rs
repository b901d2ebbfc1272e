//! Boots that wait for the network to come up.

use onoff_trace::ServiceOutcome;

use super::known_waits::waits;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A unit that only waits for the network (`systemd-networkd-wait-online`, `NetworkManager-wait-online`, `ifupdown-
    /// wait-online`, `connman-wait-online`) for 5 % of the boot or more (at least 300 ms, at most 1 s) on the critical
    /// path to the default target.
    ///
    /// # Why it costs time
    /// Getting an address depends on other computers. Everything ordered after `network-online.target` waits, including
    /// units that could connect later. With an unplugged interface, the wait runs into its timeout of 60 s or 120 s.
    ///
    /// # Evidence needed
    /// Unit times (journal, or systemd's own dump); unit ordering (unit properties) for the cost.
    ///
    /// # What to do
    /// Find what pulls it in (`systemctl list-dependencies --reverse network-online.target`). Remove
    /// `After=network-online.target` from units that can connect later. Otherwise end the wait with the first interface
    /// (`--any`), exclude interfaces that are not required (`--ignore=`, `RequiredForOnline=no`), or shorten the
    /// timeout.
    ///
    /// # When it is wrong
    /// A computer with its files or user accounts on the network needs it before anyone can log in.
    ///
    /// # Source
    /// systemd-networkd-wait-online.service(8), NetworkManager-wait-online.service(8), systemd.special(7),
    /// `network-online.target`; the threshold is onoff's.
    "linux/network-wait", "boots that wait for the network to come up", LinuxBoot(check)
}

pub(super) fn is_network_wait(unit: &str) -> bool {
    const NAMES: [&str; 4] =
        ["systemd-networkd-wait-online", "NetworkManager-wait-online", "ifupdown-wait-online", "connman-wait-online"];
    // There may be one instance per interface: `systemd-networkd-wait-online@eth0`.
    let name = unit.strip_suffix(".service").and_then(|name| name.split('@').next());
    name.is_some_and(|name| NAMES.contains(&name))
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let has_failed =
        |name: &str| facts.report.units.iter().any(|unit| unit.name == name && unit.outcome == ServiceOutcome::Failed);
    Ok(waits(facts, is_network_wait, facts.report.min_cause_ns())?
        .iter()
        .map(|wait| {
            let in_vain = if has_failed(wait.unit) { " in vain" } else { "" };
            wait.finding(
                format!("the boot waited {}{in_vain} for the network ({})", time(wait.duration_ns), wait.unit),
                "find what pulls it in ('systemctl list-dependencies --reverse network-online.target') and remove \
                'After=network-online.target' from units that can connect later; otherwise end the wait with the first interface \
                 ('--any'), or exclude interfaces that are not required ('RequiredForOnline=no')",
            )
        })
        .collect())
}
