//! Groups what was changed before a boot, and says which changes the logs do not cover.

use hashbrown::HashMap;
use onoff_trace::{LogChannel, SystemChange, SystemChangeKind, Trace};
use serde::Serialize;

/// A change is routine if it also preceded at least this number of other boots. onoff's choice.
const MIN_ROUTINE_BOOTS: u32 = 3;
/// The same as a share of all boots of the computer: 1/10. onoff's choice.
const MIN_ROUTINE_DIVISOR: u32 = 10;
/// A channel covers a boot if it starts at most this long after the kernel, ns: the first records of a boot carry the
/// time of its start, rounded differently.
const MAX_START_DIFFERENCE_NS: i64 = 2_000_000_000;
/// Name of the group of all drivers that are part of Windows.
const INBOX_DRIVERS: &str = "drivers included in Windows";

/// What the event logs say was changed between the start of the previous boot and the start of this one. A change
/// before a slower boot is a possible cause, not a proven one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangesBefore {
    /// Start of the previous boot, ns since 1970-01-01 UTC; `None` if the logs have no earlier boot, and changes are
    /// unknown.
    pub since_unix_ns: Option<i64>,
    /// Start of this boot, ns since 1970-01-01 UTC.
    pub until_unix_ns: Option<i64>,
    /// Changes, grouped; routine ones last.
    pub changes: Vec<NamedChange>,
    /// Changes that the logs do not cover for the whole time. Programs that were installed without Windows Installer
    /// are in no log.
    pub not_covered: Vec<UncoveredChanges>,
}

/// Changes of one thing, such as an update, a driver or a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedChange {
    pub kind: SystemChangeKind,
    /// Name, in the language of that Windows.
    pub name: String,
    /// Version or state before the first change; empty if unknown.
    pub was: String,
    /// Version or state after the last change; empty if unknown.
    pub is: String,
    /// Publisher of a driver or program, program of a service, or what installed a package; empty if unknown.
    pub source: String,
    /// Number of records.
    pub records: u64,
    /// Number of devices of a driver.
    pub devices: u64,
    /// Time of the first record, ns since 1970-01-01 UTC.
    pub first_unix_ns: i64,
    /// Time of the last record, ns since 1970-01-01 UTC.
    pub last_unix_ns: i64,
    /// Error code of the last failure; `None` if there was none.
    pub error_code: Option<u32>,
    /// Number of other boots of this computer that the same change preceded.
    pub other_boots: u32,
    /// True if the same change also preceded many other boots, or if a start type was changed and changed back.
    pub is_routine: bool,
    /// The last record.
    pub event: String,
}

/// Changes that a channel does not cover for the whole time between two boots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UncoveredChanges {
    /// What the channel records, e.g. `drivers`.
    pub changes: String,
    /// Name of the channel.
    pub channel: String,
    /// Its first record if that is later than the previous boot, ns since 1970-01-01 UTC.
    pub first_unix_ns: Option<i64>,
    /// Its last record if that is earlier than this boot, ns since 1970-01-01 UTC.
    pub last_unix_ns: Option<i64>,
}

/// Returns the changes before the boot in `trace`; `None` if the recording is not from event logs.
#[must_use]
pub fn changes_before(trace: &Trace) -> Option<ChangesBefore> {
    if trace.channels.is_empty() {
        return None;
    }
    let read = trace.boots.iter().position(|boot| boot.read)?;
    let boot = trace.boots.get(read)?;
    let is_same_machine = |other: &&onoff_trace::RecordedBoot| other.machine == boot.machine;
    let boots = u32::try_from(trace.boots.iter().filter(is_same_machine).count()).unwrap_or(u32::MAX);
    let previous = read.checked_sub(1).and_then(|index| trace.boots.get(index)).filter(is_same_machine);
    let (since_unix_ns, until_unix_ns) = (previous.and_then(|boot| boot.first_unix_ns), boot.first_unix_ns);
    let not_covered = match (since_unix_ns, until_unix_ns) {
        // The clock may have been wrong in one of the two.
        (Some(since_ns), Some(until_ns)) => not_covered(trace, (since_ns.min(until_ns), until_ns)),
        _ => Vec::new(),
    };
    Some(ChangesBefore { since_unix_ns, until_unix_ns, changes: grouped(trace, boots), not_covered })
}

