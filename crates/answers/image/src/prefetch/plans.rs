//! Plans: of programs and, up to Windows 7, of the boot.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use onoff_prefetch::{PAGE_BYTES, Plan};
use serde::Serialize;

use super::{MAX_PLANS, PrefetchFile, PrefetchOptions, PrefetchReport};

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanReport {
    /// Path or name of its file.
    pub name: String,
    /// Program, at most 29 characters.
    pub executable: String,
    /// Path of the program below its volume; empty where the plan does not name it.
    pub path: String,
    /// Hash of the path it was started from, in hexadecimal.
    pub path_hash: String,
    /// Version of the format.
    pub version: u32,
    /// Whether it is the boot's.
    pub is_boot: bool,
    /// Starts of the program; of a boot's plan, boots.
    pub run_count: u32,
    /// Last start, ns since 1970-01-01 UTC.
    pub last_run_unix_ns: Option<i64>,
    /// When the plan was last written, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
    /// Files that it reads.
    pub files: u64,
    /// Pages of 4 KiB that it reads.
    pub pages: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// Files on other volumes than the one that most of its bytes are on.
    pub other_volume_files: u64,
    /// Whether the program was changed after the plan was written; `None` where either time is not known.
    pub is_older_than_program: Option<bool>,
    /// Files of the system's volume that are no longer there; `None` without the volume.
    pub missing_files: Option<u64>,
    /// Files of it that were changed after the plan was written; `None` without the volume or the plan's time.
    pub newer_files: Option<u64>,
    /// Entries that could not be read.
    pub unreadable: u64,
}

/// A file that plans read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedFile {
    /// Path, as plans name it.
    pub path: String,
    /// Plans that read it.
    pub plans: u64,
    /// Pages that the plan that reads most of it reads.
    pub pages: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// Bytes that all plans together read of it.
    pub planned_bytes: u64,
    /// Bytes of the file; `None` without the volume.
    pub file_bytes: Option<u64>,
}

/// What programs read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedFiles {
    /// Plans.
    pub plans: u64,
    /// Different files.
    pub files: u64,
    /// Bytes when each file is read once, as far as the plan reads it that reads most of it: what a cold start of all of them reads
    /// at least.
    pub bytes: u64,
    /// Bytes that all plans together read.
    pub planned_bytes: u64,
    /// Files of two plans or more.
    pub shared_files: u64,
    /// Bytes of these, each once.
    pub shared_bytes: u64,
}

/// A volume that plans read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedVolume {
    /// Device path.
    pub device: String,
    /// Serial number, in hexadecimal.
    pub serial: String,
    /// Creation, ns since 1970-01-01 UTC.
    pub created_unix_ns: Option<i64>,
    /// Whether Windows lies on it.
    pub is_system: bool,
    /// Plans that read from it.
    pub plans: u64,
    /// Different files.
    pub files: u64,
    /// Bytes, each file once.
    pub bytes: u64,
}

/// Plans in the making.
pub(super) struct Plans<'a> {
    options: &'a PrefetchOptions<'a>,
    plans: Vec<PlanReport>,
    /// By path in capitals.
    files: BTreeMap<String, SharedFile>,
    /// By device in capitals.
    volumes: BTreeMap<String, PlannedVolume>,
    /// Pages of each file of any plan, with the volume it is on.
    placed: BTreeMap<String, (String, u64)>,
    newest: u32,
}

/// Whether a path below a volume lies in Windows' folder.
fn is_of_windows(below: &str) -> bool {
    below.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(r"\WINDOWS\"))
}

/// The path of `file` below `device`.
fn below<'f>(file: &'f str, device: &str) -> Option<&'f str> {
    let start = file.get(..device.len())?;
    let rest = file.get(device.len()..)?;
    (start.eq_ignore_ascii_case(device) && rest.starts_with('\\')).then_some(rest)
}

impl<'a> Plans<'a> {
    pub(super) fn new(options: &'a PrefetchOptions<'a>) -> Self {
        Self {
            options,
            plans: Vec::new(),
            files: BTreeMap::new(),
            volumes: BTreeMap::new(),
            placed: BTreeMap::new(),
            newest: 0,
        }
    }

