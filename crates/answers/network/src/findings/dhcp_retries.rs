//! Questions for an address that had to be asked again: each wait is longer than the one before.

use super::super::dhcp::DhcpExchange;
use super::super::report::Verdict;
use super::{Facts, Finding, plural, time};

/// Waits shorter than this together are not worth a change, ns.
const WORTH_NS: i64 = 500_000_000;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let boot = facts.boot;
    // The dialogue that the boot failed in has its own finding.
    let is_outcome = |exchange: &DhcpExchange| {
        boot.outcome.verdict == Verdict::Failed
            && !exchange.complete
            && exchange.messages.iter().any(|message| message.time_ns == boot.outcome.time_ns)
    };
    boot.dhcp.iter().filter(|exchange| !is_outcome(exchange)).filter_map(retried).collect()
}

fn retried(exchange: &DhcpExchange) -> Option<Finding> {
    let family = if exchange.ip_version == 4 { "DHCPv4" } else { "DHCPv6" };
    let waited = exchange.waits_ns.iter().fold(0_i64, |sum, &wait| sum.saturating_add(wait));
    let waits: Vec<String> = exchange.waits_ns.iter().take(6).map(|&wait| time(wait).to_string()).collect();
    let waits = waits.join(", ");
    let found = |what: String, cost_ns: i64, advice: String| {
        (cost_ns >= WORTH_NS).then_some(Finding {
            rule: "dhcp_retries",
            what,
            cost_ns: Some(cost_ns),
            stops_boot: false,
            advice,
            source: "PXE 2.1: clients wait 4, 8, 16 and 32 s",
        })
    };
    if !exchange.complete && exchange.offer_delay_ns.is_none() {
        return found(
            format!("{family}: no server answered {}", plural(exchange.attempts, "question")),
            exchange.duration_ns,
            format!(
                "no {family} server answers here: put the boot entry of the other IP version first, or start the server or relay"
            ),
        );
    }
    if exchange.unanswered_ns > 0 {
        return found(
            format!("{family}: the client repeated its question after {waits}, because no answer came"),
            exchange.unanswered_ns,
            "the first questions were not answered: look at the switch port (portfast), the relay, and the server's load".to_owned(),
        );
    }
    // The server answered each question, and the client repeated a request nevertheless.
    if exchange.complete && exchange.request_attempts > 1 {
        let what =
            format!("{family}: the client repeated its request after {waits}, although this capture holds the answer");
        return found(what, waited, "the answer was lost between the place of the capture and the client, or the client did not take it: capture at the client".to_owned());
    }
    None
}
