//! What Windows reads ahead: the plans of `\Windows\Prefetch`, ReadyBoot's boots, and what the read-ahead of a recorded boot did.

mod boots;
mod plans;
mod read_ahead;
#[cfg(test)]
mod tests;

use onoff_prefetch::{Error, is_ready_boot, read_layout, read_plan, read_ready_boot, read_superfetch};
use serde::Serialize;

use onoff_transitions::boot::{ReadAhead, TrainingState};

pub use boots::{BootTrace, BootTraceFile};
pub use plans::{PlanReport, PlannedVolume, SharedFile, SharedFiles};
pub use read_ahead::{ReadAheadWork, ReadyBootSums, TABLES, of_boot};

use plans::Plans;

/// Plans up to Windows 7 (source: Improving Performance in Windows Embedded Standard 7, which counts 123 launch plans of 128), and since
/// Windows 8.
const MAX_PLANS: (u64, u64) = (128, 1024);
/// Boots that ReadyBoot keeps.
const KEPT_BOOTS: u64 = 5;

/// A file to look at.
#[derive(Clone, Debug, Default)]
pub struct PrefetchFile {
    /// Path or name, for people.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When it was last written, ns since 1970-01-01 UTC; `None` when that is not known.
    pub modified_unix_ns: Option<i64>,
}

/// A file of the volume that the plans are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeFile {
    /// Bytes.
    pub bytes: u64,
    /// When it was last written, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// Finds a file of the system's volume by its path below the volume, `\WINDOWS\…`, in any case.
pub type VolumeLookup<'a> = &'a dyn Fn(&str) -> Option<VolumeFile>;

/// What a caller can choose.
#[derive(Default)]
pub struct PrefetchOptions<'a> {
    /// The programs whose files are looked at together: image names; all when empty.
    pub programs: Vec<String>,
    /// The volume, where it is at hand.
    pub volume: Option<VolumeLookup<'a>>,
}

impl std::fmt::Debug for PrefetchOptions<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PrefetchOptions").field("programs", &self.programs).finish_non_exhaustive()
    }
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadablePrefetchFile {
    /// Path or name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// What says how well the read-ahead of boots is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrainingEvidence {
    /// The recorded boot counts its trainings.
    RecordedBoot,
    /// ReadyBoot's traces of boots: at least so many were learned from.
    ReadyBootTraces,
    /// The boot's plan counts the boots.
    BootPlan,
    /// The registry counts the boots (`BootId`) and there were too few to learn from.
    BootCounter,
    /// The registry has the read-ahead of boots off (`EnablePrefetcher`).
    TurnedOff,
    /// Nothing does.
    #[default]
    None,
}

/// How well the read-ahead of boots is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Training {
    /// State.
    pub state: TrainingState,
    /// Boots learned from; at least so many where `evidence` is `ready_boot_traces`.
    pub boots: Option<u64>,
    /// Boots that are missing.
    pub missing_boots: Option<u64>,
    /// What says so.
    pub evidence: TrainingEvidence,
}

/// Header of a database of SuperFetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuperfetchDatabase {
    /// Path or name.
    pub name: String,
    /// `plain`, `memo` (Vista), `mem0` (Windows 7) or `mam` (Windows 8 and later).
    pub packing: &'static str,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes when it is unpacked.
    pub bytes: u64,
    /// Its kind, a number that is not published.
    pub kind: u32,
    /// Volumes that it knows.
    pub volumes: u32,
    /// Files that it knows.
    pub files: u32,
    /// Programs that used them.
    pub sources: u32,
}

/// What a folder of prefetch files says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrefetchReport {
    /// Windows that writes such plans; empty without plans.
    pub windows: &'static str,
    /// Plans of programs and of the boot, the last started first.
    pub plans: Vec<PlanReport>,
    /// Plans of programs.
    pub launch_plans: u64,
    /// Plans that Windows keeps at most; `None` without plans.
    pub most_plans: Option<u64>,
    /// Programs that `files` and `shared` are about; all when empty.
    pub programs: Vec<String>,
    /// Files of these programs, most bytes first.
    pub files: Vec<SharedFile>,
    /// The same in sums.
    pub shared: SharedFiles,
    /// Volumes of all plans, most bytes first.
    pub volumes: Vec<PlannedVolume>,
    /// Files that `Layout.ini` has the defragmenter lay out; `None` without one.
    pub layout_files: Option<u64>,
    /// Boots as ReadyBoot kept them, by name. Experimental.
    pub boots: Vec<BootTrace>,
    /// Files in all of these boots; `None` with fewer than two.
    pub files_in_all_boots: Option<u64>,
    /// Files of ReadyBoot's layout for the next boot; `None` without one. Experimental.
    pub next_boot_files: Option<u64>,
    /// Databases of SuperFetch.
    pub databases: Vec<SuperfetchDatabase>,
    /// How well the read-ahead of boots is trained.
    pub training: Training,
    /// Boots of the installation as the registry counts them (`BootId`); `None` without the hive.
    pub boots_counted: Option<u64>,
    /// What is read ahead as the registry sets it (`EnablePrefetcher`): 0 nothing, 1 for programs, 2 for boots, 3 for both; `None`
    /// without the hive.
    pub enable_prefetcher: Option<u64>,
    /// What it did in a recorded boot; `None` without a recording.
    pub read_ahead: Option<ReadAheadWork>,
    /// Files that could not be read.
    pub unreadable: Vec<UnreadablePrefetchFile>,
}

