//! The intervals of one lane, and their drawing.
//!
//! A lane has any number of intervals. Overlapping intervals are placed on separate rows, so that the intervals of a
//! row are sequential. The intervals that start in a pixel are then a contiguous range of the row, found by binary
//! search, and the longest of a range is found in a segment tree. A query takes time proportional to its pixels, not to
//! the number of intervals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Serialize;

/// What a slice shows. A front end maps it to a color and a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Tone {
    /// Mere existence: the lifetime of a process.
    Present,
    /// A service's host process being started.
    Container,
    /// A service's image being loaded.
    Load,
    /// A service's or unit's own initialization, or its stop.
    Initialize,
    /// A driver blocked its caller.
    Blocked,
    /// A driver had returned and completes the request later.
    Pended,
    /// A thread ran.
    Ran,
    /// A thread was ready but had no processor.
    Ready,
    /// A wait for a disk.
    Disk,
    /// A wait for a timer.
    Timer,
    /// A wait for an interrupt or DPC.
    Interrupt,
    /// A wait for a service.
    Service,
    /// Unknown.
    Unknown,
    /// A notification, until its response.
    Notified,
    /// Other work.
    Work,
    /// Failed or timed out.
    Failed,
    /// A wait for another thread.
    Thread,
}

impl Tone {
    /// Every tone, by number.
    pub const ALL: [Self; 17] = [
        Self::Present,
        Self::Container,
        Self::Load,
        Self::Initialize,
        Self::Blocked,
        Self::Pended,
        Self::Ran,
        Self::Ready,
        Self::Disk,
        Self::Timer,
        Self::Interrupt,
        Self::Service,
        Self::Unknown,
        Self::Notified,
        Self::Work,
        Self::Failed,
        Self::Thread,
    ];

    /// Returns the tone with this number; unknown if there is none.
    fn from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Unknown)
    }
}

/// An interval of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSlice {
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns; not before the start.
    pub end_ns: i64,
    /// Label.
    pub label: String,
    /// Tone.
    pub tone: Tone,
    /// Thread whose waits explain the interval.
    pub thread: Option<u32>,
    /// Process, if the interval belongs to all of its threads.
    pub process: Option<u32>,
}

impl LaneSlice {
    /// Creates an interval without a thread; the end is clamped to the start.
    #[must_use]
    pub fn new(start_ns: i64, end_ns: i64, label: String, tone: Tone) -> Self {
        Self { start_ns, end_ns: end_ns.max(start_ns), label, tone, thread: None, process: None }
    }

    /// Sets the thread whose waits explain the interval.
    #[must_use]
    pub const fn with_thread(mut self, tid: Option<u32>) -> Self {
        self.thread = tid;
        self
    }

    /// Sets the process of the interval.
    #[must_use]
    pub const fn with_process(mut self, pid: Option<u32>) -> Self {
        self.process = pid;
        self
    }
}

/// The drawing of a row: one entry per interval, or per group of intervals within one pixel. Arrays of equal length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrawnRow {
    /// Starts, ns.
    pub start_ns: Vec<i64>,
    /// Ends, ns.
    pub end_ns: Vec<i64>,
    /// Label of the longest interval, as an index into [`DrawnSlices::labels`].
    pub label: Vec<u32>,
    /// Tone of the longest interval, by number.
    pub tone: Vec<u8>,
    /// Number of intervals in the entry.
    pub count: Vec<u32>,
    /// Thread of the longest interval, 0 for none. Empty if no interval of the row has one.
    pub thread: Vec<u32>,
    /// Process of the longest interval, 0 for none. Empty if no interval of the row has one.
    pub process: Vec<u32>,
}

/// The drawing of a lane of slices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DrawnSlices {
    /// Labels referenced by the rows.
    pub labels: Vec<String>,
    /// Rows, top first.
    pub rows: Vec<DrawnRow>,
    /// Number of intervals hidden because they overlap more than the maximum number of rows.
    pub hidden: u32,
}

