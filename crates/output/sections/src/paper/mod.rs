//! Writers for reports: text for a terminal, or an HTML page.
//!
//! A report is a sequence of sentences ([`Paper::lines`]) and sections ([`Paper::sections`]). It is described once, and each writer
//! formats both.

mod html;

use std::io::{self, Write};

pub use html::HtmlPaper;

use crate::section::{self, Section};

/// Writes a report part by part.
pub trait Paper {
    /// Writes the sentences that `write` produces, styled for a terminal.
    ///
    /// # Errors
    /// Errors of `write` or the writer.
    fn lines(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()>;

    /// Writes sections.
    ///
    /// # Errors
    /// Errors of the writer.
    fn sections(&mut self, sections: &[Section<'_>]) -> io::Result<()>;
}

/// Writes a report as text.
pub struct TextPaper<'w>(pub &'w mut dyn Write);

impl Paper for TextPaper<'_> {
    fn lines(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        write(self.0)
    }

    fn sections(&mut self, sections: &[Section<'_>]) -> io::Result<()> {
        section::text::write_all(sections, self.0)
    }
}
