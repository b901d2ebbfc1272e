//! Offer delay: a server that checks whether an address is in use before it offers it.

use super::{Facts, Finding, plural, time};

/// Servers that do not check respond within milliseconds.
const SLOW_NS: i64 = 500_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let slow = facts.boot.dhcp.iter().filter_map(|exchange| {
        let delay = exchange.offer_delay_ns.filter(|&delay| delay >= SLOW_NS)?;
        Some((exchange, delay))
    });
    slow.map(|(exchange, delay)| {
        let server = exchange.servers.first().map_or("the server", String::as_str);
        let (title, advice) = if exchange.address_probes > 0 {
            (
                format!(
                    "the offer came {} after the request; meanwhile {} (ARP or ping) checked whether the address is in use",
                    time(delay),
                    plural(exchange.address_probes, "probe"),
                ),
                format!(
                    "turn off the address-in-use check of {server} if addresses are managed (dnsmasq: --no-ping; Windows DHCP: conflict detection attempts 0; ISC dhcpd: ping-check false)"
                ),
            )
        } else {
            (
                format!("the offer came {} after the request", time(delay)),
                format!(
                    "check {server}: it may ping addresses before offering them (not visible in this capture), be overloaded, or be behind a relay"
                ),
            )
        };
        Finding {
            rule: "offer_delay",
            title,
            cost_ns: Some(delay),
            stops_boot: false,
            advice,
            source: "measured: without the check, the same server responds within milliseconds",
        }
    })
    .collect()
}
