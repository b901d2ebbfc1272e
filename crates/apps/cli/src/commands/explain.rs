//! `onoff explain`.

use onoff_report::text;
use onoff_report::text::style::{HEADLINE, QUIET};
use onoff_sections::glossary::{columns, find, suggestions};

use crate::failure::Failure;
use crate::output::Destination;

const MAX_SUGGESTIONS: usize = 8;

/// Explains the term in `words`, or lists all terms if there are no words.
pub fn run(words: &[String], destination: &Destination) -> Result<(), Failure> {
    if words.is_empty() {
        return list(destination);
    }
    let term = &*words.join(" ");
    if let Some(rule) = onoff_findings::find(term) {
        return destination.write(|out| Ok(text::diagnose::explain(rule, out)?));
    }
    let entries = find(term);
    let columns = columns(term);
    if entries.is_empty() && columns.is_empty() {
        return Err(Failure::NoData(unknown_term(term)));
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

fn unknown_term(term: &str) -> String {
    let mut suggestions = suggestions(term);
    suggestions.truncate(MAX_SUGGESTIONS);
    match suggestions.as_slice() {
        [] => format!("explain: '{term}' is not in the glossary; 'onoff explain' lists all terms"),
        suggestions => format!("explain: '{term}' is not in the glossary; similar terms: {}", suggestions.join(", ")),
    }
}

/// Lists all terms without their meanings.
fn list(destination: &Destination) -> Result<(), Failure> {
    destination.write(|out| {
        for part in onoff_sections::glossary::PARTS {
            writeln!(out, "{HEADLINE}{}{HEADLINE:#}", part.title)?;
            let mut terms: Vec<&str> = part.entries.iter().map(|entry| entry.term).collect();
            terms.sort_by_key(|term| term.to_lowercase());
            writeln!(out, "  {}", terms.join(", "))?;
        }
        writeln!(out, "{HEADLINE}Findings{HEADLINE:#}\n  any code from 'onoff diagnose --list'")?;
        writeln!(out, "{HEADLINE}Columns{HEADLINE:#}\n  any column of a recording's tables, such as duration_ns")?;
        Ok(())
    })
}