/// Whether a file's name or content is one that [`analyze`] reads.
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
    let ends = |ending: &str| name.ends_with(ending);
    if is_ready_boot(bytes) {
        Some(Kind::ReadyBoot)
    } else if bytes.get(4..8) == Some(b"SCCA") || ends(".pf") {
        Some(Kind::Plan)
    } else if name == "layout.ini" {
        Some(Kind::Layout)
    } else if (name.starts_with("ag") && ends(".db")) || ends(".7db") || ends(".ebd") {
        Some(Kind::Superfetch)
    } else {
        None
    }
}

/// Looks at `files`. What a recorded boot says is added with [`PrefetchReport::with_boot`].
#[must_use]
pub fn analyze(files: &[PrefetchFile], options: &PrefetchOptions<'_>) -> PrefetchReport {
    let mut plans = Plans::new(options);
    let mut report = PrefetchReport {
        windows: "",
        plans: Vec::new(),
        launch_plans: 0,
        most_plans: None,
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
        boots_counted: None,
        enable_prefetcher: None,
        read_ahead: None,
        unreadable: Vec::new(),
    };
    let mut in_all = boots::Common::default();
    for file in files {
        let refused = |error: Error| UnreadablePrefetchFile { name: file.name.clone(), reason: error.to_string() };
        match kind(&file.name, &file.bytes) {
            None => report.unreadable.push(UnreadablePrefetchFile {
                name: file.name.clone(),
                reason: "no plan, layout, ReadyBoot file or SuperFetch database".to_owned(),
            }),
            Some(Kind::Plan) => match read_plan(&file.bytes) {
                Ok(plan) => plans.add(file, &plan),
                Err(error) => report.unreadable.push(refused(error)),
            },
            Some(Kind::Layout) => match read_layout(&file.bytes) {
                Some(layout) => report.layout_files = Some(layout.files.len() as u64),
                None => report.unreadable.push(UnreadablePrefetchFile {
                    name: file.name.clone(),
                    reason: "no section [OptimalLayoutFile]".to_owned(),
                }),
            },
            Some(Kind::ReadyBoot) => match read_ready_boot(&file.bytes) {
                Ok(read) if read.is_trace => {
                    in_all.add(&read);
                    report.boots.push(BootTrace::of(file, &read));
                }
                Ok(read) => report.next_boot_files = Some(read.files.len() as u64),
                Err(error) => report.unreadable.push(refused(error)),
            },
            Some(Kind::Superfetch) => match read_superfetch(&file.bytes) {
                Ok(header) => report.databases.push(database(file, &header)),
                Err(error) => report.unreadable.push(refused(error)),
            },
        }
    }
    report.files_in_all_boots = in_all.files();
    report.boots.sort_by(|a, b| (a.modified_unix_ns, &a.name).cmp(&(b.modified_unix_ns, &b.name)));
    plans.finish(&mut report);
    report.training = training(&report);
    report
}

fn database(file: &PrefetchFile, header: &onoff_prefetch::SuperfetchHeader) -> SuperfetchDatabase {
    use onoff_prefetch::SuperfetchPacking::{Mam, Mem0, Memo, Plain};
    SuperfetchDatabase {
        name: file.name.clone(),
        packing: match header.packing {
            Plain => "plain",
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

fn state_of(boots: u64) -> TrainingState {
    match boots {
        0 => TrainingState::Untrained,
        boots if boots < ReadAhead::TRAINED_BOOTS.unsigned_abs() => TrainingState::Training,
        _ => TrainingState::Trained,
    }
}

fn counted(boots: u64, evidence: TrainingEvidence) -> Training {
    let missing = ReadAhead::TRAINED_BOOTS.unsigned_abs().saturating_sub(boots);
    Training { state: state_of(boots), boots: Some(boots), missing_boots: Some(missing), evidence }
}

fn training(report: &PrefetchReport) -> Training {
    if !report.boots.is_empty() {
        return counted((report.boots.len() as u64).min(KEPT_BOOTS), TrainingEvidence::ReadyBootTraces);
    }
    match report.plans.iter().find(|plan| plan.is_boot) {
        Some(plan) => counted(u64::from(plan.run_count), TrainingEvidence::BootPlan),
        None => report.training,
    }
}

impl PrefetchReport {
    /// Adds what a recorded boot says; its count of trainings goes before what files show.
    pub fn with_boot(&mut self, read_ahead: ReadAheadWork) {
        if let Some(boots) = read_ahead.training_count {
            self.training = counted(boots, TrainingEvidence::RecordedBoot);
        }
        self.read_ahead = Some(read_ahead);
    }

    /// Adds what the registry says. It decides only where nothing else does: fewer boots than training needs cannot have trained it, and
    /// what is turned off does not learn. That there were enough boots does not say that they were learned from.
    pub fn with_registry(&mut self, boots_counted: Option<u64>, enable_prefetcher: Option<u64>) {
        (self.boots_counted, self.enable_prefetcher) = (boots_counted, enable_prefetcher);
        if self.training.evidence != TrainingEvidence::None {
            return;
        }
        let needed = ReadAhead::TRAINED_BOOTS.unsigned_abs();
        if enable_prefetcher.is_some_and(|what| what & 2 == 0) {
            self.training = counted(0, TrainingEvidence::TurnedOff);
        } else if let Some(boots) = boots_counted.filter(|&boots| boots < needed) {
            self.training = counted(boots, TrainingEvidence::BootCounter);
        }
    }

    /// Whether nothing of prefetch was found.
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
