//! Divides a boot into attempts: the ways in which a client tried to load, one after another.
//!
//! Firmware goes through its boot entries (PXE over IPv4, PXE over IPv6, HTTP boot) until one loads. Each attempt starts
//! with a DHCP dialogue and ends where the next one starts.

use onoff_netboot::connection::Connection;
use onoff_netboot::transfer::{Outcome, Transfer};

use super::super::dhcp::{DhcpExchange, Stack};
use super::super::report::{AttemptMethod, Download, FileTransfer};
use super::Evidence;
use super::loads::is_received;

/// Dialogues over both IP versions that start within this time of each other are parallel, ns.
const MAX_PARALLEL_NS: i64 = 5_000_000_000;

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Successor {
    /// Nothing in this capture.
    None,
    /// Another attempt of the same boot.
    Attempt,
    /// The client's next boot, after this one had loaded.
    Boot,
}

/// Returns the start of each attempt but the first, in ns, in ascending order.
pub(super) fn later_starts(dhcp: &[DhcpExchange], files: &[FileTransfer], downloads: &[Download]) -> Vec<i64> {
    let mut starts = Vec::new();
    let mut current: Option<CurrentAttempt<'_>> = None;
    // Captures that cut frames short have no vendor classes.
    let has_classes = dhcp.iter().any(|exchange| !exchange.vendor_class.is_empty());
    for exchange in dhcp.iter().filter(|exchange| !exchange.boot_server_dialogue) {
        if exchange.stack == Stack::OperatingSystem {
            continue;
        }
        let Some(attempt) = &mut current else {
            current = Some(CurrentAttempt { start_ns: exchange.start_ns, last: exchange, unnamed_ns: None });
            continue;
        };
        // Over IPv6, the stack below PXE sends requests without a vendor class, shortly before PXE does.
        let is_unnamed = has_classes
            && exchange.ip_version == 6
            && exchange.stack == Stack::Firmware
            && !exchange.vendor_class.contains("Client");
        let has_loaded = has_loaded_between(files, downloads, attempt.last.start_ns, exchange.start_ns);
        let is_same = match exchange.stack {
            _ if attempt.is_parallel(exchange) && !has_loaded => true,
            // A loaded program requests an address itself.
            Stack::BootProgram => has_loaded,
            _ => is_unnamed || (!has_classes && attempt.continues_with(exchange)),
        };
        if !is_same {
            let start_ns = attempt.unnamed_start(exchange).unwrap_or(exchange.start_ns);
            starts.push(start_ns.max(starts.last().copied().unwrap_or(i64::MIN)));
            current = Some(CurrentAttempt { start_ns, last: exchange, unnamed_ns: None });
        } else if is_unnamed && exchange.start_ns > attempt.start_ns {
            attempt.unnamed_ns = Some(exchange.start_ns);
        } else {
            attempt.last = exchange;
        }
    }
    starts
}

/// The attempt that a dialogue may belong to.
struct CurrentAttempt<'a> {
    start_ns: i64,
    /// Its last named dialogue.
    last: &'a DhcpExchange,
    /// Start of a later dialogue of the stack below PXE, which may belong to the next attempt.
    unnamed_ns: Option<i64>,
}

impl CurrentAttempt<'_> {
    /// True if a dialogue runs beside the last one, over the other IP version.
    fn is_parallel(&self, exchange: &DhcpExchange) -> bool {
        let last_ns = self.last.messages.last().map_or(self.last.start_ns, |message| message.time_ns);
        let has_ended_before = (self.last.complete || self.last.is_refused()) && last_ns <= exchange.start_ns;
        exchange.ip_version != self.last.ip_version
            && !has_ended_before
            && exchange.start_ns.saturating_sub(last_ns) < MAX_PARALLEL_NS
    }

    /// True if a dialogue over IPv6 overlaps the last one, or follows one that the client left without an address: the
    /// stack below PXE and PXE.
    fn continues_with(&self, exchange: &DhcpExchange) -> bool {
        let last_ns = self.last.messages.last().map_or(self.last.start_ns, |message| message.time_ns);
        (self.last.ip_version, exchange.ip_version) == (6, 6)
            && (exchange.start_ns <= last_ns || !self.last.complete)
            && exchange.start_ns.saturating_sub(last_ns) < MAX_PARALLEL_NS
    }

    /// Returns the start of the dialogue of the stack below PXE that belongs to `exchange`.
    fn unnamed_start(&self, exchange: &DhcpExchange) -> Option<i64> {
        self.unnamed_ns.filter(|&unnamed_ns| {
            exchange.ip_version == 6 && exchange.start_ns.saturating_sub(unnamed_ns) < MAX_PARALLEL_NS
        })
    }
}

