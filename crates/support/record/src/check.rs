//! What is there to record with and what is lacking, in words.

use crate::capabilities::{Loader, Offer};
use crate::error::Error;
use crate::job::{Job, LoaderChoice, SleepBy, Transition};
use crate::tracing;

/// One thing that recording needs or can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is called.
    pub name: &'static str,
    /// How it stands with it.
    pub standing: Standing,
    /// What was found, or what to do.
    pub text: String,
}

impl Item {
    /// What is there or not, with what is said in either case.
    pub(crate) fn of(
        name: &'static str,
        is_there: bool,
        without: Standing,
        there: impl Into<String>,
        lacking: impl Into<String>,
    ) -> Self {
        let (standing, text) = if is_there { (Standing::There, there.into()) } else { (without, lacking.into()) };
        Self { name, standing, text }
    }

    /// What nothing can be recorded without.
    fn needed(name: &'static str, found: Option<&str>, lacking: &str) -> Self {
        Self::of(name, found.is_some(), Standing::Lacking, found.unwrap_or_default(), lacking)
    }
}

/// How it stands with something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There.
    There,
    /// Not there; the recording will say less.
    Narrower,
    /// Not there; nothing can be recorded without it.
    Lacking,
}

/// Bytes that each recording may need, before it is packed.
const ROOM: u64 = 1 << 30;

/// Looks through what is offered for a job. `free_bytes`: room in the folder of the recordings.
#[must_use]
pub fn check(job: &Job, offer: &Offer, free_bytes: Option<u64>) -> Vec<Item> {
    let mut items = vec![
        Item::of(RIGHTS, offer.superuser, Standing::Lacking, "root", "not root: run it with 'sudo'"),
        trace(offer),
        events(job, offer),
        clock(offer),
    ];
    if job.transition.restarts() || job.sleep_by == SleepBy::Systemd {
        items.push(Item::needed("systemd", offer.systemd.as_deref(), "systemd does not run this computer"));
    }
    if job.transition.records_boot() {
        items.push(loader(job, offer));
        let there = "the boot loader leaves its times in firmware variables";
        let lacking = "no LoaderTimeInitUSec: firmware and loader cannot be separated";
        items.push(Item::of("loader's times", offer.loader_times, Standing::Narrower, there, lacking));
        let lacking = "no FPDT: the stages of the firmware are not known";
        items.push(Item::of("firmware's times", offer.firmware_table, Standing::Narrower, "FPDT", lacking));
    }
    if job.transition.records_shutdown() {
        let there = "/usr/lib/systemd/system-shutdown";
        let lacking = "no /usr/lib/systemd/system-shutdown: the end of a shutdown cannot be collected";
        items.push(Item::of("shutdown hooks", offer.shutdown_hooks, Standing::Lacking, there, lacking));
        let lacking = "the root file system does not keep what is written to it late in a shutdown";
        items.push(Item::needed("room for the last moments", offer.staging.as_deref(), lacking));
    }
    if !job.transition.restarts() {
        items.push(sleep(job, offer));
        items.push(wake(job, offer));
    }
    items.push(room(job, free_bytes));
    items
}

/// Refuses a job that cannot be done, with the first reason.
pub fn refuse(job: &Job, offer: &Offer, free_bytes: Option<u64>) -> Result<(), Error> {
    // Not for lack of rights: a plan can be made and shown without them.
    let lacking = check(job, offer, free_bytes)
        .into_iter()
        .find(|item| item.standing == Standing::Lacking && item.name != RIGHTS);
    match lacking {
        Some(item) => Err(Error::Refused(format!("{}: {}", item.name, item.text))),
        None => Ok(()),
    }
}

const RIGHTS: &str = "rights";

const fn needed(there: bool) -> Standing {
    if there { Standing::There } else { Standing::Lacking }
}

fn trace(offer: &Offer) -> Item {
    let (standing, text) = match &offer.tracefs {
        Some(place) => (Standing::There, place.clone()),
        // Only root can look into it.
        None if !offer.superuser => (Standing::Narrower, "cannot be seen without root".to_owned()),
        None => (
            Standing::Lacking,
            "no /sys/kernel/tracing: 'mount -t tracefs tracefs /sys/kernel/tracing', or this kernel was built without \
             CONFIG_FTRACE"
                .to_owned(),
        ),
    };
    Item { name: "kernel trace", standing, text }
}

