//! Standard opcodes and levels shared by all providers (`winmeta.xml`).

/// Number, name shown by Windows, name in manifests.
const OPCODES: [(u8, &str, &str); 11] = [
    (0, "Info", "win:Info"),
    (1, "Start", "win:Start"),
    (2, "Stop", "win:Stop"),
    (3, "DC_Start", "win:DC_Start"),
    (4, "DC_Stop", "win:DC_Stop"),
    (5, "Extension", "win:Extension"),
    (6, "Reply", "win:Reply"),
    (7, "Resume", "win:Resume"),
    (8, "Suspend", "win:Suspend"),
    (9, "Send", "win:Send"),
    (240, "Receive", "win:Receive"),
];

/// Name shown by Windows and name in manifests, by number.
const LEVELS: [(&str, &str); 6] = [
    ("Always", "win:LogAlways"),
    ("Critical", "win:Critical"),
    ("Error", "win:Error"),
    ("Warning", "win:Warning"),
    ("Information", "win:Informational"),
    ("Verbose", "win:Verbose"),
];

/// Returns the name of a standard opcode; `None` for opcodes defined by a provider.
#[must_use]
pub fn opcode_name(opcode: u8) -> Option<&'static str> {
    OPCODES.iter().find(|(number, ..)| *number == opcode).map(|(_, name, _)| *name)
}

/// Returns the name of a standard level; `None` for levels defined by a provider.
#[must_use]
pub fn level_name(level: u8) -> Option<&'static str> {
    LEVELS.get(usize::from(level)).map(|(name, _)| *name)
}

/// Returns the number and name of the opcode with the manifest name `name` (`win:…`).
pub(crate) fn opcode_from_manifest_name(name: &str) -> Option<(u8, &'static str)> {
    OPCODES.iter().find(|(.., manifest)| *manifest == name).map(|(number, name, _)| (*number, *name))
}

/// Returns the number of the level with the manifest name `name` (`win:…`).
pub(crate) fn level_from_manifest_name(name: &str) -> Option<u8> {
    (0..).zip(LEVELS).find(|(_, (_, manifest))| *manifest == name).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_by_number_and_by_manifest_name() {
        assert_eq!(opcode_name(2), Some("Stop"));
        assert_eq!(opcode_name(10), None);
        assert_eq!(opcode_from_manifest_name("win:Receive"), Some((240, "Receive")));
        assert_eq!(level_from_manifest_name("win:Warning"), Some(3));
        assert_eq!(level_name(3), Some("Warning"));
    }
}
