//! One process over time: its CPU and disk usage, and what each of its threads did. Built for a range on demand.

use hashbrown::HashMap;

use onoff_blame::waits::{ThreadActivity, ThreadInterval, Waits, WakeCause};
use onoff_evidence::Interval;
use onoff_trace::Trace;
use onoff_usage::cpu;
use onoff_usage::cpu::grid::interval_bounds;
use onoff_usage::owners::{Owners, file_name};
use onoff_usage::processes::Images;

use super::slices::{LaneSlice, SliceLane, Tone};
use super::utilization::UtilizationLane;
use super::{Lane, Track, TrackGroup};

/// Maximum number of threads with a track; those that ran longest in the range get one.
const MAX_THREADS: usize = 24;
/// Maximum number of intervals of one thread, to bound memory.
const MAX_INTERVALS: usize = 100_000;

/// The tracks of a process.
#[derive(Clone, Debug)]
pub struct ProcessTracks {
    /// Name with process id.
    pub name: String,
    /// Tracks, with the thread of each; CPU and disk usage belong to all threads.
    pub tracks: Vec<(Track, Option<u32>)>,
    /// Number of threads without a track.
    pub omitted_threads: usize,
}

/// Builds the tracks of the process that had id `pid` at `time_ns`, for `range` with `steps` steps.
#[must_use]
pub fn process_tracks(
    waits: &Waits<'_>,
    trace: &Trace,
    (pid, time_ns): (u32, i64),
    range: Interval,
    steps: u32,
) -> ProcessTracks {
    let image = Images::new(trace).image_at(pid, time_ns).map(file_name).unwrap_or_default();
    let name = if image.is_empty() { format!("process {pid}") } else { format!("{image} ({pid})") };
    let mut tracks: Vec<(Track, Option<u32>)> = Vec::new();
    let step_ns = (range.duration_ns() / i64::from(steps.max(1))).max(1);
    let mut thread_ns: HashMap<u32, i64> = HashMap::new();
    if let Some(cuts) = interval_bounds(range.start_ns, range.end_ns, step_ns) {
        let (busy, used_ns) = cpu_of(trace, pid, image, &cuts);
        tracks.extend(cpu_track(&name, busy, (range.start_ns, step_ns)).map(|track| (track, None)));
        thread_ns = used_ns;
        tracks.extend(disk_track(trace, pid, &name, &cuts, step_ns).map(|track| (track, None)));
    }
    let mut tids = waits.threads_of_process(pid);
    tids.sort_by_key(|tid| (std::cmp::Reverse(thread_ns.get(tid).copied().unwrap_or(0)), *tid));
    let mut threads: Vec<(Track, Option<u32>)> = Vec::new();
    let mut omitted_threads = 0;
    for tid in tids {
        if threads.len() >= MAX_THREADS {
            omitted_threads += 1;
            continue;
        }
        let states = waits.thread_states(tid, range);
        if !states.is_empty() {
            threads.push((thread_track(trace, tid, &states, range), Some(tid)));
        }
    }
    tracks.append(&mut threads);
    ProcessTracks { name, tracks, omitted_threads }
}

/// Returns the CPU time of a process between consecutive `cuts`, and of each of its threads.
fn cpu_of(trace: &Trace, pid: u32, image: &str, cuts: &[i64]) -> (Vec<i64>, HashMap<u32, i64>) {
    let mut owners = Owners::from_trace(trace);
    // The id can belong to several processes in turn.
    let is_process: Vec<bool> = owners
        .list()
        .iter()
        .map(|owner| owner.pid == Some(pid) && (image.is_empty() || file_name(trace.text(owner.image)) == image))
        .collect();
    let mut busy = vec![0_i64; cuts.len().saturating_sub(1)];
    let mut threads: HashMap<u32, i64> = HashMap::new();
    cpu::charge(trace, &mut owners, cuts, |run| {
        if is_process.get(run.owner as usize) == Some(&true) {
            if let Some(sum) = busy.get_mut(run.interval) {
                *sum = sum.saturating_add(run.ns);
            }
            let sum = threads.entry(run.tid).or_default();
            *sum = sum.saturating_add(run.ns);
        }
    });
    (busy, threads)
}

