//! Aligns the times of each source with the axis.

use onoff_netboot::transfer::Outcome;

use super::report::{AxisEvidence, AxisEvidenceKind as Kind, AxisJoin, AxisMoment, AxisSource};
use super::{AxisFirmware, AxisRecording, digits};
use onoff_evidence::Certainty;
use onoff_evidence::phase_name::PhaseName;
use onoff_firmware_times::{checkpoint_faults, spans_resets};
use onoff_network::dhcp::Stack;
use onoff_network::http::Download;
use onoff_network::report::{FileRole, NetbootReport, NetworkBoot, StageKind};

/// Maximum difference between the clocks of two machines that are set manually or by a time server, ns. A
/// battery-backed clock loses one or two seconds a day.
const CLOCK_TOLERANCE_NS: i64 = 120_000_000_000;
/// Maximum difference between the times that firmware and service manager report for the kernel start, ns: they differ
/// by the kernel's decompression.
const MANAGER_TOLERANCE_NS: i64 = 2_000_000_000;
/// Maximum clock drift between machines, per mille.
const DRIFT_PER_MILLE: i64 = 1;
/// Maximum difference between timestamps of the same moment on two machines, ns.
const STAMP_TOLERANCE_NS: i64 = 10_000_000;
/// Minimum share of the firmware's load time that packets must cover to count as a match, percent.
const FILLED_PERCENT: i64 = 75;

/// A boot in the capture, and the shift to add to its times.
pub(super) type PlacedBoot<'a> = (&'a NetworkBoot, i64);

/// Returns the firmware's join, and the shift to add to its times. Without a recording, the firmware's own times are
/// the axis, and there is no join.
pub(super) fn firmware(
    recording: Option<&AxisRecording<'_>>,
    firmware: &AxisFirmware<'_>,
) -> (Option<AxisJoin>, Option<i64>) {
    let spans_resets = spans_resets(&checkpoint_faults(&firmware.checkpoints));
    let Some(recording) = recording else { return (None, (!spans_resets).then_some(0)) };
    let mut evidence = vec![AxisEvidence::moments(Kind::SameMoment, AxisMoment::ExitReturn, AxisMoment::KernelStart)];
    let mut opposing = Vec::new();
    let mut certainty = Certainty::Inferred;
    let mut max_earlier_ns = None;
    if let Some(fit) = &firmware.fit {
        if fit.in_recording {
            evidence.push(AxisEvidence::new(Kind::InRecording));
        }
        if !fit.table.disagreements.is_empty() {
            opposing.push(AxisEvidence {
                detail: fit.table.disagreements.join("; "),
                ..AxisEvidence::new(Kind::OtherTimes)
            });
        } else if fit.same_times {
            evidence.push(AxisEvidence::new(Kind::SameTimes));
            certainty = Certainty::Measured;
        }
        if let Some(difference_ns) = fit.manager_difference_ns {
            let manager =
                AxisEvidence { difference_ns: Some(difference_ns), ..AxisEvidence::new(Kind::ServiceManagerTimes) };
            if difference_ns.saturating_abs() > MANAGER_TOLERANCE_NS {
                opposing.push(manager);
            } else {
                max_earlier_ns = Some(difference_ns.saturating_abs());
                evidence.push(manager);
            }
        }
    }
    let exit_shift_ns = firmware.checkpoints.exit_end_ns.map(|end| recording.kernel_ns.saturating_sub(end));
    if spans_resets {
        opposing.push(AxisEvidence::new(Kind::SpansResets));
    } else if exit_shift_ns.is_none() {
        opposing.push(AxisEvidence::new(Kind::NoExitTime));
    }
    let shift_ns = exit_shift_ns.filter(|_| opposing.is_empty());
    (Some(join(AxisSource::Firmware, shift_ns, certainty, (max_earlier_ns, evidence, opposing))), shift_ns)
}

