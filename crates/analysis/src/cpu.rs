//! Who used the processors: by process, by priority, idle; exact from context switches, else estimated from samples.
//!
//! A processor runs the thread that its last context switch put on it until the next one takes it off. Before a
//! processor's first switch it ran the thread that this switch took off; after its last one, the thread that it put on.
//! But where no processor switches for more than [`QUIET_NS`] at the recording's begin or end, switches were not recorded
//! there (a recorder that started later or stopped earlier than another), and nothing is said about that time.
//! Interrupts and deferred procedure calls count for the thread they interrupted.

use onoff_trace::{TableName, Trace};
use serde::Serialize;

use crate::evidence::{Certainty, touched_by};
use crate::owners::{IDLE, OwnerIndex, Owners, UNKNOWN, file_name};

/// What processor times were taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuSource {
    /// Context switches: exact.
    ContextSwitches,
    /// Profile samples: each stands for the time to the next one; an estimate.
    Samples,
    /// Neither was recorded.
    #[default]
    None,
}

/// Processor time of one process in an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessCpu {
    /// Process id; `None` for threads whose process is not known.
    pub pid: Option<u32>,
    /// Image file name; empty when not known.
    pub image: String,
    /// Processor time, ns.
    pub cpu_ns: i64,
    /// Percentage of the interval's length times the number of processors.
    pub percent: f64,
}

/// Processor time at one thread priority in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PriorityCpu {
    /// Priority, 0–31.
    pub priority: u8,
    /// Processor time, ns; the idle thread's left out.
    pub cpu_ns: i64,
    /// Percentage of the interval's length times the number of processors.
    pub percent: f64,
}

/// Who used the processors in an interval. `capacity_ns` = `busy_ns` + `idle_ns` + `unknown_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CpuUsage {
    /// What it was taken from.
    pub source: CpuSource,
    /// How certain it is.
    pub certainty: Certainty,
    /// Logical processors.
    pub processors: u32,
    /// The interval's length times the number of processors, ns.
    pub capacity_ns: i64,
    /// Time in which threads ran, ns.
    pub busy_ns: i64,
    /// Time in which idle threads ran, ns.
    pub idle_ns: i64,
    /// Time about which the recording says nothing, ns.
    pub unknown_ns: i64,
    /// By process, most first; the idle thread's time is `idle_ns` only.
    pub by_process: Vec<ProcessCpu>,
    /// By priority, highest priority first.
    pub by_priority: Vec<PriorityCpu>,
    /// Names of the losses that touch this.
    pub touched_by: Vec<String>,
}

/// Thread priorities are 0–31.
const PRIORITIES: usize = 32;

/// What processor time can be taken from in `trace`: the best that was recorded.
#[must_use]
pub fn source(trace: &Trace) -> CpuSource {
    if !trace.context_switches.is_empty() {
        CpuSource::ContextSwitches
    } else if !trace.samples.is_empty() {
        CpuSource::Samples
    } else {
        CpuSource::None
    }
}

impl CpuSource {
    /// How certain processor times from this source are.
    #[must_use]
    pub const fn certainty(self) -> Certainty {
        match self {
            Self::ContextSwitches => Certainty::Measured,
            Self::Samples => Certainty::Inferred,
            Self::None => Certainty::Missing,
        }
    }

    /// The tables whose losses touch processor times from this source.
    #[must_use]
    pub const fn tables(self) -> &'static [TableName] {
        match self {
            Self::ContextSwitches => &[
                TableName::ContextSwitches,
                TableName::Threads,
                TableName::Processes,
            ],
            Self::Samples => &[TableName::Samples, TableName::Threads, TableName::Processes],
            Self::None => &[],
        }
    }
}

/// Logical processors of the recorded machine: as configured, or as many as are seen to work.
#[must_use]
pub fn processors(trace: &Trace) -> u32 {
    let switching = trace
        .context_switches
        .pieces()
        .iter()
        .filter_map(|piece| piece.cpu.iter().max());
    let sampled = trace
        .samples
        .pieces()
        .iter()
        .filter_map(|piece| piece.cpu.iter().max());
    let seen = switching
        .chain(sampled)
        .max()
        .map_or(0, |&cpu| u32::from(cpu) + 1);
    seen.max(trace.system.processors).max(1)
}

/// A machine that goes without any context switch or sample for longer than this, ns, at the recording's begin or end was
/// not recorded there: 1 s. Even an idle Windows switches many times a second.
pub const QUIET_NS: i64 = 1_000_000_000;

