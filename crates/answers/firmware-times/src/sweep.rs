//! Who the time belongs to: at each moment the work that began last and has not ended.

use super::pairing::Piece;

/// What the sweep tells of one piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// Time in which it was the innermost work, ns.
    pub(super) self_ns: i64,
    /// The same inside the window, ns.
    pub(super) in_window_ns: i64,
    /// Work that ran when it began.
    pub(super) depth: u32,
    /// The work inside which it began.
    pub(super) parent: Option<usize>,
    /// Whether work began inside it.
    pub(super) has_parts: bool,
}

/// A stretch in which the innermost work stayed the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    /// The innermost work; `None` when nothing ran.
    pub(super) innermost: Option<usize>,
    /// The piece whose begin or end is the stretch's begin, and whether it is the begin.
    pub(super) opened_by: Option<(usize, bool)>,
    /// The piece whose begin or end is the stretch's end, and whether it is the begin.
    pub(super) closed_by: Option<(usize, bool)>,
}

/// Shares the time among `pieces`; `each` gets every stretch inside the window, cut to it.
///
/// Work of different kinds need not be properly nested, so a stack of begins alone would not do: what ended stays on the
/// stack until it comes to the top. Each piece is pushed and popped once.
pub(super) fn sweep(pieces: &[Piece<'_>], window: (i64, i64), mut each: impl FnMut(Stretch)) -> Vec<Share> {
    let mut shares = vec![Share::default(); pieces.len()];
    // At one time: ends, then begins, the longest first. What has no length takes no part but for its place.
    let mut edges: Vec<(i64, bool, i64, usize)> = Vec::with_capacity(pieces.len() * 2);
    for (at, piece) in pieces.iter().enumerate() {
        edges.push((piece.start_ns, true, i64::MAX - piece.end_ns.max(0), at));
        if piece.end_ns > piece.start_ns {
            edges.push((piece.end_ns, false, 0, at));
        }
    }
    edges.sort();
    let mut stack: Vec<usize> = Vec::new();
    let mut ended = vec![false; pieces.len()];
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
            each(Stretch {
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
            if pieces[at].end_ns > pieces[at].start_ns {
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
        each(Stretch {
            start_ns: since,
            end_ns: to,
            innermost: None,
            opened_by: last.map(|(_, at, begins)| (at, begins)),
            closed_by: None,
        });
    }
    shares
}
