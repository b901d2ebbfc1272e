//! Groups rows by process, file, priority and other keys.
//!
//! Every value of a key is interned as a small number, so that grouping a row takes one lookup. Texts are created once
//! per distinct file and process.

use std::borrow::Cow;

use hashbrown::HashMap;
use onoff_trace::{DiskIo, IoPriority, StringId, Trace};
use serde::Serialize;

use super::queue::issued_ns;
use crate::disk::is_read_ahead;
use crate::owners::{extension, file_name};
use crate::processes::Images;
use onoff_evidence::scope::Scope;

/// A key to group rows by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Key {
    /// Image file name and process id.
    Process,
    /// Full path of a file.
    Path,
    /// File name without folder.
    File,
    /// File extension, lowercase.
    Extension,
    Disk,
    /// Priority of the request.
    Priority,
    /// Kind of operation: read, write, flush or another file operation.
    Operation,
}

const KEYS: usize = 7;

impl Key {
    pub const ALL: [Self; KEYS] =
        [Self::Process, Self::Path, Self::File, Self::Extension, Self::Disk, Self::Priority, Self::Operation];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Path => "path",
            Self::File => "file",
            Self::Extension => "extension",
            Self::Disk => "disk",
            Self::Priority => "priority",
            Self::Operation => "operation",
        }
    }
}

/// File name shown for reads without a file. During a boot these are reads of ReadyBoot, which works below the file
/// system; xperf shows them as `Unknown (0x0)`.
pub const NO_FILE: &str = "no file (read-ahead)";

/// The values that all members of a group have in common, whether or not they are keys. For example, a group by process
/// has a path if all members use the same file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedValues {
    /// Process id; `None` if members differ or it is unknown.
    pub pid: Option<u32>,
    /// Image file name, empty if unknown; `None` if members differ.
    pub image: Option<String>,
    /// File path, with drive letter if known; empty if unknown; `None` if members differ. For reads without a file: `no
    /// file (read-ahead)`.
    pub path: Option<String>,
    /// File name without folder; `None` if members differ.
    pub file: Option<String>,
    /// File extension, lowercase; `None` if members differ.
    pub extension: Option<String>,
    /// Disk number; `None` if members differ or there is none.
    pub disk: Option<u32>,
    /// Priority; `None` if members differ or there is none.
    pub priority: Option<IoPriority>,
    /// Operation; `None` if members differ.
    pub operation: Option<&'static str>,
}

impl SharedValues {
    /// Returns a tie-breaker that makes the order of groups deterministic.
    pub(super) fn order(&self) -> impl Ord + '_ {
        (
            self.image.as_deref(),
            self.pid,
            self.path.as_deref(),
            (self.file.as_deref(), self.extension.as_deref()),
            (self.disk, self.priority, self.operation),
        )
    }
}

/// The values of a row to be grouped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject {
    /// Index in the list of processes.
    process: u32,
    /// Index in the list of files.
    file: u32,
    disk: Option<u32>,
    priority: Option<IoPriority>,
    operation: &'static str,
}

impl Subject {
    /// Removes the values that only disk requests have.
    pub(super) fn without_disk(self) -> Self {
        Self { disk: None, priority: None, ..self }
    }
}

/// Interned processes and files.
#[derive(Debug)]
pub(super) struct Names<'t> {
    trace: &'t Trace,
    scope: &'t Scope,
    images: Images<'t>,
    processes: Interned<(Option<u32>, &'t str)>,
    /// Whether each process is selected, by index.
    is_selected: Vec<bool>,
    files: Interned<FileKey>,
    descriptions: Vec<FileDescription<'t>>,
    file_texts: Interned<String>,
    extensions: Interned<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FileKey {
    Named(StringId),
    NoFileRead,
}

#[derive(Debug)]
struct FileDescription<'t> {
    path: Cow<'t, str>,
    file: u32,
    extension: u32,
}

