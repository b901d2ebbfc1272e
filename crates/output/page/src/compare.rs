//! Page content of a comparison, from the result of `onoff compare`.

use hashbrown::HashMap;

use onoff_compare::{Category, ComparedMeasure, Comparison, Configuration, MeasureUnit, PartChange, Run, Verdict};
use onoff_report::text::compare as compare_text;
use onoff_report::text::quantity::duration;
use onoff_report::text::why::account::kind;
use serde::Serialize;

use crate::track::{PageMark, PageTrack};
use onoff_lanes::TrackGroup;

/// Maximum number of listed measures per category, largest changes first; totals and phases are always listed.
const MAX_MEASURES: usize = 60;
/// Maximum number of listed order changes.
const MAX_MOVED: usize = 60;

/// Comparison of two sets of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageComparison {
    /// Result in sentences.
    pub answer: Vec<String>,
    /// Sides, baseline first.
    pub sides: Vec<PageSide>,
    /// Explanations of the difference of each phase, largest first.
    pub explanations: Vec<PageExplanation>,
    /// Measures by category.
    pub lists: Vec<PageMeasures>,
    /// Changes of order, as sentences.
    pub moved: Vec<String>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageSide {
    pub name: String,
    pub runs: Vec<PageRun>,
    /// Index of the recording nearest to the median in `Page::recordings`; `None` if its file is not available.
    pub recording: Option<usize>,
    /// Index of that recording in `runs`.
    pub shown_run: Option<usize>,
}

/// A run of one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageRun {
    /// File name.
    pub name: String,
    /// Reasons why the run is excluded; empty if it is compared.
    pub exclusions: Vec<String>,
}

/// Explanation of the difference of a phase, from its breakdown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageExplanation {
    /// Name of the phase.
    pub phase: String,
    /// The explanation as a sentence.
    pub sentence: String,
    /// Candidate minus baseline, ns.
    pub difference_ns: i64,
    /// Subjects that explain the difference.
    pub parts: Vec<PagePart>,
    /// Time of subjects that changed in the opposite direction, ns.
    pub opposing_ns: i64,
    /// Unexplained rest, ns.
    pub unexplained_ns: i64,
}

/// A subject that explains part of a difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PagePart {
    pub name: String,
    /// Kind of subject, such as `service`.
    pub kind: &'static str,
    /// `new`, `gone`, `longer` or `shorter`.
    pub change: &'static str,
    /// Median of the baseline, ns.
    pub before_ns: i64,
    /// Median of the candidate, ns.
    pub after_ns: i64,
    /// Candidate minus baseline, ns.
    pub difference_ns: i64,
}

/// Measures of a category.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageMeasures {
    /// `total`, `phase`, `service`, as in the keys.
    pub category: &'static str,
    pub title: &'static str,
    /// Number of measures in the category, including unlisted ones.
    pub of: usize,
    /// Listed measures.
    pub rows: Vec<PageMeasure>,
}

/// A measure on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageMeasure {
    /// Key, as `--limit` takes it.
    pub key: String,
    /// Display name.
    pub label: String,
    /// `ns`, `bytes` or `count`.
    pub unit: &'static str,
    /// Values by side and run; `null` if a run lacks the measure.
    pub values: Vec<Vec<Option<i64>>>,
    /// Medians by side.
    pub medians: Vec<Option<i64>>,
    /// Candidate minus baseline.
    pub difference: Option<i64>,
    /// Difference relative to the baseline, percent.
    pub percent: Option<f64>,
    /// 95 % confidence interval of the difference.
    pub interval: Option<(i64, i64)>,
    /// Spread of the baseline's runs.
    pub noise: Option<i64>,
    /// p-value of the rank test.
    pub p_value: Option<f64>,
    /// `slower`, `faster`, `more`, `less`, `new`, `gone`, `same`, `unknown`.
    pub verdict: &'static str,
}

