//! Divides the CPU capacity of a range into busy, idle, asleep and unknown time.

use std::sync::Arc;

use onoff_trace::Trace;
use serde::Serialize;

use super::{CpuSource, percent_of, processors, recorded_by, source};
use crate::asleep::SleepIntervals;
use crate::owners::Owners;
use onoff_evidence::Certainty;
use onoff_evidence::interval::Interval;

/// CPU capacity of a range, divided. `capacity_ns` = `busy_ns` + `idle_ns` + `asleep_ns` + `unknown_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuTotals {
    pub source: CpuSource,
    pub certainty: Certainty,
    /// Number of logical processors.
    pub processors: u32,
    /// Length of the range times the number of CPUs, ns.
    pub capacity_ns: i64,
    /// Time in which threads other than idle threads ran, ns.
    pub busy_ns: i64,
    /// Time in which idle threads ran, ns.
    pub idle_ns: i64,
    /// Time in which the machine was asleep and no thread ran, ns.
    pub asleep_ns: i64,
    /// Time that was not recorded, ns.
    pub unknown_ns: i64,
    /// The part of `busy_ns` in threads of unknown processes, ns.
    pub unattributed_ns: i64,
}

/// The values that the totals of all ranges of a recording share.
#[derive(Clone, Debug)]
pub struct Capacity {
    source: CpuSource,
    processors: u32,
    recorded: Option<(i64, i64)>,
    asleep: Arc<SleepIntervals>,
}

impl Capacity {
    /// Reads the capacity of `trace`, with its thread owners.
    pub fn new(trace: &Trace, owners: &Owners) -> Self {
        Self::from_source(trace, owners, source(trace))
    }

    /// Reads the capacity of `trace`, with CPU times from `source`.
    pub fn from_source(trace: &Trace, owners: &Owners, source: CpuSource) -> Self {
        let recorded = recorded_by(trace, source);
        Self { source, processors: processors(trace), recorded, asleep: owners.asleep() }
    }

    /// Returns the totals of `range`, in which threads ran for `busy_ns` and idle threads for `idle_ns`. Threads of
    /// unknown processes account for `unattributed_ns` of `busy_ns`.
    pub fn totals(&self, range: Interval, busy_ns: i64, idle_ns: i64, unattributed_ns: i64) -> CpuTotals {
        let processors = i64::from(self.processors);
        let capacity_ns = range.duration_ns().saturating_mul(processors);
        let asleep_ns = self.asleep.asleep_ns(range.start_ns, range.end_ns).saturating_mul(processors);
        let idle_ns = match self.source {
            // Idle CPUs are not necessarily sampled.
            CpuSource::Samples => self
                .recorded
                .map_or(0, |(begin, end)| {
                    let (start_ns, end_ns) = (begin.max(range.start_ns), end.min(range.end_ns));
                    range.overlap_ns(begin, end).saturating_sub(self.asleep.silent_ns(start_ns, end_ns))
                })
                .saturating_mul(processors)
                .saturating_sub(busy_ns)
                .max(0),
            _ => idle_ns,
        };
        CpuTotals {
            source: self.source,
            certainty: self.source.certainty(),
            processors: self.processors,
            capacity_ns,
            busy_ns,
            idle_ns,
            asleep_ns,
            unknown_ns: [busy_ns, idle_ns, asleep_ns].into_iter().fold(capacity_ns, i64::saturating_sub).max(0),
            unattributed_ns,
        }
    }
}

impl CpuTotals {
    /// Returns `ns` as a percentage of the capacity.
    #[must_use]
    pub fn percent(&self, ns: i64) -> f64 {
        percent_of(ns, self.capacity_ns)
    }
}
