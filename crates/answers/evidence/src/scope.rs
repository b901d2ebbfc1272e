//! Restricts an answer to an interval and to some of the processes.

use onoff_trace::{Pattern, Trace};

use crate::interval::Interval;

/// The part of a recording that an answer covers.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub range: Interval,
    /// Matches processes; all of them if empty.
    pub processes: Vec<Pattern>,
}

impl Scope {
    #[must_use]
    pub fn whole_recording(trace: &Trace) -> Self {
        Self {
            range: Interval { includes_end: true, ..Interval::new(trace.start_ns, trace.duration_ns) },
            processes: Vec::new(),
        }
    }

    /// Returns the part of `trace` between two times, ns, clipped to the recording. `None` if nothing is left.
    #[must_use]
    pub fn between(trace: &Trace, from_ns: i64, until_ns: i64) -> Option<Self> {
        let recording = Self::whole_recording(trace);
        let range = Interval {
            start_ns: from_ns.max(recording.range.start_ns),
            end_ns: until_ns.min(recording.range.end_ns),
            includes_end: until_ns > recording.range.end_ns,
        };
        let has_time = range.start_ns < range.end_ns || range.contains(range.start_ns);
        has_time.then_some(Self { range, ..recording })
    }

    /// Restricts the scope to these processes.
    #[must_use]
    pub fn with_processes(self, processes: Vec<Pattern>) -> Self {
        Self { processes, ..self }
    }

    /// True if a process with this id and image file name is included.
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
    fn ranges_are_clipped_to_the_recording() {
        let between = |from_ns, until_ns| {
            let range = Scope::between(&recording(), from_ns, until_ns)?.range;
            Some((range.start_ns, range.end_ns))
        };
        let range = |start_ns, end_ns| Some((start_ns, end_ns));
        assert_eq!(between(-5, 20), range(0, 20));
        assert_eq!(between(20, i64::MAX), range(20, 100));
        assert_eq!(between(100, 101), range(100, 100));
        assert_eq!(between(20, 20), None);
        assert_eq!(between(101, 200), None);
        assert!(Scope::whole_recording(&recording()).range.contains(100));
        let excluding_end = Scope::between(&recording(), 0, 100).unwrap();
        assert!(!excluding_end.range.contains(100));
    }

    #[test]
    fn processes_match_by_name_or_id() {
        let scope =
            Scope::whole_recording(&recording()).with_processes(vec![Pattern::new("svc*.exe"), Pattern::new("4")]);
        assert!(scope.has_process(Some(900), "SvcHost.exe"));
        assert!(scope.has_process(Some(4), ""));
        assert!(!scope.has_process(None, "explorer.exe"));
        assert!(Scope::default().has_process(None, ""));
    }
}
