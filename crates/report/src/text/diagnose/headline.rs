//! How long it took and what to change first, in a sentence or two.

use std::io::{self, Write};

use onoff_findings::diagnosis::{DiagnosedTransition, Diagnosis};
use onoff_findings::finding::{CostBasis, RuleFinding};

use crate::text::printable::printable;
use crate::text::quantity::{counted, duration};
use crate::text::style::{HEADLINE, WORST, styled};

pub(super) fn write(diagnosis: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    let several = diagnosis.transitions.len() > 1;
    let transitions: Vec<String> = diagnosis.transitions.iter().map(|one| transition(one, several)).collect();
    writeln!(out, "{HEADLINE}{}.{HEADLINE:#}", sentence(&transitions.join("; ")))?;
    match diagnosis.findings.first() {
        Some(first) => {
            let others = diagnosis.findings.len() - 1;
            let more = match others {
                0 => String::new(),
                _ => format!("; {} more below", counted(others as u64, "finding")),
            };
            let text = format!("First to change: {}{}{more}.", first.title, cost(first));
            writeln!(out, "{}", styled(WORST, printable(&text)))
        }
        None => writeln!(
            out,
            "Nothing found that costs more than noise: {} checked, {} not for lack of events.",
            counted(diagnosis.checked, "rule"),
            counted(diagnosis.not_checked.len() as u64, "rule"),
        ),
    }
}

fn transition(transition: &DiagnosedTransition, several: bool) -> String {
    let took = match transition.duration_ns {
        Some(ns) => duration(ns),
        None => format!("at least {}", duration(transition.at_least_ns)),
    };
    match transition.name.strip_prefix("suspend ").filter(|_| several) {
        Some(number) => format!("{} {number}: {took}", transition.kind),
        None => format!("{}: {took}", transition.kind),
    }
}

/// What a finding costs, as a clause in brackets.
fn cost(finding: &RuleFinding) -> String {
    match (finding.cost_ns, finding.cost_basis) {
        (Some(ns), CostBasis::CriticalPath) => format!(" (costs {})", duration(ns)),
        (Some(ns), _) => format!(" (costs {} at most)", duration(ns)),
        (None, _) => String::new(),
    }
}

fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().collect::<String>() + characters.as_str(),
        None => String::new(),
    }
}
