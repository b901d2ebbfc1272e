//! The formats of xperf, so that scripts that read xperf's output keep working.
//!
//! Element, attribute and column names, their order, units and conventions are those of outputs that their owners posted
//! in public. Where nothing public shows a name, ours is listed in the book under "xperf's formats".

pub mod boot_xml;
pub mod dumper;
pub mod pnp_csv;
pub mod services_csv;
pub mod time_point;

/// Rounds to the nearest unit, as xperf does: a posted duration of 754 between 93 and 846 excludes truncation.
fn rounded(ns: i64, unit_ns: i64) -> i64 {
    let half = unit_ns / 2;
    if ns >= 0 {
        ns.saturating_add(half) / unit_ns
    } else {
        ns.saturating_sub(half) / unit_ns
    }
}

/// Milliseconds; -1 for what is not known or did not happen in the recording.
fn milliseconds(ns: Option<i64>) -> i64 {
    ns.map_or(-1, |ns| rounded(ns, 1_000_000))
}

/// Microseconds; -1 for what is not known or did not happen in the recording.
fn microseconds(ns: Option<i64>) -> i64 {
    ns.map_or(-1, |ns| rounded(ns, 1_000))
}
