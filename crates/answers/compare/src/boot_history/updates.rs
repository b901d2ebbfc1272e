//! Extracts updates from a journal: running versions, packages, and package-manager commands.
//!
//! Log formats: the kernel banner (init/version.c), systemd's banner ("systemd 252.39-1 running in system mode"),
//! pacman and dpkg logs as they reach syslog, rpm's syslog plugin ("[RPM]"), yum, unattended-upgrades, and sudo command
//! lines.

use onoff_trace::Trace;

use super::{BootSample, SystemUpdate, UpdateKind};

/// Package managers, as named in commands.
const PACKAGE_MANAGERS: [&str; 14] = [
    "apt",
    "apt-get",
    "aptitude",
    "dpkg",
    "dnf",
    "dnf5",
    "yum",
    "rpm",
    "rpm-ostree",
    "zypper",
    "pacman",
    "snap",
    "flatpak",
    "nixos-rebuild",
];
/// Arguments of package managers that change packages.
const CHANGING_ARGUMENTS: [&str; 19] = [
    "install",
    "reinstall",
    "upgrade",
    "full-upgrade",
    "dist-upgrade",
    "safe-upgrade",
    "distro-sync",
    "system-upgrade",
    "update",
    "dup",
    "remove",
    "purge",
    "autoremove",
    "erase",
    "refresh",
    "rebase",
    "switch",
    "patch",
    "swap",
];
/// Units for automatic upgrades.
const AUTOMATIC_UNITS: [&str; 8] = [
    "apt-daily-upgrade.service",
    "unattended-upgrades.service",
    "dnf-automatic.service",
    "dnf-automatic-install.service",
    "dnf5-automatic.service",
    "packagekit-offline-update.service",
    "dnf-system-upgrade.service",
    "transactional-update.service",
];

/// The versions that run in a boot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    pub(crate) kernel: String,
    pub(crate) manager: String,
}

/// Returns the log lines as (time, task, text).
fn log_lines(trace: &Trace) -> impl Iterator<Item = (i64, &str, &str)> {
    // The only field of a log line is its text.
    let lines = trace.events.iter().zip(trace.event_fields.iter());
    lines.map(|(event, field)| (event.time_ns, trace.text(event.task), trace.text(field.value)))
}

/// Returns the first versions logged in a boot.
pub(crate) fn versions(trace: &Trace) -> Versions {
    let mut versions = Versions::default();
    for (_, task, text) in log_lines(trace) {
        if versions.kernel.is_empty()
            && let Some(version) = text.strip_prefix("Linux version ")
        {
            version.split(' ').next().unwrap_or_default().clone_into(&mut versions.kernel);
        }
        // Before journald runs, the line is in the kernel log, with its sender as a prefix.
        let manager_text = text.strip_prefix("systemd[1]: ").or((task == "systemd").then_some(text));
        if versions.manager.is_empty()
            && let Some((version, _)) = manager_text
                .and_then(|text| text.strip_prefix("systemd "))
                .and_then(|version| version.split_once(" running in system mode"))
        {
            version.split(' ').next().unwrap_or_default().clone_into(&mut versions.manager);
        }
        if !versions.kernel.is_empty() && !versions.manager.is_empty() {
            break;
        }
    }
    versions
}

/// Returns the updates logged during a boot.
pub(crate) fn logged_updates(trace: &Trace) -> Vec<SystemUpdate> {
    let mut updates: Vec<SystemUpdate> = log_lines(trace)
        .flat_map(|(time_ns, task, text)| {
            let unix_ns = trace.clock.unix_ns(time_ns);
            line_updates(task, text).into_iter().map(move |update| SystemUpdate { unix_ns, ..update })
        })
        .collect();
    for row in trace.service_transitions.iter() {
        let unit = trace.text(row.service);
        if AUTOMATIC_UNITS.contains(&unit) && row.kind == onoff_trace::ServiceChange::Start {
            let unix_ns = trace.clock.unix_ns(row.start_ns);
            updates.push(SystemUpdate { unix_ns, ..update(UpdateKind::AutomaticUpgrade, unit, "", "") });
        }
    }
    updates.sort_by_key(|update| update.unix_ns);
    updates.dedup();
    updates
}

