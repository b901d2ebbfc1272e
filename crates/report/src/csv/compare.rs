//! A comparison: one row per measure and configuration.

use onoff_analysis::compare::{Change, Comparison, Configuration, MeasureUnit};

use crate::section::{Heading, Section};
use crate::table::Value;

/// The measures. What a row does not have is empty.
#[must_use]
pub fn measures(comparison: &Comparison) -> Section<'_> {
    let (data, integer, number) = (Heading::data, integer, number);
    let rows = comparison.measures.iter().flat_map(|measure| {
        let configurations = comparison.configurations.iter().zip(&measure.values).enumerate();
        configurations.map(move |(at, (configuration, spread))| {
            let change: Option<&Change> = at.checked_sub(1).and_then(|at| measure.changes.get(at));
            (measure, configuration, spread, change, at)
        })
    });
    Section::of("measures", "Measures", rows)
        .column(data("key"), |row| Value::text(&row.0.key))
        .column(data("category"), |row| Value::text(row.0.category.as_str()))
        .column(data("name"), |row| Value::text(&row.0.name))
        .column(data("unit"), |row| Value::text(unit(row.0.unit)))
        .column(data("configuration"), |row| Value::text(&row.1.name))
        .column(data("runs"), |row| Value::Count(row.2.runs))
        .column(data("left_out"), |row| Value::Count(row.2.left_out))
        .column(data("median"), move |row| integer(row.2.median))
        .column(data("least"), move |row| integer(row.2.least))
        .column(data("most"), move |row| integer(row.2.most))
        .column(data("noise_floor"), move |row| integer(row.0.noise_floor.filter(|_| row.4 == 0)))
        .column(data("difference"), move |row| integer(row.3.and_then(|change| change.difference)))
        .column(data("percent"), move |row| number(row.3.and_then(|change| change.percent)))
        .column(data("verdict"), |row| Value::text(row.3.map_or("", |change| change.verdict.as_str())))
        .column(data("low"), move |row| integer(row.3.and_then(|change| Some(change.interval?.low))))
        .column(data("high"), move |row| integer(row.3.and_then(|change| Some(change.interval?.high))))
        .column(data("cliffs_delta"), move |row| number(row.3.and_then(|change| change.cliffs_delta)))
        .column(data("p_value"), move |row| number(row.3.and_then(|change| change.p_value)))
        .column(data("least_p_value"), move |row| number(row.3.and_then(|change| change.least_p_value)))
        .done()
}

/// Every value of every run: one row per run and measure.
#[must_use]
pub fn runs<'c>(configurations: &'c [Configuration], comparison: &'c Comparison) -> Section<'c> {
    let data = Heading::data;
    let runs = configurations.iter().zip(&comparison.configurations).flat_map(|(configuration, summary)| {
        configuration.runs.iter().zip(&summary.runs).map(move |(run, compared)| (configuration, run, compared.compared))
    });
    let rows = runs.flat_map(|(configuration, run, compared)| {
        run.measures.iter().map(move |measure| (configuration, run, compared, measure))
    });
    Section::of("runs", "Runs", rows)
        .column(data("configuration"), |row| Value::text(&row.0.name))
        .column(data("run"), |row| Value::text(&row.1.name))
        .column(data("compared"), |row| Value::text(if row.2 { "true" } else { "false" }))
        .column(data("key"), |row| Value::text(&row.3.key))
        .column(data("category"), |row| Value::text(row.3.category.as_str()))
        .column(data("unit"), |row| Value::text(unit(row.3.unit)))
        .column(data("value"), |row| Value::Id(row.3.value))
        .done()
}

fn integer(value: Option<i64>) -> Value<'static> {
    Value::of(value, Value::Id)
}

fn number(value: Option<f64>) -> Value<'static> {
    Value::of(value, |value| Value::Real { value, decimals: 6 })
}

const fn unit(unit: MeasureUnit) -> &'static str {
    match unit {
        MeasureUnit::Ns => "ns",
        MeasureUnit::Bytes => "bytes",
        MeasureUnit::Count => "count",
    }
}
