//! Lists disk requests in detail.

use onoff_trace::{DiskIo, Trace};

use super::grouping::Names;
use super::queue::{Neighbors, issued_ns, neighbors};
use onoff_evidence::scope::Scope;

/// A request with related data.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    pub io: DiskIo,
    /// When it was issued, ns; its completion time if the issue was not recorded.
    pub issued_ns: i64,
    /// Time from issue to completion, ns.
    pub response_ns: i64,
    pub neighbors: Neighbors,
    pub pid: Option<u32>,
    /// Image file name of the process; empty if unknown.
    pub image: &'r str,
    /// File path, with drive letter if known; empty if there is none or it is unknown.
    pub path: &'r str,
}

/// Calls `visit` for each request that completed in `scope`, in order of completion, until it fails.
///
/// # Errors
/// Returns the error of `visit`.
pub fn visit_requests<E>(
    trace: &Trace,
    scope: &Scope,
    visit: &mut dyn FnMut(&Request<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut names = Names::new(trace, scope);
    let neighbors_by_row = neighbors(trace);
    for (io, neighbors) in trace.disk_ios.iter().zip(neighbors_by_row) {
        if !scope.range.contains(io.complete_ns) {
            continue;
        }
        let actor = (io.pid, issued_ns(&io));
        let Some(subject) = names.subject(actor, io.file, io.operation.as_str()) else { continue };
        let (pid, image) = names.process_of(subject);
        visit(&Request {
            io,
            issued_ns: issued_ns(&io),
            response_ns: io.complete_ns.saturating_sub(issued_ns(&io)).max(0),
            neighbors,
            pid,
            image,
            path: names.path_of(subject),
        })?;
    }
    Ok(())
}
