//! `xperf -a tracestats`: events and bytes by provider, and losses. `xperf -a eventmetadata`: descriptions of event
//! types.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use onoff_trace::{CivilTime, Inventory, KindCount, Trace};
use onoff_usage::call_stacks::stacks_by_event;

use onoff_report::text::printable::printable;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceStatsOptions {
    /// Totals by provider and event type.
    pub detail: bool,
    /// Number of call stacks by event type, for event types with a table.
    pub stacks: bool,
    /// Times in UTC instead of the recorded computer's local time.
    pub utc: bool,
}

/// Writes the statistics. Details need a `trace` with the inventory table.
pub fn write(trace: &Trace, options: TraceStatsOptions, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Number of Processors : {}", trace.system.processors)?;
    let end_ns = trace.duration_ns;
    writeln!(out, "Start time{} : {}", time_zone_suffix(trace, options), time_text(trace, 0, options))?;
    writeln!(
        out,
        "End time{} : {} (+ {})",
        time_zone_suffix(trace, options),
        time_text(trace, end_ns, options),
        duration_text(end_ns)
    )?;
    for file in &trace.files {
        writeln!(out, "Trace : {} ({} bytes)", printable(&file.name), file.bytes)?;
    }
    writeln!(out, "# Lost Buffers : {}", trace.buffers_lost)?;
    writeln!(out, "# Lost Events : {}", trace.events_lost)?;
    writeln!(out, "Total # Lost Buffers : {}", trace.buffers_lost)?;
    writeln!(out, "Total # Lost Events  : {}", trace.events_lost)?;
    match (&trace.inventory, options.detail) {
        (Some(inventory), true) => {
            let stacks = options.stacks.then(|| stacks_by_event(trace));
            write_detail(inventory, stacks.as_ref(), out)
        }
        _ => Ok(()),
    }
}

fn time_zone_suffix(trace: &Trace, options: TraceStatsOptions) -> &'static str {
    if options.utc || trace.clock.utc_bias_minutes.is_none() { " (UTC)" } else { "" }
}

/// Formats a time as `yyyy/mm/dd:hh:mm:ss.fffffff`.
fn time_text(trace: &Trace, time_ns: i64, options: TraceStatsOptions) -> String {
    let bias = match options.utc {
        true => 0,
        false => i64::from(trace.clock.utc_bias_minutes.unwrap_or(0)),
    };
    let unix_ns =
        trace.clock.unix_ns(time_ns).and_then(|unix_ns| unix_ns.checked_sub(bias.checked_mul(60_000_000_000)?));
    let Some(unix_ns) = unix_ns else { return "unknown".to_owned() };
    let CivilTime { year, month, day, hour, minute, second, nanosecond } = CivilTime::from_unix_ns(unix_ns);
    format!("{year:04}/{month:02}/{day:02}:{hour:02}:{minute:02}:{second:02}.{:07}", nanosecond / 100)
}

/// Formats a duration as `d:hh:mm:ss.fffffff`.
fn duration_text(ns: i64) -> String {
    let ns = ns.max(0);
    let seconds = ns / 1_000_000_000;
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    format!("{days}:{hours:02}:{minutes:02}:{seconds:02}.{:07}", ns % 1_000_000_000 / 100)
}

fn write_detail(
    inventory: &Inventory,
    stacks: Option<&BTreeMap<&'static str, u64>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, "{:<38} {:>12} {:>14} Name", "Provider", "TotalCount", "TotalSize")?;
    writeln!(out, "    Type Level Version        Count           Size Name")?;
    writeln!(out, "      Id   Task Opcode Version Channel Level            Keyword        Count           Size Name")?;
    let mut names_with_count = BTreeSet::new();
    for provider in &inventory.providers {
        writeln!(
            out,
            "{:<38} {:>12} {:>14} {}",
            guid_in_braces(&provider.guid),
            provider.events,
            provider.bytes,
            printable(&provider.name)
        )?;
        let provider_kinds =
            inventory.kinds.iter().filter(|kind| kind.detail.guid == provider.guid && kind.provider == provider.name);
        for kind in provider_kinds {
            write_numbers(kind, out)?;
            // Scripts search for names followed by a blank.
            write!(out, " {:>12} {:>14} {} ", kind.events, kind.bytes, name(kind))?;
            // Stacks are counted by name, so only the first version of an event shows the count.
            let stack_count =
                stacks.and_then(|stacks| stacks.get(&*kind.name)).filter(|_| names_with_count.insert(&kind.name));
            match stack_count {
                Some(count) => writeln!(out, "{count}")?,
                None => writeln!(out)?,
            }
        }
    }
    Ok(())
}