/// The channels that do not reach over the whole interval.
fn not_covered(trace: &Trace, (since_ns, until_ns): (i64, i64)) -> Vec<UncoveredChanges> {
    let latest_start_ns = since_ns.saturating_add(MAX_START_DIFFERENCE_NS);
    let is_covered =
        |channel: &&LogChannel| channel.first_unix_ns <= latest_start_ns && channel.last_unix_ns >= until_ns;
    let uncovered = |&(name, changes): &(&str, &str)| {
        let channel = trace.channels.iter().find(|channel| channel.name == name);
        if channel.as_ref().is_some_and(is_covered) {
            return None;
        }
        Some(UncoveredChanges {
            changes: changes.to_owned(),
            channel: name.to_owned(),
            first_unix_ns: channel.map(|channel| channel.first_unix_ns).filter(|&first_ns| first_ns > latest_start_ns),
            last_unix_ns: channel.map(|channel| channel.last_unix_ns).filter(|&last_ns| last_ns < until_ns),
        })
    };
    LogChannel::OF_CHANGES.iter().filter_map(uncovered).collect()
}

/// Groups the changes by kind and identity, and the drivers that are part of Windows as one.
fn grouped(trace: &Trace, boots: u32) -> Vec<NamedChange> {
    let mut groups: Vec<(Vec<SystemChange>, bool)> = Vec::new();
    let mut group_of: HashMap<(u8, &str), usize> = HashMap::new();
    for row in trace.system_changes.iter() {
        let is_inbox = row.is_inbox && row.kind == SystemChangeKind::Driver;
        let identity = if is_inbox { INBOX_DRIVERS } else { trace.text(row.identity) };
        let index = *group_of.entry((row.kind as u8, identity)).or_insert_with(|| {
            groups.push((Vec::new(), is_inbox));
            groups.len() - 1
        });
        if let Some((rows, _)) = groups.get_mut(index) {
            rows.push(row);
        }
    }
    let mut changes: Vec<NamedChange> =
        groups.iter().filter_map(|(rows, is_inbox)| group(trace, rows, *is_inbox, boots)).collect();
    changes.sort_by_key(|change| (change.is_routine, rank(change), std::cmp::Reverse(change.last_unix_ns)));
    changes
}

fn group(trace: &Trace, rows: &[SystemChange], is_inbox: bool, boots: u32) -> Option<NamedChange> {
    let (first, last) = (rows.first()?, rows.last()?);
    let text = |id| trace.text(id).to_owned();
    // A group of several drivers is as frequent as its rarest one.
    let other_boots = rows.iter().map(|row| row.other_boots).min().unwrap_or(0);
    let files: hashbrown::HashSet<&str> = rows.iter().map(|row| trace.text(row.name)).collect();
    let is_set = is_inbox && files.len() > 1;
    let is_unchanged = first.kind == SystemChangeKind::StartType && trace.text(first.was) == trace.text(last.is);
    Some(NamedChange {
        kind: first.kind,
        name: if is_set { INBOX_DRIVERS.to_owned() } else { text(last.name) },
        was: text(first.was),
        is: if is_set { String::new() } else { text(last.is) },
        source: text(last.source),
        records: rows.len() as u64,
        devices: rows.iter().filter(|row| !trace.text(row.device).is_empty()).count() as u64,
        first_unix_ns: rows.iter().map(|row| row.unix_ns).min()?,
        last_unix_ns: rows.iter().map(|row| row.unix_ns).max()?,
        error_code: rows.iter().rev().find_map(|row| row.error_code),
        other_boots,
        is_routine: is_unchanged
            || (other_boots >= MIN_ROUTINE_BOOTS && other_boots >= boots.checked_div(MIN_ROUTINE_DIVISOR)?),
        event: text(last.event),
    })
}

