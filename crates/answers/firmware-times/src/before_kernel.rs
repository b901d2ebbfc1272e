//! Time before the recording's time zero: firmware, boot manager, loader, and user input.
//!
//! Durations come from records that the kernel writes later; their position on the axis is unknown. The firmware's own
//! times, from the recording or a separate file, end where the kernel takes over, so they have a position.

use onoff_trace::{Duration, Milestone, Trace, milestone};

use onoff_trace::firmware::{FirmwareCheckpoints, FirmwareProblem};

use serde::Serialize;

use crate::{FirmwarePhase, FirmwareStageName, checkpoint_faults, spans_resets, stages};
use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;

/// Firmware times of the boot, from a file outside the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenFirmware {
    pub checkpoints: FirmwareCheckpoints,
    pub from: String,
    /// Phases measured by the firmware; may be empty.
    pub phases: Vec<FirmwarePhase>,
}

/// A duration before the recording's time zero, whose position on the axis is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlierTime {
    /// `None` if not recorded.
    pub duration_ns: Option<i64>,
    /// The rule that determined the duration.
    pub rule: Rule,
    pub event: String,
    pub certainty: Certainty,
}

/// Times before the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeforeKernel {
    /// Firmware: from power-on to the boot manager.
    pub firmware: EarlierTime,
    pub boot_manager: EarlierTime,
    /// Loader of the operating system.
    pub os_loader: EarlierTime,
    /// User input at a boot menu or for a disk password; part of the other times.
    pub user_input: EarlierTime,
    /// The firmware's own times, with a position on the axis; `None` if neither the recording nor a file has them.
    pub firmware_table: Option<FirmwareBeforeKernel>,
}

/// The stages from processor reset to the kernel, as measured by the firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareBeforeKernel {
    /// Source of the times: a file name or the recording's record.
    pub from: String,
    /// The checkpoints, ns since processor reset.
    pub checkpoints: FirmwareCheckpoints,
    /// The stages, in order.
    pub stages: Vec<EarlierStage>,
    /// Time of processor reset, ns; negative. `None` if the times do not start at the reset of this boot or do not
    /// reach the kernel.
    pub reset_ns: Option<i64>,
    /// The rule that places the times on the recording's axis.
    pub rule: Rule,
    pub certainty: Certainty,
    /// Contradictions between these times and the recording; empty if they agree.
    pub disagreements: Vec<String>,
    /// Implausible values in the times.
    pub faults: Vec<FirmwareProblem>,
}

/// A stage before the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlierStage {
    pub name: FirmwareStageName,
    /// Start, ns; negative, because it is before the kernel start.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    pub duration_ns: i64,
}

/// Collects the times before the kernel, which starts at `kernel_ns`, from the recording and the firmware.
pub fn before_kernel(trace: &Trace, given: Option<&GivenFirmware>, kernel_ns: Option<i64>) -> BeforeKernel {
    let table = firmware_table(trace, given, kernel_ns);
    // A table of another boot does not have the firmware time of this boot.
    let trusted = given.filter(|_| table.as_ref().is_some_and(|table| table.disagreements.is_empty()));
    BeforeKernel {
        firmware_table: table,
        firmware: trusted.and_then(given_firmware).unwrap_or_else(|| {
            recorded_firmware(trace).unwrap_or_else(|| {
                first_recorded(trace, &[(milestone::FIRMWARE, Rule::KernelRecordsFirmwareTime)], 1, Certainty::Inferred)
            })
        }),
        boot_manager: first_recorded(
            trace,
            &[(milestone::BOOT_MANAGER, Rule::KernelRecordsBootManagerTime)],
            1,
            Certainty::Inferred,
        ),
        os_loader: first_recorded(trace, &[(milestone::OS_LOADER, Rule::LoaderStartAndEnd)], 0, Certainty::Measured),
        user_input: first_recorded(
            trace,
            &[(milestone::BOOT_USER_INPUT, Rule::KernelRecordsUserInput)],
            0,
            Certainty::Inferred,
        ),
    }
}