/// Writes the numbers that identify an event type: type, level and version for kernel and class events, all numbers for
/// manifest events.
fn write_numbers(kind: &KindCount, out: &mut dyn Write) -> io::Result<()> {
    let detail = &kind.detail;
    match detail.numbers {
        Some(numbers) => write!(
            out,
            "  {:#06x} {:#06x}   {:#04x}    {:#04x}    {:#04x}  {:#04x} {:#18x}",
            number(kind),
            numbers.task,
            detail.opcode,
            kind.version,
            numbers.channel,
            detail.level,
            detail.keyword
        ),
        None => write!(out, "  {:#06x}  {:#04x}  {:#06x}", number(kind), detail.level, kind.version),
    }
}

fn guid_in_braces(guid: &str) -> String {
    if guid.is_empty() { "-".to_owned() } else { format!("{{{guid}}}") }
}

/// Returns the type of a kernel event without its group, or the id of another event.
fn number(kind: &KindCount) -> u32 {
    if is_kernel(kind) { kind.id & 0xff } else { kind.id }
}

/// True if the id is a hook. Kernel event classes have no keywords.
fn is_kernel(kind: &KindCount) -> bool {
    kind.id > 0xff && kind.id & 0xff == u32::from(kind.detail.opcode) && kind.detail.keyword == 0
}

/// Formats an event name as in published output: a special name for some kernel events, `Class: Event` for other kernel
/// events, and the full name for manifest events.
fn name(kind: &KindCount) -> String {
    let text = if is_kernel(kind) {
        match KERNEL_NAMES.iter().find(|(hook, _)| *hook == kind.id) {
            Some((_, name)) => (*name).to_owned(),
            None => format!("{}: {}", kind.provider, kind.name.rsplit('/').next().unwrap_or_default()),
        }
    } else {
        kind.name.clone()
    };
    printable(&text).into_owned()
}

/// Names of kernel events in statistics, by hook.
const KERNEL_NAMES: &[(u32, &str)] = &[
    (0x0301, "Process: Create"),
    (0x0302, "Process: Delete"),
    (0x0303, "Process: Start Rundown"),
    (0x0304, "Process: End Rundown"),
    (0x0320, "Process: PerfCounters: End"),
    (0x0321, "Process: PerfCounters: Rundown"),
    (0x0327, "Process: Zombie"),
    (0x0501, "Thread: Create"),
    (0x0502, "Thread: Delete"),
    (0x0503, "Thread: Start Rundown"),
    (0x0504, "Thread: End Rundown"),
    (0x0f22, "Mark"),
    (0x0f2e, "Sampled Profile"),
    (0x0f32, "Message Signaled Interrupt"),
    (0x0f33, "SysCall: Enter"),
    (0x0f34, "SysCall: Exit"),
    (0x0f43, "Interrupt"),
    (0x0f44, "Dpc"),
    (0x0f49, "Sampled Profile Freq: Start Rundown"),
    (0x0f4a, "Sampled Profile Freq: End Rundown"),
    (0x1820, "Stack Walk"),
];

/// Writes the names, numbers and fields of each event type, by provider.
pub fn write_metadata(inventory: &Inventory, out: &mut dyn Write) -> io::Result<()> {
    for provider in &inventory.providers {
        writeln!(out, "{} {}", guid_in_braces(&provider.guid), printable(&provider.name))?;
        let mut kinds: Vec<&KindCount> = inventory
            .kinds
            .iter()
            .filter(|kind| kind.detail.guid == provider.guid && kind.provider == provider.name)
            .collect();
        kinds.sort_by(|a, b| (a.id, a.version, &a.name).cmp(&(b.id, b.version, &b.name)));
        for kind in kinds {
            let detail = &kind.detail;
            writeln!(
                out,
                "  Id: {:#06x}, Version: {}, Level: {}, Opcode: {} ({}), Task: {}, Keyword: {:#018x}, Name: {}",
                number(kind),
                kind.version,
                detail.level,
                detail.opcode,
                text_or_dash(&detail.opcode_name),
                text_or_dash(&detail.task),
                detail.keyword,
                printable(&kind.name),
            )?;
            let fields: Vec<_> = detail.fields.iter().map(|field| printable(field)).collect();
            match detail.described {
                true => writeln!(out, "      Fields: {}", text_or_dash(&fields.join(", ")))?,
                false => writeln!(out, "      Fields: no description in the recording or the catalog")?,
            }
        }
    }
    Ok(())
}

fn text_or_dash(text: &str) -> std::borrow::Cow<'_, str> {
    if text.is_empty() { "-".into() } else { printable(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_durations_with_days() {
        assert_eq!(duration_text(5_123_456_700), "0:00:00:05.1234567");
        assert_eq!(duration_text(90_061_000_000_000), "1:01:01:01.0000000");
        assert_eq!(duration_text(-1), "0:00:00:00.0000000");
    }
}