impl<'t> Names<'t> {
    pub(super) fn new(trace: &'t Trace, scope: &'t Scope) -> Self {
        Self {
            trace,
            scope,
            images: Images::new(trace),
            processes: Interned::default(),
            is_selected: Vec::new(),
            files: Interned::default(),
            descriptions: Vec::new(),
            file_texts: Interned::default(),
            extensions: Interned::default(),
        }
    }

    /// Returns the image file name of a process; empty if unknown.
    pub(super) fn image(&self, pid: Option<u32>, time_ns: i64) -> &'t str {
        pid.and_then(|pid| self.images.image_at(pid, time_ns)).unwrap_or_default()
    }

    /// Returns the display path of a subject's file; empty if unknown.
    pub(super) fn path_of(&self, subject: Subject) -> &str {
        self.descriptions.get(subject.file as usize).map_or("", |file| &file.path)
    }

    /// Returns the process id and image file name of a subject; the name is empty if unknown.
    pub(super) fn process_of(&self, subject: Subject) -> (Option<u32>, &'t str) {
        self.processes.get(subject.process).copied().unwrap_or_default()
    }

    /// Returns the display path of a file.
    pub(super) fn path(&self, file: StringId) -> Cow<'t, str> {
        self.trace.system.drive_paths.readable(self.trace.text(file))
    }

    /// Returns the subject of a row, or `None` if its process is not selected.
    pub(super) fn subject(
        &mut self,
        (pid, time_ns): (Option<u32>, i64),
        file: StringId,
        operation: &'static str,
    ) -> Option<Subject> {
        let image = self.image(pid, time_ns);
        let process = self.processes.number((pid, image));
        if process as usize == self.is_selected.len() {
            self.is_selected.push(self.scope.has_process(pid, image));
        }
        (self.is_selected.get(process as usize) == Some(&true)).then(|| Subject {
            process,
            file: self.file(FileKey::Named(file)),
            disk: None,
            priority: None,
            operation,
        })
    }

    /// Returns the subject of a disk request, or `None` if its process is not selected.
    pub(super) fn request_subject(&mut self, io: &DiskIo) -> Option<Subject> {
        let subject = self.subject((io.pid, issued_ns(io)), io.file, io.operation.as_str())?;
        let file =
            if is_read_ahead(self.trace.system.kind, io) { self.file(FileKey::NoFileRead) } else { subject.file };
        Some(Subject { file, disk: Some(io.disk), priority: Some(io.priority), ..subject })
    }

    fn file(&mut self, key: FileKey) -> u32 {
        let number = self.files.number(key);
        if number as usize == self.descriptions.len() {
            let path = match key {
                FileKey::Named(file) => self.path(file),
                FileKey::NoFileRead => Cow::Borrowed(NO_FILE),
            };
            let (file, extension) = match key {
                FileKey::Named(_) => (file_name(&path).to_owned(), extension(&path)),
                FileKey::NoFileRead => (NO_FILE.to_owned(), String::new()),
            };
            self.descriptions.push(FileDescription {
                file: self.file_texts.number(file),
                extension: self.extensions.number(extension),
                path,
            });
        }
        number
    }
}

/// Distinct values, numbered in order of first use.
#[derive(Debug)]
struct Interned<T> {
    numbers: HashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interned<T> {
    fn number(&mut self, value: T) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        // Tables have fewer rows than `u32::MAX`, because texts and processes are also numbered by u32.
        let number = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    fn get(&self, number: u32) -> Option<&T> {
        self.values.get(number as usize)
    }
}

/// The numbers of a group's values, by key; 0 if a key is not used.
type Values = [u32; KEYS];

/// Groups under construction, with totals of type `A`.
#[derive(Debug)]
pub(super) struct Groups<A> {
    is_key: [bool; KEYS],
    numbers: HashMap<Values, u32>,
    groups: Vec<Group<A>>,
    operations: Vec<&'static str>,
}

#[derive(Debug)]
struct Group<A> {
    values: Values,
    differs: [bool; KEYS],
    amounts: A,
}

impl<A: Default> Groups<A> {
    pub(super) fn with_keys(keys: &[Key]) -> Self {
        let mut is_key = [false; KEYS];
        for &key in keys {
            is_key[key as usize] = true;
        }
        Self { is_key, numbers: HashMap::new(), groups: Vec::new(), operations: Vec::new() }
    }