/// Returns the firmware time from the five checkpoints in the recording, up to the start of the loader, where Windows'
/// own resume times end it too.
fn recorded_firmware(trace: &Trace) -> Option<EarlierTime> {
    let (checkpoints, event) = recorded_checkpoints(trace)?;
    let (duration_ns, is_from_reset_end) = checkpoints.firmware_time().filter(|&(ns, _)| ns > 0)?;
    let rule = if is_from_reset_end { Rule::FirmwareTableFromResetEnd } else { Rule::FirmwareTableInRecording };
    Some(EarlierTime { duration_ns: Some(duration_ns), rule, event, certainty: Certainty::Inferred })
}

/// Returns the firmware time from a file, up to the boot manager, like the recording's own records.
fn given_firmware(given: &GivenFirmware) -> Option<EarlierTime> {
    let (duration_ns, is_from_reset_end) = given.checkpoints.firmware_time()?;
    Some(EarlierTime {
        duration_ns: Some(duration_ns),
        rule: if is_from_reset_end { Rule::FirmwareTableFromResetEnd } else { Rule::FirmwareTableGiven },
        event: given.from.clone(),
        certainty: Certainty::Inferred,
    })
}

/// Returns the five checkpoints from the given file if there is one, otherwise from the recording.
pub fn firmware_table(
    trace: &Trace,
    given: Option<&GivenFirmware>,
    kernel_ns: Option<i64>,
) -> Option<FirmwareBeforeKernel> {
    let recorded = recorded_checkpoints(trace);
    let (checkpoints, from) = match (given, &recorded) {
        (Some(given), _) => (given.checkpoints, given.from.clone()),
        (None, Some((checkpoints, event))) => (*checkpoints, event.clone()),
        (None, None) => return None,
    };
    let mut disagreements = match (given, &recorded) {
        (Some(given), Some((recorded, _))) => disagreements(&given.checkpoints, recorded),
        _ => Vec::new(),
    };
    disagreements.extend(describe_long_loader(trace, &checkpoints));
    let faults = checkpoint_faults(&checkpoints);
    // Between the return of ExitBootServices and the kernel, only the last steps of the loader run, which are not
    // measured. Tables that contradict the recording belong to another boot or machine, so their position is unknown.
    let shift_ns = kernel_ns
        .zip(checkpoints.exit_end_ns)
        .filter(|_| disagreements.is_empty())
        .map(|(kernel_ns, exit_ns)| kernel_ns.saturating_sub(exit_ns));
    // If the end of reset is unknown, the firmware stage includes the reset.
    let from_reset = match checkpoints.reset_end_ns {
        None if !spans_resets(&faults) => FirmwareCheckpoints { reset_end_ns: Some(0), ..checkpoints },
        _ => checkpoints,
    };
    let shifted_stages = |shift_ns: i64| {
        let stages = stages(&from_reset).into_iter().map(|stage| EarlierStage {
            name: stage.name,
            start_ns: stage.start_ns.saturating_add(shift_ns),
            end_ns: stage.end_ns.saturating_add(shift_ns),
            duration_ns: stage.duration_ns,
        });
        stages.collect()
    };
    Some(FirmwareBeforeKernel {
        from,
        checkpoints,
        stages: shift_ns.map(shifted_stages).unwrap_or_default(),
        reset_ns: shift_ns.filter(|_| !spans_resets(&faults)),
        rule: match shift_ns {
            Some(_) => Rule::ExitBootServicesIsKernelStart,
            None if !disagreements.is_empty() => Rule::NotPlacedContradicted,
            None => Rule::NotPlacedUnknown,
        }
        .to_owned(),
        certainty: match shift_ns {
            Some(_) => Certainty::Inferred,
            None => Certainty::Missing,
        },
        disagreements,
        faults,
    })
}

/// Returns true if the recording has the same five checkpoints as the given tables.
pub fn same_times(trace: &Trace, given: Option<&GivenFirmware>) -> bool {
    given.is_some_and(|given| {
        recorded_checkpoints(trace).is_some_and(|(recorded, _)| disagreements(&given.checkpoints, &recorded).is_empty())
    })
}

