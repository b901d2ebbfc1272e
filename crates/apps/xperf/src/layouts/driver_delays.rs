//! `xperf -a drvdelay`: time that drivers spent on requests.

use std::io::{self, Write};

use crate::event_analyses::driver_calls::DriverCalls;

use super::microseconds;
use super::process_name::ProcessName;
use onoff_report::text::printable::printable;

/// Writes the totals by driver, then the calls.
pub fn write(answer: &DriverCalls, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "     Calls,  Time (us),   Max (us), Driver")?;
    for (driver, lengths) in &answer.drivers {
        writeln!(
            out,
            "{:>10}, {:>10}, {:>10}, {}",
            lengths.count,
            microseconds(Some(lengths.total_ns)),
            microseconds(Some(lengths.max_ns)),
            name(driver)
        )?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "StartTime ,    EndTime,      Delay,     Process Name ( PID), Major, Minor, Image!Function, FileName"
    )?;
    for call in &answer.calls {
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
    if answer.unfinished > 0 {
        writeln!(out, "\nCalls that did not return in the recording: {}", answer.unfinished)?;
    }
    if answer.omitted > 0 {
        writeln!(out, "\nCalls beyond the number that is kept: {}", answer.omitted)?;
    }
    Ok(())
}

fn name(driver: &str) -> std::borrow::Cow<'_, str> {
    if driver.is_empty() { "Unknown".into() } else { printable(driver) }
}
