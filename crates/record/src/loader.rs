//! How the boot loader is told to start the kernel with more options.

use crate::error::Error;
use crate::job::{Job, LoaderChoice};
use crate::kernel_options;
use crate::offer::{Loader, Offer, variable_path};
use crate::step::Step;

/// The boot loader entry of a recorded boot. Where no default is set, systemd-boot takes the entry that sorts highest: this
/// one must sort lowest, so that only who asks for it gets it.
pub const ENTRY: &str = "0-onoff-record.conf";
/// GRUB's settings for a recorded boot.
const GRUB_SETTINGS: &str = "/etc/default/grub.d/zz-onoff-record.cfg";

/// Steps that are done once.
pub fn steps(job: &Job, offer: &Offer, id: &str) -> Result<Vec<Step>, Error> {
    let options = kernel_options::options(job, offer, id).join(" ");
    if job.loader == LoaderChoice::Manual {
        return Ok(Vec::new());
    }
    match &offer.loader {
        Loader::SystemdBoot { folder, text, one_shot: true, .. } => Ok(vec![Step::File {
            path: format!("{folder}/{ENTRY}"),
            what: "a boot loader entry with the options for tracing".to_owned(),
            contents: entry(text, &options),
            mode: 0o600,
        }]),
        Loader::SystemdBoot { .. } => Err(refusal(
            "this systemd-boot cannot take an entry for one boot only (it came with systemd 240)",
            &options,
        )),
        Loader::Grub => Ok(vec![
            update_grub(None),
            Step::Folder { path: "/etc/default/grub.d".to_owned() },
            Step::File {
                path: GRUB_SETTINGS.to_owned(),
                what: "GRUB's settings with the options for tracing".to_owned(),
                contents: format!(
                    "# Written by 'onoff record'; 'onoff record --restore' removes it.\n\
                     GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {options}\"\n"
                ),
                mode: 0o644,
            },
            update_grub(Some(vec!["update-grub".to_owned()])),
        ]),
        Loader::Unknown(why) => Err(refusal(why, &options)),
    }
}

/// What is done before each restart.
#[must_use]
pub fn before_restart(job: &Job, offer: &Offer) -> Option<Step> {
    let taken = matches!(offer.loader, Loader::SystemdBoot { .. });
    (taken && job.loader == LoaderChoice::Found)
        .then(|| Step::OneShot { path: variable_path("LoaderEntryOneShot"), entry: ENTRY.to_owned() })
}

fn update_grub(line: Option<Vec<String>>) -> Step {
    let undo = line.is_none().then(|| vec!["update-grub".to_owned()]);
    Step::Command { what: "GRUB's menu follows its settings".to_owned(), line, undo }
}

/// The text of an entry with another title and more options.
fn entry(text: &str, options: &str) -> String {
    let mut entry = String::from("title onoff record\n");
    for line in text.lines() {
        match line.split_whitespace().next().unwrap_or_default() {
            "title" | "version" => {}
            // Entries with a key come before those without: as the entry it was made from, but last.
            "sort-key" => entry += "sort-key zzz-onoff-record\n",
            _ => {
                entry += line.trim_end();
                entry.push('\n');
            }
        }
    }
    // Several lines of options are put together.
    entry + &format!("options {options}\n")
}

fn refusal(why: &str, options: &str) -> Error {
    Error::Refused(format!(
        "cannot put options onto the kernel's command line: {why}. Add these yourself and repeat with '--loader manual': \
         {options}"
    ))
}
