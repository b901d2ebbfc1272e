//! `xperf -a drvdelay`: time that drivers spent on requests.

use std::io::{self, Write};

use crate::event_analyses::driver_calls::DriverCalls;

use super::microseconds;
use super::process_name::ProcessName;
use onoff_report::text::printable::printable;

/// Writes the totals by driver, then the calls.
pub fn write(driver_calls: &DriverCalls, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "     Calls,  Time (us),   Max (us), Driver")?;
    for (driver, durations) in &driver_calls.drivers {
        writeln!(
            out,
            "{:>10}, {:>10}, {:>10}, {}",
            durations.count,
            microseconds(Some(durations.total_ns)),
            microseconds(Some(durations.max_ns)),
            name(driver)
        )?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "StartTime ,    EndTime,      Delay,     Process Name ( PID), Major, Minor, Image!Function, FileName"
    )?;
    for call in &driver_calls.calls {
        writeln!(
            out,
            "{:>10}, {:>10}, {:>10}, {}, {:>5}, {:>5}, {}!{:#x}, \"{}\"",
            microseconds(Some(call.start_ns)),
            microseconds(Some(call.end_ns)),
            microseconds(Some(call.end_ns.saturating_sub(call.start_ns))),
            ProcessName(Some(&call.process.image), call.process.pid),
            call.major,
            call.minor,
            name(&call.driver),
            call.routine,
            printable(&call.file)
        )?;
    }
    if driver_calls.unfinished > 0 {
        writeln!(out, "\nCalls without a return in the recording: {}", driver_calls.unfinished)?;
    }
    if driver_calls.omitted > 0 {
        writeln!(out, "\nCalls omitted (limit reached): {}", driver_calls.omitted)?;
    }
    Ok(())
}

fn name(driver: &str) -> std::borrow::Cow<'_, str> {
    if driver.is_empty() { "Unknown".into() } else { printable(driver) }
}
