//! What a recording lacked for a full answer, and what to record next time.
//!
//! Each question about a transition has a source: a provider's events, or a flag of the kernel's own logger. A source is
//! held to be lacking when nothing of it was found: neither a row of the tables it fills nor, where events were counted,
//! an event of the provider. Tables that were not asked for say nothing.

mod commands;
mod missing;
mod questions;
mod records;
mod unanswered;

use hashbrown::HashSet;
use onoff_trace::{ActivityKind, NotificationKind, StringId, TableName, Trace};
use serde::Serialize;

use crate::transition_kind::TransitionKind;
pub use missing::MissingEvidence;
pub use records::MissingRecords;
pub use unanswered::{PartOfLinux, Unanswered};

/// What a recording lacked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lacking {
    /// The questions that it cannot answer or only infers, most important first.
    pub items: Vec<MissingEvidence>,
    /// How to record all of that next time; empty when nothing was lacking, or where each item says it.
    pub record: Vec<RecordingCommand>,
}

impl Lacking {
    /// Parts of a recording of Linux: each says itself how to record it.
    pub fn of_linux(unanswered: impl IntoIterator<Item = Unanswered>) -> Self {
        Self { items: unanswered.into_iter().map(MissingEvidence::of).collect(), record: Vec::new() }
    }
}

/// A way to record what was lacking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordingCommand {
    /// The tool.
    pub tool: String,
    /// What it records, as a phrase.
    pub purpose: String,
    /// Command lines, to be run one after the other as administrator.
    pub lines: Vec<String>,
}

/// A provider and what to enable of it.
#[derive(Debug)]
struct Provider {
    name: &'static str,
    guid: &'static str,
    /// Keywords; all bits for all.
    keyword: u64,
    level: u8,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Provider(&'static Provider),
    /// Flags of the kernel's own logger.
    Kernel(&'static [&'static str]),
}

/// What shows that a source was recorded.
#[derive(Clone, Copy, Debug)]
enum Sign {
    /// Any event of the provider.
    Provider,
    Activity(ActivityKind),
    Milestone(&'static str),
    Notification(NotificationKind),
    Rows(TableName),
}

/// A question, its source, and what shows that this was recorded: any of the signs.
#[derive(Clone, Copy, Debug)]
struct Question {
    asks: Unanswered,
    source: Source,
    signs: &'static [Sign],
}

/// What `trace` lacked to tell all of a boot.
#[must_use]
pub fn for_boot(trace: &Trace) -> Lacking {
    lacking(trace, TransitionKind::Boot, questions::BOOT)
}

/// What `trace` lacked to tell all of a shutdown.
#[must_use]
pub fn for_shutdown(trace: &Trace) -> Lacking {
    lacking(trace, TransitionKind::Shutdown, questions::SHUTDOWN)
}

/// What `trace` lacked to tell all of a sleep or hibernation.
#[must_use]
pub fn for_suspend(trace: &Trace) -> Lacking {
    lacking(trace, TransitionKind::Suspend, questions::SUSPEND)
}

fn lacking(trace: &Trace, about: TransitionKind, questions: &[Question]) -> Lacking {
    let seen = Seen::of(trace);
    let missing: Vec<&Question> = questions.iter().filter(|question| !seen.has(trace, question)).collect();
    Lacking { record: commands::commands(about, &missing), items: missing.into_iter().map(item).collect() }
}

fn item(question: &Question) -> MissingEvidence {
    match question.source {
        Source::Provider(provider) => MissingEvidence {
            provider: provider.name.to_owned(),
            guid: provider.guid.to_owned(),
            keyword: format!("{:#x}", provider.keyword),
            level: provider.level,
            ..MissingEvidence::of(question.asks)
        },
        Source::Kernel(flags) => MissingEvidence::of_kernel_logger(question.asks, flags),
    }
}

/// The providers whose events made a row, by name, and those that were counted, by GUID.
struct Seen<'a> {
    names: HashSet<&'a str>,
    guids: HashSet<&'a str>,
}

impl<'a> Seen<'a> {
    fn of(trace: &'a Trace) -> Self {
        let labels: HashSet<StringId> = [
            &trace.milestones.event,
            &trace.activities.event,
            &trace.notifications.event,
            &trace.power_requests.event,
            &trace.service_transitions.event,
            &trace.device_operations.event,
        ]
        .into_iter()
        .flatten()
        .copied()
        .collect();
        let counted = trace.inventory.iter().flat_map(|counts| &counts.providers);
        Self {
            names: labels.into_iter().filter_map(|label| Some(trace.text(label).rsplit_once('/')?.0)).collect(),
            guids: counted.filter(|provider| provider.events > 0).map(|provider| provider.guid.as_str()).collect(),
        }
    }

    fn has(&self, trace: &Trace, question: &Question) -> bool {
        question.signs.iter().any(|sign| self.shows(trace, question, *sign))
    }

    fn shows(&self, trace: &Trace, question: &Question, sign: Sign) -> bool {
        let unasked = |table: TableName| !trace.wanted.contains(table);
        match sign {
            Sign::Provider => match question.source {
                Source::Provider(provider) => self.names.contains(provider.name) || self.guids.contains(provider.guid),
                Source::Kernel(_) => false,
            },
            Sign::Activity(kind) => {
                unasked(TableName::Activities) || trace.activities.iter().any(|row| row.kind == kind)
            }
            Sign::Milestone(name) => {
                unasked(TableName::Milestones)
                    || trace.strings.find(name).is_some_and(|name| trace.milestones.name.contains(&name))
            }
            Sign::Notification(kind) => {
                unasked(TableName::Notifications) || trace.notifications.iter().any(|row| row.kind == kind)
            }
            Sign::Rows(table) => unasked(table) || has_rows(trace, table),
        }
    }
}

