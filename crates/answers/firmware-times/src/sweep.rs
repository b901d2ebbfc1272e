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
    /// True if other work started inside it.
    pub(super) has_parts: bool,
}

/// An interval with the same innermost work.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnermostInterval {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    /// The innermost work; `None` if nothing ran.
    pub(super) innermost: Option<usize>,
    /// The work interval that starts or ends where this interval starts, and true if it starts there.
    pub(super) opened_by: Option<(usize, bool)>,
    /// The work interval that starts or ends where this interval ends, and true if it starts there.
    pub(super) closed_by: Option<(usize, bool)>,
}

/// Attributes time to `intervals`. `on_interval` is called for every [`InnermostInterval`], clipped to the window.
///
/// Work of different kinds is not necessarily nested, so a plain stack of starts is not enough: ended work stays on the
/// stack until it is on top. Each interval is pushed and popped once.
pub(super) fn sweep(
    intervals: &[WorkInterval<'_>],
    window: (i64, i64),
    mut on_interval: impl FnMut(InnermostInterval),
) -> Vec<Share> {
    let mut shares = vec![Share::default(); intervals.len()];
    // Order at the same time: ends, then starts, longest first. Intervals without length get no time but a depth and a
    // parent.
    let mut edges: Vec<(i64, bool, i64, usize)> = Vec::with_capacity(intervals.len() * 2);
    for (index, interval) in intervals.iter().enumerate() {
        edges.push((interval.start_ns, true, i64::MAX - interval.end_ns.max(0), index));
        if interval.end_ns > interval.start_ns {
            edges.push((interval.end_ns, false, 0, index));
        }
    }
    edges.sort();
    let mut stack: Vec<usize> = Vec::new();
    let mut ended = vec![false; intervals.len()];
    let mut running = 0_u32;
    let mut last_edge: Option<(i64, usize, bool)> = None;
    let (window_start_ns, window_end_ns) = window;
    for (time_ns, is_start, _, index) in edges {
        while stack.last().is_some_and(|&top| ended[top]) {
            stack.pop();
        }
        let innermost = stack.last().copied();
        let since_ns = last_edge.map_or(window_start_ns, |(ns, ..)| ns);
        if let Some(top) = innermost {
            shares[top].self_ns += time_ns.saturating_sub(since_ns);
        }
        let (start_ns, end_ns) = (since_ns.max(window_start_ns), time_ns.min(window_end_ns));
        if end_ns > start_ns {
            if let Some(top) = innermost {
                shares[top].in_window_ns += end_ns - start_ns;
            }
            on_interval(InnermostInterval {
                start_ns,
                end_ns,
                innermost,
                opened_by: last_edge
                    .filter(|&(ns, ..)| ns >= window_start_ns)
                    .map(|(_, index, is_start)| (index, is_start)),
                closed_by: (time_ns <= window_end_ns).then_some((index, is_start)),
            });
        }
        last_edge = Some((time_ns, index, is_start));
        if is_start {
            shares[index].depth = running;
            shares[index].parent = innermost;
            if let Some(top) = innermost {
                shares[top].has_parts = true;
            }
            if intervals[index].end_ns > intervals[index].start_ns {
                stack.push(index);
                running += 1;
            }
        } else {
            ended[index] = true;
            running -= 1;
        }
    }
    let since_ns = last_edge.map_or(window_start_ns, |(ns, ..)| ns).max(window_start_ns);
    if window_end_ns > since_ns {
        on_interval(InnermostInterval {
            start_ns: since_ns,
            end_ns: window_end_ns,
            innermost: None,
            opened_by: last_edge.map(|(_, index, is_start)| (index, is_start)),
            closed_by: None,
        });
    }
    shares
}
