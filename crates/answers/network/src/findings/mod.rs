//! Findings about a network boot, one rule per file.

mod address_check;
mod block_fragmented;
mod block_small;
mod choice_delay;
mod dhcp_retries;
mod duplicate_blocks;
mod far_network;
mod http_problems;
mod ip_order;
mod offload;
mod outcome;
mod retransmissions;
mod slow_client;
mod slow_server;
mod window_refused;
mod window_small;
mod wrong_file;

use onoff_trace::Duration;

use super::model::FittedTransfer;
pub use super::report::Finding;
use super::report::{FileTransfer, NetworkBoot};

/// Input of the rules.
pub(super) struct Facts<'a> {
    pub(super) boot: &'a NetworkBoot,
    /// Transfers with a fitted model.
    pub(super) fitted: &'a [FittedTransfer],
}

impl Facts<'_> {
    /// Files with a fitted model.
    fn modeled(&self) -> impl Iterator<Item = (&FileTransfer, &FittedTransfer)> {
        self.boot.transfers.iter().filter(|file| file.model.is_some()).zip(self.fitted)
    }
}

type Rule = fn(&Facts<'_>) -> Vec<Finding>;

const RULES: [Rule; 17] = [
    outcome::check,
    address_check::check,
    block_fragmented::check,
    block_small::check,
    choice_delay::check,
    dhcp_retries::check,
    duplicate_blocks::check,
    far_network::check,
    http_problems::check,
    ip_order::check,
    offload::check,
    retransmissions::check,
    slow_client::check,
    slow_server::check,
    window_refused::check,
    window_small::check,
    wrong_file::check,
];

/// Returns the findings about a boot: first the findings that stopped it, then a defect that doubles the packets, which
/// explains other findings, then the others by cost.
pub(super) fn findings(boot: &NetworkBoot, fitted: &[FittedTransfer]) -> Vec<Finding> {
    let facts = Facts { boot, fitted };
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&facts)).collect();
    findings.sort_by_key(|finding| {
        std::cmp::Reverse({
            let doubles_packets = finding.rule == duplicate_blocks::RULE;
            (finding.stops_boot, doubles_packets, finding.cost_ns.unwrap_or(0))
        })
    });
    findings
}

pub(super) const fn time(ns: i64) -> Duration {
    Duration::from_ns(ns)
}

fn plural(count: u64, singular: &str) -> String {
    if count == 1 { format!("1 {singular}") } else { format!("{count} {singular}s") }
}