/// Maximum number of rows of a lane; intervals that overlap more are only counted.
pub const MAX_ROWS: usize = 24;

#[derive(Clone, Debug, Default)]
struct Row {
    starts: Vec<i64>,
    ends: Vec<i64>,
    labels: Vec<u32>,
    tones: Vec<u8>,
    /// Empty if no interval has a thread.
    threads: Vec<u32>,
    /// Empty if no interval has a process.
    processes: Vec<u32>,
    /// Segment tree over durations: leaves from `starts.len()`, each inner node is the index of its longer child.
    longest: Vec<u32>,
}

impl Row {
    fn duration_ns(&self, index: u32) -> i64 {
        let index = index as usize;
        self.ends[index].saturating_sub(self.starts[index])
    }

    fn longer(&self, a: u32, b: u32) -> u32 {
        if self.duration_ns(b) > self.duration_ns(a) { b } else { a }
    }

    fn build_index(&mut self) {
        for ids in [&mut self.threads, &mut self.processes] {
            if ids.iter().all(|&id| id == 0) {
                *ids = Vec::new();
            }
        }
        let count = self.starts.len();
        self.longest = vec![0; count * 2];
        for leaf in 0..count {
            self.longest[count + leaf] = u32::try_from(leaf).unwrap_or(u32::MAX);
        }
        for node in (1..count).rev() {
            self.longest[node] = self.longer(self.longest[node * 2], self.longest[node * 2 + 1]);
        }
    }

