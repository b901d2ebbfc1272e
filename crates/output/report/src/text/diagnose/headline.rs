//! How long it took and what to change first, in a sentence or two.

use std::io::{self, Write};

use onoff_findings::diagnosis::{DiagnosedTransition, Diagnosis};

use crate::text::fix_first;
use crate::text::printable::printable;
use crate::text::quantity::{capitalized, counted, duration};
use crate::text::style::{HEADLINE, WORST, styled};

pub(super) fn write(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    let several = diagnosis.transitions.len() > 1;
    let transitions: Vec<String> = diagnosis.transitions.iter().map(|one| transition(one, several)).collect();
    writeln!(out, "{HEADLINE}{}.{HEADLINE:#}", capitalized(&transitions.join("; ")))?;
    match diagnosis.findings.first() {
        Some(first) => {
            let more = match diagnosis.findings.len() - 1 {
                0 => String::new(),
                1 => " 1 more finding below.".to_owned(),
                others => format!(" {others} more findings below."),
            };
            let text = match first.fix_first() {
                Some(fix) => fix_first::sentence(&fix),
                None => format!("Fix first: {}.", printable(&first.title)),
            };
            writeln!(out, "{}", styled(WORST, text + &more))
        }
        None => writeln!(out, "{}", printable(&without_finding(diagnosis))),
    }
}

/// What no finding means: little where most rules had nothing to look at.
fn without_finding(diagnosis: &Diagnosis) -> String {
    let of_transitions = diagnosis.not_checked.iter().filter(|rule| rule.transition != "recording").count() as u64;
    let not_checked = diagnosis.not_checked.len() as u64;
    let all = diagnosis.checked.saturating_add(not_checked);
    if of_transitions.saturating_mul(2) >= all && all > 0 {
        return format!(
            "What to change is not known: {not_checked} of {} could not be checked, because the recording lacks what they need (below).",
            counted(all, "rule"),
        );
    }
    let checked = counted(diagnosis.checked, "rule");
    match not_checked {
        0 => format!("No finding costs more than noise. Checked {checked}."),
        1 => format!("No finding costs more than noise. Checked {checked}; 1 needs records that the recording lacks."),
        more => format!(
            "No finding costs more than noise. Checked {checked}; {more} need records that the recording lacks."
        ),
    }
}

fn transition(transition: &DiagnosedTransition, several: bool) -> String {
    let took = match (transition.duration_ns, transition.standby_ns) {
        (Some(ns), _) => format!(": {}", duration(ns)),
        (None, Some(ns)) => format!(" lasted {}", duration(ns)),
        (None, None) if transition.at_least_ns > 0 => format!(": at least {}", duration(transition.at_least_ns)),
        (None, None) => ": how long it took is unknown".to_owned(),
    };
    match transition.name.strip_prefix("suspend ").filter(|_| several) {
        Some(number) => format!("{} {number}{took}", transition.kind),
        None => format!("{}{took}", transition.kind),
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
            lacking: Vec::new(),
            needs: "when each unit started and was done",
        };
        std::iter::repeat_with(rule).take(count).collect()
    }

    #[test]
    fn no_finding_means_little_where_most_rules_had_nothing_to_look_at() {
        let said = |checked, not_checked| without_finding(&Diagnosis { checked, not_checked, ..Diagnosis::default() });
        assert_eq!(
            said(4, unchecked(17, "boot")),
            "What to change is not known: 17 of 21 rules could not be checked, because the recording lacks what they need (below)."
        );
        assert_eq!(
            said(18, unchecked(3, "boot")),
            "No finding costs more than noise. Checked 18 rules; 3 need records that the recording lacks."
        );
        // What no recording holds says nothing of this one.
        assert!(said(1, unchecked(1, "recording")).starts_with("No finding costs more than noise."));
        assert_eq!(said(1, Vec::new()), "No finding costs more than noise. Checked 1 rule.");
    }
}
