//! Parses symbol paths (`_NT_SYMBOL_PATH`).
//!
//! The grammar is in Microsoft's "Symbol path for Windows debuggers". Elements are separated by semicolons.
//! `srv*A*B*URL` lists stores from the nearest to the farthest, and the last may be a server; `cache*A` is the store
//! for downloads of the elements to its right; anything else is a folder.

use std::path::{Component, Path, PathBuf};

/// Maximum length of a PDB identity: 32 characters for the GUID and 8 for the age.
const MAX_IDENTITY_LEN: usize = 40;

/// A local element of a symbol path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolPlace {
    /// A folder: files are in it, in `symbols/EXTENSION` below it, or arranged as in a store.
    Folder(PathBuf),
    /// A symbol store: files are at `NAME/IDENTITY/NAME`.
    Store(PathBuf),
}

/// A symbol server of a symbol path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolServer {
    /// URL as written.
    pub url: String,
    /// The store for downloads: the nearest in the same element, otherwise the store of the preceding `cache*`
    /// element.
    pub store: Option<PathBuf>,
}

/// A parsed symbol path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolPath {
    places: Vec<SymbolPlace>,
    servers: Vec<SymbolServer>,
}

impl SymbolPath {
    /// Parses a symbol path.
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
        for element in text.split(';').map(str::trim).filter(|element| !element.is_empty()) {
            let mut parts = element.split('*');
            let keyword = parts.next().unwrap_or_default();
            if !element.contains('*') {
                path.places.push(SymbolPlace::Folder(keyword.into()));
                continue;
            }
            // `symsrv*symsrv.dll*…` is a longer form of `srv*…`.
            if keyword.eq_ignore_ascii_case("symsrv") {
                parts.next();
            }
            let mut nearest_store: Option<PathBuf> = None;
            for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
                if part.contains("://") {
                    path.servers.push(SymbolServer {
                        url: part.to_owned(),
                        store: nearest_store.clone().or_else(|| cache.clone()),
                    });
                } else {
                    nearest_store.get_or_insert_with(|| part.into());
                    path.places.push(SymbolPlace::Store(part.into()));
                }
            }
            if keyword.eq_ignore_ascii_case("cache") {
                cache = nearest_store.or(cache);
            }
        }
        path
    }

    /// Adds `store` for downloads from servers without a store. It is searched last.
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

    /// Folders and stores, in order.
    #[must_use]
    pub fn places(&self) -> &[SymbolPlace] {
        &self.places
    }

    /// Servers, in order.
    #[must_use]
    pub fn servers(&self) -> &[SymbolServer] {
        &self.servers
    }

    /// Returns possible paths of the PDB `name` with `identity`, best first: as spelled in the recording, then in lower
    /// case. Empty if either is invalid.
    #[must_use]
    pub fn candidates(&self, name: &str, identity: &str) -> Vec<PathBuf> {
        let Some((name, identity)) = validate(name, identity) else { return Vec::new() };
        let mut candidates = Vec::new();
        let mut add = |path: PathBuf| {
            if !candidates.contains(&path) {
                candidates.push(path);
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
                    for extension in ["sys", "exe", "dll"] {
                        add(folder.join("symbols").join(extension).join(name));
                    }
                }
                add(folder.join(name).join(identity).join(name));
            }
        }
        candidates
    }
}

/// Returns `name` without its folders, and `identity`, if both are valid.
pub(crate) fn validate<'a>(name: &'a str, identity: &'a str) -> Option<(&'a str, &'a str)> {
    let is_identity =
        (1..=MAX_IDENTITY_LEN).contains(&identity.len()) && identity.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((plain_name(name)?, identity)).filter(|_| is_identity)
}

/// Returns the file name of a recorded path if it is valid: it has no separators, no drive and is not `..`.
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
    fn parses_folders_stores_and_servers() {
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

        // A store in the same element takes precedence over a cache, and a cache applies to elements to its right.
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
    fn candidates_use_name_and_identity() {
        let path = SymbolPath::parse("f;srv*s");
        let candidates = path.candidates(r"d:\build\Driver.pdb", "AB1");
        assert_eq!(candidates.first(), Some(&PathBuf::from("f/Driver.pdb")));
        for expected in [
            "f/symbols/sys/Driver.pdb",
            "f/Driver.pdb/AB1/Driver.pdb",
            "s/Driver.pdb/AB1/Driver.pdb",
            "s/driver.pdb/ab1/driver.pdb",
        ] {
            assert!(candidates.contains(&PathBuf::from(expected)), "{expected}");
        }
        assert!(!candidates.contains(&PathBuf::from("s/Driver.pdb")));
    }

    #[test]
    fn recorded_names_cannot_leave_the_folder() {
        let path = SymbolPath::parse("f");
        for name in ["", "..", "a/..", r"a\..", "c:x", "."] {
            assert!(path.candidates(name, "AB1").is_empty(), "{name}");
        }
        for identity in ["", "..", "AB/1"] {
            assert!(path.candidates("a.pdb", identity).is_empty(), "{identity}");
        }
    }
}
