//! The style sheet of HTML pages, and the classes for terminal styles.

use anstyle::Style;
use quick_xml::escape::escape;

use crate::terminal::style::{BAR, DOUBT, MISSING, QUIET, TITLE, WORST};

/// The style sheet, for light and dark color schemes.
pub(crate) const STYLE_SHEET: &str = "\
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

/// The class of each terminal style.
const CLASSES: [(Style, &str); 6] =
    [(TITLE, "title"), (QUIET, "quiet"), (BAR, "bar"), (WORST, "worst"), (DOUBT, "doubt"), (MISSING, "missing")];

/// Returns the class of a style, or an empty string.
pub(crate) fn class(style: Style) -> &'static str {
    CLASSES.iter().find(|(candidate, _)| *candidate == style).map_or("", |(_, class)| class)
}

/// Converts a line with terminal styles to HTML with spans.
pub(crate) fn styled_line(line: &str) -> String {
    let mut html = String::new();
    // The sequences since the last reset. A style with two properties has two sequences.
    let mut style = String::new();
    for (index, part) in line.split('\u{1b}').enumerate() {
        let text = match part.split_once('m').filter(|_| index > 0) {
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
        match CLASSES.iter().find(|(candidate, _)| candidate.render().to_string() == style) {
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
    fn keeps_styles_and_escapes_text() {
        let line = format!("<b> & {} of {}", styled(DOUBT, "inferred"), styled(MISSING, "\"none\""));
        assert_eq!(
            styled_line(&line),
            "&lt;b&gt; &amp; <span class=\"doubt\">inferred</span> of <span class=\"missing\">&quot;none&quot;</span>"
        );
    }

    #[test]
    fn converts_every_style() {
        for (style, class) in CLASSES {
            assert_eq!(styled_line(&styled(style, "x")), format!("<span class=\"{class}\">x</span>"));
        }
    }
}
