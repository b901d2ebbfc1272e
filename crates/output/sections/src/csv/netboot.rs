//! The rows of a network boot report: stages, transfers and downloads.

use onoff_netboot::transfer::Outcome;
use onoff_network::report::{FileTransfer, NetbootReport, NetworkBoot};

use crate::section::Section;
use crate::table::Value;

/// A row; `transfer` has the columns that only transfers have.
struct Row<'a> {
    client: String,
    kind: &'static str,
    name: &'a str,
    detail: String,
    start_ns: i64,
    end_ns: i64,
    duration_ns: i64,
    bytes: Option<u64>,
    transfer: Option<&'a FileTransfer>,
}

/// Lists the stages, transfers and downloads of all boots; unknown values are empty.
#[must_use]
pub fn rows(report: &NetbootReport) -> Section<'_> {
    let file_count =
        |row: &Row<'_>, count: fn(&FileTransfer) -> u64| Value::from_option(row.transfer.map(count), Value::Count);
    let file_duration = |row: &Row<'_>, ns: fn(&FileTransfer) -> Option<i64>| {
        Value::from_option(row.transfer.and_then(ns), Value::Duration)
    };
    Section::builder("network_boots", "Network boots", report.boots.iter().flat_map(boot_rows))
        .data("client", |row| Value::Text(row.client.clone().into()))
        .data("kind", |row| Value::text(row.kind))
        .data("name", |row| Value::text(row.name))
        .data("detail", |row| Value::Text(row.detail.clone().into()))
        .data("start_ns", |row| Value::Time(row.start_ns))
        .data("end_ns", |row| Value::Time(row.end_ns))
        .data("duration_ns", |row| Value::Duration(row.duration_ns))
        .data("bytes", |row| Value::from_option(row.bytes, Value::Bytes))
        .data("block_size", |row| file_count(row, |file| file.block_size.into()))
        .data("window", |row| file_count(row, |file| file.window.into()))
        .data("data_packets", |row| file_count(row, |file| file.counts.data_packets))
        .data("blocks", |row| file_count(row, |file| file.counts.blocks))
        .data("repeated_data", |row| file_count(row, |file| file.counts.repeated_data))
        .data("acknowledgments", |row| file_count(row, |file| file.counts.acknowledgments))
        .data("timeout_count", |row| file_count(row, |file| file.timeout_count))
        .data("timeout_ns", |row| file_duration(row, |file| Some(file.timeout_ns)))
        .data("server_turn_median_ns", |row| file_duration(row, |file| file.server_turn.median_ns))
        .data("client_turn_median_ns", |row| file_duration(row, |file| file.client_turn.median_ns))
        .data("unexplained_ns", |row| file_duration(row, |file| Some(file.model.as_ref()?.unexplained_ns)))
        .build()
}

fn boot_rows(boot: &NetworkBoot) -> Vec<Row<'_>> {
    let client = match (boot.client.mac, boot.client.addresses.first()) {
        (Some(mac), _) => mac.to_string(),
        (None, address) => address.cloned().unwrap_or_default(),
    };
    let mut rows = Vec::new();
    rows.extend(boot.stages.iter().map(|stage| Row {
        client: client.clone(),
        kind: "stage",
        name: stage.kind.as_str(),
        detail: stage.detail.clone(),
        start_ns: stage.start_ns,
        end_ns: stage.end_ns,
        duration_ns: stage.duration_ns,
        bytes: None,
        transfer: None,
    }));
    rows.extend(boot.transfers.iter().map(|file| Row {
        client: client.clone(),
        kind: "tftp",
        name: &file.file,
        detail: outcome(file.outcome).to_owned(),
        start_ns: file.request_ns,
        end_ns: file.end_ns,
        duration_ns: file.end_ns.saturating_sub(file.request_ns),
        bytes: Some(file.counts.bytes),
        transfer: Some(file),
    }));
    rows.extend(boot.downloads.iter().map(|download| Row {
        client: client.clone(),
        kind: "http",
        name: &download.url,
        detail: download.status.map_or_else(String::new, |status| status.to_string()),
        start_ns: download.start_ns,
        end_ns: download.end_ns,
        duration_ns: download.duration_ns,
        bytes: Some(download.bytes),
        transfer: None,
    }));
    rows
}

/// Returns the name of the outcome of a transfer.
#[must_use]
pub const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::SizeProbe => "size_probe",
        Outcome::Refused => "refused",
        Outcome::Aborted => "aborted",
        Outcome::Unfinished => "unfinished",
    }
}
