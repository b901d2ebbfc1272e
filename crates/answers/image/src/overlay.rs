//! Estimates how fast a write filter's overlay fills, from recorded writes.

use std::cmp::Reverse;

use hashbrown::{HashMap, HashSet};
use onoff_trace::{DiskOperation, TableName, TableSet, Trace};
use serde::Serialize;

use onoff_usage::processes::Images;

/// The tables that [`overlay_growth`] reads.
pub const OVERLAY_TABLES: TableSet = TableSet::from_names(&[TableName::DiskIos, TableName::Processes]);
/// Number of points of the curve.
const CURVE_POINTS: usize = 60;
/// Maximum number of distinct clusters: 16 GiB of overlay in 4 KiB clusters.
const MAX_CLUSTERS: usize = 4 << 20;

/// Overlay configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverlayLimits {
    /// Cluster size, bytes: the minimum that a write occupies.
    pub cluster_bytes: u64,
    /// Maximum overlay size, bytes.
    pub max_bytes: Option<u64>,
    /// Warning threshold, bytes.
    pub warning_bytes: Option<u64>,
    /// Excluded folders and files relative to the volume, e.g. `\Windows\Prefetch`.
    pub exclusions: Vec<String>,
}

impl Default for OverlayLimits {
    fn default() -> Self {
        Self { cluster_bytes: 4096, max_bytes: None, warning_bytes: None, exclusions: Vec::new() }
    }
}

/// A file, folder or program that fills the overlay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverlayOwner {
    /// Path, folder or image name; empty if unknown.
    pub name: String,
    /// Bytes in clusters that this owner was the first to write.
    pub new_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// Overlay size at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverlayPoint {
    /// Time, ns.
    pub time_ns: i64,
    /// Overlay size, bytes.
    pub bytes: u64,
}

/// Growth of an overlay. A cluster counts on its first write; rewriting adds nothing, and deleting frees nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverlayGrowth {
    /// Size at the end of the recording, bytes.
    pub bytes: u64,
    /// Bytes written, including rewrites.
    pub written_bytes: u64,
    /// Bytes in excluded clusters.
    pub excluded_bytes: u64,
    /// Growth in the last third of the recording, bytes per hour; `None` for recordings shorter than a second.
    pub bytes_per_hour: Option<f64>,
    /// Time until the warning threshold at this rate, ns; `None` if never reached or the threshold is unknown.
    pub warning_in_ns: Option<i64>,
    /// Time until the overlay is full at this rate, ns.
    pub full_in_ns: Option<i64>,
    /// Maximum overlay size, bytes.
    pub max_bytes: Option<u64>,
    /// Share of `\Windows\Prefetch`, percent.
    pub prefetch_percent: f64,
    /// Size over time.
    pub curve: Vec<OverlayPoint>,
    /// Files by new bytes.
    pub files: Vec<OverlayOwner>,
    /// Folders by new bytes: the savings from excluding each.
    pub folders: Vec<OverlayOwner>,
    /// Programs by new bytes.
    pub processes: Vec<OverlayOwner>,
    /// Bytes written to unknown files: file system metadata, or files whose names were not recorded.
    pub unnamed_bytes: u64,
    /// True if there were too many clusters to distinguish; the growth is then underestimated.
    pub is_truncated: bool,
}

/// (new bytes, written bytes) by name.
#[derive(Default)]
struct Owners(HashMap<String, (u64, u64)>);

impl Owners {
    fn add(&mut self, name: &str, new_bytes: u64, written_bytes: u64) {
        if let Some(sums) = self.0.get_mut(name) {
            *sums = (sums.0 + new_bytes, sums.1.saturating_add(written_bytes));
        } else {
            self.0.insert(name.to_owned(), (new_bytes, written_bytes));
        }
    }

    fn finish(self) -> Vec<OverlayOwner> {
        let owner = |(name, (new_bytes, written_bytes))| OverlayOwner { name, new_bytes, written_bytes };
        let mut owners: Vec<OverlayOwner> = self.0.into_iter().map(owner).collect();
        owners.sort_by(|a, b| (Reverse(a.new_bytes), &a.name).cmp(&(Reverse(b.new_bytes), &b.name)));
        owners.truncate(100);
        owners
    }
}