/// The time for which the recording has processor times, ns: from begin to end, or less where switches or samples begin
/// late or end early. `None` when neither was recorded.
#[must_use]
pub fn recorded(trace: &Trace) -> Option<(i64, i64)> {
    fn ends<'a>(mut pieces: impl DoubleEndedIterator<Item = &'a Vec<i64>>) -> Option<(i64, i64)> {
        let first = pieces.next()?;
        let last = pieces.next_back().unwrap_or(first);
        Some((*first.first()?, *last.last()?))
    }
    let (first, last) = match source(trace) {
        CpuSource::ContextSwitches => {
            let pieces = trace.context_switches.pieces().iter();
            ends(pieces.map(|piece| &piece.time_ns))
        }
        CpuSource::Samples => ends(trace.samples.pieces().iter().map(|piece| &piece.time_ns)),
        CpuSource::None => None,
    }?;
    let begin = if first > QUIET_NS { first } else { 0 };
    let end = if trace.duration_ns.saturating_sub(last) > QUIET_NS {
        last
    } else {
        trace.duration_ns
    };
    Some((begin, end))
}

/// Who used the processors in each of the intervals between consecutive `cuts`, which ascend. One pass over the
/// recording, however many intervals there are.
#[must_use]
pub fn usage(trace: &Trace, cuts: &[i64]) -> Vec<CpuUsage> {
    let intervals = cuts.len().saturating_sub(1);
    let mut owners = Owners::of(trace);
    let stride = owners.list().len();
    let mut by_owner = vec![0_i64; stride * intervals];
    let mut by_priority = vec![[0_i64; PRIORITIES]; intervals];
    let source = charge(trace, &mut owners, cuts, |interval, owner, priority, ns| {
        if let Some(sum) = by_owner.get_mut(interval * stride + owner as usize) {
            *sum = sum.saturating_add(ns);
        }
        if owner != IDLE
            && let Some(sums) = by_priority.get_mut(interval)
        {
            let sum = &mut sums[usize::from(priority) % PRIORITIES];
            *sum = sum.saturating_add(ns);
        }
    });

    let processors = processors(trace);
    let recorded = recorded(trace);
    let touched_by = touched_by(trace, source.tables());
    cuts.windows(2)
        .enumerate()
        .map(|(interval, ends)| {
            let length = ends[1].saturating_sub(ends[0]);
            let capacity_ns = length.saturating_mul(i64::from(processors));
            let percent = |ns: i64| percent_of(ns, capacity_ns);
            let sums = &by_owner[interval * stride..][..stride];
            let busy_ns = sums
                .iter()
                .skip(UNKNOWN as usize)
                .fold(0_i64, |sum, &ns| sum.saturating_add(ns));
            let idle_ns = match source {
                // Idle processors need not be sampled.
                CpuSource::Samples => {
                    let sampled_ns = recorded.map_or(0, |(begin, end)| {
                        end.min(ends[1]).saturating_sub(begin.max(ends[0])).max(0)
                    });
                    sampled_ns
                        .saturating_mul(i64::from(processors))
                        .saturating_sub(busy_ns)
                        .max(0)
                }
                _ => sums[IDLE as usize],
            };
            let mut by_process: Vec<ProcessCpu> = owners
                .list()
                .iter()
                .zip(sums)
                .skip(UNKNOWN as usize)
                .filter(|&(_, &ns)| ns > 0)
                .map(|(owner, &cpu_ns)| ProcessCpu {
                    pid: owner.pid,
                    image: file_name(trace.text(owner.image)).to_owned(),
                    cpu_ns,
                    percent: percent(cpu_ns),
                })
                .collect();
            by_process.sort_by(|a, b| b.cpu_ns.cmp(&a.cpu_ns).then(a.pid.cmp(&b.pid)));
            let by_priority = (0..=31_u8)
                .rev()
                .zip(by_priority[interval].iter().rev())
                .filter(|&(_, &ns)| ns > 0)
                .map(|(priority, &cpu_ns)| PriorityCpu {
                    priority,
                    cpu_ns,
                    percent: percent(cpu_ns),
                })
                .collect();
            CpuUsage {
                source,
                certainty: source.certainty(),
                processors,
                capacity_ns,
                busy_ns,
                idle_ns,
                unknown_ns: capacity_ns
                    .saturating_sub(busy_ns)
                    .saturating_sub(idle_ns)
                    .max(0),
                by_process,
                by_priority,
                touched_by: touched_by.clone(),
            }
        })
        .collect()
}

