//! The page as text: the built page with its data in the place that was kept for them.

use crate::page::Page;

/// The page as `viewer/` builds it.
const BUILT: &str = include_str!("../built/index.html");

/// What stands in the built page where the data belong.
const PLACE: &str = "\"PAGE_DATA\"";

/// The page with its data.
///
/// # Errors
/// Data that cannot be written as JSON, which no page's are.
pub fn html(page: &Page) -> Result<String, serde_json::Error> {
    // Names come from recordings: a `<` among them must not end the element that holds them.
    let data = serde_json::to_string(page)?.replace('<', "\\u003c").replace(['\u{2028}', '\u{2029}'], " ");
    Ok(BUILT.replacen(PLACE, &data, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageRecording;

    #[test]
    fn names_of_a_recording_cannot_leave_the_place_of_the_data() {
        let name = "</script><script>alert(1)</script><!-- \u{2028}".to_owned();
        let page = Page { recordings: vec![PageRecording { name, ..PageRecording::default() }], ..Page::default() };
        let text = html(&page).unwrap();
        assert!(!text.contains("<script>alert"));
        assert!(text.contains("\\u003cscript>alert(1)"));
        assert_eq!(text.matches("</script>").count(), BUILT.matches("</script>").count());
    }

    #[test]
    fn the_built_page_has_one_place_for_data_and_loads_nothing() {
        assert_eq!(BUILT.matches(PLACE).count(), 1);
        assert!(BUILT.contains("default-src 'none'"));
        for loading in ["src=\"", "href=\"http", "url(http", "@import"] {
            assert!(!BUILT.contains(loading), "{loading}");
        }
    }
}