/// True if `path` is in the folder or file `location`, which is relative to the volume; the path may start with a drive
/// or a device.
fn is_within(path: &str, location: &str) -> bool {
    let (path, location) = (path.to_lowercase(), location.to_lowercase());
    let location = location.get(1..2).filter(|&colon| colon == ":").map_or(location.as_str(), |_| &location[2..]);
    let location = location.trim_end_matches('\\');
    if location.is_empty() {
        return false;
    }
    // Compare only at the start of the path after the drive or device.
    let volume_path = match path.strip_prefix(r"\device\") {
        Some(rest) => rest.find('\\').and_then(|index| rest.get(index..)).unwrap_or_default(),
        None => path.get(1..2).filter(|&colon| colon == ":").map_or(path.as_str(), |_| &path[2..]),
    };
    volume_path.strip_prefix(location).is_some_and(|rest| rest.is_empty() || rest.starts_with('\\'))
}

/// Estimates the growth of an overlay under the recorded disk writes; `None` without disk writes.
#[must_use]
pub fn overlay_growth(trace: &Trace, limits: &OverlayLimits) -> Option<OverlayGrowth> {
    let cluster_bytes = limits.cluster_bytes.max(512);
    let mut writes: Vec<_> = trace.disk_ios.iter().filter(|row| row.operation == DiskOperation::Write).collect();
    if writes.is_empty() {
        return None;
    }
    writes.sort_by_key(|row| row.complete_ns);
    let images = Images::new(trace);
    let mut growth = OverlayGrowth { max_bytes: limits.max_bytes, ..OverlayGrowth::default() };
    let mut written_clusters: HashSet<(u32, u64)> = HashSet::new();
    let (mut files, mut folders, mut processes) = (Owners::default(), Owners::default(), Owners::default());
    let mut prefetch_bytes = 0;
    let duration_ns = trace.duration_ns.max(1);
    let mut curve = vec![0_u64; CURVE_POINTS];
    let last_third_start_ns = duration_ns / 3 * 2;
    let mut last_third_bytes = 0_u64;
    for row in &writes {
        let file = trace.strings.get(row.file);
        growth.written_bytes = growth.written_bytes.saturating_add(row.size);
        let first_cluster = row.offset / cluster_bytes;
        let end_cluster = row.offset.saturating_add(row.size).div_ceil(cluster_bytes);
        let is_excluded = limits.exclusions.iter().any(|location| is_within(file, location));
        let mut new_bytes = 0;
        for cluster in first_cluster..end_cluster {
            if written_clusters.len() >= MAX_CLUSTERS {
                growth.is_truncated = true;
                break;
            }
            new_bytes += u64::from(written_clusters.insert((row.disk, cluster))) * cluster_bytes;
        }
        if is_excluded {
            growth.excluded_bytes += new_bytes;
            continue;
        }
        growth.bytes += new_bytes;
        if row.complete_ns >= last_third_start_ns {
            last_third_bytes += new_bytes;
        }
        let point =
            i128::from(row.complete_ns.clamp(0, duration_ns - 1)) * CURVE_POINTS as i128 / i128::from(duration_ns);
        if let Some(sum) = usize::try_from(point).ok().and_then(|point| curve.get_mut(point)) {
            *sum += new_bytes;
        }
        if is_within(file, r"\Windows\Prefetch") {
            prefetch_bytes += new_bytes;
        }
        if file.is_empty() {
            growth.unnamed_bytes += new_bytes;
        }
        files.add(file, new_bytes, row.size);
        folders.add(file.rfind('\\').and_then(|end| file.get(..end)).unwrap_or_default(), new_bytes, row.size);
        processes.add(
            row.pid.and_then(|pid| images.image_at(pid, row.complete_ns)).unwrap_or_default(),
            new_bytes,
            row.size,
        );
    }
    let mut sum = 0;
    let points = curve.into_iter().enumerate().map(|(index, new_bytes)| {
        sum += new_bytes;
        let time_ns = (i128::from(duration_ns) * (index as i128 + 1) / CURVE_POINTS as i128) as i64;
        OverlayPoint { time_ns, bytes: sum }
    });
    growth.curve = points.collect();
    growth.prefetch_percent = if growth.bytes == 0 { 0.0 } else { prefetch_bytes as f64 * 100.0 / growth.bytes as f64 };
    (growth.files, growth.folders, growth.processes) = (files.finish(), folders.finish(), processes.finish());
    if trace.duration_ns >= 1_000_000_000 {
        let hours = (duration_ns - last_third_start_ns) as f64 / 3.6e12;
        let bytes_per_hour = last_third_bytes as f64 / hours;
        growth.bytes_per_hour = Some(bytes_per_hour);
        let time_to = |limit: Option<u64>| {
            let remaining_bytes = limit?.saturating_sub(growth.bytes) as f64;
            (bytes_per_hour > 0.0).then(|| (remaining_bytes / bytes_per_hour * 3.6e12) as i64)
        };
        growth.warning_in_ns = time_to(limits.warning_bytes);
        growth.full_in_ns = time_to(limits.max_bytes);
    }
    Some(growth)
}
