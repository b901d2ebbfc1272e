//! Prefetch plans of programs and, up to Windows 7, of the boot.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use onoff_prefetch::{PAGE_SIZE, Plan};
use serde::Serialize;

use super::{MAX_PLANS_WINDOWS_7, MAX_PLANS_WINDOWS_8, PrefetchFile, PrefetchOptions, PrefetchReport};

/// A prefetch plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanReport {
    /// Path or name of the file.
    pub name: String,
    /// Program name, at most 29 characters.
    pub executable: String,
    /// Path of the program relative to its volume; empty if not in the plan.
    pub path: String,
    /// Hash of the program's path, in hexadecimal.
    pub path_hash: String,
    /// Format version.
    pub version: u32,
    /// True for the boot plan.
    pub is_boot: bool,
    /// Number of runs of the program, or number of boots for a boot plan.
    pub run_count: u32,
    /// Last run, ns since 1970-01-01 UTC.
    pub last_run_unix_ns: Option<i64>,
    /// Time of the last write to the plan, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
    /// Number of files.
    pub files: u64,
    /// Hash of the paths and pages of its files, in hexadecimal: equal for plans with the same content.
    pub content_hash: String,
    /// Number of 4 KiB pages.
    pub pages: u64,
    /// Bytes in these pages.
    pub bytes: u64,
    /// Number of files outside the volume with most of the pages.
    pub other_volume_files: u64,
    /// True if the program was modified after the plan was written; `None` if either time is unknown.
    pub is_older_than_program: Option<bool>,
    /// Number of files missing from the system volume; `None` without the volume.
    pub missing_files: Option<u64>,
    /// Number of files that were modified after the plan was written; `None` without the volume or the plan's time.
    pub newer_files: Option<u64>,
    /// Number of unreadable entries.
    pub unreadable: u64,
}

/// A file in one or more plans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedFile {
    /// Path as in the plans.
    pub path: String,
    /// Number of plans with this file.
    pub plans: u64,
    /// Largest number of pages of this file in any plan.
    pub pages: u64,
    /// Bytes in these pages.
    pub bytes: u64,
    /// Bytes of this file, summed over all plans.
    pub planned_bytes: u64,
    /// File size, bytes; `None` without the volume.
    pub file_bytes: Option<u64>,
}

/// Totals of the files of several plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedFiles {
    /// Number of plans.
    pub plans: u64,
    /// Number of distinct files.
    pub files: u64,
    /// Bytes if each file is read once, with the largest number of pages in any plan: the minimum for a cold start of
    /// all programs.
    pub bytes: u64,
    /// Bytes, summed over all plans.
    pub planned_bytes: u64,
    /// Number of files in two or more plans.
    pub shared_files: u64,
    /// Bytes in these files, each counted once.
    pub shared_bytes: u64,
}

/// A volume with planned files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedVolume {
    /// Device path.
    pub device: String,
    /// Serial number, in hexadecimal.
    pub serial: String,
    /// Creation, ns since 1970-01-01 UTC.
    pub created_unix_ns: Option<i64>,
    /// True for the Windows volume.
    pub is_system: bool,
    /// Number of plans with files on this volume.
    pub plans: u64,
    /// Number of distinct files.
    pub files: u64,
    /// Bytes, each file counted once.
    pub bytes: u64,
}

/// Returns the FNV-1a hash of the paths, ignoring case, and pages of a plan's files.
fn content_hash(plan: &Plan) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for file in &plan.files {
        let path = file.path.bytes().map(|byte| byte.to_ascii_uppercase());
        for byte in path.chain(file.trace_entries.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

/// Accumulates plans.
pub(super) struct PlanCollector<'a> {
    options: &'a PrefetchOptions<'a>,
    plans: Vec<PlanReport>,
    /// Files by upper-case path.
    files: BTreeMap<String, SharedFile>,
    /// Volumes by upper-case device.
    volumes: BTreeMap<String, PlannedVolume>,
    /// (volume, pages) of each file in any plan, by upper-case path.
    pages_by_file: BTreeMap<String, (String, u64)>,
    max_version: u32,
}

/// True if a path relative to a volume is in the Windows folder.
fn is_in_windows(path: &str) -> bool {
    path.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(r"\WINDOWS\"))
}

/// Returns the path of `file` relative to `device`; `None` if the file is on another device.
fn path_on_device<'f>(file: &'f str, device: &str) -> Option<&'f str> {
    let start = file.get(..device.len())?;
    let rest = file.get(device.len()..)?;
    (start.eq_ignore_ascii_case(device) && rest.starts_with('\\')).then_some(rest)
}

impl<'a> PlanCollector<'a> {
    pub(super) fn new(options: &'a PrefetchOptions<'a>) -> Self {
        Self {
            options,
            plans: Vec::new(),
            files: BTreeMap::new(),
            volumes: BTreeMap::new(),
            pages_by_file: BTreeMap::new(),
            max_version: 0,
        }
    }

