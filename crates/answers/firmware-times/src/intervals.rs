//! The five checkpoints: durations between them, and plausibility checks.

use onoff_trace::firmware::{
    FirmwareCheckpoints, FirmwareEdge, FirmwareEvent, FirmwareGuid, FirmwareProblem, FirmwareProblemKind, FirmwareWork,
};
use onoff_trace::{Duration, Severity};

use super::report::{FirmwareIntervals, FirmwareStage, FirmwareStageName};
use onoff_evidence::rule::Rule;

/// `gEfiEventReadyToBootGuid`: the event that UEFI firmware signals before each boot attempt.
const READY_TO_BOOT: FirmwareGuid =
    FirmwareGuid([0x7c, 0xe8, 0x8f, 0xb3, 0x4b, 0xd7, 0x46, 0x79, 0x87, 0xa8, 0xa8, 0xd8, 0xde, 0xe5, 0x0d, 0x2b]);

/// Returns problems with implausible checkpoint values, most severe first.
#[must_use]
pub fn checkpoint_faults(times: &FirmwareCheckpoints) -> Vec<FirmwareProblem> {
    use FirmwareProblemKind as Kind;
    let mut faults = Vec::new();
    let mut add_fault = |kind, severity, text: String| {
        faults.push(FirmwareProblem { kind, severity, place: String::new(), text, skipped_bytes: 0 });
    };
    if times.is_reset_end_in_ticks() {
        add_fault(
            Kind::ResetEndInTicks,
            Severity::Error,
            format!(
                "the end of reset ({}) is after loading the loader ({}): the firmware stored clock ticks instead of nanoseconds; \
                 durations from the end of reset are omitted",
                Duration::from_ns(times.reset_end_ns.unwrap_or(0)),
                Duration::from_ns(times.loader_load_ns.or(times.loader_start_ns).unwrap_or(0)),
            ),
        );
    }
    let recorded_times = times.with_names().into_iter().skip(1).filter_map(|(name, ns)| Some((name, ns?)));
    let recorded_times: Vec<_> = recorded_times.collect();
    for pair in recorded_times.windows(2) {
        if let [(first, first_ns), (second, second_ns)] = pair
            && second_ns < first_ns
        {
            add_fault(
                Kind::NotMonotonic,
                Severity::Error,
                format!(
                    "the {second} is {} before the {first}; the duration between them is omitted",
                    Duration::from_ns(first_ns.saturating_sub(*second_ns))
                ),
            );
        }
    }
    if times.is_clock_kept_over_resets() {
        add_fault(
            Kind::ClockNotReset,
            Severity::Warning,
            "this firmware's clock keeps running over warm resets, so times since reset do not belong to this boot. Power the computer off \
             and on to get the times of a single boot"
                .to_owned(),
        );
    }
    let exit = times.exit_begin_ns.or(times.exit_end_ns);
    if exit.is_none() && !is_legacy(times) {
        let (severity, text) = match times.loader_load_ns {
            Some(_) => (
                Severity::Notice,
                "the loader was loaded, but ExitBootServices has no time: a legacy (BIOS) boot, a loader that had not called it yet, \
                 or firmware that does not record it",
            ),
            None => {
                (Severity::Warning, "the loader has no times: not a UEFI boot, or firmware that does not record them")
            }
        };
        add_fault(Kind::NotUefi, severity, text.to_owned());
    }
    faults
}

/// Returns true for the times of a legacy (BIOS) boot as defined by ACPI (5.2.24.8): the loader start is the time of
/// INT 19h; the times of loading the loader and of `ExitBootServices` do not exist and are zero.
fn is_legacy(times: &FirmwareCheckpoints) -> bool {
    times.loader_start_ns.is_some()
        && times.loader_load_ns.is_none()
        && times.exit_begin_ns.is_none()
        && times.exit_end_ns.is_none()
}

/// Returns the time at which the firmware finished its work: when it loaded the loader, or at INT 19h.
fn firmware_end(times: &FirmwareCheckpoints) -> Option<i64> {
    if is_legacy(times) { times.loader_start_ns } else { times.loader_load_ns }
}

/// Returns true if the times do not start at the reset of this boot.
#[must_use]
pub fn spans_resets(faults: &[FirmwareProblem]) -> bool {
    faults.iter().any(|fault| fault.kind == FirmwareProblemKind::ClockNotReset)
}