fn events(job: &Job, offer: &Offer) -> Item {
    let asked: Vec<&str> = job
        .groups
        .iter()
        .flat_map(|group| group.events().iter().copied())
        .chain(job.events.iter().map(String::as_str))
        .collect();
    let there = tracing::events(job, offer);
    let lacking: Vec<&str> = asked.into_iter().filter(|event| !there.iter().any(|it| it == event)).collect();
    let (standing, text) = if offer.events.is_none() {
        (Standing::Narrower, "cannot be seen".to_owned())
    } else if lacking.is_empty() {
        (Standing::There, format!("all {} of them", there.len()))
    } else {
        (Standing::Narrower, format!("{} of them; this kernel lacks {}", there.len(), some_of(&lacking)))
    };
    Item { name: "events", standing, text }
}

/// Names, not all of them where they are many.
fn some_of(names: &[&str]) -> String {
    const SHOWN: usize = 6;
    let shown: Vec<&str> = names.iter().take(SHOWN).copied().collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn clock(offer: &Offer) -> Item {
    let there = offer.clocks.iter().any(|clock| clock == "mono");
    Item {
        name: "trace clock",
        standing: if offer.clocks.is_empty() { Standing::Narrower } else { needed(there) },
        text: match (there, offer.clocks.is_empty()) {
            (true, _) => "mono",
            (false, true) => "cannot be seen",
            (false, false) => "this kernel has no 'mono' trace clock",
        }
        .to_owned(),
    }
}

fn loader(job: &Job, offer: &Offer) -> Item {
    let (standing, text) = match (&offer.loader, job.loader) {
        (_, LoaderChoice::Manual) => (Standing::There, "options set by hand".to_owned()),
        (Loader::SystemdBoot { entry, one_shot, .. }, _) => (
            needed(*one_shot),
            match one_shot {
                true => format!("systemd-boot, entry {entry}, for one boot at a time"),
                false => "this systemd-boot cannot take an entry for one boot only; see '--loader manual'".to_owned(),
            },
        ),
        (Loader::Grub(grub), _) => {
            (Standing::There, format!("GRUB, an entry for one boot at a time in {}", grub.entry_path()))
        }
        // The plan refuses with the options to be set by hand.
        (Loader::Unknown(why), _) => (Standing::Narrower, format!("{why}; see '--loader manual'")),
    };
    Item { name: "boot loader", standing, text }
}

fn sleep(job: &Job, offer: &Offer) -> Item {
    let hibernates = job.transition == Transition::Hibernate;
    let state = if hibernates { "disk" } else { &job.sleep_state };
    let offered = offer.sleep_states.join(" ");
    let lacking = if !offer.sleep_states.iter().any(|it| it == state) {
        Some(format!("this kernel offers '{offered}', not '{state}'"))
    } else if hibernates && !offer.swap {
        Some("no swap to hibernate to ('swapon')".to_owned())
    } else if hibernates && !offer.resume_device {
        Some("the kernel does not know where to resume from ('resume=' on its command line)".to_owned())
    } else {
        let wanted = job.mem_sleep.as_ref().filter(|_| !hibernates);
        wanted.filter(|wanted| !offer.mem_sleep.contains(wanted)).map(|wanted| {
            let offered = offer.mem_sleep.join(" ");
            format!("/sys/power/mem_sleep offers '{offered}', not '{wanted}'")
        })
    };
    Item {
        name: "sleep states",
        standing: needed(lacking.is_none()),
        text: lacking.unwrap_or_else(|| match offer.mem_sleep.as_slice() {
            [] => offered,
            kinds => format!("{offered} (mem: {})", kinds.join(" ")),
        }),
    }
}

fn wake(job: &Job, offer: &Offer) -> Item {
    let (standing, text) = match (job.wake_after_s, offer.wake_alarm) {
        (_, true) => (Standing::There, "/sys/class/rtc/rtc0/wakealarm"),
        (None, false) => (Standing::Narrower, "none: wake the computer by hand"),
        (Some(_), false) => (
            Standing::Lacking,
            "no /sys/class/rtc/rtc0/wakealarm: leave '--wake-after' out and wake the computer by hand",
        ),
    };
    Item { name: "wake alarm", standing, text: text.to_owned() }
}

fn room(job: &Job, free_bytes: Option<u64>) -> Item {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let (standing, text) = match free_bytes {
        None => (Standing::Narrower, format!("{}: not known", job.out)),
        Some(free) if free < ROOM => (
            Standing::Lacking,
            format!(
                "{}: {:.1} GiB free, {:.0} GiB wanted for unpacking one recording; choose another '--out'",
                job.out,
                gib(free),
                gib(ROOM)
            ),
        ),
        Some(free) => (Standing::There, format!("{}: {:.1} GiB free", job.out, gib(free))),
    };
    Item { name: "room", standing, text }
}
