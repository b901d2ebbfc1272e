//! The arguments of `onoff what-if`.

use clap::Args;
use onoff_what_if::plan::MAX_STEPS;

use super::{EXIT_CODES, OutputArguments, PlainFormat, RecordingArguments};

/// Predict how long a boot, shutdown or sleep would take after a change, before making it
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff what-if boot.etl --without SoundShaper
  onoff what-if boot.etl --pend LegacyScan --ungroup SoundShaper
  onoff what-if boot.etl --without CloudBox.exe --format json
  onoff what-if boot.etl --disk 4x --processors 8
  onoff what-if sleep.etl --transition suspend:2 --without Backup
  onoff what-if linux-boot/ --parallel NetworkManager-wait-online.service
  onoff what-if boot.etl --plan 5   the best five changes, each on top of the ones before
  onoff what-if boot.etl --limit    how fast this boot could be with the same hardware

onoff replays the recorded work with the change: threads on processors, requests on disks, and \
every wait until what ended it. First it replays the recording without the change. If that \
does not reproduce every phase within 1 % (or 20 ms), there is no prediction. Several changes are \
predicted together. A replay needs context switches and ready-thread events, as recorded by \
'xbootmgr -traceFlags dispatcher' and 'wpr -start CPU'. Changes of units in a Linux boot need none: they \
are predicted from the times and the declared order of units: 'systemctl show \"*\"' and \
'systemd-analyze dump'.

{EXIT_CODES}"))]
pub struct WhatIfArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Remove a service, program, driver, unit, script or logon subscriber, with the programs it starts
    #[arg(long, value_name = "NAME")]
    pub without: Vec<String>,

    /// Let the driver return "pending" from its start and enumeration requests, so that other devices start meanwhile
    #[arg(long, value_name = "DRIVER")]
    pub pend: Vec<String>,

    /// Take the service out of its load-order group, so that the service manager does not wait for it
    #[arg(long, value_name = "SERVICE")]
    pub ungroup: Vec<String>,

    /// Start the service or program when the desktop is ready (Linux: after the boot); refused if something needs it
    #[arg(long, value_name = "NAME")]
    pub delay: Vec<String>,

    /// Linux: let other units start without waiting for the unit; refused if one of them requires it
    #[arg(long, value_name = "UNIT")]
    pub parallel: Vec<String>,

    /// Linux: let the driver probe its devices while the kernel initializes other drivers; needs 'initcall_debug'
    #[arg(long = "async", value_name = "DRIVER")]
    pub async_probe: Vec<String>,

    /// Speed of the disks, such as 4x or 0.5x
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    pub disk: Option<u32>,

    /// Speed of the processors, such as 1.5x
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    pub cpu: Option<u32>,

    /// Number of processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub processors: Option<u32>,

    /// Search for the best N changes, each on top of the ones before
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_STEPS)),
        conflicts_with_all = ["limit", "without", "pend", "ungroup", "delay", "parallel", "async_probe", "disk", "cpu",
            "processors"])]
    pub plan: Option<u32>,

    /// Show how fast it could be with the recorded work: four lower bounds
    #[arg(long, conflicts_with_all = ["without", "pend", "ungroup", "delay", "parallel", "async_probe", "disk", "cpu",
        "processors"])]
    pub limit: bool,

    /// Transition: boot, shutdown or suspend, or suspend:2 for the second of several [default: the first]
    #[arg(long, value_name = "NAME")]
    pub transition: Option<String>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PlainFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Parses a speed such as `4x` or `0.5x` as a percentage.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn speed(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix(['x', 'X']).unwrap_or(text).parse::<f64>().ok();
    match number.map(|number| (number * 100.0).round()) {
        Some(percent) if (1.0..=1_000_000.0).contains(&percent) => Ok(percent as u32),
        _ => Err("use a factor such as 4x or 0.5x".to_owned()),
    }
}
