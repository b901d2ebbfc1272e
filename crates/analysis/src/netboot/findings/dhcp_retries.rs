//! Questions that had to be asked again: each wait is longer than the one before.

use super::{Facts, Finding, time};

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let repeated = facts.boot.dhcp.iter().filter(|exchange| exchange.waits_ns.iter().any(|&wait| wait > 0));
    repeated
        .filter(|exchange| exchange.attempts > 1 || exchange.request_attempts > 1)
        .map(|exchange| {
            let waits: Vec<String> = exchange.waits_ns.iter().take(6).map(|&wait| time(wait).to_string()).collect();
            let family = if exchange.ip_version == 4 { "DHCPv4" } else { "DHCPv6" };
            let answered = exchange.offer_delay_ns.is_some();
            let outcome = match (exchange.complete, answered) {
                (true, _) => "an address came in the end",
                (false, true) => "offers came, but none that the client takes",
                (false, false) => "no answer came",
            };
            let advice = match (exchange.complete, answered) {
                (false, true) => "the server offers an address without what this client asks for (boot file, HTTPClient class): add it, or take this boot entry out of the boot order".to_owned(),
                (false, false) => format!("no {family} server answers here: put the entry of the other IP version first, or start the server or relay"),
                (true, _) => "the first questions went unheard: check spanning tree (portfast), the relay, and the server's load".to_owned(),
            };
            let waits_ns = exchange.waits_ns.iter();
            let cost = if exchange.complete {
                waits_ns.fold(0_i64, |sum, &wait| sum.saturating_add(wait))
            } else {
                exchange.duration_ns
            };
            Finding {
                rule: "dhcp_retries",
                what: format!(
                    "{family} asked {} times, {} apart; {outcome}",
                    exchange.attempts.max(exchange.request_attempts),
                    waits.join(", "),
                ),
                cost_ns: Some(cost),
                stops_boot: facts.boot.transfers.is_empty()
                    && facts.boot.downloads.is_empty()
                    && !exchange.complete,
                advice,
                source: "PXE 2.1: clients wait 4, 8, 16 and 32 s",
            }
        })
        .collect()
}
