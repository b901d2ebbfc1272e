//! A comparison: one row per measure and configuration.

use std::io::{self, Write};

use onoff_analysis::compare::Comparison;

use super::row;

/// Writes the comparison. Names and units are those of the JSON; what a row does not have is empty.
///
/// # Errors
/// What `out` answers.
pub fn write(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "key,category,name,unit,configuration,runs,left_out,median,least,most,noise_floor,difference,percent,verdict,\
         low,high,cliffs_delta,p_value,least_p_value"
    )?;
    let integer = |value: Option<i64>| value.map(|value| value.to_string()).unwrap_or_default();
    let number = |value: Option<f64>| value.map(|value| format!("{value:.6}")).unwrap_or_default();
    for measure in &comparison.measures {
        let unit = match measure.unit {
            onoff_analysis::compare::MeasureUnit::Ns => "ns",
            onoff_analysis::compare::MeasureUnit::Bytes => "bytes",
            onoff_analysis::compare::MeasureUnit::Count => "count",
        };
        for (at, (configuration, spread)) in comparison.configurations.iter().zip(&measure.values).enumerate() {
            let change = at.checked_sub(1).and_then(|at| measure.changes.get(at));
            let (runs, left_out) = (spread.runs.to_string(), spread.left_out.to_string());
            let [median, least, most, noise, difference, low, high] = [
                spread.median,
                spread.least,
                spread.most,
                measure.noise_floor.filter(|_| at == 0),
                change.and_then(|change| change.difference),
                change.and_then(|change| Some(change.interval?.low)),
                change.and_then(|change| Some(change.interval?.high)),
            ]
            .map(integer);
            let [percent, delta, p_value, least_p_value] = [
                change.and_then(|change| change.percent),
                change.and_then(|change| change.cliffs_delta),
                change.and_then(|change| change.p_value),
                change.and_then(|change| change.least_p_value),
            ]
            .map(number);
            row(
                [
                    measure.key.as_str(),
                    measure.category.as_str(),
                    &measure.name,
                    unit,
                    &configuration.name,
                    &runs,
                    &left_out,
                    &median,
                    &least,
                    &most,
                    &noise,
                    &difference,
                    &percent,
                    change.map_or("", |change| change.verdict.as_str()),
                    &low,
                    &high,
                    &delta,
                    &p_value,
                    &least_p_value,
                ],
                out,
            )?;
        }
    }
    Ok(())
}
