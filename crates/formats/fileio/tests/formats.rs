//! Tests each format as written by its program.

use onoff_fileio::{Error, Format, Level, LossKind, OperationKind, Outcome, Summary, read};

#[derive(Clone, Debug, PartialEq)]
struct Row {
    start_ns: i64,
    duration_ns: Option<i64>,
    kind: OperationKind,
    level: Level,
    outcome: Outcome,
    process: String,
    file: String,
    handle: u64,
    offset: u64,
    length: u64,
}

fn rows(bytes: &[u8]) -> (Vec<Row>, Summary) {
    let mut rows = Vec::new();
    let summary = read(bytes, &mut |operation| {
        rows.push(Row {
            start_ns: operation.start_ns,
            duration_ns: operation.duration_ns,
            kind: operation.kind,
            level: operation.level,
            outcome: operation.outcome,
            process: operation.process.to_owned(),
            file: operation.file.to_owned(),
            handle: operation.handle,
            offset: operation.offset,
            length: operation.length,
        });
    })
    .unwrap();
    (rows, summary)
}

/// Returns kind, file, offset and length of the successful reads and writes.
fn transfers(bytes: &[u8]) -> Vec<(OperationKind, String, u64, u64)> {
    let (rows, _) = rows(bytes);
    let done = rows
        .into_iter()
        .filter(|row| matches!(row.kind, OperationKind::Read | OperationKind::Write) && row.outcome == Outcome::Done);
    done.map(|row| (row.kind, row.file, row.offset, row.length)).collect()
}

#[test]
fn strace_tracks_file_positions() {
    use OperationKind::{Read, Write};
    let transfer = |kind, file: &str, offset, length| (kind, file.to_owned(), offset, length);
    let text = br#"10 execve("/usr/bin/app", ["app"], 0x7ffe /* 3 vars */) = 0
10 openat(AT_FDCWD, "/a", O_RDONLY|O_CLOEXEC) = 3
10 read(3, "abcd", 4) = 4
10 dup(3) = 4
10 read(4, "efgh", 4) = 4
10 lseek(3, 100, SEEK_SET) = 100
10 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD) = 11
11 read(3, "x", 1) = 1
11 close(3) = 0
10 read(3,  <unfinished ...>
11 openat(AT_FDCWD, "/b", O_WRONLY|O_CREAT|O_TRUNC|O_APPEND, 0644) = 3
11 write(3, "hello", 5) = 5
11 lseek(3, 0, SEEK_SET) = 0
11 write(3, "hi", 2) = 2
10 <... read resumed>"y", 1) = 1
10 preadv2(3, [{iov_base="..", iov_len=2}], 1, 4096, 0) = 2
10 preadv2(3, [{iov_base="..", iov_len=2}], 1, -1, 0) = 2
10 pread64(3, "", 10, 9999) = 0
10 read(0, "secret", 6) = 6
10 copy_file_range(3, [5], 4, NULL, 7, 0) = 7
10 socket(AF_INET, SOCK_STREAM, 0) = 5
10 io_uring_enter(6, 1, 1, 0, NULL, 8) = 1
10 +++ exited with 0 +++
"#;
    let (operations, summary) = rows(text);
    assert_eq!(
        transfers(text),
        [
            transfer(Read, "/a", 0, 4),
            transfer(Read, "/a", 4, 4),
            // A child shares the open file and its position with its parent.
            transfer(Read, "/a", 100, 1),
            transfer(Write, "/b", 0, 5),
            // Appending ignores the position.
            transfer(Write, "/b", 5, 2),
            transfer(Read, "/a", 101, 1),
            transfer(Read, "/a", 4096, 2),
            transfer(Read, "/a", 102, 2),
            transfer(Read, "/a", 5, 7),
            transfer(Write, "/a", 104, 7),
        ]
    );
    assert!(operations.iter().all(|row| row.process == "app"));
    assert_eq!(operations.iter().filter(|row| row.outcome == Outcome::EndOfFile).count(), 1);
    assert_eq!(summary.losses.count(LossKind::IoUring), 1);
    // Standard input was opened before the recording.
    assert_eq!(summary.losses.count(LossKind::DescriptorUnknown), 1);
    assert_eq!(summary.losses.count(LossKind::Unreadable), 0);
}

#[test]
fn strace_append_needs_a_known_size() {
    let with_size = br#"openat(AT_FDCWD, "/log", O_WRONLY|O_APPEND) = 3
fstat(3, {st_mode=S_IFREG|0644, st_size=1000, ...}) = 0
write(3, "x", 1) = 1
write(3, "y", 1) = 1
"#;
    let writes: Vec<u64> = transfers(with_size).into_iter().map(|(_, _, offset, _)| offset).collect();
    assert_eq!(writes, [1000, 1001]);
    let without_size = br#"openat(AT_FDCWD, "/log", O_WRONLY|O_APPEND) = 3
write(3, "x", 1) = 1
"#;
    assert_eq!(transfers(without_size), []);
    assert_eq!(rows(without_size).1.losses.count(LossKind::OffsetUnknown), 1);
}

