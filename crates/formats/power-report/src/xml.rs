//! The XML forms: `powercfg /batteryreport /xml` and `powercfg /sleepstudy /xml`.
//!
//! Names of elements, attributes and states are the same in every language. Durations are in ticks of 100 ns.

use hashbrown::HashMap;

use crate::fields::{from_ticks, local_time_ns, text_or_empty, utc_ns, utc_offset_minutes};
use crate::page_tables::LABELS;
use crate::tables::{Node, Tag, nodes, push_unescaped};
use crate::usage::{Usage, UsageRow};
use crate::{
    Blocker, BlockerKind, Error, KernelTimes, MAX_BLOCKERS, MAX_SESSIONS, Report, ReportKind, Session, SessionKind,
};

/// Names of states in a battery report.
const USAGE_KINDS: [(&str, SessionKind); 3] = [
    ("Active", SessionKind::Active),
    ("ConnectedStandby", SessionKind::ModernStandby),
    ("Suspend", SessionKind::Suspended),
];
/// Name of the last row of a battery report.
const REPORT_GENERATED: &str = "ReportGenerated";

/// Names of the types of blockers.
const BLOCKER_KINDS: [(&str, BlockerKind); 6] = [
    ("Activator", BlockerKind::Activator),
    ("Fx Device", BlockerKind::Device),
    ("PDC Phase", BlockerKind::Phase),
    ("Processor", BlockerKind::Processor),
    ("PEP Pre-Veto", BlockerKind::PlatformVeto),
    ("SoC Subsystem", BlockerKind::SocSubsystem),
];

/// Maximum number of fields of a session; sleeps have 20.
const MAX_FIELDS: usize = 256;
/// Tolerated difference of times that the report rounds to seconds, ns.
const ROUNDING_NS: i64 = 2_000_000_000;
/// Tolerated difference of shares that the report rounds to percent.
const ROUNDING_PERCENT: f64 = 2.0;

/// Reads a battery report.
pub(crate) fn read_battery(text: &str) -> Result<Report, Error> {
    let mut head = Head::default();
    let mut usage = Usage::default();
    let mut is_complete = false;
    for node in nodes(text) {
        head.on_node(&node);
        if let Node::Open(tag) = node
            && tag.name == "UsageEntry"
        {
            let kind = tag.attribute("EntryType").unwrap_or_default();
            is_complete = kind == REPORT_GENERATED;
            usage.push(UsageRow {
                kind: named(&USAGE_KINDS, kind).unwrap_or(SessionKind::Unknown),
                start_unix_ns: tag.attribute("Timestamp").and_then(utc_ns),
                on_external_power: flag(tag, "Ac"),
                capacity_mwh: capacity(tag, &["ChargeCapacity"]),
                full_capacity_mwh: capacity(tag, &["FullChargeCapacity"]),
            });
        }
    }
    head.check_end("BatteryReport", text)?;
    let mut report = head.report(ReportKind::Battery);
    usage.add_sessions(&mut report);
    // Without the row of the report itself, the last state has no end.
    report.unreadable_sessions += u64::from(usage.len() > 0 && !is_complete);
    Ok(report)
}

/// Reads a sleep study.
///
/// An `OsStateInstance` is a session. A `ScenarioInstance` adds what was active in the modern standby with its number.
/// Reports with scenarios only have no other sessions.
pub(crate) fn read_sleep_study(text: &str) -> Result<Report, Error> {
    let mut head = Head::default();
    let mut states: Vec<Instance> = Vec::new();
    let mut scenarios: Vec<Instance> = Vec::new();
    let mut unreadable = 0_u64;
    // The instance that is being read, and whether it is a scenario.
    let mut current: Option<(Instance, bool)> = None;
    for node in nodes(text) {
        head.on_node(&node);
        let is_end = match node {
            Node::Open(tag) if is_instance(tag.name) => true,
            Node::Open(tag) => {
                if let Some((instance, _)) = &mut current {
                    instance.on_element(tag);
                }
                false
            }
            Node::Close(name) => is_instance(name) || name == "ScenarioInstances",
            Node::Text(_) => false,
        };
        if is_end && let Some((instance, is_scenario)) = current.take() {
            let target = if is_scenario { &mut scenarios } else { &mut states };
            if target.len() < MAX_SESSIONS {
                target.push(instance);
            } else {
                unreadable += 1;
            }
        }
        if let Node::Open(tag) = node
            && is_instance(tag.name)
            && tag.attribute("Type") != Some("Report Generated")
        {
            let is_scenario = tag.name == "ScenarioInstance";
            match Instance::new(tag, head.utc_offset_ns()) {
                Some(instance) => current = Some((instance, is_scenario)),
                None => unreadable += 1,
            }
        }
    }
    head.check_end("SleepStudy", text)?;
    let mut report = head.report(ReportKind::SleepStudy);
    report.unreadable_sessions = unreadable;
    // Only computers with modern standby have scenarios.
    let has_standby = report.modern_standby.unwrap_or(!scenarios.is_empty());
    let by_id: HashMap<&str, &Instance> = scenarios.iter().map(|scenario| (scenario.id.as_str(), scenario)).collect();
    report.sessions = match &states[..] {
        [] => scenarios.iter().map(|scenario| scenario.session(Some(scenario), true)).collect(),
        states => states
            .iter()
            .map(|state| state.session(by_id.get(state.field("Scenario Instance ID")).copied(), has_standby))
            .collect(),
    };
    Ok(report)
}

