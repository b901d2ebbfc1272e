//! TFTP transfers with derived values: durations, breakdown and model.

use onoff_netboot::transfer::{Outcome, Transfer};

use super::model::{self, FittedTransfer};
use super::report::{Costs, FileRole, FileTransfer, TransferTotal};

/// Largest block that fits into an Ethernet frame of 1,500 bytes with IPv4.
const IPV4_LIMIT: u32 = 1468;
/// Largest block that fits into an Ethernet frame of 1,500 bytes with IPv6: headers of 40 bytes (IPv6), 8 bytes (UDP)
/// and 4 bytes (TFTP).
const IPV6_LIMIT: u32 = 1448;

/// Returns the transfers of one boot, with a model for each transfer that is long enough.
pub(super) fn transfers(
    transfers: &[&Transfer],
    boot_file: Option<&str>,
    bits_per_s: u64,
) -> (Vec<FileTransfer>, Vec<Option<FittedTransfer>>) {
    let mut files = Vec::with_capacity(transfers.len());
    let mut models = Vec::new();
    let mut previous_end_ns: Option<i64> = None;
    let mut programs = 0;
    for transfer in transfers {
        let first_program = programs == 0;
        let role = role(&transfer.file, boot_file, first_program);
        let fitted = model::fit(transfer, role == FileRole::BootProgram, bits_per_s);
        if role == FileRole::BootProgram && transfer.outcome == Outcome::Complete {
            programs += 1;
        }
        let file = describe(transfer, role, previous_end_ns);
        previous_end_ns = Some(previous_end_ns.map_or(file.end_ns, |end_ns| end_ns.max(file.end_ns)));
        files.push(file);
        models.push(fitted);
    }
    // The model needs the round trip, which is known only after all transfers; see [`join`].
    (files, models)
}

/// Separates c0 and k across all transfers, and stores the model of each file.
pub(super) fn join(
    files: &mut [FileTransfer],
    models: Vec<Option<FittedTransfer>>,
    round_trip_at_most_ns: Option<i64>,
) -> Vec<FittedTransfer> {
    let indices: Vec<usize> =
        models.iter().enumerate().filter(|(_, model)| model.is_some()).map(|(index, _)| index).collect();
    let mut fitted: Vec<FittedTransfer> = models.into_iter().flatten().collect();
    model::fit_together(&mut fitted, round_trip_at_most_ns);
    for (index, fitted) in indices.into_iter().zip(&fitted) {
        if let Some(file) = files.get_mut(index) {
            file.model = Some(fitted.model.clone());
        }
    }
    fitted
}

fn describe(transfer: &Transfer, role: FileRole, previous_end_ns: Option<i64>) -> FileTransfer {
    let end_ns = transfer.complete_ns.unwrap_or(transfer.last_ns);
    let has_request = !transfer.started_before_capture;
    let duration_ns = transfer.complete_ns.filter(|_| has_request).map(|end| end.saturating_sub(transfer.request_ns));
    let ipv6 = transfer.client.is_ipv6();
    let counts = transfer.counts;
    FileTransfer {
        file: transfer.file.clone(),
        role,
        write: transfer.write,
        started_before_capture: transfer.started_before_capture,
        program: transfer.program,
        client: transfer.client.to_string(),
        server: transfer.server.to_string(),
        outcome: transfer.outcome,
        error: transfer.error.clone(),
        request_ns: transfer.request_ns,
        requests: transfer.requests,
        answer_ns: transfer.answer_ns,
        first_data_ns: transfer.first_data_ns,
        end_ns,
        duration_ns,
        answer_to_end_ns: transfer.complete_ns.zip(transfer.answer_ns).map(|(end, answer)| end.saturating_sub(answer)),
        idle_before_ns: previous_end_ns.map(|end_ns| transfer.request_ns.saturating_sub(end_ns).max(0)),
        bytes_per_s: duration_ns.filter(|&ns| ns > 0).map(|ns| counts.bytes as f64 * 1e9 / ns as f64),
        requested: transfer.requested.clone(),
        granted: transfer.granted.clone(),
        block_size: model::block_size(transfer),
        window: window(transfer),
        variable_window: transfer.granted.as_ref().is_some_and(|granted| granted.variable_window.is_some()),
        downgraded: downgraded(transfer),
        counts,
        repeated_percent: counts.repeated_data as f64 * 100.0 / counts.data_packets.max(1) as f64,
        window_mean: transfer.mean_window,
        max_window: transfer.max_window,
        windows: transfer.windows.clone(),
        omitted_window_changes: transfer.windows_skipped,
        server_turn: transfer.server_turnaround,
        client_turn: transfer.client_turnaround,
        turns_by_window: transfer.turnarounds_by_window.clone(),
        gap: transfer.gap,
        timeouts: transfer.timeouts.clone(),
        timeout_count: transfer.timeout_count,
        timeout_ns: transfer.timeout_ns,
        duplicate_blocks: transfer.duplicated_run,
        wraps: transfer.wraps,
        first_wrapped_number: transfer.number_after_wrap,
        unfragmented_limit: if ipv6 { IPV6_LIMIT } else { IPV4_LIMIT },
        costs: duration_ns.map(|duration_ns| costs(transfer, duration_ns)),
        model: None,
    }
}

