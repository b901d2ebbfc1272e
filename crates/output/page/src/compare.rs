//! The page's content of a comparison, from the answer of `onoff compare`.

use hashbrown::HashMap;

use onoff_compare::{Category, ComparedMeasure, Comparison, Configuration, MeasureUnit, PartChange, Run, Verdict};
use onoff_report::text::compare as said;
use onoff_report::text::quantity::duration;
use onoff_report::text::why::account::kind;
use serde::Serialize;

use crate::track::{PageMark, PageTrack};
use onoff_lanes::TrackGroup;

/// Measures of a category besides totals and phases that the page lists, those that differ most.
const MAX_MEASURES: usize = 60;
/// Things that moved that the page lists.
const MAX_MOVED: usize = 60;

/// Two sets of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageComparison {
    /// The answer in sentences.
    pub answer: Vec<String>,
    /// The sides, the baseline first.
    pub sides: Vec<PageSide>,
    /// What explains the difference of each phase, the largest first.
    pub explanations: Vec<PageExplanation>,
    /// Lists of measures.
    pub lists: Vec<PageMeasures>,
    /// What happened in another order, as sentences.
    pub moved: Vec<String>,
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageSide {
    /// Name.
    pub name: String,
    /// Its runs.
    pub runs: Vec<PageRun>,
    /// Number of the page's recording that is the run nearest to the median; `None` when its file is not at hand.
    pub recording: Option<usize>,
    /// Which run that is.
    pub shown_run: Option<usize>,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageRun {
    /// Name: its file.
    pub name: String,
    /// Why it is not compared; empty when it is.
    pub set_apart: Vec<String>,
}

/// What explains the difference of a phase, by the account.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageExplanation {
    /// The phase.
    pub phase: String,
    /// All of it in one sentence.
    pub sentence: String,
    /// Candidate less baseline, ns.
    pub difference_ns: i64,
    /// Whose time it is.
    pub parts: Vec<PagePart>,
    /// Time of those that differ the other way, ns.
    pub against_ns: i64,
    /// What is left, ns.
    pub not_explained_ns: i64,
}

/// A subject whose time explains a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PagePart {
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: &'static str,
    /// What became of it.
    pub change: &'static str,
    /// Baseline's median, ns.
    pub was_ns: i64,
    /// Candidate's median, ns.
    pub is_ns: i64,
    /// The difference, ns.
    pub difference_ns: i64,
}

/// The measures of a category.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageMeasures {
    /// `total`, `phase`, `service`, as in the keys.
    pub category: &'static str,
    /// Title.
    pub title: &'static str,
    /// Measures of the category, with those that are not listed because they do not differ.
    pub of: usize,
    /// The listed ones.
    pub rows: Vec<PageMeasure>,
}

/// A measure of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageMeasure {
    /// Key, as `--limit` takes it.
    pub key: String,
    /// What it is called.
    pub label: String,
    /// `ns`, `bytes` or `count`.
    pub unit: &'static str,
    /// By side and run; `null` where a run does not have it.
    pub values: Vec<Vec<Option<i64>>>,
    /// By side.
    pub medians: Vec<Option<i64>>,
    /// Candidate less baseline.
    pub difference: Option<i64>,
    /// The same, percent.
    pub percent: Option<f64>,
    /// Where the difference lies with 95 % confidence.
    pub interval: Option<(i64, i64)>,
    /// How far the baseline's runs lie apart.
    pub noise: Option<i64>,
    /// Probability of ranks as uneven by chance.
    pub p_value: Option<f64>,
    /// `slower`, `faster`, `more`, `less`, `new`, `gone`, `same`, `unknown`.
    pub verdict: &'static str,
}

/// The page's content of a comparison of two sides.
#[must_use]
pub fn comparison(configurations: &[Configuration], comparison: &Comparison) -> PageComparison {
    let sides = comparison.configurations.iter().map(|side| PageSide {
        name: side.name.clone(),
        runs: side
            .runs
            .iter()
            .map(|run| PageRun {
                name: run.name.clone(),
                set_apart: run.set_apart.iter().map(|apart| apart.text.clone()).collect(),
            })
            .collect(),
        recording: None,
        shown_run: None,
    });
    let values: Vec<Vec<RunValues<'_>>> =
        configurations.iter().map(|side| side.runs.iter().map(RunValues::of).collect()).collect();
    PageComparison {
        answer: said::answer(comparison),
        sides: sides.collect(),
        explanations: explanations(comparison),
        lists: Category::ALL.into_iter().filter_map(|category| list(comparison, category, &values)).collect(),
        moved: comparison.moved.iter().take(MAX_MOVED).map(said::moved).collect(),
    }
}

