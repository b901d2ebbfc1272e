//! Records whose absence limits an answer.

use onoff_trace::codes;

codes! {
    /// Records that the recording does not contain.
    pub enum MissingRecords {
        /// Context switches: exact CPU use, and which thread waited for which.
        ContextSwitches = "context_switches",
        /// Profile samples: the module that ran.
        ProfileSamples = "profile_samples",
        /// Context switches or profile samples: which thread ran at all.
        SwitchesOrSamples = "switches_or_samples",
        /// Image loads: the module an address belongs to.
        ModuleLoads = "module_loads",
        /// Ready-thread events: which thread woke which, and waits for a CPU.
        ReadyThreads = "ready_threads",
        /// Interrupts and deferred procedure calls (DPCs).
        Interrupts = "interrupts",
        DiskRequests = "disk_requests",
        HardFaults = "hard_faults",
        /// Call stacks.
        CallStacks = "call_stacks",
        /// Unit dependencies: `systemctl show '*'` or `systemd-analyze dump`.
        UnitDependencies = "unit_dependencies",
        /// A target that was reached.
        ReachedTarget = "reached_target",
    }
}
