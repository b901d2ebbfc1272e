//! Records the file operations of one command on Linux, with `strace` or with the kernel's ftrace.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::tracing::TRACEFS;

/// System calls that open, move, copy and use files. Tracing only these slows the command down less.
const CALLS: &str = "\
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 sendfile copy_file_range splice tee \
    open openat openat2 creat close lseek dup dup2 dup3 fcntl fsync fdatasync sync_file_range ftruncate fstat \
    newfstatat statx mmap clone clone3 fork vfork execve execveat io_uring_enter io_submit";

/// Calls with a different name in ftrace.
const FTRACE_NAMES: [(&str, &str); 3] =
    [("sendfile", "sendfile64"), ("fstat", "newfstat"), ("newfstatat", "newfstatat")];

/// The program that records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracer {
    /// `strace` names every file; the command runs several times slower.
    Strace,
    /// ftrace needs root and adds little overhead; it names files only since Linux 6.19.
    Ftrace,
}

/// Runs `command` and records the file operations of the command and its children in `recording`. Input and output
/// are inherited.
///
/// # Errors
/// The tracer cannot be started, `recording` cannot be written, or `command` is empty.
pub fn record_command(tracer: Tracer, command: &[OsString], recording: &Path) -> io::Result<ExitStatus> {
    if command.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no command"));
    }
    match tracer {
        Tracer::Strace => Command::new("strace").args(strace_arguments(command, recording)).status(),
        Tracer::Ftrace => {
            let tracefs = TRACEFS.iter().map(Path::new).find(|folder| folder.join("instances").is_dir());
            let tracefs = tracefs.ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::NotFound,
                    "tracefs is not mounted: as root, run 'mount -t tracefs nodev /sys/kernel/tracing'",
                )
            })?;
            trace_command(tracefs, command, recording)
        }
    }
}

/// Returns arguments that make strace follow threads and children, and print each call's time in seconds since 1970,
/// its duration, and descriptor paths.
fn strace_arguments(command: &[OsString], recording: &Path) -> Vec<OsString> {
    // The question mark makes strace ignore calls that this system does not have.
    let calls: Vec<String> = CALLS.split(' ').map(|call| format!("?{call}")).collect();
    let mut arguments: Vec<OsString> =
        ["-f", "-ttt", "-T", "-y", "-s", "0", "-e", &format!("trace={}", calls.join(",")), "-o"]
            .map(OsString::from)
            .into();
    arguments.push(recording.into());
    arguments.push("--".into());
    arguments.extend(command.iter().cloned());
    arguments
}

/// Trace buffer per CPU, in KiB: about half a million events.
const BUFFER_KIB: u32 = 64 * 1024;

/// Trace clock, as in the other Linux recordings.
const CLOCK: &str = "mono";

/// Maximum length of the first line of a trace, in bytes.
const MAX_HEADER_LEN: u64 = 4096;

/// Records with ftrace, in a private instance below `tracefs` that is removed afterwards.
///
/// # Errors
/// The instance cannot be created or set up (requires root), the command cannot be started, or `recording` cannot be
/// written.
pub fn trace_command(tracefs: &Path, command: &[OsString], recording: &Path) -> io::Result<ExitStatus> {
    let instance = Instance::create(&tracefs.join("instances"))?;
    instance.set("tracing_on", "0")?;
    // A full buffer keeps the start of the trace, which has the names.
    instance.set("options/overwrite", "0")?;
    instance.set("options/event-fork", "1")?;
    instance.set("trace_clock", CLOCK)?;
    instance.set("buffer_size_kb", &BUFFER_KIB.to_string())?;
    for event in instance.events() {
        instance.set(&format!("{event}/enable"), "1")?;
    }
    let status = Command::new("sh").args(shell_arguments(&instance.folder, command)).status()?;
    instance.set("tracing_on", "0")?;
    let mut file = fs::File::create(recording)?;
    copy_with_clock(&mut BufReader::new(fs::File::open(instance.folder.join("trace"))?), &mut file)?;
    for (processor, events) in instance.dropped_events() {
        // The format of `trace-cmd report`, which the reader parses.
        writeln!(file, "CPU:{processor} [{events} EVENTS DROPPED]")?;
    }
    Ok(status)
}

/// Copies a trace and adds the clock to its header, where the kernel does not write it.
fn copy_with_clock(trace: &mut impl BufRead, file: &mut impl Write) -> io::Result<()> {
    let mut header_line = Vec::new();
    trace.by_ref().take(MAX_HEADER_LEN).read_until(b'\n', &mut header_line)?;
    file.write_all(&header_line)?;
    if header_line.starts_with(b"#") {
        writeln!(file, "# trace_clock: {CLOCK}")?;
    }
    io::copy(trace, file)?;
    Ok(())
}

/// Returns the arguments of a shell that registers its process id with ftrace and then execs the command, so that the
/// trace has the whole command and nothing else.
fn shell_arguments(instance: &Path, command: &[OsString]) -> Vec<OsString> {
    const SCRIPT: &str = "echo $$ > \"$0/set_event_pid\" && echo 1 > \"$0/tracing_on\" && exec \"$@\"";
    let mut arguments: Vec<OsString> = vec!["-c".into(), SCRIPT.into(), instance.into()];
    arguments.extend(command.iter().cloned());
    arguments
}

/// A separate ftrace instance, removed on drop.
struct Instance {
    folder: PathBuf,
}

