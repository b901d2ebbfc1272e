//! xperf's text dump of events: a header block that names the columns, then one row per event in time order.
//!
//! Written as the events come. Two things differ from xperf's own, which reads a recording twice: names are those that
//! the events so far have told, and an event that has no layout in the first header block (any manifest event)
//! announces its columns in a header block of its own before its first row.

mod layout;
mod row;
mod text;

use std::io::{self, Write};

use hashbrown::HashMap;
use onoff_trace::{DescribedEvent, EventOrigin, StreamHeader};

use layout::{FRAME_TITLES, GROUP_MASK_TITLES, LAYOUTS, Layout, Rows, layout_of};
use row::Plan;

/// Days from the begin of Windows time, 1601-01-01, to 1970-01-01.
const DAYS_1601_TO_1970: i128 = 134_774;

/// Writes a dump.
#[derive(Debug, Default)]
pub struct Dumper {
    /// Events without a layout of their own whose columns have been announced: by name the ids, versions and numbers of
    /// fields, for providers may give different events one name.
    announced: HashMap<Box<str>, Vec<(u16, u16, usize)>>,
    /// By hook, version and number of fields, which are the same for events of the same fields.
    plans: HashMap<(u16, u16, usize), Option<Plan>>,
    line: String,
}

impl Dumper {
    /// A dump at its begin.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes the header block and the line about the recording.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn begin(&mut self, header: &StreamHeader, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "BeginHeader")?;
        writeln!(out, "FirstReliableEventTimeStamp, TimeStamp")?;
        writeln!(out, "FirstReliableCSwitchEventTimeStamp, TimeStamp")?;
        for layout in LAYOUTS {
            write_titles(layout, out)?;
        }
        writeln!(
            out,
            "{:>23},  TimeStamp,     Process Name ( PID),   ThreadID, CPU, Provider, Opcode, Level, Version, Size",
            row::UNKNOWN_CLASSIC
        )?;
        writeln!(out, "EndHeader")?;
        let (major, minor, build) = header.os_version;
        let length =
            header.duration_ns.map_or_else(|| "unknown".to_owned(), |ns| format!("{} sec", ns / 1_000_000_000));
        writeln!(
            out,
            "OS Version: {major}.{minor}.{build}, Trace Size: {}KB, Events Lost: {}, Buffers lost: {}, \
             Trace Start: {}, Trace Length: {length}, PointerSize: {}, Trace Name: {}",
            header.bytes / 1024,
            header.events_lost,
            header.buffers_lost,
            filetime(header.start_unix_ns),
            header.pointer_bytes,
            header.name,
        )?;
        let microseconds = |ns: i64| ns.div_euclid(1_000);
        writeln!(out, "FirstReliableEventTimeStamp, {}", microseconds(header.reliable_ns))?;
        writeln!(out, "FirstReliableCSwitchEventTimeStamp, {}", header.reliable_switches_ns.map_or(-1, microseconds))
    }

    /// Writes no header block but the titles of these events' columns, for a dump of nothing else.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn begin_with(&mut self, events: &[&str], out: &mut dyn Write) -> io::Result<()> {
        for layout in events.iter().filter_map(|name| layout_of(name)) {
            write_titles(layout, out)?;
        }
        Ok(())
    }

    /// Writes the rows of an event.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.line.clear();
        if let EventOrigin::Kernel { hook } = event.origin {
            let key = (hook, event.version, event.fields.len());
            let plan = self.plans.entry(key).or_insert_with(|| Some(Plan::new(layout_of(event.name)?, event)));
            if let Some(plan) = plan {
                row::with_layout(plan, event, &mut self.line);
                return out.write_all(self.line.as_bytes());
            }
        }
        match layout_of(event.name) {
            Some(layout) => row::with_layout(&Plan::new(layout, event), event, &mut self.line),
            None if !event.described && is_classic(event.origin) => {
                row::unknown(event, &mut self.line);
            }
            None => {
                let kind = (event.id, event.version, event.fields.len());
                let known = match self.announced.get_mut(event.name) {
                    Some(known) => known,
                    None => self.announced.entry(event.name.into()).or_default(),
                };
                if !known.contains(&kind) {
                    known.push(kind);
                    row::announcement(event, &mut self.line);
                }
                row::generic(event, &mut self.line);
            }
        }
        out.write_all(self.line.as_bytes())
    }
}

fn write_titles(layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{:>23},  TimeStamp", layout.name)?;
    match layout.rows {
        Rows::One(columns) => {
            for column in columns {
                write!(out, ", {}", column.title)?;
            }
            writeln!(out)
        }
        Rows::Frames => writeln!(out, ", {FRAME_TITLES}"),
        Rows::GroupMasks => writeln!(out, ", {GROUP_MASK_TITLES}"),
    }
}

/// Whether an event has no name of its own but a class and a number.
fn is_classic(origin: EventOrigin) -> bool {
    !matches!(origin, EventOrigin::Manifest | EventOrigin::TraceLogging | EventOrigin::Message)
}

/// Windows time: units of 100 ns since 1601-01-01; 0 when not known.
fn filetime(unix_ns: Option<i64>) -> i128 {
    unix_ns.map_or(0, |ns| i128::from(ns) / 100 + DAYS_1601_TO_1970 * 864_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_time_counts_from_1601() {
        assert_eq!(filetime(Some(0)), 116_444_736_000_000_000);
        assert_eq!(filetime(Some(1_623_095_069_034_714_200)), 132_675_686_690_347_142);
        assert_eq!(filetime(None), 0);
    }
}
