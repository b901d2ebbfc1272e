//! HTTP boot problems: error responses, closed receive windows, and packet loss.

use super::super::report::Download;
use super::super::report::Verdict;
use super::{Facts, Finding, plural, time};

/// Minimum time with a closed receive window, ns.
const MIN_COST_NS: i64 = 100_000_000;
/// Minimum share of retransmitted segments, percent.
const MIN_PERCENT: f64 = 0.1;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let (downloads, outcome) = (&facts.boot.downloads, &facts.boot.outcome);
    let stopped_ns = (outcome.verdict == Verdict::Failed).then_some(outcome.time_ns);
    let mut findings: Vec<Finding> =
        downloads.iter().filter(|download| Some(download.end_ns) != stopped_ns).filter_map(error).collect();
    // The counts are per connection, so only its first request is used.
    let connections = || downloads.iter().filter(|download| !download.reused);
    let closed_ns = connections().fold(0_i64, |sum, download| sum.saturating_add(download.zero_window_ns));
    let closed: u64 = connections().map(|download| download.zero_windows).sum();
    if closed_ns >= MIN_COST_NS {
        findings.push(Finding {
            rule: "http_zero_window",
            title: format!("the client closed its receive window {}, for {} in total", plural(closed, "time"), time(closed_ns)),
            cost_ns: Some(closed_ns),
            stops_boot: false,
            advice: "the client's firmware is slower than the network: update its network driver or firmware, and check the memory or storage it writes to".to_owned(),
            source: "RFC 9293, 3.8.6",
        });
    }
    let repeated: u64 = connections().map(|download| download.repeated_segments).sum();
    let segments: u64 = connections().map(|download| download.data_segments).sum();
    let percent = repeated as f64 * 100.0 / segments.max(1) as f64;
    if repeated > 0 && percent >= MIN_PERCENT {
        findings.push(Finding {
            rule: "http_retransmissions",
            title: format!("{repeated} of {segments} segments were retransmitted ({percent:.2} %)"),
            cost_ns: None,
            stops_boot: false,
            advice: "look for packet loss between the server and the capture point: cable, switch port, duplex"
                .to_owned(),
            source: "UEFI PXE Boot Performance Analysis, 2.1",
        });
    }
    findings
}

fn error(download: &Download) -> Option<Finding> {
    let status = download.status.filter(|&status| status >= 400)?;
    Some(Finding {
        rule: "http_error",
        title: format!("the server answered {status} for {}", download.url),
        cost_ns: Some(download.duration_ns),
        stops_boot: false,
        advice: "put the file where the client expects it, or correct the URL in the DHCP or loader configuration"
            .to_owned(),
        source: "RFC 9110, 15",
    })
}
