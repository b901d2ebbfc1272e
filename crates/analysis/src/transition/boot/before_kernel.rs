//! What happened before the recording's time zero: firmware, boot manager, loader, and a person at a menu.
//!
//! The lengths come from records that the kernel writes later on; where they lie on the axis is not known.

use onoff_trace::{Milestone, Trace, milestone};

use super::report::{BeforeKernel, BootKind, EarlierTime};
use crate::evidence::Certainty;

/// Everything the recording says about the time before the kernel.
pub(super) fn before_kernel(trace: &Trace) -> BeforeKernel {
    BeforeKernel {
        boot_kind: boot_kind(trace),
        firmware: earlier(
            trace,
            &[
                (
                    milestone::FIRMWARE,
                    "the kernel's record of the time before the boot manager",
                    Certainty::Measured,
                ),
                (
                    milestone::FIRMWARE_LOADER_STARTED,
                    "the firmware performance table: processor reset to the start of the boot manager",
                    Certainty::Inferred,
                ),
            ],
        ),
        boot_manager: earlier(
            trace,
            &[(
                milestone::BOOT_MANAGER,
                "the kernel's record of the boot manager's time",
                Certainty::Measured,
            )],
        ),
        os_loader: earlier(
            trace,
            &[(
                milestone::OS_LOADER,
                "the loader's own begin and end",
                Certainty::Measured,
            )],
        ),
        user_input: earlier(
            trace,
            &[(
                milestone::BOOT_USER_INPUT,
                "the kernel's record of the time a person took",
                Certainty::Measured,
            )],
        ),
    }
}

fn boot_kind(trace: &Trace) -> BootKind {
    match value(trace, milestone::BOOT_TYPE) {
        Some((0, _)) => BootKind::Cold,
        Some((1, _)) => BootKind::FastStartup,
        Some((2, _)) => BootKind::Resume,
        _ => BootKind::Unknown,
    }
}

fn earlier(trace: &Trace, rules: &[(&str, &str, Certainty)]) -> EarlierTime {
    for &(name, rule, certainty) in rules {
        // A negative length is a damaged record, not a time.
        if let Some((duration_ns, row)) = value(trace, name)
            && duration_ns >= 0
        {
            return EarlierTime {
                duration_ns: Some(duration_ns),
                rule: rule.to_owned(),
                event: trace.text(row.event).to_owned(),
                certainty,
            };
        }
    }
    EarlierTime {
        rule: "not recorded".to_owned(),
        ..EarlierTime::default()
    }
}

/// The value of the first milestone `name` that carries one.
pub(super) fn value(trace: &Trace, name: &str) -> Option<(i64, Milestone)> {
    let name = trace.strings.find(name)?;
    trace
        .milestones
        .iter()
        .filter(|row| row.name == name)
        .find_map(|row| row.value.map(|value| (value, row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{MS, milestone_value};

    #[test]
    fn lengths_come_from_the_best_record() {
        let mut trace = Trace::default();
        milestone_value(
            &mut trace,
            5,
            milestone::FIRMWARE_LOADER_STARTED,
            "",
            Some(4000 * MS),
        );
        milestone_value(&mut trace, 6, milestone::OS_LOADER, "", Some(1926 * MS));
        milestone_value(&mut trace, 6, milestone::BOOT_TYPE, "", Some(1));
        let before = before_kernel(&trace);
        assert_eq!(before.os_loader.duration_ns, Some(1926 * MS));
        assert_eq!(before.os_loader.certainty, Certainty::Measured);
        assert_eq!(before.firmware.duration_ns, Some(4000 * MS));
        assert_eq!(before.firmware.certainty, Certainty::Inferred);
        assert_eq!(before.boot_manager.certainty, Certainty::Missing);
        assert_eq!(before.boot_kind, BootKind::FastStartup);
        milestone_value(&mut trace, 7, milestone::FIRMWARE, "", Some(3900 * MS));
        assert_eq!(before_kernel(&trace).firmware.duration_ns, Some(3900 * MS));
    }

    #[test]
    fn a_negative_length_is_not_a_time() {
        let mut trace = Trace::default();
        milestone_value(&mut trace, 6, milestone::OS_LOADER, "", Some(-1));
        assert_eq!(before_kernel(&trace).os_loader.duration_ns, None);
    }
}
