//! Prefetch data: the plans in `\Windows\Prefetch`, ReadyBoot traces, and the read-ahead of a recorded boot.

mod boot_traces;
mod plans;
mod read_ahead;
#[cfg(test)]
mod tests;

use onoff_prefetch::{Error, is_ready_boot, read_layout, read_plan, read_ready_boot, read_superfetch};
use serde::Serialize;

use onoff_transitions::boot::{ReadAhead, TrainingState};

pub use boot_traces::{BootTrace, BootTraceFile};
pub use plans::{PlanReport, PlannedVolume, SharedFile, SharedFiles};
pub use read_ahead::{ReadAheadReport, ReadyBootTotals, TABLES, boot_read_ahead};

use plans::PlanCollector;

/// Maximum number of plans up to Windows 7 (source: Improving Performance in Windows Embedded Standard 7, which counts
/// 123 of 128 launch plans).
const MAX_PLANS_WINDOWS_7: u64 = 128;
/// Maximum number of plans since Windows 8.
const MAX_PLANS_WINDOWS_8: u64 = 1024;
/// Maximum number of boot traces that ReadyBoot keeps.
const MAX_KEPT_BOOTS: u64 = 5;

/// A prefetch file.
#[derive(Clone, Debug, Default)]
pub struct PrefetchFile {
    /// Path or name for display.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
    /// Time of the last write, ns since 1970-01-01 UTC; `None` if unknown.
    pub modified_unix_ns: Option<i64>,
}

/// Properties of a file on the volume of the plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeFile {
    /// Size, bytes.
    pub bytes: u64,
    /// Time of the last write, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// Looks up a file on the system volume by its path relative to the volume, `\WINDOWS\…`, ignoring case.
pub type VolumeLookup<'a> = &'a dyn Fn(&str) -> Option<VolumeFile>;

/// Options of [`analyze`].
#[derive(Default)]
pub struct PrefetchOptions<'a> {
    /// Image names of the programs whose files are combined; all programs if empty.
    pub programs: Vec<String>,
    /// Access to the volume, if available.
    pub volume: Option<VolumeLookup<'a>>,
}

impl std::fmt::Debug for PrefetchOptions<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PrefetchOptions").field("programs", &self.programs).finish_non_exhaustive()
    }
}

/// An unreadable file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadablePrefetchFile {
    /// Path or name.
    pub name: String,
    /// Reason.
    pub reason: String,
}

/// Evidence for the training state of ReadyBoot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrainingEvidence {
    /// The training count in the recorded boot.
    RecordedBoot,
    /// ReadyBoot's boot traces: each is of a boot that trained it, so their number is a minimum.
    ReadyBootTraces,
    /// The run count of the boot plan.
    BootPlan,
    /// The boot counter in the registry (`BootId`) is too low for training.
    BootCounter,
    /// Boot prefetching is disabled in the registry (`EnablePrefetcher`).
    Disabled,
    /// No evidence.
    #[default]
    None,
}

/// Training state of ReadyBoot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Training {
    /// State.
    pub state: TrainingState,
    /// Number of training boots; a minimum if `evidence` is `ready_boot_traces`.
    pub boots: Option<u64>,
    /// Number of further boots needed.
    pub missing_boots: Option<u64>,
    /// Evidence.
    pub evidence: TrainingEvidence,
}

/// Header of a Superfetch database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuperfetchDatabase {
    /// Path or name.
    pub name: String,
    /// Compression: `plain`, `memo` (Vista), `mem0` (Windows 7) or `mam` (Windows 8 and later).
    pub packing: &'static str,
    /// File size, bytes.
    pub file_bytes: u64,
    /// Uncompressed size, bytes.
    pub bytes: u64,
    /// Kind, an undocumented number.
    pub kind: u32,
    /// Number of volumes.
    pub volumes: u32,
    /// Number of files.
    pub files: u32,
    /// Number of programs that used these files.
    pub sources: u32,
}

