//! Reports as one self-contained HTML page without scripts.

use std::io::{self, Write};

use quick_xml::escape::escape;

use super::ReportWriter;
use crate::html_styles::{STYLE_SHEET, styled_line};
use crate::section::{self, Section};

/// Writes a report as an HTML page.
pub struct HtmlWriter<'w>(&'w mut dyn Write);

impl<'w> HtmlWriter<'w> {
    /// Writes a page with a title and the content that `content` writes.
    ///
    /// # Errors
    /// Returns errors from `content` or `out`.
    pub fn write(
        title: &str,
        out: &'w mut dyn Write,
        content: impl FnOnce(&mut dyn ReportWriter) -> io::Result<()>,
    ) -> io::Result<()> {
        let title = escape(title);
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" content=\"width=device-width\"/><title>{title}</title>"
        )?;
        writeln!(out, "<style>{STYLE_SHEET}</style></head><body><main>")?;
        let mut page = HtmlWriter(out);
        content(&mut page)?;
        writeln!(page.0, "</main></body></html>")
    }
}

impl ReportWriter for HtmlWriter<'_> {
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
    fn writes_complete_page_with_escaped_title() {
        let mut out = Vec::new();
        HtmlWriter::write("</title><script>", &mut out, |page| page.lines(&mut |out| writeln!(out, "It took 1 s.\n")))
            .unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.contains("<title>&lt;/title&gt;&lt;script&gt;</title>"), "{page}");
        assert!(page.contains("<main>\n<p>It took 1 s.</p>\n</main>"), "{page}");
    }
}