#[test]
fn strace_handles_close_on_exec_and_pipes() {
    let text = br#"openat(AT_FDCWD, "/a", O_RDONLY|O_CLOEXEC) = 3
openat(AT_FDCWD, "/b", O_RDONLY) = 4
execve("/bin/next", ["next"], NULL) = 0
read(3, "x", 1) = 1
read(4, "x", 1) = 1
read(7<pipe:[1234]>, "x", 1) = 1
read(8</c (deleted)>, "x", 1) = 1
"#;
    let (_, summary) = rows(text);
    let files: Vec<String> = transfers(text).into_iter().map(|(_, file, ..)| file).collect();
    assert_eq!(files, ["/b", "/c"]);
    assert_eq!(summary.losses.count(LossKind::DescriptorUnknown), 1);
}

#[test]
fn strace_requests_to_character_devices_are_no_file_access() {
    let text = br#"openat(AT_FDCWD, "/dev/zero", O_RDONLY) = 3
openat(AT_FDCWD, "/dev/sda", O_RDONLY) = 4
openat(AT_FDCWD, "/dev/shm/a", O_RDWR) = 5
openat(AT_FDCWD, "/home/dev/null", O_RDWR) = 6
read(3, "x", 4096) = 4096
read(4, "x", 4096) = 4096
read(5, "x", 4) = 4
read(6, "x", 4) = 4
write(7</dev/null>, "x", 1) = 1
write(8</dev/ttyS0>, "x", 1) = 1
write(9</dev/null<char 1:3>>, "x", 1) = 1
"#;
    let files: Vec<String> = transfers(text).into_iter().map(|(_, file, ..)| file).collect();
    assert_eq!(files, ["/dev/sda", "/dev/shm/a", "/home/dev/null"]);
}