    /// Returns the longest interval of `start..end`, which must not be empty.
    fn longest_of(&self, start: usize, end: usize) -> usize {
        let count = self.starts.len();
        let (mut low, mut high) = (start + count, end + count);
        let mut best = self.longest[low];
        while low < high {
            if low % 2 == 1 {
                best = self.longer(best, self.longest[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                best = self.longer(best, self.longest[high]);
            }
            low /= 2;
            high /= 2;
        }
        best as usize
    }

    fn draw(&self, from_ns: i64, to_ns: i64, pixels: u32, emit: &mut impl FnMut(Entry)) {
        let width_ns = (i128::from(to_ns) - i128::from(from_ns)).max(1);
        let pixels = i128::from(pixels.max(1));
        let pixel_of = |time_ns: i64| (i128::from(time_ns) - i128::from(from_ns)) * pixels / width_ns;
        let time_of = |pixel: i128| {
            i64::try_from(i128::from(from_ns) + (pixel * width_ns + pixels - 1) / pixels).unwrap_or(i64::MAX)
        };
        let is_wide =
            |index: usize| i128::from(self.ends[index].saturating_sub(self.starts[index])) * pixels >= width_ns;
        let mut index = self.ends.partition_point(|&end| end < from_ns);
        while index < self.starts.len() && self.starts[index] < to_ns {
            if is_wide(index) || self.starts[index] < from_ns {
                emit(Entry { first: index, last: index, longest: index });
                index += 1;
                continue;
            }
            let pixel_end_ns = time_of(pixel_of(self.starts[index]) + 1).min(to_ns);
            let mut next_index = index + self.starts[index..].partition_point(|&start| start < pixel_end_ns);
            next_index = next_index.max(index + 1);
            // Only the last interval that starts in a pixel can extend beyond it.
            let is_last_wide = next_index > index + 1 && is_wide(next_index - 1);
            let merged_end = if is_last_wide { next_index - 1 } else { next_index };
            emit(Entry { first: index, last: merged_end - 1, longest: self.longest_of(index, merged_end) });
            index = merged_end;
        }
    }
}

struct Entry {
    first: usize,
    last: usize,
    longest: usize,
}

/// An indexed lane of intervals.
#[derive(Clone, Debug, Default)]
pub struct SliceLane {
    labels: Vec<String>,
    rows: Vec<Row>,
    hidden: u32,
    slices: usize,
    total_ns: i64,
}

impl SliceLane {
    /// Builds a lane from `slices` in any order. The end of each is clamped to its start.
    #[must_use]
    pub fn new(mut slices: Vec<LaneSlice>) -> Self {
        slices.sort_by_key(|slice| (slice.start_ns, Reverse(slice.end_ns)));
        let mut lane = Self { slices: slices.len(), ..Self::default() };
        let mut label_indexes = hashbrown::HashMap::new();
        // Rows by the time they become free; of the free rows, the topmost first.
        let mut busy: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
        let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
        for slice in slices {
            let end_ns = slice.end_ns.max(slice.start_ns);
            lane.total_ns = lane.total_ns.saturating_add(end_ns.saturating_sub(slice.start_ns));
            while let Some(&Reverse((until_ns, row))) = busy.peek()
                && until_ns <= slice.start_ns
            {
                busy.pop();
                free.push(Reverse(row));
            }
            let row = match free.pop() {
                Some(Reverse(row)) => row,
                None if lane.rows.len() < MAX_ROWS => {
                    lane.rows.push(Row::default());
                    lane.rows.len() - 1
                }
                None => {
                    lane.hidden = lane.hidden.saturating_add(1);
                    continue;
                }
            };
            busy.push(Reverse((end_ns, row)));
            let next_label = u32::try_from(lane.labels.len()).unwrap_or(u32::MAX);
            let label = *label_indexes.entry(slice.label.clone()).or_insert(next_label);
            if label == next_label {
                lane.labels.push(slice.label);
            }
            let Some(row) = lane.rows.get_mut(row) else { continue };
            row.starts.push(slice.start_ns);
            row.ends.push(end_ns);
            row.labels.push(label);
            row.tones.push(slice.tone as u8);
            row.threads.push(slice.thread.unwrap_or(0));
            row.processes.push(slice.process.unwrap_or(0));
        }
        lane.rows.iter_mut().for_each(Row::build_index);
        lane
    }

    /// Returns the intervals of each row in time order, without overlap: (start in ns, end in ns, label, tone).
    pub fn slice_rows(&self) -> impl Iterator<Item = impl Iterator<Item = (i64, i64, &str, Tone)>> {
        self.rows.iter().map(|row| {
            (0..row.starts.len()).map(|index| {
                let label = self.labels.get(row.labels[index] as usize).map_or("", String::as_str);
                (row.starts[index], row.ends[index], label, Tone::from_number(row.tones[index]))
            })
        })
    }

    /// Number of intervals.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slices
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slices == 0
    }

    /// Total duration, ns.
    #[must_use]
    pub fn total_ns(&self) -> i64 {
        self.total_ns
    }

    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Draws `from_ns..to_ns` in `pixels` pixels, with at most two entries per pixel in each row.
    #[must_use]
    pub fn draw(&self, from_ns: i64, to_ns: i64, pixels: u32) -> DrawnSlices {
        let mut drawn = DrawnSlices { hidden: self.hidden, ..DrawnSlices::default() };
        let mut local_labels = hashbrown::HashMap::new();
        for row in &self.rows {
            let mut entries = DrawnRow::default();
            row.draw(from_ns, to_ns, pixels, &mut |entry| {
                let label = row.labels[entry.longest];
                let next_label = u32::try_from(drawn.labels.len()).unwrap_or(u32::MAX);
                let local = *local_labels.entry(label).or_insert(next_label);
                if local == next_label {
                    drawn.labels.push(self.labels[label as usize].clone());
                }
                entries.start_ns.push(row.starts[entry.first]);
                entries.end_ns.push(row.ends[entry.last]);
                entries.label.push(local);
                entries.tone.push(row.tones[entry.longest]);
                entries.count.push(u32::try_from(entry.last + 1 - entry.first).unwrap_or(u32::MAX));
                entries.thread.extend(row.threads.get(entry.longest));
                entries.process.extend(row.processes.get(entry.longest));
            });
            drawn.rows.push(entries);
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(start_ns: i64, end_ns: i64, label: &str) -> LaneSlice {
        LaneSlice::new(start_ns, end_ns, label.to_owned(), Tone::Work)
    }

    /// Reproducible pseudo-random numbers.
    fn numbers(mut state: u64) -> impl FnMut(i64) -> i64 {
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(state >> 33).unwrap() % below
        }
    }

    #[test]
    fn places_overlapping_intervals_on_separate_rows() {
        let lane = SliceLane::new(vec![slice(0, 10, "a"), slice(5, 15, "b"), slice(10, 20, "c")]);
        assert_eq!(lane.row_count(), 2);
        let drawn = lane.draw(0, 20, 20);
        assert_eq!(drawn.rows[0].start_ns, [0, 10]);
        assert_eq!(drawn.rows[1].start_ns, [5]);
        assert_eq!(drawn.labels, ["a", "c", "b"]);
    }

    #[test]
    fn pixel_shows_longest_interval_and_count() {
        let lane = SliceLane::new(vec![
            slice(0, 1, "short"),
            slice(1, 4, "longer"),
            slice(4, 5, "short"),
            slice(50, 90, "wide"),
        ]);
        let drawn = lane.draw(0, 100, 10);
        assert_eq!(drawn.rows[0].count, [3, 1]);
        assert_eq!(drawn.labels, ["longer", "wide"]);
        assert_eq!((drawn.rows[0].start_ns[0], drawn.rows[0].end_ns[0]), (0, 5));
    }

    #[test]
    fn shows_intervals_that_overlap_range() {
        let lane = SliceLane::new(vec![
            slice(0, 10, "over"),
            slice(20, 90, "into"),
            slice(95, 99, "in"),
            slice(200, 300, "later"),
        ]);
        let drawn = lane.draw(50, 150, 100);
        assert_eq!(drawn.labels, ["into", "in"]);
    }

    #[test]
    fn counts_every_interval_once_within_two_entries_per_pixel() {
        let mut random = numbers(7);
        let slices: Vec<LaneSlice> = (0..20_000)
            .map(|index| {
                let start_ns = random(1_000_000);
                slice(start_ns, start_ns + random(if index % 50 == 0 { 40_000 } else { 60 }), "x")
            })
            .collect();
        let lane = SliceLane::new(slices.clone());
        for (from_ns, to_ns, pixels) in
            [(0, 1_100_000, 800_u32), (0, 1_100_000, 1), (300_000, 340_000, 640), (999_990, 1_000_010, 100)]
        {
            let drawn = lane.draw(from_ns, to_ns, pixels);
            let counted: u64 = drawn.rows.iter().flat_map(|row| &row.count).map(|&count| u64::from(count)).sum();
            let overlapping = slices
                .iter()
                .filter(|slice| slice.start_ns < to_ns && slice.end_ns.max(slice.start_ns) >= from_ns)
                .count();
            assert_eq!(
                counted,
                overlapping as u64 - u64::from(drawn.hidden).min(overlapping as u64),
                "{from_ns}..{to_ns}"
            );
            for row in &drawn.rows {
                assert!(row.count.len() <= pixels as usize * 2 + 1, "{} entries in {pixels} pixels", row.count.len());
            }
        }
    }

    /// An entry computed naively: start, end, count, and longest duration.
    type Expected = (i64, i64, u32, i64);

    /// Draws a row without an index: wide intervals and those that started before the range individually, the others by
    /// the pixel they start in.
    fn draw_naively(row: &[(i64, i64, &str)], from_ns: i64, to_ns: i64, pixels: u32) -> Vec<Expected> {
        let width_ns = i128::from(to_ns - from_ns);
        let mut entries: Vec<(Option<i128>, Expected)> = Vec::new();
        for &(start_ns, end_ns, _) in row.iter().filter(|&&(start, end, _)| end >= from_ns && start < to_ns) {
            let duration_ns = end_ns - start_ns;
            let is_alone = start_ns < from_ns || i128::from(duration_ns) * i128::from(pixels) >= width_ns;
            let pixel = (!is_alone).then(|| i128::from(start_ns - from_ns) * i128::from(pixels) / width_ns);
            match entries.last_mut() {
                Some((last, (_, end, count, longest))) if pixel.is_some() && *last == pixel => {
                    (*end, *count, *longest) = (end_ns, *count + 1, (*longest).max(duration_ns));
                }
                _ => entries.push((pixel, (start_ns, end_ns, 1, duration_ns))),
            }
        }
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    proptest::proptest! {
        #[test]
        fn drawing_matches_naive_drawing(
            intervals in proptest::collection::vec((0_i64..5_000, 0_i64..300), 0..250),
            from_ns in -200_i64..5_200,
            width_ns in 1_i64..6_000,
            pixels in 1_u32..400,
        ) {
            let numbered = intervals.iter().enumerate();
            let lane = SliceLane::new(numbered.map(|(index, &(start, length))| slice(start, start + length, &index.to_string())).collect());
            let drawn = lane.draw(from_ns, from_ns + width_ns, pixels);
            let mut kept = 0;
            for (row, shown) in lane.slice_rows().zip(&drawn.rows) {
                let row: Vec<(i64, i64, &str)> = row.map(|(start, end, label, _)| (start, end, label)).collect();
                kept += row.len();
                let expected = draw_naively(&row, from_ns, from_ns + width_ns, pixels);
                let of_label = |label: u32| {
                    let label = &drawn.labels[label as usize];
                    row.iter().find(|(_, _, name)| name == label).map(|(start, end, _)| end - start)
                };
                let found: Vec<Expected> = (0..shown.count.len())
                    .map(|at| (shown.start_ns[at], shown.end_ns[at], shown.count[at], of_label(shown.label[at]).unwrap()))
                    .collect();
                proptest::prop_assert_eq!(found, expected);
            }
            proptest::prop_assert_eq!(kept + drawn.hidden as usize, intervals.len());
        }
    }

    #[test]
    #[ignore = "20 million intervals: half a minute and 3 GB; cargo test -p onoff-lanes million -- --ignored --nocapture"]
    fn drawing_time_is_independent_of_interval_count() {
        use std::time::{Duration, Instant};
        let drawing = |count: i64| {
            let started = Instant::now();
            let slices = (0..count).map(|index| {
                slice(index * 1_000, index * 1_000 + 1 + index % 900, if index % 2 == 0 { "a" } else { "b" })
            });
            let lane = SliceLane::new(slices.collect());
            let indexed_in = started.elapsed();
            // The whole, a tenth, a thousandth, and a few intervals, each at three positions.
            let end_ns = count * 1_000;
            let mut longest = Duration::ZERO;
            for width_ns in [end_ns, end_ns / 10, end_ns / 1_000, 5_000] {
                for from_ns in [0, end_ns / 3, end_ns - width_ns] {
                    let drawn = Instant::now();
                    let lane = lane.draw(from_ns, from_ns + width_ns, 1_920);
                    longest = longest.max(drawn.elapsed());
                    assert!(lane.rows.iter().all(|row| row.count.len() <= 2 * 1_920 + 1));
                }
            }
            eprintln!(
                "{count} intervals: indexed in {indexed_in:?}, the longest of 12 drawings of 1,920 pixels {longest:?}"
            );
            longest
        };
        let few = drawing(20_000);
        let many = drawing(20_000_000);
        // A thousand times the intervals, and twice the steps per search.
        assert!(many < few * 20 + Duration::from_millis(20), "{few:?} of 20,000 and {many:?} of 20,000,000");
    }

    #[test]
    fn handles_extreme_times() {
        let lane = SliceLane::new(vec![slice(i64::MIN, i64::MAX, "all"), slice(5, 1, "backwards")]);
        let drawn = lane.draw(i64::MIN, i64::MAX, 1000);
        assert_eq!(drawn.rows.len(), 2);
        assert_eq!(SliceLane::new(Vec::new()).draw(0, 0, 0).rows.len(), 0);
    }
}
