//! Real recordings, which are not in the repository, compared with the numbers of other programs.

use std::collections::{BTreeMap, BTreeSet};

use onoff_fileio::{Format, Level, OperationKind, Outcome, Summary, read};
use onoff_testkit::real_recordings::samples_folder;

/// The numbers in the paper's table, counted naively.
#[derive(Debug, Default, PartialEq)]
struct Table {
    requests: u64,
    bytes: u64,
    unique_pages: usize,
    files: usize,
    exact: u64,
    four_byte_requests: u64,
}

fn summarize_reads(bytes: &[u8], process: Option<u32>) -> (Table, Summary) {
    let mut table = Table::default();
    let (mut pages, mut files) = (BTreeSet::new(), BTreeMap::new());
    let summary = read(bytes, &mut |operation| {
        if operation.kind != OperationKind::Read
            || operation.outcome != Outcome::Done
            || process.is_some_and(|pid| operation.pid != Some(pid))
        {
            return;
        }
        let new_index = files.len();
        let file = *files.entry(operation.file.to_owned()).or_insert(new_index);
        table.requests += 1;
        table.bytes += operation.length;
        table.four_byte_requests += u64::from(operation.length == 4);
        table.exact += 1;
        if operation.length > 0 {
            let last_page = (operation.offset + operation.length - 1) / 4096;
            table.exact += last_page - operation.offset / 4096 + 1;
            pages.extend((operation.offset / 4096..=last_page).map(|page| (file, page)));
        }
    })
    .unwrap();
    table.unique_pages = pages.len();
    table.files = files.len();
    (table, summary)
}

/// Decompresses a zlib stream.
fn decompress(path: std::path::PathBuf) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec_zlib(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn process_monitor_csv_and_log_are_equivalent() {
    let Some(folder) = samples_folder("fileio/procmon") else {
        return;
    };
    let csv = decompress(folder.join("CompressedLogfileTests64bitUTCCSV.zz"));
    let log = decompress(folder.join("CompressedLogfileTests64bitUTCPML.zz"));
    // Counted by procmon-parser 0.4.0 and a Python reader of the CSV.
    let table =
        Table { requests: 1376, bytes: 4_268_079, unique_pages: 1046, files: 57, exact: 3699, four_byte_requests: 192 };
    let explorer =
        Table { requests: 1141, bytes: 212_944, unique_pages: 46, files: 8, exact: 2322, four_byte_requests: 192 };
    for (bytes, format) in [(&csv, Format::ProcessMonitorCsv), (&log, Format::ProcessMonitorLog)] {
        let (measured, summary) = summarize_reads(bytes, None);
        assert_eq!((summary.format, summary.records), (format, 53_214));
        assert_eq!(summary.losses.iter().count(), 0, "{:?}", summary.losses);
        assert_eq!(measured, table);
        assert_eq!(summarize_reads(bytes, Some(3596)).0, explorer);
    }
    let rows = |bytes: &[u8]| {
        let mut rows = Vec::new();
        read(bytes, &mut |operation| {
            let timing = (operation.start_ns, operation.duration_ns, operation.offset, operation.length);
            let origin = (operation.pid, operation.tid, operation.process.to_owned(), operation.file.to_owned());
            rows.push((operation.kind, operation.level, operation.outcome, operation.unbuffered, timing, origin));
        })
        .unwrap();
        rows
    };
    let (csv_rows, log_rows) = (rows(&csv), rows(&log));
    assert_eq!(csv_rows.len(), log_rows.len());
    for (csv, log) in csv_rows.iter().zip(&log_rows) {
        assert_eq!(csv, log);
    }
    let levels = |level| {
        let reads = log_rows.iter().filter(|row| row.0 == OperationKind::Read && row.1 == level);
        reads.filter(|row| row.2 == Outcome::Done).count()
    };
    assert_eq!((levels(Level::Application), levels(Level::Paging)), (1205, 171));
}

#[test]
fn strace_formats_are_equivalent() {
    let Some(folder) = samples_folder("fileio/strace") else {
        return;
    };
    let [without_paths, with_paths] = ["fourbyte.strace-f-tt-T.txt", "fourbyte.strace-f-ttt-T-y.txt"]
        .map(|name| std::fs::read(folder.join(name)).unwrap());
    let table =
        Table { requests: 2311, bytes: 495_968, unique_pages: 102, files: 2, exact: 4622, four_byte_requests: 2000 };
    let (measured, summary) = summarize_reads(&without_paths, None);
    assert_eq!(measured, table, "{summary:?}");
    assert_eq!(summarize_reads(&with_paths, None).0, table);
    // Without thread and time, as plain `strace` prints it.
    let bare: String = str::from_utf8(&without_paths)
        .unwrap()
        .lines()
        .filter_map(|line| line.splitn(4, ' ').nth(3))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert_eq!(summarize_reads(bare.as_bytes(), None).0, table);
}

#[test]
fn fio_logs_are_equivalent() {
    let Some(folder) = samples_folder("fileio/fio") else {
        return;
    };
    let (iolog, summary) = summarize_reads(&std::fs::read(folder.join("rr.iolog")).unwrap(), None);
    assert_eq!((summary.format, summary.losses.iter().count()), (Format::FioIolog, 0));
    let (latency, summary) = summarize_reads(&std::fs::read(folder.join("rr_lat.1.log")).unwrap(), None);
    assert_eq!((summary.format, summary.losses.iter().count()), (Format::FioLog, 0));
    // Both logs recorded the same job.
    assert_eq!(
        (iolog.requests, iolog.bytes, iolog.unique_pages),
        (latency.requests, latency.bytes, latency.unique_pages)
    );
}
