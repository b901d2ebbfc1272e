//! The search for a module's PDB: every folder and store, then the servers.

#[cfg(feature = "download")]
use crate::Downloads;
use crate::{Executable, Refusal, SymbolPath, Symbols};

/// Finds PDB files along a symbol path.
pub struct SymbolFinder {
    path: SymbolPath,
    #[cfg(feature = "download")]
    downloads: Option<Downloads>,
}

impl SymbolFinder {
    /// Of folders and stores only.
    #[must_use]
    pub const fn local(path: SymbolPath) -> Self {
        Self {
            path,
            #[cfg(feature = "download")]
            downloads: None,
        }
    }

    /// Also of servers, asked through `downloads`.
    #[cfg(feature = "download")]
    #[must_use]
    pub const fn online(path: SymbolPath, downloads: Downloads) -> Self {
        Self { path, downloads: Some(downloads) }
    }

    /// Whether there is anywhere to look.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.path.places().is_empty() && self.path.servers().is_empty()
    }

    /// The PDB `name` with `identity`, see [`Symbols::find`]. What a server sends is kept in its store, so that it is sent
    /// once.
    ///
    /// # Errors
    /// There is none, or it cannot be had; of several faults, the one that says most.
    pub fn find(&mut self, name: &str, identity: &str) -> Result<Symbols, Refusal> {
        let found = Symbols::find(&self.path, name, identity);
        #[cfg(feature = "download")]
        let found = found.or_else(|refusal| match &mut self.downloads {
            Some(downloads) => downloads.find(self.path.servers(), name, identity, refusal),
            None => Err(refusal),
        });
        found
    }

    /// The program or library of Linux that was mapped as `path`, see [`Executable::find`]. Servers are not asked.
    ///
    /// # Errors
    /// There is none in the folders, or it cannot be read.
    pub fn find_executable(&self, path: &str) -> Result<Executable, Refusal> {
        Executable::find(&self.path, path)
    }

    /// Servers that could not be reached, each with the reason.
    #[must_use]
    pub fn unreachable_servers(&self) -> Vec<String> {
        #[cfg(feature = "download")]
        if let Some(downloads) = &self.downloads {
            return downloads.unreachable_servers();
        }
        Vec::new()
    }
}
