//! Finds what was changed on a computer before each of its boots.
//!
//! A change belongs to the boot that follows it: it was recorded between the start of the previous boot and the start
//! of this one. The events and their channels were measured on logs of real computers (builds 7601 to
//! 22000); only the events of Windows Installer are from its documentation.

use hashbrown::{HashMap, HashSet};
use onoff_event_log::Record;
use onoff_trace::{SystemChange, SystemChangeKind as Kind, SystemChanges};

use super::super::texts::Texts;
use super::boots::LoggedBoot;
use super::collection::Machine;
use super::events::{
    CHANGES, EVENT_LOG, INSTALLER, KERNEL_PNP, SERVICE_MANAGER, SERVICING, SYSTEM_VERSION, UPDATE_CLIENT, USER_PNP,
};

/// A change before its texts are interned.
#[derive(Clone, Debug)]
pub(super) struct Change {
    row: SystemChange,
    name: String,
    identity: String,
    was: String,
    is: String,
    source: String,
    device: String,
    event: String,
}

impl Change {
    fn new(record: &Record, kind: Kind, name: &str, identity: String) -> Self {
        Self {
            row: SystemChange { unix_ns: record.time_ns, kind, ..SystemChange::UNKNOWN },
            name: name.to_owned(),
            identity,
            was: String::new(),
            is: String::new(),
            source: String::new(),
            device: String::new(),
            event: format!("{}/{}", record.provider, record.id),
        }
    }

    fn is(mut self, version: Option<&str>) -> Self {
        self.is = version.unwrap_or_default().to_owned();
        self
    }

    fn source(mut self, source: Option<&str>) -> Self {
        self.source = source.unwrap_or_default().to_owned();
        self
    }

    fn error_code(mut self, code: Option<u32>) -> Self {
        self.row.error_code = code.filter(|&code| code != 0);
        self
    }
}

/// Returns the changes before each of `boots`, the boots of `machine` in chronological order.
pub(super) fn before_boots(machine: &Machine, boots: &[LoggedBoot]) -> Vec<Vec<Change>> {
    let mut pending_packages = HashSet::new();
    let mut last_build: Option<String> = None;
    let mut by_boot: Vec<Vec<Change>> = Vec::with_capacity(boots.len());
    let mut previous: Option<&LoggedBoot> = None;
    for boot in boots {
        let mut changes = match previous {
            Some(previous) => changes_in(machine, previous, &mut pending_packages),
            None => Vec::new(),
        };
        if let Some((record, build)) = build(machine, boot) {
            if let Some(was) = last_build.as_ref().filter(|was| *was != build) {
                let mut change = Change::new(record, Kind::Build, "Windows", "Windows".to_owned()).is(Some(build));
                change.was.clone_from(was);
                changes.push(change);
            }
            last_build = Some(build.to_owned());
        }
        by_boot.push(changes);
        previous = Some(boot);
    }
    count_other_boots(&mut by_boot);
    by_boot
}

/// Interns the texts of the changes.
pub(super) fn table(changes: &[Change], texts: &mut Texts) -> SystemChanges {
    changes
        .iter()
        .map(|change| SystemChange {
            name: texts.str(&change.name),
            identity: texts.str(&change.identity),
            was: texts.str(&change.was),
            is: texts.str(&change.is),
            source: texts.str(&change.source),
            device: texts.str(&change.device),
            event: texts.str(&change.event),
            ..change.row
        })
        .collect()
}

/// The installed build as the log service records it. The kernel's own record has the base of an enablement package.
fn build<'m>(machine: &'m Machine, boot: &LoggedBoot) -> Option<(&'m Record, &'m str)> {
    let records = boot.records.iter().filter_map(|&index| machine.records.get(index));
    let mut versions = records.filter(|record| record.provider == EVENT_LOG && record.id == SYSTEM_VERSION);
    versions.find_map(|record| Some((record, record.unnamed(1).filter(|build| !build.is_empty())?)))
}

fn count_other_boots(by_boot: &mut [Vec<Change>]) {
    let mut boots: HashMap<(u8, String), u32> = HashMap::new();
    for changes in by_boot.iter() {
        let identities: HashSet<(u8, &str)> =
            changes.iter().map(|change| (change.row.kind as u8, change.identity.as_str())).collect();
        for (kind, identity) in identities {
            *boots.entry((kind, identity.to_owned())).or_default() += 1;
        }
    }
    for change in by_boot.iter_mut().flatten() {
        let count = boots.get(&(change.row.kind as u8, change.identity.clone())).copied().unwrap_or(0);
        change.row.other_boots = count.saturating_sub(1);
    }
}

