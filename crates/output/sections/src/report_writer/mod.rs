//! Writers for reports: text for a terminal, or an HTML page.
//!
//! A report is a sequence of sentences ([`ReportWriter::lines`]) and sections ([`ReportWriter::sections`]). It is described once, and each writer
//! formats both.

mod html;

use std::io::{self, Write};

pub use html::HtmlWriter;

use crate::section::{self, Section};

/// Writes a report part by part.
pub trait ReportWriter {
    /// Writes the sentences that `write` produces, styled for a terminal.
    ///
    /// # Errors
    /// Returns errors from `write` or the writer.
    fn lines(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()>;

    /// Writes sections.
    ///
    /// # Errors
    /// Returns errors from the writer.
    fn sections(&mut self, sections: &[Section<'_>]) -> io::Result<()>;
}

/// Writes a report as text.
pub struct TextWriter<'w>(pub &'w mut dyn Write);

impl ReportWriter for TextWriter<'_> {
    fn lines(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        write(self.0)
    }

    fn sections(&mut self, sections: &[Section<'_>]) -> io::Result<()> {
        section::text::write_all(sections, self.0)
    }
}
