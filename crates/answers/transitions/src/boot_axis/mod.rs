//! One boot on one axis: what the firmware, a network capture and the system's own recording say of it, brought together.
//!
//! Three clocks saw the boot: the firmware's counts from the processor's reset, the capture's is that of whoever recorded the
//! packets, the recording's starts with the kernel. Where two of them saw the same moment, or moments that can only follow
//! each other in one order, their times can be put on one axis. Each such join carries its evidence and how far it may be off.
//! What nothing joins, or what something contradicts, is left off the axis, and the join says why.

mod joins;
pub mod report;
mod stages;
#[cfg(test)]
mod tests;

use onoff_trace::Trace;
use onoff_trace::firmware::FirmwareCheckpoints;

pub use report::*;

use onoff_evidence::phase_name::PhaseSpan;
use onoff_firmware_times::FirmwarePhase;
use onoff_firmware_times::before_kernel::{FirmwareBeforeKernel, GivenFirmware, same_times};
use onoff_network::report::NetbootReport;
use onoff_usage::person::without_person;

/// The recording's part.
#[derive(Clone, Debug)]
pub struct AxisRecording<'a> {
    /// The kernel's start, ns on the recording's axis.
    pub kernel_ns: i64,
    /// The same in real time, ns since 1970-01-01 UTC; `None` when the recording does not say.
    pub kernel_unix_ns: Option<i64>,
    /// Station addresses of the machine, as lower-case hexadecimal digits; empty when not recorded.
    pub stations: Vec<String>,
    /// Its phases.
    pub phases: &'a [PhaseSpan],
    /// End of the boot as its total counts it, ns: without the idle time that shows it; `None` when not recorded.
    pub settled_ns: Option<i64>,
    /// Time from the first known moment to the end in which a person was waited for, ns.
    pub person_ns: i64,
}

/// The firmware's part.
#[derive(Clone, Debug)]
pub struct AxisFirmware<'a> {
    /// Its five times, ns since the processor's reset.
    pub checkpoints: FirmwareCheckpoints,
    /// Its own phases; empty when it measured none.
    pub phases: &'a [FirmwarePhase],
    /// How its times were found to fit the recording; `None` without a recording.
    pub fit: Option<FirmwareFit<'a>>,
}

/// What speaks for and against firmware tables being those of the recorded boot.
#[derive(Clone, Copy, Debug)]
pub struct FirmwareFit<'a> {
    /// As the recording's own report places them.
    pub table: &'a FirmwareBeforeKernel,
    /// Whether the tables are part of the recording.
    pub in_recording: bool,
    /// Whether the recording holds the same five times.
    pub same_times: bool,
    /// The table's end of firmware and loader less the service manager's, ns; `None` when the latter is not recorded.
    pub manager_difference_ns: Option<i64>,
}

/// The boot on one axis; `None` when there is nothing but a recording, or nothing at all.
#[must_use]
pub fn axis(
    recording: Option<&AxisRecording<'_>>,
    firmware: Option<&AxisFirmware<'_>>,
    capture: Option<&NetbootReport>,
) -> Option<BootAxis> {
    if firmware.is_none() && capture.is_none() {
        return None;
    }
    let mut all = Vec::new();
    let firmware_shift_ns = firmware.and_then(|firmware| {
        let (join, shift_ns) = joins::firmware(recording, firmware);
        all.extend(join);
        shift_ns
    });
    let placed = firmware.zip(firmware_shift_ns);
    let mut packets = None;
    if let Some(capture) = capture {
        let (join, boot) = joins::capture(recording, placed, capture);
        all.push(join);
        packets = boot;
    }
    let stages = stages::stages(recording, placed, packets);
    let start_ns = stages.first().map(|stage| stage.start_ns);
    let end_ns = match recording {
        Some(recording) => recording.settled_ns,
        None => stages.last().map(|stage| stage.end_ns),
    };
    Some(BootAxis {
        zero: match (recording, placed) {
            (Some(_), _) => AxisZero::Recording,
            (None, Some(_)) => AxisZero::Reset,
            (None, None) => AxisZero::Capture,
        },
        start_ns,
        end_ns,
        total_ns: start_ns
            .zip(end_ns)
            .map(|(start, end)| without_person(end.saturating_sub(start), recording.map_or(0, |it| it.person_ns))),
        stages,
        joins: all,
    })
}

/// What the report of a boot knows of the firmware.
pub(crate) struct Beside<'a> {
    /// The firmware's times as the report places them.
    pub(crate) firmware_table: Option<&'a FirmwareBeforeKernel>,
    /// The table's end of firmware and loader less the service manager's, ns.
    pub(crate) manager_difference_ns: Option<i64>,
    /// Time from the first known moment to the end in which a person was waited for, ns.
    pub(crate) person_ns: i64,
}

impl Beside<'_> {
    /// The axis of a recorded boot: its kernel's start, its phases and its end, with the firmware and the packets at hand.
    pub(crate) fn axis(
        &self,
        trace: &Trace,
        (given, capture): (Option<&GivenFirmware>, Option<&NetbootReport>),
        (kernel_ns, phases, settled_ns): (i64, &[PhaseSpan], Option<i64>),
    ) -> Option<BootAxis> {
        let recording = AxisRecording {
            kernel_ns,
            kernel_unix_ns: trace.clock.unix_ns(kernel_ns),
            stations: stations(trace),
            phases,
            settled_ns,
            person_ns: self.person_ns,
        };
        let firmware = self.firmware_table.map(|table| AxisFirmware {
            checkpoints: table.checkpoints,
            phases: given.map_or(&[][..], |given| &given.phases),
            fit: Some(FirmwareFit {
                table,
                in_recording: given.is_none(),
                same_times: same_times(trace, given),
                manager_difference_ns: self.manager_difference_ns,
            }),
        });
        axis(Some(&recording), firmware.as_ref(), capture)
    }
}

/// The station addresses that a recording tells: those of its adapters, and the one that a network boot's kernel was given
/// (`BOOTIF`).
#[must_use]
pub(crate) fn stations(trace: &Trace) -> Vec<String> {
    let system = &trace.system;
    let adapters = system.network_adapters.iter().map(|adapter| adapter.physical_address.as_str());
    let words = system.kernel_command_line.split_ascii_whitespace();
    // PXELINUX, GRUB and iPXE hand over the hardware type (01: Ethernet) and the address that they booted from.
    let booted_from = words.filter_map(|word| word.strip_prefix("BOOTIF=")?.strip_prefix("01-"));
    let mut stations: Vec<String> = adapters.chain(booted_from).filter_map(digits).collect();
    stations.sort();
    stations.dedup();
    stations
}

/// The twelve digits of a station address, whatever stands between them; `None` for what is none, or all zeros.
fn digits(address: &str) -> Option<String> {
    let kept: String =
        address.chars().filter(|letter| !matches!(letter, ':' | '-' | '.')).collect::<String>().to_ascii_lowercase();
    let is_one =
        kept.len() == 12 && kept.bytes().all(|byte| byte.is_ascii_hexdigit()) && kept.bytes().any(|b| b != b'0');
    is_one.then_some(kept)
}