fn update(kind: UpdateKind, name: &str, was: &str, is: &str) -> SystemUpdate {
    SystemUpdate {
        unix_ns: None,
        kind,
        name: name.to_owned(),
        was: was.to_owned(),
        is: is.to_owned(),
        is_routine: false,
    }
}

/// Returns the updates in a log line.
fn line_updates(task: &str, text: &str) -> Vec<SystemUpdate> {
    let single = |update: Option<SystemUpdate>| update.into_iter().collect();
    match task {
        "pacman" | "alpm" => single(parse_pacman(text)),
        "[RPM]" | "rpm" => single(parse_rpm(text)),
        "yum" | "dnf" => single(parse_yum(text)),
        "dpkg" => single(parse_dpkg(text)),
        "unattended-upgrade" | "unattended-upgrades" => {
            let Some(names) = text.strip_prefix("Packages that will be upgraded: ") else { return Vec::new() };
            names.split_ascii_whitespace().map(|name| update(UpdateKind::Package, name, "", "")).collect()
        }
        "sudo" | "pkexec" => single(parse_command(text)),
        _ => Vec::new(),
    }
}

/// Parses `upgraded linux (6.8.1-1 -> 6.8.2-1)`, `installed foo (1.0)`, `removed foo (1.0)`, optionally prefixed with
/// `[ALPM]`.
fn parse_pacman(text: &str) -> Option<SystemUpdate> {
    let text = text.strip_prefix("[ALPM] ").unwrap_or(text);
    let (action, package) = text.split_once(' ')?;
    let (name, versions) = package.split_once(" (")?;
    let versions = versions.strip_suffix(')')?;
    let (was, is) = match action {
        "upgraded" | "downgraded" => versions.split_once(" -> ")?,
        "installed" | "reinstalled" => ("", versions),
        "removed" => (versions, ""),
        _ => return None,
    };
    Some(update(UpdateKind::Package, name, was, is))
}

/// Parses `install kernel-core-6.8.5-301.fc40.x86_64: success`, `erase …`.
fn parse_rpm(text: &str) -> Option<SystemUpdate> {
    let (action, result) = text.split_once(' ')?;
    let package = result.strip_suffix(": success")?;
    let (name, version) = name_and_version(package);
    match action {
        "install" => Some(update(UpdateKind::Package, name, "", version)),
        "erase" => Some(update(UpdateKind::Package, name, version, "")),
        _ => None,
    }
}

/// Parses `Updated: NetworkManager-1:1.18.8-2.el7_9.x86_64`, `Installed: …`, `Erased: …`.
fn parse_yum(text: &str) -> Option<SystemUpdate> {
    let (action, package) = text.split_once(": ")?;
    let (name, version) = name_and_version(package.trim());
    match action {
        "Updated" | "Upgraded" | "Installed" | "Upgrade" | "Install" => {
            Some(update(UpdateKind::Package, name, "", version))
        }
        "Erased" | "Removed" => Some(update(UpdateKind::Package, name, version, "")),
        _ => None,
    }
}

/// Splits `name-version-release.architecture`. The version starts after the second-to-last hyphen.
fn name_and_version(package: &str) -> (&str, &str) {
    let mut hyphens = package.rmatch_indices('-').map(|(index, _)| index);
    match (hyphens.next(), hyphens.next()) {
        (Some(_), Some(index)) => {
            (package.get(..index).unwrap_or(package), package.get(index + 1..).unwrap_or_default())
        }
        _ => (package, ""),
    }
}

/// Parses `upgrade network-manager:amd64 1.42.4-1 1.42.4-2`, `install …` and `remove …`, optionally after a date.
fn parse_dpkg(text: &str) -> Option<SystemUpdate> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let action_index = words.iter().position(|word| matches!(*word, "upgrade" | "install" | "remove" | "purge"))?;
    let [_, name, was, is, ..] = words.get(action_index..)? else { return None };
    let version = |word: &str| if word == "<none>" { String::new() } else { word.to_owned() };
    let name = name.split(':').next().unwrap_or(name);
    Some(SystemUpdate { was: version(was), is: version(is), ..update(UpdateKind::Package, name, "", "") })
}