fn window(transfer: &Transfer) -> u32 {
    let granted = transfer.granted.as_ref();
    granted.and_then(|granted| granted.window).unwrap_or(1)
}

fn downgraded(transfer: &Transfer) -> Vec<&'static str> {
    // Without a response nothing was refused yet, and a truncated response may grant more than is visible.
    if transfer.answer_ns.is_none() || transfer.granted.as_ref().is_some_and(|granted| granted.cut) {
        return Vec::new();
    }
    let is_reduced = |requested: Option<u32>, granted: Option<u32>, default: u32| {
        requested.is_some_and(|requested| granted.unwrap_or(default) < requested)
    };
    let granted = transfer.granted.clone().unwrap_or_default();
    let mut options = Vec::new();
    if is_reduced(transfer.requested.block_size, granted.block_size, 512) {
        options.push("blksize");
    }
    if is_reduced(transfer.requested.window, granted.window, 1) {
        options.push("windowsize");
    }
    if transfer.requested.variable_window.is_some() && granted.variable_window.is_none() {
        options.push("msftwindow");
    }
    options
}

fn costs(transfer: &Transfer, duration_ns: i64) -> Costs {
    let usual = |turns: &onoff_netboot::turnaround::Turnaround| turns.total_ns.saturating_sub(turns.pause_ns);
    // Pauses between blocks of a window belong to the sender.
    let (mut server_pauses_ns, mut client_pauses_ns) =
        (transfer.server_turnaround.pause_ns, transfer.client_turnaround.pause_ns);
    if transfer.write {
        client_pauses_ns = client_pauses_ns.saturating_add(transfer.gap.pause_ns);
    } else {
        server_pauses_ns = server_pauses_ns.saturating_add(transfer.gap.pause_ns);
    }
    let mut costs = Costs {
        setup_ns: model::setup(transfer),
        blocks_ns: usual(&transfer.gap).saturating_add(transfer.fragments_ns),
        server_ns: usual(&transfer.server_turnaround),
        client_ns: usual(&transfer.client_turnaround),
        server_pauses_ns,
        client_pauses_ns,
        timeouts_ns: transfer.timeout_ns,
        remainder_ns: 0,
    };
    let parts = [
        costs.setup_ns,
        costs.blocks_ns,
        costs.server_ns,
        costs.client_ns,
        costs.server_pauses_ns,
        costs.client_pauses_ns,
        costs.timeouts_ns,
    ];
    let attributed_ns = parts.into_iter().fold(0_i64, i64::saturating_add);
    costs.remainder_ns = duration_ns.saturating_sub(attributed_ns);
    costs
}