impl Instance {
    fn create(instances: &Path) -> io::Result<Self> {
        let folder = instances.join(format!("onoff-io-{}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(Self { folder })
    }

    fn set(&self, name: &str, value: &str) -> io::Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, value).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    /// Returns the folders of the events of [`CALLS`] that this kernel has.
    fn events(&self) -> Vec<String> {
        let ftrace_name = |call: &str| {
            FTRACE_NAMES
                .iter()
                .find(|&&(call_name, _)| call_name == call)
                .map_or(call.to_owned(), |&(_, name)| name.to_owned())
        };
        let calls = CALLS.split(' ').map(ftrace_name);
        let event_folders =
            calls.flat_map(|call| ["enter", "exit"].map(|edge| format!("events/syscalls/sys_{edge}_{call}")));
        event_folders.filter(|event| self.folder.join(event).is_dir()).collect()
    }

    /// Returns the CPUs whose buffer was full, with the number of events dropped.
    fn dropped_events(&self) -> Vec<(String, u64)> {
        let Ok(processors) = fs::read_dir(self.folder.join("per_cpu")) else { return Vec::new() };
        let dropped_events_of = |folder: fs::DirEntry| {
            let dropped = parse_dropped_events(&fs::read_to_string(folder.path().join("stats")).ok()?);
            let name = folder.file_name().to_str()?.strip_prefix("cpu")?.to_owned();
            (dropped > 0).then_some((name, dropped))
        };
        processors.flatten().filter_map(dropped_events_of).collect()
    }
}

/// Sums the lost events in one CPU's statistics.
fn parse_dropped_events(stats: &str) -> u64 {
    let counters = stats.lines().filter_map(|line| line.split_once(": "));
    let losses = counters.filter(|(name, _)| matches!(*name, "overrun" | "dropped events"));
    losses.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An instance that cannot be removed uses memory until the next restart. This error cannot be handled here.
        let _ = fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(arguments: &[OsString]) -> Vec<&str> {
        arguments.iter().filter_map(|argument| argument.to_str()).collect()
    }

    #[test]
    fn strace_arguments_request_times_paths_and_children() {
        let arguments = strace_arguments(&["cat".into(), "a b".into()], Path::new("out.strace"));
        let words = words(&arguments);
        assert_eq!(words[..7], ["-f", "-ttt", "-T", "-y", "-s", "0", "-e"]);
        assert!(words[7].starts_with("trace=?read,?write,") && words[7].contains(",?io_uring_enter"), "{}", words[7]);
        assert_eq!(words[8..], ["-o", "out.strace", "--", "cat", "a b"]);
    }

    #[test]
    fn adds_clock_to_trace_header() {
        let copied = |trace: &str| {
            let mut file = Vec::new();
            copy_with_clock(&mut trace.as_bytes(), &mut file).unwrap();
            String::from_utf8(file).unwrap()
        };
        let event = "  sh-1 [000] ..... 1.5: sys_read -> 0x0\n";
        assert_eq!(
            copied(&format!("# tracer: nop\n#\n{event}")),
            format!("# tracer: nop\n# trace_clock: mono\n#\n{event}")
        );
        // Without a header, nothing is added.
        assert_eq!(copied(event), event);
        assert_eq!(copied(""), "");
    }

    #[test]
    fn ftrace_follows_only_the_command_and_is_cleaned_up() {
        // A fake tracefs: a file for each value, and the events of two calls.
        let tracefs = tempfile::tempdir().unwrap();
        let instances = tracefs.path().join("instances");
        let instance = instances.join(format!("onoff-io-{}", std::process::id()));
        fs::create_dir_all(&instances).unwrap();
        let recording = tracefs.path().join("recording.txt");
        // Without the files the kernel creates in an instance, setup fails. A real instance can be removed with its
        // files.
        let error = trace_command(tracefs.path(), &["true".into()], &recording).unwrap_err();
        assert!(error.kind() == io::ErrorKind::NotFound && error.to_string().contains("overwrite"), "{error}");
        fs::remove_dir_all(&instance).unwrap();

        let instance = Instance::create(&instances).unwrap();
        for event in ["sys_enter_read", "sys_exit_read", "sys_enter_newfstat", "sys_enter_unlink"] {
            fs::create_dir_all(instance.folder.join("events/syscalls").join(event)).unwrap();
        }
        let found = instance.events();
        assert_eq!(
            found,
            ["events/syscalls/sys_enter_read", "events/syscalls/sys_exit_read", "events/syscalls/sys_enter_newfstat"]
        );
        fs::create_dir_all(instance.folder.join("per_cpu/cpu0")).unwrap();
        fs::write(
            instance.folder.join("per_cpu/cpu0/stats"),
            "entries: 5\noverrun: 2\ncommit overrun: 0\ndropped events: 40\n",
        )
        .unwrap();
        assert_eq!(instance.dropped_events(), [("0".to_owned(), 42)]);
        // The shell registers itself and then execs the command: both have the same id.
        let printed_id = instance.folder.join("said");
        let command =
            ["sh".into(), "-c".into(), OsString::from("echo $$ > \"$1\""), "sh".into(), printed_id.clone().into()];
        let status = Command::new("sh").args(shell_arguments(&instance.folder, &command)).status().unwrap();
        assert!(status.success());
        let read = |name: &str| fs::read_to_string(instance.folder.join(name)).unwrap();
        assert_eq!((read("tracing_on").trim(), read("set_event_pid")), ("1", fs::read_to_string(printed_id).unwrap()));
    }
}
