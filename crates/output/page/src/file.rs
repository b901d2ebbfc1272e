//! Single-file output: inserts the data into the built page.

use crate::page::Page;

/// The page as built by `viewer/`.
const BUILT: &str = include_str!("../built/index.html");

/// Marks the position of the data in the built page.
const PLACEHOLDER: &str = "\"PAGE_DATA\"";

/// Returns the page with its data.
///
/// # Errors
/// The data cannot be serialized; does not happen for a [`Page`].
pub fn html(page: &Page) -> Result<String, serde_json::Error> {
    // Names come from recordings: a `<` must not end the script element that contains them.
    let data = serde_json::to_string(page)?.replace('<', "\\u003c").replace(['\u{2028}', '\u{2029}'], " ");
    Ok(BUILT.replacen(PLACEHOLDER, &data, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageRecording;

    #[test]
    fn escapes_markup_in_names() {
        let name = "</script><script>alert(1)</script><!-- \u{2028}".to_owned();
        let page = Page { recordings: vec![PageRecording { name, ..PageRecording::default() }], ..Page::default() };
        let text = html(&page).unwrap();
        assert!(!text.contains("<script>alert"));
        assert!(text.contains("\\u003cscript>alert(1)"));
        assert_eq!(text.matches("</script>").count(), BUILT.matches("</script>").count());
    }

    #[test]
    fn built_page_has_one_placeholder_and_loads_nothing() {
        assert_eq!(BUILT.matches(PLACEHOLDER).count(), 1);
        assert!(BUILT.contains("default-src 'none'"));
        for loading in ["src=\"", "href=\"http", "url(http", "@import"] {
            assert!(!BUILT.contains(loading), "{loading}");
        }
    }
}
