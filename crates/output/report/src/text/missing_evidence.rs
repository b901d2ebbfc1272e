//! What was not recorded, and how to record it next time.

use std::io::{self, Write};

use onoff_evidence::missing_evidence::{LinuxSource, MissingEvidence, RecordingCommand};
use onoff_transitions::MissingSource;

use super::style::QUIET;
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

/// Writes what was not recorded; nothing if nothing is missing.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(missing: &MissingEvidence, out: &mut dyn Write) -> io::Result<()> {
    if missing.items.is_empty() {
        return Ok(());
    }
    section::text::write_all(&sections(missing), out)?;
    write_commands(&missing.record, out)
}

/// The sections with missing parts of Linux recordings and with missing events, without empty ones.
#[must_use]
pub fn sections(missing: &MissingEvidence) -> Vec<Section<'_>> {
    let (parts, events): (Vec<_>, Vec<_>) =
        missing.items.iter().partition(|item| item.unknown.linux_source().is_some());
    let title = "Not recorded";
    let first = if parts.is_empty() { title } else { "" };
    let sections = [
        Section::of("missing_parts", title, parts)
            .name("unknown", "unknown", 70, |item| Value::text(item.unknown.phrase()))
            .name("part", "would need", 60, |item| of_linux(item, |part| part.part))
            .name("record", "how to record it", 120, |item| of_linux(item, |part| part.record).styled(QUIET))
            .build(),
        Section::of("missing_events", first, events)
            .name("unknown", "unknown", 80, |item| Value::text(item.unknown.phrase()))
            .name("provider", "would need", 60, |item| match item.provider.as_str() {
                "" => Cell::shown(Value::Nothing, format!("kernel flags {}", item.kernel_flags.join("+"))),
                provider => Value::text(provider).into(),
            })
            .data("kernel_flags", |item| Value::Text(item.kernel_flags.join("+").into()))
            .name("keyword", "keywords", 20, |item| match item.keyword.as_str() {
                all @ "0xffffffffffffffff" => Cell::shown(Value::text(all), "all"),
                keyword => Value::text(keyword).into(),
            })
            .name("level", "level", 5, |item| {
                Value::of(Some(item.level).filter(|&level| level > 0), |level| Value::Id(level.into()))
            })
            .name("guid", "", 40, |item| match item.guid.as_str() {
                "" => Value::Nothing.into(),
                guid => Cell::shown(Value::text(guid), format!("{{{guid}}}")).styled(QUIET),
            })
            .build(),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect()
}

fn of_linux(item: &MissingSource, text: impl Fn(LinuxSource) -> &'static str) -> Value<'static> {
    Value::of(item.unknown.linux_source(), |part| Value::text(text(part)))
}

/// Writes the commands that record what is missing.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_commands(commands: &[RecordingCommand], out: &mut dyn Write) -> io::Result<()> {
    for command in commands {
        writeln!(out, "  {QUIET}With {}, {}:{QUIET:#}", command.tool, command.purpose)?;
        for line in &command.lines {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}
