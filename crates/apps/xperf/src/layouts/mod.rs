//! xperf's output formats, for scripts that parse xperf's output.
//!
//! Names of elements, attributes and columns, their order, units and conventions follow output of xperf that was
//! published on the web. Names that no published output shows are onoff's, listed in the book under "xperf's formats".

pub mod boot_prefetch;
pub mod boot_xml;
pub mod cpudisk;
pub mod cswitch;
pub mod diskidlehistogram;
pub mod diskio;
pub mod dpcisr;
pub mod driver_delays;
pub mod dumper;
pub mod filename;
pub mod hardfault;
pub mod hardware_counters;
pub mod image;
mod interval_xml;
pub mod marks;
pub mod memory;
pub mod pagefault;
pub mod pnp_csv;
pub mod process;
pub mod process_name;
pub mod profile;
pub mod provider_reports;
pub mod registry;
pub mod services_csv;
pub mod shutdown_xml;
pub mod spin_locks;
pub mod stack;
pub mod suspend_xml;
pub mod sysconfig;
pub mod time_unit;
pub mod trace_stats;
pub mod utilization;

/// Rounds to the nearest unit, as xperf does in most places. Published durations of 754 ms between 93 and 846, and of
/// 19 ms between 47039 and 47057, rule out truncation.
fn rounded(ns: i64, unit_ns: i64) -> i64 {
    let half = unit_ns / 2;
    if ns >= 0 { ns.saturating_add(half) / unit_ns } else { ns.saturating_sub(half) / unit_ns }
}

/// Converts to milliseconds, rounded; -1 if unknown or outside the recording.
fn milliseconds(ns: Option<i64>) -> i64 {
    ns.map_or(-1, |ns| rounded(ns, 1_000_000))
}

/// Converts to milliseconds, truncated, as xperf does for services in the boot XML: a published row from 9247 through
/// 9295 to 9313 with durations 47 and 17 rules out rounding. -1 if unknown or outside the recording.
fn truncated_milliseconds(ns: Option<i64>) -> i64 {
    ns.map_or(-1, |ns| ns / 1_000_000)
}

/// Converts to microseconds; -1 if unknown or outside the recording.
fn microseconds(ns: Option<i64>) -> i64 {
    ns.map_or(-1, truncated_microseconds)
}

/// Converts to microseconds, truncated as xperf does, so that a time is the same in every action.
fn truncated_microseconds(ns: i64) -> i64 {
    ns.div_euclid(1_000)
}

/// Formats `name.exe (PID)` like xperf: the name right-aligned to 16 characters, the id to four.
fn process_cell(image: &str, pid: Option<u32>) -> String {
    let image = if image.is_empty() { "Unknown".into() } else { onoff_report::text::printable::printable(image) };
    let pid = pid.map_or(-1, i64::from);
    format!("{image:>16} ({pid:>4})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_and_truncation_match_published_rows() {
        // BootStart in a published summary: from 93 to 846, duration 754.
        let (start, end) = (92_600_000, 846_300_000);
        assert_eq!(milliseconds(Some(start)), 93);
        assert_eq!(milliseconds(Some(end)), 846);
        assert_eq!(milliseconds(Some(end - start)), 754);
        // RpcEptMapper in the Windows Embedded Standard 7 paper: 9247, 9295 and 9313 with durations 47, 17 and 65.
        let (start, checkpoint, end) = (9_247_900_000, 9_295_200_000, 9_313_100_000);
        let truncated = |ns| truncated_milliseconds(Some(ns));
        assert_eq!((truncated(start), truncated(checkpoint), truncated(end)), (9247, 9295, 9313));
        assert_eq!((truncated(checkpoint - start), truncated(end - checkpoint), truncated(end - start)), (47, 17, 65));
        assert_eq!(milliseconds(None), -1);
        assert_eq!(milliseconds(Some(-1_600_000)), -2);
        assert_eq!(microseconds(Some(1_999)), 1);
    }
}