    pub(super) fn add(&mut self, file: &PrefetchFile, plan: &Plan) {
        self.max_version = self.max_version.max(plan.version);
        let written_unix_ns = file.modified_unix_ns;
        let mut report = PlanReport {
            name: file.name.clone(),
            executable: plan.executable.clone(),
            path_hash: format!("{:08X}", plan.path_hash),
            version: plan.version,
            is_boot: plan.is_boot,
            run_count: plan.run_count,
            last_run_unix_ns: plan.last_runs_unix_ns.first().copied(),
            modified_unix_ns: written_unix_ns,
            files: plan.files.len() as u64,
            content_hash: format!("{:016x}", content_hash(plan)),
            unreadable: plan.unreadable,
            ..PlanReport::default()
        };
        let programs = &self.options.programs;
        let is_chosen = programs.is_empty() || programs.iter().any(|name| name.eq_ignore_ascii_case(&plan.executable));
        // (pages, files) of each volume, and of files on unknown volumes.
        let mut by_volume: Vec<(u64, u64)> = vec![(0, 0); plan.volumes.len() + 1];
        let system_volume = plan.files.iter().find_map(|file| {
            plan.volumes.iter().position(|volume| path_on_device(&file.path, &volume.device).is_some_and(is_in_windows))
        });
        let (mut missing_files, mut newer_files) = (0, 0);
        for planned in &plan.files {
            let pages = u64::from(planned.trace_entries);
            report.pages += pages;
            let volume_index =
                plan.volumes.iter().position(|volume| path_on_device(&planned.path, &volume.device).is_some());
            let totals = &mut by_volume[volume_index.unwrap_or(plan.volumes.len())];
            totals.0 += pages;
            totals.1 += 1;
            let device = volume_index.map_or("", |index| plan.volumes[index].device.as_str());
            let relative_path = path_on_device(&planned.path, device).unwrap_or(&planned.path);
            let volume_file = match (self.options.volume, volume_index == system_volume && volume_index.is_some()) {
                (Some(volume), true) => {
                    let volume_file = volume(relative_path);
                    missing_files += u64::from(volume_file.is_none());
                    let times = volume_file.and_then(|file| file.modified_unix_ns).zip(written_unix_ns);
                    newer_files += u64::from(times.is_some_and(|(modified, written)| modified > written));
                    volume_file
                }
                _ => None,
            };
            let name = planned.path.rsplit('\\').next().unwrap_or_default();
            // Program names in plans are truncated to 29 characters.
            let is_program = name.len() >= plan.executable.len()
                && name.get(..plan.executable.len()).is_some_and(|start| start.eq_ignore_ascii_case(&plan.executable))
                && (name.len() == plan.executable.len() || plan.executable.chars().count() >= 29);
            if is_program && report.path.is_empty() && !plan.executable.is_empty() {
                relative_path.clone_into(&mut report.path);
                let times = volume_file.and_then(|file| file.modified_unix_ns).zip(written_unix_ns);
                report.is_older_than_program = times.map(|(modified, written)| modified > written);
            }
            let key = planned.path.to_uppercase();
            let pages_by_file = self.pages_by_file.entry(key.clone()).or_insert_with(|| (device.to_uppercase(), 0));
            pages_by_file.1 = pages_by_file.1.max(pages);
            if is_chosen {
                let shared = self
                    .files
                    .entry(key)
                    .or_insert_with(|| SharedFile { path: planned.path.clone(), ..SharedFile::default() });
                shared.plans += 1;
                shared.pages = shared.pages.max(pages);
                shared.planned_bytes = shared.planned_bytes.saturating_add(pages * PAGE_SIZE);
                shared.file_bytes = shared.file_bytes.or(volume_file.map(|file| file.bytes));
            }
        }
        let file_count = plan.files.len() as u64;
        report.other_volume_files = file_count - by_volume.iter().max().map_or(0, |volume| volume.1);
        report.bytes = report.pages * PAGE_SIZE;
        if self.options.volume.is_some() && system_volume.is_some() {
            report.missing_files = Some(missing_files);
            report.newer_files = written_unix_ns.map(|_| newer_files);
        }
        for (index, volume) in plan.volumes.iter().enumerate() {
            let volume_report = self.volumes.entry(volume.device.to_uppercase()).or_insert_with(|| PlannedVolume {
                device: volume.device.clone(),
                serial: format!("{:08X}", volume.serial),
                created_unix_ns: volume.created_unix_ns,
                ..PlannedVolume::default()
            });
            volume_report.plans += 1;
            volume_report.is_system |= system_volume == Some(index);
        }
        self.plans.push(report);
    }

    pub(super) fn finish(self, report: &mut PrefetchReport) {
        let mut volumes = self.volumes;
        for (device, pages) in self.pages_by_file.into_values() {
            if let Some(volume) = volumes.get_mut(&device) {
                volume.files += 1;
                volume.bytes = volume.bytes.saturating_add(pages * PAGE_SIZE);
            }
        }
        report.volumes = volumes.into_values().collect();
        report.volumes.sort_by(|a, b| (Reverse(a.bytes), &a.device).cmp(&(Reverse(b.bytes), &b.device)));
        report.files = self.files.into_values().collect();
        for file in &mut report.files {
            file.bytes = file.pages * PAGE_SIZE;
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
        let programs = &report.programs;
        let is_chosen = |plan: &&PlanReport| {
            programs.is_empty() || programs.iter().any(|name| name.eq_ignore_ascii_case(&plan.executable))
        };
        report.shared.plans = self.plans.iter().filter(is_chosen).count() as u64;
        report.plans = self.plans;
        report
            .plans
            .sort_by(|a, b| (Reverse(a.last_run_unix_ns), &a.name).cmp(&(Reverse(b.last_run_unix_ns), &b.name)));
        report.launch_plans = report.plans.iter().filter(|plan| !plan.is_boot).count() as u64;
        (report.windows, report.max_plans) = match self.max_version {
            0 => ("", None),
            17 => ("Windows XP", Some(MAX_PLANS_WINDOWS_7)),
            23 => ("Windows Vista or 7", Some(MAX_PLANS_WINDOWS_7)),
            26 => ("Windows 8 or 8.1", Some(MAX_PLANS_WINDOWS_8)),
            _ => ("Windows 10 or 11", Some(MAX_PLANS_WINDOWS_8)),
        };
    }
}