/// Builds the page content of a comparison.
#[must_use]
pub fn comparison(configurations: &[Configuration], comparison: &Comparison) -> PageComparison {
    let sides = comparison.configurations.iter().map(|side| PageSide {
        name: side.name.clone(),
        runs: side
            .runs
            .iter()
            .map(|run| PageRun {
                name: run.name.clone(),
                exclusions: run.exclusions.iter().map(|exclusion| exclusion.text.clone()).collect(),
            })
            .collect(),
        recording: None,
        shown_run: None,
    });
    let values: Vec<Vec<RunValues<'_>>> =
        configurations.iter().map(|side| side.runs.iter().map(RunValues::new).collect()).collect();
    PageComparison {
        answer: compare_text::answer(comparison),
        sides: sides.collect(),
        explanations: explanations(comparison),
        lists: Category::ALL.into_iter().filter_map(|category| list(comparison, category, &values)).collect(),
        moved: comparison.order_changes.iter().take(MAX_MOVED).map(compare_text::moved).collect(),
    }
}

fn explanations(comparison: &Comparison) -> Vec<PageExplanation> {
    let page_explanation = |explanation: &onoff_compare::Explanation| PageExplanation {
        phase: explanation.phase.clone(),
        sentence: compare_text::explanation(explanation),
        difference_ns: explanation.difference_ns,
        parts: explanation
            .parts
            .iter()
            .map(|part| PagePart {
                name: part.name.clone(),
                kind: kind(part.kind),
                change: match part.change {
                    PartChange::Gone => "gone",
                    PartChange::New => "new",
                    PartChange::Longer => "longer",
                    PartChange::Shorter => "shorter",
                },
                before_ns: part.before_ns,
                after_ns: part.after_ns,
                difference_ns: part.difference_ns,
            })
            .collect(),
        opposing_ns: explanation.opposing_ns,
        unexplained_ns: explanation.unexplained_ns,
    };
    comparison.explanations.iter().map(page_explanation).collect()
}

