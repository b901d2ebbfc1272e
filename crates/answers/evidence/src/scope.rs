//! What part of a recording a question is about: a range of time, and some of the processes.

use onoff_trace::{Pattern, Trace};

use crate::interval::Interval;

/// What part of a recording a question is about.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The time.
    pub range: Interval,
    /// The processes, any of these; all when empty.
    pub processes: Vec<Pattern>,
}

impl Scope {
    /// The whole of `trace`.
    #[must_use]
    pub fn whole(trace: &Trace) -> Self {
        Self {
            range: Interval { includes_end: true, ..Interval::new(trace.start_ns, trace.duration_ns) },
            processes: Vec::new(),
        }
    }

    /// The part of `trace` between two times, ns. What lies outside the recording is cut off; `None` when nothing is
    /// left.
    #[must_use]
    pub fn between(trace: &Trace, from_ns: i64, until_ns: i64) -> Option<Self> {
        let whole = Self::whole(trace);
        let range = Interval {
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
    fn processes_are_chosen_by_name_or_id() {
        let scope = Scope::whole(&recording()).of_processes(vec![Pattern::new("svc*.exe"), Pattern::new("4")]);
        assert!(scope.has_process(Some(900), "SvcHost.exe"));
        assert!(scope.has_process(Some(4), ""));
        assert!(!scope.has_process(None, "explorer.exe"));
        assert!(Scope::default().has_process(None, ""));
    }
}
