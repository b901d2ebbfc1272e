//! Reads standard input, given as the path `-`: a redirected file or a pipe.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use onoff_sources::{Error, Limits, SNIFF_LEN, reject_non_recording};

/// Name of standard input in messages.
pub(crate) const NAME: &str = "standard input";

/// Returns true if `path` denotes standard input.
#[must_use]
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the name of `path` for messages.
pub(crate) fn display_name(path: &Path) -> String {
    if is_standard_input(path) { NAME.to_owned() } else { path.display().to_string() }
}

pub(crate) enum StandardInput {
    /// A regular file, which can be mapped.
    File(File),
    /// The complete content of a pipe.
    Bytes(Arc<Vec<u8>>),
}

/// Content of the pipe, cached because a pipe can be read only once.
static PIPE_CONTENT: Mutex<Option<Arc<Vec<u8>>>> = Mutex::new(None);

/// Opens standard input. A pipe is read to its end, up to `limits`. If `is_recording` is set, content that cannot be a
/// recording is rejected early.
///
/// # Errors
/// Standard input is a terminal, cannot be read, has no end, or cannot be a recording.
pub(crate) fn open(limits: &Limits, is_recording: bool) -> Result<StandardInput, Error> {
    let read_error = |source| Error::Read { path: NAME.into(), source };
    if io::stdin().is_terminal() {
        let message = "standard input is a terminal; pipe a recording into it, as in 'curl URL | onoff boot -'";
        return Err(read_error(io::Error::new(io::ErrorKind::InvalidInput, message)));
    }
    let mut file = stdin_file().map_err(read_error)?;
    if file.metadata().map_err(read_error)?.is_file() {
        return Ok(StandardInput::File(file));
    }
    let mut pipe_content = PIPE_CONTENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = &*pipe_content {
        return Ok(StandardInput::Bytes(Arc::clone(bytes)));
    }
    let mut bytes = Vec::new();
    (&mut file).take(SNIFF_LEN as u64).read_to_end(&mut bytes).map_err(read_error)?;
    if is_recording {
        reject_non_recording(NAME, &bytes)?;
    }
    (&mut file).take(limits.unpacked_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(read_error)?;
    if bytes.len() as u64 > limits.unpacked_bytes {
        let stored = bytes.len() as u64;
        return Err(Error::TooLarge { name: NAME.to_owned(), stored, limit: limits.unpacked_bytes });
    }
    let bytes = Arc::new(bytes);
    *pipe_content = Some(Arc::clone(&bytes));
    Ok(StandardInput::Bytes(bytes))
}

/// Reads a small standard input, at most `limit` bytes and one more to detect excess.
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

/// Returns standard input as an owned file.
#[cfg(unix)]
fn stdin_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn stdin_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}

#[cfg(not(any(unix, windows)))]
fn stdin_file() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
