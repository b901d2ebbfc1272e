//! Resolves file keys to names by time.
//!
//! Disk transfers, hard faults and file operations refer to a file by its key, an address that is reused after the file
//! object is freed. Names are recorded when a file is first used, when its object is freed, and in the rundown at the
//! end for all remaining files. Keys can therefore only be resolved after the whole recording has been read.

use hashbrown::HashMap;
use onoff_etw::kernel::FileNameKind;
use onoff_trace::StringId;

#[derive(Debug, Default)]
pub(super) struct FileNames {
    by_key: HashMap<u64, Vec<NameRecord>>,
}

#[derive(Clone, Copy, Debug)]
struct NameRecord {
    time_ns: i64,
    name: StringId,
    /// True if the name ends here; false if it starts or is confirmed.
    ends: bool,
}

impl FileNames {
    /// Adds a name record for a key. Records must be added in time order.
    pub(super) fn on_name(&mut self, time_ns: i64, key: u64, kind: FileNameKind, name: StringId) {
        if key == 0 || name.is_empty() {
            return;
        }
        let records = self.by_key.entry(key).or_default();
        let ends = kind == FileNameKind::Delete;
        // Merging repeats rundowns.
        if let Some(last_record) = records.last()
            && last_record.name == name
            && !last_record.ends
            && !ends
        {
            return;
        }
        records.push(NameRecord { time_ns, name, ends });
    }

    /// Returns all keys with a name.
    pub(super) fn keys(&self) -> impl Iterator<Item = u64> {
        self.by_key.keys().copied()
    }

    /// Returns the file to which `key` referred at `time_ns`; empty if no name was recorded.
    ///
    /// The latest earlier name is used unless it had ended, in which case the next record decides. Data written back
    /// after a file's end still belongs to the file if its key was not reused.
    pub(super) fn name_at(&self, key: u64, time_ns: i64) -> StringId {
        let Some(records) = self.by_key.get(&key) else { return StringId::EMPTY };
        let next_index = records.partition_point(|record| record.time_ns <= time_ns);
        let previous = next_index.checked_sub(1).and_then(|index| records.get(index));
        let next = records.get(next_index);
        match (previous, next) {
            (Some(record), _) if !record.ends => record.name,
            (_, Some(next)) if next.ends => next.name,
            (Some(previous), _) => previous.name,
            (None, Some(next)) => next.name,
            (None, None) => StringId::EMPTY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::StringPool;

    #[test]
    fn resolves_reused_key_by_time() {
        let mut pool = StringPool::new();
        let [early, first, second] = ["early", "first", "second"].map(|name| pool.intern(name));
        let mut names = FileNames::default();
        names.on_name(10, 1, FileNameKind::Delete, early);
        names.on_name(20, 1, FileNameKind::Create, first);
        names.on_name(30, 1, FileNameKind::Delete, first);
        names.on_name(90, 1, FileNameKind::Rundown, second);
        names.on_name(91, 1, FileNameKind::Rundown, second);
        assert_eq!(names.name_at(1, 5), early, "named by its end record");
        assert_eq!(names.name_at(1, 25), first);
        assert_eq!(names.name_at(1, 30), first, "written back at its end");
        assert_eq!(names.name_at(1, 95), second);
        assert_eq!(names.name_at(2, 5), StringId::EMPTY);
    }

    #[test]
    fn rundown_at_the_end_names_earlier_uses() {
        let mut pool = StringPool::new();
        let file = pool.intern("file");
        let mut names = FileNames::default();
        names.on_name(90, 7, FileNameKind::Rundown, file);
        assert_eq!(names.name_at(7, 1), file);
    }
}
