//! What the recording lacked, and what to record next time.

use std::io::{self, Write};

use onoff_analysis::lacking::{Lacking, RecordingCommand};
use onoff_analysis::transition::MissingEvidence;

use super::section::title;
use super::style::QUIET;
use super::table::{Table, cell, styled_cell};

/// Writes what was lacking; nothing when nothing was.
///
/// # Errors
/// What `out` answers.
pub fn write(lacking: &Lacking, out: &mut dyn Write) -> io::Result<()> {
    if lacking.items.is_empty() {
        return Ok(());
    }
    title("What the recording lacked", "", out)?;
    let (parts, events): (Vec<_>, Vec<_>) = lacking.items.iter().partition(|item| !item.part.is_empty());
    if !parts.is_empty() {
        let mut table = Table::new().left("to know", 70).left("needs", 60).left("record", 120);
        for item in parts {
            table.row([cell(&*item.unknown), cell(&*item.part), styled_cell(QUIET, &*item.record)]);
        }
        table.write(out)?;
    }
    if !events.is_empty() {
        let mut table =
            Table::new().left("to know", 80).left("record", 60).left("keywords", 20).left("level", 5).left("", 40);
        for item in events {
            let [source, keywords, level, guid] = source(item);
            table.row([cell(&*item.unknown), cell(source), cell(keywords), cell(level), styled_cell(QUIET, guid)]);
        }
        table.write(out)?;
    }
    write_commands(&lacking.record, out)
}

/// Writes how to record what was lacking.
///
/// # Errors
/// What `out` answers.
pub fn write_commands(commands: &[RecordingCommand], out: &mut dyn Write) -> io::Result<()> {
    for command in commands {
        writeln!(out, "  {QUIET}With {}, {}:{QUIET:#}", command.tool, command.purpose)?;
        for line in &command.lines {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

/// Source, keywords, level, GUID.
fn source(item: &MissingEvidence) -> [String; 4] {
    if item.provider.is_empty() {
        let flags = item.kernel_flags.join("+");
        return [format!("kernel flags {flags}"), String::new(), String::new(), String::new()];
    }
    let keywords = match item.keyword.as_str() {
        "0xffffffffffffffff" => "all".to_owned(),
        keyword => keyword.to_owned(),
    };
    [item.provider.clone(), keywords, item.level.to_string(), format!("{{{}}}", item.guid)]
}
