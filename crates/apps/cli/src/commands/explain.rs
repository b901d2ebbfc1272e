//! `onoff explain`.

use onoff_report::text;
use onoff_report::text::style::{HEADLINE, QUIET};
use onoff_sections::glossary::{columns, find, suggestions};

use crate::failure::Failure;
use crate::output::Destination;

const MAX_SUGGESTIONS: usize = 8;

/// Explains a term; without one, lists all terms.
pub fn run(words: &[String], destination: &Destination) -> Result<(), Failure> {
    if words.is_empty() {
        return list(destination);
    }
    let word = &*words.join(" ");
    if let Some(rule) = onoff_findings::find(word) {
        return destination.write(|out| Ok(text::diagnose::explain(rule, out)?));
    }
    let entries = find(word);
    let columns = columns(word);
    if entries.is_empty() && columns.is_empty() {
        return Err(Failure::NoData(unknown_term(word)));
    }
    destination.write(|out| {
        for entry in entries {
            writeln!(out, "{HEADLINE}{}{HEADLINE:#}: {}", entry.term, entry.meaning)?;
        }
        for column in columns {
            let table = column.table.name.as_str();
            writeln!(
                out,
                "{HEADLINE}{}{HEADLINE:#} {QUIET}(table {table}){QUIET:#}: {}",
                column.column, column.meaning
            )?;
        }
        Ok(())
    })
}

fn unknown_term(word: &str) -> String {
    let mut suggestions = suggestions(word);
    suggestions.truncate(MAX_SUGGESTIONS);
    match suggestions.as_slice() {
        [] => format!("explain: '{word}' is not in the glossary; 'onoff explain' lists all terms"),
        suggestions => format!("explain: '{word}' is not in the glossary; similar terms: {}", suggestions.join(", ")),
    }
}

/// Lists all terms without their meanings.
fn list(destination: &Destination) -> Result<(), Failure> {
    destination.write(|out| {
        for part in onoff_sections::glossary::PARTS {
            writeln!(out, "{HEADLINE}{}{HEADLINE:#}", part.title)?;
            let mut words: Vec<&str> = part.entries.iter().map(|entry| entry.term).collect();
            words.sort_by_key(|word| word.to_lowercase());
            writeln!(out, "  {}", words.join(", "))?;
        }
        writeln!(out, "{HEADLINE}Findings{HEADLINE:#}\n  any code from 'onoff diagnose --list'")?;
        writeln!(out, "{HEADLINE}Columns{HEADLINE:#}\n  any column of a recording's tables, such as duration_ns")?;
        Ok(())
    })
}
