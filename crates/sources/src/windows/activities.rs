//! Work with a begin and an end that is neither a service's nor a device's.

use hashbrown::HashMap;
use onoff_etl::Guid;
use onoff_trace::{Activities, Activity, ActivityKind, Losses, StringId};

use super::counters;
use super::phase_events::{
    GROUP_POLICY, KERNEL_PREFETCH, PhaseEvent, Provider, SERVICES, SHELL_CORE, SMSS, USER_PROFILES,
    WINLOGON,
};
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct ActivityTracker {
    rows: Vec<Activity>,
    under_way: HashMap<(ActivityKind, Key), Vec<usize>>,
    unmatched: u64,
}

/// What a begin and its end have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Thread(Option<u32>),
    Process(Option<u32>),
    Text(StringId),
    /// A process and a text.
    ProcessText(Option<u32>, StringId),
    Activity(Option<Guid>, StringId),
}

/// Where a rule finds that.
#[derive(Clone, Copy)]
enum Pairing {
    Thread,
    Process,
    Field(&'static str),
    ProcessField(&'static str),
    ActivityField(&'static str),
}

/// What an activity is called.
#[derive(Clone, Copy)]
enum Name {
    Field(&'static str),
    Literal(&'static str),
    ScriptType,
}

struct Rule {
    provider: Provider,
    begin: &'static [u16],
    end: &'static [u16],
    kind: ActivityKind,
    pairing: Pairing,
    name: Name,
    /// Fields of further detail and of the session.
    detail: &'static str,
    session: &'static str,
}

const fn rule(
    provider: Provider,
    begin: &'static [u16],
    end: &'static [u16],
    kind: ActivityKind,
    pairing: Pairing,
    name: Name,
) -> Rule {
    Rule {
        provider,
        begin,
        end,
        kind,
        pairing,
        name,
        detail: "",
        session: "",
    }
}

const RULES: &[Rule] = &[
    rule(
        SMSS,
        &[1],
        &[2],
        ActivityKind::SessionProgram,
        Pairing::Thread,
        Name::Field("ImageName"),
    ),
    Rule {
        session: "SessionId",
        ..rule(
            SMSS,
            &[23],
            &[24],
            ActivityKind::SessionSubsystem,
            Pairing::Thread,
            Name::Field("ImageName"),
        )
    },
    rule(
        WINLOGON,
        &[1],
        &[2],
        ActivityKind::Authentication,
        Pairing::Process,
        Name::Literal(""),
    ),
    rule(
        WINLOGON,
        &[201],
        &[202],
        ActivityKind::WelcomeScreen,
        Pairing::Process,
        Name::Literal(""),
    ),
    rule(
        WINLOGON,
        &[203],
        &[204],
        ActivityKind::CredentialRequest,
        Pairing::Process,
        Name::Literal(""),
    ),
    // 805 and 806 are about telling a subscriber, 811 and 812 about the call inside.
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
    rule(
        SERVICES,
        &[103],
        &[104],
        ActivityKind::ServiceGroup,
        Pairing::Field("GroupName"),
        Name::Field("GroupName"),
    ),
    rule(
        SHELL_CORE,
        &[9701],
        &[9702],
        ActivityKind::StartupEnumeration,
        Pairing::Thread,
        Name::Literal("RunOnceEx"),
    ),
    rule(
        SHELL_CORE,
        &[9703],
        &[9704],
        ActivityKind::StartupEnumeration,
        Pairing::Thread,
        Name::Literal("RunOnce"),
    ),
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
    // Even ids are the computer's, odd ids a user's; the thousands say begin, end with warnings, failed, done.
    Rule {
        detail: "PrincipalSamName",
        ..rule(
            GROUP_POLICY,
            &[4000, 4002, 4004, 4006],
            &[
                6000, 6002, 6004, 6006, 7000, 7002, 7004, 7006, 8000, 8002, 8004, 8006,
            ],
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
            &[
                6001, 6003, 6005, 6007, 7001, 7003, 7005, 7007, 8001, 8003, 8005, 8007,
            ],
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
];

impl ActivityTracker {
    pub(super) fn on_event(&mut self, event: &PhaseEvent<'_>, texts: &mut Texts) {
        let Some(rule) = RULES.iter().find(|rule| {
            rule.provider == event.provider
                && (rule.begin.contains(&event.id) || rule.end.contains(&event.id))
        }) else {
            return;
        };
        let key = (rule.kind, key(rule.pairing, event, texts));
        if rule.begin.contains(&event.id) {
            let row = Activity {
                kind: rule.kind,
                name: name(rule.name, event, texts),
                detail: event.text(rule.detail, texts).unwrap_or_default(),
                start_ns: event.time_ns(),
                end_ns: None,
                pid: event.record.process_id(),
                session: event.number32(rule.session),
                event: event.label(texts),
            };
            self.under_way.entry(key).or_default().push(self.rows.len());
            self.rows.push(row);
            return;
        }
        let Some(row) = self
            .under_way
            .get_mut(&key)
            .and_then(Vec::pop)
            .and_then(|row| self.rows.get_mut(row))
        else {
            self.unmatched += 1;
            return;
        };
        row.end_ns = Some(event.time_ns());
    }

    /// The table, by begin.
    pub(super) fn finish(self, losses: &mut Losses) -> Activities {
        let Self {
            rows, unmatched, ..
        } = self;
        let unfinished = rows.iter().filter(|row| row.end_ns.is_none()).count();
        losses.add(&counters::ACTIVITY_UNFINISHED, unfinished as u64);
        losses.add(&counters::ACTIVITY_END_WITHOUT_BEGIN, unmatched);
        // A subscriber's call is inside its notification: the inner row would count the same time twice.
        let mut outer: HashMap<(StringId, Option<u32>), i64> = HashMap::new();
        rows.into_iter()
            .filter(|row| {
                if row.kind != ActivityKind::NotificationSubscriber {
                    return true;
                }
                let until_ns = outer.entry((row.name, row.pid)).or_insert(i64::MIN);
                let inside = row.start_ns < *until_ns;
                *until_ns = (*until_ns).max(row.end_ns.unwrap_or(i64::MAX));
                !inside
            })
            .collect()
    }
}

fn key(pairing: Pairing, event: &PhaseEvent<'_>, texts: &mut Texts) -> Key {
    let pid = event.record.process_id();
    match pairing {
        Pairing::Thread => Key::Thread(event.record.thread_id()),
        Pairing::Process => Key::Process(pid),
        Pairing::Field(field) => Key::Text(event.text(field, texts).unwrap_or_default()),
        Pairing::ProcessField(field) => {
            Key::ProcessText(pid, event.text(field, texts).unwrap_or_default())
        }
        Pairing::ActivityField(field) => Key::Activity(
            event.record.activity_id(),
            event.text(field, texts).unwrap_or_default(),
        ),
    }
}

fn name(name: Name, event: &PhaseEvent<'_>, texts: &mut Texts) -> StringId {
    match name {
        Name::Field(field) => event.text(field, texts).unwrap_or_default(),
        Name::Literal(literal) => texts.str(literal),
        Name::ScriptType => {
            let script = match event.number("ScriptType") {
                Some(1) => "logon",
                Some(2) => "logoff",
                Some(3) => "startup",
                Some(4) => "shutdown",
                _ => return event.text("ScriptType", texts).unwrap_or_default(),
            };
            texts.str(script)
        }
    }
}
