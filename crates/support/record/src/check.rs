//! Checks whether a job can be recorded on this computer, and what would be missing from the recording.

use crate::capabilities::{Capabilities, Loader};
use crate::error::Error;
use crate::job::{Job, LoaderChoice, SleepMethod, Transition};
use crate::tracing;

/// A requirement of recording, or something that makes it more complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckItem {
    pub name: &'static str,
    pub availability: Availability,
    /// What was found, or what to do.
    pub text: String,
}

impl CheckItem {
    /// Creates an item whose availability and text depend on `is_available`.
    pub(crate) fn new(
        name: &'static str,
        is_available: bool,
        missing_availability: Availability,
        available: impl Into<String>,
        missing: impl Into<String>,
    ) -> Self {
        let (availability, text) = if is_available {
            (Availability::Available, available.into())
        } else {
            (missing_availability, missing.into())
        };
        Self { name, availability, text }
    }

    /// Creates an item that recording requires.
    fn required(name: &'static str, found: Option<&str>, missing: &str) -> Self {
        Self::new(name, found.is_some(), Availability::Missing, found.unwrap_or_default(), missing)
    }
}

/// Availability of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Available,
    /// Missing; the recording will be less complete.
    Limited,
    /// Missing; nothing can be recorded without it.
    Missing,
}

/// Maximum size of an unpacked recording, in bytes.
const MAX_RECORDING_BYTES: u64 = 1 << 30;

/// Checks a job. `free_bytes` is the free space in the folder of the recordings.
#[must_use]
pub fn check(job: &Job, capabilities: &Capabilities, free_bytes: Option<u64>) -> Vec<CheckItem> {
    let mut items = vec![
        CheckItem::new(RIGHTS, capabilities.superuser, Availability::Missing, "root", "not root: use 'sudo'"),
        check_trace(capabilities),
        check_events(job, capabilities),
        check_clock(capabilities),
    ];
    if job.transition.restarts() || job.sleep_by == SleepMethod::Systemd {
        items.push(CheckItem::required("systemd", capabilities.systemd.as_deref(), "systemd is not process 1"));
    }
    if job.transition.records_boot() {
        items.push(check_loader(job, capabilities));
        let available = "from EFI variables";
        let missing = "no LoaderTimeInitUSec: firmware and loader times cannot be separated";
        items.push(CheckItem::new(
            "loader times",
            capabilities.loader_times,
            Availability::Limited,
            available,
            missing,
        ));
        let missing = "no FPDT: firmware stages cannot be timed";
        items.push(CheckItem::new(
            "firmware times",
            capabilities.firmware_table,
            Availability::Limited,
            "FPDT",
            missing,
        ));
    }
    if job.transition.records_shutdown() {
        let available = "/usr/lib/systemd/system-shutdown";
        let missing = "no /usr/lib/systemd/system-shutdown: the end of a shutdown cannot be recorded";
        items.push(CheckItem::new(
            "shutdown hooks",
            capabilities.shutdown_hooks,
            Availability::Missing,
            available,
            missing,
        ));
        let missing = "the root file system does not keep files written late in a shutdown";
        items.push(CheckItem::required("final-stage storage", capabilities.staging.as_deref(), missing));
    }
    if !job.transition.restarts() {
        items.push(check_sleep(job, capabilities));
        items.push(check_wake(job, capabilities));
    }
    items.push(check_disk_space(job, free_bytes));
    items
}

/// Returns an error with the first reason if the job cannot be done.
pub fn refuse(job: &Job, capabilities: &Capabilities, free_bytes: Option<u64>) -> Result<(), Error> {
    // Missing rights do not prevent showing a plan.
    let missing = check(job, capabilities, free_bytes)
        .into_iter()
        .find(|item| item.availability == Availability::Missing && item.name != RIGHTS);
    match missing {
        Some(item) => Err(Error::Refused(format!("{}: {}", item.name, item.text))),
        None => Ok(()),
    }
}

const RIGHTS: &str = "rights";

const fn required(available: bool) -> Availability {
    if available { Availability::Available } else { Availability::Missing }
}

fn check_trace(capabilities: &Capabilities) -> CheckItem {
    let (availability, text) = match &capabilities.tracefs {
        Some(path) => (Availability::Available, path.clone()),
        // Only root can read tracefs.
        None if !capabilities.superuser => (Availability::Limited, "not visible without root".to_owned()),
        None => (
            Availability::Missing,
            "/sys/kernel/tracing is missing; run 'mount -t tracefs tracefs /sys/kernel/tracing' (if that fails, this \
             kernel lacks CONFIG_FTRACE)"
                .to_owned(),
        ),
    };
    CheckItem { name: "kernel trace", availability, text }
}

