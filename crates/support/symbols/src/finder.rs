//! Searches for the PDB of a module in all folders and stores, then on the servers.

#[cfg(feature = "download")]
use crate::Downloads;
use crate::{Executable, SymbolError, SymbolPath, Symbols};

/// Finds PDB files along a symbol path.
pub struct SymbolFinder {
    path: SymbolPath,
    #[cfg(feature = "download")]
    downloads: Option<Downloads>,
}

impl SymbolFinder {
    /// Creates a finder that searches only folders and stores.
    #[must_use]
    pub const fn local(path: SymbolPath) -> Self {
        Self {
            path,
            #[cfg(feature = "download")]
            downloads: None,
        }
    }

    /// Creates a finder that also searches servers, through `downloads`.
    #[cfg(feature = "download")]
    #[must_use]
    pub const fn online(path: SymbolPath, downloads: Downloads) -> Self {
        Self { path, downloads: Some(downloads) }
    }

    /// True if the symbol path is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.path.places().is_empty() && self.path.servers().is_empty()
    }

    /// Finds the PDB `name` with `identity`; see [`Symbols::find`]. Downloads are kept in the server's store.
    ///
    /// # Errors
    /// The file was not found, or cannot be read or downloaded. The last error other than `NotFound` is returned.
    pub fn find(&mut self, name: &str, identity: &str) -> Result<Symbols, SymbolError> {
        let result = Symbols::find(&self.path, name, identity);
        #[cfg(feature = "download")]
        let result = result.or_else(|local_error| match &mut self.downloads {
            Some(downloads) => downloads.find(self.path.servers(), name, identity, local_error),
            None => Err(local_error),
        });
        result
    }

    /// Finds the Linux program or library that was mapped as `path`; see [`Executable::find`]. Does not use servers.
    ///
    /// # Errors
    /// The file was not found or cannot be read.
    pub fn find_executable(&self, path: &str) -> Result<Executable, SymbolError> {
        Executable::find(&self.path, path)
    }

    /// Returns the unreachable servers, each with the reason.
    #[must_use]
    pub fn unreachable_servers(&self) -> Vec<String> {
        #[cfg(feature = "download")]
        if let Some(downloads) = &self.downloads {
            return downloads.unreachable_servers();
        }
        Vec::new()
    }
}
