//! Reads the kernel version, the machine and the first program.

use onoff_trace::milestone;
use onoff_trace::system::MAX_PROCESSORS;

use crate::assembly::Assembly;
use crate::machine::set;

/// Infers the start of the first program for kernels that do not log it (before 4.20).
#[derive(Debug, Default)]
pub(super) struct FirstProgram {
    is_logged: bool,
    has_initramfs: bool,
    /// Time at which the kernel freed its initialization memory, its last step before the first program.
    init_memory_freed_ns: Option<i64>,
}

impl FirstProgram {
    fn on_message(&mut self, time_ns: i64, text: &str) {
        self.is_logged |= text.starts_with("Run ") && text.ends_with(" as init process");
        self.has_initramfs |= is_unpacking(text);
        // "Freeing init memory: 200K" on ARM before 3.10 (`free_initmem`).
        if text.starts_with("Freeing unused kernel ") || text.starts_with("Freeing init memory: ") {
            self.init_memory_freed_ns = Some(time_ns);
        }
    }

    pub(super) fn finish(self, assembly: &mut Assembly) {
        if let Some(time_ns) = self.init_memory_freed_ns.filter(|_| !self.is_logged) {
            let name = if self.has_initramfs { milestone::INITRD_BEGIN } else { milestone::USER_SPACE_BEGIN };
            assembly.add_milestone(time_ns, name, "", None, "kernel log/Freeing unused kernel memory");
        }
    }
}

/// True if the kernel starts to unpack the initramfs.
fn is_unpacking(text: &str) -> bool {
    text.starts_with("Trying to unpack rootfs image") || text.starts_with("Unpacking initramfs")
}

/// Processes a message that no other module handles.
pub(super) fn on_message(time_ns: i64, text: &str, program: &mut FirstProgram, assembly: &mut Assembly) {
    program.on_message(time_ns, text);
    let system = &mut assembly.system;
    if let Some(version_line) = text.strip_prefix("Linux version ") {
        let version = version_line.split(' ').next();
        set(&mut system.os_build_text, version);
        let version = version.unwrap_or_default();
        assembly.add_milestone(0, milestone::KERNEL_BEGIN, version, None, "kernel log/Linux version");
    } else if let Some(command_line) = text.strip_prefix("Command line: ") {
        set(&mut system.kernel_command_line, Some(command_line));
    } else if let Some(machine) = text.strip_prefix("DMI: ") {
        // `QEMU Standard PC (Q35 + ICH9, 2009), BIOS 0.0.0 02/06/2015`
        match machine.split_once(", BIOS ") {
            Some((model, firmware)) => {
                set(&mut system.model, Some(model));
                set(&mut system.firmware, Some(firmware));
            }
            None => set(&mut system.model, Some(machine)),
        }
    } else if let Some(counts) = text.strip_prefix("smp: Brought up ") {
        let processors = counts.rsplit(", ").next().and_then(|count| count.split(' ').next()?.parse().ok());
        if let (Some(processors @ 1..=MAX_PROCESSORS), 0) = (processors, system.processors) {
            system.processors = processors;
        }
    } else if let Some(frequency) = text.strip_prefix("tsc: Detected ")
        && let Some((megahertz, _)) = frequency.split_once('.')
        && system.processor_mhz == 0
    {
        system.processor_mhz = megahertz.parse().unwrap_or(0);
    } else if let Some(name) = text.strip_prefix("systemd[1]: Hostname set to <") {
        set(&mut system.computer, name.split('>').next());
    } else if is_unpacking(text) {
        assembly.add_milestone(time_ns, milestone::INITRD_UNPACK_BEGIN, "", None, "kernel log/unpack rootfs image");
    } else if let Some(size) = text.strip_prefix("Freeing initrd memory: ") {
        // `29256K`, `29256k freed`
        let digits = size.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let kib = digits.parse().ok();
        assembly.add_milestone(time_ns, milestone::INITRD_UNPACK_END, "", kib, "kernel log/Freeing initrd memory");
    } else if let Some(program) = text.strip_prefix("Run ").and_then(|text| text.strip_suffix(" as init process")) {
        // `/init` is the program of the initramfs; any other program is the service manager.
        let name = if program == "/init" { milestone::INITRD_BEGIN } else { milestone::USER_SPACE_BEGIN };
        assembly.add_milestone(time_ns, name, program, None, "kernel log/Run … as init process");
    }
}