fn is_instance(name: &str) -> bool {
    matches!(name, "OsStateInstance" | "ScenarioInstance")
}

/// A state of the computer, or a scenario.
struct Instance {
    id: String,
    /// Name of the state.
    state: String,
    /// What the attributes have, with an unknown state.
    attributes: Session,
    fields: HashMap<String, String>,
}

impl Instance {
    fn new(tag: Tag<'_>, utc_offset_ns: Option<i64>) -> Option<Self> {
        let utc = |names: [&str; 3]| names.into_iter().find_map(|name| utc_ns(tag.attribute(name)?));
        let local = |name: &str| local_time_ns(tag.attribute(name)?)?.checked_sub(utc_offset_ns?);
        let start_unix_ns = utc(["EntryTimestamp", "Timestamp", "TimeStamp"]).or_else(|| local("LocalTimestamp"))?;
        let end_unix_ns = utc(["ExitTimestamp", "", ""]).or_else(|| local("ExitLocalTimestamp"));
        let exact_ns = number(tag, "Duration").and_then(from_ticks);
        let rounded_ns = end_unix_ns.and_then(|end| end.checked_sub(start_unix_ns)).filter(|&ns| ns >= 0);
        let duration_ns = exact_ns
            .filter(|exact| rounded_ns.is_none_or(|rounded| rounded.abs_diff(*exact) <= ROUNDING_NS.unsigned_abs()))
            .or(rounded_ns)?;
        let low_power = |name: &str| {
            let ns = number(tag, name).and_then(from_ticks)?;
            (ns <= duration_ns.saturating_add(ROUNDING_NS)).then_some(ns)
        };
        let mut attributes = Session {
            enter_reason: text(tag, "EntryReason"),
            exit_reason: text(tag, "ExitReason"),
            on_external_power: flag(tag, "Ac"),
            deepest_ns: low_power("LowPowerStateTime"),
            hardware_ns: low_power("HwLowPowerStateTime"),
            exit_latency_ns: number(tag, "CsExitLatencyInMs")
                .filter(|&ms| ms > 0)
                .and_then(|ms| ms.checked_mul(1_000_000)),
            ..Session::new(SessionKind::Unknown, start_unix_ns, duration_ns)
        };
        // If batteries were changed, the capacities cannot be compared.
        if flag(tag, "BatteryCountChanged") != Some(true) {
            attributes.start_capacity_mwh = capacity(tag, &["EntryRemainingCapacity"]);
            attributes.end_capacity_mwh = capacity(tag, &["ExitRemainingCapacity"]);
            attributes.full_capacity_mwh = capacity(tag, &["EntryFullCapacity", "FullChargeCapacity"]);
        }
        let id = text(tag, "Id");
        let state = text(tag, "Type");
        Some(Self { id, state, attributes, fields: HashMap::new() })
    }

    fn on_element(&mut self, tag: Tag<'_>) {
        match tag.name {
            "OSStateRecord" if self.fields.len() < MAX_FIELDS => {
                self.fields.entry(text(tag, "Name")).or_insert_with(|| text(tag, "Value"));
            }
            "TopBlocker" if self.attributes.blockers.len() < MAX_BLOCKERS => {
                self.attributes.blockers.extend(self.blocker(tag));
            }
            _ => {}
        }
    }

