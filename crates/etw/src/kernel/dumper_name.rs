//! Kernel events under the names analysts know them by.

/// The name `xperf`'s text dump gives the event of a hook, such as `CSwitch` or `DiskRead`; `None` where no
/// such name is known.
#[must_use]
pub fn dumper_name(hook: u16) -> Option<&'static str> {
    Some(match hook {
        0x0005 | 0x0020 => "GroupMasks",
        0x010a | 0x0137 => "DiskRead",
        0x010b | 0x0138 => "DiskWrite",
        0x010c | 0x013a => "DiskReadInit",
        0x010d | 0x013b => "DiskWriteInit",
        0x010e | 0x0139 => "DiskFlush",
        0x010f | 0x013c => "DiskFlushInit",
        0x0220 => "HardFault",
        0x0301 => "P-Start",
        0x0302 => "P-End",
        0x0303 => "P-DCStart",
        0x0304 => "P-DCEnd",
        0x030a => "I-Start",
        0x0501 => "T-Start",
        0x0502 => "T-End",
        0x0503 => "T-DCStart",
        0x0504 => "T-DCEnd",
        0x0524 => "CSwitch",
        0x0532 => "ReadyThread",
        0x0f22 => "MarkEvent",
        0x0f2e => "SampledProfile",
        0x0f2f => "Pmc",
        0x0f32 | 0x0f43 => "Interrupt",
        0x0f33 => "SysCallEnter",
        0x0f34 => "SysCallExit",
        0x0f42 | 0x0f44 => "DPC",
        0x0f45 => "DPCTmr",
        0x0f48 => "ProfileFreq-SetInterval",
        0x0f49 => "ProfileFreq-DCStart",
        0x0f4a => "ProfileFreq-DCEnd",
        0x1402 => "I-End",
        0x1403 => "I-DCStart",
        0x1404 => "I-DCEnd",
        0x1820 => "Stack",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_load_is_not_a_process_event() {
        assert_eq!(dumper_name(0x030a), Some("I-Start"));
        assert_eq!(dumper_name(0x0303), Some("P-DCStart"));
        assert_eq!(dumper_name(0xffff), None);
    }
}
