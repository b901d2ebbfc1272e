//! Computes statistics of Linux sleeps in several recordings, as made by `onoff record suspend --runs N`: durations,
//! failures, and the slowest devices.

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
    /// Recording of the longest sleep.
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
    /// Median of the total callback time per sleep, ns.
    pub median_ns: i64,
    /// Longest total callback time, ns.
    pub worst_ns: i64,
    /// Recording of the longest total.
    pub worst_recording: String,
}

/// Returns the sleeps of `recording`; empty unless it is a Linux recording with sleeps.
#[must_use]
pub fn sleeps(recording: &str, trace: &Trace) -> Vec<SleepSample> {
    if trace.system.kind != SystemKind::Linux {
        return Vec::new();
    }
    let Ok(report) = suspend::analyze(trace, &SuspendOptions::default()) else { return Vec::new() };
    let has_several = report.transitions.len() > 1;
    let sample = |sleep: &LinuxSleep| SleepSample {
        recording: if has_several { format!("{recording}, sleep {}", sleep.number) } else { recording.to_owned() },
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
    report.transitions.iter().map(sample).collect()
}

/// Returns the statistics for each variant with two or more sleeps.
#[must_use]
pub fn statistics(sleeps: &[SleepSample]) -> Vec<SleepStatistics> {
    let mut variants: Vec<&str> = sleeps.iter().map(|sleep| sleep.variant.as_str()).collect();
    variants.sort();
    variants.dedup();
    let sleeps_of = |variant: &str| sleeps.iter().filter(|sleep| sleep.variant == variant).collect::<Vec<_>>();
    variants.into_iter().filter_map(|variant| variant_statistics(variant, &sleeps_of(variant))).collect()
}

fn variant_statistics(variant: &str, sleeps: &[&SleepSample]) -> Option<SleepStatistics> {
    if sleeps.len() < 2 {
        return None;
    }
    let count = |outcome: SleepOutcome| sleeps.iter().filter(|sleep| sleep.outcome == outcome).count() as u64;
    // Aborted and unfinished sleeps have no comparable duration.
    let slept: Vec<&SleepSample> = sleeps
        .iter()
        .filter(|sleep| matches!(sleep.outcome, SleepOutcome::Slept | SleepOutcome::Unknown))
        .copied()
        .collect();
    Some(SleepStatistics {
        variant: variant.to_owned(),
        sleeps: sleeps.len() as u64,
        aborted: count(SleepOutcome::Aborted),
        unfinished: count(SleepOutcome::Unfinished) + count(SleepOutcome::Crashed),
        suspend: spread(&slept, |sleep| sleep.suspend_ns),
        resume: spread(&slept, |sleep| sleep.resume_ns),
        devices: devices(sleeps),
    })
}

fn spread(sleeps: &[&SleepSample], half: impl Fn(&SleepSample) -> Option<i64>) -> Option<SleepSpread> {
    let mut durations: Vec<(i64, &str)> =
        sleeps.iter().filter_map(|sleep| Some((half(sleep)?, sleep.recording.as_str()))).collect();
    durations.sort();
    let ascending: Vec<i64> = durations.iter().map(|&(duration_ns, _)| duration_ns).collect();
    let ((min_ns, _), (max_ns, max_recording)) = (durations.first()?, durations.last()?);
    Some(SleepSpread {
        sleeps: durations.len() as u64,
        median_ns: median(&ascending)?,
        min_ns: *min_ns,
        max_ns: *max_ns,
        max_recording: (*max_recording).to_owned(),
    })
}

fn devices(sleeps: &[&SleepSample]) -> Vec<DeviceStatistics> {
    let mut samples: Vec<(&DeviceSample, &str)> =
        sleeps.iter().flat_map(|sleep| sleep.devices.iter().map(|device| (device, sleep.recording.as_str()))).collect();
    samples.sort_by(|(a, a_recording), (b, b_recording)| {
        (&a.device, &a.driver, a.total_ns, a_recording).cmp(&(&b.device, &b.driver, b.total_ns, b_recording))
    });
    let mut devices: Vec<DeviceStatistics> = samples
        .chunk_by(|(a, _), (b, _)| (&a.device, &a.driver) == (&b.device, &b.driver))
        .filter_map(|samples| {
            let ascending: Vec<i64> = samples.iter().map(|(device, _)| device.total_ns).collect();
            let (worst, recording) = samples.last()?;
            Some(DeviceStatistics {
                device: worst.device.clone(),
                driver: worst.driver.clone(),
                sleeps: samples.len() as u64,
                failed: samples.iter().filter(|(device, _)| device.failed).count() as u64,
                median_ns: median(&ascending)?,
                worst_ns: worst.total_ns,
                worst_recording: (*recording).to_owned(),
            })
        })
        .collect();
    devices.sort_by(|a, b| (b.worst_ns, &a.device).cmp(&(a.worst_ns, &b.device)));
    devices.truncate(MAX_DEVICES);
    devices
}