fn has_loaded_between(files: &[FileTransfer], downloads: &[Download], from_ns: i64, until_ns: i64) -> bool {
    let interval_ns = from_ns..until_ns;
    let has_file =
        files.iter().any(|file| !file.write && file.outcome == Outcome::Complete && interval_ns.contains(&file.end_ns));
    has_file || downloads.iter().any(|download| is_received(download) && interval_ns.contains(&download.end_ns))
}

/// Divides the evidence of a boot at the starts of its later attempts.
pub(super) fn divide<'a>(whole: &Evidence<'a>, later_starts: &[i64]) -> Vec<Evidence<'a>> {
    let mut attempts = Vec::with_capacity(later_starts.len() + 1);
    for index in 0..=later_starts.len() {
        let from_ns = index.checked_sub(1).and_then(|index| later_starts.get(index)).copied().unwrap_or(i64::MIN);
        let next_ns = later_starts.get(index).copied();
        let range = (from_ns, next_ns.unwrap_or(i64::MAX));
        attempts.push(Evidence {
            messages: between(whole.messages, range, |message| message.time_ns),
            transfers: between(whole.transfers, range, |transfer: &&Transfer| transfer.request_ns),
            connections: between(whole.connections, range, |connection: &&Connection| connection.first_ns),
            dhcp: between(whole.dhcp, range, |exchange| exchange.start_ns),
            files: between(whole.files, range, |file| file.request_ns),
            downloads: between(whole.downloads, range, |download| download.start_ns),
            system_ns: whole.system_ns.filter(|system_ns| (range.0..range.1).contains(system_ns)),
            until_ns: next_ns.unwrap_or(whole.until_ns),
            successor: if next_ns.is_some() { Successor::Attempt } else { whole.successor },
            ..*whole
        });
    }
    attempts
}

/// Returns the part of a list in time order within a range.
fn between<T>(list: &[T], (from_ns, until_ns): (i64, i64), time: impl Fn(&T) -> i64) -> &[T] {
    let start = list.partition_point(|item| time(item) < from_ns);
    let end = list.partition_point(|item| time(item) < until_ns);
    list.get(start..end.max(start)).unwrap_or_default()
}

/// Determines how an attempt tried to load.
pub(super) fn method(evidence: &Evidence<'_>) -> (AttemptMethod, Option<u8>) {
    let first = evidence
        .dhcp
        .iter()
        .filter(|exchange| exchange.stack != Stack::OperatingSystem)
        .max_by_key(|exchange| (!exchange.vendor_class.is_empty(), exchange.complete, -exchange.start_ns));
    let version_of = |address: &str| Some(if address.starts_with('[') { 6 } else { 4 });
    let by_files = || {
        let file = evidence.files.first().map(|file| (AttemptMethod::Pxe, version_of(&file.client)));
        let download = evidence.downloads.first();
        file.or_else(|| download.map(|download| (AttemptMethod::Http, version_of(&download.server))))
    };
    let Some(first) = first else { return by_files().unwrap_or((AttemptMethod::Unknown, None)) };
    let class = first.vendor_class.as_str();
    let method = match first.stack {
        Stack::BootProgram => AttemptMethod::BootProgram,
        _ if class.starts_with("HTTPClient") => AttemptMethod::Http,
        _ if class.starts_with("PXEClient") => AttemptMethod::Pxe,
        // Without a vendor class, which may be cut off, the files show the method.
        _ => by_files().map_or(AttemptMethod::Unknown, |(method, _)| method),
    };
    (method, Some(first.ip_version))
}
