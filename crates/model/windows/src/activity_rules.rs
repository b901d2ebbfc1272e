//! Rules that map begin and end events to activities.

use onoff_trace::{ActivityKind, power_phase, shutdown_step};

use super::phase_events::{
    CSR, GROUP_POLICY, KERNEL_POWER, KERNEL_PREFETCH, Provider, SERVICES, SHELL_CORE, SMSS, USER_PROFILES, WININIT,
    WINLOGON,
};

/// What pairs the end of an activity with its start.
#[derive(Clone, Copy)]
pub(super) enum Pairing {
    Thread,
    Process,
    Field(&'static str),
    ProcessField(&'static str),
    ActivityField(&'static str),
    /// Only one activity is in progress at a time; the value names it.
    Single(&'static str),
}

/// Source of an activity's name.
#[derive(Clone, Copy)]
pub(super) enum Name {
    Field(&'static str),
    Literal(&'static str),
    ScriptType,
    /// Query or suspend, from the event's `Query` field.
    DevicesPhase,
}

pub(super) struct Rule {
    pub(super) provider: Provider,
    pub(super) begin: &'static [u16],
    pub(super) end: &'static [u16],
    pub(super) kind: ActivityKind,
    pub(super) pairing: Pairing,
    pub(super) name: Name,
    /// Name of the field with the detail; empty for none.
    pub(super) detail: &'static str,
    /// Name of the field with the session; empty for none.
    pub(super) session: &'static str,
}

const fn rule(
    provider: Provider,
    begin: &'static [u16],
    end: &'static [u16],
    kind: ActivityKind,
    pairing: Pairing,
    name: Name,
) -> Rule {
    Rule { provider, begin, end, kind, pairing, name, detail: "", session: "" }
}

/// Returns the rule of a step of a session's shutdown. Only one is in progress at a time.
const fn shutdown(provider: Provider, begin: &'static [u16], end: &'static [u16], step: &'static str) -> Rule {
    let kind = ActivityKind::ShutdownStep;
    rule(provider, begin, end, kind, Pairing::Single(step), Name::Literal(step))
}

/// Returns the rule of a step of the kernel's shutdown.
const fn kernel_shutdown(begin: &'static [u16], end: &'static [u16], step: &'static str) -> Rule {
    let kind = ActivityKind::KernelShutdownStep;
    rule(KERNEL_POWER, begin, end, kind, Pairing::Single(step), Name::Literal(step))
}

/// Returns the rule of a phase of a power transition. Work moves between threads, so the phase is the pairing key.
const fn power(begin: &'static [u16], end: &'static [u16], phase: &'static str) -> Rule {
    let kind = ActivityKind::PowerPhase;
    rule(KERNEL_POWER, begin, end, kind, Pairing::Single(phase), Name::Literal(phase))
}

pub(super) const RULES: &[Rule] = &[
    rule(SMSS, &[1], &[2], ActivityKind::SessionProgram, Pairing::Thread, Name::Field("ImageName")),
    Rule {
        session: "SessionId",
        ..rule(SMSS, &[23], &[24], ActivityKind::SessionSubsystem, Pairing::Thread, Name::Field("ImageName"))
    },
    rule(WINLOGON, &[1], &[2], ActivityKind::Authentication, Pairing::Process, Name::Literal("")),
    rule(WINLOGON, &[201], &[202], ActivityKind::WelcomeScreen, Pairing::Process, Name::Literal("")),
    rule(WINLOGON, &[203], &[204], ActivityKind::CredentialRequest, Pairing::Process, Name::Literal("")),
    // 805 and 806 notify a subscriber; 811 and 812 are the call inside.
    Rule {
        detail: "Event",
        ..rule(
            WINLOGON,
            &[805, 811],
            &[806, 812],
            ActivityKind::NotificationSubscriber,
            Pairing::ProcessField("SubscriberName"),
            Name::Field("SubscriberName"),
        )
    },
    rule(SERVICES, &[103], &[104], ActivityKind::ServiceGroup, Pairing::Field("GroupName"), Name::Field("GroupName")),
    rule(SHELL_CORE, &[9701], &[9702], ActivityKind::StartupEnumeration, Pairing::Thread, Name::Literal("RunOnceEx")),
    rule(SHELL_CORE, &[9703], &[9704], ActivityKind::StartupEnumeration, Pairing::Thread, Name::Literal("RunOnce")),
    rule(
        SHELL_CORE,
        &[9705],
        &[9706],
        ActivityKind::StartupEnumeration,
        Pairing::ProcessField("KeyName"),
        Name::Field("KeyName"),
    ),
    rule(
        SHELL_CORE,
        &[9707, 9709, 9711],
        &[9708, 9710, 9712],
        ActivityKind::StartupApplication,
        Pairing::ProcessField("Command"),
        Name::Field("Command"),
    ),
    // Even ids are for the computer, odd ids for a user. The thousands digit: 4 start, 5 success, 6 warnings, 7
    // failure, 8 complete.
    Rule {
        detail: "PrincipalSamName",
        ..rule(
            GROUP_POLICY,
            &[4000, 4002, 4004, 4006],
            &[6000, 6002, 6004, 6006, 7000, 7002, 7004, 7006, 8000, 8002, 8004, 8006],
            ActivityKind::GroupPolicy,
            Pairing::ActivityField(""),
            Name::Literal("computer"),
        )
    },
    Rule {
        detail: "PrincipalSamName",
        ..rule(
            GROUP_POLICY,
            &[4001, 4003, 4005, 4007],
            &[6001, 6003, 6005, 6007, 7001, 7003, 7005, 7007, 8001, 8003, 8005, 8007],
            ActivityKind::GroupPolicy,
            Pairing::ActivityField(""),
            Name::Literal("user"),
        )
    },
    rule(
        GROUP_POLICY,
        &[4016],
        &[5016, 6016, 7016],
        ActivityKind::GroupPolicyExtension,
        Pairing::ActivityField("CSEExtensionId"),
        Name::Field("CSEExtensionName"),
    ),
    Rule {
        detail: "PrincipalSamName",
        session: "SessionId",
        ..rule(
            GROUP_POLICY,
            &[4018],
            &[5018, 6018, 7018],
            ActivityKind::GroupPolicyScript,
            Pairing::ProcessField("ScriptType"),
            Name::ScriptType,
        )
    },
    rule(
        GROUP_POLICY,
        &[4326],
        &[5326, 6326, 7326],
        ActivityKind::GroupPolicyNetworkWait,
        Pairing::ActivityField(""),
        Name::Literal("domain controller"),
    ),
    Rule {
        session: "Session",
        ..rule(
            USER_PROFILES,
            &[1],
            &[2],
            ActivityKind::UserProfile,
            Pairing::ProcessField("Session"),
            Name::Literal(""),
        )
    },
    Rule {
        detail: "PrefetchPhaseMask",
        ..rule(
            KERNEL_PREFETCH,
            &[1],
            &[2],
            ActivityKind::Prefetch,
            Pairing::Field("ScenarioHashId"),
            Name::Field("ScenarioName"),
        )
    },
    rule(
        WINLOGON,
        &[801],
        &[802],
        ActivityKind::LogonNotification,
        Pairing::ProcessField("Event"),
        Name::Field("Event"),
    ),
    rule(CSR, &[1], &[2], ActivityKind::SessionShutdown, Pairing::Process, Name::Literal("")),
    shutdown(WINLOGON, &[401], &[402], shutdown_step::SHUTDOWN_WINDOWS),
    shutdown(WINLOGON, &[403], &[404], shutdown_step::INITIATE_SHUTDOWN),
    shutdown(WININIT, &[1], &[2], shutdown_step::WAIT_FOR_SESSION),
    shutdown(WININIT, &[3], &[4], shutdown_step::PRE_SHUTDOWN_NOTIFICATION),
    shutdown(WININIT, &[5], &[6], shutdown_step::WAIT_FOR_SYSTEM_PROCESSES),
    shutdown(WININIT, &[7], &[8], shutdown_step::SYSTEM_RESTORE),
    shutdown(WININIT, &[9], &[10], shutdown_step::SHUTDOWN_WINDOWS),
    kernel_shutdown(&[47], &[48], shutdown_step::GRACEFUL_SHUTDOWN),
    kernel_shutdown(&[49], &[50], shutdown_step::ZERO_PAGE_FILE),
    kernel_shutdown(&[51], &[52], shutdown_step::IO_SYSTEM),
    kernel_shutdown(&[53], &[54], shutdown_step::WAIT_FOR_PROCESSES),
    kernel_shutdown(&[55], &[56], shutdown_step::REGISTRY),
    kernel_shutdown(&[518], &[519], shutdown_step::FILE_SYSTEMS),
    Rule {
        detail: "Flags",
        ..rule(KERNEL_POWER, &[1], &[2], ActivityKind::PowerTransition, Pairing::Single(""), Name::Field("Reason"))
    },
    rule(
        KERNEL_POWER,
        &[35],
        &[36],
        ActivityKind::PowerPhase,
        Pairing::Single(power_phase::SUSPEND_DEVICES),
        Name::DevicesPhase,
    ),
    power(&[3], &[4], power_phase::QUERY_APPS),
    power(&[5], &[6], power_phase::QUERY_SERVICES),
    power(&[22], &[23], power_phase::SUSPEND_APPS),
    power(&[24], &[25], power_phase::SUSPEND_SERVICES),
    power(&[26], &[133], power_phase::RESUME_APPS),
    power(&[27], &[134], power_phase::RESUME_SERVICES),
    power(&[37], &[38], power_phase::RESUME_DEVICES),
    power(&[43], &[44], power_phase::ZERO_HIBERNATION_FILE),
    power(&[45], &[46], power_phase::FLUSH_VOLUMES),
    power(&[57], &[58], power_phase::SHOW_UI),
    power(&[64], &[65], power_phase::SUPERFETCH),
    power(&[66], &[67], power_phase::WINLOGON),
    power(&[68], &[69], power_phase::PRE_SLEEP_CALLBACKS),
    power(&[70], &[71], power_phase::HIDE_UI),
    power(&[100], &[101], power_phase::FLUSH_ALL_PAGES),
    power(&[102], &[103], power_phase::BUILD_NOTIFY_LIST),
    power(&[188], &[189], power_phase::PREPARE_SLEEP),
];