/// Returns the changes recorded between the start of `boot` and the start of the next one.
fn changes_in(machine: &Machine, boot: &LoggedBoot, pending_packages: &mut HashSet<String>) -> Vec<Change> {
    let mut records: Vec<&Record> = boot
        .records
        .iter()
        .filter_map(|&index| machine.records.get(index))
        .filter(|record| is_wanted(record))
        .collect();
    records.sort_by_key(|record| (record.time_ns, record.number));
    // Windows 10 up to build 10586 records the same installation in two channels.
    let configured: HashSet<&str> = records
        .iter()
        .filter(|record| record.provider == KERNEL_PNP && record.id == 400)
        .filter_map(|record| record.text("DeviceInstanceId"))
        .collect();
    let finished: HashSet<&str> = records
        .iter()
        .filter(|record| record.provider == UPDATE_CLIENT && matches!(record.id, 19 | 20))
        .filter_map(|record| record.text("updateGuid"))
        .collect();
    let installed: HashSet<&str> = records
        .iter()
        .filter(|record| record.provider == INSTALLER && record.id == 1033)
        .filter_map(|record| record.unnamed(0))
        .collect();
    let mut changes: Vec<Change> = Vec::new();
    for &record in &records {
        let change = match (record.provider.as_str(), record.id) {
            (UPDATE_CLIENT, 43) if record.text("updateGuid").is_some_and(|guid| finished.contains(guid)) => None,
            (UPDATE_CLIENT, _) => update(record),
            (SERVICING, _) => package(record, pending_packages),
            (USER_PNP, _) if record.text("DeviceInstanceID").is_some_and(|id| configured.contains(id)) => None,
            (KERNEL_PNP | USER_PNP, _) => driver(record),
            (INSTALLER, 11_707) => product(record).filter(|change| !installed.contains(change.name.as_str())),
            (INSTALLER, _) => program(record),
            (SERVICE_MANAGER, _) => service(record),
            _ => None,
        };
        changes.extend(change.filter(|change| !change.name.is_empty()));
    }
    changes
}

fn is_wanted(record: &Record) -> bool {
    CHANGES.iter().any(|&(provider, ids)| record.provider == provider && ids.contains(&record.id))
}

/// An update: 19 installed, 20 failed, 43 started. An update that finishes after the restart has only 43 before it.
fn update(record: &Record) -> Option<Change> {
    let kind = match record.id {
        19 => Kind::Update,
        20 => Kind::UpdateFailed,
        _ => Kind::UpdateStarted,
    };
    let title = record.text("updateTitle")?;
    let code = record.number("errorCode").and_then(|code| u32::try_from(code).ok());
    Some(Change::new(record, kind, title, identity_of_title(title)).error_code(code))
}

/// A Windows package: 4 waits for the restart that installs it, 2 is installed. Other target states are no change of
/// what runs.
fn package(record: &Record, pending: &mut HashSet<String>) -> Option<Change> {
    let name = record.text("PackageIdentifier")?;
    // `IntendedPackageState` is a number on some builds and a text on others, `…Textized` is always a text.
    let state = record.text("IntendedPackageStateTextized").or_else(|| record.text("IntendedPackageState"))?;
    let is_done = record.number("ErrorCode").unwrap_or(0) == 0;
    let was_pending = match record.id {
        4 => !pending.insert(name.to_owned()),
        _ => pending.remove(name),
    };
    // The restart in between installed it; the change precedes that restart.
    let is_change = state == "Installed" && is_done && !was_pending;
    is_change.then(|| Change::new(record, Kind::Package, name, name.to_owned()).source(record.text("Client")))
}

/// A driver: Kernel-PnP 400 configured a device, 411 could not start it; UserPnp 20001 installed a driver.
fn driver(record: &Record) -> Option<Change> {
    let status = |name: &str| record.number(name).and_then(|code| u32::try_from(code).ok()).filter(|&code| code != 0);
    // A device that needs no driver has the name `null`.
    let file = last_component(record.text("DriverName").filter(|name| *name != "null").unwrap_or_default());
    let name = if file.is_empty() { record.text("DriverDescription").unwrap_or_default() } else { file };
    let provider = record.text("DriverProvider");
    let is_inbox = match record.provider.as_str() {
        KERNEL_PNP => record.number("DriverInbox") == Some(1),
        _ => record.number("IsDriverOEM") == Some(0),
    };
    let class = record.text("ClassGuid").or_else(|| record.text("SetupClass")).unwrap_or_default();
    // The number of an `oem….inf` changes with each version.
    let identity = match name.strip_prefix("oem").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        true => format!("{}/{class}", provider.unwrap_or_default()),
        false => name.to_lowercase(),
    };
    let (kind, code) = match (record.provider.as_str(), record.id) {
        (KERNEL_PNP, 411) => (Kind::DeviceFailed, status("Status")),
        (KERNEL_PNP, _) => (Kind::Driver, status("Status")),
        _ if status("InstallStatus").is_some() => (Kind::DeviceFailed, status("InstallStatus")),
        _ => (Kind::Driver, None),
    };
    let mut change =
        Change::new(record, kind, name, identity).is(record.text("DriverVersion")).source(provider).error_code(code);
    change.row.is_inbox = is_inbox;
    let device = record.text("DeviceInstanceId").or_else(|| record.text("DeviceInstanceID"));
    device.unwrap_or_default().clone_into(&mut change.device);
    if let Some(problem) = status("Problem") {
        // Device Manager shows this number as the code of the problem.
        change.is = format!("code {problem}");
    }
    Some(change)
}

