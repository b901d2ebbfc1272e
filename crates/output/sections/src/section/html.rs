//! Sections as HTML.

use std::io::{self, Write};
use std::ops::Range;

use quick_xml::escape::escape;

use super::{Column, Section};
use crate::html_styles::class;
use crate::table::Kind;
use crate::terminal::printable::printable;
use crate::terminal::quantity::counted;

/// Writes the title, the rows that text shows, the other rows in a collapsed block, and the lines.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(section: &Section<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section>")?;
    if !section.title.is_empty() {
        let note = section.note.trim_start_matches([';', ' ']);
        let note = if note.is_empty() { String::new() } else { format!(" <small>{}</small>", escape(note)) };
        writeln!(out, "<h2>{}{note}</h2>", escape(&*printable(&section.title)))?;
    }
    let shown_rows = section.rows.min(section.top);
    if shown_rows > 0 {
        table(section, 0..shown_rows, out)?;
    }
    let hidden_rows = section.rows.saturating_sub(shown_rows);
    if hidden_rows > 0 {
        writeln!(out, "<details><summary>{}</summary>", counted(hidden_rows as u64, "more row"))?;
        table(section, shown_rows..section.rows, out)?;
        writeln!(out, "</details>")?;
    }
    for line in &section.lines {
        writeln!(out, "<p class=\"{}\">{}</p>", class(line.style), escape(&line.text))?;
    }
    writeln!(out, "</section>")
}

fn table(section: &Section<'_>, rows: Range<usize>, out: &mut dyn Write) -> io::Result<()> {
    let columns: Vec<&Column<'_>> = section.columns.iter().filter(|column| column.heading.in_text).collect();
    // As in text, empty columns are omitted.
    let is_filled = |column: &Column<'_>| {
        let mut cells = rows.clone().filter_map(|row| column.cells.get(row));
        cells.any(|cell| !cell.text(column.heading.sparse).is_empty())
    };
    let columns: Vec<&Column<'_>> = columns.into_iter().filter(|column| is_filled(column)).collect();
    write!(out, "<div class=\"wide\"><table><thead><tr>")?;
    for column in &columns {
        write!(out, "<th{}>{}</th>", alignment(column.heading.kind), escape(&*printable(&column.title)))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in rows {
        write!(out, "<tr>")?;
        for column in &columns {
            let Some(cell) = column.cells.get(row) else { continue };
            let text = cell.text(column.heading.sparse);
            let text = printable(&text);
            let text = escape(&*text);
            match class(cell.style) {
                "" => write!(out, "<td{}>{text}</td>", alignment(column.heading.kind))?,
                class => {
                    write!(out, "<td{}><span class=\"{class}\">{text}</span></td>", alignment(column.heading.kind))?
                }
            }
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// Returns the alignment of a column: names left, numbers right.
const fn alignment(kind: Kind) -> &'static str {
    match kind {
        Kind::Name => "",
        Kind::Id | Kind::Time | Kind::Quantity => " class=\"n\"",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::section;
    use super::*;

    #[test]
    fn collapses_rows_that_text_omits() {
        let mut out = Vec::new();
        write(&section(), &mut out).unwrap();
        let html = String::from_utf8(out).unwrap();
        assert!(html.contains("<h2>Units <small>slowest of 3</small></h2>"), "{html}");
        assert!(html.contains("<td>=cmd</td><td class=\"n\">1.50 s</td>"), "{html}");
        let (shown, folded) = html.split_once("<details><summary>1 more row</summary>").unwrap();
        assert!(shown.contains("<td>b</td>") && !shown.contains("<td>c</td>"), "{html}");
        assert!(folded.contains("<td>c</td>"), "{html}");
        assert!(html.ends_with("<p class=\"quiet\">All of it.</p>\n</section>\n"), "{html}");
        assert!(!html.contains("linux"), "data columns are not on the page: {html}");
    }
}
