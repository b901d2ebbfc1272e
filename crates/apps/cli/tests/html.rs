//! `--format html`: a valid page with the contents of the text.

use roxmltree::{Document, Node};

use crate::harness::Folder;

/// Parses the page as XML, which checks that tags are balanced.
fn parse_page(page: &str) -> Document<'_> {
    Document::parse(page.trim_start_matches("<!doctype html>")).unwrap()
}

/// Returns the visible text of an element, with whitespace collapsed.
fn visible_text(node: Node<'_, '_>) -> String {
    let text: Vec<&str> = node.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).collect();
    text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text that is missing from the page: sentences, and the cells of rows.
fn missing_texts(text: &str, page: &str) -> Vec<String> {
    let document = parse_page(page);
    let page_text = visible_text(document.root_element());
    let parts = text.lines().flat_map(|line| line.split("  ")).map(str::trim).filter(|part| !part.is_empty());
    // The page draws bars and rules.
    let worded = parts.filter(|part| part.chars().any(char::is_alphanumeric));
    worded
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !page_text.contains(part))
        .collect()
}

#[test]
fn html_contains_text_of_transitions_and_lists() {
    let folder = Folder::boot("slow-boot.toml");
    for verb in ["boot", "services", "processes", "disk", "summary"] {
        let text = folder.answer(&format!("{verb} boot.etl --top 0 --wide"));
        let page = folder.answer(&format!("{verb} boot.etl --format html --top 0"));
        assert_eq!(missing_texts(&text, &page), Vec::<String>::new(), "{verb}");
    }
    for (scenario, verb) in [("slow-shutdown.toml", "shutdown"), ("slow-sleep.toml", "suspend")] {
        let folder = Folder::boot(scenario);
        let text = folder.answer(&format!("{verb} boot.etl --top 0 --wide"));
        let page = folder.answer(&format!("{verb} boot.etl --format html --top 0"));
        assert_eq!(missing_texts(&text, &page), Vec::<String>::new(), "{verb}");
    }
    // The page of another recording does not match.
    let other_page = Folder::boot("services-wes7.toml").answer("boot boot.etl --format html --top 0");
    assert!(missing_texts(&folder.answer("boot boot.etl --top 0 --wide"), &other_page).len() > 20);
}

#[test]
fn html_collapses_extra_rows_and_loads_nothing() {
    let folder = Folder::boot("slow-boot.toml");
    let page = folder.answer("boot boot.etl --format html --top 2");
    let document = parse_page(&page);
    let services = document
        .descendants()
        .find(|node| node.has_tag_name("section") && visible_text(*node).starts_with("Services slowest of 15 services"))
        .unwrap();
    let rows = |node: Node<'_, '_>| {
        let body = node.descendants().find(|node| node.has_tag_name("tbody")).unwrap();
        body.children().filter(|row| row.has_tag_name("tr")).count()
    };
    let collapsed = services.children().find(|node| node.has_tag_name("details")).unwrap();
    assert_eq!((rows(services), rows(collapsed)), (2, 13));
    for reference in ["<script", "href", "src=", "url(", "@import"] {
        assert!(!page.contains(reference), "{reference}");
    }
}

#[test]
fn rejects_html_for_other_verbs() {
    let folder = Folder::boot("services-wes7.toml");
    let (code, message) = folder.failure("io boot.etl --format html");
    assert_eq!(code, 64);
    assert!(message.contains("'shutdown'"), "{message}");
}