#[test]
fn strace_sendfile_writes_its_output_file() {
    use OperationKind::{Read, Write};
    let text = br#"openat(AT_FDCWD, "/in", O_RDONLY) = 3
openat(AT_FDCWD, "/out", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 4
sendfile(4, 3, NULL, 1000) = 600
sendfile(4, 3, [100] => [500], 400) = 400
sendfile(7<socket:[77]>, 3, NULL, 10) = 10
"#;
    let transfer = |kind, file: &str, offset, length| (kind, file.to_owned(), offset, length);
    assert_eq!(
        transfers(text),
        [
            transfer(Read, "/in", 0, 600),
            transfer(Write, "/out", 0, 600),
            transfer(Read, "/in", 100, 400),
            transfer(Write, "/out", 600, 400),
            // The output is no file.
            transfer(Read, "/in", 600, 10),
        ]
    );
}

#[test]
fn strace_names_deleted_files_by_their_path() {
    let text = br#"10:00:00.0 openat(AT_FDCWD, "/tmp/a", O_RDWR) = 3</tmp/a>
10:00:01.0 read(3</tmp/a>, "x", 1) = 1
10:00:02.0 unlink("/tmp/a") = 0
10:00:03.0 read(3</tmp/a (deleted)>, "y", 1) = 1
10:00:04.0 read(3</tmp/a>(deleted), "z", 1) = 1
"#;
    let read = |offset| (OperationKind::Read, "/tmp/a".to_owned(), offset, 1);
    assert_eq!(transfers(text), [read(0), read(1), read(2)]);
}

#[test]
fn strace_counts_torn_lines() {
    let text = br#"7 openat(AT_FDCWD, "/a", O_RDONLY) = 3 <0.000010>
7 read(3, "x", 1) = 1 <0.000010>
ead(3, "x", 1) = 1 <0.000010>
7 read(3, 8 write(4, "x", 1) = 1 <0.000010>
7 sync() = 0 <0.000010>
7 read(3, "abcd", 4096) = 40"#;
    let (rows, summary) = rows(text);
    assert_eq!(summary.losses.count(LossKind::Unreadable), 3);
    assert_eq!(rows.iter().filter(|row| row.kind == OperationKind::Read).count(), 1);
    // Decoy: the last line has no line end, but it is whole.
    let whole = [&text[..text.len() - 2], b"4 <0.000010>"].concat();
    assert_eq!(self::rows(&whole).1.losses.count(LossKind::Unreadable), 2);
}

#[test]
fn blkparse_empty_write_with_flush_is_flush() {
    let text = b"  8,0    3        1     0.000000000   697  Q FWS 0 + 0 [a]
  8,0    3        2     0.000300000     0  C FWS 0 + 0 [0]
  8,0    3        3     0.000400000   697  Q FWS 8 + 8 [a]
  8,0    3        4     0.000600000     0  C FWS 8 + 8 [0]
";
    let kinds: Vec<_> = rows(text).0.iter().map(|row| (row.kind, row.length)).collect();
    assert_eq!(kinds, [(OperationKind::Flush, 0), (OperationKind::Write, 4096)]);
}

#[test]
fn blkparse_pairs_requests_and_completions() {
    let text = b"  8,0    3        1     0.000000000   697  Q   R 1000 + 8 [reader]
  8,0    3        2     0.000100000   697  Q   R 1008 + 8 [reader]
  8,0    3        3     0.000110000   697  M   R 1008 + 8 [reader]
  8,0    3        4     0.000200000   697  D   R 1000 + 16 [reader]
  8,0    3        5     0.000700000     0  C   R 1000 + 16 [0]
  8,0    3        6     0.000800000   698  Q   W 50 + 1 [a (b)]
  8,0    3        7     0.000900000   698  Q FWS [a (b)]
CPU3 (sda):
 Reads Queued:           2,        8KiB
";
    let (rows, summary) = rows(text);
    assert_eq!(summary.losses.count(LossKind::Merged), 1);
    assert_eq!(rows.len(), 3);
    assert_eq!((rows[0].offset, rows[0].length, rows[0].duration_ns), (512_000, 8192, Some(700_000)));
    assert_eq!((rows[0].process.as_str(), rows[0].level, rows[0].file.as_str()), ("reader", Level::Device, "8,0"));
    assert_eq!((rows[1].process.as_str(), rows[1].length, rows[1].duration_ns), ("a (b)", 512, None));
}

#[test]
fn reads_process_monitor_csv_with_few_columns() {
    let text = "\u{feff}\"Process Name\",\"Operation\",\"Path\",\"Result\",\"Detail\"\r\n\
        \"a.exe\",\"ReadFile\",\"C:\\x\",\"SUCCESS\",\"Offset: 4.096, Length: 1.024, I/O Flags: Non-cached, Paging I/O\"\r\n\
        \"a.exe\",\"ReadFile\",\"C:\\x\",\"END OF FILE\",\"Offset: 5.120, Length: 1.024\"\r\n\
        \"a.exe\",\"RegQueryKey\",\"HKCU\",\"SUCCESS\",\"\"\r\n\
        \"a.exe\",\"WriteFile\",\"C:\\x\",\"SUCCESS\",\"Offset: -1, Length: 8\"\r\n";
    let (rows, summary) = rows(text.as_bytes());
    assert_eq!(summary.records, 4);
    assert_eq!((rows[0].offset, rows[0].length, rows[0].level), (4096, 1024, Level::Paging));
    assert_eq!(rows[1].outcome, Outcome::EndOfFile);
    assert_eq!(rows.len(), 2);
    // The offset of an append is unknown.
    assert_eq!(summary.losses.count(LossKind::OffsetUnknown), 1);
}

#[test]
fn reads_fio_and_darshan() {
    let iolog =
        b"fio version 2 iolog\n/a b add\n/a b open\n/a b read 0 4096\n/a b wait 7 0\n/a b write 4096 512\n/a b close\n";
    let (operations, summary) = rows(iolog);
    assert_eq!(summary.losses.iter().count(), 0);
    assert_eq!(operations.len(), 4);
    assert_eq!((operations[2].file.as_str(), operations[2].start_ns, operations[2].offset), ("/a b", 7000, 4096));

    let darshan = b"# darshan log version: 3.41\n# DXT, file_id: 1, file_name: /data/x\n\
        # Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)\n \
        X_MPIIO       0  read        0               0      262144      0.0029      0.0041\n \
        X_POSIX       0  read        0               0      262144      0.0030      0.0040 [OST: 1]\n";
    let (operations, summary) = rows(darshan);
    assert_eq!(
        (operations.len(), operations[0].file.as_str(), operations[0].duration_ns),
        (1, "/data/x", Some(1_000_000))
    );
    assert_eq!(summary.losses.count(LossKind::UpperLayer), 1);
    let counters = b"# darshan log version: 3.41\nPOSIX\t0\t1\tPOSIX_OPENS\t1\t/a\t/\text4\n";
    assert_eq!(read(counters, &mut |_| {}).unwrap_err(), Error::CountersOnly);
    let no_offset = b"0, 20039, 0, 8192\n";
    assert!(matches!(read(no_offset, &mut |_| {}).unwrap_err(), Error::MissingColumn { .. }));
}

#[test]
fn process_monitor_xml_reads_like_its_csv() {
    let xml = "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<procmon><processlist><process><ProcessName>a.exe\
        </ProcessName></process></processlist><eventlist>\r\n<event>\r\n<ProcessIndex>7</ProcessIndex>\r\n\
        <Time_of_Day>1:18:10.7752429 PM</Time_of_Day>\r\n<Process_Name>a.exe</Process_Name>\r\n<PID>7</PID>\r\n\
        <Operation>ReadFile</Operation>\r\n<Path>C:\\R&amp;D\\x.dat</Path>\r\n<Result>SUCCESS</Result>\r\n\
        <Detail>Offset: 4,096, Length: 512, I/O Flags: Non-cached, Priority: Normal</Detail>\r\n\
        <stack><frame><depth>0</depth><path>C:\\decoy</path></frame></stack></event>\r\n\
        <event><Time_of_Day>1:18:10.7752430 PM</Time_of_Day><Operation>RegOpenKey</Operation></event>\r\n\
        <event><Time_of_Day>1:18:11.0 PM</Time_of_Day><Operation>ReadFile</Operation><Pa";
    let (operations, summary) = rows(xml.as_bytes());
    assert_eq!(summary.format, Format::ProcessMonitorXml);
    let csv = "\"Time of Day\",\"Process Name\",\"PID\",\"Operation\",\"Path\",\"Result\",\"Detail\"\n\"1:18:10.7752429 PM\",\
        \"a.exe\",\"7\",\"ReadFile\",\"C:\\R&D\\x.dat\",\"SUCCESS\",\"Offset: 4,096, Length: 512, I/O Flags: Non-cached, Priority: Normal\"\n";
    let (expected, _) = rows(csv.as_bytes());
    assert_eq!(format!("{operations:?}"), format!("{expected:?}"));
    // The export ends within an event.
    assert_eq!((summary.records, summary.losses.count(LossKind::Unreadable)), (3, 1));
}

#[test]
fn only_latency_logs_of_fio_have_durations() {
    let log = b"5, 2000000, 0, 4096, 8192, 0\n9, 1000000, 1, 512, 0, 0\n";
    let times = |name: &str| {
        let mut times = Vec::new();
        onoff_fileio::read_named(name, log, &mut |io| times.push((io.start_ns, io.duration_ns)), &mut |_| {}).unwrap();
        times
    };
    // A request is logged when it completes: 5 ms minus 2 ms, 9 ms minus 1 ms.
    let expected = [(0, Some(2_000_000)), (5_000_000, Some(1_000_000))];
    assert_eq!(times("/a/job_lat.1.log"), expected);
    assert_eq!(times("job_clat.log"), expected);
    // Decoys: the values are bandwidths, submission latencies, or unknown.
    for name in ["job_bw.1.log", "job_slat.1.log", "a_lat.d/job_iops.1.log", ""] {
        assert_eq!(times(name), [(0, None), (4_000_000, None)], "{name}");
    }
}

#[test]
fn strace_shows_which_requests_bypass_the_cache() {
    let text = b"1 0.1 openat(AT_FDCWD, \"/a\", O_RDONLY|O_DIRECT) = 3\n1 0.2 pread64(3, \"\", 512, 0) = 512\n\
        1 0.3 fcntl(3, F_SETFL, O_RDONLY) = 0\n1 0.4 pread64(3, \"\", 512, 0) = 512\n";
    let mut unbuffered = Vec::new();
    read(text, &mut |io| unbuffered.push(io.unbuffered)).unwrap();
    assert_eq!(unbuffered, [false, true, false]);
}

#[test]
fn operations_csv_allows_any_column_order_and_comments() {
    let text = b"level,file,offset,length,operation,time_ns,duration,result,pid,handle\n# made by hand\n\n\
        paging,\"a,\"\"b\",0,4,read,1000,0.5,end,7,9\n,x,5,6,write,3000,,,,\n,x,,,flush,4000,,,,\n,x,,4,read,5000,,,,\n";
    let (operations, summary) = rows(text);
    assert_eq!(
        (operations[0].file.as_str(), operations[0].level, operations[0].outcome, operations[0].handle),
        ("a,\"b", Level::Paging, Outcome::EndOfFile, 9)
    );
    assert_eq!((operations[0].duration_ns, operations[1].start_ns), (Some(500_000_000), 2000));
    assert_eq!(operations.len(), 3);
    assert_eq!(summary.losses.count(LossKind::Unreadable), 1);
}

#[test]
fn reports_unreadable_process_monitor_logs() {
    let mut log = vec![0; 0x3a8];
    log[..8].copy_from_slice(b"PML_\x09\0\0\0");
    assert_eq!(read(&log, &mut |_| {}).unwrap_err(), Error::NotClosed);
    log[4] = 8;
    assert_eq!(read(&log, &mut |_| {}).unwrap_err(), Error::Version { version: 8 });
    assert_eq!(read(b"PML_", &mut |_| {}).unwrap_err(), Error::Outside { what: "the header", offset: 4 });
}