fn join(
    source: AxisSource,
    shift_ns: Option<i64>,
    certainty: Certainty,
    (max_earlier_ns, evidence, opposing): (Option<i64>, Vec<AxisEvidence>, Vec<AxisEvidence>),
) -> AxisJoin {
    AxisJoin {
        source,
        joined: shift_ns.is_some(),
        certainty: if shift_ns.is_some() { certainty } else { Certainty::Missing },
        shift_ns,
        max_earlier_ns: shift_ns.and(max_earlier_ns),
        evidence,
        opposing,
        equal_matches: 0,
    }
}

/// Returns the capture's join, and the boot in the capture that is on the axis.
pub(super) fn capture<'a>(
    recording: Option<&AxisRecording<'_>>,
    firmware: Option<(&AxisFirmware<'_>, i64)>,
    capture: &'a NetbootReport,
) -> (AxisJoin, Option<PlacedBoot<'a>>) {
    let rejected = |evidence| join(AxisSource::Capture, None, Certainty::Missing, (None, Vec::new(), vec![evidence]));
    let anchors = Anchors::new(recording, firmware);
    if anchors.is_empty() {
        // Without other sources, the capture's own times are the axis, and the first boot that loaded is on it.
        if recording.is_none() && firmware.is_none() {
            let loaded_boot = capture.boots.iter().find(|boot| Landmarks::from_boot(boot).is_some());
            let boot = loaded_boot.or(capture.boots.first());
            let join = join(AxisSource::Capture, boot.map(|_| 0), Certainty::Measured, Default::default());
            return (join, boot.map(|boot| (boot, 0)));
        }
        return (rejected(AxisEvidence::new(Kind::NoEvidence)), None);
    }
    let mut candidates: Vec<Candidate<'a>> = Vec::new();
    for boot in &capture.boots {
        if let Some(landmarks) = Landmarks::from_boot(boot) {
            candidates.push(candidate(recording, &anchors, (capture, boot), &landmarks));
        }
    }
    if candidates.is_empty() {
        return (rejected(AxisEvidence::new(Kind::NoLoadedBoot)), None);
    }
    // Best candidate first: joined candidates, then by clock difference.
    candidates.sort_by_key(|candidate| (!candidate.join.joined, candidate.clock_ns.unwrap_or(i64::MAX)));
    let joined_count = candidates.iter().filter(|candidate| candidate.join.joined).count();
    let second_clock_ns = candidates.get(1).filter(|_| joined_count > 1).map(|candidate| candidate.clock_ns);
    let joined_clients = || candidates.iter().take(joined_count).map(|candidate| &candidate.boot.client);
    let has_rivals =
        joined_clients().any(|client| client.mac.is_none() || joined_clients().any(|other| other.mac != client.mac));
    let best = candidates.swap_remove(0);
    if let Some(second_clock_ns) = second_clock_ns {
        // If another boot fits as well, the result is undecided, unless it is of the same client and the clock
        // differences are clearly distinct. In a room of machines that start at once, clocks tell none of them apart.
        let is_clear = !has_rivals
            && best.clock_ns.zip(second_clock_ns).is_some_and(|(best, second)| second > best.saturating_mul(2));
        if !is_clear {
            let undecided = join(AxisSource::Capture, None, Certainty::Missing, (None, best.join.evidence, Vec::new()));
            return (AxisJoin { equal_matches: joined_count as u64, ..undecided }, None);
        }
    }
    let shift_ns = best.join.shift_ns;
    (best.join.clone(), shift_ns.map(|shift| (best.boot, shift)))
}

struct Candidate<'a> {
    boot: &'a NetworkBoot,
    join: AxisJoin,
    /// Difference between the clocks, ns.
    clock_ns: Option<i64>,
}

/// The moments on the axis that packets can be compared with, ns.
#[derive(Debug, Default)]
struct Anchors {
    moments: Vec<(AxisMoment, i64)>,
    reset_ns: Option<i64>,
    load_ns: Option<i64>,
}

