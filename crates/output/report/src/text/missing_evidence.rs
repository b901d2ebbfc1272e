//! What was not recorded, and how to record it next time.

use std::io::{self, Write};

use onoff_evidence::missing_evidence::{LinuxSource, MissingEvidence, RecordingCommand};
use onoff_transitions::MissingSource;

use super::style::QUIET;
use onoff_sections::section::{self, Cell, Section};
use onoff_sections::table::Value;

/// Writes what was not recorded. Writes nothing if nothing is missing.
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

/// Returns the sections with missing parts of Linux recordings and with missing events; empty sections are left out.
#[must_use]
pub fn sections(missing: &MissingEvidence) -> Vec<Section<'_>> {
    let (parts, events): (Vec<_>, Vec<_>) =
        missing.items.iter().partition(|item| item.unknown.linux_source().is_some());
    let title = "Not recorded";
    let events_title = if parts.is_empty() { title } else { "" };
    let sections = [
        Section::builder("missing_parts", title, parts)
            .name("unknown", "unknown", 70, |item| Value::text(item.unknown.phrase()))
            .name("part", "would need", 60, |item| linux_text(item, |part| part.part))
            .name("record", "how to record it", 120, |item| linux_text(item, |part| part.record).styled(QUIET))
            .build(),
        Section::builder("missing_events", events_title, events)
            .name("unknown", "unknown", 80, |item| Value::text(item.unknown.phrase()))
            .name("provider", "would need", 60, |item| match item.provider.as_str() {
                "" => Cell::with_display_text(Value::Nothing, format!("kernel flags {}", item.kernel_flags.join("+"))),
                provider => Value::text(provider).into(),
            })
            .data("kernel_flags", |item| Value::Text(item.kernel_flags.join("+").into()))
            .name("keyword", "keywords", 20, |item| match item.keyword.as_str() {
                all @ "0xffffffffffffffff" => Cell::with_display_text(Value::text(all), "all"),
                keyword => Value::text(keyword).into(),
            })
            .name("level", "level", 5, |item| {
                Value::from_option(Some(item.level).filter(|&level| level > 0), |level| Value::Id(level.into()))
            })
            .name("guid", "", 40, |item| match item.guid.as_str() {
                "" => Value::Nothing.into(),
                guid => Cell::with_display_text(Value::text(guid), format!("{{{guid}}}")).with_style(QUIET),
            })
            .build(),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect()
}

fn linux_text(item: &MissingSource, select: impl Fn(LinuxSource) -> &'static str) -> Value<'static> {
    Value::from_option(item.unknown.linux_source(), |source| Value::text(select(source)))
}

/// Writes the commands that record what is missing.
///
/// # Errors
/// Returns errors from `out`.
pub fn write_commands(commands: &[RecordingCommand], out: &mut dyn Write) -> io::Result<()> {
    for command in commands {
        writeln!(out, "  {QUIET}To record {}, use {}:{QUIET:#}", command.purpose, command.tool)?;
        for line in &command.lines {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}