fn list(comparison: &Comparison, category: Category, values: &[Vec<RunValues<'_>>]) -> Option<PageMeasures> {
    let mut listed: Vec<&ComparedMeasure> =
        comparison.measures.iter().filter(|measure| measure.category == category).collect();
    let measure_count = listed.len();
    if !category.keeps_order() {
        listed.retain(|measure| compare_text::differs(measure));
        listed.sort_by_key(|measure| std::cmp::Reverse(compare_text::size_of(measure)));
        listed.truncate(MAX_MEASURES);
    }
    let rows: Vec<PageMeasure> = listed.into_iter().map(|measure| row(measure, values)).collect();
    let title = compare_text::heading(category);
    (!rows.is_empty()).then_some(PageMeasures { category: category.as_str(), title, of: measure_count, rows })
}

fn row(measure: &ComparedMeasure, values: &[Vec<RunValues<'_>>]) -> PageMeasure {
    let change = measure.changes.first();
    PageMeasure {
        key: measure.key.clone(),
        label: compare_text::label(measure),
        unit: match measure.unit {
            MeasureUnit::Ns => "ns",
            MeasureUnit::Bytes => "bytes",
            MeasureUnit::Count => "count",
        },
        values: values.iter().map(|side| side.iter().map(|run| run.value(measure)).collect()).collect(),
        medians: measure.values.iter().map(|spread| spread.median).collect(),
        difference: change.and_then(|change| change.difference),
        percent: change.and_then(|change| change.percent),
        interval: change.and_then(|change| change.interval).map(|interval| (interval.low, interval.high)),
        noise: measure.noise_floor,
        p_value: change.and_then(|change| change.p_value),
        verdict: change.map_or(Verdict::Unknown, |change| change.verdict).as_str(),
    }
}

/// Values of a run by key.
struct RunValues<'a> {
    by_key: HashMap<String, i64>,
    /// Phases with a breakdown in this run.
    phases_with_account: hashbrown::HashSet<&'a str>,
    keeps_case: bool,
}

impl<'a> RunValues<'a> {
    fn new(run: &'a Run) -> Self {
        let keeps_case = run.is_case_sensitive();
        let accounts = run.measures.iter().filter(|measure| measure.category == Category::Account);
        Self {
            by_key: run.measures.iter().map(|measure| (normalized(&measure.key, keeps_case), measure.value)).collect(),
            phases_with_account: accounts.filter_map(|measure| measure.phase.as_deref()).collect(),
            keeps_case,
        }
    }

    /// Returns the value of the run; 0 if the measure is absent because it was too small to record.
    fn value(&self, measure: &ComparedMeasure) -> Option<i64> {
        let recorded = self.by_key.get(&normalized(&measure.key, self.keeps_case)).copied();
        let is_zero_when_absent = match (&measure.subject, measure.category) {
            (Some(subject), _) => self.phases_with_account.contains(subject.phase.as_str()),
            (None, category) => category.is_zero_when_absent(),
        };
        recorded.or(is_zero_when_absent.then_some(0))
    }
}

/// Normalizes a key: Windows names are case-insensitive.
fn normalized(key: &str, keeps_case: bool) -> String {
    if keeps_case { key.to_owned() } else { key.to_ascii_lowercase() }
}

/// Returns the index of the run to show in full: the compared run with a file (`has_file`) whose total is nearest to
/// the median.
#[must_use]
pub fn representative_run(
    configurations: &[Configuration],
    comparison: &Comparison,
    side: usize,
    has_file: impl Fn(usize) -> bool,
) -> Option<usize> {
    let runs = &configurations.get(side)?.runs;
    let summary = comparison.configurations.get(side)?;
    let total = comparison.measures.iter().find(|measure| measure.category == Category::Total);
    let median = total.and_then(|measure| measure.values.get(side)).and_then(|spread| spread.median).unwrap_or(0);
    let value = |run: &Run| {
        let key = total.map_or("", |measure| measure.key.as_str());
        run.measures.iter().find(|measure| measure.key == key).map_or(0, |measure| measure.value)
    };
    let candidates = runs.iter().zip(&summary.runs).enumerate();
    candidates
        .filter(|(index, (_, summary))| summary.compared && has_file(*index))
        .min_by_key(|(_, (run, _))| median.abs_diff(value(run)))
        .map(|(index, _)| index)
}

/// Marks tracks whose subject changed. With `is_baseline`, marks only subjects that are gone from the candidate.
pub fn mark_changed_tracks(tracks: &mut [PageTrack], comparison: &Comparison, is_baseline: bool) {
    let differing = |measure: &&ComparedMeasure| {
        let change = measure.changes.first();
        change.is_some_and(|change| {
            !matches!(change.verdict, Verdict::Same | Verdict::Unknown)
                && (change.verdict == Verdict::Gone) == is_baseline
        }) && compare_text::differs(measure)
    };
    let measures: Vec<&ComparedMeasure> = comparison.measures.iter().filter(differing).collect();
    let moved_keys: Vec<&str> = comparison.order_changes.iter().map(|change| change.key.as_str()).collect();
    for track in tracks {
        let categories = match track.summary.group {
            TrackGroup::Services => [Category::Service, Category::Service],
            TrackGroup::Devices => [Category::Driver, Category::Device],
            TrackGroup::Notifications => [Category::Application, Category::Step],
            TrackGroup::Session => [Category::Step, Category::Step],
            TrackGroup::Processes => [Category::Cpu, Category::Cpu],
            _ => continue,
        };
        let name = track.summary.name.as_str();
        let name = name.rsplit_once(" (").map_or(name, |(image, _)| image);
        let names_track = |key_name: &str| {
            let has_prefix = key_name.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
            has_prefix && matches!(key_name.as_bytes().get(name.len()), None | Some(b'.'))
        };
        let matching =
            measures.iter().filter(|measure| categories.contains(&measure.category) && names_track(&measure.name));
        let largest = matching.max_by_key(|measure| compare_text::size_of(measure));
        track.mark = largest.and_then(|measure| {
            let change = measure.changes.first()?;
            let side = usize::from(change.verdict != Verdict::Gone);
            let ns = change.difference.or_else(|| measure.values.get(side)?.median).unwrap_or(0);
            let sign = if change.difference.is_some_and(|ns| ns > 0) { "+" } else { "" };
            let text = match measure.unit {
                MeasureUnit::Ns if change.difference.is_some() => format!("{sign}{}", duration(ns)),
                MeasureUnit::Ns => format!("{} {}", change.verdict.as_str(), duration(ns)),
                MeasureUnit::Bytes | MeasureUnit::Count => change.verdict.as_str().to_owned(),
            };
            Some(PageMark { verdict: change.verdict.as_str(), text })
        });
        let has_moved = || {
            moved_keys.iter().any(|key| {
                categories.iter().any(|category| {
                    let name = key.split_once('.').map_or(*key, |(_, name)| name);
                    name.strip_prefix(category.as_str())
                        .and_then(|name| name.strip_prefix('.'))
                        .is_some_and(names_track)
                })
            })
        };
        if track.mark.is_none() && !is_baseline && has_moved() {
            track.mark = Some(PageMark { verdict: "moved", text: "order changed".to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use onoff_lanes::{LaneKind, TrackSummary};

    use super::*;
    use onoff_compare::{CompareOptions, Measure, RunSubject, compare};

    fn run(name: &str, measures: &[(&str, Category, i64)]) -> Run {
        Run {
            name: name.to_owned(),
            transition: RunSubject::Boot,
            kind: "cold".to_owned(),
            exclusions: Vec::new(),
            machine: None,
            recording: None,
            user_input_ns: 0,
            settings: String::new(),
            outcome: String::new(),
            measures: measures
                .iter()
                .map(|&(key, category, value)| Measure {
                    key: key.to_owned(),
                    category,
                    unit: MeasureUnit::Ns,
                    value,
                    phase: None,
                    since_phase_ns: None,
                    doubtful: false,
                    subject: None,
                })
                .collect(),
        }
    }

    fn sides() -> Vec<Configuration> {
        let side = |name: &str, totals: [i64; 3], spooler: Option<i64>| Configuration {
            name: name.to_owned(),
            factors: Vec::new(),
            runs: totals
                .iter()
                .enumerate()
                .map(|(index, &total)| {
                    let mut measures = vec![
                        ("boot.total", Category::Total, total),
                        ("boot.service.Steady", Category::Service, 70_000_000),
                    ];
                    measures.extend(spooler.map(|ns| ("boot.service.Spooler", Category::Service, ns + index as i64)));
                    run(&format!("{name}{index}"), &measures)
                })
                .collect(),
        };
        let second = 1_000_000_000;
        vec![
            side("baseline", [20 * second, 22 * second, 21 * second], Some(100_000_000)),
            side("candidate", [29 * second, 31 * second, 35 * second], Some(9_100_000_000)),
        ]
    }

    fn track(group: TrackGroup, name: &str) -> PageTrack {
        let summary = TrackSummary {
            id: 0,
            group,
            section: String::new(),
            name: name.to_owned(),
            note: String::new(),
            kind: LaneKind::Slices,
            rows: 1,
            total_ns: 0,
        };
        PageTrack { summary, mark: None }
    }

    #[test]
    fn lists_every_run_and_picks_the_run_nearest_to_the_median() {
        let sides = sides();
        let answer = compare(&sides, &CompareOptions::default()).unwrap();
        let page = comparison(&sides, &answer);
        assert_eq!(page.lists[0].rows[0].values[1], [29, 31, 35].map(|s| Some(s * 1_000_000_000)));
        assert_eq!(page.lists[0].rows[0].verdict, "slower");
        let services = page.lists.iter().find(|list| list.category == "service").unwrap();
        assert_eq!((services.rows.len(), services.of), (1, 2), "unchanged measures are counted, not listed");
        assert_eq!(representative_run(&sides, &answer, 0, |_| true), Some(2));
        assert_eq!(representative_run(&sides, &answer, 1, |_| true), Some(1));
        assert_eq!(
            representative_run(&sides, &answer, 1, |index| index == 0),
            Some(0),
            "runs of a saved baseline have no file"
        );
        assert_eq!(representative_run(&sides, &answer, 1, |_| false), None);
    }

    #[test]
    fn marks_only_tracks_that_changed() {
        let sides = sides();
        let answer = compare(&sides, &CompareOptions::default()).unwrap();
        let mut tracks = [
            track(TrackGroup::Services, "spooler"),
            track(TrackGroup::Services, "Spool"),
            track(TrackGroup::Services, "Steady"),
            track(TrackGroup::Devices, "Spooler"),
        ];
        mark_changed_tracks(&mut tracks, &answer, false);
        let marks: Vec<Option<&str>> =
            tracks.iter().map(|track| track.mark.as_ref().map(|mark| mark.text.as_str())).collect();
        assert_eq!(marks, [Some("+9.00 s"), None, None, None]);
        mark_changed_tracks(&mut tracks, &answer, true);
        assert!(tracks.iter().all(|track| track.mark.is_none()), "the baseline marks only removed subjects");
    }
}