/// Returns the five checkpoints in the recording and the name of the event with them.
fn recorded_checkpoints(trace: &Trace) -> Option<(FirmwareCheckpoints, String)> {
    let names = [
        milestone::FIRMWARE_RESET_END,
        milestone::FIRMWARE_LOADER_LOADED,
        milestone::FIRMWARE_LOADER_STARTED,
        milestone::FIRMWARE_EXIT_BEGIN,
        milestone::FIRMWARE_EXIT_END,
    ];
    let values = names.map(|name| value(trace, name).filter(|&(ns, _)| ns >= 0));
    let event = values.iter().flatten().next().map(|(_, row)| trace.text(row.event).to_owned())?;
    let mut checkpoints = FirmwareCheckpoints::from_stored(values.map(|time| time.map_or(0, |(ns, _)| ns)));
    checkpoints.reset_end_ns = values[0].map(|(ns, _)| ns);
    // A record of zeros means firmware without the table.
    let has_times = checkpoints.with_names().into_iter().skip(1).any(|(_, ns)| ns.is_some());
    has_times.then_some((checkpoints, event))
}

/// Windows truncates firmware times to milliseconds, so times that differ by less are equal.
const MILLISECOND_NS: i64 = 1_000_000;

/// Describes a loader time in the recording that is longer than the time from the loader start to the end of
/// `ExitBootServices` in the firmware table: one of the two must be wrong.
fn describe_long_loader(trace: &Trace, checkpoints: &FirmwareCheckpoints) -> Option<String> {
    let (loader_ns, _) = value(trace, milestone::OS_LOADER)?;
    let max_loader_ns = checkpoints.exit_end_ns?.checked_sub(checkpoints.loader_start_ns?)?;
    (loader_ns >= max_loader_ns.saturating_add(MILLISECOND_NS) && max_loader_ns >= 0).then(|| {
        let (loader, max_loader) = (Duration::from_ns(loader_ns), Duration::from_ns(max_loader_ns));
        format!(
            "OSLoader: {loader} in the recording, but {max_loader} from the loader's start to the kernel in the firmware table"
        )
    })
}

fn disagreements(given: &FirmwareCheckpoints, recorded: &FirmwareCheckpoints) -> Vec<String> {
    let pairs = given.with_names().into_iter().zip(recorded.with_names());
    let descriptions = pairs.filter_map(|((name, given), (_, recorded))| {
        let (given, recorded) = (given?, recorded?);
        let difference_ns = given.saturating_sub(recorded).saturating_abs();
        (difference_ns >= MILLISECOND_NS).then(|| {
            let difference = Duration::from_ns(difference_ns);
            let (given, recorded) = (Duration::from_ns(given), Duration::from_ns(recorded));
            format!("{name}: {given} in the file, {recorded} in the recording (difference {difference})")
        })
    });
    descriptions.collect()
}

/// Returns the duration from the first rule with a value of at least `min_ns`. A negative duration is a damaged record,
/// and a firmware time of zero means that it was not recorded.
fn first_recorded(trace: &Trace, rules: &[(&str, Rule)], min_ns: i64, certainty: Certainty) -> EarlierTime {
    for (name, rule) in rules {
        if let Some((duration_ns, row)) = value(trace, name)
            && duration_ns >= min_ns
        {
            return EarlierTime {
                duration_ns: Some(duration_ns),
                rule: rule.clone(),
                event: trace.text(row.event).to_owned(),
                certainty,
            };
        }
    }
    EarlierTime { rule: Rule::NotRecorded, ..EarlierTime::default() }
}

