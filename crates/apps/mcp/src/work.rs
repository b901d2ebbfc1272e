//! The state of a running call: its progress, and whether the client cancelled it.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A running call, shared by the server and the reader of the recording.
#[derive(Debug, Default)]
pub struct Work {
    is_cancelled: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

/// The payload with which a cancelled call unwinds.
struct Cancelled;

impl Work {
    /// Ends the call at its next report.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Records how much of the work is done, in any unit. Unwinds without a message if the call was cancelled, which
    /// ends the work wherever it is.
    pub fn report(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        if self.is_cancelled() {
            resume_unwind(Box::new(Cancelled));
        }
    }

    /// Returns the last report: how much is done, and the total; `None` before the first.
    #[must_use]
    pub fn progress(&self) -> Option<(u64, u64)> {
        let total = self.total.load(Ordering::Relaxed);
        (total > 0).then(|| (self.done.load(Ordering::Relaxed).min(total), total))
    }
}
