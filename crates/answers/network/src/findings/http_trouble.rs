//! HTTP boot: answers that are errors, a client that cannot take what comes, and loss.

use super::super::report::Download;
use super::super::report::Verdict;
use super::{Facts, Finding, plural, time};

/// Closed for less, a window cost nothing worth a change, ns.
const WORTH_NS: i64 = 100_000_000;
/// From this share on, repeated segments are worth looking into, percent.
const NOTABLE_PERCENT: f64 = 0.1;

pub(super) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let (downloads, outcome) = (&facts.boot.downloads, &facts.boot.outcome);
    let stopped_ns = (outcome.verdict == Verdict::Failed).then_some(outcome.time_ns);
    let mut findings: Vec<Finding> =
        downloads.iter().filter(|download| Some(download.end_ns) != stopped_ns).filter_map(refused).collect();
    // Counts are those of a connection: its first request stands for it.
    let connections = || downloads.iter().filter(|download| !download.reused);
    let closed_ns = connections().fold(0_i64, |sum, download| sum.saturating_add(download.zero_window_ns));
    let closed: u64 = connections().map(|download| download.zero_windows).sum();
    if closed_ns >= WORTH_NS {
        findings.push(Finding {
            rule: "http_zero_window",
            what: format!("the client closed its receive window {}, for {} together", plural(closed, "time"), time(closed_ns)),
            cost_ns: Some(closed_ns),
            stops_boot: false,
            advice: "the client's firmware takes data more slowly than it comes: a newer network driver or firmware, or slow memory or storage behind the download".to_owned(),
            source: "RFC 9293, 3.8.6",
        });
    }
    let repeated: u64 = connections().map(|download| download.repeated_segments).sum();
    let segments: u64 = connections().map(|download| download.data_segments).sum();
    let percent = repeated as f64 * 100.0 / segments.max(1) as f64;
    if repeated > 0 && percent >= NOTABLE_PERCENT {
        findings.push(Finding {
            rule: "http_retransmissions",
            what: format!("{repeated} of {segments} segments came again ({percent:.2} %)"),
            cost_ns: None,
            stops_boot: false,
            advice: "look for loss: cable, switch port, duplex".to_owned(),
            source: "UEFI PXE Boot Performance Analysis, 2.1",
        });
    }
    findings
}

fn refused(download: &Download) -> Option<Finding> {
    let status = download.status.filter(|&status| status >= 400)?;
    Some(Finding {
        rule: "http_error",
        what: format!("the server answered {status} for {}", download.url),
        cost_ns: Some(download.duration_ns),
        stops_boot: false,
        advice: "put the file where the client looks, or correct the URL in the DHCP or loader configuration"
            .to_owned(),
        source: "RFC 9110, 15",
    })
}
