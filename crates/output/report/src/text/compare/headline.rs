//! The headline of a comparison: one sentence per configuration other than the baseline.

use onoff_compare::RunSubject;
use std::io::{self, Write};

use onoff_compare::{Change, ComparedMeasure, Comparison, ConfigurationSummary, Verdict};

use super::{cause_check, explanation, notes, value};
use crate::text::printable::printable;
use crate::text::quantity::{counted, percent};
use crate::text::style::{DOUBT, HEADLINE, styled};

/// Returns one sentence for each configuration after the baseline.
pub(super) fn sentences(comparison: &Comparison) -> impl Iterator<Item = (&ConfigurationSummary, String)> {
    comparison.configurations.iter().enumerate().skip(1).map(|(index, configuration)| {
        let name = if comparison.configurations.len() > 2 {
            format!("{}: ", printable(&configuration.name))
        } else {
            String::new()
        };
        let sentence = match main_change(comparison, index) {
            Some((measure, change)) => answer(comparison, measure, change, index),
            None => "No total was recorded on both sides; see the phases.".to_owned(),
        };
        (configuration, format!("{name}{sentence}"))
    })
}

/// Writes the sentences.
pub(super) fn write(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    for (configuration, sentence) in sentences(comparison) {
        writeln!(out, "{HEADLINE}{sentence}{HEADLINE:#}")?;
        explanation::write(&comparison.explanations, (comparison.transition, &configuration.name), out)?;
        let checks = comparison.cause_checks.iter().filter(|check| check.configuration == configuration.name);
        for sentence in checks.filter_map(cause_check::sentence) {
            writeln!(out, "{sentence}")?;
        }
    }
    notes::write(&comparison.notes, out)?;
    if let Some(sentence) = too_few(comparison) {
        writeln!(out, "{}", styled(DOUBT, sentence))?;
    }
    Ok(())
}

/// Returns the first measure of the total that both sides have, with its change.
fn main_change(comparison: &Comparison, index: usize) -> Option<(&ComparedMeasure, &Change)> {
    ["total", "startup", "main_path", "suspend"].iter().find_map(|name| {
        let key = format!("{}.{name}", comparison.transition.as_str());
        let measure = comparison.measure(&key)?;
        let change = measure.changes.get(index - 1)?;
        change.difference.map(|_| (measure, change))
    })
}

fn answer(comparison: &Comparison, measure: &ComparedMeasure, change: &Change, index: usize) -> String {
    let subject = match (comparison.transition, measure.name.as_str()) {
        (RunSubject::Boot, "total") => "The boot",
        (RunSubject::Boot, "startup") => "The boot up to the last unit",
        (RunSubject::Boot, _) => "The boot up to the desktop",
        (RunSubject::Shutdown, _) => "The shutdown",
        (RunSubject::Suspend, "suspend") => "Going to sleep",
        (RunSubject::Suspend, _) => "Going to sleep and waking",
        (RunSubject::Netboot, _) => "The network boot",
        (RunSubject::Firmware, _) => "The firmware, including the loader,",
    };
    let median = |index: usize| measure.values.get(index).and_then(|spread| spread.median).unwrap_or(0);
    let (was, is) = (value(measure.unit, median(0)), value(measure.unit, median(index)));
    let difference = change.difference.unwrap_or(0);
    let amount = value(measure.unit, i64::try_from(difference.unsigned_abs()).unwrap_or(i64::MAX));
    let percentage = change.percent.map(|share| format!(" ({})", percent(share.abs()))).unwrap_or_default();
    match change.verdict {
        Verdict::Slower => format!("{subject} is {amount}{percentage} slower: {is}, was {was}."),
        Verdict::Faster => format!("{subject} is {amount}{percentage} faster: {is}, was {was}."),
        Verdict::Unknown if difference == 0 => format!("{subject} took as long as before: {is}."),
        Verdict::Unknown => {
            let direction = if difference > 0 { "longer" } else { "less" };
            format!("{subject} took {amount}{percentage} {direction}: {is}, was {was}.")
        }
        _ => {
            let floor = measure
                .noise_floor
                .map(|floor| format!("; noise between baseline runs {}", value(measure.unit, floor)))
                .unwrap_or_default();
            format!("{subject} does not differ beyond noise: {is}, was {was}{floor}.")
        }
    }
}

pub(super) fn too_few(comparison: &Comparison) -> Option<String> {
    let min_runs = comparison.configurations.iter().map(|configuration| configuration.compared_runs).min()?;
    (min_runs < comparison.min_runs).then(|| {
        format!(
            "{} per side cannot separate a change from noise. Record at least {} per side.",
            if min_runs == 1 { "One run".to_owned() } else { counted(min_runs, "run") },
            comparison.min_runs
        )
    })
}
