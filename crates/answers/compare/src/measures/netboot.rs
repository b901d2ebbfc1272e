//! Converts a network boot to a run: its stages and files, independent of the clocks of capture and machine.

use onoff_netboot::transfer::Outcome;

use super::Origin;
use super::collector::Collector;
use crate::run::{Category, Exclusion, ExclusionReason, MeasureUnit, Run, RunSubject};
use onoff_network::report::{CaptureSide, NetworkBoot};

/// Maximum length of the description of an outcome, characters.
const MAX_OUTCOME_CHARS: usize = 1_000;

/// Converts a network boot. Failed and completed boots differ in kind. Addresses, window and block size are not part of
/// the kind, because they are what users compare.
#[must_use]
pub fn network_boot_run(origin: &Origin, boot: &NetworkBoot) -> Run {
    let mut measures = Collector::new(RunSubject::Netboot);
    measures.total("total", Some(boot.duration_ns));
    let files = boot.transfers.iter().filter(|file| file.outcome == Outcome::Complete && !file.write);
    if boot.total.files > 0 {
        measures.total("transfers", Some(boot.total.duration_ns));
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        measures.number("bytes", MeasureUnit::Bytes, count(boot.total.bytes));
        let repeated = files.clone().fold(0_u64, |sum, file| sum.saturating_add(file.counts.repeated_data));
        measures.number("repeated_blocks", MeasureUnit::Count, count(repeated));
    }
    let blame = &boot.blame;
    let has_round_trip = blame.round_trip_ns.is_some();
    // Without a measured round trip, it is part of the turns of the end that is far from the capture point.
    let is_pure = |side: CaptureSide| has_round_trip || boot.capture_side == side;
    measures.total("client", is_pure(CaptureSide::Client).then_some(blame.client.ns));
    measures.total("server", is_pure(CaptureSide::Server).then_some(blame.server.ns));
    measures.total("network", has_round_trip.then_some(blame.network.ns));
    measures.total("timeouts", Some(blame.timeouts.ns));
    for stage in &boot.stages {
        measures.stage(stage.kind.as_str(), stage.start_ns, stage.duration_ns);
    }
    for file in files.clone() {
        measures.item(Category::Step, &file.file, file.request_ns, file.duration_ns, false);
    }
    for download in boot.downloads.iter().filter(|download| download.complete) {
        measures.item(Category::Step, &download.url, download.start_ns, Some(download.duration_ns), false);
    }
    let missing = boot.transfers.iter().fold(0_u64, |sum, file| sum.saturating_add(file.counts.missing_blocks));
    let exclusion = (missing > 0).then(|| Exclusion {
        reason: ExclusionReason::Losses,
        text: format!("{missing} acknowledged blocks are missing from the capture"),
    });
    Run {
        name: origin.name.clone(),
        transition: RunSubject::Netboot,
        kind: boot.outcome.verdict.as_str().to_owned(),
        exclusions: exclusion.into_iter().collect(),
        machine: origin.machine.clone(),
        recording: origin.recording,
        user_input_ns: 0,
        settings: settings(boot),
        outcome: boot.outcome.description.chars().take(MAX_OUTCOME_CHARS).collect(),
        measures: measures.finish(),
    }
}

/// Returns IP version, window and block size of the largest completed file, or the IP version and `HTTP`.
fn settings(boot: &NetworkBoot) -> String {
    let files = boot
        .transfers
        .iter()
        .filter(|file| file.outcome == Outcome::Complete && !file.write && !file.started_before_capture);
    let family = |address: &str| if address.contains('[') { "IPv6" } else { "IPv4" };
    if let Some(file) = files.max_by_key(|file| file.counts.bytes) {
        let window = match (file.variable_window, file.window) {
            (true, _) => "variable window".to_owned(),
            (false, 1) => "no window".to_owned(),
            (false, window) => format!("window {window}"),
        };
        return format!("{}, {window}, block size {} bytes", family(&file.client), file.block_size);
    }
    let downloads = boot.downloads.iter().filter(|download| download.complete);
    downloads
        .max_by_key(|download| download.bytes)
        .map_or_else(String::new, |download| format!("{}, HTTP", family(&download.server)))
}