/// Parses a sudo log line with a command that changes packages:
/// `user : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/usr/bin/apt upgrade`.
fn parse_command(text: &str) -> Option<SystemUpdate> {
    let (_, command) = text.split_once("COMMAND=")?;
    let mut words = command.split_ascii_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    // pacman and dpkg use options instead of commands.
    let is_change = |word: &str| {
        CHANGING_ARGUMENTS.contains(&word)
            || word.starts_with("-S")
            || matches!(word, "-i" | "-U" | "-r" | "-R" | "--install")
    };
    (PACKAGE_MANAGERS.contains(&program) && words.any(is_change))
        .then(|| update(UpdateKind::Command, command.trim(), "", ""))
}

/// Returns the change from version `was` to `is`, shown first at `unix_ns`.
pub(crate) fn version_change(kind: UpdateKind, was: &str, is: &str, unix_ns: Option<i64>) -> Option<SystemUpdate> {
    let has_changed = was != is && !was.is_empty() && !is.is_empty();
    has_changed.then(|| SystemUpdate { unix_ns, ..update(kind, "", was, is) })
}

/// Returns the updates between two boots: updates logged before boot `first_after`, and versions that run in it for the
/// first time.
pub(super) fn between_boots(samples: &[BootSample], last_before: usize, first_after: usize) -> Vec<SystemUpdate> {
    let mut updates: Vec<SystemUpdate> = samples
        .get(last_before..first_after)
        .unwrap_or_default()
        .iter()
        .flat_map(|sample| sample.updates.iter().cloned())
        .collect();
    if let (Some(sample_before), Some(sample_after)) = (samples.get(last_before), samples.get(first_after)) {
        for (kind, was, is) in [
            (UpdateKind::Kernel, &sample_before.boot.kernel, &sample_after.boot.kernel),
            (UpdateKind::ServiceManager, &sample_before.manager, &sample_after.manager),
        ] {
            updates.extend(version_change(kind, was, is, sample_after.boot.first_unix_ns));
        }
    }
    updates.sort_by_key(|update| update.unix_ns);
    updates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_package_manager_logs() {
        let parse = |task: &str, text: &str| -> Vec<(UpdateKind, String, String, String)> {
            line_updates(task, text)
                .into_iter()
                .map(|update| (update.kind, update.name, update.was, update.is))
                .collect()
        };
        let package = |name: &str, was: &str, is: &str| {
            vec![(UpdateKind::Package, name.to_owned(), was.to_owned(), is.to_owned())]
        };
        assert_eq!(
            parse("pacman", "[ALPM] upgraded linux (6.8.1-1 -> 6.8.2-1)"),
            package("linux", "6.8.1-1", "6.8.2-1")
        );
        assert_eq!(
            parse("[RPM]", "install kernel-core-6.8.5-301.fc40.x86_64: success"),
            package("kernel-core", "", "6.8.5-301.fc40.x86_64")
        );
        assert_eq!(
            parse("yum", "Updated: NetworkManager-1:1.18.8-2.el7_9.x86_64"),
            package("NetworkManager", "", "1:1.18.8-2.el7_9.x86_64")
        );
        assert_eq!(
            parse("dpkg", "2026-05-12 06:01:02 upgrade network-manager:amd64 1.42.4-1 1.42.4-2"),
            package("network-manager", "1.42.4-1", "1.42.4-2")
        );
        assert_eq!(parse("dpkg", "install foo:amd64 <none> 1.0"), package("foo", "", "1.0"));
        assert_eq!(parse("unattended-upgrade", "Packages that will be upgraded: a b").len(), 2);
        let sudo = |command: &str| parse("sudo", &format!("ann : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND={command}"));
        assert_eq!(sudo("/usr/bin/apt full-upgrade -y")[0].1, "/usr/bin/apt full-upgrade -y");
        assert_eq!(sudo("/usr/bin/pacman -Syu").len(), 1);
        // Queries, or other programs.
        for command in [
            "/usr/bin/apt list --upgradable",
            "/usr/bin/pacman -Qi linux",
            "/usr/bin/vim /etc/apt/sources.list",
            "/usr/bin/install -m 644 a b",
        ] {
            assert_eq!(sudo(command), [], "{command}");
        }
        assert_eq!(parse("bash", "upgraded linux (1 -> 2)"), []);
        assert_eq!(parse("[RPM]", "install"), []);
    }
}
