//! Network boots: every stage, transfer and download, one row each.

use std::io::{self, Write};

use onoff_analysis::netboot::report::{NetbootReport, NetworkBoot};
use onoff_netboot::transfer::Outcome;

use super::row;

/// Writes the report. Names and units are those of the JSON; what a row does not have is empty.
///
/// # Errors
/// What `out` answers.
pub fn write(report: &NetbootReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "client,kind,name,detail,start_ns,end_ns,duration_ns,bytes,block_size,window,data_packets,blocks,repeated_data,\
         acknowledgments,timeout_count,timeout_ns,server_turn_median_ns,client_turn_median_ns,unexplained_ns"
    )?;
    for boot in &report.boots {
        let client = match (boot.client.mac, boot.client.addresses.first()) {
            (Some(mac), _) => mac.to_string(),
            (None, address) => address.cloned().unwrap_or_default(),
        };
        stages(&client, boot, out)?;
        transfers(&client, boot, out)?;
        downloads(&client, boot, out)?;
    }
    Ok(())
}

fn stages(client: &str, boot: &NetworkBoot, out: &mut dyn Write) -> io::Result<()> {
    for stage in &boot.stages {
        let [start, end, took] = [stage.start_ns, stage.end_ns, stage.duration_ns].map(|ns| ns.to_string());
        let cells = [client, "stage", stage.kind.as_str(), &stage.detail, &start, &end, &took];
        row(cells.into_iter().chain([""; 12]), out)?;
    }
    Ok(())
}

fn transfers(client: &str, boot: &NetworkBoot, out: &mut dyn Write) -> io::Result<()> {
    for file in &boot.transfers {
        let outcome = match file.outcome {
            Outcome::Complete => "complete",
            Outcome::SizeProbe => "size_probe",
            Outcome::Refused => "refused",
            Outcome::Aborted => "aborted",
            Outcome::Unfinished => "unfinished",
        };
        let counts = &file.counts;
        let numbers = [
            file.request_ns.to_string(),
            file.end_ns.to_string(),
            file.end_ns.saturating_sub(file.request_ns).to_string(),
            counts.bytes.to_string(),
            file.block_size.to_string(),
            file.window.to_string(),
            counts.data_packets.to_string(),
            counts.blocks.to_string(),
            counts.repeated_data.to_string(),
            counts.acknowledgments.to_string(),
            file.timeout_count.to_string(),
            file.timeout_ns.to_string(),
            known(file.server_turn.median_ns),
            known(file.client_turn.median_ns),
            known(file.model.as_ref().map(|model| model.unexplained_ns)),
        ];
        let cells = [client, "tftp", &file.file, outcome];
        row(cells.into_iter().chain(numbers.iter().map(String::as_str)), out)?;
    }
    Ok(())
}

fn downloads(client: &str, boot: &NetworkBoot, out: &mut dyn Write) -> io::Result<()> {
    for download in &boot.downloads {
        let status = download.status.map_or(String::new(), |status| status.to_string());
        let numbers = [
            download.start_ns.to_string(),
            download.end_ns.to_string(),
            download.duration_ns.to_string(),
            download.bytes.to_string(),
        ];
        let cells = [client, "http", &download.url, &status];
        let cells = cells.into_iter().chain(numbers.iter().map(String::as_str));
        row(cells.chain([""; 11]), out)?;
    }
    Ok(())
}

fn known(ns: Option<i64>) -> String {
    ns.map_or(String::new(), |ns| ns.to_string())
}
