//! File requests as tracks: one per program and one per file.
//!
//! A program may issue thousands of requests within one pixel. Consecutive requests of one program to one file without
//! a pause form one interval, labeled with their number and bytes.

use hashbrown::HashMap;
use onoff_trace::{FileIo, FileOperation, IoOrigin, StringId, Trace};

use super::slices::{LaneSlice, SliceLane, Tone};
use super::{Lane, Track, TrackGroup};
use onoff_usage::processes::Images;

/// Maximum number of programs, and of files, with a separate track. Those with the most requests get one; the rest
/// share one.
const MAX_TRACKS: usize = 200;
/// Minimum pause that ends an interval, ns.
const MIN_PAUSE_NS: i64 = 1_000_000;
/// Maximum number of intervals per section, to bound memory. Beyond it, the last interval of a track is extended.
const MAX_INTERVALS: usize = 1 << 19;

/// Kinds of requests that a lane distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestKind {
    Read,
    Write,
    Flush,
    Other,
}

impl RequestKind {
    const fn from_operation(operation: FileOperation) -> Self {
        match operation {
            FileOperation::Read => Self::Read,
            FileOperation::Write => Self::Write,
            FileOperation::Flush => Self::Flush,
            _ => Self::Other,
        }
    }

    const fn tone(self) -> Tone {
        match self {
            Self::Read => Tone::Load,
            Self::Write => Tone::Initialize,
            Self::Flush => Tone::Disk,
            Self::Other => Tone::Notified,
        }
    }

    fn count_phrase(self, requests: u64) -> String {
        let (singular, plural) = match self {
            Self::Read => ("read", "reads"),
            Self::Write => ("write", "writes"),
            Self::Flush => ("flush", "flushes"),
            Self::Other => ("other operation", "other operations"),
        };
        format!("{requests} {}", if requests == 1 { singular } else { plural })
    }
}

/// The subject of a track, or the other side of its intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Party {
    /// A process; `None` if not recorded.
    Program(Option<u32>),
    File(StringId),
}

/// Requests without a pause between them.
struct Run {
    start_ns: i64,
    end_ns: i64,
    kind: RequestKind,
    requests: u64,
    bytes: u64,
    /// The other side: the file for a program, the program for a file.
    counterpart: Party,
    failed: bool,
}

impl Run {
    /// True if `next` continues this run.
    fn continues_with(&self, next: &Self) -> bool {
        (self.kind, self.counterpart, self.failed) == (next.kind, next.counterpart, next.failed)
            && next.start_ns <= self.end_ns.saturating_add(MIN_PAUSE_NS)
    }

    fn add(&mut self, next: &Self) {
        self.end_ns = self.end_ns.max(next.end_ns);
        self.start_ns = self.start_ns.min(next.start_ns);
        self.requests += next.requests;
        self.bytes = self.bytes.saturating_add(next.bytes);
    }
}

/// The runs of all programs or all files.
#[derive(Default)]
struct Side {
    runs: HashMap<Party, (u64, Vec<Run>)>,
    intervals: usize,
}

impl Side {
    fn add(&mut self, party: Party, run: Run) {
        let (requests, runs) = self.runs.entry(party).or_default();
        *requests += 1;
        match runs.last_mut() {
            Some(last) if last.continues_with(&run) || self.intervals >= MAX_INTERVALS => last.add(&run),
            _ => {
                self.intervals += 1;
                runs.push(run);
            }
        }
    }

    /// Builds the tracks, most requests first. `names` returns the name of a party and, for a file, its path.
    fn tracks(self, section: &str, names: impl Fn(Party) -> (String, String)) -> Vec<Track> {
        let mut by_requests: Vec<(Party, (u64, Vec<Run>))> = self.runs.into_iter().collect();
        by_requests.sort_by(|(a, (count_a, _)), (b, (count_b, _))| count_b.cmp(count_a).then(a.cmp(b)));
        let slice = |run: &Run| {
            let summary = format!("{} of {}", run.kind.count_phrase(run.requests), names(run.counterpart).0);
            let label = match run.kind {
                RequestKind::Read | RequestKind::Write => format!("{summary}: {} bytes", run.bytes),
                RequestKind::Flush | RequestKind::Other => summary,
            };
            let tone = if run.failed { Tone::Failed } else { run.kind.tone() };
            LaneSlice::new(run.start_ns, run.end_ns, label, tone)
        };
        let track = |name: String, note: String, slices: Vec<LaneSlice>| Track {
            group: TrackGroup::Requests,
            section: section.to_owned(),
            name,
            note,
            lane: Lane::Slices(SliceLane::new(slices)),
        };
        let remaining = by_requests.split_off(by_requests.len().min(MAX_TRACKS));
        let mut tracks: Vec<Track> = by_requests
            .iter()
            .map(|&(party, (requests, ref runs))| {
                let (name, path) = names(party);
                let note = if path.is_empty() || path == name { String::new() } else { format!("{path}, ") };
                track(name, format!("{note}{}", request_count(requests)), runs.iter().map(slice).collect())
            })
            .collect();
        if !remaining.is_empty() {
            let requests: u64 = remaining.iter().map(|(_, (requests, _))| requests).sum();
            let slices = remaining.iter().flat_map(|(_, (_, runs))| runs).map(slice).collect();
            tracks.push(track(format!("{} more", remaining.len()), request_count(requests), slices));
        }
        tracks
    }
}

fn request_count(requests: u64) -> String {
    format!("{requests} request{}", if requests == 1 { "" } else { "s" })
}

