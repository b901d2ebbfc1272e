//! The headline of a shutdown: how long it took and where most of the time went.

use onoff_trace::ShutdownRequest;
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
use crate::text::quantity::{capitalized, duration, percent};
use crate::text::style::{HEADLINE, QUIET, WORST, styled};
use crate::text::why::account::culprit;

/// Minimum share of the shutdown, in percent, for the longest work to be named in the first sentence.
const NOTABLE_PERCENT: f64 = 10.0;

pub(super) fn write(report: &ShutdownReport, recording: &RecordingSummary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEADLINE}{}{HEADLINE:#}", answer(report))?;
    if let Some(sentence) = parts(report) {
        writeln!(out, "{sentence}")?;
    }
    if let Some(first_culprit) = report.first_culprit() {
        let longest = report
            .details
            .longest
            .as_ref()
            .filter(|longest| longest.name.eq_ignore_ascii_case(&first_culprit.entry.name));
        let reason = longest.map(|longest| &longest.reason).filter(|reason| **reason != Reason::None);
        let suffix = reason.map(|reason| format!("; {}", printable(&reason.to_string()))).unwrap_or_default();
        writeln!(out, "{}", styled(WORST, format!("{}{suffix}.", culprit(first_culprit).trim_end_matches('.'))))?;
    } else if let Some(longest) = report.details.longest.as_ref().filter(|longest| !is_in_first_sentence(longest)) {
        writeln!(out, "{}", styled(WORST, format!("Longest: {}.", describe(longest))))?;
    }
    if let Some(request) = &report.details.request {
        writeln!(out, "{}", requested(request, report))?;
    }
    if report.variant == Variant::FastStartup {
        writeln!(
            out,
            "Windows then wrote the rest of the system to a memory image; 'onoff suspend' reports that part."
        )?;
    }
    fix_first::write(report, out)?;
    writeln!(out, "{QUIET}{}{QUIET:#}", machine(recording, None))
}

/// True if the first culprit is the longest work or took at least as long. The longest work then need not be named.
fn is_covered_by_culprit(report: &ShutdownReport, longest: &LongestWork) -> bool {
    report.first_culprit().is_some_and(|culprit| {
        culprit.entry.name.eq_ignore_ascii_case(&longest.name) || longest.duration_ns <= culprit.entry.ns
    })
}

/// True if the work belongs in the first sentence.
fn is_in_first_sentence(longest: &LongestWork) -> bool {
    longest.percent >= NOTABLE_PERCENT && longest.kind != LongestKind::Exit
}

/// Describes who requested the shutdown, and when.
fn requested(request: &ShutdownRequest, report: &ShutdownReport) -> String {
    let mut sentence = format!("Requested by {}", printable(&request.program));
    if !request.user.is_empty() {
        sentence += &format!(" for {}", printable(&request.user));
    }
    if let Some(start_ns) = report.start_ns.filter(|&start_ns| start_ns >= request.time_ns) {
        sentence += &format!(", {} before", duration(start_ns - request.time_ns));
    }
    let reasons = [&request.reason, &request.comment].map(|text| printable(text.trim()).into_owned());
    let reasons: Vec<String> = reasons.into_iter().filter(|text| !text.is_empty()).collect();
    if !reasons.is_empty() {
        sentence += &format!(": {}", reasons.join("; "));
    }
    let code = match request.reason_code.as_str() {
        "" => String::new(),
        code => format!(" ({})", printable(code)),
    };
    format!("{}{code}.", sentence.trim_end_matches('.'))
}

fn answer(report: &ShutdownReport) -> String {
    let kind = match report.variant {
        Variant::Restart => "Shutdown for a restart",
        Variant::FastStartup => "The user-session part of the shutdown (fast startup)",
        Variant::Logoff => "Logoff",
        _ => "Shutdown",
    };
    let mut sentence = match (report.total_ns, report.total_certainty) {
        (Some(total), Certainty::Measured) => format!("{kind} took {}", duration(total)),
        (Some(total), _) => {
            format!("{kind} took {} (inferred)", duration(total))
        }
        (None, _) if !report.details.channels.is_empty() => {
            let at_least = match report.total_at_least_ns {
                0 => String::new(),
                ns => format!(" At least {}.", duration(ns)),
            };
            return format!(
                "The duration of this shutdown is unknown: the logs have no account of it (event 200).{at_least}"
            );
        }
        (None, _) => format!("{kind} took at least {}", duration(report.total_at_least_ns)),
    };
    if let Some(longest) = report
        .details
        .longest
        .as_ref()
        .filter(|longest| is_in_first_sentence(longest) && !is_covered_by_culprit(report, longest))
    {
        sentence += &format!("; {}", describe(longest).replacen(',', " took", 1));
        sentence = with_of_it(sentence);
    }
    sentence += match report.total_ns {
        Some(_) => ".",
        None => ". The recording ends during the kernel phase.",
    };
    sentence
}

/// Inserts "of it" before the reason in parentheses: the longest work is part of the total.
fn with_of_it(sentence: String) -> String {
    match sentence.rfind(" (") {
        Some(position) => format!("{} of it{}", &sentence[..position], &sentence[position..]),
        None => format!("{sentence} of it"),
    }
}

/// Returns the name, duration and reason of the longest work.
fn describe(longest: &LongestWork) -> String {
    let name = match longest.kind {
        LongestKind::KernelStep => format!("kernel step '{}'", words(&longest.name)),
        LongestKind::Script => format!("the {} script", printable(&longest.name)),
        LongestKind::Subscriber => format!("subscriber {}", printable(&longest.name)),
        LongestKind::Service => format!("service {}", printable(&longest.name)),
        LongestKind::Exit => format!("the gap before {} exited", printable(&longest.name)),
        LongestKind::Application => printable(&longest.name).into_owned(),
    };
    let mut text = format!("{name}, {}", duration(longest.duration_ns));
    if longest.reason != Reason::None {
        text += &format!(" ({})", printable(&longest.reason.to_string()));
    }
    text
}

fn parts(report: &ShutdownReport) -> Option<String> {
    // A fast startup has only one part.
    if report.variant == Variant::FastStartup {
        return None;
    }
    let part = |name: PhaseName, label: &str| {
        let phase = report.phase(name)?;
        phase.start_ns?;
        Some(match phase.duration_ns {
            Some(length) => format!("{label} {}", duration(length)),
            None if phase.recorded_ns == 0 => return None,
            None => format!("{label} at least {}", duration(phase.recorded_ns)),
        })
    };
    let parts: Vec<String> = [
        part(PhaseName::UserSession, "applications"),
        part(PhaseName::SystemSession, "services"),
        part(PhaseName::KernelShutdown, "kernel"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let other_ns: i64 = report.details.intervals.iter().fold(0_i64, |sum, row| sum.saturating_add(row.duration_ns));
    let mut sentence = capitalized(&parts.join(", "));
    if sentence.is_empty() {
        return None;
    }
    if other_ns > 0 {
        let total_ns = report.total_ns.unwrap_or(report.total_at_least_ns);
        sentence +=
            &format!(", other {} ({})", duration(other_ns), percent(crate::text::quantity::share(other_ns, total_ns)));
    }
    Some(sentence + ".")
}