fn check_events(job: &Job, capabilities: &Capabilities) -> CheckItem {
    let requested: Vec<&str> = job
        .groups
        .iter()
        .flat_map(|group| group.events().iter().copied())
        .chain(job.events.iter().map(String::as_str))
        .collect();
    let available = tracing::events(job, capabilities);
    let missing: Vec<&str> =
        requested.into_iter().filter(|event| !available.iter().any(|name| name == event)).collect();
    let (availability, text) = if capabilities.events.is_none() {
        (Availability::Limited, "unknown: the kernel trace is not visible".to_owned())
    } else if missing.is_empty() {
        (Availability::Available, format!("all {} available", available.len()))
    } else {
        (Availability::Limited, format!("{} available; this kernel lacks {}", available.len(), abbreviated(&missing)))
    };
    CheckItem { name: "events", availability, text }
}

/// Joins the first few names and counts the rest.
fn abbreviated(names: &[&str]) -> String {
    const MAX_NAMES: usize = 6;
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).copied().collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        hidden => format!("{} and {hidden} more", shown.join(", ")),
    }
}

fn check_clock(capabilities: &Capabilities) -> CheckItem {
    let has_mono = capabilities.clocks.iter().any(|clock| clock == "mono");
    CheckItem {
        name: "trace clock",
        availability: if capabilities.clocks.is_empty() { Availability::Limited } else { required(has_mono) },
        text: match (has_mono, capabilities.clocks.is_empty()) {
            (true, _) => "mono",
            (false, true) => "unknown: the kernel trace is not visible",
            (false, false) => "this kernel has no 'mono' trace clock",
        }
        .to_owned(),
    }
}

fn check_loader(job: &Job, capabilities: &Capabilities) -> CheckItem {
    let (availability, text) = match (&capabilities.loader, job.loader) {
        (_, LoaderChoice::Manual) => (Availability::Available, "options are set manually".to_owned()),
        (Loader::SystemdBoot { entry, one_shot, .. }, _) => (
            required(*one_shot),
            match one_shot {
                true => format!("systemd-boot, entry {entry}, one boot at a time"),
                false => "this systemd-boot cannot select an entry for one boot; see '--loader manual'".to_owned(),
            },
        ),
        (Loader::Grub(grub), _) => {
            (Availability::Available, format!("GRUB, one boot at a time, entry in {}", grub.entry_path()))
        }
        // The plan fails and lists the options to set manually.
        (Loader::Unknown(reason), _) => (Availability::Limited, format!("{reason}; see '--loader manual'")),
    };
    CheckItem { name: "boot loader", availability, text }
}

fn check_sleep(job: &Job, capabilities: &Capabilities) -> CheckItem {
    let hibernates = job.transition == Transition::Hibernate;
    let state = if hibernates { "disk" } else { &job.sleep_state };
    let supported_states = capabilities.sleep_states.join(" ");
    let problem = if !capabilities.sleep_states.iter().any(|supported| supported == state) {
        Some(match supported_states.as_str() {
            "" => format!("this kernel does not support '{state}'"),
            _ => format!("this kernel supports '{supported_states}', not '{state}'"),
        })
    } else if hibernates && !capabilities.swap {
        Some("no swap to hibernate to (see 'swapon')".to_owned())
    } else if hibernates && !capabilities.resume_device {
        Some("no resume device ('resume=' on the kernel command line)".to_owned())
    } else {
        let requested = job.mem_sleep.as_ref().filter(|_| !hibernates);
        requested.filter(|requested| !capabilities.mem_sleep.contains(requested)).map(|requested| {
            let supported_states = capabilities.mem_sleep.join(" ");
            format!("/sys/power/mem_sleep supports '{supported_states}', not '{requested}'")
        })
    };
    CheckItem {
        name: "sleep states",
        availability: required(problem.is_none()),
        text: problem.unwrap_or_else(|| match capabilities.mem_sleep.as_slice() {
            [] => supported_states,
            variants => format!("{supported_states} (mem: {})", variants.join(" ")),
        }),
    }
}

fn check_wake(job: &Job, capabilities: &Capabilities) -> CheckItem {
    let (availability, text) = match (job.wake_after_s, capabilities.wake_alarm) {
        (_, true) => (Availability::Available, "/sys/class/rtc/rtc0/wakealarm"),
        (None, false) => (Availability::Limited, "none; wake the computer manually"),
        (Some(_), false) => (
            Availability::Missing,
            "/sys/class/rtc/rtc0/wakealarm is missing; omit '--wake-after' and wake the computer manually",
        ),
    };
    CheckItem { name: "wake alarm", availability, text: text.to_owned() }
}

fn check_disk_space(job: &Job, free_bytes: Option<u64>) -> CheckItem {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let (availability, text) = match free_bytes {
        None => (Availability::Limited, format!("{}: free space unknown", job.out)),
        Some(free) if free < MAX_RECORDING_BYTES => (
            Availability::Missing,
            format!(
                "{}: {:.1} GiB free, {:.0} GiB needed to unpack one recording; choose another '--out'",
                job.out,
                gib(free),
                gib(MAX_RECORDING_BYTES)
            ),
        ),
        Some(free) => (Availability::Available, format!("{}: {:.1} GiB free", job.out, gib(free))),
    };
    CheckItem { name: "disk space", availability, text }
}
