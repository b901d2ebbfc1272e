//! `--format html`: a valid page with the contents of the text.

use roxmltree::{Document, Node};

use crate::harness::Folder;

/// Parses the page as XML, which checks that tags are balanced.
fn tree(page: &str) -> Document<'_> {
    Document::parse(page.trim_start_matches("<!doctype html>")).unwrap()
}

/// The visible text of an element, with whitespace collapsed.
fn words(node: Node<'_, '_>) -> String {
    let text: Vec<&str> = node.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).collect();
    text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text that is missing from the page: whole sentences, and rows cell by cell.
fn missing(text: &str, page: &str) -> Vec<String> {
    let document = tree(page);
    let all = words(document.root_element());
    let parts = text.lines().flat_map(|line| line.split("  ")).map(str::trim).filter(|part| !part.is_empty());
    // Bars and rules are drawn.
    let visible = parts.filter(|part| part.chars().any(char::is_alphanumeric));
    visible
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|part| !all.contains(part))
        .collect()
}

#[test]
fn html_contains_text_of_transitions_and_lists() {
    let folder = Folder::boot("slow-boot.toml");
    for verb in ["boot", "services", "processes", "disk", "summary"] {
        let text = folder.answer(&format!("{verb} boot.etl --top 0 --wide"));
        let page = folder.answer(&format!("{verb} boot.etl --format html --top 0"));
        assert_eq!(missing(&text, &page), Vec::<String>::new(), "{verb}");
    }
    for (scenario, verb) in [("slow-shutdown.toml", "shutdown"), ("slow-sleep.toml", "suspend")] {
        let folder = Folder::boot(scenario);
        let text = folder.answer(&format!("{verb} boot.etl --top 0 --wide"));
        let page = folder.answer(&format!("{verb} boot.etl --format html --top 0"));
        assert_eq!(missing(&text, &page), Vec::<String>::new(), "{verb}");
    }
    // The page of another recording does not match.
    let other = Folder::boot("services-wes7.toml").answer("boot boot.etl --format html --top 0");
    assert!(missing(&folder.answer("boot boot.etl --top 0 --wide"), &other).len() > 20);
}

#[test]
fn html_collapses_extra_rows_and_loads_nothing() {
    let folder = Folder::boot("slow-boot.toml");
    let page = folder.answer("boot boot.etl --format html --top 2");
    let document = tree(&page);
    let services = document
        .descendants()
        .find(|node| node.has_tag_name("section") && words(*node).starts_with("Services slowest of 15 services"))
        .unwrap();
    let rows = |node: Node<'_, '_>| {
        let body = node.descendants().find(|node| node.has_tag_name("tbody")).unwrap();
        body.children().filter(|row| row.has_tag_name("tr")).count()
    };
    let folded = services.children().find(|node| node.has_tag_name("details")).unwrap();
    assert_eq!((rows(services), rows(folded)), (2, 13));
    for loading in ["<script", "href", "src=", "url(", "@import"] {
        assert!(!page.contains(loading), "{loading}");
    }
}

#[test]
fn rejects_html_for_other_verbs() {
    let folder = Folder::boot("services-wes7.toml");
    let (code, message) = folder.refusal("io boot.etl --format html");
    assert_eq!(code, 64);
    assert!(message.contains("'shutdown'"), "{message}");
}
