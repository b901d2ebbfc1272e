//! Commands in advice that a user can copy and run. Rules write `FILE`, and whatever prints the findings inserts the
//! recording.

use crate::diagnosis::Diagnosis;
use crate::shell_argument::quote_argument;

/// Placeholder for the recording.
const RECORDING: &str = " FILE";
/// Start of a quoted onoff command.
const COMMAND_START: &str = "'onoff ";

/// Replaces the placeholder with `paths`; without paths, the command is about the local computer.
fn with_recording(advice: &str, paths: &str) -> String {
    let mut text = String::new();
    for (index, part) in advice.split(COMMAND_START).enumerate() {
        if index == 0 {
            text.push_str(part);
            continue;
        }
        text.push_str(COMMAND_START);
        // A closing quote ends the command.
        let end = part.find('\'').unwrap_or(part.len());
        let (command, remaining_text) = part.split_at(end);
        text.push_str(&command.replacen(RECORDING, paths, 1));
        text.push_str(remaining_text);
    }
    text
}

impl Diagnosis {
    /// Inserts the recording into the commands of all advice.
    pub fn insert_recording_paths<'p>(&mut self, paths: impl IntoIterator<Item = &'p str>) {
        let paths: String = paths.into_iter().map(|path| format!(" {}", quote_argument(path))).collect();
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
    fn inserts_recording_only_into_onoff_commands() {
        let advice = "see 'onoff why FILE --phase X', then 'other FILE'; FILE stays";
        let inserted = with_recording(advice, " \"a b.etl\"");
        assert_eq!(inserted, "see 'onoff why \"a b.etl\" --phase X', then 'other FILE'; FILE stays");
        assert_eq!(with_recording("'onoff why FILE --phase X'", ""), "'onoff why --phase X'");
        assert_eq!(with_recording("'onoff why FILE", " a"), "'onoff why a");
    }
}
