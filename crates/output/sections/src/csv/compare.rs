//! The rows of a comparison: one per measure and configuration.

use onoff_compare::{Change, Comparison, Configuration, MeasureUnit};

use crate::section::Section;
use crate::table::Value;

/// Lists the measures; unknown values are empty.
#[must_use]
pub fn measures(comparison: &Comparison) -> Section<'_> {
    let rows = comparison.measures.iter().flat_map(|measure| {
        let configurations = comparison.configurations.iter().zip(&measure.values).enumerate();
        configurations.map(move |(index, (configuration, spread))| {
            let change: Option<&Change> = index.checked_sub(1).and_then(|index| measure.changes.get(index));
            (measure, configuration, spread, change, index)
        })
    });
    Section::builder("measures", "Measures", rows)
        .data("key", |row| Value::text(&row.0.key))
        .data("category", |row| Value::text(row.0.category.as_str()))
        .data("name", |row| Value::text(&row.0.name))
        .data("unit", |row| Value::text(unit(row.0.unit)))
        .data("configuration", |row| Value::text(&row.1.name))
        .data("runs", |row| Value::Count(row.2.runs))
        .data("excluded_runs", |row| Value::Count(row.2.excluded_runs))
        .data("median", move |row| integer(row.2.median))
        .data("min", move |row| integer(row.2.min))
        .data("max", move |row| integer(row.2.max))
        .data("noise_floor", move |row| integer(row.0.noise_floor.filter(|_| row.4 == 0)))
        .data("difference", move |row| integer(row.3.and_then(|change| change.difference)))
        .data("percent", move |row| number(row.3.and_then(|change| change.percent)))
        .data("verdict", |row| Value::text(row.3.map_or("", |change| change.verdict.as_str())))
        .data("low", move |row| integer(row.3.and_then(|change| Some(change.interval?.low))))
        .data("high", move |row| integer(row.3.and_then(|change| Some(change.interval?.high))))
        .data("cliffs_delta", move |row| number(row.3.and_then(|change| change.cliffs_delta)))
        .data("p_value", move |row| number(row.3.and_then(|change| change.p_value)))
        .data("min_p_value", move |row| number(row.3.and_then(|change| change.min_p_value)))
        .build()
}

/// Lists the values of all runs: one row per run and measure.
#[must_use]
pub fn runs<'c>(configurations: &'c [Configuration], comparison: &'c Comparison) -> Section<'c> {
    let runs = configurations.iter().zip(&comparison.configurations).flat_map(|(configuration, summary)| {
        configuration.runs.iter().zip(&summary.runs).map(move |(run, compared)| (configuration, run, compared.compared))
    });
    let rows = runs.flat_map(|(configuration, run, compared)| {
        run.measures.iter().map(move |measure| (configuration, run, compared, measure))
    });
    Section::builder("runs", "Runs", rows)
        .data("configuration", |row| Value::text(&row.0.name))
        .data("run", |row| Value::text(&row.1.name))
        .data("compared", |row| Value::text(if row.2 { "true" } else { "false" }))
        .data("key", |row| Value::text(&row.3.key))
        .data("category", |row| Value::text(row.3.category.as_str()))
        .data("unit", |row| Value::text(unit(row.3.unit)))
        .data("value", |row| Value::Id(row.3.value))
        .build()
}

fn integer(value: Option<i64>) -> Value<'static> {
    Value::from_option(value, Value::Id)
}

fn number(value: Option<f64>) -> Value<'static> {
    Value::from_option(value, |value| Value::Real { value, decimals: 6 })
}

const fn unit(unit: MeasureUnit) -> &'static str {
    match unit {
        MeasureUnit::Ns => "ns",
        MeasureUnit::Bytes => "bytes",
        MeasureUnit::Count => "count",
    }
}