/// Builds the CPU usage, scaled to the number of processors that the process used at once.
fn cpu_track(name: &str, busy: Vec<i64>, (start_ns, step_ns): (i64, i64)) -> Option<Track> {
    let most_ns = busy.iter().copied().max().filter(|&ns| ns > 0)?;
    let scale = most_ns.saturating_sub(1) / step_ns + 1;
    let unit = if scale == 1 { "1 processor".to_owned() } else { format!("{scale} processors") };
    Some(Track {
        group: TrackGroup::Processes,
        section: String::new(),
        name: "CPU".to_owned(),
        note: format!("CPU time of {name}; full height: {unit}"),
        lane: Lane::Utilization(UtilizationLane::new(start_ns, step_ns, busy.into_iter().map(|ns| (ns / scale, 0)))),
    })
}

/// Builds the share of time in which a disk worked on a request of the process.
fn disk_track(trace: &Trace, pid: u32, name: &str, cuts: &[i64], step_ns: i64) -> Option<Track> {
    let (start_ns, end_ns) = cuts.first().copied().zip(cuts.last().copied())?;
    let requests = trace.disk_ios.iter().filter(|request| request.pid == Some(pid));
    let mut served: Vec<(i64, i64)> = requests
        .map(|request| (request.complete_ns.saturating_sub(request.service_ns.max(0)), request.complete_ns))
        .filter(|&(from_ns, to_ns)| from_ns < end_ns && to_ns > start_ns)
        .collect();
    if served.is_empty() {
        return None;
    }
    served.sort_unstable();
    let mut busy = vec![0_i64; cuts.len().saturating_sub(1)];
    let mut covered_ns = start_ns;
    for (from_ns, to_ns) in served {
        let mut at_ns = from_ns.max(covered_ns);
        let to_ns = to_ns.min(end_ns);
        while at_ns < to_ns {
            let index = usize::try_from(at_ns.saturating_sub(start_ns) / step_ns).unwrap_or(usize::MAX);
            let Some((sum, &cut_ns)) = busy.get_mut(index).zip(cuts.get(index.saturating_add(1))) else { break };
            let next_ns = cut_ns.min(to_ns);
            *sum = sum.saturating_add(next_ns.saturating_sub(at_ns));
            at_ns = next_ns;
        }
        covered_ns = covered_ns.max(to_ns);
    }
    Some(Track {
        group: TrackGroup::Processes,
        section: String::new(),
        name: "Disks".to_owned(),
        note: format!("share of time a disk worked on requests of {name}"),
        lane: Lane::Utilization(UtilizationLane::new(start_ns, step_ns, busy.into_iter().map(|ns| (ns, 0)))),
    })
}

fn thread_track(trace: &Trace, tid: u32, states: &[ThreadInterval], range: Interval) -> Track {
    let slices = states.iter().take(MAX_INTERVALS).map(|state| {
        let (label, tone) = activity(trace, state);
        LaneSlice::new(state.start_ns, state.end_ns.unwrap_or(trace.duration_ns), label, tone).with_thread(Some(tid))
    });
    let name = states
        .iter()
        .find_map(|state| trace.lifetimes().thread(tid, state.start_ns.max(range.start_ns)))
        .and_then(|thread| trace.threads.name.get(thread.row()))
        .map_or("", |&name| trace.text(name));
    Track {
        group: TrackGroup::Processes,
        section: String::new(),
        name: if name.is_empty() { format!("thread {tid}") } else { format!("thread {tid} ({name})") },
        note: String::new(),
        lane: Lane::Slices(SliceLane::new(slices.collect())),
    }
}