impl Anchors {
    fn new(recording: Option<&AxisRecording<'_>>, firmware: Option<(&AxisFirmware<'_>, i64)>) -> Self {
        let mut anchors = Self::default();
        if let Some((firmware, shift_ns)) = firmware {
            let times = &firmware.checkpoints;
            anchors.reset_ns = Some(shift_ns);
            let firmware_moments = [
                (AxisMoment::LoaderLoad, times.loader_load_ns),
                (AxisMoment::LoaderStart, times.loader_start_ns),
                (AxisMoment::ExitCall, times.exit_begin_ns),
                (AxisMoment::ExitReturn, times.exit_end_ns),
            ];
            let axis_moments =
                firmware_moments.into_iter().filter_map(|(moment, ns)| Some((moment, ns?.saturating_add(shift_ns))));
            anchors.moments.extend(axis_moments);
            anchors.load_ns =
                times.loader_load_ns.zip(times.loader_start_ns).map(|(load, start)| start.saturating_sub(load));
        }
        anchors.moments.extend(recording.map(|recording| (AxisMoment::KernelStart, recording.kernel_ns)));
        let phases = recording.map_or(&[][..], |recording| recording.phases);
        let firmware_phase = phases.iter().find(|(name, _, _)| *name == PhaseName::Firmware);
        anchors.reset_ns = anchors.reset_ns.or(firmware_phase.and_then(|(_, start_ns, _)| *start_ns));
        anchors
    }

    fn is_empty(&self) -> bool {
        self.moments.is_empty()
    }

    fn time_ns(&self, moment: AxisMoment) -> Option<i64> {
        self.moments.iter().find(|(anchor, _)| *anchor == moment).map(|(_, ns)| *ns)
    }
}

/// The moments of a network boot that are ordered relative to moments on the axis, ns of the capture.
#[derive(Debug)]
struct Landmarks {
    /// Start of the DHCP exchange for the address that the boot program was loaded with.
    dialogue_ns: i64,
    first_ns: i64,
    request_ns: i64,
    program_end_ns: i64,
    next_ns: Option<i64>,
    last_ns: i64,
    system_ns: Option<i64>,
}

impl Landmarks {
    /// Returns `None` for a boot that did not load any file completely.
    fn from_boot(boot: &NetworkBoot) -> Option<Self> {
        let is_system = |stage: &&onoff_network::report::Stage| stage.kind == StageKind::OperatingSystem;
        let system_ns = boot.stages.iter().find(is_system).map(|stage| stage.start_ns).or(boot.file_server_ns);
        let is_before_system = |ns: i64| system_ns.is_none_or(|system| ns <= system);
        let files = boot
            .transfers
            .iter()
            .filter(|file| file.outcome == Outcome::Complete && !file.write)
            .map(|file| (file.request_ns, file.end_ns, file.role == FileRole::BootProgram));
        let downloads = boot
            .downloads
            .iter()
            .filter(|download| is_complete(download))
            .map(|download| (download.start_ns, download.end_ns, false));
        // (start, end, whether it is the boot program)
        let mut loads: Vec<(i64, i64, bool)> =
            files.chain(downloads).filter(|&(start, _, _)| is_before_system(start)).collect();
        loads.sort();
        let program = loads.iter().find(|&&(_, _, is_boot_program)| is_boot_program).or(loads.first())?;
        let (request_ns, program_end_ns, _) = *program;
        let dialogues = boot.dhcp.iter().filter(|exchange| exchange.stack == Stack::Firmware);
        let requests = boot
            .transfers
            .iter()
            .map(|file| file.request_ns)
            .chain(boot.downloads.iter().map(|download| download.start_ns))
            .chain(dialogues.clone().map(|exchange| exchange.start_ns));
        Some(Self {
            first_ns: requests.clone().min().unwrap_or(request_ns),
            dialogue_ns: dialogues
                .filter(|exchange| exchange.complete && !exchange.boot_server_dialogue)
                .map(|exchange| exchange.start_ns)
                .filter(|&start| start <= request_ns)
                .max()
                .unwrap_or(request_ns),
            request_ns,
            program_end_ns,
            next_ns: requests.filter(|&ns| ns > program_end_ns && is_before_system(ns)).min(),
            last_ns: loads
                .iter()
                .map(|&(_, end, _)| end)
                .filter(|&ns| is_before_system(ns))
                .max()
                .unwrap_or(program_end_ns),
            system_ns,
        })
    }
}

