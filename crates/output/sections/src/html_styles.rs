//! How a page of HTML looks, and what the styles of a terminal are called on it.

use anstyle::Style;
use quick_xml::escape::escape;

use crate::terminal::style::{BAR, DOUBT, MISSING, QUIET, TITLE, WORST};

/// How the page looks, on a screen and on paper, by day and by night.
pub(crate) const LOOK: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}\
h2{font-size:1.1em;margin:1.6em 0 .3em}h2 small{font-weight:normal;opacity:.7}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
.wide{overflow-x:auto}\
th,td{text-align:left;padding:.15em 1.2em .15em 0;white-space:pre}\
th{font-weight:normal;opacity:.7;border-bottom:1px solid}\
.n{text-align:right}p{margin:.2em 0;white-space:pre-wrap}\
.title{font-weight:600}.quiet{opacity:.7}.bar{color:#0b7285;font-family:ui-monospace,monospace}.worst,.doubt{color:#a15c00}.worst{font-weight:600}\
.missing{color:#c92a2a;font-weight:600}\
@media(prefers-color-scheme:dark){.bar{color:#66d9e8}.worst,.doubt{color:#ffc078}.missing{color:#ff8787}}";

/// What each style of a terminal is called on the page.
const CLASSES: [(Style, &str); 6] =
    [(TITLE, "title"), (QUIET, "quiet"), (BAR, "bar"), (WORST, "worst"), (DOUBT, "doubt"), (MISSING, "missing")];

/// The class of a style; empty for none.
pub(crate) fn class(style: Style) -> &'static str {
    CLASSES.iter().find(|(known, _)| *known == style).map_or("", |(_, class)| class)
}

/// A line for a terminal as HTML: its styles are spans, everything else is text.
pub(crate) fn styled_line(line: &str) -> String {
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
}
