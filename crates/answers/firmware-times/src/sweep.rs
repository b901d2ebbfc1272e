//! Attributes time: every moment belongs to the work that started last and has not ended.

use super::pairing::WorkInterval;

/// The result of the sweep for one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// Time in which it was the innermost work, ns.
    pub(super) self_ns: i64,
    /// Part of `self_ns` inside the window, ns.
    pub(super) in_window_ns: i64,
    /// Number of intervals that were running at its start.
    pub(super) depth: u32,
    /// The innermost interval at its start.
    pub(super) parent: Option<usize>,
    /// Whether other work started inside it.
    pub(super) has_parts: bool,
}

/// An interval with the same innermost work.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnermostInterval {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    /// The innermost work; `None` if nothing ran.
    pub(super) innermost: Option<usize>,
    /// The work interval that starts or ends at its start, and whether it starts.
    pub(super) opened_by: Option<(usize, bool)>,
    /// The work interval that starts or ends at its end, and whether it starts.
    pub(super) closed_by: Option<(usize, bool)>,
}

/// Attributes time to `intervals`. `each` is called for every [`InnermostInterval`], clipped to the window.
///
/// Work of different kinds is not necessarily nested, so a plain stack of starts is not enough: ended work stays on the
/// stack until it is on top. Each interval is pushed and popped once.
pub(super) fn sweep(
    intervals: &[WorkInterval<'_>],
    window: (i64, i64),
    mut each: impl FnMut(InnermostInterval),
) -> Vec<Share> {
    let mut shares = vec![Share::default(); intervals.len()];
    // Order at the same time: ends, then starts, longest first. Intervals without length get no time but a depth and a
    // parent.
    let mut edges: Vec<(i64, bool, i64, usize)> = Vec::with_capacity(intervals.len() * 2);
    for (at, interval) in intervals.iter().enumerate() {
        edges.push((interval.start_ns, true, i64::MAX - interval.end_ns.max(0), at));
        if interval.end_ns > interval.start_ns {
            edges.push((interval.end_ns, false, 0, at));
        }
    }
    edges.sort();
    let mut stack: Vec<usize> = Vec::new();
    let mut ended = vec![false; intervals.len()];
    let mut running = 0_u32;
    let mut last: Option<(i64, usize, bool)> = None;
    let (from, to) = window;
    for (time_ns, begins, _, at) in edges {
        while stack.last().is_some_and(|&top| ended[top]) {
            stack.pop();
        }
        let innermost = stack.last().copied();
        let since = last.map_or(from, |(ns, ..)| ns);
        if let Some(top) = innermost {
            shares[top].self_ns += time_ns.saturating_sub(since);
        }
        let (start_ns, end_ns) = (since.max(from), time_ns.min(to));
        if end_ns > start_ns {
            if let Some(top) = innermost {
                shares[top].in_window_ns += end_ns - start_ns;
            }
            each(InnermostInterval {
                start_ns,
                end_ns,
                innermost,
                opened_by: last.filter(|&(ns, ..)| ns >= from).map(|(_, at, begins)| (at, begins)),
                closed_by: (time_ns <= to).then_some((at, begins)),
            });
        }
        last = Some((time_ns, at, begins));
        if begins {
            shares[at].depth = running;
            shares[at].parent = innermost;
            if let Some(top) = innermost {
                shares[top].has_parts = true;
            }
            if intervals[at].end_ns > intervals[at].start_ns {
                stack.push(at);
                running += 1;
            }
        } else {
            ended[at] = true;
            running -= 1;
        }
    }
    let since = last.map_or(from, |(ns, ..)| ns).max(from);
    if to > since {
        each(InnermostInterval {
            start_ns: since,
            end_ns: to,
            innermost: None,
            opened_by: last.map(|(_, at, begins)| (at, begins)),
            closed_by: None,
        });
    }
    shares
}
