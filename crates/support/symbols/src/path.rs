//! Where symbols lie: `_NT_SYMBOL_PATH`.
//!
//! Source of the grammar: Microsoft's documentation of the debuggers, "Symbol path for Windows debuggers". Elements stand
//! between semicolons. `srv*A*B*URL` names stores from the nearest to the farthest, the last of which may be a server;
//! `cache*A` a store in which lies what elements to its right fetch; anything else is a folder.

use std::path::{Component, Path, PathBuf};

/// Characters of a PDB's identity, at most: the GUID's 32 and the age's 8.
const MAX_IDENTITY_LEN: usize = 40;

/// One place of a symbol path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolPlace {
    /// A folder: the file lies in it, or in `symbols/EXTENSION` below it, or as in a store.
    Folder(PathBuf),
    /// A symbol store: the file lies in `NAME/IDENTITY/NAME`.
    Store(PathBuf),
}

/// A symbol server of a symbol path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolServer {
    /// Its address, as written.
    pub url: String,
    /// The store that keeps what is fetched from it: the nearest of its own element, else that of the last `cache*` before.
    pub store: Option<PathBuf>,
}

/// The places of a symbol path, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolPath {
    places: Vec<SymbolPlace>,
    servers: Vec<SymbolServer>,
}

impl SymbolPath {
    /// Reads a symbol path.
    ///
    /// ```
    /// use onoff_symbols::SymbolPath;
    /// let path = SymbolPath::parse(r"C:\mine;srv*C:\cache*https://msdl.microsoft.com/download/symbols");
    /// assert_eq!(path.places().len(), 2);
    /// let server = &path.servers()[0];
    /// assert_eq!(server.url, "https://msdl.microsoft.com/download/symbols");
    /// assert_eq!(server.store.as_deref(), Some(std::path::Path::new(r"C:\cache")));
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut path = Self::default();
        let mut cache: Option<PathBuf> = None;
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
            let mut nearest: Option<PathBuf> = None;
            for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
                if part.contains("://") {
                    path.servers
                        .push(SymbolServer { url: part.to_owned(), store: nearest.clone().or_else(|| cache.clone()) });
                } else {
                    nearest.get_or_insert_with(|| part.into());
                    path.places.push(SymbolPlace::Store(part.into()));
                }
            }
            if first.eq_ignore_ascii_case("cache") {
                cache = nearest.or(cache);
            }
        }
        path
    }

    /// With `store` for what is fetched from servers whose elements name none; looked into like any other, last.
    #[must_use]
    pub fn with_default_store(mut self, store: &Path) -> Self {
        let mut is_used = false;
        for server in &mut self.servers {
            if server.store.is_none() {
                server.store = Some(store.to_owned());
                is_used = true;
            }
        }
        if is_used {
            self.places.push(SymbolPlace::Store(store.to_owned()));
        }
        self
    }

    /// The folders and stores.
    #[must_use]
    pub fn places(&self) -> &[SymbolPlace] {
        &self.places
    }

    /// The servers.
    #[must_use]
    pub fn servers(&self) -> &[SymbolServer] {
        &self.servers
    }

    /// Where the PDB called `name` with identity `identity` may lie, best first: in spelling as recorded, then in lower
    /// case. None when either is not what such a name can be.
    #[must_use]
    pub fn candidates(&self, name: &str, identity: &str) -> Vec<PathBuf> {
        let Some((name, identity)) = checked(name, identity) else { return Vec::new() };
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

/// `name` without its folders and `identity`, where both are what they can be.
pub(crate) fn checked<'a>(name: &'a str, identity: &'a str) -> Option<(&'a str, &'a str)> {
    let is_identity =
        (1..=MAX_IDENTITY_LEN).contains(&identity.len()) && identity.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((plain_name(name)?, identity)).filter(|_| is_identity)
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
            [SymbolPlace::Folder("a".into()), store("near"), store("far"), store("c"), store("d")]
        );
        let server =
            |url: &str, store: Option<&str>| SymbolServer { url: url.to_owned(), store: store.map(PathBuf::from) };
        assert_eq!(path.servers(), [server("https://x/y", Some("near"))]);
        assert_eq!(SymbolPath::parse("").places(), []);

        // A store of its own comes before a cache, and a cache is for what stands right of it.
        let path = SymbolPath::parse("srv*https://a;cache*c;srv*https://b;srv*d*e*https://f");
        assert_eq!(
            path.servers(),
            [server("https://a", None), server("https://b", Some("c")), server("https://f", Some("d"))]
        );
        let path = path.with_default_store(Path::new("mine"));
        assert_eq!(path.servers()[0], server("https://a", Some("mine")));
        assert_eq!(path.places().last(), Some(&store("mine")));
        let path = SymbolPath::parse("srv*d*https://f").with_default_store(Path::new("mine"));
        assert_eq!(path.places(), [store("d")]);
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
