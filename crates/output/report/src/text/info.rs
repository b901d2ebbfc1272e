//! The text report of `info`: the content of a recording.

use std::io::{self, Write};

use onoff_evidence::recording::RecordingSummary;
use onoff_trace::ClockConversion;

use super::losses;
use super::quantity::{count, counted, duration, size};
use super::style::{HEADLINE, QUIET};
use super::transition::session_name;
use onoff_sections::section::{self, Cell, Heading, Section};
use onoff_sections::table::Value;

/// Writes the summary.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(summary: &RecordingSummary, top: usize, out: &mut dyn Write) -> io::Result<()> {
    write_recording(summary, out)?;
    write_machine(summary, out)?;
    let lists = [providers(summary, top), kinds(summary, top)];
    section::text::write_all(lists.iter().filter(|list| !list.is_empty()), out)?;
    writeln!(out)?;
    losses::write(&summary.losses, out)
}

fn write_recording(summary: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
    let length = duration(summary.duration_ns.saturating_sub(summary.start_ns));
    // Their records are no events of a trace, and nothing says how many were overwritten.
    let are_event_logs = !summary.files.is_empty() && summary.files.iter().all(|file| file.content == "event log");
    match are_event_logs {
        true => writeln!(out, "{HEADLINE}Windows event logs of a boot, {length} long.{HEADLINE:#}")?,
        false => writeln!(
            out,
            "{HEADLINE}{} in {length}, recorded by {}.{HEADLINE:#}",
            counted(summary.events, "event"),
            session_name(&summary.recorder)
        )?,
    }
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |name: &str, text: String| rows.push((name.to_owned(), text));
    let folder = shared_folder(summary);
    if !folder.is_empty() {
        row("recording", folder.to_owned());
    }
    for file in &summary.files {
        let mut notes = vec![size(file.bytes)];
        if file.compressed {
            notes.push("compressed".to_owned());
        }
        if !file.finished {
            notes.push("not closed by the recorder".to_owned());
        }
        let content = if file.content.is_empty() { "file" } else { file.content };
        let is_below = |name: &&str| !folder.is_empty() && name.starts_with('/');
        let below = file.name.strip_prefix(folder).filter(is_below);
        let name = below.map_or(&*file.name, |name| name.trim_start_matches('/'));
        row(content, format!("{name} ({})", notes.join(", ")));
    }
    let unknown = || "not recorded".to_owned();
    row("start", summary.start_utc.clone().unwrap_or_else(unknown));
    row("last event", summary.end_utc.clone().unwrap_or_else(unknown));
    if !summary.clock.is_empty() {
        let rate = match summary.clock_ticks_per_second {
            0 => String::new(),
            ticks => format!(", {} ticks per second", count(ticks)),
        };
        row("clock", format!("{}{rate}", summary.clock));
    }
    for conversion in &summary.clock_conversions {
        row(&format!("clock of {}", conversion.from), conversion_text(conversion));
    }
    let lost = format!("{}, {}", counted(summary.events_lost, "event"), counted(summary.buffers_lost, "buffer"));
    if !are_event_logs {
        row("lost while recording", lost);
    }
    section::text::write(&properties("recording", "", rows), out)
}

/// Builds a section of names and values.
fn properties(name: &'static str, title: &'static str, rows: Vec<(String, String)>) -> Section<'static> {
    Section::builder(name, title, rows)
        .name("property", "", 34, |row| Value::Text(row.0.clone().into()).styled(QUIET))
        .name("value", "", 120, |row| Value::Text(row.1.clone().into()))
        .build()
}

/// Returns the common folder or archive of all parts; empty if there is none or the files are separate recordings.
fn shared_folder(summary: &RecordingSummary) -> &str {
    let mut names = summary.files.iter().map(|file| file.name.rsplit_once('/').map_or("", |(folder, _)| folder));
    let are_parts = summary.files.iter().all(|file| !file.content.is_empty());
    let Some(first) = names.next().filter(|_| are_parts && summary.files.len() > 1) else { return "" };
    names.fold(first, |mut shared, name| {
        while !(name == shared || name.strip_prefix(shared).is_some_and(|suffix| suffix.starts_with('/'))) {
            shared = shared.rsplit_once('/').map_or("", |(folder, _)| folder);
            if shared.is_empty() {
                break;
            }
        }
        shared
    })
}

/// Says how the times of a clock were converted.
fn conversion_text(conversion: &ClockConversion) -> String {
    if conversion.pairs == 0 {
        return conversion.how.to_owned();
    }
    // For clocks that count from 1970, the offset is the start time, which is shown above.
    let offset = if conversion.offset_ns.unsigned_abs() < 1_000_000_000_000_000 {
        let sign = if conversion.offset_ns < 0 { '-' } else { '+' };
        let offset = i64::try_from(conversion.offset_ns.unsigned_abs()).unwrap_or(i64::MAX);
        format!("offset {sign}{}, ", duration(offset))
    } else {
        String::new()
    };
    format!(
        "{offset}spread {}, from {} ({})",
        duration(conversion.spread_ns),
        counted(conversion.pairs, "comparison"),
        conversion.how
    )
}