/// Time of normal priority in each of the slices between consecutive `cuts`, ns, summed over processors: neither idle
/// nor of a thread whose priority is below `lowest_priority`.
pub(crate) fn busy(trace: &Trace, cuts: &[i64], lowest_priority: u8) -> (CpuSource, Vec<i64>) {
    let mut owners = Owners::of(trace);
    let mut busy = vec![0_i64; cuts.len().saturating_sub(1)];
    let source = charge(trace, &mut owners, cuts, |slice, owner, priority, ns| {
        if owner != IDLE
            && priority >= lowest_priority
            && let Some(sum) = busy.get_mut(slice)
        {
            *sum = sum.saturating_add(ns);
        }
    });
    (source, busy)
}

/// `part` as a percentage of `whole`; 0 of nothing.
#[allow(
    clippy::cast_precision_loss,
    reason = "a percentage needs no more than 52 bits"
)]
pub(crate) fn percent_of(part: i64, whole: i64) -> f64 {
    if whole <= 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    }
}

/// Charges all processor time between the first and the last of `cuts` to its owner: (interval, owner, priority, ns).
fn charge(
    trace: &Trace,
    owners: &mut Owners,
    cuts: &[i64],
    charge: impl FnMut(usize, OwnerIndex, u8, i64),
) -> CpuSource {
    let source = source(trace);
    match source {
        CpuSource::ContextSwitches => charge_switches(trace, owners, cuts, charge),
        CpuSource::Samples => charge_samples(trace, owners, cuts, charge),
        CpuSource::None => {}
    }
    source
}

/// What one processor does now, and since when that is not yet charged.
#[derive(Clone, Copy, Debug)]
struct Running {
    owner: OwnerIndex,
    priority: u8,
    since_ns: i64,
    interval: usize,
    interval_end_ns: i64,
}

impl Running {
    /// Charges the running thread up to `time_ns`, split where intervals end. Time that goes backwards charges nothing.
    #[inline]
    fn charge_until(
        &mut self,
        time_ns: i64,
        cuts: &[i64],
        charge: &mut impl FnMut(usize, OwnerIndex, u8, i64),
    ) {
        while time_ns > self.interval_end_ns {
            if self.interval_end_ns > self.since_ns {
                let part = self.interval_end_ns.saturating_sub(self.since_ns);
                charge(self.interval, self.owner, self.priority, part);
                self.since_ns = self.interval_end_ns;
            }
            self.interval += 1;
            self.interval_end_ns = cuts.get(self.interval + 1).copied().unwrap_or(i64::MAX);
        }
        if time_ns > self.since_ns {
            let part = time_ns.saturating_sub(self.since_ns);
            charge(self.interval, self.owner, self.priority, part);
            self.since_ns = time_ns;
        }
    }
}

fn charge_switches(
    trace: &Trace,
    owners: &mut Owners,
    cuts: &[i64],
    mut charge: impl FnMut(usize, OwnerIndex, u8, i64),
) {
    let (Some(&begin), Some(&end), Some(recorded)) = (cuts.first(), cuts.last(), recorded(trace))
    else {
        return;
    };
    let (begin, end) = (begin.max(recorded.0), end.min(recorded.1));
    let interval = cuts.partition_point(|&cut| cut <= begin).saturating_sub(1);
    let mut running: Vec<Option<Running>> = Vec::new();
    for piece in trace.context_switches.pieces() {
        let rows = piece
            .time_ns
            .iter()
            .zip(&piece.cpu)
            .zip(piece.new_tid.iter().zip(&piece.old_tid))
            .zip(piece.new_priority.iter().zip(&piece.old_priority));
        for (((&time_ns, &cpu), (&new_tid, &old_tid)), (&new_priority, &old_priority)) in rows {
            let cpu = usize::from(cpu);
            if cpu >= running.len() {
                running.resize(cpu + 1, None);
            }
            let processor = running[cpu].get_or_insert_with(|| Running {
                owner: owners.at(old_tid, time_ns),
                priority: clamped(old_priority),
                since_ns: begin,
                interval,
                interval_end_ns: cuts.get(interval + 1).copied().unwrap_or(i64::MAX),
            });
            processor.charge_until(time_ns.min(end), cuts, &mut charge);
            processor.owner = owners.at(new_tid, time_ns);
            processor.priority = clamped(new_priority);
        }
    }
    for processor in running.iter_mut().flatten() {
        processor.charge_until(end, cuts, &mut charge);
    }
}

