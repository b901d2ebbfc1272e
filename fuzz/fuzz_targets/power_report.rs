//! Power reports from arbitrary bytes: the reader finishes without a panic, and its lists are bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_power_report::{MAX_BLOCKERS, MAX_SESSIONS};

fuzz_target!(|bytes: &[u8]| {
    let _ = onoff_power_report::is_power_report(bytes);
    if let Ok(report) = onoff_power_report::read(bytes) {
        assert!(report.sessions.len() <= MAX_SESSIONS);
        for session in &report.sessions {
            assert!(session.duration_ns >= 0 && session.blockers.len() <= MAX_BLOCKERS);
        }
    }
});
