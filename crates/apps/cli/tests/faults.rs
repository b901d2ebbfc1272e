//! Faults of the environment: signals, full disks, few descriptors, little memory, closed outputs. Each ends in a
//! sentence and leaves nothing behind.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::harness::Folder;

const SCENARIO: &str = "slow-boot.toml";

/// Runs the program from a shell that first runs `setup`, such as `ulimit -n 20`.
fn run_after(folder: &Folder, setup: &str, arguments: &str) -> Output {
    let script = format!("{setup}; exec \"$0\" {arguments}");
    let program = env!("CARGO_BIN_EXE_onoff");
    shell(folder, &script, program).output().unwrap()
}

fn shell(folder: &Folder, script: &str, program: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, program]).current_dir(folder.path("")).stdin(Stdio::null());
    command.env("ONOFF_CACHE", folder.path("cache"));
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Waits until `find` finds something.
fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(120), "no {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// A recording of `count` events.
fn long_recording(count: u64) -> Vec<u8> {
    use onoff_testkit::assemble::{EtlBuilder, Session};
    use onoff_testkit::events::kernel;

    let session = Session::windows_10(1);
    let start = session.start_ticks;
    let mut builder = EtlBuilder::new(session);
    for number in 0..count {
        builder.push(0, &kernel::mark(start + number, "one of many marks"));
    }
    builder.finish()
}

#[test]
fn signals_remove_unfinished_files() {
    let folder = Folder::new();
    folder.file("long.etl", &long_recording(300_000));
    fs::create_dir(folder.path("out")).unwrap();
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let mut command = folder.command("events long.etl --format json -o out/events.json");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let unfinished = || names(&folder.path("out")).into_iter().find(|name| name.ends_with(".unfinished"));
        wait_for("unfinished file", unfinished);
        send(signal, &child);
        assert_eq!(child.wait().unwrap().signal(), Some(number), "SIG{signal}");
        assert_eq!(names(&folder.path("out")), [""; 0], "SIG{signal}");
    }
}

#[test]
fn signals_remove_unfinished_cache_files() {
    let folder = Folder::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&long_recording(1000)).unwrap();
    for _ in 0..400 {
        encoder.write_all(&vec![0; 1 << 20]).unwrap();
    }
    folder.file("long.etl.gz", &encoder.finish().unwrap());
    let mut command = folder.command("info long.etl.gz");
    let mut child = command.env("ONOFF_CACHE", folder.path("cache")).stdout(Stdio::null()).spawn().unwrap();
    let unfinished = || names(&folder.path("cache")).into_iter().find(|name| name.starts_with("unpacking-"));
    wait_for("unfinished file", unfinished);
    send("TERM", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(names(&folder.path("cache")), [""; 0]);
}

#[test]
fn refused_content_does_not_stay_in_the_cache() {
    let folder = Folder::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..70 {
        encoder.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    folder.file("text.gz", &encoder.finish().unwrap());
    let output = folder.command("info text.gz").env("ONOFF_CACHE", folder.path("cache")).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(folder.path("cache").is_dir(), "the cache was used");
    assert_eq!(names(&folder.path("cache")), [""; 0]);
}

/// Commands that write, and the folder that they write to.
const WRITERS: [&str; 7] = [
    "boot boot.etl --format json -o out/boot.json",
    "events boot.etl -o out/events.txt",
    "view boot.etl -o out/page.html",
    "export boot.etl --format parquet -o out/tables",
    "export boot.etl --format perfetto -o out/boot.perfetto-trace",
    "manual out",
    "manual out/man1",
];

fn assert_full(output: &Output, arguments: &str, out: &Path) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{arguments}: {message}");
    assert_eq!(message.lines().count(), 1, "{arguments}: {message}");
    assert!(message.starts_with("onoff: ") && message.contains("cannot write"), "{arguments}: {message}");
    assert_eq!(names(out), [""; 0], "{arguments}");
}

#[test]
fn full_disk_leaves_nothing() {
    let folder = Folder::boot(SCENARIO);
    let out = folder.path("out");
    fs::create_dir(&out).unwrap();
    for arguments in WRITERS {
        // The unit is 512 or 1024 bytes.
        let output = run_after(&folder, "ulimit -f 2", arguments);
        assert_full(&output, arguments, &out);
    }
    // Only root may mount a small file system.
    let mut mount = Command::new("mount");
    let mounted = mount.args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&out).stderr(Stdio::null()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return;
    }
    let mounted = MountedFolder(out.clone());
    for arguments in WRITERS {
        let output = run_after(&folder, ":", arguments);
        assert_full(&output, arguments, &out);
    }
    drop(mounted);
}

struct MountedFolder(PathBuf);