/// Analysis of prefetch files.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrefetchReport {
    /// Windows versions that write such plans; empty without plans.
    pub windows: &'static str,
    /// Plans of programs and of the boot, most recently run first.
    pub plans: Vec<PlanReport>,
    /// Number of program plans.
    pub launch_plans: u64,
    /// Maximum number of plans that Windows keeps; `None` without plans.
    pub max_plans: Option<u64>,
    /// Programs that `files` and `shared` cover; all programs if empty.
    pub programs: Vec<String>,
    /// Files of these programs, largest first.
    pub files: Vec<SharedFile>,
    /// Totals of these files.
    pub shared: SharedFiles,
    /// Volumes of all plans, most bytes first.
    pub volumes: Vec<PlannedVolume>,
    /// Number of files in `Layout.ini`, which the defragmenter places; `None` without one.
    pub layout_files: Option<u64>,
    /// ReadyBoot traces, by time. Experimental.
    pub boots: Vec<BootTrace>,
    /// Number of files in all of these boots; `None` with fewer than two.
    pub files_in_all_boots: Option<u64>,
    /// Number of files in ReadyBoot's layout for the next boot; `None` without one. Experimental.
    pub next_boot_files: Option<u64>,
    /// Superfetch databases.
    pub databases: Vec<SuperfetchDatabase>,
    /// Training state of ReadyBoot.
    pub training: Training,
    /// Number of boots of the installation, from the registry (`BootId`); `None` without the hive.
    pub boot_count: Option<u64>,
    /// `EnablePrefetcher` in the registry: 0 off, 1 programs, 2 boots, 3 both; `None` without the hive.
    pub enable_prefetcher: Option<u64>,
    /// Read-ahead in a recorded boot; `None` without a recording.
    pub read_ahead: Option<ReadAheadReport>,
    /// Unreadable files.
    pub unreadable: Vec<UnreadablePrefetchFile>,
}

/// True if [`analyze`] reads this kind of file, by name or content.
#[must_use]
pub fn is_prefetch_file(name: &str, first_bytes: &[u8]) -> bool {
    kind(name, first_bytes).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plan,
    Layout,
    ReadyBoot,
    Superfetch,
}

fn kind(name: &str, bytes: &[u8]) -> Option<Kind> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_ascii_lowercase();
    let ends_with = |extension: &str| name.ends_with(extension);
    if is_ready_boot(bytes) {
        Some(Kind::ReadyBoot)
    } else if bytes.get(4..8) == Some(b"SCCA") || ends_with(".pf") {
        Some(Kind::Plan)
    } else if name == "layout.ini" {
        Some(Kind::Layout)
    } else if (name.starts_with("ag") && ends_with(".db")) || ends_with(".7db") || ends_with(".ebd") {
        Some(Kind::Superfetch)
    } else {
        None
    }
}

/// Analyzes `files`. Add a recorded boot with [`PrefetchReport::add_boot`].
#[must_use]
pub fn analyze(files: &[PrefetchFile], options: &PrefetchOptions<'_>) -> PrefetchReport {
    let mut plans = PlanCollector::new(options);
    let mut report = PrefetchReport {
        windows: "",
        plans: Vec::new(),
        launch_plans: 0,
        max_plans: None,
        programs: options.programs.clone(),
        files: Vec::new(),
        shared: SharedFiles::default(),
        volumes: Vec::new(),
        layout_files: None,
        boots: Vec::new(),
        files_in_all_boots: None,
        next_boot_files: None,
        databases: Vec::new(),
        training: Training {
            state: TrainingState::Unknown,
            boots: None,
            missing_boots: None,
            evidence: TrainingEvidence::None,
        },
        boot_count: None,
        enable_prefetcher: None,
        read_ahead: None,
        unreadable: Vec::new(),
    };
    let mut common_files = boot_traces::CommonFiles::default();
    for file in files {
        let unreadable_file =
            |error: Error| UnreadablePrefetchFile { name: file.name.clone(), reason: error.to_string() };
        match kind(&file.name, &file.bytes) {
            None => report.unreadable.push(UnreadablePrefetchFile {
                name: file.name.clone(),
                reason: "not a prefetch plan, layout, ReadyBoot file or Superfetch database".to_owned(),
            }),
            Some(Kind::Plan) => match read_plan(&file.bytes) {
                Ok(plan) => plans.add(file, &plan),
                Err(error) => report.unreadable.push(unreadable_file(error)),
            },
            Some(Kind::Layout) => match read_layout(&file.bytes) {
                Some(layout) => report.layout_files = Some(layout.files.len() as u64),
                None => report.unreadable.push(UnreadablePrefetchFile {
                    name: file.name.clone(),
                    reason: "section [OptimalLayoutFile] is missing".to_owned(),
                }),
            },
            Some(Kind::ReadyBoot) => match read_ready_boot(&file.bytes) {
                Ok(boot) if boot.is_trace => {
                    common_files.add(&boot);
                    report.boots.push(BootTrace::new(file, &boot));
                }
                Ok(boot) => report.next_boot_files = Some(boot.files.len() as u64),
                Err(error) => report.unreadable.push(unreadable_file(error)),
            },
            Some(Kind::Superfetch) => match read_superfetch(&file.bytes) {
                Ok(header) => report.databases.push(database(file, &header)),
                Err(error) => report.unreadable.push(unreadable_file(error)),
            },
        }
    }
    report.files_in_all_boots = common_files.count();
    report.boots.sort_by(|a, b| (a.modified_unix_ns, &a.name).cmp(&(b.modified_unix_ns, &b.name)));
    plans.finish(&mut report);
    report.training = training(&report);
    report
}

