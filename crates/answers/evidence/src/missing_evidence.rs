//! Determines which evidence a recording does not contain, and how to record it next time.
//!
//! Each fact about a transition has a source: the events of a provider, or a flag of the NT Kernel Logger. A source
//! counts as missing if the recording has no row of the tables it fills and, where events were counted, no event of the
//! provider. Tables that the caller did not load are ignored.

mod commands;
mod missing_source;
mod questions;
mod records;
mod unknown_fact;

use hashbrown::HashSet;
use onoff_trace::{ActivityKind, NotificationKind, StringId, TableName, Trace};
use serde::Serialize;

use crate::transition_kind::TransitionKind;
pub use missing_source::MissingSource;
pub use records::MissingRecords;
pub use unknown_fact::{LinuxSource, UnknownFact};

/// Evidence that a recording does not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingEvidence {
    /// The facts that cannot be determined, or only inferred; most important first.
    pub items: Vec<MissingSource>,
    /// How to record all of it next time; empty if nothing is missing or each item has its own instructions.
    pub record: Vec<RecordingCommand>,
}

impl MissingEvidence {
    /// Lists the missing parts of a Linux recording; each has its own recording instructions.
    pub fn for_linux(unknown: impl IntoIterator<Item = UnknownFact>) -> Self {
        Self { items: unknown.into_iter().map(MissingSource::new).collect(), record: Vec::new() }
    }
}

/// A way to record missing evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordingCommand {
    pub tool: String,
    /// What it records.
    pub purpose: String,
    /// Command lines to run in order, as administrator.
    pub lines: Vec<String>,
}

/// An ETW provider, and the keywords and level to enable.
#[derive(Debug)]
struct Provider {
    name: &'static str,
    guid: &'static str,
    /// All bits set enables everything.
    keyword: u64,
    level: u8,
}

/// Where a fact comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Provider(&'static Provider),
    /// Flags of the NT Kernel Logger.
    Kernel(&'static [&'static str]),
}

/// Evidence that a source was recorded.
#[derive(Clone, Copy, Debug)]
enum Sign {
    /// Any event of the provider.
    Provider,
    Activity(ActivityKind),
    Milestone(&'static str),
    Notification(NotificationKind),
    Rows(TableName),
}

/// A fact, its source, and the signs that the source was recorded (any one suffices).
#[derive(Clone, Copy, Debug)]
struct Question {
    fact: UnknownFact,
    source: Source,
    signs: &'static [Sign],
}

/// Returns the evidence missing from `trace` for a complete boot report.
#[must_use]
pub fn for_boot(trace: &Trace) -> MissingEvidence {
    missing_evidence(trace, TransitionKind::Boot, questions::BOOT)
}

/// Returns the evidence missing from `trace` for a complete shutdown report.
#[must_use]
pub fn for_shutdown(trace: &Trace) -> MissingEvidence {
    missing_evidence(trace, TransitionKind::Shutdown, questions::SHUTDOWN)
}

/// Returns the evidence missing from `trace` for a complete suspend report.
#[must_use]
pub fn for_suspend(trace: &Trace) -> MissingEvidence {
    missing_evidence(trace, TransitionKind::Suspend, questions::SUSPEND)
}

fn missing_evidence(trace: &Trace, transition: TransitionKind, questions: &[Question]) -> MissingEvidence {
    let recorded_providers = RecordedProviders::new(trace);
    let missing: Vec<&Question> =
        questions.iter().filter(|question| !recorded_providers.has_source(trace, question)).collect();
    let record = match trace.is_power_report() {
        true => commands::after_power_report(trace),
        false => commands::commands(transition, &missing),
    };
    MissingEvidence { record, items: missing.into_iter().map(missing_source).collect() }
}

fn missing_source(question: &Question) -> MissingSource {
    match question.source {
        Source::Provider(provider) => MissingSource {
            provider: provider.name.to_owned(),
            guid: provider.guid.to_owned(),
            keyword: format!("{:#x}", provider.keyword),
            level: provider.level,
            ..MissingSource::new(question.fact)
        },
        Source::Kernel(flags) => MissingSource::from_kernel_logger(question.fact, flags),
    }
}

/// The recorded providers: by name where an event became a row, by GUID where events were counted.
struct RecordedProviders<'a> {
    names: HashSet<&'a str>,
    guids: HashSet<&'a str>,
}

impl<'a> RecordedProviders<'a> {
    fn new(trace: &'a Trace) -> Self {
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
        let provider_counts = trace.inventory.iter().flat_map(|counts| &counts.providers);
        Self {
            names: labels.into_iter().filter_map(|label| Some(trace.text(label).rsplit_once('/')?.0)).collect(),
            guids: provider_counts
                .filter(|provider| provider.events > 0)
                .map(|provider| provider.guid.as_str())
                .collect(),
        }
    }