/// A program installed (1033) or removed (1034) by Windows Installer: name, version, language, status, manufacturer.
fn program(record: &Record) -> Option<Change> {
    let name = record.unnamed(0)?;
    let is_done = record.unnamed(3).is_some_and(|status| status == "0");
    let kind = if record.id == 1034 { Kind::ProgramRemoved } else { Kind::Program };
    is_done.then(|| {
        let version = record.unnamed(1).filter(|version| *version != "(NULL)");
        let change = Change::new(record, kind, name, without_numbers(name)).source(record.unnamed(4));
        match kind {
            Kind::ProgramRemoved => Change { was: version.unwrap_or_default().to_owned(), ..change },
            _ => change.is(version),
        }
    })
}

/// A program from the text of 11707: `Product: NAME -- …`. The words around the name are localized.
fn product(record: &Record) -> Option<Change> {
    let (name, _) = record.unnamed(0)?.split_once(": ")?.1.split_once(" -- ")?;
    Some(Change::new(record, Kind::Program, name, without_numbers(name)))
}

/// A service that was installed (7045), or whose start type changed (7040).
fn service(record: &Record) -> Option<Change> {
    if record.id == 7040 {
        let short_name = record.text("param4").filter(|name| !name.is_empty());
        let name = short_name.or_else(|| record.text("param1"))?;
        let change = Change::new(record, Kind::StartType, name, name.to_owned());
        let was = record.text("param2").unwrap_or_default().to_owned();
        return Some(Change { was, ..change.is(record.text("param3")) });
    }
    let name = record.text("ServiceName")?;
    let path = record.text("ImagePath").unwrap_or_default();
    let file = last_component(path.trim_matches('"'));
    // Some drivers get a random service name at each start, but keep their file name.
    let identity = match file.to_lowercase() {
        file if file.ends_with(".sys") => file,
        _ => without_numbers(name),
    };
    Some(Change::new(record, Kind::Service, name, identity).source(Some(path)))
}

fn last_component(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

/// Identifies an update by the number of its article (`KB2267602`), otherwise by its title without numbers.
fn identity_of_title(title: &str) -> String {
    let mut articles = title.match_indices("KB").filter_map(|(index, _)| {
        let digits = title.get(index + 2..)?;
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        (length >= 6).then(|| title.get(index..index + 2 + length))?
    });
    match (articles.next(), articles.next()) {
        (Some(article), None) => article.to_owned(),
        _ => without_numbers(title),
    }
}

/// Replaces each number and version by `#`.
fn without_numbers(text: &str) -> String {
    let mut identity = String::with_capacity(text.len());
    let mut in_number = false;
    for c in text.chars() {
        let is_part = c.is_ascii_digit() || (in_number && c == '.');
        if is_part && !in_number {
            identity.push('#');
        } else if !is_part {
            identity.push(c);
        }
        in_number = is_part;
    }
    identity
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_one_update_have_one_identity() {
        let defender =
            "Security Intelligence Update for Microsoft Defender Antivirus - KB2267602 (Version 1.389.2284.0)";
        assert_eq!(identity_of_title(defender), "KB2267602");
        assert_eq!(identity_of_title("2023-05 Cumulative Update (KB5026370)"), "KB5026370");
        // Two articles do not say which one names the update.
        assert_eq!(identity_of_title("2023-05 (KB5026370) replaces KB5026369"), "#-# (KB#) replaces KB#");
        assert_eq!(identity_of_title("KBD driver 1.2"), "KBD driver #");
        assert_eq!(without_numbers("Updater 126.0.6478.62 (x64)"), "Updater # (x#)");
        assert_eq!(last_component(r"FileRepository\rdpbus.inf_amd64_1\rdpbus.inf"), "rdpbus.inf");
    }
}
