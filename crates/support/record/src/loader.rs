//! Makes the boot loader start the kernel with additional options.

use crate::capabilities::{Capabilities, Loader, variable_path};
use crate::error::Error;
use crate::job::{Job, LoaderChoice};
use crate::kernel_options;
pub use crate::recorded_boot::LOADER_ENTRY;
use crate::step::{Step, Undo};

/// Returns the steps that are performed once per job.
pub fn steps(job: &Job, capabilities: &Capabilities, id: &str) -> Result<Vec<Step>, Error> {
    let options = kernel_options::options(job, capabilities, id).join(" ");
    if job.loader == LoaderChoice::Manual {
        return Ok(Vec::new());
    }
    match &capabilities.loader {
        Loader::SystemdBoot { folder, text, one_shot: true, .. } => Ok(vec![Step::File {
            path: format!("{folder}/{LOADER_ENTRY}"),
            what: "boot loader entry with the trace options".to_owned(),
            contents: entry_contents(text, &options),
            mode: 0o600,
        }]),
        Loader::SystemdBoot { .. } => {
            Err(refusal("this systemd-boot cannot select an entry for one boot (that requires systemd 240)", &options))
        }
        Loader::Grub(grub) => {
            let (path, contents) = grub.entry_with(&options);
            let clear = Undo::run(&[&grub.editenv, &grub.environment(), "unset", "next_entry"]);
            Ok(vec![
                Step::Command { what: "clears the selected entry".to_owned(), line: None, undo: Some(clear) },
                Step::File { path, what: "boot loader entry with the trace options".to_owned(), contents, mode: 0o600 },
            ])
        }
        Loader::Unknown(reason) => Err(refusal(reason, &options)),
    }
}

/// Returns the step before each restart, which selects the entry for one boot.
#[must_use]
pub fn before_restart(job: &Job, capabilities: &Capabilities) -> Option<Step> {
    if job.loader == LoaderChoice::Manual {
        return None;
    }
    match &capabilities.loader {
        Loader::SystemdBoot { .. } => {
            Some(Step::OneShot { path: variable_path("LoaderEntryOneShot"), entry: LOADER_ENTRY.to_owned() })
        }
        Loader::Grub(grub) => Some(Step::Command {
            what: "selects that entry for the next boot only".to_owned(),
            line: Some(vec![grub.reboot.clone(), grub.entry_name().to_owned()]),
            undo: None,
        }),
        Loader::Unknown(_) => None,
    }
}

/// Returns the contents of an entry file with our title and additional options.
fn entry_contents(text: &str, options: &str) -> String {
    let mut entry = String::from("title onoff record\n");
    for line in text.lines() {
        match line.split_whitespace().next().unwrap_or_default() {
            "title" | "version" => {}
            // Entries with a sort key come before entries without one: keep the key, but sort last.
            "sort-key" => entry += "sort-key zzz-onoff-record\n",
            _ => {
                entry += line.trim_end();
                entry.push('\n');
            }
        }
    }
    // systemd-boot joins multiple options lines.
    entry + &format!("options {options}\n")
}

fn refusal(reason: &str, options: &str) -> Error {
    Error::Refused(format!(
        "cannot add options to the kernel command line for one boot: {reason}. Add them yourself, run this command again with \
         '--loader manual', and remove them afterwards. {INSTRUCTIONS}Options: {options}"
    ))
}

/// How to add options to the command line of every boot, by distribution.
const INSTRUCTIONS: &str = "Fedora, RHEL: sudo grubby --update-kernel=DEFAULT --args='OPTIONS', later --remove-args='OPTIONS'. \
                     Debian, Ubuntu: add them to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then sudo update-grub. \
                     SUSE: the same, then sudo grub2-mkconfig -o /boot/grub2/grub.cfg. \
                     Arch: the same, then sudo grub-mkconfig -o /boot/grub/grub.cfg. \
                     Unified kernel images: add them to /etc/kernel/cmdline, then sudo mkinitcpio -P, sudo dracut --regenerate-all --force, \
                     or sudo kernel-install add-all. ";
