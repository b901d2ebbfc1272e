//! Computes how much of a finding's request time is on the critical path of a phase.

use hashbrown::HashMap;
use onoff_trace::{FileOperation, IoOrigin, StringId, Trace};

use super::findings::{FindingCode, IoFinding};
use onoff_blame::account::has_no_path;
use onoff_blame::waits::{TransitionPhase, Waits};
use onoff_evidence::scope::Scope;

/// Key of the requests to one file of a finding: (process, file, is write).
type RequestKey = (Option<u32>, StringId, bool);

/// The intervals of each thread in which it, or a thread that it waited for, was on a critical path; sorted, without
/// overlap.
#[derive(Debug, Default)]
struct PathIntervals {
    intervals: HashMap<u32, Vec<(i64, i64)>>,
}

impl PathIntervals {
    /// Computes the paths of `phases`; `None` if no path is known in any of them.
    fn new(waits: &Waits<'_>, phases: &[TransitionPhase]) -> Option<Self> {
        let mut phases: Vec<&TransitionPhase> = phases.iter().filter(|phase| !has_no_path(&phase.name)).collect();
        phases.sort_by_key(|phase| (phase.range.start_ns, phase.range.end_ns));
        let mut on_path = Self::default();
        let mut is_known = false;
        let mut done_ns = i64::MIN;
        for phase in phases {
            // Phases may overlap; each moment counts for one path only.
            let bounds = (phase.range.start_ns.max(done_ns), phase.range.end_ns);
            if bounds.0 >= bounds.1 || !waits.has_switches(bounds) {
                continue;
            }
            done_ns = bounds.1;
            let path = match waits.walk_units(phase) {
                Some((path, _)) => path,
                None => waits.walk_back(bounds, &waits.end_at(bounds.1)),
            };
            for step in &path.steps {
                let interval = (step.start_ns.max(bounds.0), step.end_ns.min(bounds.1));
                if interval.0 >= interval.1 {
                    continue;
                }
                is_known |= step.tid != 0;
                on_path.intervals.entry(step.tid).or_default().push(interval);
                // Threads that wait for the thread of a step are on the path with it.
                let mut waiter_index = step.waiter;
                while let Some(waiter) = path.waiters.get(waiter_index as usize) {
                    let waiting = (interval.0.max(waiter.from_ns), interval.1);
                    if waiting.0 < waiting.1 && waiter.tid != step.tid {
                        on_path.intervals.entry(waiter.tid).or_default().push(waiting);
                    }
                    waiter_index = waiter.waiter;
                }
            }
        }
        for intervals in on_path.intervals.values_mut() {
            merge(intervals);
        }
        is_known.then_some(on_path)
    }

    /// Returns the overlap of `requests` (sorted, without overlap) with the intervals of a thread, in ns.
    fn overlap_ns(&self, tid: u32, requests: &[(i64, i64)]) -> i64 {
        let Some(intervals) = self.intervals.get(&tid) else { return 0 };
        let mut next_interval = 0;
        let mut sum_ns = 0_i64;
        for &(start_ns, end_ns) in requests {
            while intervals.get(next_interval).is_some_and(|interval| interval.1 <= start_ns) {
                next_interval += 1;
            }
            for interval in intervals.iter().skip(next_interval).take_while(|interval| interval.0 < end_ns) {
                sum_ns = sum_ns.saturating_add(interval.1.min(end_ns).saturating_sub(interval.0.max(start_ns)).max(0));
            }
        }
        sum_ns
    }
}

/// Sorts intervals and joins those that overlap or touch.
fn merge(intervals: &mut Vec<(i64, i64)>) {
    intervals.sort_unstable();
    intervals.dedup_by(|next, previous| {
        let overlaps = next.0 <= previous.1;
        if overlaps {
            previous.1 = previous.1.max(next.1);
        }
        overlaps
    });
}

/// Sets the time on the critical path of one of `phases` for each finding. The time stays unknown without context
/// switches, without phases, or if the thread or the end of a request is unknown.
pub fn add_path_time(trace: &Trace, scope: &Scope, phases: &[TransitionPhase], findings: &mut [IoFinding]) {
    if findings.is_empty() || phases.is_empty() {
        return;
    }
    let waits = Waits::new(trace);
    let Some(on_path) = PathIntervals::new(&waits, phases) else { return };
    let keys = |finding: &IoFinding| -> Vec<RequestKey> {
        let is_write = finding.direction == "write";
        finding.recorded_files.iter().map(|&file| (finding.pid, file, is_write)).collect()
    };
    let mut requests: HashMap<RequestKey, Requests> =
        findings.iter().flat_map(keys).map(|key| (key, Requests::default())).collect();
    for io in trace.file_ios.iter() {
        let is_write = match io.operation {
            FileOperation::Read => false,
            FileOperation::Write | FileOperation::Flush => true,
            _ => continue,
        };
        if io.level != IoOrigin::Application || !scope.range.contains(io.start_ns) {
            continue;
        }
        let Some(intervals) = requests.get_mut(&(io.pid, io.file, is_write)) else { continue };
        match (io.tid, io.end_ns) {
            (Some(tid), Some(end_ns)) if io.operation == FileOperation::Flush => {
                intervals.flushes.entry(tid).or_default().push((io.start_ns, end_ns));
            }
            (Some(tid), Some(end_ns)) => intervals.transfers.entry(tid).or_default().push((io.start_ns, end_ns)),
            _ => intervals.has_unknown_ends = true,
        }
    }
    for intervals in requests.values_mut() {
        intervals.transfers.values_mut().chain(intervals.flushes.values_mut()).for_each(merge);
    }
    for finding in findings {
        let is_flush = finding.code == FindingCode::FlushAfterWrite;
        // A thread has one request at a time, so the times of several files add up.
        let times = keys(finding).into_iter().map(|key| {
            let intervals = requests.get(&key).filter(|intervals| !intervals.has_unknown_ends)?;
            let by_thread = if is_flush { &intervals.flushes } else { &intervals.transfers };
            Some(by_thread.iter().map(|(&tid, requests)| on_path.overlap_ns(tid, requests)).sum::<i64>())
        });
        finding.on_path_ns = times.sum();
    }
}

