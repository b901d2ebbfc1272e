//! Parses the service manager's messages about units by message id if there is one, otherwise by text. Messages that
//! went to the kernel log before journald ran have only the text.

use std::borrow::Cow;

use onoff_trace::{ServiceChange, ServiceOutcome};

use super::journal::Entry;
use onoff_linux_log::unit_descriptions::{DescribedKind, unit_or_description};
use onoff_linux_log::unit_names::is_unit;

/// An event in a unit's life cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    Begin(ServiceChange),
    End(ServiceChange, ServiceOutcome),
    /// A condition was not met, so nothing was started.
    Skipped,
    /// Reason of a failure, e.g. `timeout`.
    Result(Cow<'a, str>),
    /// How a process of the unit exited, e.g. `status 203/EXEC`.
    Exit(Cow<'a, str>),
    /// The unit failed too often and is not started again.
    StartLimit,
    /// A process of the unit, by PID, is killed.
    Kill(u32),
}

// Source of the ids: systemd's `sd-messages.h`.
const STARTING: u128 = 0x7d49_58e8_42da_4a75_8f6c_1cdc_7b36_dcc5;
const STARTED: u128 = 0x39f5_3479_d3a0_45ac_8e11_7862_4823_1fbf;
const FAILED: u128 = 0xbe02_cf68_55d2_428b_a40d_f7e9_d022_f03d;
const STOPPING: u128 = 0xde5b_426a_63be_47a7_b6ac_3eaa_c82e_2f6f;
const STOPPED: u128 = 0x9d1a_aa27_d601_40bd_9636_5438_aad2_0286;

use ServiceChange::{Start, Stop};
use ServiceOutcome::{Completed, Failed};

/// Message prefixes and their meaning. Longer prefixes come before shorter ones.
const PREFIXES: [(&str, Step<'static>); 33] = [
    ("Starting ", Step::Begin(Start)),
    ("Mounting ", Step::Begin(Start)),
    ("Activating swap ", Step::Begin(Start)),
    ("Expecting device ", Step::Begin(Start)),
    ("Started ", Step::End(Start, Completed)),
    ("Finished ", Step::End(Start, Completed)),
    ("Mounted ", Step::End(Start, Completed)),
    ("Activated swap ", Step::End(Start, Completed)),
    ("Found device ", Step::End(Start, Completed)),
    ("Reached target ", Step::End(Start, Completed)),
    ("Listening on ", Step::End(Start, Completed)),
    ("Created slice ", Step::End(Start, Completed)),
    ("Set up automount ", Step::End(Start, Completed)),
    ("Failed to start ", Step::End(Start, Failed)),
    ("Failed to mount ", Step::End(Start, Failed)),
    ("Failed to listen on ", Step::End(Start, Failed)),
    ("Failed to activate swap ", Step::End(Start, Failed)),
    ("Failed to set up automount ", Step::End(Start, Failed)),
    ("Dependency failed for ", Step::End(Start, Failed)),
    ("Timed out starting ", Step::End(Start, Failed)),
    ("Timed out mounting ", Step::End(Start, Failed)),
    ("Timed out waiting for device ", Step::End(Start, Failed)),
    ("Stopping ", Step::Begin(Stop)),
    ("Unmounting ", Step::Begin(Stop)),
    ("Deactivating swap ", Step::Begin(Stop)),
    ("Stopped target ", Step::End(Stop, Completed)),
    ("Stopped ", Step::End(Stop, Completed)),
    ("Unmounted ", Step::End(Stop, Completed)),
    ("Deactivated swap ", Step::End(Stop, Completed)),
    ("Closed ", Step::End(Stop, Completed)),
    ("Removed slice ", Step::End(Stop, Completed)),
    ("Unset automount ", Step::End(Stop, Completed)),
    ("Failed unmounting ", Step::End(Stop, Failed)),
];

/// Parses a message of the system's service manager. Returns the unit and the event.
pub(super) fn step<'a>(entry: &'a Entry<'_>) -> Option<(Cow<'a, str>, Step<'a>)> {
    let message = &*entry.message;
    let (unit_in_text, step_in_text) = parse_text(message, entry.is_text).unzip();
    let unit = if entry.unit.is_empty() {
        unit_in_text?
    } else if entry.user_unit.is_empty() {
        Cow::Borrowed(&*entry.unit)
    } else {
        return None;
    };
    Some((unit, step_by_id(entry).or(step_in_text)?))
}

/// A unit of a user's service manager. The system may have units of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct UserUnit {
    /// The user's manager, a unit of the system: `user@1000.service`.
    pub(super) manager: String,
    pub(super) name: String,
}

