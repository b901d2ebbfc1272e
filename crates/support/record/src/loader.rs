//! How the boot loader is told to start the kernel with more options.

use crate::capabilities::{Loader, Offer, variable_path};
use crate::error::Error;
use crate::job::{Job, LoaderChoice};
use crate::kernel_options;
pub use crate::recorded_boot::LOADER_ENTRY;
use crate::step::{Step, Undo};

/// Steps that are done once.
pub fn steps(job: &Job, offer: &Offer, id: &str) -> Result<Vec<Step>, Error> {
    let options = kernel_options::options(job, offer, id).join(" ");
    if job.loader == LoaderChoice::Manual {
        return Ok(Vec::new());
    }
    match &offer.loader {
        Loader::SystemdBoot { folder, text, one_shot: true, .. } => Ok(vec![Step::File {
            path: format!("{folder}/{LOADER_ENTRY}"),
            what: "a boot loader entry with the options for tracing".to_owned(),
            contents: entry(text, &options),
            mode: 0o600,
        }]),
        Loader::SystemdBoot { .. } => Err(refusal(
            "this systemd-boot cannot take an entry for one boot only (it came with systemd 240)",
            &options,
        )),
        Loader::Grub(grub) => {
            let (path, contents) = grub.entry_with(&options);
            let forget = Undo::run(&[&grub.editenv, &grub.environment(), "unset", "next_entry"]);
            Ok(vec![
                Step::Command { what: "GRUB forgets the entry".to_owned(), line: None, undo: Some(forget) },
                Step::File {
                    path,
                    what: "a boot loader entry with the options for tracing".to_owned(),
                    contents,
                    mode: 0o600,
                },
            ])
        }
        Loader::Unknown(why) => Err(refusal(why, &options)),
    }
}

/// What is done before each restart: the entry is chosen for one boot.
#[must_use]
pub fn before_restart(job: &Job, offer: &Offer) -> Option<Step> {
    if job.loader == LoaderChoice::Manual {
        return None;
    }
    match &offer.loader {
        Loader::SystemdBoot { .. } => {
            Some(Step::OneShot { path: variable_path("LoaderEntryOneShot"), entry: LOADER_ENTRY.to_owned() })
        }
        Loader::Grub(grub) => Some(Step::Command {
            what: "GRUB takes that entry at the next boot, once".to_owned(),
            line: Some(vec![grub.reboot.clone(), grub.entry_name().to_owned()]),
            undo: None,
        }),
        Loader::Unknown(_) => None,
    }
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
        "cannot put options onto the kernel's command line for one boot: {why}. Put them there yourself, repeat with \
         '--loader manual', and take them away afterwards. {LINES}The options: {options}"
    ))
}

/// How to add options to the command line of every boot, by what maintains it.
const LINES: &str = "Fedora, RHEL: sudo grubby --update-kernel=DEFAULT --args='OPTIONS', later --remove-args='OPTIONS'. \
                     Debian, Ubuntu: add them to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then sudo update-grub. \
                     SUSE: the same, then sudo grub2-mkconfig -o /boot/grub2/grub.cfg. \
                     Arch: the same, then sudo grub-mkconfig -o /boot/grub/grub.cfg. \
                     Unified kernel images: add them to /etc/kernel/cmdline, then sudo mkinitcpio -P, sudo dracut --regenerate-all --force, \
                     or sudo kernel-install add-all. ";
