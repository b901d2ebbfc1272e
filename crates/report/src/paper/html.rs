//! A page of HTML: one file without scripts, which any browser shows and any program mails.

use std::io::{self, Write};

use anstyle::Style;
use quick_xml::escape::escape;

use super::Paper;
use crate::section::{self, Section};
use crate::terminal::style::{BAR, DOUBT, MISSING, QUIET, TITLE, WORST};

/// How the page looks, on a screen and on paper, by day and by night.
const LOOK: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}\
h2{font-size:1.1em;margin:1.6em 0 .3em}h2 small{font-weight:normal;opacity:.7}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
.wide{overflow-x:auto}\
th,td{text-align:left;padding:.15em 1.2em .15em 0;white-space:pre}\
th{font-weight:normal;opacity:.7;border-bottom:1px solid}\
.n{text-align:right}p{margin:.2em 0;white-space:pre-wrap}\
b{font-weight:600}.quiet{opacity:.7}.bar{color:#0b7285}.worst,.doubt{color:#a15c00}.worst{font-weight:600}\
.missing{color:#c92a2a;font-weight:600}\
@media(prefers-color-scheme:dark){.bar{color:#66d9e8}.worst,.doubt{color:#ffc078}.missing{color:#ff8787}}";

/// What each style of a terminal is called on the page.
const CLASSES: [(Style, &str); 6] =
    [(TITLE, "title"), (QUIET, "quiet"), (BAR, "bar"), (WORST, "worst"), (DOUBT, "doubt"), (MISSING, "missing")];

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
        write!(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>{title}</title>")?;
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

/// The class of a style; empty for none.
pub(crate) fn class(style: Style) -> &'static str {
    CLASSES.iter().find(|(known, _)| *known == style).map_or("", |(_, class)| class)
}

/// A line for a terminal as HTML: its styles are spans, everything else is text.
fn styled_line(line: &str) -> String {
    let mut html = String::new();
    // The sequences since the last reset: a style of two properties is two of them.
    let mut style = String::new();
    for (at, part) in line.split('\u{1b}').enumerate() {
        let text = match part.split_once('m').filter(|_| at > 0) {
            Some(("[0", text)) => {
                style.clear();
                text
            }
            Some((codes, text)) => {
                style.push_str(&format!("\u{1b}{codes}m"));
                text
            }
            None => part,
        };
        if text.is_empty() {
            continue;
        }
        match CLASSES.iter().find(|(known, _)| known.render().to_string() == style) {
            Some((_, class)) => html.push_str(&format!("<span class=\"{class}\">{}</span>", escape(text))),
            None => html.push_str(&escape(text)),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::style::styled;

    #[test]
    fn a_line_keeps_its_styles_and_its_text_stays_text() {
        let line = format!("<b> & {} of {}", styled(DOUBT, "inferred"), styled(MISSING, "\"none\""));
        assert_eq!(
            styled_line(&line),
            "&lt;b&gt; &amp; <span class=\"doubt\">inferred</span> of <span class=\"missing\">&quot;none&quot;</span>"
        );
    }

    #[test]
    fn every_style_of_the_terminal_has_its_own_class_and_ends() {
        for (style, class) in CLASSES {
            assert_eq!(styled_line(&styled(style, "x")), format!("<span class=\"{class}\">x</span>"));
        }
    }

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