    /// Returns the totals of the group that `subject` belongs to, and creates the group if needed.
    pub(super) fn entry(&mut self, names: &Names<'_>, subject: Subject) -> &mut A {
        let values = self.values(names, subject);
        let key = self.key(values);
        let next = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.groups.push(Group { values, differs: [false; KEYS], amounts: A::default() });
        }
        let group = &mut self.groups[number as usize];
        for ((differs, first_value), value) in group.differs.iter_mut().zip(group.values).zip(values) {
            *differs |= first_value != value;
        }
        &mut group.amounts
    }

    /// Returns the totals of the group that `subject` would belong to, if it exists, without adding `subject` to it.
    pub(super) fn existing(&mut self, names: &Names<'_>, subject: Subject) -> Option<&mut A> {
        let values = self.values(names, subject);
        let number = *self.numbers.get(&self.key(values))?;
        let group = self.groups.get_mut(number as usize)?;
        Some(&mut group.amounts)
    }

    fn key(&self, mut values: Values) -> Values {
        for (value, is_key) in values.iter_mut().zip(self.is_key) {
            if !is_key {
                *value = 0;
            }
        }
        values
    }

    fn values(&mut self, names: &Names<'_>, subject: Subject) -> Values {
        let operation = match self.operations.iter().position(|&operation| operation == subject.operation) {
            Some(index) => index,
            None => {
                self.operations.push(subject.operation);
                self.operations.len() - 1
            }
        };
        let description = names.descriptions.get(subject.file as usize);
        let mut values = [0; KEYS];
        values[Key::Process as usize] = subject.process;
        values[Key::Path as usize] = subject.file;
        values[Key::File as usize] = description.map_or(0, |file| file.file);
        values[Key::Extension as usize] = description.map_or(0, |file| file.extension);
        values[Key::Disk as usize] = subject.disk.map_or(0, |disk| disk.saturating_add(1));
        values[Key::Priority as usize] = subject.priority.map_or(0, |level| level as u32 + 1);
        values[Key::Operation as usize] = u32::try_from(operation).unwrap_or(0);
        values
    }

    /// Returns the groups, with the values that their members share.
    pub(super) fn finish(self, names: &Names<'_>) -> Vec<(SharedValues, A)> {
        let operations = self.operations;
        self.groups
            .into_iter()
            .map(|group| {
                let value = |key: Key| (!group.differs[key as usize]).then(|| group.values[key as usize]);
                let process = value(Key::Process).and_then(|number| names.processes.get(number));
                let path = value(Key::Path).and_then(|file| names.descriptions.get(file as usize));
                let shared = SharedValues {
                    pid: process.and_then(|&(pid, _)| pid),
                    image: process.map(|&(_, image)| image.to_owned()),
                    path: path.map(|file| file.path.clone().into_owned()),
                    file: value(Key::File).and_then(|file| names.file_texts.get(file)).cloned(),
                    extension: value(Key::Extension).and_then(|extension| names.extensions.get(extension)).cloned(),
                    disk: value(Key::Disk).and_then(|disk| disk.checked_sub(1)),
                    priority: value(Key::Priority)
                        .and_then(|level| level.checked_sub(1))
                        .and_then(|level| IoPriority::ALL.get(level as usize))
                        .copied(),
                    operation: value(Key::Operation).and_then(|operation| operations.get(operation as usize)).copied(),
                };
                (shared, group.amounts)
            })
            .collect()
    }
}
