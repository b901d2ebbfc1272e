//! The symbol path, and whether its servers may be contacted.

use std::path::PathBuf;

use onoff_symbols::SymbolPath;

use crate::arguments::symbols::SymbolArguments;

#[derive(Clone, Debug)]
pub struct SymbolTask {
    /// Folders, stores and servers.
    pub path: SymbolPath,
    pub offline: bool,
}

impl SymbolTask {
    /// Uses the arguments, otherwise the environment.
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

/// The store for servers without one in the symbol path: a folder in the system's cache directory.
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
