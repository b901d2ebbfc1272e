//! ReadyBoot: the requests that the boot read-ahead saw, and its totals.

use onoff_image::prefetch::ReadyBootTotals;
use onoff_trace::DescribedEvent;

use super::{MAX_KEYS, number};

/// Filter patterns for ReadyBoot's requests and its final totals.
pub const EVENTS: [&str; 3] = [
    "Microsoft-Windows-ReadyBoostDriver/ReadyBootIO*",
    "Microsoft-Windows-ReadyBoost/ReadyBoot*",
    "Microsoft-Windows-ReadyBoost/1015",
];

/// A request that ReadyBoot saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyBootRequest {
    /// Completion time.
    pub time_ns: i64,
    /// Offset on the volume.
    pub offset: u64,
    pub bytes: u64,
    /// As recorded; the bits are undocumented.
    pub flags: u64,
    /// File path; empty if unknown.
    pub file: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyBoot {
    /// By time.
    pub requests: Vec<ReadyBootRequest>,
    /// `None` if not recorded.
    pub sums: Option<ReadyBootTotals>,
    /// Requests beyond the limit.
    pub omitted: u64,
}

impl ReadyBoot {
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        match (event.provider, event.id) {
            ("Microsoft-Windows-ReadyBoostDriver", 12) => {
                if self.requests.len() >= MAX_KEYS {
                    self.omitted += 1;
                    return;
                }
                let file = event.directory.file(number(event, "FileKey"));
                self.requests.push(ReadyBootRequest {
                    time_ns: event.time_ns,
                    offset: number(event, "ByteOffset"),
                    bytes: number(event, "ByteLength"),
                    flags: number(event, "Flags"),
                    file: file.unwrap_or_default().to_owned(),
                });
            }
            ("Microsoft-Windows-ReadyBoost", 1015) => {
                // Version 0 has KB instead of bytes.
                let bytes = |name: &str, kilobytes: &str| {
                    event.number(name).unwrap_or_else(|| number(event, kilobytes).saturating_mul(1024))
                };
                self.sums = Some(ReadyBootTotals {
                    reads: number(event, "RB_IoReadCount"),
                    read_bytes: bytes("RB_IoReadBytes", "RB_IoReadKB"),
                    hits: number(event, "RB_CacheHitCount"),
                    hit_bytes: bytes("RB_CacheHitBytes", "RB_CacheHitKB"),
                    prefetches: number(event, "RB_PrefetchReadCount"),
                    prefetch_bytes: event
                        .number("RB_PrefetchBytes")
                        .unwrap_or_else(|| number(event, "RB_BootPrefetchDataReadBytes")),
                    prefetch_disk_us: event
                        .number("RB_PrefetchDiskTimeUs")
                        .unwrap_or_else(|| number(event, "RB_BootPrefetchDiskTimeUs")),
                });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::Directory;

    use super::super::synthetic::{EventTemplate, number};
    use super::*;

    #[test]
    fn converts_kilobytes_of_version_0() {
        let directory = Directory::new();
        let mut ready_boot = ReadyBoot::default();
        let fields = [number("RB_IoReadKB", 2), number("RB_CacheHitCount", 3)];
        let template = EventTemplate::new(1, &fields);
        let mut event = template.event("Microsoft-Windows-ReadyBoost/ReadyBoot", "", &directory);
        event.id = 1015;
        ready_boot.take(&event);
        let sums = ready_boot.sums.unwrap();
        assert_eq!((sums.read_bytes, sums.hits), (2048, 3));
        let fields = [number("ByteLength", 4096), number("Flags", 5)];
        let template = EventTemplate::new(2, &fields);
        let mut event = template.event("Microsoft-Windows-ReadyBoostDriver/ReadyBootIO", "", &directory);
        event.id = 12;
        ready_boot.take(&event);
        assert_eq!((ready_boot.requests.len(), ready_boot.requests[0].bytes), (1, 4096));
    }
}