impl Drop for MountedFolder {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Asserts that a command worked, or failed with one sentence.
fn assert_no_crash(output: &Output, context: &str) {
    let message = stderr(output);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{context}: {:?}: {message}", output.status);
    let is_sentence = output.status.success() || message.starts_with("onoff: ") && message.lines().count() == 1;
    assert!(is_sentence, "{context}: {message}");
}

#[test]
fn few_descriptors_give_a_sentence() {
    let folder = Folder::boot(SCENARIO);
    let run = |count: u32, arguments: &str| run_after(&folder, &format!("ulimit -n {count}"), arguments);
    // Below this number, the system cannot load the program: the caller may have left files open.
    let min_count = (4..).find(|&count| run(count, "--version").status.success()).unwrap();
    let mut codes = Vec::new();
    for count in [0, 1, 2, 3, 4, 6, 8, 12, 20].map(|more| min_count + more) {
        for arguments in
            ["boot boot.etl", "summary boot.etl boot.etl -o rows.txt", "export boot.etl --format arrow -o new"]
        {
            let output = run(count, arguments);
            assert_no_crash(&output, &format!("{count} descriptors: {arguments}"));
            codes.push(output.status.code().unwrap());
            let _ = fs::remove_dir_all(folder.path("new"));
        }
    }
    assert!(codes.contains(&0) && codes.contains(&1), "{codes:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn little_memory_gives_a_sentence() {
    let folder = Folder::boot(SCENARIO);
    let run = |mib: u32, arguments: &str| run_after(&folder, &format!("ulimit -v {}", mib << 10), arguments);
    // Below this size, the system cannot load the program.
    let min_mib = (4..).map(|step| step * 8).find(|&mib| run(mib, "--version").status.success()).unwrap();
    let mut messages = Vec::new();
    for extra_mib in (0..16).chain((16..80).step_by(8)).chain([160, 320, 2048]) {
        let mib = min_mib + extra_mib;
        let output = run(mib, "diagnose boot.etl");
        assert_no_crash(&output, &format!("{mib} MiB"));
        messages.push(stderr(&output));
    }
    assert!(messages.iter().any(|message| message.contains("out of memory")), "{messages:?}");
    assert_eq!(messages.last().unwrap(), "", "{messages:?}");
}

#[test]
fn closed_output_is_not_success() {
    let folder = Folder::boot(SCENARIO);
    for arguments in
        ["boot boot.etl", "events boot.etl", "--help", "--version", "completions bash", "xperf -i boot.etl -a boot"]
    {
        let output = run_after(&folder, "exec >&-", arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        assert!(stderr(&output).contains("standard output is closed"), "{arguments}: {}", stderr(&output));
        let output = run_after(&folder, "exec >/dev/null", arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", stderr(&output));
    }
    let output = run_after(&folder, "exec >&-", "boot boot.etl -o answer.txt");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(fs::metadata(folder.path("answer.txt")).unwrap().len() > 1000);
    // With stderr closed too, the exit code reports the error.
    assert_eq!(run_after(&folder, "exec >&- 2>&-", "boot boot.etl").status.code(), Some(1));
}

/// A running `onoff view`; dropping it ends it.
struct View {
    child: Child,
    url: String,
}

impl View {
    fn new(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }

    /// Returns the address of the server, and the path of the page.
    fn address(&self) -> (&str, &str) {
        let address = self.url.strip_prefix("http://").unwrap();
        address.split_at(address.find('/').unwrap())
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn idle_connections_do_not_end_the_page() {
    let folder = Folder::boot(SCENARIO);
    let script = "ulimit -n 32; exec \"$0\" view boot.etl --no-open";
    let view = View::new(shell(&folder, script, env!("CARGO_BIN_EXE_onoff")));
    let (address, path) = view.address();
    let idle: Vec<TcpStream> = (0..60).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(100))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{}", answer.get(..200).unwrap_or(&answer));
    drop(idle);
}

#[cfg(target_os = "linux")]
#[test]
fn browser_command_line_has_no_token() {
    let folder = Folder::boot(SCENARIO);
    for name in ["bin", "runtime"] {
        fs::create_dir(folder.path(name)).unwrap();
    }
    let browser = format!("#!/bin/sh\necho \"$@\" > '{0}.new'; mv '{0}.new' '{0}'\n", folder.path("opened").display());
    folder.file("bin/xdg-open", browser.as_bytes());
    fs::set_permissions(folder.path("bin/xdg-open"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = folder.command("view boot.etl");
    let path = format!("{}:{}", folder.path("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env("XDG_RUNTIME_DIR", folder.path("runtime")).env("HOME", folder.path("home"));
    let mut view = View::new(command);
    let opened = wait_for("browser", || fs::read_to_string(folder.path("opened")).ok());
    let file = Path::new(opened.trim());
    assert!(file.starts_with(folder.path("runtime")), "{opened}");
    let (_, page) = view.address();
    let token = page.trim_matches('/');
    assert!(token.len() == 32 && !opened.contains(token), "{opened}");
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(file).unwrap().contains(&format!("content=\"0;url={}\"", view.url)));
    // A shell that starts tests in the background makes them ignore SIGINT.
    send("TERM", &view.child);
    assert_eq!(view.child.wait().unwrap().signal(), Some(15));
    assert!(!file.exists(), "the file is removed");
}
