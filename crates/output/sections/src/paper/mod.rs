//! What an answer for people is written on: a terminal, or a page of HTML.
//!
//! An answer is sentences and sections in turn. Who describes it does so once ([`Paper::lines`], [`Paper::sections`]); each paper
//! writes both as its readers need them.

mod html;

use std::io::{self, Write};

pub use html::HtmlPaper;

use crate::section::{self, Section};

/// Takes an answer, part by part.
pub trait Paper {
    /// Takes sentences: what `write` writes, with the styles of a terminal.
    ///
    /// # Errors
    /// What `write` or the paper answers.
    fn lines(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()>;

    /// Takes sections.
    ///
    /// # Errors
    /// What the paper answers.
    fn sections(&mut self, sections: &[Section<'_>]) -> io::Result<()>;
}

/// A terminal, or a file of text.
pub struct TextPaper<'w>(pub &'w mut dyn Write);

impl Paper for TextPaper<'_> {
    fn lines(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        write(self.0)
    }

    fn sections(&mut self, sections: &[Section<'_>]) -> io::Result<()> {
        section::text::write_all(sections, self.0)
    }
}
