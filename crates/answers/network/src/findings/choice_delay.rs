//! A client that is slow to accept an offer.

use super::{Facts, Finding, time};

/// Firmware normally collects offers for about a second.
const SLOW_NS: i64 = 2_000_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let slow = facts.boot.dhcp.iter().filter_map(|exchange| {
        let delay = exchange.choice_delay_ns.filter(|&delay| delay >= SLOW_NS)?;
        Some((exchange, delay))
    });
    slow.map(|(exchange, delay)| {
        let advice = match (exchange.ip_version, exchange.proxy, exchange.boot_file.is_some()) {
            (6, ..) => "the firmware collects offers or configures addresses first: it accepts an offer with preference 255 at once (RFC 8415, 18.2.1)",
            (_, false, false) => "the firmware waits for an offer with a boot file: name the boot file and server in the DHCP configuration",
            _ => "the firmware collects offers for a fixed time before it accepts one: look for a firmware setting or update",
        };
        Finding {
            rule: "choice_delay",
            title: format!(
                "the client waited {} after the first IPv{} offer before it sent its request",
                time(delay),
                exchange.ip_version
            ),
            cost_ns: Some(delay),
            stops_boot: false,
            advice: advice.to_owned(),
            source: "RFC 8415, 18.2.1; PXE 2.1",
        }
    })
    .collect()
}