fn database(file: &PrefetchFile, header: &onoff_prefetch::SuperfetchHeader) -> SuperfetchDatabase {
    use onoff_prefetch::SuperfetchCompression::{Mam, Mem0, Memo, None};
    SuperfetchDatabase {
        name: file.name.clone(),
        packing: match header.compression {
            None => "plain",
            Memo => "memo",
            Mem0 => "mem0",
            Mam => "mam",
        },
        file_bytes: file.bytes.len() as u64,
        bytes: u64::from(header.bytes),
        kind: header.kind,
        volumes: header.volumes,
        files: header.files,
        sources: header.sources,
    }
}

fn training_state(boots: u64) -> TrainingState {
    match boots {
        0 => TrainingState::Untrained,
        boots if boots < ReadAhead::TRAINED_BOOTS.unsigned_abs() => TrainingState::Training,
        _ => TrainingState::Trained,
    }
}

fn training_after(boots: u64, evidence: TrainingEvidence) -> Training {
    let missing_boots = ReadAhead::TRAINED_BOOTS.unsigned_abs().saturating_sub(boots);
    Training { state: training_state(boots), boots: Some(boots), missing_boots: Some(missing_boots), evidence }
}

fn training(report: &PrefetchReport) -> Training {
    if !report.boots.is_empty() {
        return training_after((report.boots.len() as u64).min(MAX_KEPT_BOOTS), TrainingEvidence::ReadyBootTraces);
    }
    match report.plans.iter().find(|plan| plan.is_boot) {
        Some(plan) => training_after(u64::from(plan.run_count), TrainingEvidence::BootPlan),
        None => report.training,
    }
}

impl PrefetchReport {
    /// Adds the read-ahead of a recorded boot. Its training count takes precedence over evidence from files.
    pub fn add_boot(&mut self, read_ahead: ReadAheadReport) {
        if let Some(boots) = read_ahead.training_count {
            self.training = training_after(boots, TrainingEvidence::RecordedBoot);
        }
        self.read_ahead = Some(read_ahead);
    }

    /// Adds registry values, which count only without other evidence: too few boots or disabled prefetching rule out
    /// training, but enough boots do not prove it.
    pub fn add_registry(&mut self, boot_count: Option<u64>, enable_prefetcher: Option<u64>) {
        (self.boot_count, self.enable_prefetcher) = (boot_count, enable_prefetcher);
        if self.training.evidence != TrainingEvidence::None {
            return;
        }
        let required_boots = ReadAhead::TRAINED_BOOTS.unsigned_abs();
        if enable_prefetcher.is_some_and(|flags| flags & 2 == 0) {
            self.training = training_after(0, TrainingEvidence::Disabled);
        } else if let Some(boots) = boot_count.filter(|&boots| boots < required_boots) {
            self.training = training_after(boots, TrainingEvidence::BootCounter);
        }
    }

    /// True if no prefetch data was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plans.is_empty()
            && self.layout_files.is_none()
            && self.boots.is_empty()
            && self.next_boot_files.is_none()
            && self.databases.is_empty()
            && self.read_ahead.is_none()
    }
}
