//! Repeated DHCP requests: each wait is longer than the previous one.

use super::super::dhcp::DhcpExchange;
use super::super::report::Verdict;
use super::{Facts, Finding, plural, time};

/// Minimum total of the waits, ns.
const MIN_COST_NS: i64 = 500_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let boot = facts.boot;
    // The dialogue in which the boot failed has a separate finding.
    let is_outcome = |exchange: &DhcpExchange| {
        boot.outcome.verdict == Verdict::Failed
            && !exchange.complete
            && exchange.messages.iter().any(|message| message.time_ns == boot.outcome.time_ns)
    };
    boot.dhcp.iter().filter(|exchange| !is_outcome(exchange)).filter_map(retry_finding).collect()
}

fn retry_finding(exchange: &DhcpExchange) -> Option<Finding> {
    if exchange.lacks_offer() {
        // The answers are not in this capture.
        return None;
    }
    let family = if exchange.ip_version == 4 { "DHCPv4" } else { "DHCPv6" };
    let waited = exchange.waits_ns.iter().fold(0_i64, |sum, &wait| sum.saturating_add(wait));
    let waits: Vec<String> = exchange.waits_ns.iter().take(6).map(|&wait| time(wait).to_string()).collect();
    let waits = waits.join(", ");
    let finding = |title: String, cost_ns: i64, advice: String| {
        (cost_ns >= MIN_COST_NS).then_some(Finding {
            rule: "dhcp_retries",
            title,
            cost_ns: Some(cost_ns),
            stops_boot: false,
            advice,
            source: "PXE 2.1: clients wait 4, 8, 16 and 32 s",
        })
    };
    if !exchange.complete && exchange.offer_delay_ns.is_none() {
        return finding(
            format!("{family}: no server answered {}", plural(exchange.attempts, "request")),
            exchange.duration_ns,
            format!(
                "no {family} server responds here: put the boot entry for the other IP version first, or start the server or relay"
            ),
        );
    }
    if exchange.unanswered_ns > 0 {
        let advice = if exchange.attempts > 1 {
            "the first requests were not answered: check the switch port (portfast), the relay and the server load"
        } else {
            "the server offered an address and did not confirm it at once: check the DHCP server's log and load, its failover partner, and a second server"
        };
        return finding(
            format!("{family}: the client repeated its request after {waits} because no answer came"),
            exchange.unanswered_ns,
            advice.to_owned(),
        );
    }
    // The server answered every request, but the client repeated one anyway.
    if exchange.complete && exchange.request_attempts > 1 {
        let title =
            format!("{family}: the client repeated its request after {waits}, although the answer is in the capture");
        return finding(title, waited, "the answer was lost between the capture point and the client, or the client ignored it: capture at the client".to_owned());
    }
    None
}
