//! The headline of a comparison: one sentence per configuration other than the baseline.

use onoff_compare::RunSubject;
use std::io::{self, Write};

use onoff_compare::{Change, ComparedMeasure, Comparison, ConfigurationSummary, Verdict};

use super::{explanation, notes, value};
use crate::text::printable::printable;
use crate::text::quantity::{counted, percent};
use crate::text::style::{DOUBT, HEADLINE, styled};

/// The sentence for each configuration after the baseline.
pub(super) fn sentences(comparison: &Comparison) -> impl Iterator<Item = (&ConfigurationSummary, String)> {
    comparison.configurations.iter().enumerate().skip(1).map(|(at, configuration)| {
        let name = if comparison.configurations.len() > 2 {
            format!("{}: ", printable(&configuration.name))
        } else {
            String::new()
        };
        let sentence = match whole(comparison, at) {
            Some((measure, change)) => answer(comparison, measure, change, at),
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
    }
    notes::write(&comparison.notes, out)?;
    if let Some(sentence) = too_few(comparison) {
        writeln!(out, "{}", styled(DOUBT, sentence))?;
    }
    Ok(())
}

/// The first measure of the whole transition that both sides have.
fn whole(comparison: &Comparison, at: usize) -> Option<(&ComparedMeasure, &Change)> {
    ["total", "startup", "main_path", "suspend"].iter().find_map(|name| {
        let key = format!("{}.{name}", comparison.transition.as_str());
        let measure = comparison.measure(&key)?;
        let change = measure.changes.get(at - 1)?;
        change.difference.map(|_| (measure, change))
    })
}

fn answer(comparison: &Comparison, measure: &ComparedMeasure, change: &Change, at: usize) -> String {
    let what = match (comparison.transition, measure.name.as_str()) {
        (RunSubject::Boot, "total") => "The boot",
        (RunSubject::Boot, "startup") => "The boot up to the last unit",
        (RunSubject::Boot, _) => "The boot up to the desktop",
        (RunSubject::Shutdown, _) => "The shutdown",
        (RunSubject::Suspend, "suspend") => "Going to sleep",
        (RunSubject::Suspend, _) => "Going to sleep and waking",
        (RunSubject::Netboot, _) => "The network boot",
        (RunSubject::Firmware, _) => "The firmware, including the loader,",
    };
    let median = |at: usize| measure.values.get(at).and_then(|it| it.median).unwrap_or(0);
    let (was, is) = (value(measure.unit, median(0)), value(measure.unit, median(at)));
    let difference = change.difference.unwrap_or(0);
    let by = value(measure.unit, i64::try_from(difference.unsigned_abs()).unwrap_or(i64::MAX));
    let by_percent = change.percent.map(|share| format!(" ({})", percent(share.abs()))).unwrap_or_default();
    match change.verdict {
        Verdict::Slower => format!("{what} is {by}{by_percent} slower: {is}, was {was}."),
        Verdict::Faster => format!("{what} is {by}{by_percent} faster: {is}, was {was}."),
        Verdict::Unknown if difference == 0 => format!("{what} took as long as before: {is}."),
        Verdict::Unknown => {
            let direction = if difference > 0 { "longer" } else { "less" };
            format!("{what} took {by}{by_percent} {direction}: {is}, was {was}.")
        }
        _ => {
            let floor = measure
                .noise_floor
                .map(|floor| format!("; noise between baseline runs {}", value(measure.unit, floor)))
                .unwrap_or_default();
            format!("{what} does not differ beyond noise: {is}, was {was}{floor}.")
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
