//! Aligns the times of each source with the axis.

use onoff_netboot::transfer::Outcome;

use super::report::{AxisEvidence, AxisEvidenceKind as Kind, AxisJoin, AxisMoment, AxisSource};
use super::{AxisFirmware, AxisRecording, digits};
use onoff_evidence::Certainty;
use onoff_firmware_times::{checkpoint_faults, spans_resets};
use onoff_network::dhcp::Stack;
use onoff_network::http::Download;
use onoff_network::report::{FileRole, NetbootReport, NetworkBoot, StageKind};

/// Clocks of two machines that are set manually or by a time server agree within this time, ns. A battery-backed clock
/// loses one or two seconds a day.
const CLOCK_TOLERANCE_NS: i64 = 120_000_000_000;
/// Firmware and service manager report the same moment, apart from the kernel's own decompression, ns.
const MANAGER_TOLERANCE_NS: i64 = 2_000_000_000;
/// Maximum clock drift between machines, per mille.
const DRIFT_PER_MILLE: i64 = 1;
/// Maximum difference between timestamps of one moment on two machines, ns.
const STAMP_TOLERANCE_NS: i64 = 10_000_000;
/// Minimum share of the firmware's load time that packets must fill to count as a match, percent.
const FILLED_PERCENT: i64 = 75;

/// A boot in the capture, and the shift to add to its times.
pub(super) type PlacedBoot<'a> = (&'a NetworkBoot, i64);

/// The firmware's join, and the shift to add to its times. Without a recording the axis is the firmware's own and needs
/// no join.
pub(super) fn firmware(
    recording: Option<&AxisRecording<'_>>,
    firmware: &AxisFirmware<'_>,
) -> (Option<AxisJoin>, Option<i64>) {
    let over_resets = spans_resets(&checkpoint_faults(&firmware.checkpoints));
    let Some(recording) = recording else { return (None, (!over_resets).then_some(0)) };
    let mut evidence = vec![AxisEvidence::moments(Kind::SameMoment, AxisMoment::ExitReturn, AxisMoment::KernelStart)];
    let mut against = Vec::new();
    let mut certainty = Certainty::Inferred;
    let mut earlier_ns = None;
    if let Some(fit) = &firmware.fit {
        if fit.in_recording {
            evidence.push(AxisEvidence::of(Kind::InRecording));
        }
        if !fit.table.disagreements.is_empty() {
            against.push(AxisEvidence {
                detail: fit.table.disagreements.join("; "),
                ..AxisEvidence::of(Kind::OtherTimes)
            });
        } else if fit.same_times {
            evidence.push(AxisEvidence::of(Kind::SameTimes));
            certainty = Certainty::Measured;
        }
        if let Some(difference_ns) = fit.manager_difference_ns {
            let manager =
                AxisEvidence { difference_ns: Some(difference_ns), ..AxisEvidence::of(Kind::ServiceManagerTimes) };
            if difference_ns.saturating_abs() > MANAGER_TOLERANCE_NS {
                against.push(manager);
            } else {
                earlier_ns = Some(difference_ns.saturating_abs());
                evidence.push(manager);
            }
        }
    }
    let shift_ns = firmware.checkpoints.exit_end_ns.map(|end| recording.kernel_ns.saturating_sub(end));
    if over_resets {
        against.push(AxisEvidence::of(Kind::SpansResets));
    } else if shift_ns.is_none() {
        against.push(AxisEvidence::of(Kind::NoExitTime));
    }
    let shift_ns = shift_ns.filter(|_| against.is_empty());
    (Some(join(AxisSource::Firmware, shift_ns, certainty, (earlier_ns, evidence, against))), shift_ns)
}

fn join(
    source: AxisSource,
    shift_ns: Option<i64>,
    certainty: Certainty,
    (earlier_ns, evidence, against): (Option<i64>, Vec<AxisEvidence>, Vec<AxisEvidence>),
) -> AxisJoin {
    AxisJoin {
        source,
        joined: shift_ns.is_some(),
        certainty: if shift_ns.is_some() { certainty } else { Certainty::Missing },
        shift_ns,
        max_earlier_ns: shift_ns.and(earlier_ns),
        evidence,
        opposing: against,
        equal_matches: 0,
    }
}

