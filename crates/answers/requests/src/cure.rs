//! Replays the requests of a finding through a buffer, and measures the result like the recording itself.

use hashbrown::HashMap;
use onoff_trace::{FileOperation, IoOrigin, StringId, Trace};

use super::IoOptions;
use super::findings::{IoCure, IoFinding};
use super::pages::BlockSize;

/// Key of the requests of a finding: (process, file, is write).
type RequestKey = (Option<u32>, StringId, bool);

#[derive(Default)]
struct FileReplay {
    /// Block in the buffer, by open file.
    buffered: HashMap<u64, u64>,
    /// Largest end of a request, bytes.
    end: u64,
    requests: u64,
    /// Bytes of requests that bypass the buffer, and of writes.
    bytes: u64,
    /// Number of fills of the buffer by block; the last block of a file is shorter.
    fills: u64,
    last_block: u64,
    last_block_fills: u64,
    recorded_bytes: u64,
    /// Number of pages touched per request, summed.
    pages: u64,
}

impl FileReplay {
    fn add(&mut self, handle: u64, offset: u64, length: u64, (page, buffer): (BlockSize, BlockSize), is_write: bool) {
        self.end = self.end.max(offset.saturating_add(length));
        self.recorded_bytes = self.recorded_bytes.saturating_add(length);
        if let Some((first, last)) = page.first_and_last(offset, length) {
            self.pages = self.pages.saturating_add(last - first).saturating_add(1);
        }
        // Requests of at least the buffer's size bypass it.
        if length >= buffer.bytes() {
            self.requests += 1;
            self.bytes = self.bytes.saturating_add(length);
            return;
        }
        let Some((first, last)) = buffer.first_and_last(offset, length) else { return };
        let mut fill = |block: u64| {
            self.requests += 1;
            if block > self.last_block {
                (self.last_block, self.last_block_fills) = (block, 0);
            }
            self.fills += 1;
            self.last_block_fills += u64::from(block == self.last_block);
        };
        if self.buffered.get(&handle) != Some(&first) {
            fill(first);
        }
        if last > first {
            fill(last);
        }
        self.buffered.insert(handle, last);
        if is_write {
            self.bytes = self.bytes.saturating_add(length);
        }
    }

    /// Returns the bytes that the remaining requests transfer.
    fn transferred_bytes(&self, buffer: BlockSize, is_write: bool) -> u64 {
        if is_write {
            return self.bytes;
        }
        let last_block_bytes =
            self.end.saturating_sub(self.last_block.saturating_mul(buffer.bytes())).min(buffer.bytes());
        let whole = (self.fills - self.last_block_fills).saturating_mul(buffer.bytes());
        self.bytes.saturating_add(whole).saturating_add(self.last_block_fills.saturating_mul(last_block_bytes))
    }
}

/// Replays the requests of each finding that a buffer could cure.
pub(super) fn add(trace: &Trace, findings: &mut [IoFinding], options: &IoOptions) {
    let key = |finding: &IoFinding, file: StringId| -> RequestKey { (finding.pid, file, finding.direction == "write") };
    let mut replays: HashMap<RequestKey, FileReplay> = HashMap::new();
    for finding in findings.iter().filter(|finding| finding.buffered_requests.is_some()) {
        replays.extend(finding.recorded_files.iter().map(|&file| (key(finding, file), FileReplay::default())));
    }
    if replays.is_empty() {
        return;
    }
    let page = BlockSize::new(options.page_bytes);
    let buffer = BlockSize::new(options.buffer_bytes);
    for io in trace.file_ios.iter() {
        let is_write = match io.operation {
            FileOperation::Read => false,
            FileOperation::Write => true,
            _ => continue,
        };
        let is_done = io.status.is_none_or(|status| status >> 30 != 3);
        if io.level != IoOrigin::Application || !is_done || io.size == 0 {
            continue;
        }
        if let Some(replay) = replays.get_mut(&(io.pid, io.file, is_write)) {
            replay.add(io.file_object, io.offset, io.size, (page, buffer), is_write);
        }
    }
    for finding in findings.iter_mut().filter(|finding| finding.buffered_requests.is_some()) {
        let mut cure = IoCure { buffer_bytes: buffer.bytes(), ..IoCure::default() };
        let (mut recorded_bytes, mut pages) = (0_u64, 0_u64);
        for replay in finding.recorded_files.iter().filter_map(|&file| replays.get(&key(finding, file))) {
            cure.requests += replay.requests;
            cure.bytes = cure.bytes.saturating_add(replay.transferred_bytes(buffer, finding.direction == "write"));
            recorded_bytes = recorded_bytes.saturating_add(replay.recorded_bytes);
            pages = pages.saturating_add(replay.pages);
        }
        let allowed_bytes = recorded_bytes.saturating_mul(4).max(pages.saturating_mul(page.bytes()));
        cure.helps = cure.requests.saturating_mul(2) <= finding.total_requests && cure.bytes <= allowed_bytes;
        finding.cure = Some(cure);
    }
}
