//! Standard output that the caller closed.
//!
//! The Rust runtime opens `/dev/null` for a closed standard output, so writes to it succeed. The program must check
//! before the runtime starts whether standard output is open, and report it here.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Records that standard output was closed when the program started.
pub fn set_stdout_closed() {
    IS_CLOSED.store(true, Ordering::Relaxed);
}

/// Call this before output is written to standard output.
///
/// # Errors
/// Standard output was closed when the program started.
pub fn check_stdout() -> io::Result<()> {
    match IS_CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::other("standard output is closed")),
        false => Ok(()),
    }
}
