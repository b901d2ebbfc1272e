//! Where function names come from: the symbol path and whether its servers may be asked.

use std::path::PathBuf;

use onoff_symbols::SymbolPath;

use crate::arguments::symbols::SymbolArguments;

/// Where function names come from.
#[derive(Clone, Debug)]
pub struct SymbolTask {
    /// Folders, stores and servers.
    pub path: SymbolPath,
    /// Whether servers are left alone.
    pub offline: bool,
}

impl SymbolTask {
    /// From what was typed, else from the environment.
    pub fn resolve(SymbolArguments { symbols: path, offline }: SymbolArguments) -> Self {
        let text = path.or_else(|| std::env::var("_NT_SYMBOL_PATH").ok());
        let mut path = SymbolPath::parse(&text.unwrap_or_default());
        if let Some(store) = default_store() {
            path = path.with_default_store(&store);
        }
        let forbidden = std::env::var_os("ONOFF_OFFLINE").is_some_and(|value| !value.is_empty() && value != "0");
        Self { path, offline: offline || forbidden }
    }
}

/// Where a server's files are kept when its element of the path names no store: below what the system has for caches.
fn default_store() -> Option<PathBuf> {
    let folder = |name: &str| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then_some(folder)
    };
    let caches = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    };
    Some(caches?.join("onoff").join("symbols"))
}
