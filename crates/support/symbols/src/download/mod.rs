//! PDB files from symbol servers.
//!
//! A server is a store over HTTP: `URL/NAME/IDENTITY/NAME`, or the same packed as a cabinet with the name's last letter as
//! `_`, or a `file.ptr` that names another place. What comes is held against the identity and moved into the server's
//! store only when it is whole and of the module's build.

mod cabinet;
mod client;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tempfile::NamedTempFile;

use crate::path::checked;
use crate::{Fault, Refusal, SymbolServer, Symbols};
use client::{Answer, Client};

/// What a name is sent as, but for these.
const AS_IT_IS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

/// Is told a file's name and its server.
type Listener = Box<dyn FnMut(&str, &str)>;

/// What is taken from a server at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a file, packed and unpacked: 2 GiB (the largest PDB files of browsers come close).
    pub most_bytes: u64,
    /// Time until a server is connected to: 10 s.
    pub connect: Duration,
    /// Time without a byte: 30 s.
    pub silence: Duration,
    /// Time for one file: 15 minutes.
    pub whole: Duration,
    /// Redirections for one file: 5.
    pub redirections: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            most_bytes: 2 << 30,
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            whole: Duration::from_secs(15 * 60),
            redirections: 5,
        }
    }
}

/// Asks symbol servers.
pub struct Downloads {
    limits: Limits,
    client: Client,
    /// Servers that could not be reached, with the reason: they are not asked again.
    silent: BTreeMap<String, String>,
    /// Told of each file before it is asked for: its name and the server.
    listener: Listener,
}

impl Downloads {
    /// With these limits. Nothing is sent yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, client: Client::new(limits), silent: BTreeMap::new(), listener: Box::new(|_, _| {}) }
    }

    /// With someone who is told of each file (name, server) before it is asked for.
    #[must_use]
    pub fn with_listener(mut self, listener: impl FnMut(&str, &str) + 'static) -> Self {
        self.listener = Box::new(listener);
        self
    }

    /// The PDB from the first of `servers` that has it; `refusal` is why no place had it.
    pub(crate) fn find(
        &mut self,
        servers: &[SymbolServer],
        name: &str,
        identity: &str,
        refusal: Refusal,
    ) -> Result<Symbols, Refusal> {
        let Some((name, identity)) = checked(name, identity) else { return Err(refusal) };
        let mut refusal = refusal;
        for server in servers {
            let Some(store) = &server.store else { continue };
            if self.silent.contains_key(&server.url) {
                continue;
            }
            (self.listener)(name, &server.url);
            match self.fetch(&server.url, store, name, identity) {
                Ok(Some(path)) => return Symbols::open(&path, identity),
                Ok(None) if matches!(refusal, Refusal::NotFound) => refusal = Refusal::NotServed,
                Ok(None) => {}
                Err(Failure::Silent(reason)) => {
                    self.silent.insert(server.url.clone(), reason);
                }
                Err(Failure::Fault(fault)) => {
                    refusal = Refusal::Server(server.url.clone(), fault);
                }
            }
        }
        Err(refusal)
    }

    /// Servers that could not be reached, with the reason.
    pub(crate) fn unreachable_servers(&self) -> Vec<String> {
        let line = |(url, reason)| format!("{url}: cannot be reached: {reason}");
        self.silent.iter().map(line).collect()
    }

    /// Fetches a file into `store`; `None` when the server has none.
    fn fetch(&mut self, server: &str, store: &Path, name: &str, identity: &str) -> Result<Option<PathBuf>, Failure> {
        let unkept = |error| Fault::Unkept(store.to_owned(), error);
        std::fs::create_dir_all(store).map_err(unkept)?;
        let new_file = || new_file(store).map_err(unkept);
        let identity = identity.to_ascii_uppercase();
        let encoded = utf8_percent_encode(name, AS_IT_IS).to_string();
        let base = format!("{}/{encoded}/{identity}", server.trim_end_matches('/'));

        let mut file = new_file()?;
        let mut answer = self.client.get(&format!("{base}/{encoded}"), file.as_file_mut())?;
        if let (Answer::NotThere, Some(packed_name)) = (answer, packed(name)) {
            let encoded = utf8_percent_encode(&packed_name, AS_IT_IS);
            let mut packed = new_file()?;
            answer = self.client.get(&format!("{base}/{encoded}"), packed.as_file_mut())?;
            if answer == Answer::File {
                cabinet::unpack(packed.as_file_mut(), file.as_file_mut(), self.limits.most_bytes)?;
            }
        }
        if answer == Answer::NotThere {
            let mut pointer = new_file()?;
            let url = format!("{base}/file.ptr");
            return match self.client.get(&url, pointer.as_file_mut())? {
                Answer::NotThere => Ok(None),
                Answer::File => Err(Fault::Pointer.into()),
            };
        }
        keep(file, store, name, &identity).map(Some)
    }
}

/// A file beside where it will lie, gone when it is not kept. Others may read it, as a store is often shared.
fn new_file(store: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(".fetching-").tempfile_in(store)
}

/// Moves a whole file of the right build to where a store has it.
fn keep(file: NamedTempFile, store: &Path, name: &str, identity: &str) -> Result<PathBuf, Failure> {
    match Symbols::open(file.path(), identity) {
        Ok(_) => {}
        Err(Refusal::OtherBuild(_)) => return Err(Fault::OtherBuild.into()),
        Err(Refusal::Damaged(_, error)) => return Err(Fault::NotPdb(error.to_string()).into()),
        Err(other) => return Err(Fault::NotPdb(other.to_string()).into()),
    }
    let unkept = |error: io::Error| Fault::Unkept(store.to_owned(), error);
    let folder = store.join(name).join(identity);
    std::fs::create_dir_all(&folder).map_err(unkept)?;
    let path = folder.join(name);
    file.persist(&path).map_err(|error| unkept(error.error))?;
    Ok(path)
}

/// The name of the packed form: `driver.pd_`.
fn packed(name: &str) -> Option<String> {
    let (last, _) = name.char_indices().next_back()?;
    Some(format!("{}_", name.get(..last)?))
}

/// Why nothing came.
enum Failure {
    /// The server cannot be reached: it need not be asked again.
    Silent(String),
    /// This file cannot be had from it.
    Fault(Fault),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}
