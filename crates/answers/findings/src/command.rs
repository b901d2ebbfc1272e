//! Commands in advice: what a person can copy and run.
//!
//! Rules know no file: they write `FILE`, and whoever shows the findings puts the recording there.

use crate::diagnosis::Diagnosis;
use crate::shell_argument::argument;

/// Where rules write the recording.
const RECORDING: &str = " FILE";
/// How a command of ours begins in advice, in quotes.
const BEGINS: &str = "'onoff ";

/// Advice about a recording that was given by these paths; about this computer when there are none.
fn with_recording(advice: &str, paths: &str) -> String {
    let mut text = String::new();
    for (at, part) in advice.split(BEGINS).enumerate() {
        if at == 0 {
            text.push_str(part);
            continue;
        }
        text.push_str(BEGINS);
        // The command ends at its closing quote.
        let end = part.find('\'').unwrap_or(part.len());
        let (command, rest) = part.split_at(end);
        text.push_str(&command.replacen(RECORDING, paths, 1));
        text.push_str(rest);
    }
    text
}

impl Diagnosis {
    /// Puts the recording into the commands of all advice, so that they run as they are printed.
    pub fn name_recording<'p>(&mut self, paths: impl IntoIterator<Item = &'p str>) {
        let paths: String = paths.into_iter().map(|path| format!(" {}", argument(path))).collect();
        let findings = self.findings.iter_mut().map(|finding| &mut finding.advice);
        for advice in findings.chain(self.caveats.iter_mut().map(|caveat| &mut caveat.advice)) {
            *advice = with_recording(advice, &paths);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recording_goes_into_our_commands_and_nowhere_else() {
        let advice = "see 'onoff why FILE --phase X', then 'other FILE'; FILE stays";
        let named = with_recording(advice, " \"a b.etl\"");
        assert_eq!(named, "see 'onoff why \"a b.etl\" --phase X', then 'other FILE'; FILE stays");
        assert_eq!(with_recording("'onoff why FILE --phase X'", ""), "'onoff why --phase X'");
        assert_eq!(with_recording("'onoff why FILE", " a"), "'onoff why a");
    }
}
