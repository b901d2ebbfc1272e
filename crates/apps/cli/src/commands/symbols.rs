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
    /// Takes the symbol path from the arguments if present, otherwise from the environment.
    pub fn resolve(SymbolArguments { symbols: path, offline }: SymbolArguments) -> Self {
        let text = path.or_else(|| std::env::var("_NT_SYMBOL_PATH").ok());
        let mut path = SymbolPath::parse(&text.unwrap_or_default());
        if let Some(store) = default_store() {
            path = path.with_default_store(&store);
        }
        let offline_by_environment =
            std::env::var_os("ONOFF_OFFLINE").is_some_and(|value| !value.is_empty() && value != "0");
        Self { path, offline: offline || offline_by_environment }
    }
}

/// Returns the store for servers that have none in the symbol path: a folder in the system's cache directory.
fn default_store() -> Option<PathBuf> {
    let folder_from = |name: &str| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then_some(folder)
    };
    let cache_folder = if cfg!(windows) {
        folder_from("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder_from("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder_from("XDG_CACHE_HOME").or_else(|| folder_from("HOME").map(|home| home.join(".cache")))
    };
    Some(cache_folder?.join("onoff").join("symbols"))
}