fn write_machine(summary: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
    let system = &summary.system;
    let mut rows = Vec::new();
    let mut row = |name: &str, text: String| {
        if !text.is_empty() {
            rows.push((name.to_owned(), text));
        }
    };
    let os = if summary.os.is_empty() { "Windows" } else { &summary.os };
    let build = if summary.os_build > 0 { format!("build {}", summary.os_build) } else { String::new() };
    let builds = joined(&[&build, &system.os_build_text]);
    let builds = if builds.is_empty() { builds } else { format!(" ({builds})") };
    let bits = if summary.pointer_bits > 0 { format!(", {}-bit", summary.pointer_bits) } else { String::new() };
    row("system", format!("{os}{builds}{bits}"));
    row("computer", joined(&[&system.computer, &system.model]));
    row("command line", system.kernel_command_line.clone());
    row("firmware", system.firmware.clone());
    let mut processors = counted(summary.processors.into(), "processor");
    if !system.processor_name.is_empty() {
        processors += &format!(", {}", system.processor_name);
    }
    if system.processor_mhz > 0 {
        processors += &format!(", {} MHz", system.processor_mhz);
    }
    if summary.processors > 0 {
        row("processors", processors);
    }
    row("memory", if system.memory_bytes > 0 { size(system.memory_bytes) } else { String::new() });
    for disk in &system.disks {
        row(&format!("disk {}", disk.number), joined(&[&disk.model, &size_if_recorded(disk.size_bytes)]));
    }
    for volume in &system.volumes {
        let name = if volume.drive.is_empty() { "volume" } else { &volume.drive };
        let place = format!("disk {}, partition {}", volume.disk, volume.partition);
        row(name, joined(&[&volume.file_system, &size_if_recorded(volume.size_bytes), &place, &volume.device_path]));
    }
    for adapter in &system.network_adapters {
        row("network", joined(&[&adapter.description, &adapter.physical_address, &adapter.addresses]));
    }
    for adapter in &system.display_adapters {
        let resolution = match (adapter.width, adapter.height) {
            (0, _) | (_, 0) => String::new(),
            (width, height) => format!("{width} × {height}"),
        };
        row("display", joined(&[&adapter.name, &resolution]));
    }
    row("sleep states", system.sleep_states.join(", "));
    for (item_name, number) in [("services", system.services.len()), ("devices", system.devices.len())] {
        row(item_name, if number > 0 { count(number as u64) } else { String::new() });
    }
    section::text::write(&properties("computer", "Machine", rows), out)
}

/// Formats a size; empty for zero, which means not recorded.
fn size_if_recorded(bytes: u64) -> String {
    if bytes > 0 { size(bytes) } else { String::new() }
}

fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(", ")
}

fn providers(summary: &RecordingSummary, top: usize) -> Section<'_> {
    Section::builder("providers", "Providers", &summary.providers)
        .note(shown_count(summary.providers.len(), top))
        .top(top)
        .quantity("events", "events", |provider| Value::Count(provider.events))
        .quantity("share_percent", "share", |provider| share_of(provider.events, summary.events))
        .column(Heading::quantity("bytes", "bytes").sparse(), |provider| Value::Bytes(provider.bytes))
        .name("name", "provider", 70, |provider| Value::text(&provider.name))
        .name("guid", "", 36, |provider| {
            // A provider without a name already shows its GUID in the name column.
            let guid = if provider.name == provider.guid { "" } else { &provider.guid };
            Cell::with_display_text(Value::text(&provider.guid), guid).with_style(QUIET)
        })
        .build()
}

fn kinds(summary: &RecordingSummary, top: usize) -> Section<'_> {
    Section::builder("events", "Events", &summary.kinds)
        .note(shown_count(summary.kinds.len(), top))
        .top(top)
        .quantity("events", "events", |kind| Value::Count(kind.events))
        .quantity("share_percent", "share", |kind| share_of(kind.events, summary.events))
        .column(Heading::quantity("bytes", "bytes").sparse(), |kind| Value::Bytes(kind.bytes))
        .name("name", "event", 90, |kind| Value::text(&kind.name))
        .name("provider", "", 60, |kind| {
            let provider = if kind.name.starts_with(&kind.provider) { "" } else { &kind.provider };
            Cell::with_display_text(Value::text(&kind.provider), provider).with_style(QUIET)
        })
        .build()
}

fn share_of(part: u64, total: u64) -> Value<'static> {
    if total == 0 { Value::Nothing } else { Value::Percent(part as f64 * 100.0 / total as f64) }
}

fn shown_count(total: usize, top: usize) -> String {
    match total > top {
        true => format!("{} of {}; use --top to show more", count(top as u64), count(total as u64)),
        false => count(total as u64),
    }
}
