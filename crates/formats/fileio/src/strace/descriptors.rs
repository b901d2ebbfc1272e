//! Tracks open files like the kernel does: threads share or copy descriptor tables, and descriptors share open files.

use hashbrown::HashMap;

/// An open file description, shared by duplicated descriptors.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenFile {
    pub(super) path: String,
    /// Position of the next read or write without an explicit offset.
    pub(super) position: u64,
    pub(super) append: bool,
    /// True if requests bypass the cache (`O_DIRECT`).
    pub(super) direct: bool,
    /// False for pipes, sockets and the like.
    pub(super) seekable: bool,
}

/// Index of an open file in [`Descriptors`].
pub(super) type OpenFileId = usize;

#[derive(Clone, Debug, Default)]
struct Table {
    files: HashMap<i32, (OpenFileId, bool)>,
}

/// The open files of all threads.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    open_files: Vec<OpenFile>,
    tables: Vec<Table>,
    tables_by_thread: HashMap<u32, usize>,
    processes_by_thread: HashMap<u32, u32>,
    names: HashMap<u32, String>,
    sizes: HashMap<String, u64>,
}

impl Descriptors {
    fn table_index(&mut self, tid: u32) -> usize {
        match self.tables_by_thread.get(&tid) {
            Some(&table) => table,
            None => {
                self.tables.push(Table::default());
                let table = self.tables.len() - 1;
                self.tables_by_thread.insert(tid, table);
                table
            }
        }
    }

    /// Adds an open file at `descriptor` of a thread's table.
    pub(super) fn open(&mut self, tid: u32, descriptor: i32, file: OpenFile, close_on_exec: bool) -> OpenFileId {
        let table = self.table_index(tid);
        self.open_files.push(file);
        let id = self.open_files.len() - 1;
        if let Some(table) = self.tables.get_mut(table) {
            table.files.insert(descriptor, (id, close_on_exec));
        }
        id
    }

    /// Returns the open file at `descriptor`. A path printed by `-y` identifies a file whose opening was not recorded.
    pub(super) fn find(&mut self, tid: u32, descriptor: i32, path: Option<&str>) -> Option<OpenFileId> {
        let table = self.table_index(tid);
        let found = self.tables.get(table)?.files.get(&descriptor).map(|&(id, _)| id);
        match (found, path) {
            (Some(id), Some(path)) if self.open_files.get(id).is_some_and(|file| file.path != path) => {
                // The descriptor was reused for another file by an unrecorded call, or the file was renamed.
                let file = self.open_files.get_mut(id)?;
                if file.seekable && is_seekable(path) {
                    file.path = path.to_owned();
                    return Some(id);
                }
                Some(self.open_path(tid, descriptor, path))
            }
            (Some(id), _) => Some(id),
            (None, Some(path)) => Some(self.open_path(tid, descriptor, path)),
            (None, None) => None,
        }
    }

    fn open_path(&mut self, tid: u32, descriptor: i32, path: &str) -> OpenFileId {
        let file = OpenFile { path: path.to_owned(), seekable: is_seekable(path), ..OpenFile::default() };
        self.open(tid, descriptor, file, false)
    }

    pub(super) fn get(&self, id: OpenFileId) -> Option<&OpenFile> {
        self.open_files.get(id)
    }

    pub(super) fn get_mut(&mut self, id: OpenFileId) -> Option<&mut OpenFile> {
        self.open_files.get_mut(id)
    }

    pub(super) fn duplicate(&mut self, tid: u32, original: i32, copy: i32) {
        let table = self.table_index(tid);
        if let Some(table) = self.tables.get_mut(table)
            && let Some(&(id, _)) = table.files.get(&original)
        {
            table.files.insert(copy, (id, false));
        }
    }

    pub(super) fn close(&mut self, tid: u32, descriptor: i32) -> Option<OpenFileId> {
        let table = self.table_index(tid);
        self.tables.get_mut(table)?.files.remove(&descriptor).map(|(id, _)| id)
    }

    /// Adds a new thread or process.
    pub(super) fn spawn(&mut self, parent: u32, child: u32, shares_files: bool, is_thread: bool) {
        let table = self.table_index(parent);
        let table = if shares_files {
            table
        } else {
            let copy = self.tables.get(table).cloned().unwrap_or_default();
            self.tables.push(copy);
            self.tables.len() - 1
        };
        self.tables_by_thread.insert(child, table);
        let process = self.process(parent);
        self.processes_by_thread.insert(child, if is_thread { process } else { child });
        if !is_thread && let Some(name) = self.names.get(&process).cloned() {
            self.names.insert(child, name);
        }
    }

    /// Handles exec: the thread gets its own table without the close-on-exec descriptors.
    pub(super) fn execute(&mut self, tid: u32, path: &str) {
        let table = self.table_index(tid);
        let is_shared =
            self.tables_by_thread.iter().any(|(&other_tid, &other_table)| other_table == table && other_tid != tid);
        if let Some(mut copy) = self.tables.get(table).cloned() {
            copy.files.retain(|_, &mut (_, close_on_exec)| !close_on_exec);
            if is_shared {
                self.tables.push(copy);
                self.tables_by_thread.insert(tid, self.tables.len() - 1);
            } else if let Some(table) = self.tables.get_mut(table) {
                *table = copy;
            }
        }
        let process = self.process(tid);
        let name = path.rsplit('/').next().unwrap_or(path);
        self.names.insert(process, name.to_owned());
    }

    /// Returns the process id of a thread.
    pub(super) fn process(&self, tid: u32) -> u32 {
        self.processes_by_thread.get(&tid).copied().unwrap_or(tid)
    }

    pub(super) fn name(&self, process: u32) -> &str {
        self.names.get(&process).map_or("", String::as_str)
    }

    /// Returns the size of a file, if known: reported by the kernel or reached by a write.
    pub(super) fn size(&self, path: &str) -> Option<u64> {
        self.sizes.get(path).copied()
    }

    pub(super) fn set_size(&mut self, path: &str, size: u64) {
        match self.sizes.get_mut(path) {
            Some(current) => *current = size,
            None => {
                self.sizes.insert(path.to_owned(), size);
            }
        }
    }

    /// Records that a write to an open file ended at `end`.
    pub(super) fn grow_to(&mut self, id: OpenFileId, end: u64) {
        let Some(file) = self.open_files.get(id) else { return };
        if let Some(current) = self.sizes.get_mut(&file.path) {
            *current = (*current).max(end);
        }
    }
}

/// Character devices whose reads and writes transfer nothing to or from a disk, below `/dev/`. `-yy` marks all of them,
/// `-y` and plain paths do not (`Documentation/admin-guide/devices.txt` of Linux).
const CHARACTER_DEVICES: [&str; 8] = ["null", "zero", "full", "random", "urandom", "console", "kmsg", "ptmx"];

/// Folders and prefixes of terminals and other character devices, below `/dev/`.
const CHARACTER_DEVICE_PREFIXES: [&str; 6] = ["tty", "pts/", "input/", "snd/", "dri/", "hidraw"];

/// True if the text that `-y` prints for a descriptor is a file or a disk; pipes, sockets and others are
/// `kind:[number]`.
pub(super) fn is_seekable(path: &str) -> bool {
    let is_character_device = path.strip_prefix("/dev/").is_some_and(|name| {
        CHARACTER_DEVICES.contains(&name) || CHARACTER_DEVICE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    });
    path.starts_with('/') && !path.contains("<char ") && !is_character_device
}