/// Returns the label and tone of what a thread did.
fn activity(trace: &Trace, state: &ThreadInterval) -> (String, Tone) {
    let cause = match state.activity {
        ThreadActivity::Ran => return ("ran".to_owned(), Tone::Ran),
        ThreadActivity::Ready => return ("was ready".to_owned(), Tone::Ready),
        ThreadActivity::Waited { cause, .. } => cause,
    };
    let of = |name: &str| if name.is_empty() { String::new() } else { format!(" of {name}") };
    match cause {
        WakeCause::Thread(other) => (format!("waited for thread {other}"), Tone::Thread),
        WakeCause::Disk(row) => {
            let file = trace.disk_ios.file.get(row as usize).copied().unwrap_or_default();
            let file = file_name(trace.text(file));
            let target = if file.is_empty() { String::new() } else { format!(": {file}") };
            (format!("waited for a disk{target}"), Tone::Disk)
        }
        WakeCause::Timer(driver) => (format!("waited for a timer{}", of(file_name(trace.text(driver)))), Tone::Timer),
        WakeCause::Device(driver) => {
            (format!("waited for a device{}", of(file_name(trace.text(driver)))), Tone::Interrupt)
        }
        WakeCause::Unknown => ("waited, cause not known".to_owned(), Tone::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{self, MS};

    /// Two threads of one process run at the same time from 10 to 20 ms; another process runs all the time.
    fn trace() -> Trace {
        let mut trace = Trace { duration_ns: 100 * MS, ..Trace::default() };
        trace.system.processors = 3;
        synthetic::process(&mut trace, 7, "work.exe", Some(0), None);
        synthetic::process(&mut trace, 8, "decoy.exe", Some(0), None);
        for (tid, pid) in [(70, 7), (71, 7), (80, 8)] {
            synthetic::thread(&mut trace, tid, pid, Some(0), None);
        }
        synthetic::switches_in_ms(
            &mut trace,
            &[
                (0, 2, 0, (2, 0), 80),
                (10, 0, 0, (2, 0), 70),
                (10, 1, 0, (2, 0), 71),
                (20, 0, 70, (5, 4), 0),
                (20, 1, 71, (5, 0), 0),
                (60, 0, 0, (2, 0), 70),
                (65, 0, 70, (5, 4), 0),
            ],
        );
        trace
    }

    fn names(found: &ProcessTracks) -> Vec<&str> {
        found.tracks.iter().map(|(track, _)| track.name.as_str()).collect()
    }

    #[test]
    fn shows_cpu_and_threads_of_one_process() {
        let trace = trace();
        let found = process_tracks(&Waits::new(&trace), &trace, (7, 50 * MS), Interval::new(0, 100 * MS), 10);
        assert_eq!((found.name.as_str(), names(&found)), ("work.exe (7)", vec!["CPU", "thread 70", "thread 71"]));
        assert!(found.tracks[0].0.note.ends_with("full height: 2 processors"), "{}", found.tracks[0].0.note);
        let Lane::Utilization(cpu) = &found.tracks[0].0.lane else { panic!("no utilization") };
        assert_eq!(cpu.draw(0, 100 * MS, 10).busy, [0, 255, 0, 0, 0, 0, 63, 0, 0, 0]);
        let Lane::Slices(thread) = &found.tracks[1].0.lane else { panic!("no intervals") };
        let tones: Vec<Tone> = thread.slice_rows().flatten().map(|(.., tone)| tone).collect();
        assert_eq!(tones, [Tone::Ran, Tone::Timer, Tone::Ran, Tone::Unknown]);
    }

    #[test]
    fn shows_nothing_outside_the_range_or_for_an_unknown_process() {
        let trace = trace();
        let waits = Waits::new(&trace);
        let before = process_tracks(&waits, &trace, (7, 0), Interval::new(0, 5 * MS), 10);
        assert!(names(&before).is_empty(), "{:?}", names(&before));
        assert!(process_tracks(&waits, &trace, (99, 0), Interval::new(0, 100 * MS), 10).tracks.is_empty());
    }
}