/// Collects the evidence for and against one boot in the capture.
fn candidate<'a>(
    recording: Option<&AxisRecording<'_>>,
    anchors: &Anchors,
    (capture, boot): (&NetbootReport, &'a NetworkBoot),
    landmarks: &Landmarks,
) -> Candidate<'a> {
    use AxisMoment as Moment;
    // shift = axis time - capture time. A packet that precedes a moment on the axis bounds the shift from above.
    let kernel = [Moment::ExitCall, Moment::KernelStart].into_iter().find(|&moment| anchors.time_ns(moment).is_some());
    let mut upper: Vec<(Moment, Moment, i64)> = Vec::new();
    let mut lower: Vec<(Moment, Moment, i64)> = Vec::new();
    if let Some(start) = anchors.time_ns(Moment::LoaderStart) {
        upper.push((Moment::BootProgramEnd, Moment::LoaderStart, start.saturating_sub(landmarks.program_end_ns)));
        let next = landmarks.next_ns.map(|ns| (Moment::LoaderStart, Moment::NextRequest, start.saturating_sub(ns)));
        lower.extend(next);
    }
    if let Some((moment, ns)) = kernel.and_then(|moment| Some((moment, anchors.time_ns(moment)?))) {
        upper.push((Moment::LastByte, moment, ns.saturating_sub(landmarks.last_ns)));
    }
    if let Some(reset) = anchors.reset_ns {
        lower.push((Moment::Reset, Moment::FirstRequest, reset.saturating_sub(landmarks.first_ns)));
    }
    if let Some(load) = anchors.time_ns(Moment::LoaderLoad) {
        let bound = load.saturating_sub(landmarks.request_ns);
        lower.push((Moment::LoaderLoad, Moment::BootProgramRequest, bound));
    }
    let handover =
        [Moment::ExitReturn, Moment::KernelStart].into_iter().find(|&moment| anchors.time_ns(moment).is_some());
    if let Some((moment, ns)) = handover.and_then(|moment| Some((moment, anchors.time_ns(moment)?)))
        && let Some(system) = landmarks.system_ns
    {
        lower.push((moment, Moment::SystemNetwork, ns.saturating_sub(system)));
    }

    let max_shift_ns = upper.iter().map(|(_, _, ns)| *ns).min();
    let mut evidence = Vec::new();
    let mut opposing = Vec::new();
    let mut is_identified = identify(recording, boot, (&mut evidence, &mut opposing));
    let mut clock_ns = None;
    let mut slack_ns = None;
    if let Some(shift) = max_shift_ns {
        let min_shift_ns = lower.iter().map(|(_, _, ns)| *ns).max();
        slack_ns = min_shift_ns.map(|min_shift| shift.saturating_sub(min_shift).max(0));
        let tolerance = STAMP_TOLERANCE_NS.saturating_add(boot.duration_ns.max(0) / 1000 * DRIFT_PER_MILLE);
        for &(first, second, ns) in &upper {
            evidence.push(order(first, second, ns.saturating_sub(shift)));
        }
        for &(first, second, ns) in &lower {
            let difference_ns = shift.saturating_sub(ns);
            let order = order(first, second, difference_ns);
            if difference_ns < -tolerance { opposing.push(order) } else { evidence.push(order) }
        }
        if let Some(difference_ns) = clock_difference_ns(recording, capture, shift) {
            let clocks = AxisEvidence { difference_ns: Some(difference_ns), ..AxisEvidence::new(Kind::Clocks) };
            clock_ns = Some(difference_ns.saturating_abs());
            let tolerance = CLOCK_TOLERANCE_NS.saturating_add(slack_ns.unwrap_or(0));
            if difference_ns.saturating_abs() > tolerance {
                opposing.push(clocks);
            } else {
                is_identified = true;
                evidence.push(clocks);
            }
        }
        if let Some(load_ns) = anchors.load_ns {
            let packets_ns = landmarks.program_end_ns.saturating_sub(landmarks.dialogue_ns);
            let fills_load_time = packets_ns <= load_ns.saturating_add(tolerance)
                && packets_ns.saturating_mul(100) >= load_ns.saturating_mul(FILLED_PERCENT);
            if fills_load_time {
                evidence.push(AxisEvidence {
                    difference_ns: Some(load_ns.saturating_sub(packets_ns)),
                    load_ns: Some(load_ns),
                    ..AxisEvidence::new(Kind::FillsLoadTime)
                });
                // With a recording, clocks and MAC addresses decide; firmware tables have neither.
                is_identified |= recording.is_none();
            }
        }
    }
    if !is_identified && opposing.is_empty() {
        opposing.push(AxisEvidence::new(Kind::NoEvidence));
    }
    let shift_ns = max_shift_ns.filter(|_| opposing.is_empty());
    Candidate {
        boot,
        join: join(AxisSource::Capture, shift_ns, Certainty::Inferred, (slack_ns, evidence, opposing)),
        clock_ns,
    }
}

