//! Reads the machine description: `uname`, `/proc`, `os-release`, the kernel command line, and the tracer's thread
//! names.

use onoff_trace::system::MAX_PROCESSORS;

use super::assembly::Assembly;
use super::parts::{Part, PartKind};

pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    let system = &mut assembly.system;
    match part.kind {
        PartKind::Uname => {
            // `Linux host release #1 SMP … x86_64 GNU/Linux`
            let mut words = text.split_ascii_whitespace().skip(1);
            set(&mut system.computer, words.next());
            set(&mut system.os_build_text, words.next());
            if words.any(|word| matches!(word, "x86_64" | "aarch64" | "riscv64" | "ppc64le" | "s390x")) {
                system.pointer_bits = 64;
            }
        }
        PartKind::OsRelease => {
            let name =
                text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).map(|name| name.trim_matches('"'));
            set(&mut system.os, name);
        }
        PartKind::MemoryInfo => {
            let kibibytes = text
                .lines()
                .find_map(|line| line.strip_prefix("MemTotal:"))
                .and_then(|value| value.split_ascii_whitespace().next()?.parse::<u64>().ok());
            if let Some(kibibytes) = kibibytes {
                system.memory_bytes = kibibytes.saturating_mul(1024);
            }
        }
        PartKind::ProcessorInfo => {
            let value = |key: &str| {
                text.lines().find_map(|line| line.strip_prefix(key)?.split_once(':')).map(|(_, value)| value.trim())
            };
            set(&mut system.processor_name, value("model name"));
            let megahertz = value("cpu MHz").and_then(|text| text.parse::<f64>().ok());
            if let Some(megahertz) = megahertz.filter(|number| (1.0..1e6).contains(number)) {
                system.processor_mhz = megahertz as u32;
            }
            let processors = text.lines().filter(|line| line.starts_with("processor") && line.contains(':')).count();
            if let Ok(processors @ 1..=MAX_PROCESSORS) = u32::try_from(processors) {
                system.processors = processors;
            }
        }
        PartKind::CommandLine => set(&mut system.kernel_command_line, Some(&text)),
        PartKind::SavedNames => {
            for line in text.lines() {
                if let Some((pid, name)) = line.split_once(' ')
                    && let Ok(pid) = pid.trim().parse()
                {
                    assembly.processes.name_if_known(pid, name, &mut assembly.texts);
                }
            }
        }
        _ => {}
    }
}

/// Sets `slot` if it is empty.
pub(super) fn set(slot: &mut String, text: Option<&str>) {
    if let (true, Some(text)) = (slot.is_empty(), text) {
        text.trim().clone_into(slot);
    }
}
