//! A disk that serves one request at a time; low-priority requests only when no others are queued.

use std::collections::VecDeque;

use hashbrown::HashMap;

use onoff_testkit::events::storage::DiskRequest;

#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedRequest {
    pub(super) request: DiskRequest,
    pub(super) issued: u64,
    /// Index of the waiting thread.
    pub(super) thread: usize,
    /// The request serves a page fault.
    pub(super) is_fault: bool,
}

/// The disk's queue and the files on it.
#[derive(Debug)]
pub(super) struct Disk {
    access: u64,
    per_mib: u64,
    normal: VecDeque<QueuedRequest>,
    low: VecDeque<QueuedRequest>,
    /// The request in service, and the time up to which it is accounted for.
    pub(super) active: Option<(QueuedRequest, u64)>,
    files: HashMap<String, File>,
    next_file: u64,
    next_request: u64,
    number: u32,
    /// Path and access time of a file that is hard to read.
    bad_file: Option<(String, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct File {
    key: u64,
    offset: u64,
}

/// Disk offset of the first file, and the distance between files.
const FIRST_FILE: u64 = 64 << 20;
const FILE_SPACING: u64 = 48 << 20;

impl Disk {
    pub(super) fn new(number: u32, access: u64, per_mib: u64, bad_file: Option<(String, u64)>) -> Self {
        Self {
            access,
            per_mib,
            normal: VecDeque::new(),
            low: VecDeque::new(),
            active: None,
            files: HashMap::new(),
            next_file: 0,
            next_request: 0,
            number,
            bad_file,
        }
    }

    /// Returns the file key, the next disk offset, and whether the name is new. A request without a name reads from the
    /// prefetcher's area and has key 0.
    pub(super) fn locate(&mut self, path: &str, size: u32) -> (u64, u64, bool) {
        let is_new = !self.files.contains_key(path);
        if is_new {
            let first_key = 0xFFFF_F8A0_0000_0000 + (u64::from(self.number) << 32);
            let key = if path.is_empty() { 0 } else { first_key + self.next_file * 0x180 };
            let offset = FIRST_FILE + self.next_file * FILE_SPACING;
            self.next_file += 1;
            self.files.insert(path.to_owned(), File { key, offset });
        }
        match self.files.get_mut(path) {
            Some(file) => {
                let offset = file.offset;
                file.offset += u64::from(size);
                (file.key, offset, is_new && file.key != 0)
            }
            None => (0, 0, false),
        }
    }

    /// Keys and names of all files, sorted by key.
    pub(super) fn names(&self) -> Vec<(u64, &str)> {
        let mut names: Vec<(u64, &str)> =
            self.files.iter().filter(|(_, file)| file.key != 0).map(|(path, file)| (file.key, path.as_str())).collect();
        names.sort_unstable();
        names
    }

    /// Address of an unused request packet.
    pub(super) fn next_packet(&mut self) -> u64 {
        self.next_request += 1;
        0xFFFF_FA80_0000_0000 + (u64::from(self.number) << 24) + (self.next_request % 4096) * 0x1B0
    }

    pub(super) fn queue(&mut self, queued: QueuedRequest) {
        if queued.request.priority.is_low() {
            self.low.push_back(queued);
        } else {
            self.normal.push_back(queued);
        }
    }

    /// Starts the next request if the disk is free; returns its service time.
    pub(super) fn start_next(&mut self, now: u64) -> Option<u64> {
        if self.active.is_some() {
            return None;
        }
        let next = self.normal.pop_front().or_else(|| self.low.pop_front())?;
        self.active = Some((next, now));
        let bad_access = self.bad_file.as_ref().and_then(|(path, access)| {
            let file = self.files.get(path)?;
            (file.key == next.request.file).then_some(*access)
        });
        Some((bad_access.unwrap_or(self.access) + ((u64::from(next.request.size) * self.per_mib) >> 20)).max(1))
    }
}

/// Returns the NT path of a path on the system volume, or on another disk if it starts with a drive letter (`D:\...`).
pub(super) fn volume_path(path: &str) -> String {
    match disk_index(path) {
        0 => format!("\\Device\\HarddiskVolume2{path}"),
        disk => format!("\\Device\\HarddiskVolume{}{}", disk + 2, &path[2..]),
    }
}

/// Returns the index of the disk of a path: `D:` is disk 1.
pub(super) fn disk_index(path: &str) -> usize {
    match path.as_bytes() {
        [letter @ b'D'..=b'Z', b':', ..] => usize::from(letter - b'C'),
        _ => 0,
    }
}
