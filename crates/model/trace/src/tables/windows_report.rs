//! What Windows itself reported about a transition.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// The transition that Windows reports a delay of.
    pub enum ReportedTransition {
        /// A boot.
        Boot = "boot",
        /// A shutdown.
        Shutdown = "shutdown",
    }
}

codes! {
    /// What Windows names as the cause of a delay.
    pub enum ReportedCause {
        /// An application.
        Application = "application",
        /// A driver.
        Driver = "driver",
        /// A service.
        Service = "service",
        /// A device.
        Device = "device",
        /// Core prefetching of the boot.
        CorePrefetch = "core_prefetch",
        /// Prefetching for programs in the foreground.
        ForegroundOptimization = "foreground_optimization",
        /// Prefetching in the background.
        BackgroundOptimization = "background_optimization",
        /// Group Policy of the computer.
        MachinePolicy = "machine_policy",
        /// Group Policy of the user.
        UserPolicy = "user_policy",
        /// The session manager.
        SessionManager = "session_manager",
    }
}

table! {
    /// A delay that Windows itself reported in its event log (events 101 to 110 and 201 to 203 of
    /// Diagnostics-Performance).
    ReportedDelays of ReportedDelay {
        /// The transition.
        transition: ReportedTransition,
        /// What Windows names as the cause.
        cause: ReportedCause,
        /// Name, e.g. the file name of a program.
        name: StringId,
        /// Friendly name, in the language of that Windows; empty for none.
        friendly_name: StringId,
        /// File version; empty for none.
        version: StringId,
        /// Path; empty for none.
        path: StringId,
        /// Company; empty for none.
        company: StringId,
        /// Time that the cause took, ns.
        total_ns: i64 as Duration,
        /// Time beyond what Windows allows for such a cause, ns. Causes overlap, so these times do not add up, and the
        /// transition would not be faster by that time.
        excess_ns: i64 as Duration,
        /// The record, e.g. `Microsoft-Windows-Diagnostics-Performance/101`.
        event: StringId,
    }
}
