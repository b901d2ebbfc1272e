//! Records whose lack narrows an answer: codes that reports put into words.

use onoff_trace::codes;

codes! {
    /// Records that a recording does not hold, without which an answer says less.
    pub enum MissingRecords {
        /// Context switches: who ran, exactly, and who waited for whom.
        ContextSwitches = "context_switches",
        /// Samples of the profiler: the module that ran.
        ProfileSamples = "profile_samples",
        /// Context switches or samples of the profiler: who ran at all.
        SwitchesOrSamples = "switches_or_samples",
        /// Loads of modules: whose code an address is.
        ModuleLoads = "module_loads",
        /// Ready threads: who was woken by whom, and who waited for a processor.
        ReadyThreads = "ready_threads",
        /// Interrupts and deferred procedure calls.
        Interrupts = "interrupts",
        /// Requests of the disks.
        DiskRequests = "disk_requests",
        /// Hard faults.
        HardFaults = "hard_faults",
        /// Call stacks of events.
        CallStacks = "call_stacks",
        /// Dependencies of units: `systemctl show '*'` or `systemd-analyze dump`.
        UnitDependencies = "unit_dependencies",
        /// A target that was reached.
        ReachedTarget = "reached_target",
    }
}
