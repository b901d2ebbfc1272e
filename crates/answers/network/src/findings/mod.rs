//! What to change, one rule per file.

mod address_check;
mod block_fragmented;
mod block_small;
mod choice_delay;
mod dhcp_retries;
mod doubled;
mod http_trouble;
mod ip_order;
mod offload;
mod outcome;
mod retransmissions;
mod slow_client;
mod window_refused;
mod window_small;
mod wrong_file;

use onoff_trace::Duration;

use super::model::Fitted;
pub use super::report::Finding;
use super::report::{FileTransfer, NetworkBoot};

/// What a rule looks at.
pub(super) struct Facts<'a> {
    pub(super) boot: &'a NetworkBoot,
    /// The transfers that have a model.
    pub(super) fitted: &'a [Fitted],
}

impl Facts<'_> {
    /// The files that have a model, with it.
    fn modeled(&self) -> impl Iterator<Item = (&FileTransfer, &Fitted)> {
        self.boot.transfers.iter().filter(|file| file.model.is_some()).zip(self.fitted)
    }
}

type Rule = fn(&Facts<'_>) -> Vec<Finding>;

const RULES: [Rule; 15] = [
    outcome::check,
    address_check::check,
    block_fragmented::check,
    block_small::check,
    choice_delay::check,
    dhcp_retries::check,
    doubled::check,
    http_trouble::check,
    ip_order::check,
    offload::check,
    retransmissions::check,
    slow_client::check,
    window_refused::check,
    window_small::check,
    wrong_file::check,
];

/// What the rules find in a boot, what costs most first.
pub(super) fn findings(boot: &NetworkBoot, fitted: &[Fitted]) -> Vec<Finding> {
    let facts = Facts { boot, fitted };
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&facts)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse((finding.stops_boot, finding.cost_ns.unwrap_or(0))));
    findings
}

pub(super) const fn time(ns: i64) -> Duration {
    Duration::from_ns(ns)
}

fn plural(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}
