//! What is read in place of a file called `-`: standard input, a file that a shell opened or a pipe.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use onoff_sources::{Error, LOOKED_AT, Limits, refuse_at_first_look};

/// What it is called in messages.
pub(crate) const NAME: &str = "standard input";

/// Whether `path` means standard input.
#[must_use]
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of what `path` leads to.
pub(crate) fn name_of(path: &Path) -> String {
    if is_standard_input(path) { NAME.to_owned() } else { path.display().to_string() }
}

/// What standard input is.
pub(crate) enum StandardInput {
    /// A regular file, which can be mapped.
    File(File),
    /// What came out of a pipe, to its end.
    Bytes(Arc<Vec<u8>>),
}

/// What came out of the pipe: it can be read once, and a question may be asked twice.
static PIPED: Mutex<Option<Arc<Vec<u8>>>> = Mutex::new(None);

/// Standard input. A pipe is read to its end, but no further than `limits`; where it should be a recording, not at all
/// if it begins as none does.
///
/// # Errors
/// It is a terminal, cannot be read, has no end, or begins as no recording does.
pub(crate) fn open(limits: &Limits, is_recording: bool) -> Result<StandardInput, Error> {
    let failed = |source| Error::Read { path: NAME.into(), source };
    if io::stdin().is_terminal() {
        let advice = "it is a terminal; send a recording into it, as in 'curl URL | onoff boot -'";
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
    (&mut file).take(LOOKED_AT as u64).read_to_end(&mut bytes).map_err(failed)?;
    if is_recording {
        refuse_at_first_look(NAME, &bytes)?;
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

/// All bytes of standard input, for what is small; at most `limit` and one more.
///
/// # Errors
/// It cannot be read.
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

/// Standard input as a file of its own.
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
