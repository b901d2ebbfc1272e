//! One disk: a request at a time, low priority only when nothing else waits.

use std::collections::VecDeque;

use hashbrown::HashMap;

use onoff_testkit::events::storage::DiskRequest;

/// A request and its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) request: DiskRequest,
    /// When it was issued.
    pub(super) issued: u64,
    /// Thread that waits for it, by index.
    pub(super) thread: usize,
    /// Whether it serves a page fault.
    pub(super) fault: bool,
}

/// The disk's queue and the files on it.
#[derive(Debug)]
pub(super) struct Disk {
    access: u64,
    per_mib: u64,
    normal: VecDeque<Queued>,
    low: VecDeque<Queued>,
    /// The request being served and up to when its time has been accounted.
    pub(super) active: Option<(Queued, u64)>,
    files: HashMap<String, File>,
    next_file: u64,
    next_request: u64,
    /// Which disk it is.
    number: u32,
}

#[derive(Clone, Copy, Debug)]
struct File {
    key: u64,
    offset: u64,
}

/// Where files begin on the disk, and how far apart.
const FIRST_FILE: u64 = 64 << 20;
const FILE_SPACING: u64 = 48 << 20;

impl Disk {
    pub(super) fn new(number: u32, access: u64, per_mib: u64) -> Self {
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
        }
    }

    /// Key, next offset on the disk, and whether the name is new. A request without a name reads
    /// from the prefetcher's own area and has no key.
    pub(super) fn locate(&mut self, path: &str, size: u32) -> (u64, u64, bool) {
        let fresh = !self.files.contains_key(path);
        if fresh {
            let first = 0xFFFF_F8A0_0000_0000 + (u64::from(self.number) << 32);
            let key = if path.is_empty() { 0 } else { first + self.next_file * 0x180 };
            let offset = FIRST_FILE + self.next_file * FILE_SPACING;
            self.next_file += 1;
            self.files.insert(path.to_owned(), File { key, offset });
        }
        match self.files.get_mut(path) {
            Some(file) => {
                let offset = file.offset;
                file.offset += u64::from(size);
                (file.key, offset, fresh && file.key != 0)
            }
            None => (0, 0, false),
        }
    }

    /// Names and keys of all files, in order of their keys.
    pub(super) fn names(&self) -> Vec<(u64, &str)> {
        let mut names: Vec<(u64, &str)> =
            self.files.iter().filter(|(_, file)| file.key != 0).map(|(path, file)| (file.key, path.as_str())).collect();
        names.sort_unstable();
        names
    }

    /// A request packet of its own for the next request.
    pub(super) fn next_packet(&mut self) -> u64 {
        self.next_request += 1;
        0xFFFF_FA80_0000_0000 + (u64::from(self.number) << 24) + (self.next_request % 4096) * 0x1B0
    }

    pub(super) fn queue(&mut self, queued: Queued) {
        if queued.request.priority.is_low() {
            self.low.push_back(queued);
        } else {
            self.normal.push_back(queued);
        }
    }

    /// Begins the next request if the disk is free; returns how long it takes.
    pub(super) fn begin(&mut self, now: u64) -> Option<u64> {
        if self.active.is_some() {
            return None;
        }
        let next = self.normal.pop_front().or_else(|| self.low.pop_front())?;
        self.active = Some((next, now));
        Some((self.access + ((u64::from(next.request.size) * self.per_mib) >> 20)).max(1))
    }
}

/// NT path of a path on the system volume, or on that of a further disk: `D:\...`.
pub(super) fn volume_path(path: &str) -> String {
    match disk_of(path) {
        0 => format!("\\Device\\HarddiskVolume2{path}"),
        disk => format!("\\Device\\HarddiskVolume{}{}", disk + 2, &path[2..]),
    }
}

/// The disk that a path is on: `D:` is the second one.
pub(super) fn disk_of(path: &str) -> usize {
    match path.as_bytes() {
        [letter @ b'D'..=b'Z', b':', ..] => usize::from(letter - b'C'),
        _ => 0,
    }
}