/// Order of the kinds: what changes most comes first.
fn rank(change: &NamedChange) -> u8 {
    match change.kind {
        SystemChangeKind::Build => 0,
        SystemChangeKind::Update => 1,
        SystemChangeKind::UpdateStarted => 2,
        SystemChangeKind::Package => 3,
        SystemChangeKind::DeviceFailed => 4,
        SystemChangeKind::Driver if change.name != INBOX_DRIVERS => 5,
        SystemChangeKind::Service => 6,
        SystemChangeKind::Program | SystemChangeKind::ProgramRemoved => 7,
        SystemChangeKind::StartType => 8,
        SystemChangeKind::UpdateFailed => 9,
        SystemChangeKind::Driver => 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{RecordedBoot, StringPool};

    const DAY_NS: i64 = 86_400_000_000_000;

    /// A boot on day 10 of a computer that boots every day.
    fn trace(rows: &[(SystemChangeKind, &str, &str, &str, u32)]) -> Trace {
        let mut strings = StringPool::default();
        let mut text = |value: &str| strings.intern(value);
        let rows: Vec<SystemChange> = rows
            .iter()
            .map(|&(kind, name, was, is, other_boots)| SystemChange {
                kind,
                name: text(name),
                identity: text(name),
                was: text(was),
                is: text(is),
                other_boots,
                unix_ns: 9 * DAY_NS,
                ..SystemChange::UNKNOWN
            })
            .collect();
        let boot =
            |day: i64| RecordedBoot { first_unix_ns: Some(day * DAY_NS), read: day == 10, ..RecordedBoot::default() };
        let channel = |name: &str, first: i64, last: i64| LogChannel {
            name: name.to_owned(),
            first_unix_ns: first * DAY_NS,
            last_unix_ns: last * DAY_NS,
            records: 9,
        };
        Trace {
            strings,
            system_changes: rows.into_iter().collect(),
            boots: (0..20).map(boot).collect(),
            channels: vec![channel("Application", 0, 20), channel("Setup", 10, 20), channel("System", 0, 20)],
            ..Trace::default()
        }
    }

    #[test]
    fn frequent_changes_are_routine_and_rare_ones_come_first() {
        let changes = changes_before(&trace(&[
            (SystemChangeKind::Update, "KB2267602", "", "", 12),
            (SystemChangeKind::StartType, "BITS", "demand", "auto", 0),
            (SystemChangeKind::Service, "Rare", "", "", 2),
            (SystemChangeKind::StartType, "BITS", "auto", "demand", 0),
            (SystemChangeKind::StartType, "Updater", "demand", "auto", 0),
        ]))
        .unwrap();
        let rows: Vec<_> = changes
            .changes
            .iter()
            .map(|change| (change.name.as_str(), change.was.as_str(), change.is.as_str(), change.is_routine))
            .collect();
        assert_eq!(
            rows,
            [
                ("Rare", "", "", false),
                ("Updater", "demand", "auto", false),
                ("KB2267602", "", "", true),
                ("BITS", "demand", "demand", true)
            ]
        );
        assert_eq!(changes.changes[3].records, 2);
    }

    #[test]
    fn a_channel_that_is_missing_or_starts_late_is_not_covered() {
        let changes = changes_before(&trace(&[])).unwrap();
        assert_eq!((changes.since_unix_ns, changes.until_unix_ns), (Some(9 * DAY_NS), Some(10 * DAY_NS)));
        let names: Vec<_> = changes
            .not_covered
            .iter()
            .map(|uncovered| (uncovered.changes.as_str(), uncovered.first_unix_ns, uncovered.last_unix_ns))
            .collect();
        assert_eq!(names, [("packages", Some(10 * DAY_NS), None), ("drivers", None, None)]);
        // Other recordings have no channels, and nothing is known about changes.
        assert_eq!(changes_before(&Trace::default()), None);
    }
}