    /// Reads a blocker. Its time must agree with its share, otherwise the share is taken.
    fn blocker(&self, tag: Tag<'_>) -> Option<Blocker> {
        let shares = ["ScenarioActiveTimePercent", "SegmentActiveTimePercent"];
        let percent = shares.into_iter().find_map(|name| tag.attribute(name)?.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        let length_ns = self.attributes.duration_ns.max(1) as f64;
        let agrees = |ns: i64| percent.is_none_or(|p| (ns as f64 * 100.0 / length_ns - p).abs() <= ROUNDING_PERCENT);
        let exact_ns = number(tag, "ActiveTime").and_then(from_ticks).filter(|&ns| agrees(ns));
        Some(Blocker {
            name: text(tag, "Name"),
            kind: named(&BLOCKER_KINDS, tag.attribute("Type").unwrap_or_default()).unwrap_or(BlockerKind::Other),
            active_ns: exact_ns.or_else(|| Some((percent? * length_ns / 100.0) as i64))?,
        })
    }

    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// Returns the session, with what its scenario adds.
    fn session(&self, scenario: Option<&Self>, has_standby: bool) -> Session {
        let field = |name: &str| self.field(name).parse::<i64>().ok();
        let (target_state, effective_state) = (field("TargetState"), field("EffectiveState"));
        let is_possible = |kind: &SessionKind| *kind != SessionKind::ModernStandby || has_standby;
        let kind = SessionKind::from_states(target_state, effective_state)
            .or_else(|| named(&LABELS, &self.state).filter(is_possible))
            .unwrap_or(SessionKind::Unknown);
        let mut session = Session {
            kind,
            number: self.id.parse().unwrap_or(0),
            target_state,
            effective_state,
            wake_source: text_or_empty(self.field("WakeSourceText")),
            kernel_times: KernelTimes::from_fields(field),
            ..self.attributes.clone()
        };
        if let Some(Self { attributes: details, .. }) = scenario {
            session.deepest_ns = session.deepest_ns.or(details.deepest_ns);
            session.hardware_ns = session.hardware_ns.or(details.hardware_ns);
            session.exit_latency_ns = session.exit_latency_ns.or(details.exit_latency_ns);
            session.on_external_power = session.on_external_power.or(details.on_external_power);
            if session.start_capacity_mwh.is_none() && session.end_capacity_mwh.is_none() {
                session.start_capacity_mwh = details.start_capacity_mwh;
                session.end_capacity_mwh = details.end_capacity_mwh;
                session.full_capacity_mwh = session.full_capacity_mwh.or(details.full_capacity_mwh);
            }
            if session.blockers.is_empty() {
                session.blockers.clone_from(&details.blockers);
            }
        }
        session
    }
}

/// What identifies the report: elements that contain only text.
#[derive(Default)]
struct Head<'x> {
    values: HashMap<&'x str, String>,
    /// The element whose text follows.
    element: Option<&'x str>,
    /// The last element that ended.
    ended: &'x str,
}

/// Names of the elements of the head.
const HEAD: [&str; 8] = [
    "ScanTime",
    "UtcOffset",
    "ComputerName",
    "SystemManufacturer",
    "SystemProductName",
    "BIOSVersion",
    "OSBuild",
    "ConnectedStandby",
];

impl<'x> Head<'x> {
    fn on_node(&mut self, node: &Node<'x>) {
        match *node {
            Node::Open(tag) => self.element = HEAD.into_iter().any(|name| name == tag.name).then_some(tag.name),
            Node::Text(text) => {
                if let Some(name) = self.element {
                    push_unescaped(self.values.entry(name).or_default(), text);
                }
            }
            Node::Close(name) => (self.element, self.ended) = (None, name),
        }
    }

    /// Returns an error if the last element that ended is not the root.
    fn check_end(&self, root: &str, text: &str) -> Result<(), Error> {
        if self.ended == root { Ok(()) } else { Err(Error::Damaged { offset: text.len() }) }
    }

    fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", |value| value.trim())
    }

    fn utc_offset_ns(&self) -> Option<i64> {
        utc_offset_minutes(self.value("UtcOffset")).map(|minutes| i64::from(minutes) * 60_000_000_000)
    }

    fn report(&self, kind: ReportKind) -> Report {
        let model = format!("{} {}", self.value("SystemManufacturer"), self.value("SystemProductName"));
        Report {
            kind,
            created_unix_ns: utc_ns(self.value("ScanTime")),
            utc_offset_minutes: utc_offset_minutes(self.value("UtcOffset")),
            computer: self.value("ComputerName").to_owned(),
            model: model.trim().to_owned(),
            firmware: self.value("BIOSVersion").to_owned(),
            os_build: self.value("OSBuild").to_owned(),
            modern_standby: parse_flag(self.value("ConnectedStandby")),
            ..Report::default()
        }
    }
}

fn named<K: Copy>(names: &[(&str, K)], name: &str) -> Option<K> {
    names.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
}

fn text(tag: Tag<'_>, name: &str) -> String {
    let mut text = String::new();
    push_unescaped(&mut text, tag.attribute(name).unwrap_or_default());
    text_or_empty(&text)
}

fn number(tag: Tag<'_>, name: &str) -> Option<i64> {
    tag.attribute(name)?.trim().parse().ok()
}

fn flag(tag: Tag<'_>, name: &str) -> Option<bool> {
    parse_flag(tag.attribute(name)?)
}

fn parse_flag(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Returns a capacity in mWh. 0 stands for a capacity that was not read: such a computer would be off.
fn capacity(tag: Tag<'_>, names: &[&str]) -> Option<i64> {
    names.iter().find_map(|name| number(tag, name).filter(|&mwh| mwh > 0))
}
