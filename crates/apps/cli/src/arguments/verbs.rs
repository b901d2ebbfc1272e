//! The verbs by purpose, as `onoff --help` shows them.

use std::fmt::Write as _;

/// A title, and verbs with a short description each.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// Lists every verb exactly once.
pub const GROUPS: &[Group] = &[
    (
        "Analyze",
        &[
            ("boot", "a boot, from firmware to idle desktop"),
            ("shutdown", "a shutdown: sessions, services, kernel"),
            ("suspend", "sleep, hibernation and wake-up"),
            ("netboot", "a network boot, from a packet capture"),
            ("firmware", "the time before the operating system, from firmware tables"),
            ("summary", "many recordings, one row each"),
            ("view", "an interactive report, in the browser or as a file"),
            ("export", "write a file for Perfetto or the Firefox Profiler"),
        ],
    ),
    (
        "Diagnose",
        &[
            ("diagnose", "what to fix, most expensive first"),
            ("why", "the critical path: what waited for what, and why"),
            ("what-if", "how long it would take after a change"),
            ("io", "how programs access files, and what a cache would save"),
            ("image", "what slows down a Windows installation, before it boots"),
            ("prefetch", "what Windows prefetches, and whether it is trained"),
        ],
    ),
    (
        "Compare",
        &[
            ("compare", "what got slower or faster, and whether it is more than noise"),
            ("gate", "fail a build that got slower than its limits allow"),
        ],
    ),
    (
        "Record",
        &[
            ("record", "record boots, shutdowns and sleeps, on Linux and Windows"),
            ("collect", "pack the logs this computer already has into one file"),
        ],
    ),
    (
        "List, for any part of a recording",
        &[
            ("services", "service and unit starts and stops"),
            ("devices", "device and driver operations"),
            ("processes", "processes and their resource usage"),
            ("cpu", "CPU usage"),
            ("interrupts", "interrupts and deferred procedure calls (DPCs)"),
            ("disk", "disk requests"),
            ("files", "file operations"),
            ("hardfaults", "hard faults: pages read from files"),
            ("policy", "Group Policy work"),
            ("events", "every event with its fields"),
            ("info", "contents and losses of a recording"),
        ],
    ),
    (
        "Help",
        &[
            ("explain", "what a term in a report means"),
            ("guide", "how to investigate a slow boot, step by step"),
            ("completions", "shell completion scripts"),
            ("manual", "man pages"),
        ],
    ),
    (
        "For other programs",
        &[
            ("mcp", "serve the verbs as tools for an assistant"),
            ("xperf", "drop-in for xperf's command line"),
            ("wpaexporter", "drop-in for wpaexporter: WPA profiles to CSV"),
        ],
    ),
];

/// Formats the verbs for the help page.
pub fn page() -> String {
    let mut page = String::new();
    for (title, verbs) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "{title}:");
        for (name, description) in *verbs {
            let _ = writeln!(page, "  {name:<13}{description}");
        }
        page.push('\n');
    }
    page
}

/// Returns the error for a first argument that is neither a file nor a verb. Suggests a similar verb.
pub fn no_such_file_or_verb(word: &str) -> String {
    let verbs = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().map(|(name, _)| *name));
    if verbs.clone().any(|verb| verb == word) {
        return format!("{word}: put the verb before the file, as in 'onoff {word} FILE'");
    }
    let closest = verbs.map(|verb| (strsim::jaro_winkler(verb, word), verb)).max_by(|a, b| a.0.total_cmp(&b.0));
    let suggestion = match closest {
        Some((similarity, verb)) if similarity >= MIN_SIMILARITY => format!("; did you mean 'onoff {verb}'?"),
        _ => String::new(),
    };
    format!("{word}: no such file or verb{suggestion}")
}

/// Minimum Jaro-Winkler similarity to suggest a verb.
const MIN_SIMILARITY: f64 = 0.8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_verb_is_in_exactly_one_group() {
        let listed_verbs: Vec<&str> =
            GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().map(|(name, _)| *name)).collect();
        let unique_verbs: BTreeSet<&str> = listed_verbs.iter().copied().collect();
        assert_eq!(unique_verbs.len(), listed_verbs.len());
        let command = crate::arguments::Arguments::command();
        let all_verbs: BTreeSet<&str> =
            command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name).collect();
        assert_eq!(unique_verbs, all_verbs);
    }

    #[test]
    fn page_fits_narrow_terminal() {
        for line in page().lines() {
            assert!(line.len() <= 78, "{line}");
        }
    }
}
