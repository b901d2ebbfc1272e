//! What part of a recording a question is about: a range of time, and some of the processes.

use onoff_trace::{Pattern, Trace};
use serde::Serialize;

/// A stretch of the recording's time: from its begin up to, not including, its end. The recording's last event, which
/// lies at the end of the whole, is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Range {
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Whether what happens at the very end is in.
    #[serde(skip)]
    includes_end: bool,
}

impl Range {
    /// From one time up to, not including, another, ns.
    #[must_use]
    pub const fn new(start_ns: i64, end_ns: i64) -> Self {
        Self { start_ns, end_ns, includes_end: false }
    }

    /// Length, ns; never negative.
    #[must_use]
    pub fn length_ns(self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns).max(0)
    }

    /// Whether `time_ns` lies in it.
    #[must_use]
    pub fn contains(self, time_ns: i64) -> bool {
        self.start_ns <= time_ns && self.is_before_end(time_ns)
    }

    fn is_before_end(self, time_ns: i64) -> bool {
        time_ns < self.end_ns || (self.includes_end && time_ns == self.end_ns)
    }

    /// Whether any of the time from `start_ns` to `end_ns` lies in it; a moment, when both are equal, when it does. Open
    /// ends reach beyond the recording.
    #[must_use]
    pub fn meets(self, start_ns: Option<i64>, end_ns: Option<i64>) -> bool {
        let starts_before = start_ns.is_none_or(|start| self.is_before_end(start));
        let ends_after = end_ns.is_none_or(|end| end > self.start_ns || start_ns == Some(self.start_ns));
        starts_before && ends_after
    }

    /// How much of the time from `start_ns` to `end_ns` lies in it, ns.
    #[must_use]
    pub fn overlap_ns(self, start_ns: i64, end_ns: i64) -> i64 {
        end_ns.min(self.end_ns).saturating_sub(start_ns.max(self.start_ns)).max(0)
    }
}

/// What part of a recording a question is about.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The time.
    pub range: Range,
    /// The processes, any of these; all when empty.
    pub processes: Vec<Pattern>,
}

impl Scope {
    /// The whole of `trace`.
    #[must_use]
    pub fn whole(trace: &Trace) -> Self {
        Self { range: Range { includes_end: true, ..Range::new(0, trace.duration_ns) }, processes: Vec::new() }
    }

    /// The part of `trace` between two times, ns. What lies outside the recording is cut off; `None` when nothing is
    /// left.
    #[must_use]
    pub fn between(trace: &Trace, from_ns: i64, until_ns: i64) -> Option<Self> {
        let whole = Self::whole(trace);
        let range = Range {
            start_ns: from_ns.max(whole.range.start_ns),
            end_ns: until_ns.min(whole.range.end_ns),
            includes_end: until_ns > whole.range.end_ns,
        };
        let holds_something = range.start_ns < range.end_ns || range.contains(range.start_ns);
        holds_something.then_some(Self { range, ..whole })
    }

    /// The same for these processes only.
    #[must_use]
    pub fn of_processes(self, processes: Vec<Pattern>) -> Self {
        Self { processes, ..self }
    }

    /// Whether a process with this id and image file name is asked for.
    #[must_use]
    pub fn has_process(&self, pid: Option<u32>, image: &str) -> bool {
        self.processes.is_empty()
            || self
                .processes
                .iter()
                .any(|pattern| pattern.matches(image) || pid.is_some_and(|pid| pattern.is_number(pid)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording() -> Trace {
        Trace { duration_ns: 100, ..Trace::default() }
    }

    #[test]
    fn a_range_is_cut_to_the_recording_and_never_empty() {
        let between = |from, until| {
            let range = Scope::between(&recording(), from, until)?.range;
            Some((range.start_ns, range.end_ns))
        };
        let range = |start_ns, end_ns| Some((start_ns, end_ns));
        assert_eq!(between(-5, 20), range(0, 20));
        assert_eq!(between(20, i64::MAX), range(20, 100));
        assert_eq!(between(100, 101), range(100, 100));
        assert_eq!(between(20, 20), None);
        assert_eq!(between(101, 200), None);
        assert!(Scope::whole(&recording()).range.contains(100));
        let cut = Scope::between(&recording(), 0, 100).unwrap();
        assert!(!cut.range.contains(100));
    }

    #[test]
    fn what_is_open_or_touches_the_range_meets_it() {
        let range = Range::new(10, 20);
        assert!(range.meets(None, None));
        assert!(range.meets(Some(19), None));
        assert!(!range.meets(Some(20), None));
        assert!(!range.meets(None, Some(10)));
        assert!(range.meets(Some(10), Some(10)));
        assert_eq!(range.overlap_ns(5, 12), 2);
        assert_eq!(range.overlap_ns(0, 5), 0);
        assert_eq!(range.overlap_ns(i64::MIN, i64::MAX), 10);
    }

    #[test]
    fn processes_are_chosen_by_name_or_id() {
        let scope = Scope::whole(&recording()).of_processes(vec![Pattern::new("svc*.exe"), Pattern::new("4")]);
        assert!(scope.has_process(Some(900), "SvcHost.exe"));
        assert!(scope.has_process(Some(4), ""));
        assert!(!scope.has_process(None, "explorer.exe"));
        assert!(Scope::default().has_process(None, ""));
    }
}
