//! Lower bounds of a transition's duration: how fast it could be with the recorded work.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_evidence::transition_kind::TransitionKind;
use onoff_trace::{DiskOperation, Losses, Trace};
use serde::Serialize;

use crate::bottleneck::Bottleneck;
use crate::graph::{Action, Graph, RequestId, Segment, SignalId};
use crate::identity::Identity;
use crate::prediction::{NoPrediction, Predictor, WhatIfError, WhatIfQuestion, first_culprit, with_predictor};

/// Number of processors that are never all in use.
const FREE_PROCESSORS: u32 = 4096;
/// Minimum size of a read from which the bandwidth of a disk is measured, bytes: 32 KiB.
const MIN_LARGE_READ: u64 = 32 * 1024;
/// Number of large reads, one after another, of which the fastest give the bandwidth of a disk.
const BANDWIDTH_READS: usize = 16;

/// A lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoundKind {
    /// The longest chain of dependencies, with a free processor and disk whenever one is needed.
    Chain,
    /// The processor time of what the end depends on, divided by the number of processors.
    Processors,
    /// The bytes that what the end depends on read from a disk, each once, at the disk's measured bandwidth.
    DiskReads,
    /// The longest chain of dependencies, with free processors and disks, and without timers and time-outs.
    ChainWithoutTimers,
}

/// Why a bound is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoBound {
    /// The recording cannot be replayed; see `no_prediction`.
    NoReplay,
    /// No disk requests were recorded.
    NoDiskRequests,
    /// Too few large reads were recorded to measure the bandwidth of the disk.
    NoBandwidth,
}

/// A lower bound of the duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bound {
    pub bound: BoundKind,
    /// Shortest duration, ns; `None` if not known.
    pub ns: Option<i64>,
    /// Why the bound is not known; `None` if it is.
    pub no_bound: Option<NoBound>,
}

/// How fast a transition could be with the recorded work.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WhatIfLimit"))]
pub struct Limit {
    pub transition: TransitionKind,
    /// Number among the transitions of its kind in the recording, from 1.
    pub number: u32,
    /// Duration of the transition in the recording, ns, without required idle time and time asleep.
    pub measured_ns: i64,
    /// The bounds.
    pub bounds: Vec<Bound>,
    /// The largest bound that applies with the same hardware: of processors, disk reads and the chain without timers,
    /// ns. `None` if the chain is not known.
    pub shortest_ns: Option<i64>,
    /// Time for timers and time-outs: the difference of the two chains, ns; `None` if not known.
    pub timers_ns: Option<i64>,
    /// Time for waits for processors and disks in use: the difference of the recording and the chain, ns; `None` if not
    /// known.
    pub contention_ns: Option<i64>,
    /// The first culprit of the chain without timers; `None` if not known.
    pub bottleneck: Option<Bottleneck>,
    /// Why there is no prediction; `None` if there is one.
    pub no_prediction: Option<NoPrediction>,
    /// The replay without a change.
    pub identity: Identity,
    /// Share of the phases' critical path that is unknown, percent.
    pub unknown_percent: f64,
    /// Number of waits that are replayed both with their recorded length and with their recorded end.
    pub uncertain_waits: u64,
    /// All losses of the recording.
    pub losses: Losses,
}

/// Returns how fast a transition could be. The question's own changes are not used.
///
/// # Errors
/// The recording has no such transition or no context switches.
pub fn limit(trace: &Trace, question: &WhatIfQuestion) -> Result<Limit, WhatIfError> {
    with_predictor(trace, question, |predictor| Ok(predictor.limit()))
}

