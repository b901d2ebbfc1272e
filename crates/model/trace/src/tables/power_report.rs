//! Sessions of the reports of `powercfg`.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// State of a computer during a session of a power report.
    pub enum PowerSessionKind {
        /// In use.
        Active = "active",
        /// On, with the screen off.
        ScreenOff = "screen_off",
        /// Modern standby.
        ModernStandby = "modern_standby",
        /// Sleep in S1 to S3.
        Sleep = "sleep",
        /// Sleep with the memory also saved to disk.
        HybridSleep = "hybrid_sleep",
        /// Hibernation.
        Hibernate = "hibernate",
        /// Sleep, hibernation or off: the report does not tell them apart.
        Suspended = "suspended",
        /// Shutdown of a fast startup, and the time off.
        HybridShutdown = "hybrid_shutdown",
        /// Shutdown, and the time off.
        Shutdown = "shutdown",
        /// Stopped without a shutdown.
        AbnormalShutdown = "abnormal_shutdown",
        /// Stopped by a crash.
        Crash = "crash",
        /// Not known.
        Unknown = "unknown",
    }
}

codes! {
    /// What powers a computer.
    pub enum PowerSource {
        /// External power.
        External = "external",
        /// The battery.
        Battery = "battery",
        /// Not known.
        Unknown = "unknown",
    }
}

table! {
    /// A session of a power report: an interval in which the computer was in one state.
    PowerSessions of PowerSession {
        /// State.
        kind: PowerSessionKind,
        /// Start, ns.
        start_ns: i64 as Start,
        /// End, ns.
        end_ns: i64 as End,
        /// Why the state was entered, in the words of Windows; empty when not recorded.
        enter_reason: StringId,
        /// Why the state was left, in the words of Windows; empty when not recorded.
        exit_reason: StringId,
        /// What powered the computer at the start.
        power_source: PowerSource,
        /// Remaining battery capacity at the start, mWh.
        start_capacity_mwh: Option<i64>,
        /// Remaining battery capacity at the end, mWh.
        end_capacity_mwh: Option<i64>,
        /// Capacity of the full battery at the start, mWh.
        full_capacity_mwh: Option<i64>,
    }
}

codes! {
    /// Kind of what kept a computer out of its low-power state.
    pub enum LowPowerBlockerKind {
        /// A component of Windows or a program that requested the system to run.
        Activator = "activator",
        /// A device that its driver kept powered.
        Device = "device",
        /// A phase of the transition into low power.
        Phase = "phase",
        /// The processor.
        Processor = "processor",
        /// A device that the platform checks before the processor.
        PlatformVeto = "platform_veto",
        /// A part of the system on a chip.
        SocSubsystem = "soc_subsystem",
        /// Another kind.
        Other = "other",
    }
}

table! {
    /// What kept a computer out of its low-power state during a session of a power report, as listed by Windows.
    LowPowerBlockers of LowPowerBlocker {
        /// Kind.
        kind: LowPowerBlockerKind,
        /// Start of the session, ns.
        session_start_ns: i64 as Time,
        /// Name of the device, program or component.
        name: StringId,
        /// Time active during the session, ns. Blockers can be active at the same time, so these times do not add up.
        active_ns: i64 as Duration,
    }
}

codes! {
    /// What a computer did while no user was present.
    pub enum AbsenceOutcome {
        /// It stayed on.
        StayedOn = "stayed_on",
        /// It slept, hibernated or shut down for a part of the time.
        Slept = "slept",
        /// Not known.
        Unknown = "unknown",
    }
}

table! {
    /// An interval of a power report in which no user was present.
    UserAbsences of UserAbsence {
        /// What the computer did.
        outcome: AbsenceOutcome,
        /// Start, ns.
        start_ns: i64 as Start,
        /// End, ns.
        end_ns: i64 as End,
    }
}

codes! {
    /// What an availability request asks for.
    pub enum AvailabilityRequestKind {
        /// The display stays on.
        Display = "display",
        /// The computer does not sleep for being idle.
        System = "system",
        /// The process runs on; on a computer without modern standby, the computer does not sleep for being idle.
        Execution = "execution",
        /// Another kind.
        Other = "other",
    }
}

table! {
    /// A request of a program or driver that the computer stays available, as in `powercfg /requests`. Power reports
    /// have the requests that were active while no user was present.
    AvailabilityRequests of AvailabilityRequest {
        /// What it asks for.
        kind: AvailabilityRequestKind,
        /// Path of the program, or name of the device.
        requester: StringId,
        /// Start, ns.
        start_ns: i64 as Start,
        /// End, ns.
        end_ns: i64 as End,
    }
}
