//! Tables as in papers: a few measures for the configurations of a study, side by side.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use super::report::{ComparedMeasure, Comparison};
use super::run::{Category, Factor, MeasureUnit};
use super::study_table::{CellUnit, StudyCell, StudyRow, StudyTable, TimeUnit};

/// The rows of the table are its measures.
const ROWS_ARE_MEASURES: &str = "measures";
/// The rows of the table are the configurations.
const ROWS_ARE_CONFIGURATIONS: &str = "configurations";

/// Specification of a table, written by the user in a study file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpecification {
    /// Title.
    pub title: String,
    /// Keys of the measures, in order.
    pub measures: Vec<String>,
    /// Labels of the measures; by default their keys.
    #[serde(default)]
    pub labels: Vec<String>,
    /// What the rows are: `measures`, `configurations`, or the name of a factor.
    #[serde(default)]
    pub rows: String,
    /// What the columns are if the rows are a factor: the name of another factor.
    #[serde(default)]
    pub columns: String,
    /// Restricts the configurations to these factor levels.
    #[serde(default)]
    pub only: BTreeMap<String, String>,
    /// Adds a last column: the reduction of this measure compared with the first row.
    #[serde(default)]
    pub reduction_of: Option<String>,
    /// Unit of times.
    #[serde(default)]
    pub unit: TimeUnit,
    /// Number of decimals of times.
    #[serde(default)]
    pub decimals: u8,
}

/// The table cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("table '{title}': {reason}")]
pub struct TableError {
    title: String,
    reason: String,
}

impl TableSpecification {
    /// A table with the totals and phases of `comparison`, one per row.
    #[must_use]
    pub fn totals_and_phases(comparison: &Comparison) -> Self {
        let shown = |measure: &&ComparedMeasure| measure.category.keeps_order();
        let measures: Vec<&ComparedMeasure> = comparison.measures.iter().filter(shown).collect();
        Self {
            title: match comparison.transition.as_str() {
                "boot" => "Boot".to_owned(),
                "shutdown" => "Shutdown".to_owned(),
                _ => "Sleep and resume".to_owned(),
            },
            labels: measures
                .iter()
                .map(|measure| match measure.category {
                    Category::Phase => measure.name.clone(),
                    _ => measure.name.replace('_', " "),
                })
                .collect(),
            measures: measures.iter().map(|it| it.key.clone()).collect(),
            unit: TimeUnit::S,
            decimals: 3,
            ..Self::default()
        }
    }

    /// Builds the table.
    ///
    /// # Errors
    /// A measure, factor or level does not exist, or cells are not unique.
    pub fn build(&self, comparison: &Comparison) -> Result<StudyTable, TableError> {
        let refuse = |reason: String| TableError { title: self.title.clone(), reason };
        let mut measures = Vec::new();
        for (at, key) in self.measures.iter().enumerate() {
            let measure = comparison.measure(key).ok_or_else(|| refuse(comparison.unknown_measure(key)))?;
            let label = self.labels.get(at).unwrap_or(key).clone();
            measures.push((label, measure));
        }
        if measures.is_empty() {
            return Err(refuse("no measures".to_owned()));
        }
        let chosen: Vec<usize> = comparison
            .configurations
            .iter()
            .enumerate()
            .filter(|(_, it)| self.only.iter().all(|(name, wanted)| level(&it.factors, name) == Some(wanted)))
            .map(|(at, _)| at)
            .collect();
        if chosen.is_empty() {
            return Err(refuse("no configuration matches 'only'".to_owned()));
        }
        let mut table = StudyTable {
            title: self.title.clone(),
            unit: self.unit,
            decimals: self.decimals.min(9),
            heading: String::new(),
            columns: Vec::new(),
            rows: Vec::new(),
        };
        match self.rows.as_str() {
            "" | ROWS_ARE_MEASURES => self.fill_measure_rows(comparison, &measures, &chosen, &mut table),
            ROWS_ARE_CONFIGURATIONS => {
                self.fill_configuration_rows(comparison, &measures, &chosen, &mut table).map_err(refuse)?
            }
            factor => self.fill_factor_rows(factor, comparison, &measures, &chosen, &mut table).map_err(refuse)?,
        }
        Ok(table)
    }

