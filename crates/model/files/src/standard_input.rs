//! Reads standard input, given as the path `-`: a redirected file or a pipe.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use onoff_sources::{Error, Limits, SNIFF_LEN, reject_non_recording};

/// Name used in messages.
pub(crate) const NAME: &str = "standard input";

/// True if `path` is standard input.
#[must_use]
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of `path` for messages.
pub(crate) fn name_of(path: &Path) -> String {
    if is_standard_input(path) { NAME.to_owned() } else { path.display().to_string() }
}

pub(crate) enum StandardInput {
    /// A regular file, which can be mapped.
    File(File),
    /// The whole content of a pipe.
    Bytes(Arc<Vec<u8>>),
}

/// Content of the pipe, cached because a pipe can be read only once.
static PIPED: Mutex<Option<Arc<Vec<u8>>>> = Mutex::new(None);

/// Opens standard input. A pipe is read to its end, up to `limits`; if `is_recording`, content that cannot be a
/// recording is rejected first.
///
/// # Errors
/// Standard input is a terminal, cannot be read, has no end, or cannot be a recording.
pub(crate) fn open(limits: &Limits, is_recording: bool) -> Result<StandardInput, Error> {
    let failed = |source| Error::Read { path: NAME.into(), source };
    if io::stdin().is_terminal() {
        let advice = "standard input is a terminal; pipe a recording into it, as in 'curl URL | onoff boot -'";
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, advice)));
    }
    let mut file = handle().map_err(failed)?;
    if file.metadata().map_err(failed)?.is_file() {
        return Ok(StandardInput::File(file));
    }
    let mut piped = PIPED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = &*piped {
        return Ok(StandardInput::Bytes(Arc::clone(bytes)));
    }
    let mut bytes = Vec::new();
    (&mut file).take(SNIFF_LEN as u64).read_to_end(&mut bytes).map_err(failed)?;
    if is_recording {
        reject_non_recording(NAME, &bytes)?;
    }
    (&mut file).take(limits.unpacked_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limits.unpacked_bytes {
        let stored = bytes.len() as u64;
        return Err(Error::TooLarge { name: NAME.to_owned(), stored, limit: limits.unpacked_bytes });
    }
    let bytes = Arc::new(bytes);
    *piped = Some(Arc::clone(&bytes));
    Ok(StandardInput::Bytes(bytes))
}

/// Reads a small standard input completely, up to `limit` bytes and one more.
///
/// # Errors
/// Standard input cannot be read.
pub(crate) fn read(limit: u64) -> io::Result<Vec<u8>> {
    match open(&Limits { unpacked_bytes: limit, ..Limits::default() }, false).map_err(io::Error::other)? {
        StandardInput::File(file) => {
            let mut bytes = Vec::new();
            file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
            Ok(bytes)
        }
        StandardInput::Bytes(bytes) => Ok(bytes.to_vec()),
    }
}

/// Standard input as an owned file.
#[cfg(unix)]
fn handle() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn handle() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(not(any(unix, windows)))]
fn handle() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
