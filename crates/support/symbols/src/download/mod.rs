//! Downloads PDB files from symbol servers.
//!
//! A server is a store over HTTP: `URL/NAME/IDENTITY/NAME`, or the same file compressed as a cabinet with the last
//! letter of the name replaced by `_`, or a `file.ptr` that points to another location. A download is moved into the
//! server's store only if it is complete and has the module's identity.

mod cabinet;
mod client;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tempfile::NamedTempFile;

use crate::path::validate;
use crate::{DownloadError, SymbolError, SymbolServer, Symbols};
use client::{Client, Response};

/// Characters to percent-encode in a URL.
const ENCODE_SET: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// Called with a file name and a server URL before each request.
type Listener = Box<dyn FnMut(&str, &str)>;

/// Limits for downloads.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum size of a file, compressed or not, in bytes. Default: 2 GiB; the largest PDB files of browsers come
    /// close.
    pub max_bytes: u64,
    /// Connection timeout. Default: 10 s.
    pub connect: Duration,
    /// Timeout between two reads. Default: 30 s.
    pub idle: Duration,
    /// Timeout for a file. Default: 15 minutes.
    pub total: Duration,
    /// Maximum number of redirects per file. Default: 5.
    pub max_redirects: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 2 << 30,
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            total: Duration::from_secs(15 * 60),
            max_redirects: 5,
        }
    }
}

/// Downloads files from symbol servers.
pub struct Downloads {
    limits: Limits,
    client: Client,
    /// Unreachable servers with the reason. They are not contacted again.
    unreachable: BTreeMap<String, String>,
    listener: Listener,
}

impl Downloads {
    /// Creates a downloader. Does not connect to anything yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, client: Client::new(limits), unreachable: BTreeMap::new(), listener: Box::new(|_, _| {}) }
    }

    /// Sets a callback that gets the file name and the server URL before each request.
    #[must_use]
    pub fn with_listener(mut self, listener: impl FnMut(&str, &str) + 'static) -> Self {
        self.listener = Box::new(listener);
        self
    }

    /// Downloads the PDB from the first of `servers` that has it. `local_error` is the result of the local search.
    pub(crate) fn find(
        &mut self,
        servers: &[SymbolServer],
        name: &str,
        identity: &str,
        local_error: SymbolError,
    ) -> Result<Symbols, SymbolError> {
        let Some((name, identity)) = validate(name, identity) else { return Err(local_error) };
        let mut last_error = local_error;
        for server in servers {
            let Some(store) = &server.store else { continue };
            if self.unreachable.contains_key(&server.url) {
                continue;
            }
            (self.listener)(name, &server.url);
            match self.fetch(&server.url, store, name, identity) {
                Ok(Some(path)) => return Symbols::open(&path, identity),
                Ok(None) if matches!(last_error, SymbolError::NotFound) => last_error = SymbolError::NotOnServer,
                Ok(None) => {}
                Err(Failure::Unreachable(reason)) => {
                    self.unreachable.insert(server.url.clone(), reason);
                }
                Err(Failure::Fault(fault)) => {
                    last_error = SymbolError::Server(server.url.clone(), fault);
                }
            }
        }
        Err(last_error)
    }

    /// Returns the unreachable servers, each with the reason.
    pub(crate) fn unreachable_servers(&self) -> Vec<String> {
        let line = |(url, reason)| format!("{url}: cannot be reached: {reason}");
        self.unreachable.iter().map(line).collect()
    }

    /// Downloads a file into `store`. Returns `None` if the server does not have it.
    fn fetch(&mut self, server: &str, store: &Path, name: &str, identity: &str) -> Result<Option<PathBuf>, Failure> {
        let store_error = |error| DownloadError::CannotStore(store.to_owned(), error);
        std::fs::create_dir_all(store).map_err(store_error)?;
        let new_file = || new_file(store).map_err(store_error);
        let identity = identity.to_ascii_uppercase();
        let encoded = utf8_percent_encode(name, ENCODE_SET).to_string();
        let base = format!("{}/{encoded}/{identity}", server.trim_end_matches('/'));

        let mut file = new_file()?;
        let mut response = self.client.get(&format!("{base}/{encoded}"), file.as_file_mut())?;
        if let (Response::NotFound, Some(packed_name)) = (response, packed_name(name)) {
            let encoded = utf8_percent_encode(&packed_name, ENCODE_SET);
            let mut packed = new_file()?;
            response = self.client.get(&format!("{base}/{encoded}"), packed.as_file_mut())?;
            if response == Response::File {
                cabinet::unpack(packed.as_file_mut(), file.as_file_mut(), self.limits.max_bytes)?;
            }
        }
        if response == Response::NotFound {
            let mut pointer = new_file()?;
            let url = format!("{base}/file.ptr");
            return match self.client.get(&url, pointer.as_file_mut())? {
                Response::NotFound => Ok(None),
                Response::File => Err(DownloadError::Pointer.into()),
            };
        }
        move_to_store(file, store, name, &identity).map(Some)
    }
}

/// Creates a temporary file in the store, readable by all users because stores are often shared.
fn new_file(store: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".fetching-").tempfile_in(store)
}

/// Moves a complete file into the store if it has the right identity.
fn move_to_store(file: NamedTempFile, store: &Path, name: &str, identity: &str) -> Result<PathBuf, Failure> {
    match Symbols::open(file.path(), identity) {
        Ok(_) => {}
        Err(SymbolError::OtherBuild(_)) => return Err(DownloadError::OtherBuild.into()),
        Err(SymbolError::Damaged(_, error)) => return Err(DownloadError::NotPdb(error.to_string()).into()),
        Err(error) => return Err(DownloadError::NotPdb(error.to_string()).into()),
    }
    let store_error = |error: io::Error| DownloadError::CannotStore(store.to_owned(), error);
    let folder = store.join(name).join(identity);
    std::fs::create_dir_all(&folder).map_err(store_error)?;
    let path = folder.join(name);
    file.persist(&path).map_err(|error| store_error(error.error))?;
    Ok(path)
}

/// Returns the name of the compressed file: `driver.pd_`.
fn packed_name(name: &str) -> Option<String> {
    let (last_start, _) = name.char_indices().next_back()?;
    Some(format!("{}_", name.get(..last_start)?))
}

/// Why a download failed.
enum Failure {
    /// The server is unreachable.
    Unreachable(String),
    /// The server did not provide this file.
    Fault(DownloadError),
}

impl From<DownloadError> for Failure {
    fn from(fault: DownloadError) -> Self {
        Self::Fault(fault)
    }
}