    pub(super) fn add(&mut self, file: &PrefetchFile, plan: &Plan) {
        self.newest = self.newest.max(plan.version);
        let written = file.modified_unix_ns;
        let mut report = PlanReport {
            name: file.name.clone(),
            executable: plan.executable.clone(),
            path_hash: format!("{:08X}", plan.path_hash),
            version: plan.version,
            is_boot: plan.is_boot,
            run_count: plan.run_count,
            last_run_unix_ns: plan.last_runs_unix_ns.first().copied(),
            modified_unix_ns: written,
            files: plan.files.len() as u64,
            unreadable: plan.unreadable,
            ..PlanReport::default()
        };
        let wanted = &self.options.programs;
        let chosen = wanted.is_empty() || wanted.iter().any(|name| name.eq_ignore_ascii_case(&plan.executable));
        let mut by_volume: Vec<(u64, u64)> = vec![(0, 0); plan.volumes.len() + 1];
        let system = plan.files.iter().find_map(|file| {
            plan.volumes.iter().position(|volume| below(&file.path, &volume.device).is_some_and(is_of_windows))
        });
        let (mut missing, mut newer) = (0, 0);
        for planned in &plan.files {
            let pages = u64::from(planned.trace_entries);
            report.pages += pages;
            let at = plan.volumes.iter().position(|volume| below(&planned.path, &volume.device).is_some());
            let slot = &mut by_volume[at.unwrap_or(plan.volumes.len())];
            slot.0 += pages;
            slot.1 += 1;
            let device = at.map_or("", |at| plan.volumes[at].device.as_str());
            let rest = below(&planned.path, device).unwrap_or(&planned.path);
            let found = match (self.options.volume, at == system && at.is_some()) {
                (Some(volume), true) => {
                    let found = volume(rest);
                    missing += u64::from(found.is_none());
                    let changed = found.and_then(|found| found.modified_unix_ns).zip(written);
                    newer += u64::from(changed.is_some_and(|(changed, written)| changed > written));
                    found
                }
                _ => None,
            };
            let name = planned.path.rsplit('\\').next().unwrap_or_default();
            // The name of a plan's program is cut after 29 characters.
            let is_program = name.len() >= plan.executable.len()
                && name.get(..plan.executable.len()).is_some_and(|start| start.eq_ignore_ascii_case(&plan.executable))
                && (name.len() == plan.executable.len() || plan.executable.chars().count() >= 29);
            if is_program && report.path.is_empty() && !plan.executable.is_empty() {
                rest.clone_into(&mut report.path);
                let changed = found.and_then(|found| found.modified_unix_ns);
                report.is_older_than_program = changed.zip(written).map(|(changed, written)| changed > written);
            }
            let key = planned.path.to_uppercase();
            let placed = self.placed.entry(key.clone()).or_insert_with(|| (device.to_uppercase(), 0));
            placed.1 = placed.1.max(pages);
            if chosen {
                let shared = self
                    .files
                    .entry(key)
                    .or_insert_with(|| SharedFile { path: planned.path.clone(), ..SharedFile::default() });
                shared.plans += 1;
                shared.pages = shared.pages.max(pages);
                shared.planned_bytes = shared.planned_bytes.saturating_add(pages * PAGE_BYTES);
                shared.file_bytes = shared.file_bytes.or(found.map(|found| found.bytes));
            }
        }
        let all = plan.files.len() as u64;
        report.other_volume_files = all - by_volume.iter().max().map_or(0, |volume| volume.1);
        report.bytes = report.pages * PAGE_BYTES;
        if self.options.volume.is_some() && system.is_some() {
            report.missing_files = Some(missing);
            report.newer_files = written.map(|_| newer);
        }
        for (at, volume) in plan.volumes.iter().enumerate() {
            let known = self.volumes.entry(volume.device.to_uppercase()).or_insert_with(|| PlannedVolume {
                device: volume.device.clone(),
                serial: format!("{:08X}", volume.serial),
                created_unix_ns: volume.created_unix_ns,
                ..PlannedVolume::default()
            });
            known.plans += 1;
            known.is_system |= system == Some(at);
        }
        self.plans.push(report);
    }

    pub(super) fn finish(self, report: &mut PrefetchReport) {
        let mut volumes = self.volumes;
        for (device, pages) in self.placed.into_values() {
            if let Some(volume) = volumes.get_mut(&device) {
                volume.files += 1;
                volume.bytes = volume.bytes.saturating_add(pages * PAGE_BYTES);
            }
        }
        report.volumes = volumes.into_values().collect();
        report.volumes.sort_by(|a, b| (Reverse(a.bytes), &a.device).cmp(&(Reverse(b.bytes), &b.device)));
        report.files = self.files.into_values().collect();
        for file in &mut report.files {
            file.bytes = file.pages * PAGE_BYTES;
            let shared = &mut report.shared;
            shared.files += 1;
            shared.bytes = shared.bytes.saturating_add(file.bytes);
            shared.planned_bytes = shared.planned_bytes.saturating_add(file.planned_bytes);
            if file.plans > 1 {
                shared.shared_files += 1;
                shared.shared_bytes = shared.shared_bytes.saturating_add(file.bytes);
            }
        }
        report.files.sort_by(|a, b| (Reverse(a.bytes), &a.path).cmp(&(Reverse(b.bytes), &b.path)));
        let wanted = &report.programs;
        let chosen = |plan: &&PlanReport| {
            wanted.is_empty() || wanted.iter().any(|name| name.eq_ignore_ascii_case(&plan.executable))
        };
        report.shared.plans = self.plans.iter().filter(chosen).count() as u64;
        report.plans = self.plans;
        report
            .plans
            .sort_by(|a, b| (Reverse(a.last_run_unix_ns), &a.name).cmp(&(Reverse(b.last_run_unix_ns), &b.name)));
        report.launch_plans = report.plans.iter().filter(|plan| !plan.is_boot).count() as u64;
        (report.windows, report.most_plans) = match self.newest {
            0 => ("", None),
            17 => ("Windows XP", Some(MAX_PLANS.0)),
            23 => ("Windows Vista or 7", Some(MAX_PLANS.0)),
            26 => ("Windows 8 or 8.1", Some(MAX_PLANS.1)),
            _ => ("Windows 10 or 11", Some(MAX_PLANS.1)),
        };
    }
}
