//! What the words of reports mean: one table, which `onoff explain` prints and the book's glossary is made of.

mod losses;
mod phases;
mod terms;

use onoff_trace::{DECLARATIONS, TableDeclaration};

/// A word and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The word, as reports print it.
    pub word: &'static str,
    /// Other words for it, and how JSON spells it.
    pub also: &'static [&'static str],
    /// What it means, in sentences.
    pub meaning: &'static str,
}

impl Entry {
    const fn new(word: &'static str, meaning: &'static str) -> Self {
        Self { word, also: &[], meaning }
    }

    const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    fn is(&self, folded: &str) -> bool {
        fold(self.word) == folded || self.also.iter().any(|also| fold(also) == folded)
    }

    fn holds(&self, folded: &str) -> bool {
        fold(self.word).contains(folded) || self.also.iter().any(|also| fold(also).contains(folded))
    }
}

/// A part of the glossary.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its title.
    pub title: &'static str,
    /// Its words.
    pub entries: &'static [Entry],
}

/// The glossary.
pub const PARTS: &[Part] = &[
    Part { title: "Phases", entries: phases::PHASES },
    Part { title: "Terms and columns", entries: terms::TERMS },
    Part { title: "Losses", entries: losses::LOSSES },
];

/// A column of a table of recordings.
#[derive(Clone, Copy, Debug)]
pub struct ColumnMeaning {
    /// The table.
    pub table: &'static TableDeclaration,
    /// Its column's name.
    pub column: &'static str,
    /// What it holds.
    pub meaning: &'static str,
}

/// Letters and digits in lower case: how a word is spelled and joined does not matter.
fn fold(word: &str) -> String {
    word.chars()
        .filter(|character| character.is_alphanumeric() || *character == '≤')
        .flat_map(char::to_lowercase)
        .collect()
}

/// The entries for `word`, however it is spelled.
#[must_use]
pub fn find(word: &str) -> Vec<&'static Entry> {
    let folded = fold(word);
    entries().filter(|entry| !folded.is_empty() && entry.is(&folded)).collect()
}

/// The columns of that name.
#[must_use]
pub fn columns(name: &str) -> Vec<ColumnMeaning> {
    let folded = fold(name);
    DECLARATIONS
        .iter()
        .flat_map(|table| table.columns.iter().map(move |column| (table, column)))
        .filter(|(_, column)| !folded.is_empty() && fold(column.name) == folded)
        .map(|(table, column)| ColumnMeaning { table, column: column.name, meaning: column.documentation })
        .collect()
}

/// Words that hold `word`, or that it holds: what may have been meant.
#[must_use]
pub fn like(word: &str) -> Vec<&'static str> {
    let folded = fold(word);
    let is_like = |entry: &&Entry| {
        folded.len() > 2 && (entry.holds(&folded) || (entry.word.len() > 3 && folded.contains(&fold(entry.word))))
    };
    entries().filter(is_like).map(|entry| entry.word).collect()
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    PARTS.iter().flat_map(|part| part.entries)
}

/// The glossary as a page of the book.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(
        "# Glossary\n\nWritten by `make reference` from the table that `onoff explain WORD` prints. The codes of findings are \
         [a page of their own](findings.md), the columns of tables [another](tables.md); `onoff explain` knows both.\n",
    );
    for part in PARTS {
        page += &format!("\n## {}\n\n| word | meaning |\n| --- | --- |\n", part.title);
        let mut entries: Vec<&Entry> = part.entries.iter().collect();
        if part.title != "Phases" {
            entries.sort_by_key(|entry| fold(entry.word));
        }
        for entry in entries {
            let also: Vec<String> = entry.also.iter().map(|also| format!("`{also}`")).collect();
            let also = if also.is_empty() { String::new() } else { format!(" Also: {}.", also.join(", ")) };
            page += &format!("| **{}** | {}{also} |\n", entry.word, entry.meaning.replace('|', "\\|"));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use onoff_transitions::PhaseName;

    use super::*;

    fn book(page: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src").join(page)
    }

    #[test]
    fn every_phase_has_a_meaning_under_its_name_and_its_title() {
        for phase in PhaseName::ALL {
            assert_eq!(find(phase.as_str()).len(), 1, "{}", phase.as_str());
            assert!(!find(&onoff_report::text::phases::name(*phase)).is_empty(), "{}", phase.as_str());
        }
    }

    #[test]
    fn every_loss_of_the_book_is_explained_in_its_words() {
        let page = std::fs::read_to_string(book("explanation/losses.md")).unwrap();
        let mut rows = 0;
        for line in page.lines() {
            let cells: Vec<&str> = line.split(" | ").collect();
            if let [name, _, meaning] = cells.as_slice()
                && let Some(name) = name.strip_prefix("| `").and_then(|name| name.strip_suffix('`'))
            {
                rows += 1;
                let entry = find(name);
                let meaning = meaning.trim_end_matches(" |").replace('`', "'");
                let folded = |text: &str| text.to_lowercase();
                assert_eq!(
                    entry.iter().map(|entry| folded(entry.meaning)).collect::<Vec<_>>(),
                    [folded(&meaning)],
                    "{name}"
                );
            }
        }
        assert_eq!(rows, losses::LOSSES.len());
    }

    #[test]
    fn each_word_is_explained_once_in_whole_sentences() {
        let mut seen = BTreeSet::new();
        for entry in entries() {
            assert!(entry.meaning.ends_with(['.', '…']), "{}", entry.word);
            // A spelling of JSON may be the word itself with other marks.
            let words: BTreeSet<String> =
                std::iter::once(&entry.word).chain(entry.also).map(|word| fold(word)).collect();
            for word in words {
                assert!(!seen.contains(&word), "{word}");
                seen.insert(word);
            }
        }
    }

    #[test]
    fn words_are_found_however_they_are_spelled() {
        for word in ["presmss", "PRE-SMSS", "Load order group", "never pended", "user_space", "95 % interval", "≤"] {
            assert_eq!(find(word).len(), 1, "{word}");
        }
        assert!(find("").is_empty() && find("nothing of that name").is_empty());
        assert!(like("smss").contains(&"PreSMSS"));
        assert!(!columns("duration_ns").is_empty() || !columns("start_ns").is_empty());
    }

    #[test]
    fn the_reference_page_of_words_is_what_the_table_says() {
        let path = book("reference/glossary.md");
        if std::env::var_os("ONOFF_WRITE_REFERENCE").is_some() {
            std::fs::write(&path, page()).unwrap();
        }
        assert!(std::fs::read_to_string(path).unwrap_or_default() == page(), "run 'make reference'");
    }
}
