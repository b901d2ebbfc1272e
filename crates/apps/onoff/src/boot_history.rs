//! Compares the boots of one journal or of one set of event logs, or the sleeps of one journal, with each other.

use onoff_compare::boot_history::{BootHistory, BootSample, TABLES, boot_history};
use onoff_compare::sleep_history::{self, BootSleeps, SleepHistory};
use onoff_sources::RecordingKind;
use onoff_trace::{RecordedBoot, SystemKind};

use crate::error::Error;
use crate::session::Session;

impl Session {
    /// Finds changes among the last `count` boots in the recording's journals or event logs. Only boots of the machine with the
    /// newest boot are included. Boots that did not complete are listed but not compared.
    ///
    /// # Errors
    /// The recording is unreadable, or of a kind with a single boot.
    pub fn boot_history(&self, count: usize) -> Result<BootHistory, Error> {
        let mut samples = Vec::new();
        let select_boots = |boots: &[RecordedBoot]| boots_of_newest_machine(boots, count).1;
        let boots = onoff_sources::read_each_boot(self.files(), TABLES, &select_boots, &mut |boot, trace| {
            samples.push(BootSample::from_trace(boot, trace));
        })?;
        let (total, _) = boots_of_newest_machine(&boots, count);
        let host = newest_boot(&boots).map_or_else(String::new, |boot| boot.host.clone());
        let system = match self.files().kind() {
            RecordingKind::WindowsEventLogs => SystemKind::Windows,
            _ => SystemKind::Linux,
        };
        Ok(boot_history((host, system), boots.len().saturating_sub(total) as u64, samples))
    }

    /// Lists the last `count` sleeps in the recording's journals, and finds changes among them. Only boots of the machine
    /// with the newest boot are included. A kernel log counts as one boot.
    ///
    /// # Errors
    /// The recording is unreadable, or not from Linux.
    pub fn sleep_history(&self, count: usize) -> Result<SleepHistory, Error> {
        let mut samples = Vec::new();
        let select_boots = |boots: &[RecordedBoot]| boots_of_newest_machine(boots, MAX_BOOTS).1;
        let boots =
            onoff_sources::read_each_boot(self.files(), sleep_history::TABLES, &select_boots, &mut |boot, trace| {
                samples.push(BootSleeps::from_trace(boot, trace));
            })?;
        if boots.is_empty() {
            samples.push(BootSleeps::from_trace(&RecordedBoot::default(), &*self.tables(sleep_history::TABLES)?));
        }
        let (total, _) = boots_of_newest_machine(&boots, MAX_BOOTS);
        let host = newest_boot(&boots).map_or_else(String::new, |boot| boot.host.clone());
        Ok(sleep_history::sleep_history(host, boots.len().saturating_sub(total) as u64, samples, count))
    }
}

/// Maximum number of boots that are searched for sleeps, most recent first.
const MAX_BOOTS: usize = 1_000;

/// Returns the newest boot. Boots in text logs beside journals have no machine, and their less precise times are not
/// comparable: they count only if there are no others.
fn newest_boot(boots: &[RecordedBoot]) -> Option<&RecordedBoot> {
    boots.iter().rfind(|boot| !boot.machine.is_empty()).or(boots.last())
}

/// Returns the number of boots of the machine with the newest boot, and the indexes of the last `count` boots.
fn boots_of_newest_machine(boots: &[RecordedBoot], count: usize) -> (usize, Vec<usize>) {
    let Some(newest) = newest_boot(boots) else { return (0, Vec::new()) };
    let is_same_machine = |boot: &RecordedBoot| match newest.machine.is_empty() {
        true => boot.host == newest.host,
        false => boot.machine == newest.machine,
    };
    let mut indexes: Vec<usize> =
        (0..boots.len()).filter(|&index| boots.get(index).is_some_and(is_same_machine)).collect();
    let total = indexes.len();
    (total, indexes.split_off(total.saturating_sub(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_leave_out_other_machines_and_texts_beside_journals() {
        let boots = |machines_and_hosts: &[(&str, &str)]| -> Vec<RecordedBoot> {
            let boot = |&(machine, host): &(&str, &str)| RecordedBoot {
                machine: machine.to_owned(),
                host: host.to_owned(),
                ..RecordedBoot::default()
            };
            machines_and_hosts.iter().map(boot).collect()
        };
        let with_texts = boots(&[("", "b"), ("1", "a"), ("2", "b"), ("2", "b"), ("", "a")]);
        assert_eq!(boots_of_newest_machine(&with_texts, 9), (2, vec![2, 3]));
        assert_eq!(newest_boot(&with_texts).map(|boot| boot.host.as_str()), Some("b"));
        // Without journals, the host decides.
        let texts = boots(&[("", "a"), ("", "b"), ("", "a")]);
        assert_eq!(boots_of_newest_machine(&texts, 1), (2, vec![2]));
    }
}
