//! Pairs the begin and end of file system calls and feeds them to the parser shared with `strace`.
//!
//! The tracer records numbers and addresses. The string behind a path's address is recorded only since Linux 6.19;
//! before that, files are numbered in the order in which they were opened.

use hashbrown::HashMap;
use onoff_fileio::{SystemCall, SystemCallReader};
use onoff_ftrace::SystemCallArgument;
use onoff_trace::{TableName, counters};

use crate::assembly::Assembly;

counters! {
    WITHOUT_BEGIN = "system_calls_without_begin", Notice, [FileIos],
        "System calls that began before the recording were skipped.";
    WITHOUT_END = "system_calls_without_end", Notice, [FileIos],
        "System calls that had not returned when the recording ended were skipped.";
    OFFSET_NOT_RECORDED = "system_call_offsets_not_recorded", Notice, [FileIos],
        "File copies were skipped because their offset is behind a pointer, which the tracer does not follow.";
}

/// Maximum number of threads in a system call.
const MAX_OPEN: usize = 1 << 16;

#[derive(Debug)]
struct PendingCall {
    start_ns: i64,
    name: String,
    arguments: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct SystemCallTracker {
    calls: SystemCallReader,
    open: HashMap<u32, PendingCall>,
    /// Number of files opened without a recorded name.
    unnamed: u64,
}

impl SystemCallTracker {
    pub(super) fn on_begin(
        &mut self,
        time_ns: i64,
        (tid, task): (u32, &str),
        name: &str,
        arguments: &[SystemCallArgument<'_>],
        assembly: &mut Assembly,
    ) {
        if !assembly.wants(TableName::FileIos) || !is_file_call(name) {
            return;
        }
        if !task.is_empty() {
            assembly.processes.observe(tid, task, &mut assembly.texts);
        }
        let Some(arguments) = self.format_arguments(name, arguments, task) else {
            assembly.losses.add(&OFFSET_NOT_RECORDED, 1);
            return;
        };
        if self.open.len() < MAX_OPEN || self.open.contains_key(&tid) {
            self.open.insert(tid, PendingCall { start_ns: time_ns, name: name.to_owned(), arguments });
        }
    }

    pub(super) fn on_end(&mut self, time_ns: i64, tid: u32, name: &str, result: i64, assembly: &mut Assembly) {
        if !assembly.wants(TableName::FileIos) || !is_file_call(name) {
            return;
        }
        let Some(pending) = self.open.remove(&tid).filter(|pending| pending.name == name) else {
            // A new thread returns from a call that its parent began.
            if !matches!(name, "clone" | "clone3" | "fork" | "vfork") {
                assembly.losses.add(&WITHOUT_BEGIN, 1);
            }
            return;
        };
        let arguments: Vec<&str> = pending.arguments.iter().map(String::as_str).collect();
        let call = SystemCall {
            tid,
            start_ns: pending.start_ns,
            duration_ns: time_ns.saturating_sub(pending.start_ns).max(0),
            name,
            arguments: &arguments,
            result,
        };
        self.calls.call(&call, &mut |operation| {
            let file = assembly.texts.intern(operation.file);
            assembly.file_ios.push(onoff_file_operations::row(operation, operation.pid, file));
        });
    }

    pub(super) fn finish(self, assembly: &mut Assembly) {
        assembly.losses.add(&WITHOUT_END, self.open.len() as u64);
        for loss in self.calls.losses().iter() {
            assembly.losses.add(&onoff_file_operations::counter(loss.kind), loss.count);
        }
    }

    /// Formats the arguments as `strace` does; `None` if an offset that the call needs is not recorded.
    fn format_arguments(
        &mut self,
        name: &str,
        arguments: &[SystemCallArgument<'_>],
        task: &str,
    ) -> Option<Vec<String>> {
        let is_copy = name.starts_with("sendfile") || name == "copy_file_range";
        let control = arguments.get(1).filter(|_| name.starts_with("fcntl")).map(|argument| argument.value);
        arguments
            .iter()
            .map(|argument| {
                let SystemCallArgument { name: argument_name, value, text } = *argument;
                Some(match argument_name {
                    "filename" | "pathname" => match text {
                        Some(path) => format!("\"{path}\""),
                        // The thread is renamed to the new program.
                        None if name.starts_with("execve") => format!("\"{task}\""),
                        None => {
                            self.unnamed += 1;
                            format!("\"(opened {}, name not recorded)\"", self.unnamed)
                        }
                    },
                    "flags" | "how" | "clone_flags" => match text {
                        Some(words) => words.to_owned(),
                        None => flags(name, value),
                    },
                    "arg" if control == Some(SET_FLAGS) => flags("open", value),
                    "cmd" if name.starts_with("fcntl") => match value {
                        DUPLICATE | DUPLICATE_CLOSING => "F_DUPFD".to_owned(),
                        SET_FLAGS => "F_SETFL".to_owned(),
                        command => command.to_string(),
                    },
                    "whence" | "origin" if value == 2 => "SEEK_END".to_owned(),
                    "off_in" | "off_out" | "offset" if is_copy && value != 0 => return None,
                    // Descriptors are signed 32-bit values; offsets have 64 bits.
                    "fd" | "dfd" | "fildes" | "fd_in" | "fd_out" | "in_fd" | "out_fd" | "oldfd" | "newfd" => {
                        (value as u32).cast_signed().to_string()
                    }
                    _ => value.cast_signed().to_string(),
                })
            })
            .collect()
    }
}

/// Commands of `fcntl` (source: `include/uapi/linux/fcntl.h`, `asm-generic/fcntl.h`).
const DUPLICATE: u64 = 0;
const SET_FLAGS: u64 = 4;
const DUPLICATE_CLOSING: u64 = 1030;

/// Names the flag bits on x86 and ARM (source: the same headers, `linux/sched.h` and `asm-generic/mman-common.h`).
fn flags(call: &str, value: u64) -> String {
    let bits: &[(u64, &str)] = match call {
        "clone" => &[(0x400, "CLONE_FILES"), (0x1_0000, "CLONE_THREAD")],
        "mmap" | "mmap2" | "mmap_pgoff" => &[(0x20, "MAP_ANONYMOUS")],
        _ => &[(0x200, "O_TRUNC"), (0x400, "O_APPEND"), (0x8_0000, "O_CLOEXEC")],
    };
    let words: Vec<&str> = bits.iter().filter(|(bit, _)| value & bit != 0).map(|&(_, word)| word).collect();
    if words.is_empty() { value.to_string() } else { words.join("|") }
}

/// True for calls that open, seek, read, write or close files; all others are ignored.
fn is_file_call(name: &str) -> bool {
    matches!(
        name,
        "read"
            | "write"
            | "readv"
            | "writev"
            | "pread64"
            | "pwrite64"
            | "preadv"
            | "pwritev"
            | "preadv2"
            | "pwritev2"
            | "sendfile"
            | "sendfile64"
            | "copy_file_range"
            | "open"
            | "openat"
            | "openat2"
            | "creat"
            | "close"
            | "fsync"
            | "fdatasync"
            | "sync_file_range"
            | "lseek"
            | "dup"
            | "dup2"
            | "dup3"
            | "fcntl"
            | "clone"
            | "clone3"
            | "fork"
            | "vfork"
            | "execve"
            | "execveat"
            | "ftruncate"
            | "io_uring_enter"
            | "io_submit"
            | "splice"
            | "tee"
            | "mmap"
    )
}

#[cfg(test)]
mod tests {
    use onoff_trace::{FileOperation, TableName, TableSet, Trace};

    use onoff_input::options::Options;
    use onoff_input::unpack::Limits;
    use onoff_sources::{files_from_bytes, open_files};

    fn read(text: &str) -> Trace {
        let files = files_from_bytes([("trace.txt".to_owned(), text.as_bytes().to_vec())], &Limits::default()).unwrap();
        open_files(&files, TableSet::from_names(&[TableName::FileIos, TableName::Processes]), &Options::default())
            .unwrap()
    }

    fn lines(calls: &[&str]) -> String {
        let line = |(index, call): (usize, &&str)| {
            format!("             cat-812     [000] .....    20.{:06}: {call}\n", index * 10)
        };
        let header = "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n";
        calls.iter().enumerate().fold(header.to_owned(), |text, call| text + &line(call))
    }

    #[test]
    fn follows_small_reads_and_seeks() {
        let trace = read(&lines(&[
            "sys_openat(dfd: ffffff9c, filename: 7ffd0, flags: 80000, mode: 0)",
            "sys_openat -> 0x3",
            "sys_read(fd: 3, buf: 7ffd00, count: 4)",
            "sys_read -> 0x4",
            "sys_read(fd: 3, buf: 7ffd00, count: 4)",
            "sys_read -> 0x4",
            "sys_lseek(fd: 3, offset: 1000, whence: 0)",
            "sys_lseek -> 0x1000",
            "sys_read(fd: 3, buf: 7ffd00, count: 4)",
            "sys_read -> 0x4",
            "sys_pread64(fd: 3, buf: 7ffd00, count: 200, pos: 2000)",
            "sys_pread64 -> 0x200",
            "sys_read(fd: 3, buf: 7ffd00, count: 4)",
            "sys_read -> 0xfffffffffffffffb",
            "sys_close(fd: 3)",
            "sys_close -> 0x0",
        ]));
        let reads: Vec<_> = trace
            .file_ios
            .iter()
            .filter(|row| row.operation == FileOperation::Read)
            .map(|row| (row.offset, row.size, row.end_ns.map(|end_ns| end_ns - row.start_ns), row.status == Some(0)))
            .collect();
        let duration_ns = Some(10_000);
        assert_eq!(
            reads,
            [
                (0, 4, duration_ns, true),
                (4, 4, duration_ns, true),
                (4096, 4, duration_ns, true),
                (8192, 512, duration_ns, true),
                (4100, 0, duration_ns, false)
            ]
        );
        let files: Vec<&str> = trace.file_ios.iter().map(|row| trace.text(row.file)).collect();
        assert!(files.iter().all(|&file| file == "(opened 1, name not recorded)"), "{files:?}");
        assert!(trace.processes.iter().any(|process| process.pid == 812 && trace.text(process.image) == "cat"));
    }

    #[test]
    fn counts_calls_with_unknown_parts() {
        let trace = read(&lines(&[
            // The call began before the recording.
            "sys_read -> 0x4",
            // The descriptor was open before the recording.
            "sys_read(fd: 9, buf: 7ffd00, count: 4)",
            "sys_read -> 0x4",
            "sys_openat(dfd: ffffff9c, filename: 7ffd0 \"/etc/motd\", flags: 80000, mode: 0)",
            "sys_openat -> 0x3",
            // The copy's offset is behind a pointer.
            "sys_copy_file_range(fd_in: 3, off_in: 7ffd, fd_out: 4, off_out: 0, len: 10, flags: 0)",
            "sys_copy_file_range -> 0x10",
            // The call does not return.
            "sys_read(fd: 3, buf: 7ffd00, count: 4)",
        ]));
        assert!(
            trace
                .file_ios
                .iter()
                .all(|row| row.operation == FileOperation::Create && trace.text(row.file) == "/etc/motd")
        );
        let lost = |name: &str| trace.losses.iter().find(|loss| loss.counter == name).map_or(0, |loss| loss.count);
        assert_eq!(lost("fileio_descriptor_unknown"), 1);
        assert_eq!((lost("system_calls_without_begin"), lost("system_calls_without_end")), (2, 1));
        assert_eq!(lost("system_call_offsets_not_recorded"), 1);
    }
}