/// Returns evidence that one moment precedes another.
fn order(first: AxisMoment, second: AxisMoment, difference_ns: i64) -> AxisEvidence {
    AxisEvidence { difference_ns: Some(difference_ns), ..AxisEvidence::moments(Kind::Order, first, second) }
}

/// Returns whether a file was downloaded completely. HTTPS only shows that data was received.
fn is_complete(download: &Download) -> bool {
    match download.status {
        Some(status) => download.complete && status == 200 && download.method == "GET",
        None => download.method.is_empty() && download.bytes > 0,
    }
}

/// Returns whether the capture's client has a MAC address of the recorded machine, and adds the evidence.
fn identify(
    recording: Option<&AxisRecording<'_>>,
    boot: &NetworkBoot,
    (evidence, opposing): (&mut Vec<AxisEvidence>, &mut Vec<AxisEvidence>),
) -> bool {
    let addresses = recording.map_or(&[][..], |recording| &recording.mac_addresses);
    let Some(client) = boot.client.mac.map(|mac| mac.to_string()).filter(|_| !addresses.is_empty()) else {
        evidence.push(AxisEvidence::new(Kind::StationsNotCompared));
        return false;
    };
    let is_same = digits(&client).is_some_and(|client| addresses.contains(&client));
    let address = AxisEvidence { detail: client, ..AxisEvidence::new(Kind::MacAddress) };
    if is_same {
        evidence.push(address);
    } else if recording.is_some_and(|recording| recording.has_all_mac_addresses) {
        opposing.push(address);
    } else {
        evidence.push(AxisEvidence::new(Kind::StationsNotCompared));
    }
    is_same
}

/// Returns the capture's clock minus the recording's clock if the capture is shifted by `shift_ns`, in ns.
fn clock_difference_ns(recording: Option<&AxisRecording<'_>>, capture: &NetbootReport, shift_ns: i64) -> Option<i64> {
    let recording = recording?;
    let capture_ns = capture.capture.start_unix_ns?.saturating_sub(shift_ns).saturating_add(recording.kernel_ns);
    Some(capture_ns.saturating_sub(recording.kernel_unix_ns?))
}