fn explanations(comparison: &Comparison) -> Vec<PageExplanation> {
    let one = |one: &onoff_compare::Explanation| PageExplanation {
        phase: one.phase.clone(),
        sentence: said::explanation(one),
        difference_ns: one.difference_ns,
        parts: one
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
                was_ns: part.was_ns,
                is_ns: part.is_ns,
                difference_ns: part.difference_ns,
            })
            .collect(),
        against_ns: one.against_ns,
        not_explained_ns: one.not_explained_ns,
    };
    comparison.explanations.iter().map(one).collect()
}

fn list(comparison: &Comparison, category: Category, values: &[Vec<RunValues<'_>>]) -> Option<PageMeasures> {
    let all: Vec<&ComparedMeasure> =
        comparison.measures.iter().filter(|measure| measure.category == category).collect();
    let of = all.len();
    let mut rows = all;
    if !category.keeps_order() {
        rows.retain(|measure| said::differs(measure));
        rows.sort_by_key(|measure| std::cmp::Reverse(said::size_of(measure)));
        rows.truncate(MAX_MEASURES);
    }
    let rows: Vec<PageMeasure> = rows.into_iter().map(|measure| row(measure, values)).collect();
    let title = said::heading(category);
    (!rows.is_empty()).then_some(PageMeasures { category: category.as_str(), title, of, rows })
}

fn row(measure: &ComparedMeasure, values: &[Vec<RunValues<'_>>]) -> PageMeasure {
    let change = measure.changes.first();
    PageMeasure {
        key: measure.key.clone(),
        label: said::label(measure),
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

/// The values of one run by key.
struct RunValues<'a> {
    by_key: HashMap<String, i64>,
    /// Phases of which the run has an account.
    accounted: hashbrown::HashSet<&'a str>,
    keeps_case: bool,
}

impl<'a> RunValues<'a> {
    fn of(run: &'a Run) -> Self {
        let keeps_case = run.keeps_case();
        let accounts = run.measures.iter().filter(|measure| measure.category == Category::Account);
        Self {
            by_key: run.measures.iter().map(|measure| (matching(&measure.key, keeps_case), measure.value)).collect(),
            accounted: accounts.filter_map(|measure| measure.phase.as_deref()).collect(),
            keeps_case,
        }
    }

    /// The run's value: where what is absent was not worth a measure, none of it.
    fn value(&self, measure: &ComparedMeasure) -> Option<i64> {
        let known = self.by_key.get(&matching(&measure.key, self.keeps_case)).copied();
        let absent = match (&measure.subject, measure.category) {
            (Some(subject), _) => self.accounted.contains(subject.phase.as_str()),
            (None, category) => category.is_zero_when_absent(),
        };
        known.or(absent.then_some(0))
    }
}

/// Windows does not tell names by case.
fn matching(key: &str, keeps_case: bool) -> String {
    if keeps_case { key.to_owned() } else { key.to_ascii_lowercase() }
}

/// The run of a side that is shown in full: the one whose whole time is nearest to the median of those that are compared and
/// have files (`is_at_hand`).
#[must_use]
pub fn typical_run(
    configurations: &[Configuration],
    comparison: &Comparison,
    side: usize,
    is_at_hand: impl Fn(usize) -> bool,
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
        .filter(|(at, (_, summary))| summary.compared && is_at_hand(*at))
        .min_by_key(|(_, (run, _))| median.abs_diff(value(run)))
        .map(|(at, _)| at)
}

/// Marks on the tracks what became of what they show. `is_baseline` for those of the baseline, where only what is gone is marked.
pub fn mark(tracks: &mut [PageTrack], comparison: &Comparison, is_baseline: bool) {
    let differing = |measure: &&ComparedMeasure| {
        let change = measure.changes.first();
        change.is_some_and(|change| {
            !matches!(change.verdict, Verdict::Same | Verdict::Unknown)
                && (change.verdict == Verdict::Gone) == is_baseline
        }) && said::differs(measure)
    };
    let measures: Vec<&ComparedMeasure> = comparison.measures.iter().filter(differing).collect();
    let moved: Vec<&str> = comparison.moved.iter().map(|moved| moved.key.as_str()).collect();
    for track in tracks {
        let category = match track.summary.group {
            TrackGroup::Services => [Category::Service, Category::Service],
            TrackGroup::Devices => [Category::Driver, Category::Device],
            TrackGroup::Notifications => [Category::Application, Category::Step],
            TrackGroup::Session => [Category::Step, Category::Step],
            TrackGroup::Processes => [Category::Cpu, Category::Cpu],
            _ => continue,
        };
        let name = track.summary.name.as_str();
        let name = name.rsplit_once(" (").map_or(name, |(image, _)| image);
        let is_of_it = |key_name: &str| {
            let begins = key_name.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
            begins && matches!(key_name.as_bytes().get(name.len()), None | Some(b'.'))
        };
        let its = measures.iter().filter(|measure| category.contains(&measure.category) && is_of_it(&measure.name));
        let largest = its.max_by_key(|measure| said::size_of(measure));
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
            moved.iter().any(|key| {
                category.iter().any(|category| {
                    let rest = key.split_once('.').map_or(*key, |(_, rest)| rest);
                    rest.strip_prefix(category.as_str()).and_then(|it| it.strip_prefix('.')).is_some_and(is_of_it)
                })
            })
        };
        if track.mark.is_none() && !is_baseline && has_moved() {
            track.mark = Some(PageMark { verdict: "moved", text: "another order".to_owned() });
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
            set_apart: Vec::new(),
            machine: None,
            recording: None,
            person_ns: 0,
            settings: String::new(),
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
                .map(|(at, &total)| {
                    let mut measures = vec![
                        ("boot.total", Category::Total, total),
                        ("boot.service.Steady", Category::Service, 70_000_000),
                    ];
                    measures.extend(spooler.map(|ns| ("boot.service.Spooler", Category::Service, ns + at as i64)));
                    run(&format!("{name}{at}"), &measures)
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
    fn each_run_has_its_dot_and_the_typical_run_is_nearest_to_the_median() {
        let sides = sides();
        let answer = compare(&sides, &CompareOptions::default()).unwrap();
        let page = comparison(&sides, &answer);
        assert_eq!(page.lists[0].rows[0].values[1], [29, 31, 35].map(|s| Some(s * 1_000_000_000)));
        assert_eq!(page.lists[0].rows[0].verdict, "slower");
        let services = page.lists.iter().find(|list| list.category == "service").unwrap();
        assert_eq!((services.rows.len(), services.of), (1, 2), "what does not differ is counted, not listed");
        assert_eq!(typical_run(&sides, &answer, 0, |_| true), Some(2));
        assert_eq!(typical_run(&sides, &answer, 1, |_| true), Some(1));
        assert_eq!(typical_run(&sides, &answer, 1, |at| at == 0), Some(0), "of a kept baseline there is no file");
        assert_eq!(typical_run(&sides, &answer, 1, |_| false), None);
    }

    #[test]
    fn a_track_is_marked_when_what_it_shows_differs_and_only_then() {
        let sides = sides();
        let answer = compare(&sides, &CompareOptions::default()).unwrap();
        let mut tracks = [
            track(TrackGroup::Services, "spooler"),
            track(TrackGroup::Services, "Spool"),
            track(TrackGroup::Services, "Steady"),
            track(TrackGroup::Devices, "Spooler"),
        ];
        mark(&mut tracks, &answer, false);
        let marks: Vec<Option<&str>> =
            tracks.iter().map(|track| track.mark.as_ref().map(|mark| mark.text.as_str())).collect();
        assert_eq!(marks, [Some("+9.00 s"), None, None, None]);
        mark(&mut tracks, &answer, true);
        assert!(tracks.iter().all(|track| track.mark.is_none()), "in the baseline only what is gone is marked");
    }
}