/// Parses a message of a user's service manager. Returns the unit and the event.
pub(super) fn user_step<'a>(entry: &'a Entry<'_>) -> Option<(UserUnit, Step<'a>)> {
    if entry.user_unit.is_empty() || entry.identifier != "systemd" {
        return None;
    }
    // The manager is itself a unit of the system; without its name, the user id gives it.
    let manager = match &*entry.sender_unit {
        unit if unit.starts_with("user@") => unit.to_owned(),
        _ => format!("user@{}.service", entry.uid?),
    };
    let step_in_text = parse_text(&entry.message, entry.is_text).map(|(_, step)| step);
    let unit = UserUnit { manager, name: entry.user_unit.to_string() };
    Some((unit, step_by_id(entry).or(step_in_text)?))
}

/// Returns the event of a message with a known id.
fn step_by_id<'a>(entry: &Entry<'_>) -> Option<Step<'a>> {
    let message = &*entry.message;
    let outcome = || match &*entry.job_result {
        "" | "done" => Completed,
        _ => Failed,
    };
    Some(match entry.message_id {
        STARTING => Step::Begin(Start),
        STARTED if was_skipped(message) || entry.job_result == "skipped" => Step::Skipped,
        STARTED => Step::End(Start, outcome()),
        FAILED => Step::End(Start, Failed),
        STOPPING => Step::Begin(Stop),
        STOPPED => Step::End(Stop, outcome()),
        _ => return None,
    })
}

/// Returns the unit that a status line of the console, whose middle may be cut out, reports as started.
pub(super) fn started_unit(message: &str) -> Option<Cow<'_, str>> {
    let (message, _) = message.split_once('…').unwrap_or((message, ""));
    match parse_text(message, true)? {
        (unit, Step::End(Start, Completed)) if is_unit(&unit) => Some(unit),
        _ => None,
    }
}

/// Parses the text of a message. Returns the unit and the event.
fn parse_text(message: &str, by_description: bool) -> Option<(Cow<'_, str>, Step<'_>)> {
    for (prefix, step) in &PREFIXES {
        if let Some(unit) = message.strip_prefix(prefix) {
            // `name - description`, `name.` or `name...`; older systems give only the description.
            let name = unit.split_ascii_whitespace().next().unwrap_or("");
            let name = name.trim_end_matches('.');
            if is_unit(name) {
                return Some((Cow::Borrowed(name), step.clone()));
            }
            let description = unit.trim_end_matches('.');
            let kind = DescribedKind::from_prefix(prefix);
            return (by_description && !description.is_empty())
                .then(|| (unit_or_description(description, kind), step.clone()));
        }
    }
    if was_skipped(message) {
        let name = message.split_ascii_whitespace().next()?;
        return is_unit(name).then_some((Cow::Borrowed(name), Step::Skipped));
    }
    let (name, event) = message.split_once(": ")?;
    if !is_unit(name) {
        return None;
    }
    if let Some(result) = event.strip_prefix("Failed with result '") {
        let result = result.split('\'').next().unwrap_or(result);
        return Some((Cow::Borrowed(name), Step::Result(Cow::Borrowed(result))));
    }
    if event.starts_with("Start request repeated too quickly") {
        return Some((Cow::Borrowed(name), Step::StartLimit));
    }
    let exit = event
        .strip_prefix("Main process exited, code=")
        .or_else(|| event.strip_prefix("Control process exited, code="));
    if let Some((code, status)) = exit.and_then(|exit| exit.split_once(", status=")) {
        let status = status.trim_end_matches('.');
        let word = if code == "exited" { "status" } else { "signal" };
        return Some((Cow::Borrowed(name), Step::Exit(format!("{word} {status}").into())));
    }
    let (pid, signal) = event.strip_prefix("Killing process ")?.split_once(' ')?;
    signal.contains("SIGKILL").then(|| Some((Cow::Borrowed(name), Step::Kill(pid.parse().ok()?))))?
}