/// Returns the tracks of the file operations in `trace`.
#[must_use]
pub fn request_tracks(trace: &Trace) -> Vec<Track> {
    let images = Images::new(trace);
    let (mut programs, mut files) = (Side::default(), Side::default());
    for row in trace.file_ios.iter() {
        // Requests of the memory manager and the disks repeat those of programs.
        if row.level != IoOrigin::Application {
            continue;
        }
        let (program, file) = (Party::Program(row.pid), Party::File(row.file));
        programs.add(program, run(&row, file));
        files.add(file, run(&row, program));
    }
    let names = |party| match party {
        Party::File(file) => {
            let path = trace.text(file);
            let name = path.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("unnamed file");
            (name.to_owned(), path.to_owned())
        }
        Party::Program(Some(pid)) => match images.image_at(pid, trace.duration_ns) {
            Some(name) if !name.is_empty() => (format!("{name} ({pid})"), String::new()),
            _ => (format!("process {pid}"), String::new()),
        },
        Party::Program(None) => ("unknown process".to_owned(), String::new()),
    };
    let mut tracks = programs.tracks("programs", names);
    tracks.extend(files.tracks("files", names));
    tracks
}

fn run(row: &FileIo, counterpart: Party) -> Run {
    let transfers_data = matches!(row.operation, FileOperation::Read | FileOperation::Write);
    Run {
        start_ns: row.start_ns,
        end_ns: row.end_ns.unwrap_or(row.start_ns).max(row.start_ns),
        kind: RequestKind::from_operation(row.operation),
        requests: 1,
        bytes: if transfers_data { row.size } else { 0 },
        counterpart,
        // NTSTATUS: an error has its two highest bits set.
        failed: row.status.is_some_and(|status| status >> 30 == 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(trace: &mut Trace, start_ns: i64, pid: u32, file: &str, operation: FileOperation, size: u64) -> FileIo {
        trace.duration_ns = trace.duration_ns.max(start_ns + 1_000);
        FileIo {
            start_ns,
            end_ns: Some(start_ns + 1_000),
            operation,
            pid: Some(pid),
            tid: None,
            file: trace.strings.intern(file),
            offset: 0,
            size,
            level: IoOrigin::Application,
            unbuffered: false,
            status: None,
            irp: 0,
            file_object: 0,
        }
    }

    fn request(trace: &mut Trace, start_ns: i64, pid: u32, file: &str, operation: FileOperation, size: u64) {
        let row = row(trace, start_ns, pid, file, operation, size);
        trace.file_ios.push(row);
    }

    fn labels(track: &Track) -> Vec<String> {
        let Lane::Slices(lane) = &track.lane else { panic!("{track:?}") };
        let drawn = lane.draw(0, 1_000_000_000, 1_000_000);
        let row_labels = |row: &super::super::slices::DrawnRow| -> Vec<String> {
            row.label.iter().map(|&index| drawn.labels[index as usize].clone()).collect()
        };
        drawn.rows.iter().flat_map(row_labels).collect()
    }

    #[test]
    fn merges_requests_without_pause() {
        let mut trace = Trace::default();
        for index in 0..100 {
            request(&mut trace, index * 10_000, 7, "/data/a.bin", FileOperation::Read, 4);
        }
        // After a pause: another file, and a write to the first.
        request(&mut trace, 50_000_000, 7, "/data/b.bin", FileOperation::Read, 8);
        request(&mut trace, 60_000_000, 8, "/data/a.bin", FileOperation::Write, 16);
        let tracks = request_tracks(&trace);
        let names: Vec<(&str, &str, &str)> =
            tracks.iter().map(|track| (track.section.as_str(), track.name.as_str(), track.note.as_str())).collect();
        assert_eq!(
            names,
            [
                ("programs", "process 7", "101 requests"),
                ("programs", "process 8", "1 request"),
                ("files", "a.bin", "/data/a.bin, 101 requests"),
                ("files", "b.bin", "/data/b.bin, 1 request"),
            ]
        );
        assert_eq!(labels(&tracks[0]), ["100 reads of a.bin: 400 bytes", "1 read of b.bin: 8 bytes"]);
        assert_eq!(labels(&tracks[2]), ["100 reads of process 7: 400 bytes", "1 write of process 8: 16 bytes"]);
    }

    #[test]
    fn ignores_paging_and_separates_failures() {
        let mut trace = Trace::default();
        request(&mut trace, 0, 7, "a", FileOperation::Read, 4096);
        let read = row(&mut trace, 10, 7, "a", FileOperation::Read, 4096);
        trace.file_ios.push(FileIo { level: IoOrigin::Paging, ..read });
        trace.file_ios.push(FileIo { start_ns: 20, status: Some(0xc000_0011), ..read });
        let tracks = request_tracks(&trace);
        assert_eq!(labels(&tracks[0]), ["1 read of a: 4096 bytes", "1 read of a: 4096 bytes"]);
    }

    #[test]
    fn programs_above_limit_share_a_track() {
        let mut trace = Trace::default();
        for pid in 0..MAX_TRACKS as u32 + 3 {
            request(&mut trace, i64::from(pid) * 5_000_000, pid, "a", FileOperation::Read, 1);
        }
        let tracks = request_tracks(&trace);
        let programs: Vec<&Track> = tracks.iter().filter(|track| track.section == "programs").collect();
        assert_eq!(programs.len(), MAX_TRACKS + 1);
        assert_eq!((programs[MAX_TRACKS].name.as_str(), programs[MAX_TRACKS].note.as_str()), ("3 more", "3 requests"));
    }
}
