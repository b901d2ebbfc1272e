//! ReadyBoot: the reads of a boot that its read-ahead looked at.

use onoff_image::prefetch::ReadyBootSums;
use onoff_trace::DescribedEvent;

use super::{MAX_KEYS, number};

/// Events of the read-ahead, as a filter takes them: each request, and the sums at its end.
pub const EVENTS: [&str; 3] = [
    "Microsoft-Windows-ReadyBoostDriver/ReadyBootIO*",
    "Microsoft-Windows-ReadyBoost/ReadyBoot*",
    "Microsoft-Windows-ReadyBoost/1015",
];

/// A request that the read-ahead looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyBootRequest {
    /// When it was over, ns.
    pub time_ns: i64,
    /// First byte on the volume.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Flags as recorded; what each bit means is not published.
    pub flags: u64,
    /// Path of the file; empty when not known.
    pub file: String,
}

/// What the read-ahead said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyBoot {
    /// Requests, by time.
    pub requests: Vec<ReadyBootRequest>,
    /// Its sums; `None` when they were not recorded.
    pub sums: Option<ReadyBootSums>,
    /// Requests beyond the number that is kept.
    pub left_out: u64,
}

impl ReadyBoot {
    /// Takes an event.
    pub fn take(&mut self, event: &DescribedEvent<'_>) {
        match (event.provider, event.id) {
            ("Microsoft-Windows-ReadyBoostDriver", 12) => {
                if self.requests.len() >= MAX_KEYS {
                    self.left_out += 1;
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
                // Version 0 counts in KB.
                let bytes = |name: &str, kilobytes: &str| {
                    event.number(name).unwrap_or_else(|| number(event, kilobytes).saturating_mul(1024))
                };
                self.sums = Some(ReadyBootSums {
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

    use super::super::synthetic::{Made, number};
    use super::*;

    #[test]
    fn sums_of_every_version_are_bytes() {
        let directory = Directory::new();
        let mut said = ReadyBoot::default();
        let fields = [number("RB_IoReadKB", 2), number("RB_CacheHitCount", 3)];
        let made = Made::at(1, &fields);
        let mut event = made.event("Microsoft-Windows-ReadyBoost/ReadyBoot", "", &directory);
        event.id = 1015;
        said.take(&event);
        let sums = said.sums.unwrap();
        assert_eq!((sums.read_bytes, sums.hits), (2048, 3));
        let fields = [number("ByteLength", 4096), number("Flags", 5)];
        let made = Made::at(2, &fields);
        let mut event = made.event("Microsoft-Windows-ReadyBoostDriver/ReadyBootIO", "", &directory);
        event.id = 12;
        said.take(&event);
        assert_eq!((said.requests.len(), said.requests[0].bytes), (1, 4096));
    }
}
