//! Windows wait reasons: the numbers in [`crate::ContextSwitch::old_wait_reason`].
//!
//! Source: `KWAIT_REASON` in `wdm.h` of the Windows Driver Kit. The `Wr` values repeat the first values for waits
//! started by drivers.

/// Returns the name of a wait reason; `None` for an unknown number.
#[must_use]
pub fn name(reason: u8) -> Option<&'static str> {
    const NAMES: [&str; 43] = [
        "Executive",
        "FreePage",
        "PageIn",
        "PoolAllocation",
        "DelayExecution",
        "Suspended",
        "UserRequest",
        "WrExecutive",
        "WrFreePage",
        "WrPageIn",
        "WrPoolAllocation",
        "WrDelayExecution",
        "WrSuspended",
        "WrUserRequest",
        "WrEventPair",
        "WrQueue",
        "WrLpcReceive",
        "WrLpcReply",
        "WrVirtualMemory",
        "WrPageOut",
        "WrRendezvous",
        "WrKeyedEvent",
        "WrTerminated",
        "WrProcessInSwap",
        "WrCpuRateControl",
        "WrCalloutStack",
        "WrKernel",
        "WrResource",
        "WrPushLock",
        "WrMutex",
        "WrQuantumEnd",
        "WrDispatchInt",
        "WrPreempted",
        "WrYieldExecution",
        "WrFastMutex",
        "WrGuardedMutex",
        "WrRundown",
        "WrAlertByThreadId",
        "WrDeferredPreempt",
        "WrPhysicalFault",
        "WrIoRing",
        "WrMdlCache",
        "WrRcu",
    ];
    NAMES.get(usize::from(reason)).copied()
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn wait_reason_names_match_wdm_h() {
        assert_eq!(name(0), Some("Executive"));
        assert_eq!(name(6), Some("UserRequest"));
        assert_eq!(name(39), Some("WrPhysicalFault"));
        assert_eq!(name(42), Some("WrRcu"));
        assert_eq!(name(43), None);
    }
}
