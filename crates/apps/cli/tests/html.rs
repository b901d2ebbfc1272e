//! `--format html`: the page says what the text says, and is a page.

use roxmltree::{Document, Node};

use crate::running::Folder;

/// The page as a tree; what a parser of XML reads is balanced.
fn tree(page: &str) -> Document<'_> {
    Document::parse(page.trim_start_matches("<!doctype html>")).unwrap()
}

/// Everything that a reader sees of an element, with single blanks.
fn words(node: Node<'_, '_>) -> String {
    let text: Vec<&str> = node.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).collect();
    text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the text says that the page does not: sentences whole, rows cell by cell.
fn missing(text: &str, page: &str) -> Vec<String> {
    let document = tree(page);
    let all = words(document.root_element());
    let parts = text.lines().flat_map(|line| line.split("  ")).map(str::trim).filter(|part| !part.is_empty());
    // The end of a bar and a rule are drawn, not said.
    let said = parts.filter(|part| part.chars().any(char::is_alphanumeric));
    said.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|part| !all.contains(part)).collect()
}

#[test]
fn a_page_says_what_the_text_says_of_every_transition_and_of_lists() {
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
    // The comparison itself: another recording's page does not say it.
    let other = Folder::boot("services-wes7.toml").answer("boot boot.etl --format html --top 0");
    assert!(missing(&folder.answer("boot boot.etl --top 0 --wide"), &other).len() > 20);
}

#[test]
fn rows_that_the_text_cuts_off_are_folded_and_nothing_is_loaded() {
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
fn a_verb_that_writes_no_page_says_which_do() {
    let folder = Folder::boot("services-wes7.toml");
    let (code, message) = folder.refusal("io boot.etl --format html");
    assert_eq!(code, 64);
    assert!(message.contains("'shutdown'"), "{message}");
}