fn was_skipped(message: &str) -> bool {
    message.contains(" was skipped because ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(fields: &[(&str, &str)]) -> Option<(String, Step<'static>)> {
        let mut entry = Entry::default();
        for (name, value) in fields {
            entry.set(name.as_bytes(), Cow::Borrowed(value));
        }
        step(&entry).map(|(unit, step)| {
            let step = match step {
                Step::Result(result) => Step::Result(Cow::Owned(result.into_owned())),
                Step::Begin(change) => Step::Begin(change),
                Step::End(change, outcome) => Step::End(change, outcome),
                Step::Skipped => Step::Skipped,
                Step::Exit(status) => Step::Exit(Cow::Owned(status.into_owned())),
                Step::StartLimit => Step::StartLimit,
                Step::Kill(pid) => Step::Kill(pid),
            };
            (unit.into_owned(), step)
        })
    }

    #[test]
    fn parses_ids_and_text() {
        for (message, expected) in [
            ("Starting a.service - A...", Some(("a.service", Step::Begin(Start)))),
            ("Starting a.service...", Some(("a.service", Step::Begin(Start)))),
            ("Finished a.service - A.", Some(("a.service", Step::End(Start, Completed)))),
            ("Failed to start a.service - A.", Some(("a.service", Step::End(Start, Failed)))),
            ("Stopped target b.target - B.", Some(("b.target", Step::End(Stop, Completed)))),
            ("Stopped a.service.", Some(("a.service", Step::End(Stop, Completed)))),
            ("Unmounted -.mount", Some(("-.mount", Step::End(Stop, Completed)))),
            ("a.service - A was skipped because of an unmet condition check (X).", Some(("a.service", Step::Skipped))),
            ("a.service: Failed with result 'timeout'.", Some(("a.service", Step::Result("timeout".into())))),
            (
                "a.service: Main process exited, code=exited, status=203/EXEC",
                Some(("a.service", Step::Exit("status 203/EXEC".into()))),
            ),
            (
                "a.service: Main process exited, code=killed, status=9/KILL",
                Some(("a.service", Step::Exit("signal 9/KILL".into()))),
            ),
            ("a.service: Start request repeated too quickly.", Some(("a.service", Step::StartLimit))),
            ("a.service: Killing process 17 (x y) with signal SIGKILL.", Some(("a.service", Step::Kill(17)))),
            ("a.service: Killing process 17 (x) with signal SIGTERM.", None),
            ("Starting Journal Service...", None),
            ("Inserted module 'autofs4'", None),
            ("", None),
        ] {
            let expected = expected.map(|(unit, step)| (unit.to_owned(), step));
            assert_eq!(parse(&[("MESSAGE", message)]), expected, "{message}");
        }
        let parse_text_entry = |message: &'static str| {
            let mut entry = Entry { is_text: true, ..Entry::default() };
            entry.set(b"MESSAGE", Cow::Borrowed(message));
            step(&entry).map(|(unit, step)| (unit.into_owned(), matches!(step, Step::Begin(_))))
        };
        assert_eq!(
            parse_text_entry("Starting Journal Service..."),
            Some(("systemd-journald.service".to_owned(), true))
        );
        assert_eq!(parse_text_entry("Started My Journal."), Some(("My Journal".to_owned(), false)));
        assert_eq!(
            parse_text_entry("Reached target Graphical Interface."),
            Some(("graphical.target".to_owned(), false))
        );
        assert_eq!(parse_text_entry("Inserted module 'autofs4'"), None);
        let parse_id = |id: &str, result: &str| {
            parse(&[("MESSAGE_ID", id), ("UNIT", "a.service"), ("JOB_RESULT", result), ("MESSAGE", "x")])
                .map(|(_, step)| step)
        };
        assert_eq!(parse_id("7d4958e842da4a758f6c1cdc7b36dcc5", ""), Some(Step::Begin(Start)));
        assert_eq!(parse_id("39f53479d3a045ac8e11786248231fbf", "done"), Some(Step::End(Start, Completed)));
        assert_eq!(parse_id("be02cf6855d2428ba40df7e9d022f03d", "timeout"), Some(Step::End(Start, Failed)));
        assert_eq!(parse_id("de5b426a63be47a7b6ac3eaac82e2f6f", ""), Some(Step::Begin(Stop)));
        assert_eq!(parse_id("9d1aaa27d60140bd96365438aad20286", "done"), Some(Step::End(Stop, Completed)));
    }
}
