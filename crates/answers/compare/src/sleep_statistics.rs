//! Statistics over Linux sleeps in several recordings, as made by `onoff record suspend --runs N`: durations, failures,
//! and the slowest devices.

use onoff_trace::{SystemKind, Trace};
use serde::Serialize;

use crate::statistics::median;
use onoff_transitions::linux::suspend::{self, LinuxSleep, SleepOutcome};
use onoff_transitions::suspend::SuspendOptions;

/// Maximum number of devices listed per variant.
const MAX_DEVICES: usize = 5;

/// The values of one sleep that the statistics need.
#[derive(Clone, Debug)]
pub struct SleepSample {
    recording: String,
    variant: String,
    outcome: SleepOutcome,
    suspend_ns: Option<i64>,
    resume_ns: Option<i64>,
    devices: Vec<DeviceSample>,
}

#[derive(Clone, Debug)]
struct DeviceSample {
    device: String,
    driver: String,
    total_ns: i64,
    failed: bool,
}

/// Statistics of the sleeps of one variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepStatistics {
    /// Variant, as in `suspend`.
    pub variant: String,
    /// Number of sleeps.
    pub sleeps: u64,
    /// Number of sleeps aborted before the machine slept.
    pub aborted: u64,
    /// Number of sleeps whose end is not in the recording.
    pub unfinished: u64,
    /// Suspend times of completed sleeps; `None` if unknown.
    pub suspend: Option<SleepSpread>,
    /// Resume times of completed sleeps; `None` if unknown.
    pub resume: Option<SleepSpread>,
    /// The devices with the slowest callbacks, worst first.
    pub devices: Vec<DeviceStatistics>,
}

/// Durations of one half of a sleep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SleepSpread {
    /// Number of sleeps with a known duration.
    pub sleeps: u64,
    /// Median, ns.
    pub median_ns: i64,
    /// Shortest, ns.
    pub min_ns: i64,
    /// Longest, ns.
    pub max_ns: i64,
    /// Recording of the longest.
    pub max_recording: String,
}

/// Callback times of a device in all sleeps of a variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceStatistics {
    /// Device.
    pub device: String,
    /// Driver; empty if the device has none.
    pub driver: String,
    /// Number of sleeps with callbacks of the device.
    pub sleeps: u64,
    /// Number of sleeps in which a callback failed.
    pub failed: u64,
    /// Median of its total callback time per sleep, ns.
    pub median_ns: i64,
    /// Longest total callback time, ns.
    pub worst_ns: i64,
    /// Recording of the longest.
    pub worst_recording: String,
}

/// The sleeps of `recording`; empty unless it is a Linux recording with sleeps.
#[must_use]
pub fn sleeps(recording: &str, trace: &Trace) -> Vec<SleepSample> {
    if trace.system.kind != SystemKind::Linux {
        return Vec::new();
    }
    let Ok(report) = suspend::analyze(trace, &SuspendOptions::default()) else { return Vec::new() };
    let several = report.transitions.len() > 1;
    let one = |sleep: &LinuxSleep| SleepSample {
        recording: match several {
            true => format!("{recording}, sleep {}", sleep.number),
            false => recording.to_owned(),
        },
        variant: sleep.variant.as_str().to_owned(),
        outcome: sleep.details.outcome,
        suspend_ns: sleep.details.suspend.duration_ns,
        resume_ns: sleep.details.resume.duration_ns,
        devices: sleep
            .details
            .devices
            .iter()
            .map(|device| DeviceSample {
                device: device.device.clone(),
                driver: device.driver.clone(),
                total_ns: device.total_ns,
                failed: device.failed,
            })
            .collect(),
    };
    report.transitions.iter().map(one).collect()
}

/// Statistics for each variant with two or more sleeps.
#[must_use]
pub fn statistics(sleeps: &[SleepSample]) -> Vec<SleepStatistics> {
    let mut variants: Vec<&str> = sleeps.iter().map(|sleep| sleep.variant.as_str()).collect();
    variants.sort();
    variants.dedup();
    let of_variant = |variant: &str| sleeps.iter().filter(|sleep| sleep.variant == variant).collect::<Vec<_>>();
    variants.into_iter().filter_map(|variant| variant_statistics(variant, &of_variant(variant))).collect()
}

fn variant_statistics(variant: &str, sleeps: &[&SleepSample]) -> Option<SleepStatistics> {
    if sleeps.len() < 2 {
        return None;
    }
    let outcomes = |outcome: SleepOutcome| sleeps.iter().filter(|sleep| sleep.outcome == outcome).count() as u64;
    // Aborted and unfinished sleeps have no comparable duration.
    let slept: Vec<&SleepSample> = sleeps
        .iter()
        .filter(|sleep| matches!(sleep.outcome, SleepOutcome::Slept | SleepOutcome::Unknown))
        .copied()
        .collect();
    Some(SleepStatistics {
        variant: variant.to_owned(),
        sleeps: sleeps.len() as u64,
        aborted: outcomes(SleepOutcome::Aborted),
        unfinished: outcomes(SleepOutcome::Unfinished),
        suspend: spread(&slept, |sleep| sleep.suspend_ns),
        resume: spread(&slept, |sleep| sleep.resume_ns),
        devices: devices(sleeps),
    })
}

fn spread(sleeps: &[&SleepSample], half: impl Fn(&SleepSample) -> Option<i64>) -> Option<SleepSpread> {
    let mut known: Vec<(i64, &str)> =
        sleeps.iter().filter_map(|sleep| Some((half(sleep)?, sleep.recording.as_str()))).collect();
    known.sort();
    let lengths: Vec<i64> = known.iter().map(|one| one.0).collect();
    let ((min_ns, _), (max_ns, max_recording)) = (known.first()?, known.last()?);
    Some(SleepSpread {
        sleeps: known.len() as u64,
        median_ns: median(&lengths)?,
        min_ns: *min_ns,
        max_ns: *max_ns,
        max_recording: (*max_recording).to_owned(),
    })
}

fn devices(sleeps: &[&SleepSample]) -> Vec<DeviceStatistics> {
    let mut all: Vec<(&DeviceSample, &str)> =
        sleeps.iter().flat_map(|sleep| sleep.devices.iter().map(|device| (device, sleep.recording.as_str()))).collect();
    all.sort_by(|(a, of_a), (b, of_b)| {
        (&a.device, &a.driver, a.total_ns, of_a).cmp(&(&b.device, &b.driver, b.total_ns, of_b))
    });
    let mut devices: Vec<DeviceStatistics> = all
        .chunk_by(|(a, _), (b, _)| (&a.device, &a.driver) == (&b.device, &b.driver))
        .filter_map(|samples| {
            let lengths: Vec<i64> = samples.iter().map(|(device, _)| device.total_ns).collect();
            let (worst, recording) = samples.last()?;
            Some(DeviceStatistics {
                device: worst.device.clone(),
                driver: worst.driver.clone(),
                sleeps: samples.len() as u64,
                failed: samples.iter().filter(|(device, _)| device.failed).count() as u64,
                median_ns: median(&lengths)?,
                worst_ns: worst.total_ns,
                worst_recording: (*recording).to_owned(),
            })
        })
        .collect();
    devices.sort_by(|a, b| (b.worst_ns, &a.device).cmp(&(a.worst_ns, &b.device)));
    devices.truncate(MAX_DEVICES);
    devices
}