#[allow(clippy::cast_sign_loss, reason = "clamped to 0–31 before")]
fn clamped(priority: i8) -> u8 {
    priority.clamp(0, 31) as u8
}

/// Every sample stands for one sampling period; the period is the commonest distance between two samples of a processor.
fn charge_samples(
    trace: &Trace,
    owners: &mut Owners,
    cuts: &[i64],
    mut charge: impl FnMut(usize, OwnerIndex, u8, i64),
) {
    let (Some(&begin), Some(&end)) = (cuts.first(), cuts.last()) else {
        return;
    };
    let period_ns = sampling_period(trace);
    let mut interval = 0;
    for piece in trace.samples.pieces() {
        let rows = piece
            .time_ns
            .iter()
            .zip(&piece.tid)
            .zip(piece.count.iter().zip(&piece.source));
        for ((&time_ns, &tid), (&count, &source)) in rows {
            // Other sources count cache misses and the like, not time.
            if source != 0 {
                continue;
            }
            let (owner, base_priority) = owners.with_priority(tid, time_ns);
            if time_ns < begin || time_ns >= end {
                continue;
            }
            while cuts.get(interval + 1).is_some_and(|&cut| time_ns >= cut) {
                interval += 1;
            }
            charge(
                interval,
                owner,
                base_priority,
                period_ns.saturating_mul(i64::from(count.max(1))),
            );
        }
    }
}

