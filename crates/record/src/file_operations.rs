//! The file operations of one command, by `strace` on Linux.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// The calls that open, move, copy and use files; what is not among them costs the command less.
const CALLS: &str = "trace=read,write,readv,writev,pread64,pwrite64,preadv,pwritev,preadv2,pwritev2,sendfile,\
                     copy_file_range,splice,tee,open,openat,openat2,creat,close,lseek,dup,dup2,dup3,fcntl,fsync,fdatasync,\
                     sync_file_range,ftruncate,fstat,newfstatat,statx,mmap,clone,clone3,fork,vfork,execve,execveat,\
                     io_uring_enter,io_submit";

/// Runs `command` with its own input and output, and records the file operations of it and its children into `recording`.
///
/// # Errors
/// `strace` cannot be started, or `command` is empty.
pub fn record_command(command: &[OsString], recording: &Path) -> io::Result<ExitStatus> {
    if command.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no command"));
    }
    // A question mark before a name that this system does not have would be an error of strace without it.
    let calls = CALLS.replace(' ', "").replace('=', "=?").replace(',', ",?");
    let mut strace = Command::new("strace");
    // All threads and children, the time of each call in seconds since 1970, its duration, and the paths of descriptors.
    strace.args(["-f", "-ttt", "-T", "-y", "-s", "0", "-e", &calls, "-o"]).arg(recording).arg("--").args(command);
    strace.status()
}