/// Whether a table has any row that tells what its source was recorded for.
fn has_rows(trace: &Trace, table: TableName) -> bool {
    match table {
        // An id alone is said by every event; who started a process, only by the events about processes.
        TableName::Processes => {
            trace.processes.iter().any(|row| row.start_ns.is_some() || row.end_ns.is_some() || row.parent_pid.is_some())
        }
        TableName::ContextSwitches => !trace.context_switches.is_empty(),
        TableName::ReadyThreads => !trace.ready_threads.is_empty(),
        TableName::DiskIos => !trace.disk_ios.is_empty(),
        TableName::ServiceTransitions => !trace.service_transitions.is_empty(),
        TableName::DeviceOperations => !trace.device_operations.is_empty(),
        TableName::PowerRequests => !trace.power_requests.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::synthetic::{activity, disk, milestone, process};
    use onoff_trace::{IoPriority, ProviderCount, Tables, milestone};

    fn providers(lacking: &Lacking) -> Vec<&str> {
        lacking.items.iter().map(|item| item.provider.as_str()).filter(|name| !name.is_empty()).collect()
    }

    #[test]
    fn an_empty_recording_lacks_everything_and_one_that_was_not_asked_lacks_nothing_of_its_tables() {
        let mut trace = Trace::default();
        let all = for_shutdown(&trace);
        // The tables were not asked for, so only providers that no table tells of are lacking.
        assert!(all.items.len() < questions::SHUTDOWN.len());
        trace.wanted = Tables::all();
        let all = for_shutdown(&trace);
        assert_eq!(all.items.len(), questions::SHUTDOWN.len());
        let csr = &all.items[0];
        assert_eq!(csr.provider, "Microsoft-Windows-Subsys-Csr");
        assert_eq!(csr.guid, "e8316a2d-0d94-4f52-85dd-1e15b66c5891");
        assert_eq!((csr.keyword.as_str(), csr.level), ("0x10000", 5));
    }

    #[test]
    fn what_was_recorded_is_not_asked_for_again() {
        let mut trace = Trace { wanted: Tables::all(), ..Trace::default() };
        process(&mut trace, 8, "a.exe", Some(1), None);
        disk(&mut trace, 10, 5, IoPriority::Normal, "");
        activity(&mut trace, ActivityKind::SessionShutdown, "", 1, None);
        activity(&mut trace, ActivityKind::KernelShutdownStep, "registry", 1, None);
        milestone(&mut trace, 2, milestone::SHUTDOWN_REQUEST, "");
        let lacking = for_shutdown(&trace);
        assert_eq!(
            providers(&lacking),
            [
                "Microsoft-Windows-Winsrv",
                "Microsoft-Windows-Services",
                "Microsoft-Windows-Wininit",
                "Microsoft-Windows-Winlogon",
                "Microsoft-Windows-GroupPolicy",
            ]
        );
        let flags: Vec<&String> = lacking.items.iter().flat_map(|item| &item.kernel_flags).collect();
        assert_eq!(flags, ["CSWITCH"]);
        // The command names what is lacking and nothing else.
        let xperf = &lacking.record[0].lines[0];
        assert!(xperf.starts_with("xperf -on PROC_THREAD+LOADER+CSWITCH -f "), "{xperf}");
        assert!(xperf.contains("Microsoft-Windows-Winsrv:0x100:5"), "{xperf}");
        assert!(!xperf.contains("Subsys-Csr"), "{xperf}");
    }

    #[test]
    fn a_counted_event_of_a_provider_shows_that_it_was_recorded() {
        let mut trace = Trace {
            wanted: Tables::all(),
            inventory: Some(onoff_trace::Inventory {
                providers: vec![ProviderCount {
                    guid: "aea1b4fa-97d1-45f2-a64c-4d69fffd92c9".to_owned(),
                    name: "Microsoft-Windows-GroupPolicy".to_owned(),
                    events: 1,
                    bytes: 80,
                }],
                ..onoff_trace::Inventory::default()
            }),
            ..Trace::default()
        };
        assert!(!providers(&for_boot(&trace)).contains(&"Microsoft-Windows-GroupPolicy"));
        trace.inventory = None;
        assert!(providers(&for_boot(&trace)).contains(&"Microsoft-Windows-GroupPolicy"));
    }

    #[test]
    fn guids_and_questions_are_well_formed_and_asked_once() {
        for questions in [questions::BOOT, questions::SHUTDOWN, questions::SUSPEND] {
            let mut asked = HashSet::new();
            for question in questions {
                assert!(asked.insert(question.asks), "{:?}", question.asks);
                assert!(!question.signs.is_empty(), "{:?}", question.asks);
                if let Source::Provider(provider) = question.source {
                    let lengths: Vec<usize> = provider.guid.split('-').map(str::len).collect();
                    assert_eq!(lengths, [8, 4, 4, 4, 12], "{}", provider.name);
                    assert_eq!(provider.guid, provider.guid.to_lowercase());
                }
            }
        }
    }
}