/// The capture's join, and the boot in the capture that is on the axis.
pub(super) fn capture<'a>(
    recording: Option<&AxisRecording<'_>>,
    firmware: Option<(&AxisFirmware<'_>, i64)>,
    capture: &'a NetbootReport,
) -> (AxisJoin, Option<PlacedBoot<'a>>) {
    let nothing = |evidence| join(AxisSource::Capture, None, Certainty::Missing, (None, Vec::new(), vec![evidence]));
    let anchors = Anchors::of(recording, firmware);
    if anchors.is_empty() {
        // Without other sources, the capture's own times are the axis, and the boot is the first one that loaded.
        if recording.is_none() && firmware.is_none() {
            let boot = capture.boots.iter().find(|boot| Landmarks::of(boot).is_some());
            let boot = boot.or(capture.boots.first());
            let alone = join(AxisSource::Capture, boot.map(|_| 0), Certainty::Measured, Default::default());
            return (alone, boot.map(|boot| (boot, 0)));
        }
        return (nothing(AxisEvidence::of(Kind::NoEvidence)), None);
    }
    let mut candidates: Vec<Candidate<'a>> = Vec::new();
    for boot in &capture.boots {
        if let Some(landmarks) = Landmarks::of(boot) {
            candidates.push(candidate(recording, &anchors, (capture, boot), &landmarks));
        }
    }
    if candidates.is_empty() {
        return (nothing(AxisEvidence::of(Kind::NoLoadedBoot)), None);
    }
    // The best candidate comes first: joined ones, then by clock difference.
    candidates.sort_by_key(|candidate| (!candidate.join.joined, candidate.clock_ns.unwrap_or(i64::MAX)));
    let joined = candidates.iter().filter(|candidate| candidate.join.joined).count();
    let second_ns = candidates.get(1).filter(|_| joined > 1).map(|candidate| candidate.clock_ns);
    let best = candidates.swap_remove(0);
    if let Some(second_ns) = second_ns {
        // If another boot fits equally well, the result is undecided, unless the clock differences are clearly
        // distinct.
        let apart = best.clock_ns.zip(second_ns).is_some_and(|(best, second)| second > best.saturating_mul(2));
        if !apart {
            let undecided = join(AxisSource::Capture, None, Certainty::Missing, (None, best.join.evidence, Vec::new()));
            return (AxisJoin { equal_matches: joined as u64, ..undecided }, None);
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

/// The moments on the axis to which packets can be compared, ns.
#[derive(Debug, Default)]
struct Anchors {
    moments: Vec<(AxisMoment, i64)>,
    load_ns: Option<i64>,
}

impl Anchors {
    fn of(recording: Option<&AxisRecording<'_>>, firmware: Option<(&AxisFirmware<'_>, i64)>) -> Self {
        let mut anchors = Self::default();
        if let Some((firmware, shift_ns)) = firmware {
            let times = &firmware.checkpoints;
            let named = [
                (AxisMoment::LoaderLoad, times.loader_load_ns),
                (AxisMoment::LoaderStart, times.loader_start_ns),
                (AxisMoment::ExitCall, times.exit_begin_ns),
                (AxisMoment::ExitReturn, times.exit_end_ns),
            ];
            let placed = named.into_iter().filter_map(|(moment, ns)| Some((moment, ns?.saturating_add(shift_ns))));
            anchors.moments.extend(placed);
            anchors.load_ns =
                times.loader_load_ns.zip(times.loader_start_ns).map(|(load, start)| start.saturating_sub(load));
        }
        anchors.moments.extend(recording.map(|recording| (AxisMoment::KernelStart, recording.kernel_ns)));
        anchors
    }

    fn is_empty(&self) -> bool {
        self.moments.is_empty()
    }

    fn at(&self, moment: AxisMoment) -> Option<i64> {
        self.moments.iter().find(|(known, _)| *known == moment).map(|(_, ns)| *ns)
    }
}

/// The moments of a network boot that are ordered relative to moments on the axis, ns of the capture.
#[derive(Debug)]
struct Landmarks {
    /// Start of the DHCP exchange for the address that the boot program was loaded with.
    dialogue_ns: i64,
    request_ns: i64,
    program_end_ns: i64,
    next_ns: Option<i64>,
    last_ns: i64,
    system_ns: Option<i64>,
}

impl Landmarks {
    /// `None` for a boot that did not load any file completely.
    fn of(boot: &NetworkBoot) -> Option<Self> {
        let system = |stage: &&onoff_network::report::Stage| stage.kind == StageKind::OperatingSystem;
        let system_ns = boot.stages.iter().find(system).map(|stage| stage.start_ns).or(boot.file_server_ns);
        let before = |ns: i64| system_ns.is_none_or(|system| ns <= system);
        let files = boot.transfers.iter().filter(|file| file.outcome == Outcome::Complete && !file.write);
        let files = files.map(|file| (file.request_ns, file.end_ns, file.role == FileRole::BootProgram));
        let downloads = boot.downloads.iter().filter(|download| is_whole(download));
        let downloads = downloads.map(|download| (download.start_ns, download.end_ns, false));
        let mut loads: Vec<(i64, i64, bool)> = files.chain(downloads).filter(|&(start, _, _)| before(start)).collect();
        loads.sort();
        let program = loads.iter().find(|load| load.2).or(loads.first())?;
        let (request_ns, program_end_ns, _) = *program;
        let dialogues = boot.dhcp.iter().filter(|exchange| exchange.stack == Stack::Firmware);
        let requests = boot.transfers.iter().map(|file| file.request_ns);
        let requests = requests.chain(boot.downloads.iter().map(|download| download.start_ns));
        let requests = requests.chain(dialogues.clone().map(|exchange| exchange.start_ns));
        Some(Self {
            dialogue_ns: dialogues
                .filter(|exchange| exchange.complete && !exchange.boot_server_dialogue)
                .map(|exchange| exchange.start_ns)
                .filter(|&start| start <= request_ns)
                .max()
                .unwrap_or(request_ns),
            request_ns,
            program_end_ns,
            next_ns: requests.filter(|&ns| ns > program_end_ns && before(ns)).min(),
            last_ns: loads.iter().map(|load| load.1).filter(|&ns| before(ns)).max().unwrap_or(program_end_ns),
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
    let kernel = [Moment::ExitCall, Moment::KernelStart].into_iter().find(|&moment| anchors.at(moment).is_some());
    let mut upper: Vec<(Moment, Moment, i64)> = Vec::new();
    let mut lower: Vec<(Moment, Moment, i64)> = Vec::new();
    if let Some(start) = anchors.at(Moment::LoaderStart) {
        upper.push((Moment::BootProgramEnd, Moment::LoaderStart, start.saturating_sub(landmarks.program_end_ns)));
        let next = landmarks.next_ns.map(|ns| (Moment::LoaderStart, Moment::NextRequest, start.saturating_sub(ns)));
        lower.extend(next);
    }
    if let Some((moment, ns)) = kernel.and_then(|moment| Some((moment, anchors.at(moment)?))) {
        upper.push((Moment::LastByte, moment, ns.saturating_sub(landmarks.last_ns)));
    }
    if let Some(load) = anchors.at(Moment::LoaderLoad) {
        let bound = load.saturating_sub(landmarks.request_ns);
        lower.push((Moment::LoaderLoad, Moment::BootProgramRequest, bound));
    }
    let handed_over =
        [Moment::ExitReturn, Moment::KernelStart].into_iter().find(|&moment| anchors.at(moment).is_some());
    if let Some((moment, ns)) = handed_over.and_then(|moment| Some((moment, anchors.at(moment)?)))
        && let Some(system) = landmarks.system_ns
    {
        lower.push((moment, Moment::SystemNetwork, ns.saturating_sub(system)));
    }

    let shift_ns = upper.iter().map(|(_, _, ns)| *ns).min();
    let mut evidence = Vec::new();
    let mut against = Vec::new();
    let mut identified = identify(recording, boot, (&mut evidence, &mut against));
    let mut clock_ns = None;
    let mut slack_ns = None;
    if let Some(shift) = shift_ns {
        let bound = lower.iter().map(|(_, _, ns)| *ns).max();
        slack_ns = bound.map(|bound| shift.saturating_sub(bound).max(0));
        let tolerance = STAMP_TOLERANCE_NS.saturating_add(boot.duration_ns.max(0) / 1000 * DRIFT_PER_MILLE);
        for &(first, second, ns) in &upper {
            evidence.push(order(first, second, ns.saturating_sub(shift)));
        }
        for &(first, second, ns) in &lower {
            let difference_ns = shift.saturating_sub(ns);
            let order = order(first, second, difference_ns);
            if difference_ns < -tolerance { against.push(order) } else { evidence.push(order) }
        }
        if let Some(difference_ns) = clocks(recording, capture, shift) {
            let clocks = AxisEvidence { difference_ns: Some(difference_ns), ..AxisEvidence::of(Kind::Clocks) };
            clock_ns = Some(difference_ns.saturating_abs());
            let room = CLOCK_TOLERANCE_NS.saturating_add(slack_ns.unwrap_or(0));
            if difference_ns.saturating_abs() > room {
                against.push(clocks);
            } else {
                identified = true;
                evidence.push(clocks);
            }
        }
        if let Some(load_ns) = anchors.load_ns {
            let packets_ns = landmarks.program_end_ns.saturating_sub(landmarks.dialogue_ns);
            let fills = packets_ns <= load_ns.saturating_add(tolerance)
                && packets_ns.saturating_mul(100) >= load_ns.saturating_mul(FILLED_PERCENT);
            if fills {
                evidence.push(AxisEvidence {
                    difference_ns: Some(load_ns.saturating_sub(packets_ns)),
                    load_ns: Some(load_ns),
                    ..AxisEvidence::of(Kind::FillsLoadTime)
                });
                // With a recording, clocks and MAC addresses decide; firmware tables have neither.
                identified |= recording.is_none();
            }
        }
    }
    if !identified && against.is_empty() {
        against.push(AxisEvidence::of(Kind::NoEvidence));
    }
    let shift_ns = shift_ns.filter(|_| against.is_empty());
    Candidate {
        boot,
        join: join(AxisSource::Capture, shift_ns, Certainty::Inferred, (slack_ns, evidence, against)),
        clock_ns,
    }
}

/// Evidence that one moment precedes another.
fn order(first: AxisMoment, second: AxisMoment, difference_ns: i64) -> AxisEvidence {
    AxisEvidence { difference_ns: Some(difference_ns), ..AxisEvidence::moments(Kind::Order, first, second) }
}

/// Whether a file was downloaded completely. For HTTPS, all that is known is that data was received.
fn is_whole(download: &Download) -> bool {
    match download.status {
        Some(status) => download.complete && status == 200 && download.method == "GET",
        None => download.method.is_empty() && download.bytes > 0,
    }
}

/// Whether the capture's client has a MAC address of the recorded machine.
fn identify(
    recording: Option<&AxisRecording<'_>>,
    boot: &NetworkBoot,
    (evidence, against): (&mut Vec<AxisEvidence>, &mut Vec<AxisEvidence>),
) -> bool {
    let stations = recording.map_or(&[][..], |recording| &recording.mac_addresses);
    let Some(client) = boot.client.mac.map(|mac| mac.to_string()).filter(|_| !stations.is_empty()) else {
        return false;
    };
    let same = digits(&client).is_some_and(|client| stations.contains(&client));
    let station = AxisEvidence { detail: client, ..AxisEvidence::of(Kind::MacAddress) };
    if same {
        evidence.push(station)
    } else {
        against.push(station)
    }
    same
}

/// The capture's clock minus the recording's clock if the capture is shifted by `shift_ns`, ns.
fn clocks(recording: Option<&AxisRecording<'_>>, capture: &NetbootReport, shift_ns: i64) -> Option<i64> {
    let recording = recording?;
    let capture_ns = capture.capture.start_unix_ns?.saturating_sub(shift_ns).saturating_add(recording.kernel_ns);
    Some(capture_ns.saturating_sub(recording.kernel_unix_ns?))
}
