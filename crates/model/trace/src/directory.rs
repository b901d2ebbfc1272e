//! Names of processes, threads, modules and files at one point of a stream of events.
//!
//! Tables cover the whole recording; a stream knows only preceding events. Ids are reused, so an entry has the latest
//! meaning of the id: a process keeps its name after its exit until another process gets the id.

use std::borrow::Cow;
use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::drive_paths::DrivePaths;

/// A module in an address space.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Module {
    end: u64,
    name: Box<str>,
}
/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Thread {
    pid: u32,
    start_address: u64,
}
/// Processes, threads, modules and files known so far.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    processes: HashMap<u32, Box<str>>,
    threads: HashMap<u32, Thread>,
    /// Modules by process and base address. Process 0 is the kernel, which is visible to every process.
    modules: HashMap<u32, BTreeMap<u64, Module>>,
    files: HashMap<u64, Box<str>>,
    drive_paths: DrivePaths,
}

impl Directory {
    /// Creates a directory that contains only the idle process.
    #[must_use]
    pub fn new() -> Self {
        let mut directory = Self::default();
        directory.set_process(0, "Idle");
        directory
    }

    /// Records that process `pid` runs `image`. An empty name is ignored.
    pub fn set_process(&mut self, pid: u32, image: &str) {
        if !image.is_empty() && self.process(pid) != Some(image) {
            self.processes.insert(pid, image.into());
            self.modules.remove(&pid);
        }
    }

    /// Records that thread `tid` belongs to `pid` and starts at `start_address` (0 when unknown).
    pub fn set_thread(&mut self, tid: u32, pid: u32, start_address: u64) {
        self.threads.insert(tid, Thread { pid, start_address });
    }

    /// Records a module at `base` in the address space of `pid`; process 0 is the kernel.
    pub fn set_module(&mut self, pid: u32, base: u64, size: u64, path: &str) {
        let end = base.saturating_add(size);
        let name = path.rsplit('\\').next().unwrap_or(path).into();
        self.modules.entry(pid).or_default().insert(base, Module { end, name });
    }

    /// Removes the module at `base`.
    pub fn remove_module(&mut self, pid: u32, base: u64) {
        if let Some(modules) = self.modules.get_mut(&pid) {
            modules.remove(&base);
        }
    }

    /// Records the path of the file with this key.
    pub fn set_file(&mut self, key: u64, path: &str) {
        let path = self.with_drive_letter(path);
        if self.file(key) != Some(&*path) {
            let path = path.into();
            self.files.insert(key, path);
        }
    }

    /// Records the drive letter of a volume, or the replacement of another prefix; see [`DrivePaths::add`].
    pub fn set_volume(&mut self, device: &str, drive: &str) {
        if self.drive_paths.add(device, drive) {
            for path in self.files.values_mut() {
                if let Cow::Owned(readable) = self.drive_paths.readable(path) {
                    *path = readable.into();
                }
            }
        }
    }

    /// Returns `path` with its drive letter if known, otherwise as recorded.
    #[must_use]
    pub fn with_drive_letter<'p>(&self, path: &'p str) -> Cow<'p, str> {
        self.drive_paths.readable(path)
    }

    /// Returns the image name of a process.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<&str> {
        self.processes.get(&pid).map(AsRef::as_ref)
    }

    /// Returns the process of a thread. Thread 0 is the idle thread of a processor.
    #[must_use]
    pub fn thread_process(&self, tid: u32) -> Option<u32> {
        match tid {
            0 => Some(0),
            _ => self.threads.get(&tid).map(|thread| thread.pid),
        }
    }

    /// Returns the start address of a thread.
    #[must_use]
    pub fn thread_start_address(&self, tid: u32) -> Option<u64> {
        let address = self.threads.get(&tid)?.start_address;
        (address != 0).then_some(address)
    }

    /// Returns the file name of the module that contains `address` in the address space of `pid`.
    #[must_use]
    pub fn module(&self, pid: u32, address: u64) -> Option<&str> {
        // Drivers are listed under the process that loaded them, including the System process.
        [pid, 0, SYSTEM_PROCESS].into_iter().find_map(|pid| {
            let (_, module) = self.modules.get(&pid)?.range(..=address).next_back()?;
            (address < module.end).then_some(&*module.name)
        })
    }

    /// Returns the path of a file.
    #[must_use]
    pub fn file(&self, key: u64) -> Option<&str> {
        self.files.get(&key).map(AsRef::as_ref)
    }
}

/// Process id of the Windows `System` process.
const SYSTEM_PROCESS: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reused_process_id_gets_new_name_and_drops_modules() {
        let mut directory = Directory::new();
        directory.set_process(600, "smss.exe");
        directory.set_module(600, 0x1000, 0x100, r"\Windows\System32\smss.exe");
        directory.set_module(0, 0x8000, 0x100, r"\SystemRoot\ntoskrnl.exe");
        assert_eq!(directory.module(600, 0x10ff), Some("smss.exe"));
        assert_eq!(directory.module(600, 0x1100), None);
        assert_eq!(directory.module(600, 0x8000), Some("ntoskrnl.exe"));
        directory.set_process(600, "csrss.exe");
        assert_eq!(directory.process(600), Some("csrss.exe"));
        assert_eq!(directory.module(600, 0x1000), None);
    }

    #[test]
    fn maps_volume_paths_in_either_order() {
        let mut directory = Directory::new();
        directory.set_file(1, r"\Device\HarddiskVolume3\a.txt");
        directory.set_file(2, r"\Device\HarddiskVolume30\b.txt");
        directory.set_volume(r"\Device\HarddiskVolume3\", r"C:\");
        directory.set_file(3, r"\device\harddiskvolume3\c.txt");
        let paths = [1, 2, 3].map(|key| directory.file(key).unwrap());
        assert_eq!(paths, [r"C:\a.txt", r"\Device\HarddiskVolume30\b.txt", r"C:\c.txt"]);
    }

    #[test]
    fn thread_zero_is_idle() {
        let mut directory = Directory::new();
        directory.set_thread(8, 4, 0);
        assert_eq!(directory.thread_process(8), Some(4));
        assert_eq!(directory.thread_process(0).and_then(|pid| directory.process(pid)), Some("Idle"));
        assert_eq!(directory.thread_process(9), None);
    }
}
