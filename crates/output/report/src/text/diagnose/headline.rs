//! The headline of a diagnosis: how long the transition took, and what to fix first.

use std::io::{self, Write};

use onoff_findings::diagnosis::{DiagnosedTransition, Diagnosis};

use crate::text::fix_first;
use crate::text::printable::printable;
use crate::text::quantity::{capitalized, counted, duration};
use crate::text::style::{HEADLINE, WORST, styled};

pub(super) fn write(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    if let Some(sentence) = transitions(&diagnosis.transitions) {
        writeln!(out, "{HEADLINE}{}.{HEADLINE:#}", capitalized(&sentence))?;
    }
    match diagnosis.findings.first() {
        Some(first) => {
            let suffix = match diagnosis.findings.len() - 1 {
                0 => String::new(),
                1 => " 1 more finding below.".to_owned(),
                others => format!(" {others} more findings below."),
            };
            writeln!(out, "{}", styled(WORST, fix_first::sentence(&first.fix_first()) + &suffix))
        }
        None => writeln!(out, "{}", printable(&without_finding(diagnosis))),
    }
}

/// Lists the transitions with their durations; of many without a duration, as in power reports, only the number of each
/// kind. `None` if there are none.
fn transitions(transitions: &[DiagnosedTransition]) -> Option<String> {
    /// Maximum number of transitions in the headline.
    const MAX_NAMED: usize = 8;
    let is_unknown =
        |one: &DiagnosedTransition| one.duration_ns.is_none() && one.standby_ns.is_none() && one.at_least_ns <= 0;
    let has_several = transitions.len() > 1;
    if has_several && transitions.iter().all(is_unknown) {
        let mut kinds: Vec<(&str, u64)> = Vec::new();
        for one in transitions {
            match kinds.iter_mut().find(|(kind, _)| *kind == one.kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((&one.kind, 1)),
            }
        }
        let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| counted(count, kind)).collect();
        return Some(kinds.join(", ") + ": durations unknown");
    }
    let mut named: Vec<String> =
        transitions.iter().take(MAX_NAMED).map(|diagnosed| transition(diagnosed, has_several)).collect();
    if let Some(others) = transitions.len().checked_sub(MAX_NAMED).filter(|&others| others > 0) {
        named.push(counted(others as u64, "more transition"));
    }
    (!named.is_empty()).then(|| named.join("; "))
}

/// Returns the sentence for no findings, which means little if most rules could not be checked.
fn without_finding(diagnosis: &Diagnosis) -> String {
    let unchecked_for_transitions =
        diagnosis.unchecked_rules.iter().filter(|rule| rule.transition != "recording").count() as u64;
    let unchecked_rules = diagnosis.unchecked_rules.len() as u64;
    let total = diagnosis.checked.saturating_add(unchecked_rules);
    if unchecked_for_transitions.saturating_mul(2) >= total && total > 0 {
        return format!(
            "No findings: {unchecked_rules} of {} need data that this recording does not have (listed below).",
            counted(total, "rule"),
        );
    }
    let checked = counted(diagnosis.checked, "rule");
    match unchecked_rules {
        0 => format!("No findings above noise. Checked {checked}."),
        1 => format!("No findings above noise. Checked {checked}; 1 more needs data that was not recorded."),
        unchecked => {
            format!("No findings above noise. Checked {checked}; {unchecked} more need data that was not recorded.")
        }
    }
}

fn transition(transition: &DiagnosedTransition, has_several: bool) -> String {
    if !transition.failure.is_empty() {
        return format!("{} {}", transition.kind, printable(&transition.failure));
    }
    let duration_text = match (transition.duration_ns, transition.standby_ns) {
        (Some(ns), _) => format!(": {}", duration(ns)),
        (None, Some(ns)) => format!(" lasted {}", duration(ns)),
        (None, None) if transition.at_least_ns > 0 => format!(": at least {}", duration(transition.at_least_ns)),
        (None, None) => ": duration unknown".to_owned(),
    };
    match transition.name.strip_prefix("suspend ").filter(|_| has_several) {
        Some(number) => format!("{} {number}{duration_text}", transition.kind),
        None => format!("{}{duration_text}", transition.kind),
    }
}

#[cfg(test)]
mod tests {
    use onoff_findings::diagnosis::UncheckedRule;

    use super::*;

    fn unchecked(count: usize, transition: &str) -> Vec<UncheckedRule> {
        let rule = || UncheckedRule {
            code: "linux/unit-slow",
            title: "",
            transition: transition.to_owned(),
            missing_sources: Vec::new(),
            needs: "when each unit started and was done",
        };
        std::iter::repeat_with(rule).take(count).collect()
    }

    #[test]
    fn reports_unchecked_rules() {
        let sentence =
            |checked, unchecked_rules| without_finding(&Diagnosis { checked, unchecked_rules, ..Diagnosis::default() });
        assert_eq!(
            sentence(4, unchecked(17, "boot")),
            "No findings: 17 of 21 rules need data that this recording does not have (listed below)."
        );
        assert_eq!(
            sentence(18, unchecked(3, "boot")),
            "No findings above noise. Checked 18 rules; 3 more need data that was not recorded."
        );
        // Data that no recording has does not count.
        assert!(sentence(1, unchecked(1, "recording")).starts_with("No findings above noise."));
        assert_eq!(sentence(1, Vec::new()), "No findings above noise. Checked 1 rule.");
    }
}
