//! Joins the files that `strace -ff` writes, one per thread, into one recording.
//!
//! The lines have no thread id: it is the end of the file's name. Threads share open files, so the calls of all files
//! are put in the order of their times.

use super::line::{self, Time};
use crate::number::lines;

/// A file of `strace -ff`.
#[derive(Clone, Copy, Debug)]
pub struct ThreadFile<'f> {
    /// Thread id, from the name of the file.
    pub tid: u32,
    /// Content.
    pub bytes: &'f [u8],
}

/// Returns the thread id at the end of a file name: 4711 for `run.4711`.
#[must_use]
pub fn thread_id_of_file(name: &str) -> Option<u32> {
    let (stem, id) = name.rsplit_once('.')?;
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    // Rotated logs end with small numbers, thread ids of one run with different ones; both need a stem.
    (is_number && !stem.is_empty()).then(|| id.parse().ok()).flatten()
}

/// The joined recording.
#[derive(Clone, Debug)]
pub struct JoinedFiles {
    /// Lines of all files with their thread ids.
    pub bytes: Vec<u8>,
    /// True if the lines have times; without times, the files follow each other.
    pub is_ordered: bool,
}

const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// Joins the files of one run; `None` if a file has lines with thread ids, so it is not a file of `strace -ff`.
#[must_use]
pub fn join_thread_files(files: &[ThreadFile<'_>]) -> Option<JoinedFiles> {
    let mut all: Vec<(i64, u32, &[u8])> = Vec::new();
    let mut first_times = Vec::new();
    let mut is_ordered = true;
    let mut total_bytes = 0;
    for file in files {
        let first_index = all.len();
        let mut now_ns = None;
        let mut midnights = crate::number::MidnightUnwrapper::default();
        for (_, line) in lines(file.bytes) {
            let text = String::from_utf8_lossy(line);
            let parsed = line::parse(&text);
            if parsed.is_some_and(|parsed| parsed.tid.is_some()) {
                return None;
            }
            match parsed.and_then(|parsed| parsed.time) {
                Some(Time::Unix(ns)) => now_ns = Some(ns),
                Some(Time::Clock(ns)) => now_ns = Some(midnights.unwrap_time(ns)),
                // Differences count from the previous line of the same file, whose time is not known.
                Some(Time::SincePrevious(_)) | None => is_ordered &= parsed.is_none(),
            }
            // A line without a time stays after its predecessor.
            all.push((now_ns.unwrap_or(i64::MIN), file.tid, line));
            total_bytes += line.len() + 16;
        }
        let first_ns = all.get(first_index..).unwrap_or_default().iter().map(|line| line.0).find(|&ns| ns > i64::MIN);
        first_times.push((file.tid, first_ns));
    }
    if is_ordered {
        // A thread that starts after midnight belongs to the next day.
        let latest_ns = first_times.iter().filter_map(|&(_, first_ns)| first_ns).max().unwrap_or(0);
        let is_next_day = |first_ns: i64| first_ns < DAY_NS && latest_ns.saturating_sub(first_ns) > DAY_NS / 2;
        for (tid, _) in first_times.iter().filter(|(_, first_ns)| first_ns.is_some_and(is_next_day)) {
            for line in all.iter_mut().filter(|line| line.1 == *tid && line.0 > i64::MIN) {
                line.0 = line.0.saturating_add(DAY_NS);
            }
        }
        // Stable: lines of one file at the same time keep their order.
        all.sort_by_key(|&(time_ns, ..)| time_ns);
    }
    let mut bytes = Vec::with_capacity(total_bytes);
    for (_, tid, line) in all {
        if line.trim_ascii().is_empty() {
            continue;
        }
        bytes.extend_from_slice(tid.to_string().as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    Some(JoinedFiles { bytes, is_ordered })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(files: &[(u32, &str)]) -> Option<(String, bool)> {
        let files: Vec<_> = files.iter().map(|&(tid, text)| ThreadFile { tid, bytes: text.as_bytes() }).collect();
        join_thread_files(&files).map(|joined| (String::from_utf8(joined.bytes).unwrap(), joined.is_ordered))
    }

    #[test]
    fn joins_by_time() {
        let files = [(7, "10:00:01.5 close(3) = 0\n10:00:03.0 close(4) = 0\n"), (9, "10:00:02.0 close(5) = 0\n")];
        let text = "7 10:00:01.5 close(3) = 0\n9 10:00:02.0 close(5) = 0\n7 10:00:03.0 close(4) = 0\n";
        assert_eq!(join(&files), Some((text.to_owned(), true)));
        // A thread that starts after midnight.
        let files = [(9, "00:00:01.0 close(5) = 0\n"), (7, "23:59:59.0 close(3) = 0\n00:00:02.0 close(4) = 0\n")];
        let text = "7 23:59:59.0 close(3) = 0\n9 00:00:01.0 close(5) = 0\n7 00:00:02.0 close(4) = 0\n";
        assert_eq!(join(&files), Some((text.to_owned(), true)));
    }

    #[test]
    fn files_without_times_follow_each_other() {
        let (text, is_ordered) = join(&[(7, "close(3) = 0\n"), (9, "close(5) = 0")]).unwrap();
        assert_eq!((text.as_str(), is_ordered), ("7 close(3) = 0\n9 close(5) = 0\n", false));
        // Decoy: the lines have thread ids already.
        assert_eq!(join(&[(7, "11 close(3) = 0\n"), (9, "close(5) = 0")]), None);
    }

    #[test]
    fn finds_thread_ids_in_names() {
        assert_eq!(thread_id_of_file("run.4711"), Some(4711));
        assert_eq!(thread_id_of_file("/a.b/run.out.12"), Some(12));
        for name in ["run", "run.txt", ".12", "run.", "run.99999999999"] {
            assert_eq!(thread_id_of_file(name), None, "{name}");
        }
    }
}
