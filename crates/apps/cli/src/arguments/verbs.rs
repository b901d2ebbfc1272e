//! The verbs by what a person wants, as `onoff --help` shows them.

use std::fmt::Write as _;

/// What a person wants, and the verbs for it, each with what it does in a few words.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// Every verb once.
pub const GROUPS: &[Group] = &[
    (
        "Where the time goes",
        &[
            ("boot", "a boot, from the firmware to a settled desktop"),
            ("shutdown", "a shutdown: sessions, services, the kernel"),
            ("suspend", "sleep, hibernation and waking"),
            ("netboot", "a network boot, from a capture"),
            ("firmware", "before the operating system, from the firmware's tables"),
            ("summary", "many recordings at once, a row each"),
            ("view", "see it: a page in the browser, or one file to mail"),
            ("export", "a file for Perfetto or the Firefox Profiler"),
        ],
    ),
    (
        "Why, and what to change",
        &[
            ("diagnose", "what to change, what costs most first"),
            ("why", "who waited for whom, back to what ended the wait"),
            ("io", "how programs ask for their data, and what a cache would bring"),
            ("image", "what makes a Windows installation slow, before it boots"),
            ("prefetch", "what Windows reads ahead, and whether it is trained"),
        ],
    ),
    (
        "Is it slower",
        &[
            ("compare", "what got slower or faster, and whether that is more than noise"),
            ("gate", "fail a build that got slower than limits allow"),
        ],
    ),
    (
        "Record",
        &[
            ("record", "this computer's transitions, on Linux and Windows"),
            ("collect", "what this computer recorded by itself, as one file to send"),
        ],
    ),
    (
        "List, of any part of a recording",
        &[
            ("services", "starts and stops of services and units"),
            ("devices", "work on devices and drivers"),
            ("processes", "processes, and what they used"),
            ("cpu", "who used the processors"),
            ("interrupts", "interrupts and deferred procedure calls"),
            ("disk", "requests to disks"),
            ("files", "file operations"),
            ("hardfaults", "pages that had to be read from files"),
            ("policy", "work for group policy"),
            ("events", "every event with its fields"),
            ("info", "what the recording holds, and what was lost"),
        ],
    ),
    (
        "Help",
        &[
            ("explain", "what a word of a report means"),
            ("guide", "how to investigate a slow boot, step by step"),
            ("completions", "complete arguments in a shell"),
            ("manual", "pages for man"),
        ],
    ),
    (
        "For other programs",
        &[("mcp", "the verbs as tools, for an assistant"), ("xperf", "xperf's command line, in its formats")],
    ),
];

/// The verbs as a page of help.
pub fn page() -> String {
    let mut page = String::new();
    for (title, verbs) in GROUPS {
        // A text takes everything.
        let _ = writeln!(page, "{title}:");
        for (name, what) in *verbs {
            let _ = writeln!(page, "  {name:<12}{what}");
        }
        page.push('\n');
    }
    page
}

/// What is wrong with a word that is neither a verb nor a file, and which verb may have been meant.
pub fn neither_verb_nor_file(word: &str) -> String {
    let verbs = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().map(|(name, _)| *name));
    if verbs.clone().any(|verb| verb == word) {
        return format!("{word}: name the verb before the file, as in 'onoff {word} FILE'");
    }
    let like = verbs.map(|verb| (strsim::jaro_winkler(verb, word), verb)).max_by(|a, b| a.0.total_cmp(&b.0));
    let meant = match like {
        Some((likeness, verb)) if likeness >= MIN_LIKENESS => format!("; did you mean 'onoff {verb}'?"),
        _ => String::new(),
    };
    format!("{word}: there is no such file and no such verb{meant}")
}

/// How like a verb a word must be to be taken for it, of 1.
const MIN_LIKENESS: f64 = 0.8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_verb_stands_in_one_group() {
        let shown: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().map(|(name, _)| *name)).collect();
        let once: BTreeSet<&str> = shown.iter().copied().collect();
        assert_eq!(once.len(), shown.len());
        let command = crate::arguments::Arguments::command();
        let all: BTreeSet<&str> =
            command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name).collect();
        assert_eq!(once, all);
    }

    #[test]
    fn the_page_fits_a_narrow_terminal() {
        for line in page().lines() {
            assert!(line.len() <= 78, "{line}");
        }
    }
}
