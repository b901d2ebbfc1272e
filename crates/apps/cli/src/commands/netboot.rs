//! `onoff netboot`.

use onoff_netboot::MacAddress;
use onoff_network::model::Settings;
use onoff_network::outcome::Verdict;
use onoff_network::report::NetbootReport;
use onoff_network::{ClientFilter, NetbootOptions};
use onoff_report::svg;
use onoff_report::text;
use onoff_report::text::netboot::NetbootTextOptions;
use onoff_sections::csv;
use onoff_sections::json;
use onoff_sections::section;

use crate::arguments::netboot::{ExpectedOutcome, NetbootArguments, NetbootOutput};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

pub fn resolve(arguments: NetbootArguments) -> Result<Invocation, Failure> {
    let options = NetbootOptions {
        client: arguments.client.as_deref().map(client_filter).transpose()?,
        link_bits_per_s: link_rate(&arguments.link_rate)?,
        what_if: settings(&arguments)?,
    };
    let NetbootArguments { files, format, top, output, expect, .. } = arguments;
    let invocation = Invocation::new(Recording::from_files(files), output, move |recording, destination| {
        run(recording, &options, (format, top), expect, destination)
    });
    Ok(invocation.text_if(format == NetbootOutput::Text))
}

fn client_filter(text: &str) -> Result<ClientFilter, Failure> {
    let station = MacAddress::parse(text).map(ClientFilter::Station);
    let address = text.parse().ok().map(ClientFilter::Address);
    station.or(address).ok_or_else(|| {
        Failure::no_data(format!("--client: '{text}' is neither a MAC address (52:54:00:77:00:01) nor an IP address"))
    })
}

/// Parses the what-if settings.
fn settings(arguments: &NetbootArguments) -> Result<Settings, Failure> {
    let check_range = |name: &str, value: Option<u32>, range: std::ops::RangeInclusive<u32>| match value {
        Some(value) if !range.contains(&value) => {
            Err(Failure::no_data(format!("--{name}: {value} is outside {} to {}", range.start(), range.end())))
        }
        value => Ok(value),
    };
    Ok(Settings {
        // Limits from RFC 7440 and RFC 2348.
        window: check_range("window", arguments.window, 1..=65_535)?,
        block_size: check_range("block", arguments.block, 8..=65_464)?,
        round_trip_ns: arguments.rtt.as_deref().map(round_trip).transpose()?,
        loss: arguments.loss.as_deref().map(loss).transpose()?,
    })
}

/// Parses a round-trip time: `800us`, `5ms`, `0.1s`. Returns ns.
fn round_trip(text: &str) -> Result<i64, Failure> {
    let units = [("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let time_ns = units
        .into_iter()
        .find_map(|(unit, unit_ns)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * unit_ns));
    match time_ns {
        Some(ns) if (0.0..=60e9).contains(&ns) => Ok(ns as i64),
        _ => Err(Failure::no_data(format!("--rtt: '{text}' is not a time of at most 60 s; use 800us, 5ms or 0.1s"))),
    }
}

/// Parses a percentage: `0.5` or `0.5%`. Returns a fraction.
fn loss(text: &str) -> Result<f64, Failure> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(percent) if (0.0..=50.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(Failure::no_data(format!("--loss: '{text}' is not a percentage from 0 to 50; use 0.5%"))),
    }
}

/// Parses a link speed: `100M`, `1G`, `2.5G`. Returns bits per second.
fn link_rate(text: &str) -> Result<u64, Failure> {
    let (digits, factor) = match text.char_indices().last() {
        Some((index, 'k' | 'K')) => (&text[..index], 1e3),
        Some((index, 'm' | 'M')) => (&text[..index], 1e6),
        Some((index, 'g' | 'G')) => (&text[..index], 1e9),
        _ => (text, 1.0),
    };
    let rate = digits.parse::<f64>().ok().map(|rate| rate * factor);
    match rate {
        Some(rate) if (1e3..=1e13).contains(&rate) => Ok(rate as u64),
        _ => Err(Failure::no_data(format!("--link-rate: '{text}' is not a link speed; use 100M, 1G or 2.5G"))),
    }
}

fn run(
    recording: Recording,
    options: &NetbootOptions,
    (format, top): (NetbootOutput, usize),
    expected: Option<ExpectedOutcome>,
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, report) = super::query(recording, |session| session.netboot(options))?;
    let report = report.map_err(Failure::from_query_error)?;
    destination.write(|out| {
        match format {
            NetbootOutput::Text => {
                text::netboot::write(&report, &NetbootTextOptions { top, what_if: options.what_if }, out)?
            }
            NetbootOutput::Csv => section::csv::write(&[csv::netboot::rows(&report)], out)?,
            NetbootOutput::Svg => svg::netboot::write(&report, out)?,
            NetbootOutput::Json => json::document::write(&[session.provenance()?], &report, out)?,
        }
        Ok(())
    })?;
    expected.map_or(Ok(()), |expected| check(&report, expected))
}

/// Fails if a boot has another outcome than expected, or none that is known.
fn check(report: &NetbootReport, expected: ExpectedOutcome) -> Result<(), Failure> {
    const UNEXPECTED: u8 = 1;
    const UNKNOWN: u8 = 2;
    let expected = expected.verdict();
    let mut verdicts = report.boots.iter().map(|boot| boot.outcome.verdict).filter(|verdict| *verdict != expected);
    let Some(first) = verdicts.next() else { return Ok(()) };
    let is_unknown = |verdict: Verdict| verdict == Verdict::Unknown;
    let all_unknown = is_unknown(first) && verdicts.all(is_unknown);
    Err(Failure::Reported(if all_unknown { UNKNOWN } else { UNEXPECTED }))
}