impl Predictor<'_, '_, '_> {
    /// Returns the lower bounds.
    pub fn limit(&mut self) -> Limit {
        let mut no_prediction = self.no_prediction();
        let mut chains = None;
        let mut bottleneck = None;
        if no_prediction.is_none() {
            let mut free = self.model.graph.clone();
            free.processors = FREE_PROCESSORS.max(free.processors);
            free.disks.iter_mut().for_each(|disk| disk.concurrency = u32::MAX);
            let chain = self.predicted_ns(&free, &self.logged_replay(&free));
            for timed in free.tasks.iter_mut().flat_map(|task| &mut Arc::make_mut(task).segments) {
                if let Segment::Timer(_) = timed.segment {
                    timed.segment = Segment::Delay(0);
                }
            }
            let replay = self.logged_replay(&free);
            let chain_without_timers = self.predicted_ns(&free, &replay);
            chains = chain.zip(chain_without_timers).map(|(chain_ns, without_ns)| {
                let chain_ns = chain_ns.min(self.measured_ns);
                (chain_ns, without_ns.min(chain_ns))
            });
            match chains {
                Some(_) => bottleneck = first_culprit(&self.shares(&free, &replay)),
                None => no_prediction = Some(NoPrediction::EndNotReached),
            }
        }
        let needed = self.needed_work();
        let before_ns = self.phases.iter().map(|phase| phase.phase.range.start_ns).min().unwrap_or(0).min(0).abs();
        let cpu_ns = needed.cpu_ns / i64::from(self.model.graph.processors.max(1));
        let reads_ns = self.reads_ns(&needed.requests);
        let bound = |bound, ns: Result<i64, NoBound>| Bound {
            bound,
            ns: ns.ok().map(|ns| ns.clamp(0, self.measured_ns.max(0))),
            no_bound: ns.err(),
        };
        let chain = |ns: Option<i64>| ns.ok_or(NoBound::NoReplay);
        let bounds = vec![
            bound(BoundKind::Chain, chain(chains.map(|(chain_ns, _)| chain_ns))),
            bound(BoundKind::Processors, Ok(before_ns.saturating_add(cpu_ns))),
            bound(BoundKind::DiskReads, reads_ns.map(|ns| before_ns.saturating_add(ns))),
            bound(BoundKind::ChainWithoutTimers, chain(chains.map(|(_, without_ns)| without_ns))),
        ];
        let of_hardware = bounds.iter().skip(1).filter_map(|bound| bound.ns).max();
        Limit {
            transition: self.kind,
            number: self.number,
            measured_ns: self.measured_ns,
            shortest_ns: of_hardware.filter(|_| chains.is_some()),
            timers_ns: chains.map(|(chain_ns, without_ns)| chain_ns.saturating_sub(without_ns)),
            contention_ns: chains.map(|(chain_ns, _)| self.measured_ns.saturating_sub(chain_ns)),
            bounds,
            bottleneck,
            no_prediction,
            identity: self.identity.clone(),
            unknown_percent: self.unknown_percent,
            uncertain_waits: self.uncertain_waits(),
            losses: self.model.trace.losses.clone(),
        }
    }

    /// Follows all dependencies back from the ends of the phases with a critical path.
    fn needed_work(&self) -> NeededWork {
        let graph = &self.model.graph;
        let start_ns = self.phases.iter().map(|phase| phase.phase.range.start_ns).min().unwrap_or(i64::MIN);
        let places = Places::of(graph);
        let mut needed = NeededWork { cpu_ns: 0, requests: Vec::new() };
        // Number of needed segments of each task.
        let mut counts: Vec<usize> = vec![0; graph.tasks.len()];
        let mut work: Vec<(u32, u32)> = self.phases.iter().filter_map(|phase| places.signal(phase.end?)).collect();
        while let Some((task, segment)) = work.pop() {
            let (Some(row), Some(count)) = (graph.tasks.get(task as usize), counts.get_mut(task as usize)) else {
                continue;
            };
            let end = segment as usize + 1;
            let from = std::mem::replace(count, end.max(*count));
            for timed in row.segments.get(from..end).unwrap_or_default() {
                match timed.segment {
                    Segment::Run { cpu_ns, .. } if timed.recorded_ns >= start_ns => {
                        needed.cpu_ns = needed.cpu_ns.saturating_add(cpu_ns);
                    }
                    Segment::Await(signal) => work.extend(places.signal(signal)),
                    Segment::AwaitDisk(RequestId(request)) => {
                        if let Some(place) = places.requests.get(request as usize).copied().flatten() {
                            work.push(place);
                        }
                        if timed.recorded_ns >= start_ns {
                            needed.requests.push(request);
                        }
                    }
                    _ => {}
                }
            }
        }
        needed.requests.sort_unstable();
        needed.requests.dedup();
        needed
    }

    /// Returns the time to read what the requests read, each byte once, ns: of the disk that needs the longest.
    fn reads_ns(&self, requests: &[u32]) -> Result<i64, NoBound> {
        let rows = &self.model.trace.disk_ios;
        if rows.is_empty() {
            return Err(NoBound::NoDiskRequests);
        }
        // Request numbers are row numbers.
        let mut ranges: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
        for row in requests.iter().filter_map(|&request| rows.get(request as usize)) {
            if row.operation == DiskOperation::Read {
                ranges.entry(row.disk).or_default().push((row.offset, row.offset.saturating_add(row.size)));
            }
        }
        let mut longest_ns = 0_i64;
        for (disk, ranges) in ranges {
            let bytes = unique_bytes(ranges);
            let reads = rows.iter().filter(|row| row.disk == disk && row.operation == DiskOperation::Read);
            let (read_bytes, read_ns) =
                bandwidth(reads.map(|row| (row.size, row.service_ns))).ok_or(NoBound::NoBandwidth)?;
            let ns = u128::from(bytes) * u128::from(read_ns) / u128::from(read_bytes.max(1));
            longest_ns = longest_ns.max(i64::try_from(ns).unwrap_or(i64::MAX));
        }
        Ok(longest_ns)
    }
}