/// Returns the value and the row of the first milestone `name` that has a value.
pub fn value(trace: &Trace, name: &str) -> Option<(i64, Milestone)> {
    let name = trace.strings.find(name)?;
    trace.milestones.iter().filter(|row| row.name == name).find_map(|row| row.value.map(|value| (value, row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{MS, milestone_value};

    #[test]
    fn durations_come_from_the_best_record() {
        let mut trace = Trace::default();
        milestone_value(&mut trace, 5, milestone::FIRMWARE_LOADER_STARTED, "", Some(4000 * MS));
        milestone_value(&mut trace, 6, milestone::OS_LOADER, "", Some(1926 * MS));
        let times = before_kernel(&trace, None, Some(0));
        assert_eq!(times.os_loader.duration_ns, Some(1926 * MS));
        assert_eq!(times.os_loader.certainty, Certainty::Measured);
        assert_eq!(times.firmware.duration_ns, Some(4000 * MS));
        assert_eq!(times.firmware.certainty, Certainty::Inferred);
        assert_eq!(times.boot_manager.certainty, Certainty::Missing);
        // The kernel's own record is the fallback, because its unit is not confirmed by logs of real machines.
        milestone_value(&mut trace, 7, milestone::FIRMWARE, "", Some(3900 * MS));
        assert_eq!(before_kernel(&trace, None, Some(0)).firmware.duration_ns, Some(4000 * MS));
        let mut kernel_only = Trace::default();
        milestone_value(&mut kernel_only, 7, milestone::FIRMWARE, "", Some(3900 * MS));
        let firmware = before_kernel(&kernel_only, None, Some(0)).firmware;
        assert_eq!((firmware.duration_ns, firmware.certainty), (Some(3900 * MS), Certainty::Inferred));
    }

    #[test]
    fn firmware_times_of_zero_are_not_recorded() {
        let mut trace = Trace::default();
        for name in [milestone::FIRMWARE_RESET_END, milestone::FIRMWARE_LOADER_STARTED, milestone::FIRMWARE_EXIT_END] {
            milestone_value(&mut trace, 5, name, "", Some(0));
        }
        let times = before_kernel(&trace, None, Some(0));
        assert_eq!((times.firmware.duration_ns, times.firmware_table), (None, None));
    }

    #[test]
    fn nanoseconds_in_a_file_agree_with_milliseconds_in_the_recording() {
        let mut trace = Trace::default();
        record(&mut trace, &disk_boot());
        let finer = disk_boot().with_names().map(|(_, ns)| ns.unwrap() + 999_999);
        let given = GivenFirmware {
            checkpoints: FirmwareCheckpoints::from_stored(finer),
            from: "FBPT.bin".to_owned(),
            phases: Vec::new(),
        };
        let times = before_kernel(&trace, Some(&given), Some(0));
        assert!(times.firmware_table.unwrap().disagreements.is_empty());
        assert!(same_times(&trace, Some(&given)));
    }

    /// Uses values from logs of a real desktop whose clock counts on over warm resets: 17.7 s, 428 s and 68 days until the
    /// reset ended, and a cold start. Some of its boots have no time of loading the loader.
    #[test]
    fn a_clock_that_was_not_reset_counts_from_the_end_of_the_reset() {
        let firmware = |stored: [i64; 5]| {
            let mut trace = Trace::default();
            record(&mut trace, &FirmwareCheckpoints::from_stored(stored.map(|ms| ms * MS)));
            let times = before_kernel(&trace, None, Some(0));
            let table = times.firmware_table.unwrap();
            (times.firmware.duration_ns.map(|ns| ns / MS), times.firmware.rule, table.reset_ns.is_some())
        };
        let from_reset_end = |ms| (Some(ms), Rule::FirmwareTableFromResetEnd, false);
        assert_eq!(firmware([17_686, 28_010, 28_060, 28_726, 28_731]), from_reset_end(10_374));
        assert_eq!(firmware([428_356, 0, 434_369, 434_986, 434_991]), from_reset_end(6_013));
        let days = [2_098_465_270, 2_098_475_814, 2_098_475_912, 2_098_476_581, 2_098_476_586];
        assert_eq!(firmware(days), from_reset_end(10_642));
        let cold = firmware([228, 10_117, 10_166, 10_806, 10_811]);
        assert_eq!(cold, (Some(10_166), Rule::FirmwareTableInRecording, true));
        // Without the end of the reset, nothing is known.
        let unknown = firmware([0, 2_098_475_814, 2_098_475_912, 2_098_476_581, 2_098_476_586]);
        assert_eq!((unknown.0, unknown.2), (None, false));
    }

    #[test]
    fn a_negative_duration_is_not_a_time() {
        let mut trace = Trace::default();
        milestone_value(&mut trace, 6, milestone::OS_LOADER, "", Some(-1));
        assert_eq!(before_kernel(&trace, None, Some(0)).os_loader.duration_ns, None);
    }

    /// Returns the boot from disk in table 2 of the paper on PXE performance, ns.
    fn disk_boot() -> FirmwareCheckpoints {
        FirmwareCheckpoints::from_stored([21, 5_321, 5_512, 8_861, 8_862].map(|ms| ms * MS))
    }

    fn record(trace: &mut Trace, checkpoints: &FirmwareCheckpoints) {
        let names = [
            milestone::FIRMWARE_RESET_END,
            milestone::FIRMWARE_LOADER_LOADED,
            milestone::FIRMWARE_LOADER_STARTED,
            milestone::FIRMWARE_EXIT_BEGIN,
            milestone::FIRMWARE_EXIT_END,
        ];
        for (name, (_, ns)) in names.into_iter().zip(checkpoints.with_names()) {
            milestone_value(trace, 5, name, "", ns);
        }
    }

    #[test]
    fn firmware_stages_end_where_the_kernel_starts() {
        let mut trace = Trace::default();
        record(&mut trace, &disk_boot());
        let table = before_kernel(&trace, None, Some(3 * MS)).firmware_table.unwrap();
        assert_eq!(table.reset_ns, Some(-8_859 * MS));
        let stages: Vec<(&str, i64, i64)> =
            table.stages.iter().map(|stage| (stage.name.as_str(), stage.start_ns / MS, stage.end_ns / MS)).collect();
        assert_eq!(
            stages,
            [
                ("reset", -8_859, -8_838),
                ("firmware", -8_838, -3_538),
                ("loader_load", -3_538, -3_347),
                ("loader", -3_347, 2),
                ("exit_boot_services", 2, 3),
            ]
        );
        assert!(table.disagreements.is_empty());
    }

    #[test]
    fn a_given_file_is_preferred_and_its_disagreement_reported() {
        let mut trace = Trace::default();
        record(&mut trace, &disk_boot());
        let mut given = GivenFirmware { checkpoints: disk_boot(), from: "FBPT.bin".to_owned(), phases: Vec::new() };
        let agreeing = before_kernel(&trace, Some(&given), Some(0));
        let table = agreeing.firmware_table.unwrap();
        assert_eq!((table.from.as_str(), table.disagreements.len()), ("FBPT.bin", 0));
        assert_eq!(agreeing.firmware.duration_ns, Some(5_512 * MS));
        given.checkpoints.loader_start_ns = Some(5_513 * MS);
        let table = before_kernel(&trace, Some(&given), Some(0)).firmware_table.unwrap();
        assert_eq!(
            table.disagreements,
            ["loader started: 5.51 s in the file, 5.51 s in the recording (difference 1.00 ms)"]
        );
        assert_eq!((table.reset_ns, table.stages.len()), (None, 0), "the times of another boot are not placed");
    }

    #[test]
    fn times_that_continue_over_resets_have_no_reset_time() {
        let late = disk_boot().with_names().map(|(_, ns)| ns.unwrap() + 9_000_000 * MS);
        let given = GivenFirmware {
            checkpoints: FirmwareCheckpoints::from_stored(late),
            from: String::new(),
            phases: Vec::new(),
        };
        let table = before_kernel(&Trace::default(), Some(&given), Some(0)).firmware_table.unwrap();
        assert_eq!(table.reset_ns, None);
        assert_eq!(table.faults.len(), 1);
    }
}
