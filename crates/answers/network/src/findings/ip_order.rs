//! The other IP version was tried first, without success.

use onoff_netboot::transfer::Outcome;

use super::{Facts, Finding, time};

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let boot = facts.boot;
    let first_file = boot.transfers.iter().find(|file| file.outcome == Outcome::Complete);
    let Some(file) = first_file else { return Vec::new() };
    let winner = if file.client.starts_with('[') { 6 } else { 4 };
    let failed: Vec<_> = boot
        .dhcp
        .iter()
        .filter(|exchange| exchange.ip_version != winner && exchange.start_ns < file.request_ns)
        .collect();
    let (Some(first), Some(winning_exchange)) =
        (failed.first(), boot.dhcp.iter().find(|exchange| exchange.ip_version == winner))
    else {
        return Vec::new();
    };
    let cost = winning_exchange.start_ns.saturating_sub(first.start_ns);
    if cost < 1_000_000_000 {
        return Vec::new();
    }
    let loser = if winner == 4 { 6 } else { 4 };
    vec![Finding {
        rule: "ip_order",
        title: format!("IPv{loser} was tried first, for {}; the boot came over IPv{winner}", time(cost)),
        cost_ns: Some(cost),
        stops_boot: false,
        advice: format!("put the boot entry for IPv{winner} before the one for IPv{loser}"),
        source: "UEFI PXE Boot Performance Analysis, 3.1",
    }]
}