/// What the end of a transition depends on.
struct NeededWork {
    cpu_ns: i64,
    /// Rows of disk requests that were waited for.
    requests: Vec<u32>,
}

/// The task and segment that set each signal and issue each request.
struct Places {
    signals: Vec<Option<(u32, u32)>>,
    requests: Vec<Option<(u32, u32)>>,
}

impl Places {
    fn of(graph: &Graph) -> Self {
        let mut places =
            Self { signals: vec![None; graph.signals as usize], requests: vec![None; graph.requests.len()] };
        for (task, row) in (0_u32..).zip(&graph.tasks) {
            for (segment, timed) in (0_u32..).zip(&row.segments) {
                let action = match timed.segment {
                    Segment::Act(action) => Some(action),
                    Segment::ActLater(late) => graph.late_actions.get(late as usize).map(|late| late.action),
                    _ => None,
                };
                let place = match action {
                    Some(Action::Signal(SignalId(signal))) => places.signals.get_mut(signal as usize),
                    Some(Action::Issue(RequestId(request))) => places.requests.get_mut(request as usize),
                    None => None,
                };
                if let Some(place) = place {
                    *place = Some((task, segment));
                }
            }
        }
        places
    }

    fn signal(&self, SignalId(signal): SignalId) -> Option<(u32, u32)> {
        self.signals.get(signal as usize).copied().flatten()
    }
}

/// Returns the number of bytes in any of the ranges.
fn unique_bytes(mut ranges: Vec<(u64, u64)>) -> u64 {
    ranges.sort_unstable();
    let (mut bytes, mut counted) = (0_u64, 0_u64);
    for (start, end) in ranges {
        let start = start.max(counted);
        if end > start {
            bytes = bytes.saturating_add(end.saturating_sub(start));
            counted = end;
        }
    }
    bytes
}

/// Returns bytes and time, ns, of the fastest consecutive large reads of a disk; `None` if there are too few.
fn bandwidth(reads: impl Iterator<Item = (u64, i64)>) -> Option<(u64, u64)> {
    let reads: Vec<(u64, u64)> = reads
        .filter(|&(size, _)| size >= MIN_LARGE_READ)
        .map(|(size, service_ns)| (size, u64::try_from(service_ns).unwrap_or(0)))
        .filter(|&(_, service_ns)| service_ns > 0)
        .collect();
    let sum = |window: &[(u64, u64)]| {
        window
            .iter()
            .fold((0_u64, 0_u64), |(bytes, ns), read| (bytes.saturating_add(read.0), ns.saturating_add(read.1)))
    };
    let windows = reads.windows(BANDWIDTH_READS).map(sum);
    windows.max_by(|a, b| (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_bytes_once() {
        assert_eq!(unique_bytes(vec![(0, 10), (5, 12), (20, 30), (6, 7)]), 22);
        assert_eq!(unique_bytes(Vec::new()), 0);
    }

    #[test]
    fn measures_bandwidth_of_large_reads() {
        let slow = std::iter::repeat_n((1 << 16, 2_000_000), 40);
        let fast = std::iter::repeat_n((1 << 16, 500_000), 16);
        let small = std::iter::repeat_n((4096, 10), 99);
        assert_eq!(bandwidth(slow.clone().chain(fast).chain(small)), Some((16 << 16, 8_000_000)));
        assert_eq!(bandwidth(slow.take(3)), None);
    }
}
