//! Compares the boots of one journal with each other.

use onoff_compare::boot_history::{BootHistory, BootSample, TABLES, history};
use onoff_trace::RecordedBoot;

use crate::error::Error;
use crate::session::Session;

impl Session {
    /// Finds changes among the last `last` boots in the recording's journals. Only boots of the computer of the newest
    /// boot count. Boots that did not complete are listed but not compared.
    ///
    /// # Errors
    /// The recording is unreadable, or not from Linux.
    pub fn boot_history(&self, last: usize) -> Result<BootHistory, Error> {
        let mut samples = Vec::new();
        let chosen = |boots: &[RecordedBoot]| boots_of_newest_machine(boots, last).1;
        let boots = onoff_sources::each_boot(self.files(), TABLES, &chosen, &mut |boot, trace| {
            samples.push(BootSample::from_trace(boot, trace));
        })?;
        let (same_machine, _) = boots_of_newest_machine(&boots, last);
        let host = boots.last().map_or_else(String::new, |boot| boot.host.clone());
        Ok(history(host, boots.len().saturating_sub(same_machine) as u64, samples))
    }
}

/// Returns the number of boots of the newest boot's machine, and the indexes of the last `last` of them.
fn boots_of_newest_machine(boots: &[RecordedBoot], last: usize) -> (usize, Vec<usize>) {
    let Some(newest) = boots.last() else { return (0, Vec::new()) };
    let is_same_machine = |boot: &RecordedBoot| match newest.machine.is_empty() {
        true => boot.host == newest.host,
        false => boot.machine == newest.machine,
    };
    let mut indexes: Vec<usize> =
        (0..boots.len()).filter(|&index| boots.get(index).is_some_and(is_same_machine)).collect();
    let count = indexes.len();
    (count, indexes.split_off(count.saturating_sub(last)))
}
