//! System calls on files, from their begin to their return, followed as those that `strace` prints.
//!
//! The tracer writes numbers and addresses. What a path's address points at is written since Linux 6.19 only; before that a file is
//! named by the order in which it was opened.

use hashbrown::HashMap;
use onoff_fileio::{SystemCall, SystemCalls};
use onoff_ftrace::SystemCallArgument;
use onoff_trace::{TableName, counters};

use crate::assembly::Assembly;

counters! {
    WITHOUT_BEGIN = "system_calls_without_begin", Notice, [FileIos],
        "System calls returned whose begin is not recorded: they began before the recording; they are left out.";
    WITHOUT_END = "system_calls_without_end", Notice, [FileIos],
        "System calls had not returned when the recording ended; they are left out.";
    PLACE_BEHIND_POINTER = "system_call_places_not_recorded", Notice, [FileIos],
        "Copies whose place in the file is behind a pointer, which the tracer does not follow; they are left out.";
}

/// More threads in a call than are followed.
const MAX_OPEN: usize = 1 << 16;

#[derive(Debug)]
struct Begun {
    start_ns: i64,
    name: String,
    arguments: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct SystemCallTracker {
    calls: SystemCalls,
    open: HashMap<u32, Begun>,
    /// Files that were opened without a name.
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
        if !assembly.wants(TableName::FileIos) || !concerns_files(name) {
            return;
        }
        if !task.is_empty() {
            assembly.processes.seen_as(tid, task, &mut assembly.texts);
        }
        let Some(arguments) = self.in_words(name, arguments, task) else {
            assembly.losses.add(&PLACE_BEHIND_POINTER, 1);
            return;
        };
        if self.open.len() < MAX_OPEN || self.open.contains_key(&tid) {
            self.open.insert(tid, Begun { start_ns: time_ns, name: name.to_owned(), arguments });
        }
    }

    pub(super) fn on_end(&mut self, time_ns: i64, tid: u32, name: &str, result: i64, assembly: &mut Assembly) {
        if !assembly.wants(TableName::FileIos) || !concerns_files(name) {
            return;
        }
        let Some(begun) = self.open.remove(&tid).filter(|begun| begun.name == name) else {
            // A new thread returns from a call that its parent began.
            if !matches!(name, "clone" | "clone3" | "fork" | "vfork") {
                assembly.losses.add(&WITHOUT_BEGIN, 1);
            }
            return;
        };
        let arguments: Vec<&str> = begun.arguments.iter().map(String::as_str).collect();
        let call = SystemCall {
            tid,
            start_ns: begun.start_ns,
            duration_ns: time_ns.saturating_sub(begun.start_ns).max(0),
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

    /// The arguments as `strace` writes them; `None` when a place that the call needs is not recorded.
    fn in_words(&mut self, name: &str, arguments: &[SystemCallArgument<'_>], task: &str) -> Option<Vec<String>> {
        let is_copy = name.starts_with("sendfile") || name == "copy_file_range";
        let control = arguments.get(1).filter(|_| name.starts_with("fcntl")).map(|argument| argument.value);
        arguments
            .iter()
            .map(|argument| {
                let SystemCallArgument { name: of, value, text } = *argument;
                Some(match of {
                    "filename" | "pathname" => match text {
                        Some(path) => format!("\"{path}\""),
                        // The program that runs then has the thread's name.
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
                        other => other.to_string(),
                    },
                    "whence" | "origin" if value == 2 => "SEEK_END".to_owned(),
                    "off_in" | "off_out" | "offset" if is_copy && value != 0 => return None,
                    // Descriptors have 32 bits and a sign; places have 64.
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

/// Flags by their bits on x86 and ARM (source: the same, `linux/sched.h` and `asm-generic/mman-common.h`).
fn flags(call: &str, value: u64) -> String {
    let bits: &[(u64, &str)] = match call {
        "clone" => &[(0x400, "CLONE_FILES"), (0x1_0000, "CLONE_THREAD")],
        "mmap" | "mmap2" | "mmap_pgoff" => &[(0x20, "MAP_ANONYMOUS")],
        _ => &[(0x200, "O_TRUNC"), (0x400, "O_APPEND"), (0x8_0000, "O_CLOEXEC")],
    };
    let words: Vec<&str> = bits.iter().filter(|(bit, _)| value & bit != 0).map(|&(_, word)| word).collect();
    if words.is_empty() { value.to_string() } else { words.join("|") }
}

/// Whether a call opens, moves, reads, writes or closes files; others are not looked at.
fn concerns_files(name: &str) -> bool {
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
    use onoff_trace::{FileOperation, TableName, Tables, Trace};

    use onoff_input::options::Options;
    use onoff_input::unpack::Limits;
    use onoff_sources::{files_from_bytes, open_files};

    fn read(text: &str) -> Trace {
        let files = files_from_bytes([("trace.txt".to_owned(), text.as_bytes().to_vec())], &Limits::default()).unwrap();
        open_files(&files, Tables::of(&[TableName::FileIos, TableName::Processes]), &Options::default()).unwrap()
    }

    fn lines(calls: &[&str]) -> String {
        let line =
            |(at, call): (usize, &&str)| format!("             cat-812     [000] .....    20.{:06}: {call}\n", at * 10);
        let header = "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n";
        calls.iter().enumerate().fold(header.to_owned(), |text, call| text + &line(call))
    }

    #[test]
    fn a_program_that_reads_four_bytes_at_a_time_is_followed() {
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
        let took = Some(10_000);
        assert_eq!(
            reads,
            [
                (0, 4, took, true),
                (4, 4, took, true),
                (4096, 4, took, true),
                (8192, 512, took, true),
                (4100, 0, took, false)
            ]
        );
        let files: Vec<&str> = trace.file_ios.iter().map(|row| trace.text(row.file)).collect();
        assert!(files.iter().all(|&file| file == "(opened 1, name not recorded)"), "{files:?}");
        assert!(trace.processes.iter().any(|process| process.pid == 812 && trace.text(process.image) == "cat"));
    }

    #[test]
    fn what_is_not_known_is_counted_and_not_made_up() {
        let trace = read(&lines(&[
            // Returned from a call that began before.
            "sys_read -> 0x4",
            // A descriptor that was open before.
            "sys_read(fd: 9, buf: 7ffd00, count: 4)",
            "sys_read -> 0x4",
            "sys_openat(dfd: ffffff9c, filename: 7ffd0 \"/etc/motd\", flags: 80000, mode: 0)",
            "sys_openat -> 0x3",
            // A copy whose place is behind a pointer.
            "sys_copy_file_range(fd_in: 3, off_in: 7ffd, fd_out: 4, off_out: 0, len: 10, flags: 0)",
            "sys_copy_file_range -> 0x10",
            // Not over yet.
            "sys_read(fd: 3, buf: 7ffd00, count: 4)",
        ]));
        assert!(
            trace
                .file_ios
                .iter()
                .all(|row| row.operation == FileOperation::Create && trace.text(row.file) == "/etc/motd")
        );
        let lost = |name: &str| trace.losses.iter().find(|loss| loss.counter == name).map_or(0, |loss| loss.count);
        assert_eq!(lost("fileio_descriptor_not_known"), 1);
        assert_eq!((lost("system_calls_without_begin"), lost("system_calls_without_end")), (2, 1));
        assert_eq!(lost("system_call_places_not_recorded"), 1);
    }
}
