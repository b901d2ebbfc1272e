//! The client requested a window that the server did not grant.

use onoff_netboot::transfer::Outcome;

use super::{Facts, Finding, plural};

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let refused: Vec<_> = facts
        .boot
        .transfers
        .iter()
        .filter(|file| file.outcome == Outcome::Complete && file.downgraded.contains(&"windowsize"))
        .collect();
    let Some(first) = refused.first() else { return Vec::new() };
    let requested = first.requested.window.unwrap_or(1);
    let granted = first.window;
    let result = if granted == 1 { "granted none".to_owned() } else { format!("granted {granted}") };
    vec![Finding {
        rule: "window_refused",
        title: format!(
            "the client requested windows of {requested} blocks and {} {result}, in {}",
            first.server.rsplit_once(':').map_or(first.server.as_str(), |(host, _)| host),
            plural(refused.len() as u64, "transfer"),
        ),
        cost_ns: None,
        stops_boot: false,
        advice:
            "use a TFTP server that supports windowsize (RFC 7440): atftpd 0.8 does; dnsmasq 2.90 and tftpd-hpa 5.2 do not"
                .to_owned(),
        source: "RFC 7440; measured with those servers",
    }]
}