/// The median distance between consecutive samples of one processor, ns, of the first few thousand; 1 ms, Windows'
/// default, when there are too few to tell.
fn sampling_period(trace: &Trace) -> i64 {
    const ENOUGH: usize = 8192;
    const DEFAULT_NS: i64 = 1_000_000;
    let mut last: Vec<Option<i64>> = Vec::new();
    let mut distances = Vec::new();
    for piece in trace.samples.pieces() {
        for ((&time_ns, &cpu), &source) in piece.time_ns.iter().zip(&piece.cpu).zip(&piece.source) {
            let cpu = usize::from(cpu);
            if source != 0 {
                continue;
            }
            if cpu >= last.len() {
                last.resize(cpu + 1, None);
            }
            if let Some(before) = last[cpu].replace(time_ns)
                && time_ns > before
            {
                distances.push(time_ns.saturating_sub(before));
            }
            if distances.len() >= ENOUGH {
                break;
            }
        }
    }
    distances.sort_unstable();
    distances
        .get(distances.len() / 2)
        .copied()
        .unwrap_or(DEFAULT_NS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{MS, process, switches, thread};
    use onoff_trace::{Sample, Samples};

    fn machine() -> Trace {
        let mut trace = Trace {
            duration_ns: 100 * MS,
            ..Trace::default()
        };
        trace.system.processors = 2;
        process(&mut trace, 100, r"\Device\Volume1\busy.exe", Some(0), None);
        process(&mut trace, 200, "lazy.exe", Some(0), None);
        thread(&mut trace, 8, 100, Some(0), None);
        thread(&mut trace, 12, 200, Some(0), None);
        trace
    }

    #[test]
    fn time_is_charged_to_the_running_thread_and_split_at_the_cuts() {
        let mut trace = machine();
        switches(
            &mut trace,
            &[
                (10 * MS, 0, 0, 8, 9),
                (30 * MS, 0, 8, 12, 4),
                (40 * MS, 0, 12, 0, 0),
                (50 * MS, 1, 8, 0, 0),
            ],
        );
        let usage = usage(&trace, &[0, 20 * MS, 100 * MS]);
        let first = &usage[0];
        // Processor 0: idle 10, busy.exe 10. Processor 1: thread 8 before its first switch, 20.
        assert_eq!(first.source, CpuSource::ContextSwitches);
        assert_eq!(first.capacity_ns, 40 * MS);
        assert_eq!(
            (first.busy_ns, first.idle_ns, first.unknown_ns),
            (30 * MS, 10 * MS, 0)
        );
        assert_eq!(first.by_process.len(), 1);
        assert_eq!(first.by_process[0].image, "busy.exe");
        assert!((first.by_process[0].percent - 75.0).abs() < 1e-9);
        let priorities: Vec<_> = first
            .by_priority
            .iter()
            .map(|row| (row.priority, row.cpu_ns))
            .collect();
        assert_eq!(priorities, [(9, 10 * MS), (8, 20 * MS)]);

        // Processor 0: busy.exe 10, lazy.exe 10, idle 60 to the end. Processor 1: thread 8 30, idle 50.
        let second = &usage[1];
        let processes: Vec<_> = second
            .by_process
            .iter()
            .map(|row| (row.image.as_str(), row.pid, row.cpu_ns))
            .collect();
        assert_eq!(
            processes,
            [
                ("busy.exe", Some(100), 40 * MS),
                ("lazy.exe", Some(200), 10 * MS)
            ]
        );
        assert_eq!(second.idle_ns, 110 * MS);
        assert_eq!(second.unknown_ns, 0);
    }

    #[test]
    fn a_processor_that_never_switches_is_unknown_and_an_unlisted_thread_has_no_process() {
        let mut trace = machine();
        switches(&mut trace, &[(10 * MS, 0, 0, 400, 8)]);
        let usage = usage(&trace, &[0, 30 * MS]);
        assert_eq!(usage[0].unknown_ns, 30 * MS);
        assert_eq!(usage[0].idle_ns, 10 * MS);
        assert_eq!(usage[0].by_process[0].pid, None);
        assert_eq!(usage[0].by_process[0].cpu_ns, 20 * MS);
    }

    #[test]
    fn time_that_goes_backwards_charges_nothing_twice() {
        let mut trace = machine();
        switches(
            &mut trace,
            &[
                (30 * MS, 0, 0, 8, 8),
                (20 * MS, 0, 8, 0, 0),
                (40 * MS, 0, 0, 8, 8),
            ],
        );
        let usage = usage(&trace, &[0, 50 * MS]);
        assert_eq!(usage[0].busy_ns + usage[0].idle_ns, 50 * MS);
    }

    #[test]
    fn pieces_and_events_outside_the_cuts_leave_no_gap() {
        let mut trace = machine();
        switches(&mut trace, &[(10 * MS, 0, 0, 8, 8)]);
        switches(&mut trace, &[(90 * MS, 0, 8, 0, 0)]);
        let usage = usage(&trace, &[20 * MS, 30 * MS, 30 * MS, 50 * MS]);
        let busy: Vec<_> = usage.iter().map(|interval| interval.busy_ns).collect();
        assert_eq!(busy, [10 * MS, 0, 20 * MS]);
    }

    #[test]
    fn nothing_is_said_where_switches_were_not_recorded() {
        let mut trace = machine();
        trace.duration_ns = 20_000 * MS;
        switches(
            &mut trace,
            &[
                (3000 * MS, 0, 8, 0, 0),
                (3000 * MS, 1, 0, 8, 8),
                (9000 * MS, 0, 0, 8, 8),
            ],
        );
        assert_eq!(recorded(&trace), Some((3000 * MS, 9000 * MS)));
        let usage = usage(&trace, &[0, 5000 * MS, 20_000 * MS]);
        let times = |usage: &CpuUsage| {
            (
                usage.busy_ns / MS,
                usage.idle_ns / MS,
                usage.unknown_ns / MS,
            )
        };
        assert_eq!(times(&usage[0]), (2000, 2000, 6000));
        assert_eq!(times(&usage[1]), (4000, 4000, 22_000));
    }

    #[test]
    fn samples_stand_for_a_period_each() {
        let mut trace = machine();
        let samples: Samples = (0..100)
            .map(|at| Sample {
                time_ns: at * MS,
                cpu: 0,
                tid: if at < 25 { 8 } else { 0 },
                address: 0,
                count: 1,
                source: 0,
            })
            .collect();
        trace.samples.push(samples);
        let usage = usage(&trace, &[0, 50 * MS, 100 * MS]);
        assert_eq!(usage[0].source, CpuSource::Samples);
        assert_eq!(usage[0].certainty, Certainty::Inferred);
        assert_eq!((usage[0].busy_ns, usage[0].idle_ns), (25 * MS, 75 * MS));
        assert_eq!((usage[1].busy_ns, usage[1].idle_ns), (0, 100 * MS));
    }

    #[test]
    fn nothing_recorded_is_missing() {
        let usage = usage(&machine(), &[0, 10 * MS]);
        assert_eq!(usage[0].source, CpuSource::None);
        assert_eq!(usage[0].certainty, Certainty::Missing);
        assert_eq!(usage[0].unknown_ns, 20 * MS);
    }
}
