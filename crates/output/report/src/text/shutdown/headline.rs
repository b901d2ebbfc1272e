//! How long the shutdown took and where most of it went, in a few sentences.

use onoff_transitions::PhaseName;
use onoff_transitions::Variant;
use std::io::{self, Write};

use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;
use onoff_evidence::recording::RecordingSummary;
use onoff_transitions::shutdown::{LongestKind, LongestWork, ShutdownReport};

use super::work::words;
use crate::text::fix_first;
use crate::text::machine::machine;
use crate::text::printable::printable;
use crate::text::quantity::{duration, percent};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};
use crate::text::why::account::culprit;

/// From this share of the shutdown on, one piece of work belongs into the first sentence, percent.
const NOTABLE_PERCENT: f64 = 10.0;

pub(super) fn write(report: &ShutdownReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(report))?;
    if let Some(sentence) = parts(report) {
        writeln!(out, "{sentence}")?;
    }
    if let Some(first) = report.first_culprit() {
        let longest =
            report.details.longest.as_ref().filter(|longest| longest.name.eq_ignore_ascii_case(&first.entry.name));
        let because = longest.map(|longest| &longest.because).filter(|because| **because != Reason::None);
        let because = because.map(|because| format!("; {}", printable(&because.to_string()))).unwrap_or_default();
        writeln!(out, "{}", styled(WORST, format!("{}{because}.", culprit(first).trim_end_matches('.'))))?;
    } else if let Some(longest) = report.details.longest.as_ref().filter(|longest| !leads(longest)) {
        writeln!(out, "{}", styled(WORST, format!("Longest: {}.", told(longest))))?;
    }
    if report.variant == Variant::FastStartup {
        writeln!(out, "Then the rest of the system goes into a memory image; 'onoff suspend' shows that half.")?;
    }
    fix_first::write(report, out)?;
    writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
}

/// Whether the account says who took longest, so that the longest work need not be said: it is the same or took no longer.
fn is_culprits(report: &ShutdownReport, longest: &LongestWork) -> bool {
    report.first_culprit().is_some_and(|first| {
        first.entry.name.eq_ignore_ascii_case(&longest.name) || longest.duration_ns <= first.entry.ns
    })
}

/// Whether a piece of work belongs into the first sentence.
fn leads(longest: &LongestWork) -> bool {
    longest.percent >= NOTABLE_PERCENT && longest.kind != LongestKind::Exit
}

fn answer(report: &ShutdownReport) -> String {
    let what = match report.variant {
        Variant::Restart => "Shutdown for a restart",
        Variant::FastStartup => "The user's part of a shutdown for a fast startup",
        Variant::Logoff => "Logoff",
        _ => "Shutdown",
    };
    let mut sentence = match (report.total_ns, report.total_certainty) {
        (Some(total), Certainty::Measured) => format!("{what} took {}", duration(total)),
        (Some(total), _) => {
            format!("{what} took {}, as far as can be inferred", duration(total))
        }
        (None, _) => format!("{what} took at least {}", duration(report.total_at_least_ns)),
    };
    if let Some(longest) =
        report.details.longest.as_ref().filter(|longest| leads(longest) && !is_culprits(report, longest))
    {
        sentence += &format!("; {}", told(longest).replacen(',', " took", 1));
        sentence = of_it(sentence);
    }
    sentence += match report.total_ns {
        Some(_) => ".",
        None => ". The recording ends before the kernel's part does.",
    };
    sentence
}

/// The time of the longest work is part of the whole: say so before its reason.
fn of_it(sentence: String) -> String {
    match sentence.rfind(" (") {
        Some(at) => format!("{} of it{}", &sentence[..at], &sentence[at..]),
        None => format!("{sentence} of it"),
    }
}

/// Name, length, and why.
fn told(longest: &LongestWork) -> String {
    let name = match longest.kind {
        LongestKind::KernelStep => format!("the kernel's step '{}'", words(&longest.name)),
        LongestKind::Script => format!("the {} script of policy", printable(&longest.name)),
        LongestKind::Subscriber => format!("the subscriber {}", printable(&longest.name)),
        LongestKind::Service => format!("service {}", printable(&longest.name)),
        LongestKind::Exit => format!("before {} ended", printable(&longest.name)),
        LongestKind::Application => printable(&longest.name).into_owned(),
    };
    let mut text = format!("{name}, {}", duration(longest.duration_ns));
    if longest.because != Reason::None {
        text += &format!(" ({})", printable(&longest.because.to_string()));
    }
    text
}

fn parts(report: &ShutdownReport) -> Option<String> {
    // It is all one part.
    if report.variant == Variant::FastStartup {
        return None;
    }
    let part = |name: PhaseName, what: &str| {
        let phase = report.phase(name)?;
        phase.start_ns?;
        Some(match phase.duration_ns {
            Some(length) => format!("{} for {what}", duration(length)),
            None => format!("at least {} for {what}", duration(phase.recorded_ns)),
        })
    };
    let parts: Vec<String> = [
        part(PhaseName::UserSession, "the user's applications"),
        part(PhaseName::SystemSession, "services"),
        part(PhaseName::KernelShutdown, "the kernel"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let between: i64 = report.details.intervals.iter().fold(0_i64, |sum, row| sum.saturating_add(row.duration_ns));
    let mut sentence = parts.join(", ");
    if sentence.is_empty() {
        return None;
    }
    if between > 0 {
        let whole = report.total_ns.unwrap_or(report.total_at_least_ns);
        sentence += &format!(
            "; {} between them ({})",
            duration(between),
            percent(crate::text::quantity::share(between, whole))
        );
    }
    Some(sentence + ".")
}