/// Sums the complete transfers.
pub(super) fn total(files: &[FileTransfer]) -> TransferTotal {
    let mut total = TransferTotal::default();
    for file in files {
        let idle = file.idle_before_ns.unwrap_or(0);
        total.idle_ns = total.idle_ns.saturating_add(idle);
        total.timeout_ns = total.timeout_ns.saturating_add(file.timeout_ns);
        let Some(duration) = file.duration_ns.filter(|_| !file.write) else { continue };
        total.files += 1;
        total.bytes = total.bytes.saturating_add(file.counts.bytes);
        total.duration_ns = total.duration_ns.saturating_add(duration);
        if let Some(model) = &file.model {
            let add = |sum: Option<i64>, ns: i64| Some(sum.unwrap_or(0).saturating_add(ns));
            total.model_ns = add(total.model_ns, model.model_ns);
            total.pauses_ns = total.pauses_ns.saturating_add(model.pauses_ns);
            total.unexplained_ns = add(total.unexplained_ns, model.unexplained_ns);
        }
    }
    total
}

/// Determines the purpose of a file.
pub(super) fn role(path: &str, boot_file: Option<&str>, first_program: bool) -> FileRole {
    let path = path.to_ascii_lowercase().replace('\\', "/");
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_boot_file = boot_file.is_some_and(|boot_file| {
        let boot_file = boot_file.to_ascii_lowercase().replace('\\', "/");
        boot_file.ends_with(&path) && !path.is_empty()
    });
    let has_ending = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let has_beginning = |beginnings: &[&str]| beginnings.iter().any(|text| name.starts_with(text));
    if is_boot_file {
        return FileRole::BootProgram;
    }
    if has_ending(&[
        ".wim",
        ".sdi",
        ".img",
        ".cpio",
        ".squashfs",
        ".iso",
        ".gz",
        ".xz",
        ".zst",
        ".esd",
        ".vhd",
        ".vhdx",
    ]) || has_beginning(&["initrd", "initramfs", "rootfs", "ramdisk"])
    {
        return FileRole::Ramdisk;
    }
    if has_beginning(&["vmlinuz", "vmlinux", "linux", "bzimage", "kernel"]) || has_ending(&[".krn", ".kernel"]) {
        return FileRole::Kernel;
    }
    if name == "bcd"
        || has_ending(&[".bcd", ".cfg", ".lst", ".conf", ".ipxe", ".ini", ".env", ".msg"])
        || path.contains("pxelinux.cfg/")
        || name.contains(".cfg-")
    {
        return FileRole::Configuration;
    }
    if has_ending(&[".efi", ".com", ".0", ".n12", ".kpxe", ".pxe", ".exe"]) {
        return if first_program && boot_file.is_none() { FileRole::BootProgram } else { FileRole::Loader };
    }
    if has_ending(&[".mod", ".c32", ".ttf", ".pf2", ".mui", ".dll", ".stl"]) || path.contains("/fonts/") {
        return FileRole::Loader;
    }
    FileRole::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn determines_role_by_name_and_position() {
        for (path, boot_file, first, role_expected) in [
            ("grubnetx64.efi", Some("tftp://[fd77::1]/grubnetx64.efi"), true, FileRole::BootProgram),
            ("grubnetx64.efi", None, true, FileRole::BootProgram),
            (r"boot\x64\wdsmgfw.efi", Some(r"\boot\x64\wdsmgfw.efi"), true, FileRole::BootProgram),
            (r"\Boot\x64\bootmgfw.efi", Some(r"\boot\x64\wdsmgfw.efi"), true, FileRole::Loader),
            (r"\Boot\BCD", None, false, FileRole::Configuration),
            (r"\Tmp\x64{1B4A}.bcd", None, false, FileRole::Configuration),
            (r"\Boot\Fonts\wgl4_boot.ttf", None, false, FileRole::Loader),
            (r"\Boot\boot.sdi", None, false, FileRole::Ramdisk),
            (r"\Boot\x64\Images\boot.wim", None, false, FileRole::Ramdisk),
            ("/grub/x86_64-efi/command.lst", None, false, FileRole::Configuration),
            ("/vmlinuz", None, false, FileRole::Kernel),
            ("initrd.img-6.1", None, false, FileRole::Ramdisk),
            ("pxelinux.cfg/01-52-54-00-77-00-01", None, false, FileRole::Configuration),
            ("none", None, true, FileRole::Other),
        ] {
            assert_eq!(role(path, boot_file, first), role_expected, "{path}");
        }
    }
}