/// Returns the durations between the checkpoints, by both definitions of firmware and loader time.
///
/// The paper on PXE performance uses ReadyToBoot as the boundary in section 2.1, and loading the loader in section 4.3.
/// All firmware with these tables records the loading of the loader; ReadyToBoot requires measurements of the boot
/// manager.
#[must_use]
pub fn intervals(times: &FirmwareCheckpoints, events: &[FirmwareEvent]) -> FirmwareIntervals {
    let reset_end = times.reset_end_ns.filter(|_| !times.is_reset_end_in_ticks());
    let duration = |start_ns: Option<i64>, end_ns: Option<i64>| {
        let duration_ns = end_ns?.saturating_sub(start_ns?);
        (duration_ns >= 0).then_some(duration_ns)
    };
    let ready_to_boot_event = ready_to_boot(events);
    let ready_ns = ready_to_boot_event.as_ref().map(|&(ns, _)| ns);
    FirmwareIntervals {
        firmware_init_ns: reset_end,
        time1_ns: duration(reset_end, firmware_end(times)),
        loader_load_ns: duration(times.loader_load_ns, times.loader_start_ns),
        loader_run_ns: duration(times.loader_start_ns, times.exit_begin_ns),
        exit_boot_services_ns: duration(times.exit_begin_ns, times.exit_end_ns),
        time2_ns: duration(times.loader_load_ns, times.exit_end_ns),
        total_ns: times.exit_end_ns,
        legacy_boot: is_legacy(times),
        definition: if is_legacy(times) {
            "from the end of reset to INT 19h; a legacy boot has no later times".to_owned()
        } else {
            "from the end of reset until the loader is loaded, then until ExitBootServices returns".to_owned()
        },
        ready_to_boot_ns: ready_ns,
        ready_to_boot_time1_ns: ready_ns,
        ready_to_boot_time2_ns: duration(ready_ns, times.exit_begin_ns),
        ready_to_boot_rule: ready_to_boot_event.map(|(_, rule)| rule).unwrap_or_default(),
    }
}

/// Returns the stages between the checkpoints, in order; only those with known and plausible ends.
#[must_use]
pub fn stages(times: &FirmwareCheckpoints) -> Vec<FirmwareStage> {
    let reset_end = times.reset_end_ns.filter(|_| !times.is_reset_end_in_ticks());
    let boundaries = [
        (FirmwareStageName::Reset, Some(0), reset_end.filter(|&ns| ns > 0)),
        (FirmwareStageName::Firmware, reset_end, firmware_end(times)),
        (FirmwareStageName::LoaderLoad, times.loader_load_ns, times.loader_start_ns),
        (FirmwareStageName::Loader, times.loader_start_ns, times.exit_begin_ns),
        (FirmwareStageName::ExitBootServices, times.exit_begin_ns, times.exit_end_ns),
    ];
    let stages = boundaries.into_iter().filter_map(|(name, start_ns, end_ns)| {
        let (start_ns, end_ns) = (start_ns?, end_ns?);
        (start_ns <= end_ns).then_some(FirmwareStage { name, start_ns, end_ns, duration_ns: end_ns - start_ns })
    });
    stages.collect()
}

/// Returns the first ReadyToBoot. Later ones belong to further boot attempts, which count as loader time.
fn ready_to_boot(events: &[FirmwareEvent]) -> Option<(i64, Rule)> {
    type Matches = fn(&FirmwareEvent) -> bool;
    let rules: [(Rule, Matches); 3] = [
        (Rule::ReadyToBootSignaled, |event| {
            event.work == FirmwareWork::EventSignal && event.caller == Some(READY_TO_BOOT)
        }),
        (Rule::ReadyToBootMarked, |event| {
            matches!(event.work, FirmwareWork::Point | FirmwareWork::InModule) && event.text.contains("ReadyToBoot")
        }),
        (Rule::BootAttemptStarts, |event| event.work == FirmwareWork::InModule && event.text == "BdsAttempt"),
    ];
    rules.into_iter().find_map(|(rule, matches)| {
        let times =
            events.iter().filter(|event| event.edge != FirmwareEdge::End && matches(event)).map(|event| event.time_ns);
        Some((times.min()?, rule))
    })
}
