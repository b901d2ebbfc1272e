//! A client that lets offers wait.

use super::{Facts, Finding, time};

/// Firmware collects offers for a second or so; more is worth a look, ns.
const SLOW_NS: i64 = 2_000_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let slow = facts.boot.dhcp.iter().filter_map(|exchange| {
        let delay = exchange.choice_delay_ns.filter(|&delay| delay >= SLOW_NS)?;
        Some((exchange, delay))
    });
    slow.map(|(exchange, delay)| {
        let advice = match (exchange.ip_version, exchange.proxy, exchange.boot_file.is_some()) {
            (6, ..) => "the firmware collects offers, or brings up addresses first: a server that offers with preference 255 is taken at once (RFC 8415, 18.2.1)",
            (_, true, _) => "the firmware waits for further offers of boot servers: name file and server in the address server's own offer, and drop the ProxyDHCP",
            (_, false, false) => "the firmware waits for an offer that names a boot file: name file and server in the DHCP configuration",
            (_, false, true) => "the firmware collects offers for a fixed time before it takes one: look for a firmware setting or update",
        };
        Finding {
            rule: "choice_delay",
            what: format!(
                "the client took {} from the first IPv{} offer to its request",
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
