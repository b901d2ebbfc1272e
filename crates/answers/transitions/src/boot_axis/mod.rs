//! Puts firmware tables, a network capture and the system's own recording of one boot on one time axis.
//!
//! The sources use three clocks: the firmware counts from processor reset, the capture uses the clock of the capturing
//! machine, and the recording starts with the kernel. If two sources contain the same moment, or moments that can only
//! occur in one order, their times can be aligned. Each such join lists its evidence and its uncertainty. A source
//! without a join, or with contradicting evidence, is left off the axis, and its join gives the reason.

mod joins;
pub mod report;
mod stages;

use onoff_trace::firmware::FirmwareCheckpoints;
use onoff_trace::{SystemKind, Trace};

pub use report::*;

use onoff_evidence::phase_name::PhaseInterval;
use onoff_firmware_times::FirmwarePhase;
use onoff_firmware_times::before_kernel::{FirmwareBeforeKernel, GivenFirmware, same_times};
use onoff_network::report::NetbootReport;
use onoff_usage::user_input::without_user_input;

/// Input from the recording.
#[derive(Clone, Debug)]
pub struct AxisRecording<'a> {
    /// Kernel start, ns on the recording's axis.
    pub kernel_ns: i64,
    /// Kernel start in wall-clock time, ns since 1970-01-01 UTC; `None` if not recorded.
    pub kernel_unix_ns: Option<i64>,
    /// MAC addresses of the machine, as lowercase hexadecimal digits; empty if not recorded.
    pub mac_addresses: Vec<String>,
    pub has_all_mac_addresses: bool,
    pub phases: &'a [PhaseInterval],
    /// End of the boot, ns, without the required idle time; `None` if not recorded.
    pub settled_ns: Option<i64>,
    /// Time spent waiting for user input between the start of the axis and the end of the boot, ns.
    pub user_input_ns: i64,
}

/// Input from the firmware.
#[derive(Clone, Debug)]
pub struct AxisFirmware<'a> {
    /// The five checkpoints, ns since processor reset.
    pub checkpoints: FirmwareCheckpoints,
    /// Phases measured by the firmware itself; may be empty.
    pub phases: &'a [FirmwarePhase],
    /// How the times fit the recording; `None` without a recording.
    pub fit: Option<FirmwareFit<'a>>,
}

/// Evidence that firmware tables belong to the recorded boot.
#[derive(Clone, Copy, Debug)]
pub struct FirmwareFit<'a> {
    /// The table as placed by the boot report.
    pub table: &'a FirmwareBeforeKernel,
    pub in_recording: bool,
    /// Whether the recording contains the same five times.
    pub same_times: bool,
    /// End of firmware and loader in the table, minus the end that the service manager reported, ns; `None` if the
    /// service manager's time was not recorded.
    pub manager_difference_ns: Option<i64>,
}

/// Puts the boot on one axis; `None` without firmware tables and capture.
#[must_use]
pub fn axis(
    recording: Option<&AxisRecording<'_>>,
    firmware: Option<&AxisFirmware<'_>>,
    capture: Option<&NetbootReport>,
) -> Option<BootAxis> {
    if firmware.is_none() && capture.is_none() {
        return None;
    }
    let mut joins = Vec::new();
    let firmware_shift_ns = firmware.and_then(|firmware| {
        let (join, shift_ns) = joins::firmware(recording, firmware);
        joins.extend(join);
        shift_ns
    });
    let shifted_firmware = firmware.zip(firmware_shift_ns);
    let mut packets = None;
    if let Some(capture) = capture {
        let (join, boot) = joins::capture(recording, shifted_firmware, capture);
        joins.push(join);
        packets = boot;
    }
    let stages = stages::stages(recording, shifted_firmware, packets);
    let start_ns = stages.first().map(|stage| stage.start_ns);
    let end_ns = match recording {
        Some(recording) => recording.settled_ns,
        None => stages.last().map(|stage| stage.end_ns),
    };
    Some(BootAxis {
        origin: match (recording, shifted_firmware) {
            (Some(_), _) => AxisOrigin::Recording,
            (None, Some(_)) => AxisOrigin::Reset,
            (None, None) => AxisOrigin::Capture,
        },
        start_ns,
        end_ns,
        total_ns: start_ns.zip(end_ns).map(|(start, end)| {
            without_user_input(end.saturating_sub(start), recording.map_or(0, |recording| recording.user_input_ns))
        }),
        stages,
        joins,
    })
}

/// The inputs to the axis from a boot report.
pub(crate) struct AxisInputs<'a> {
    /// The firmware's times, as placed by the report.
    pub(crate) firmware_table: Option<&'a FirmwareBeforeKernel>,
    /// End of firmware and loader in the table, minus the same end as reported by the service manager, ns.
    pub(crate) manager_difference_ns: Option<i64>,
    /// Time spent waiting for user input between the start of the axis and the end of the boot, ns.
    pub(crate) user_input_ns: i64,
}

impl AxisInputs<'_> {
    /// Builds the axis of a recorded boot from its kernel start, phases and end, and the available firmware data and
    /// packets.
    pub(crate) fn axis(
        &self,
        trace: &Trace,
        (given, capture): (Option<&GivenFirmware>, Option<&NetbootReport>),
        (kernel_ns, phases, settled_ns): (i64, &[PhaseInterval], Option<i64>),
    ) -> Option<BootAxis> {
        let recording = AxisRecording {
            kernel_ns,
            kernel_unix_ns: trace.clock.unix_ns(kernel_ns),
            mac_addresses: mac_addresses(trace),
            has_all_mac_addresses: has_all_mac_addresses(trace),
            phases,
            settled_ns,
            user_input_ns: self.user_input_ns,
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

/// Returns the MAC addresses of the recorded machine: the addresses of its adapters, and the address that a network
/// boot passed to the kernel (`BOOTIF`).
#[must_use]
pub(crate) fn mac_addresses(trace: &Trace) -> Vec<String> {
    let system = &trace.system;
    let adapters = system.network_adapters.iter().map(|adapter| adapter.physical_address.as_str());
    let words = system.kernel_command_line.split_ascii_whitespace();
    // PXELINUX, GRUB and iPXE pass the hardware type (01: Ethernet) and the address they booted from.
    let booted_from = words.filter_map(|word| word.strip_prefix("BOOTIF=")?.strip_prefix("01-"));
    let mut addresses: Vec<String> = adapters.chain(booted_from).filter_map(digits).collect();
    addresses.sort();
    addresses.dedup();
    addresses
}

/// Returns whether the recording names the addresses of all adapters. A kernel log lacks those that their driver did not
/// announce.
fn has_all_mac_addresses(trace: &Trace) -> bool {
    let mut adapters = trace.system.network_adapters.iter();
    trace.system.kind != SystemKind::Linux || adapters.all(|adapter| digits(&adapter.physical_address).is_some())
}

/// Returns the twelve digits of a MAC address, without separators; `None` if it is not a MAC address or all zeros.
fn digits(address: &str) -> Option<String> {
    let digits: String =
        address.chars().filter(|letter| !matches!(letter, ':' | '-' | '.')).collect::<String>().to_ascii_lowercase();
    let is_address = digits.len() == 12
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && digits.bytes().any(|byte| byte != b'0');
    is_address.then_some(digits)
}
