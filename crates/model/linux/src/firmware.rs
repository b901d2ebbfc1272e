//! Reads the times before the kernel's start: the loader's two EFI variables and the firmware's performance tables.

use onoff_trace::{TableName, counters, milestone};

use super::assembly::Assembly;
use super::parts::{Part, PartKind};
use onoff_firmware_tables::{measurements, read_parts};

counters! {
    UNREADABLE = "loader_times_unreadable", Warning, [Milestones],
        "An EFI variable with the loader's times is not a number, so firmware and loader times are unknown.";
    FAULTS = "firmware_table_faults", Warning, [Milestones],
        "The firmware performance tables have contradictory values; 'onoff firmware' lists them.";
}

const NS_PER_US: i64 = 1000;

/// Adds the milestones of firmware and loader unless another part has them. If both sources exist, the firmware's table
/// wins, as in systemd: it has the time of the handover, whereas the variables only say when the loader was done.
pub(super) fn read(parts: &[Part<'_>], assembly: &mut Assembly) {
    let tables = parts.iter().filter(|part| part.kind == PartKind::FirmwareTable).map(|part| (part.name, part.bytes));
    let firmware = read_parts(tables);
    assembly.losses.add(&FAULTS, firmware.problems.len() as u64);
    if assembly.wants(TableName::FirmwareMeasurements) {
        assembly.firmware_measurements = measurements(&firmware, &mut assembly.texts);
    }
    let event = "firmware performance table";
    if let Some(times) = firmware.checkpoints {
        let end_ns = times.exit_end_ns.unwrap_or(0);
        if let (Some(start_ns), Some(end_ns)) = (times.loader_start_ns, times.exit_end_ns)
            && (0..=end_ns).contains(&start_ns)
        {
            add_phases(start_ns, end_ns, event, assembly);
        }
        for (name, value) in [
            (milestone::FIRMWARE_RESET_END, times.reset_end_ns),
            (milestone::FIRMWARE_LOADER_LOADED, times.loader_load_ns),
            (milestone::FIRMWARE_LOADER_STARTED, times.loader_start_ns),
            (milestone::FIRMWARE_EXIT_BEGIN, times.exit_begin_ns),
            (milestone::FIRMWARE_EXIT_END, times.exit_end_ns),
        ] {
            if let Some(value) = value {
                // The kernel's clock starts when the firmware hands over.
                let time_ns = value.saturating_sub(end_ns).min(0);
                assembly.add_milestone(time_ns, name, "", Some(value), event);
            }
        }
    }
    let mut loader_ns = |kind: PartKind| {
        let part = parts.iter().find(|part| part.kind == kind)?;
        let time_ns = microseconds(part.bytes).and_then(|time_us| time_us.checked_mul(NS_PER_US));
        if time_ns.is_none() {
            assembly.losses.add_at(&UNREADABLE, || part.name.to_owned());
        }
        time_ns
    };
    let init_ns = loader_ns(PartKind::LoaderTimeInit);
    let exec_ns = loader_ns(PartKind::LoaderTimeExec);
    if let (Some(init_ns), Some(exec_ns)) = (init_ns, exec_ns)
        && (0..=exec_ns).contains(&init_ns)
    {
        let event = "EFI variables LoaderTimeInitUSec and LoaderTimeExecUSec";
        add_phases(init_ns, exec_ns, event, assembly);
    }
    let last_wake_ns = assembly.last_time_of(milestone::WAKE).unwrap_or(0);
    let resume = firmware.resume.filter(|resume| resume.count > 0);
    for (name, value) in [
        (milestone::FIRMWARE_SUSPEND_BEGIN, firmware.suspend.map(|suspend| suspend.start_ns)),
        (milestone::FIRMWARE_SUSPEND_END, firmware.suspend.map(|suspend| suspend.end_ns)),
        (milestone::FIRMWARE_RESUME_TIME, resume.and_then(|resume| resume.last_ns)),
        (milestone::FIRMWARE_RESUME_AVERAGE, resume.and_then(|resume| resume.average_ns)),
    ] {
        // An unused table is all zeros.
        if let Some(value) = value.filter(|&value| value > 0) {
            assembly.add_milestone(last_wake_ns, name, "", Some(value), event);
        }
    }
}

/// Adds the phases before the kernel: firmware for `init_ns`, then the loader until `exec_ns`.
fn add_phases(init_ns: i64, exec_ns: i64, event: &str, assembly: &mut Assembly) {
    if assembly.last_time_of(milestone::FIRMWARE).is_some() {
        return;
    }
    let loader_ns = exec_ns - init_ns;
    assembly.add_milestone(-exec_ns, milestone::FIRMWARE, "", Some(init_ns), event);
    assembly.add_milestone(-loader_ns, milestone::BOOT_MANAGER, "", Some(loader_ns), event);
}

/// Parses the variable: four bytes of attributes, then decimal digits in UTF-16 with a terminating zero (Boot Loader
/// Interface).
fn microseconds(bytes: &[u8]) -> Option<i64> {
    let (_, text) = bytes.split_first_chunk::<4>()?;
    let mut digits = String::new();
    let (code_units, _) = text.as_chunks::<2>();
    for code_unit in code_units {
        match u16::from_le_bytes(*code_unit) {
            0 => break,
            unit => digits.push(char::from_u32(unit.into())?),
        }
        if digits.len() > 20 {
            return None;
        }
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_loader_time() {
        let variable = |text: &str| {
            let mut bytes = vec![6, 0, 0, 0];
            bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
            bytes
        };
        assert_eq!(microseconds(&variable("4940382\0")), Some(4_940_382));
        assert_eq!(microseconds(&variable("53")), Some(53));
        for text in ["", "x", "-", "99999999999999999999999"] {
            assert_eq!(microseconds(&variable(text)), None, "{text}");
        }
        assert_eq!(microseconds(&[6, 0]), None);
    }
}