    fn fill_measure_rows(
        &self,
        comparison: &Comparison,
        measures: &[(String, &ComparedMeasure)],
        chosen: &[usize],
        table: &mut StudyTable,
    ) {
        table.columns = chosen.iter().map(|&at| name(comparison, at)).collect();
        let pair = match *chosen {
            [was, is] => Some((was, is)),
            _ => None,
        };
        if pair.is_some() {
            table.columns.extend(["Difference".to_owned(), "%".to_owned()]);
        }
        for (label, measure) in measures {
            let mut cells: Vec<StudyCell> =
                chosen.iter().map(|&at| self.cell(measure.unit, median(measure, at))).collect();
            if let Some((was, is)) = pair {
                let (was, is) = (median(measure, was), median(measure, is));
                let difference = was.zip(is).map(|(was, is)| is.saturating_sub(was));
                cells.push(self.cell(measure.unit, difference));
                let percent = difference
                    .zip(was.filter(|&was| was > 0))
                    .map(|(difference, was)| difference as f64 * 100.0 / was as f64);
                cells.push(StudyCell { number: percent, unit: CellUnit::Percent });
            }
            table.rows.push(StudyRow { label: label.clone(), cells });
        }
    }

    fn fill_configuration_rows(
        &self,
        comparison: &Comparison,
        measures: &[(String, &ComparedMeasure)],
        chosen: &[usize],
        table: &mut StudyTable,
    ) -> Result<(), String> {
        let reduced = match &self.reduction_of {
            Some(key) => Some(comparison.measure(key).ok_or_else(|| comparison.unknown_measure(key))?),
            None => None,
        };
        table.columns = measures.iter().map(|(label, _)| label.clone()).collect();
        if reduced.is_some() {
            table.columns.push("Reduction".to_owned());
        }
        let first = chosen.first().copied();
        for &at in chosen {
            let mut cells: Vec<StudyCell> =
                measures.iter().map(|(_, measure)| self.cell(measure.unit, median(measure, at))).collect();
            if let Some(reduced) = reduced {
                let was = first.filter(|&first| first != at).and_then(|first| median(reduced, first));
                let less = was.zip(median(reduced, at)).map(|(was, is)| was.saturating_sub(is));
                cells.push(self.cell(reduced.unit, less));
            }
            table.rows.push(StudyRow { label: name(comparison, at), cells });
        }
        Ok(())
    }

    fn fill_factor_rows(
        &self,
        factor: &str,
        comparison: &Comparison,
        measures: &[(String, &ComparedMeasure)],
        chosen: &[usize],
        table: &mut StudyTable,
    ) -> Result<(), String> {
        factor.clone_into(&mut table.heading);
        let level_of = |at: usize, name: &str| {
            let configuration = comparison.configurations.get(at)?;
            level(&configuration.factors, name).cloned()
        };
        let levels = |name: &str| -> Result<Vec<String>, String> {
            let mut levels = Vec::new();
            for &at in chosen {
                let level = level_of(at, name).ok_or_else(|| format!("a configuration has no factor '{name}'"))?;
                if !levels.contains(&level) {
                    levels.push(level);
                }
            }
            Ok(levels)
        };
        let rows = levels(factor)?;
        let across = match self.columns.as_str() {
            "" => vec![String::new()],
            columns => levels(columns)?,
        };
        for column in &across {
            for (label, _) in measures {
                table.columns.push(match (column.as_str(), measures.len()) {
                    ("", _) => label.clone(),
                    (column, 1) => format!("{}: {column}", self.columns),
                    (column, _) => format!("{label}, {}: {column}", self.columns),
                });
            }
        }
        for row in rows {
            let mut cells = Vec::new();
            for column in &across {
                let mut matching = chosen.iter().copied().filter(|&at| {
                    level_of(at, factor).as_ref() == Some(&row)
                        && (column.is_empty() || level_of(at, &self.columns).as_ref() == Some(column))
                });
                let at = matching.next();
                if matching.next().is_some() {
                    return Err(format!("several configurations have {factor} '{row}'; add 'only' or 'columns'"));
                }
                for (_, measure) in measures {
                    cells.push(self.cell(measure.unit, at.and_then(|at| median(measure, at))));
                }
            }
            table.rows.push(StudyRow { label: row, cells });
        }
        Ok(())
    }

    fn cell(&self, unit: MeasureUnit, value: Option<i64>) -> StudyCell {
        let (divisor, unit) = match unit {
            MeasureUnit::Ns => (self.unit.nanoseconds(), CellUnit::Time),
            MeasureUnit::Bytes => (1_048_576.0, CellUnit::Mebibytes),
            MeasureUnit::Count => (1.0, CellUnit::Count),
        };
        StudyCell { number: value.map(|value| value as f64 / divisor), unit }
    }
}

fn level<'a>(factors: &'a [Factor], name: &str) -> Option<&'a String> {
    factors.iter().find(|factor| factor.name == name).map(|factor| &factor.level)
}

fn median(measure: &ComparedMeasure, configuration: usize) -> Option<i64> {
    measure.values.get(configuration)?.median
}

fn name(comparison: &Comparison, configuration: usize) -> String {
    comparison.configurations.get(configuration).map(|it| it.name.clone()).unwrap_or_default()
}
