//! Opens files without waiting forever: a named pipe that no program writes to is an error.

use std::fs::File;
use std::io;
use std::path::Path;
#[cfg(unix)]
use std::time::Duration;

/// Time that a program has to open a named pipe for writing.
#[cfg(unix)]
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Opens a file for reading. Waits until a program opens a named pipe for writing.
///
/// # Errors
/// The file cannot be opened, or no program opened the named pipe for writing within 30 s.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_fifo(&std::fs::metadata(path)?.file_type()) {
        return open_named_pipe(path, MAX_WAIT);
    }
    File::open(path)
}

/// Opens a named pipe in another thread, because opening waits for a writer.
#[cfg(unix)]
fn open_named_pipe(path: &Path, max_wait: Duration) -> io::Result<File> {
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;
    use std::sync::mpsc;

    let (sender, receiver) = mpsc::channel();
    let name = path.to_owned();
    std::thread::Builder::new().spawn(move || {
        // If the receiver is gone, the file is closed.
        let _ = sender.send(File::open(name));
    })?;
    receiver.recv_timeout(max_wait).unwrap_or_else(|_| {
        // A writer lets the waiting thread end.
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
        let _ = OpenOptions::new().write(true).custom_flags(flags).open(path);
        let message = format!("no program opened this pipe for writing within {} s", max_wait.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    })
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{Read, Write};

    use super::*;

    fn named_pipe() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        (folder, path)
    }

    #[test]
    fn named_pipe_without_writer_is_an_error() {
        let (_folder, path) = named_pipe();
        let error = open_named_pipe(&path, Duration::from_millis(100)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "no program opened this pipe for writing within 0 s");
    }

    #[test]
    fn waits_for_a_late_writer() {
        let (_folder, path) = named_pipe();
        let writer = path.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            File::options().write(true).open(writer).unwrap().write_all(b"late").unwrap();
        });
        let mut text = String::new();
        open_file(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "late");
    }
}
