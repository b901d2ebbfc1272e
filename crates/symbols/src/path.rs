//! Where symbols lie: `_NT_SYMBOL_PATH`.
//!
//! Source of the grammar: Microsoft's documentation of the debuggers, "Symbol path for Windows debuggers". Elements stand
//! between semicolons. `srv*A*B*URL` names stores from the nearest to the farthest; `cache*A` a store; anything else a
//! folder.

use std::path::{Component, Path, PathBuf};

/// One place of a symbol path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolPlace {
    /// A folder: the file lies in it, or in `symbols/EXTENSION` below it, or as in a store.
    Folder(PathBuf),
    /// A symbol store: the file lies in `NAME/IDENTITY/NAME`.
    Store(PathBuf),
}

/// The places of a symbol path, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolPath {
    places: Vec<SymbolPlace>,
    servers: Vec<String>,
}

impl SymbolPath {
    /// Reads a symbol path.
    ///
    /// ```
    /// use onoff_symbols::SymbolPath;
    /// let path = SymbolPath::parse(r"C:\mine;srv*C:\cache*https://msdl.microsoft.com/download/symbols");
    /// assert_eq!(path.places().len(), 2);
    /// assert_eq!(path.servers(), ["https://msdl.microsoft.com/download/symbols"]);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut path = Self::default();
        for element in text.split(';').map(str::trim).filter(|it| !it.is_empty()) {
            let mut parts = element.split('*');
            let first = parts.next().unwrap_or_default();
            if !element.contains('*') {
                path.places.push(SymbolPlace::Folder(first.into()));
                continue;
            }
            // `symsrv*symsrv.dll*…` names the library that does what `srv*…` means.
            if first.eq_ignore_ascii_case("symsrv") {
                parts.next();
            }
            for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
                if part.contains("://") {
                    path.servers.push(part.to_owned());
                } else {
                    path.places.push(SymbolPlace::Store(part.into()));
                }
            }
        }
        path
    }

    /// The folders and stores.
    #[must_use]
    pub fn places(&self) -> &[SymbolPlace] {
        &self.places
    }

    /// The servers, from which nothing is downloaded.
    #[must_use]
    pub fn servers(&self) -> &[String] {
        &self.servers
    }

    /// Where the PDB called `name` with identity `identity` may lie, best first: in spelling as recorded, then in lower
    /// case. None when either is not what such a name can be.
    #[must_use]
    pub fn candidates(&self, name: &str, identity: &str) -> Vec<PathBuf> {
        let Some(name) = plain_name(name) else {
            return Vec::new();
        };
        if identity.is_empty() || !identity.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut add = |path: PathBuf| {
            if !found.contains(&path) {
                found.push(path);
            }
        };
        let spellings = [
            (name.to_owned(), identity.to_ascii_uppercase()),
            (name.to_owned(), identity.to_ascii_lowercase()),
            (name.to_lowercase(), identity.to_ascii_uppercase()),
            (name.to_lowercase(), identity.to_ascii_lowercase()),
        ];
        for place in &self.places {
            let (SymbolPlace::Folder(folder) | SymbolPlace::Store(folder)) = place;
            for (name, identity) in &spellings {
                if matches!(place, SymbolPlace::Folder(_)) {
                    add(folder.join(name));
                    for below in ["sys", "exe", "dll"] {
                        add(folder.join("symbols").join(below).join(name));
                    }
                }
                add(folder.join(name).join(identity).join(name));
            }
        }
        found
    }
}

/// The file name of a path as recorded, where it is one: no separators, no drive, not `..`.
fn plain_name(name: &str) -> Option<&str> {
    let name = name.rsplit(['\\', '/']).next()?;
    let mut components = Path::new(name).components();
    let is_plain = matches!(components.next(), Some(Component::Normal(_)))
        && components.next().is_none()
        && !name.contains([':', '\0']);
    is_plain.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_path_is_folders_stores_and_servers() {
        let path = SymbolPath::parse("a;;SRV*near*far*https://x/y; cache*c ;symsrv*symsrv.dll*d");
        let store = |name: &str| SymbolPlace::Store(name.into());
        assert_eq!(
            path.places(),
            [
                SymbolPlace::Folder("a".into()),
                store("near"),
                store("far"),
                store("c"),
                store("d")
            ]
        );
        assert_eq!(path.servers(), ["https://x/y"]);
        assert_eq!(SymbolPath::parse("").places(), []);
    }

    #[test]
    fn files_are_looked_for_by_name_and_identity() {
        let path = SymbolPath::parse("f;srv*s");
        let found = path.candidates(r"d:\build\Driver.pdb", "AB1");
        assert_eq!(found.first(), Some(&PathBuf::from("f/Driver.pdb")));
        for expected in [
            "f/symbols/sys/Driver.pdb",
            "f/Driver.pdb/AB1/Driver.pdb",
            "s/Driver.pdb/AB1/Driver.pdb",
            "s/driver.pdb/ab1/driver.pdb",
        ] {
            assert!(found.contains(&PathBuf::from(expected)), "{expected}");
        }
        assert!(!found.contains(&PathBuf::from("s/Driver.pdb")));
    }

    #[test]
    fn what_a_recording_says_cannot_leave_the_place() {
        let path = SymbolPath::parse("f");
        for name in ["", "..", "a/..", r"a\..", "c:x", "."] {
            assert!(path.candidates(name, "AB1").is_empty(), "{name}");
        }
        for identity in ["", "..", "AB/1"] {
            assert!(path.candidates("a.pdb", identity).is_empty(), "{identity}");
        }
    }
}
