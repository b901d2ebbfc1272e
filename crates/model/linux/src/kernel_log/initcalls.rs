//! Reads initialization functions and probes logged by `initcall_debug`.

use hashbrown::HashMap;
use onoff_trace::{DeviceOperation, DeviceOperationKind, StringId};

use super::{function_and_module, text_between};
use crate::assembly::Assembly;
use crate::devices::operation;

/// Maximum time between a call in the log and in the trace. The trace event comes after the log line, which takes a
/// while to write on a slow console.
const MAX_TRACE_DELAY_NS: u64 = 50_000_000;

#[derive(Debug)]
pub(super) struct InitcallTracker {
    /// Running functions: name and row.
    open: Vec<(String, DeviceOperation)>,
    rows: Vec<DeviceOperation>,
    /// Indexes of the trace's rows by thread, in order.
    traced: HashMap<u32, Vec<usize>>,
}

/// Maximum number of open functions.
const MAX_OPEN: usize = 4096;

impl InitcallTracker {
    pub(super) fn new(assembly: &Assembly) -> Self {
        let mut traced: HashMap<u32, Vec<usize>> = HashMap::new();
        for (index, row) in assembly.device_operations.iter().enumerate() {
            if row.kind == DeviceOperationKind::Initcall
                && let Some(tid) = row.tid
            {
                traced.entry(tid).or_default().push(index);
            }
        }
        Self { open: Vec::new(), rows: Vec::new(), traced }
    }

    pub(super) fn on_message(&mut self, time_ns: i64, text: &str, assembly: &mut Assembly) -> bool {
        self.call(time_ns, text, assembly).is_some()
            || self.call_end(time_ns, text).is_some()
            || self.probe(time_ns, text, assembly).is_some()
    }

    /// Reads `calling  f+0x0/0x10 [module] @ 1`.
    fn call(&mut self, time_ns: i64, text: &str, assembly: &mut Assembly) -> Option<()> {
        let (target, tid) = text.strip_prefix("calling  ")?.rsplit_once(" @ ")?;
        let tid: u32 = tid.trim().parse().ok()?;
        let (function, module) = function_and_module(target);
        let driver = assembly.intern(function);
        let event = assembly.intern("kernel log/initcall");
        let mut row = operation(DeviceOperationKind::Initcall, time_ns, tid, driver, event);
        row.description = assembly.intern(module);
        if self.open.len() >= MAX_OPEN {
            let (_, oldest) = self.open.remove(0);
            self.rows.push(oldest);
        }
        self.open.push((function.to_owned(), row));
        Some(())
    }

    /// Reads `initcall f+0x0/0x10 [module] returned 0 after 12 usecs`.
    fn call_end(&mut self, time_ns: i64, text: &str) -> Option<()> {
        let (target, result) = text.strip_prefix("initcall ")?.rsplit_once(" returned ")?;
        let (function, _) = function_and_module(target);
        let (result, _) = parse_result(result)?;
        let index = self.open.iter().rposition(|(name, _)| name == function)?;
        let (_, mut row) = self.open.remove(index);
        // Use the timestamps of both lines, not the logged duration: the kernel keeps a single start for all calls, so
        // with nested or parallel calls the duration counts from the latest start.
        row.end_ns = Some(time_ns.max(row.start_ns));
        row.status = Some(result.cast_unsigned());
        self.rows.push(row);
        Some(())
    }

    /// Reads `probe of 0000:00:1f.0 returned 0 after 62808 usecs`.
    fn probe(&mut self, time_ns: i64, text: &str, assembly: &mut Assembly) -> Option<()> {
        let device = text_between(text, "probe of ", " returned ")?;
        let (_, result) = text.rsplit_once(" returned ")?;
        let (result, duration_ns) = parse_result(result)?;
        let event = assembly.intern("kernel log/probe");
        let start_ns = time_ns.saturating_sub(duration_ns);
        let mut row = operation(DeviceOperationKind::Probe, start_ns, 0, StringId::EMPTY, event);
        row.device = assembly.intern(device);
        row.end_ns = Some(time_ns);
        row.status = Some(result.cast_unsigned());
        row.tid = None;
        // The line does not name the driver. A probe is usually part of the driver's initialization, so if only one
        // running function started before the probe, the probe belongs to that function.
        let mut candidates = self.open.iter().filter(|(_, call)| call.start_ns <= start_ns);
        if let (Some((function, call)), None) = (candidates.next(), candidates.next()) {
            row.driver = if call.description.is_empty() { assembly.intern(function) } else { call.description };
        }
        assembly.device_operations.push(row);
        Some(())
    }

    /// Adds the functions. A call that is also in the trace keeps the trace's times but gets the log's name, which is
    /// also correct for modules.
    pub(super) fn finish(mut self, assembly: &mut Assembly) {
        self.rows.extend(self.open.drain(..).map(|(_, row)| row));
        self.rows.sort_by_key(|row| row.start_ns);
        // Match equal names first: while the trace's clock advances in ticks, the nearest call may be a different one.
        let rows = std::mem::take(&mut self.rows);
        let unmatched: Vec<DeviceOperation> =
            rows.into_iter().filter(|row| !self.merge_into_trace(row, true, assembly)).collect();
        for row in unmatched {
            if !self.merge_into_trace(&row, false, assembly) {
                assembly.device_operations.push(row);
            }
        }
    }

    /// Merges a call into the nearest traced call of the thread, optionally only one with the same name. Returns true
    /// if there was one. The traced row gets the log's names and cannot match again.
    fn merge_into_trace(&mut self, row: &DeviceOperation, by_name: bool, assembly: &mut Assembly) -> bool {
        let Some(thread_rows) = row.tid.and_then(|tid| self.traced.get_mut(&tid)) else { return false };
        let nearest = thread_rows
            .iter()
            .enumerate()
            .filter_map(|(position, &index)| {
                let traced = assembly.device_operations.get(index)?;
                (!by_name || traced.driver == row.driver).then(|| (position, traced.start_ns.abs_diff(row.start_ns)))
            })
            .min_by_key(|&(_, distance)| distance)
            .filter(|&(_, distance)| distance < MAX_TRACE_DELAY_NS)
            .map(|(position, _)| thread_rows.remove(position));
        let Some(traced) = nearest.and_then(|index| assembly.device_operations.get_mut(index)) else { return false };
        traced.driver = row.driver;
        // A trace that starts or ends in between has only one end.
        if traced.end_ns.is_none() {
            traced.end_ns = row.end_ns.filter(|&end_ns| end_ns >= traced.start_ns);
            traced.status = traced.status.or(row.status);
        }
        if traced.description.is_empty() {
            traced.description = row.description;
        }
        true
    }
}

/// Parses `0 after 12 usecs`. Returns the result and the duration in ns.
fn parse_result(text: &str) -> Option<(i32, i64)> {
    let (result, duration) = text.split_once(" after ")?;
    let duration_us: i64 = duration.strip_suffix("usecs")?.trim().parse().ok()?;
    Some((result.trim().parse().ok()?, duration_us.checked_mul(1000)?))
}