/// The request intervals of a file, by thread.
#[derive(Debug, Default)]
struct Requests {
    transfers: HashMap<u32, Vec<(i64, i64)>>,
    flushes: HashMap<u32, Vec<(i64, i64)>>,
    /// True if the end or the thread of a request is unknown.
    has_unknown_ends: bool,
}

#[cfg(test)]
mod tests {
    use onoff_trace::{FileIo, FileOperation, IoOrigin};

    use super::*;
    use crate::{IoOptions, analyze};
    use onoff_evidence::interval::Interval;
    use onoff_testkit::synthetic::{MS, process, ready_threads, switches_in_ms, thread};
    use onoff_transitions::TransitionKind;

    /// Returns a boot phase of 2 s on two processors. Thread 204 of b.exe wakes 104 of a.exe after 999 ms, and the
    /// phase ends with the work of 104; 304 of c.exe runs in parallel. Each thread reads 4 bytes every half
    /// millisecond, which takes a quarter of a millisecond: b.exe and c.exe all the time, a.exe while it runs.
    fn boot() -> (Trace, Vec<TransitionPhase>) {
        let mut trace = Trace { duration_ns: 2_010 * MS, ..Trace::default() };
        trace.system.processors = 2;
        for (pid, tid, image) in [(100, 104, "a.exe"), (200, 204, "b.exe"), (300, 304, "c.exe")] {
            process(&mut trace, pid, image, None, None);
            thread(&mut trace, tid, pid, None, None);
        }
        let rows = [
            (0, 0, 0, (0, 7), 104),
            (0, 1, 0, (0, 7), 304),
            (1, 0, 104, (5, 7), 204),
            (1_000, 0, 204, (5, 7), 104),
            (1_990, 1, 304, (5, 7), 0),
            (2_010, 0, 104, (5, 7), 0),
        ];
        switches_in_ms(&mut trace, &rows);
        ready_threads(&mut trace, &[(999 * MS, 104, 204)]);
        let file = trace.strings.intern("settings.dat");
        for index in 0..4000_i64 {
            for (pid, first_index) in [(100_u32, 2000), (200, 0), (300, 0)] {
                let start_ns = index * MS / 2;
                if index < first_index {
                    continue;
                }
                trace.file_ios.push(FileIo {
                    start_ns,
                    end_ns: Some(start_ns + MS / 4),
                    operation: FileOperation::Read,
                    pid: Some(pid),
                    tid: Some(pid + 4),
                    file,
                    offset: index.unsigned_abs() * 4,
                    size: 4,
                    level: IoOrigin::Application,
                    unbuffered: false,
                    status: Some(0),
                    irp: 0,
                    file_object: u64::from(pid),
                });
            }
        }
        let phase = TransitionPhase {
            transition: TransitionKind::Boot,
            name: "WinLogonInit".to_owned(),
            range: Interval::new(0, 2_000 * MS),
        };
        (trace, vec![phase])
    }

    fn small_request_findings(trace: &Trace, phases: &[TransitionPhase]) -> Vec<(String, Option<i64>)> {
        let scope = Scope::whole_recording(trace);
        let mut findings = analyze(trace, &scope, &IoOptions::default()).findings;
        add_path_time(trace, &scope, phases, &mut findings);
        let small = findings.into_iter().filter(|finding| finding.code == FindingCode::SmallRequests);
        let mut small: Vec<_> = small.map(|finding| (finding.process, finding.on_path_ns)).collect();
        small.sort();
        small
    }

    #[test]
    fn counts_only_time_on_path() {
        let (trace, phases) = boot();
        let [a, b, c] = &small_request_findings(&trace, &phases)[..] else { panic!() };
        assert_eq!(*a, ("a.exe".to_owned(), Some(500 * MS)));
        // Half of the second in which it ran and was waited for; its later reads blocked nothing.
        let b_ns = b.1.unwrap();
        assert!((498 * MS..=500 * MS).contains(&b_ns), "{b:?}");
        assert_eq!(*c, ("c.exe".to_owned(), Some(0)));
        // A phase that ends before a.exe reads.
        let shorter_phase = [TransitionPhase { range: Interval::new(0, 900 * MS), ..phases[0].clone() }];
        assert_eq!(small_request_findings(&trace, &shorter_phase)[0], ("a.exe".to_owned(), Some(0)));
    }

    #[test]
    fn path_time_is_unknown_without_path() {
        let (trace, phases) = boot();
        assert!(small_request_findings(&trace, &[]).iter().all(|finding| finding.1.is_none()));
        let post_boot = [TransitionPhase { name: "PostBoot".to_owned(), ..phases[0].clone() }];
        assert!(small_request_findings(&trace, &post_boot).iter().all(|finding| finding.1.is_none()));
        let mut without_switches = trace.clone();
        without_switches.context_switches = onoff_trace::Batches::default();
        assert!(small_request_findings(&without_switches, &phases).iter().all(|finding| finding.1.is_none()));
        // A request without a known end may have been on the path for any time.
        let mut with_unknown_end = trace;
        with_unknown_end.file_ios.end_ns.set(0, None);
        assert_eq!(small_request_findings(&with_unknown_end, &phases)[1], ("b.exe".to_owned(), None));
    }
}
