//! Sections as CSV.

use std::io::{self, Write};

use super::Section;
use crate::table::csv::Rows;

/// Writes all rows of the sections, which must have the same name and therefore the same columns.
///
/// # Errors
/// Returns errors from `out`.
pub fn write(sections: &[Section<'_>], out: &mut dyn Write) -> io::Result<()> {
    let Some(first_section) = sections.first() else { return Ok(()) };
    let mut rows = Rows::begin(first_section.data().map(|column| column.heading.name), out)?;
    for section in sections {
        for row in 0..section.rows {
            rows.write(
                section.data().filter_map(|column| column.cells.get(row)).map(|cell| cell.value.machine_text()),
            )?;
        }
    }
    rows.end()
}

#[cfg(test)]
mod tests {
    use super::super::tests::section;
    use super::*;

    #[test]
    fn writes_all_rows_without_text_columns() {
        let mut out = Vec::new();
        write(&[section(), section()], &mut out).unwrap();
        let rows = "'=cmd,1500000000,linux\nb,,linux\nc,0,linux\n";
        assert_eq!(String::from_utf8(out).unwrap(), format!("name,duration_ns,system\n{rows}{rows}"));
    }
}
