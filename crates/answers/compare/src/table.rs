//! Builds tables as in papers, with a few measures for the configurations of a study side by side.

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

/// Specification of a table in a study file.
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
    /// The rows: `measures`, `configurations`, or the name of a factor.
    #[serde(default)]
    pub rows: String,
    /// The columns if the rows are a factor: the name of another factor.
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

/// A table that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("table '{title}': {reason}")]
pub struct TableError {
    title: String,
    reason: String,
}

impl TableSpecification {
    /// Returns a table with the totals and phases of `comparison`, one per row.
    #[must_use]
    pub fn totals_and_phases(comparison: &Comparison) -> Self {
        let is_shown = |measure: &&ComparedMeasure| measure.category.keeps_order();
        let measures: Vec<&ComparedMeasure> = comparison.measures.iter().filter(is_shown).collect();
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
            measures: measures.iter().map(|measure| measure.key.clone()).collect(),
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
        let error = |reason: String| TableError { title: self.title.clone(), reason };
        let mut measures = Vec::new();
        for (index, key) in self.measures.iter().enumerate() {
            let measure = comparison.measure(key).ok_or_else(|| error(comparison.unknown_measure(key)))?;
            let label = self.labels.get(index).unwrap_or(key).clone();
            measures.push((label, measure));
        }
        if measures.is_empty() {
            return Err(error("no measures".to_owned()));
        }
        let chosen: Vec<usize> = comparison
            .configurations
            .iter()
            .enumerate()
            .filter(|(_, configuration)| {
                self.only.iter().all(|(name, required)| level(&configuration.factors, name) == Some(required))
            })
            .map(|(index, _)| index)
            .collect();
        if chosen.is_empty() {
            return Err(error("no configuration matches 'only'".to_owned()));
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
                self.fill_configuration_rows(comparison, &measures, &chosen, &mut table).map_err(error)?
            }
            factor => self.fill_factor_rows(factor, comparison, &measures, &chosen, &mut table).map_err(error)?,
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
        table.columns = chosen.iter().map(|&index| name(comparison, index)).collect();
        let pair = match *chosen {
            [first_index, second_index] => Some((first_index, second_index)),
            _ => None,
        };
        if pair.is_some() {
            table.columns.extend(["Difference".to_owned(), "%".to_owned()]);
        }
        for (label, measure) in measures {
            let mut cells: Vec<StudyCell> =
                chosen.iter().map(|&index| self.cell(measure.unit, median(measure, index))).collect();
            if let Some((first_index, second_index)) = pair {
                let (first_median, second_median) = (median(measure, first_index), median(measure, second_index));
                let difference = first_median.zip(second_median).map(|(first, second)| second.saturating_sub(first));
                cells.push(self.cell(measure.unit, difference));
                let percent = difference
                    .zip(first_median.filter(|&median| median > 0))
                    .map(|(difference, first_median)| difference as f64 * 100.0 / first_median as f64);
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
        let reduced_measure = match &self.reduction_of {
            Some(key) => Some(comparison.measure(key).ok_or_else(|| comparison.unknown_measure(key))?),
            None => None,
        };
        table.columns = measures.iter().map(|(label, _)| label.clone()).collect();
        if reduced_measure.is_some() {
            table.columns.push("Reduction".to_owned());
        }
        let first_index = chosen.first().copied();
        for &index in chosen {
            let mut cells: Vec<StudyCell> =
                measures.iter().map(|(_, measure)| self.cell(measure.unit, median(measure, index))).collect();
            if let Some(measure) = reduced_measure {
                let first_median = first_index.filter(|&first| first != index).and_then(|first| median(measure, first));
                let reduction =
                    first_median.zip(median(measure, index)).map(|(first, median)| first.saturating_sub(median));
                cells.push(self.cell(measure.unit, reduction));
            }
            table.rows.push(StudyRow { label: name(comparison, index), cells });
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
        let level_of = |index: usize, name: &str| {
            let configuration = comparison.configurations.get(index)?;
            level(&configuration.factors, name).cloned()
        };
        let levels = |name: &str| -> Result<Vec<String>, String> {
            let mut levels = Vec::new();
            for &index in chosen {
                let level = level_of(index, name).ok_or_else(|| format!("a configuration has no factor '{name}'"))?;
                if !levels.contains(&level) {
                    levels.push(level);
                }
            }
            Ok(levels)
        };
        let rows = levels(factor)?;
        let column_levels = match self.columns.as_str() {
            "" => vec![String::new()],
            columns => levels(columns)?,
        };
        for column in &column_levels {
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
            for column in &column_levels {
                let mut matching = chosen.iter().copied().filter(|&index| {
                    level_of(index, factor).as_ref() == Some(&row)
                        && (column.is_empty() || level_of(index, &self.columns).as_ref() == Some(column))
                });
                let configuration = matching.next();
                if matching.next().is_some() {
                    return Err(format!("several configurations have {factor} '{row}'; add 'only' or 'columns'"));
                }
                for (_, measure) in measures {
                    cells.push(self.cell(measure.unit, configuration.and_then(|index| median(measure, index))));
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
    comparison.configurations.get(configuration).map(|summary| summary.name.clone()).unwrap_or_default()
}