    fn has_source(&self, trace: &Trace, question: &Question) -> bool {
        question.signs.iter().any(|sign| self.has_sign(trace, question, *sign))
    }

    fn has_sign(&self, trace: &Trace, question: &Question, sign: Sign) -> bool {
        let is_not_loaded = |table: TableName| !trace.requested_tables.contains(table);
        match sign {
            Sign::Provider => match question.source {
                Source::Provider(provider) => self.names.contains(provider.name) || self.guids.contains(provider.guid),
                Source::Kernel(_) => false,
            },
            Sign::Activity(kind) => {
                is_not_loaded(TableName::Activities) || trace.activities.iter().any(|row| row.kind == kind)
            }
            Sign::Milestone(name) => {
                is_not_loaded(TableName::Milestones)
                    || trace.strings.find(name).is_some_and(|name| trace.milestones.name.contains(&name))
            }
            Sign::Notification(kind) => {
                is_not_loaded(TableName::Notifications) || trace.notifications.iter().any(|row| row.kind == kind)
            }
            Sign::Rows(table) => is_not_loaded(table) || has_rows(trace, table),
        }
    }
}

/// True if the table has a row that proves its source was recorded.
fn has_rows(trace: &Trace, table: TableName) -> bool {
    match table {
        // Every event carries a process id; only process events have a start, an end or a parent.
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
    use onoff_trace::{IoPriority, ProviderCount, TableSet, milestone};

    fn providers(missing: &MissingEvidence) -> Vec<&str> {
        missing.items.iter().map(|item| item.provider.as_str()).filter(|name| !name.is_empty()).collect()
    }

    #[test]
    fn an_empty_recording_misses_everything_except_tables_that_were_not_loaded() {
        let mut trace = Trace::default();
        let all = for_shutdown(&trace);
        // No table was loaded, so only providers without a table are missing.
        assert!(all.items.len() < questions::SHUTDOWN.len());
        trace.requested_tables = TableSet::all();
        let all = for_shutdown(&trace);
        assert_eq!(all.items.len(), questions::SHUTDOWN.len());
        let csr = &all.items[0];
        assert_eq!(csr.provider, "Microsoft-Windows-Subsys-Csr");
        assert_eq!(csr.guid, "e8316a2d-0d94-4f52-85dd-1e15b66c5891");
        assert_eq!((csr.keyword.as_str(), csr.level), ("0x10000", 5));
    }

    #[test]
    fn recorded_sources_are_not_requested_again() {
        let mut trace = Trace { requested_tables: TableSet::all(), ..Trace::default() };
        process(&mut trace, 8, "a.exe", Some(1), None);
        disk(&mut trace, 10, 5, IoPriority::Normal, "");
        activity(&mut trace, ActivityKind::SessionShutdown, "", 1, None);
        activity(&mut trace, ActivityKind::KernelShutdownStep, "registry", 1, None);
        milestone(&mut trace, 2, milestone::SHUTDOWN_REQUEST, "");
        let missing = for_shutdown(&trace);
        assert_eq!(
            providers(&missing),
            [
                "Microsoft-Windows-Winsrv",
                "Microsoft-Windows-Services",
                "Microsoft-Windows-Wininit",
                "Microsoft-Windows-Winlogon",
                "Microsoft-Windows-GroupPolicy",
            ]
        );
        let flags: Vec<&String> = missing.items.iter().flat_map(|item| &item.kernel_flags).collect();
        assert_eq!(flags, ["CSWITCH"]);
        // The command enables the missing sources only.
        let xperf = &missing.record[0].lines[0];
        assert!(xperf.starts_with("xperf -on PROC_THREAD+LOADER+CSWITCH -f "), "{xperf}");
        assert!(xperf.contains("Microsoft-Windows-Winsrv:0x100:5"), "{xperf}");
        assert!(!xperf.contains("Subsys-Csr"), "{xperf}");
    }

    #[test]
    fn a_counted_event_proves_that_the_provider_was_recorded() {
        let mut trace = Trace {
            requested_tables: TableSet::all(),
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
    fn guids_are_well_formed_and_questions_unique() {
        for questions in [questions::BOOT, questions::SHUTDOWN, questions::SUSPEND] {
            let mut facts = HashSet::new();
            for question in questions {
                assert!(facts.insert(question.fact), "{:?}", question.fact);
                assert!(!question.signs.is_empty(), "{:?}", question.fact);
                if let Source::Provider(provider) = question.source {
                    let lengths: Vec<usize> = provider.guid.split('-').map(str::len).collect();
                    assert_eq!(lengths, [8, 4, 4, 4, 12], "{}", provider.name);
                    assert_eq!(provider.guid, provider.guid.to_lowercase());
                }
            }
        }
    }
}
