//! A page of HTML: one file without scripts, which any browser shows and any program mails.

use std::io::{self, Write};

use quick_xml::escape::escape;

use super::Paper;
use crate::html_styles::{LOOK, styled_line};
use crate::section::{self, Section};

/// A page that is being written.
pub struct HtmlPaper<'w>(&'w mut dyn Write);

impl<'w> HtmlPaper<'w> {
    /// Writes a page called `title`, with what `content` puts on it.
    ///
    /// # Errors
    /// What `content` or `out` answers.
    pub fn write(
        title: &str,
        out: &'w mut dyn Write,
        content: impl FnOnce(&mut dyn Paper) -> io::Result<()>,
    ) -> io::Result<()> {
        let title = escape(title);
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" content=\"width=device-width\"/><title>{title}</title>"
        )?;
        writeln!(out, "<style>{LOOK}</style></head><body><main>")?;
        let mut page = HtmlPaper(out);
        content(&mut page)?;
        writeln!(page.0, "</main></body></html>")
    }
}

impl Paper for HtmlPaper<'_> {
    fn lines(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut text = Vec::new();
        write(&mut text)?;
        for line in String::from_utf8_lossy(&text).lines().filter(|line| !line.is_empty()) {
            writeln!(self.0, "<p>{}</p>", styled_line(line))?;
        }
        Ok(())
    }

    fn sections(&mut self, sections: &[Section<'_>]) -> io::Result<()> {
        sections.iter().try_for_each(|section| section::html::write(section, self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_and_its_title_is_text() {
        let mut out = Vec::new();
        HtmlPaper::write("</title><script>", &mut out, |page| page.lines(&mut |out| writeln!(out, "It took 1 s.\n")))
            .unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.contains("<title>&lt;/title&gt;&lt;script&gt;</title>"), "{page}");
        assert!(page.contains("<main>\n<p>It took 1 s.</p>\n</main>"), "{page}");
    }
}
