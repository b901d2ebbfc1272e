//! Names the services that failed during a boot.

use onoff_trace::{ServiceFailureKind, Trace};
use serde::Serialize;

/// Without Windows' account of a boot, failures up to this time count as part of the boot, ns: 10 min.
const DEFAULT_BOOT_NS: i64 = 600_000_000_000;
/// Maximum time between a time-out and the failed start that it causes, ns. Both records have the same time on real
/// computers, rounded differently.
const MAX_CONSEQUENCE_NS: i64 = 1_000_000_000;
/// `ERROR_SERVICE_REQUEST_TIMEOUT`: the start failed because of a time-out.
const REQUEST_TIMEOUT: u32 = 1053;

/// A service that failed or timed out, as Windows recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedService {
    /// When it was recorded, ns.
    pub time_ns: i64,
    pub kind: ServiceFailureKind,
    /// Short name; the display name if the record has no short name.
    pub service: String,
    /// Name in the language of that Windows; empty for none.
    pub display_name: String,
    /// The service it depends on; empty for none.
    pub dependency: String,
    /// How long the service manager waited for it, ns; `None` if the record does not say so.
    pub wait_ns: Option<i64>,
    /// Error code of Windows, or of the service; `None` if not recorded.
    pub error_code: Option<u32>,
    /// The record.
    pub event: String,
}

/// Returns the services that failed up to `end_ns`, when the boot ended, and the number of later failures. A failed
/// start that a time-out caused is part of the time-out.
pub(super) fn failed_services(trace: &Trace, end_ns: Option<i64>) -> (Vec<FailedService>, u64) {
    let end_ns = end_ns.unwrap_or(DEFAULT_BOOT_NS);
    let text = |id| trace.text(id).to_owned();
    let mut failures: Vec<FailedService> = Vec::new();
    let mut later = 0;
    for row in trace.service_failures.iter() {
        if row.time_ns > end_ns {
            later += 1;
            continue;
        }
        let timed_out = failures.iter_mut().rev().find(|failure| {
            failure.kind == ServiceFailureKind::ConnectTimeout
                && failure.service == trace.text(row.service)
                && row.time_ns.saturating_sub(failure.time_ns) <= MAX_CONSEQUENCE_NS
        });
        if row.kind == ServiceFailureKind::StartFailed
            && row.error_code == Some(REQUEST_TIMEOUT)
            && let Some(timed_out) = timed_out
        {
            timed_out.error_code = row.error_code;
            continue;
        }
        failures.push(FailedService {
            time_ns: row.time_ns,
            kind: row.kind,
            service: text(row.service),
            display_name: text(row.display_name),
            dependency: text(row.dependency),
            wait_ns: row.wait_ns,
            error_code: row.error_code,
            event: text(row.event),
        });
    }
    (failures, later)
}
