//! The boots of one journal, compared with each other.

use onoff_compare::boot_history::{BootHistory, BootSample, TABLES, history};
use onoff_trace::RecordedBoot;

use crate::error::Error;
use crate::session::Session;

impl Session {
    /// What changed when among the last `last` boots of the recording's journals: those of one computer, which is that of the last boot.
    /// Boots without a finished start are listed and not compared.
    ///
    /// # Errors
    /// A recording that cannot be read, or is not of Linux.
    pub fn boot_history(&self, last: usize) -> Result<BootHistory, Error> {
        let mut samples = Vec::new();
        let chosen = |boots: &[RecordedBoot]| of_last_machine(boots, last).1;
        let boots = onoff_sources::each_boot(self.files(), TABLES, &chosen, &mut |boot, trace| {
            samples.push(BootSample::of(boot, trace));
        })?;
        let (of_machine, _) = of_last_machine(&boots, last);
        let host = boots.last().map_or_else(String::new, |boot| boot.host.clone());
        Ok(history(host, boots.len().saturating_sub(of_machine) as u64, samples))
    }
}

/// How many boots are of the machine of the last one, and the places of the last of them.
fn of_last_machine(boots: &[RecordedBoot], last: usize) -> (usize, Vec<usize>) {
    let Some(newest) = boots.last() else { return (0, Vec::new()) };
    let is_of_it = |boot: &RecordedBoot| match newest.machine.is_empty() {
        true => boot.host == newest.host,
        false => boot.machine == newest.machine,
    };
    let mut places: Vec<usize> = (0..boots.len()).filter(|&at| boots.get(at).is_some_and(is_of_it)).collect();
    let all = places.len();
    (all, places.split_off(all.saturating_sub(last)))
}
