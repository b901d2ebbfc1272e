//! File names: which file a key stood for, and when.
//!
//! Disk transfers, hard faults and file operations name a file by its key, an address that is used again after the file
//! is gone. Names come when a file is first used, when it goes, and for all files that are still there in the rundown
//! at the end, so a key can only be resolved when the whole recording has been read.

use hashbrown::HashMap;
use onoff_etw::kernel::FileNameKind;
use onoff_trace::StringId;

#[derive(Debug, Default)]
pub(super) struct FileNames {
    by_key: HashMap<u64, Vec<Named>>,
}

#[derive(Clone, Copy, Debug)]
struct Named {
    time_ns: i64,
    name: StringId,
    /// Whether the name ends here rather than begins or is confirmed.
    ends: bool,
}

impl FileNames {
    /// Takes one statement about a key. Statements must come in time order.
    pub(super) fn on_name(&mut self, time_ns: i64, key: u64, kind: FileNameKind, name: StringId) {
        if key == 0 || name.is_empty() {
            return;
        }
        let statements = self.by_key.entry(key).or_default();
        let ends = kind == FileNameKind::Delete;
        // Merged rundowns repeat themselves.
        if let Some(last) = statements.last()
            && last.name == name
            && !last.ends
            && !ends
        {
            return;
        }
        statements.push(Named { time_ns, name, ends });
    }

    /// Every key that has a name.
    pub(super) fn keys(&self) -> impl Iterator<Item = u64> {
        self.by_key.keys().copied()
    }

    /// The file that `key` stood for at `time_ns`; empty when no name was recorded.
    ///
    /// The latest name given before counts, unless it had ended: then the next statement says what was there. What is
    /// written back after a file's end still belongs to it when nobody took its key.
    pub(super) fn at(&self, key: u64, time_ns: i64) -> StringId {
        let Some(statements) = self.by_key.get(&key) else { return StringId::EMPTY };
        let after = statements.partition_point(|named| named.time_ns <= time_ns);
        let before = after.checked_sub(1).and_then(|last| statements.get(last));
        let next = statements.get(after);
        match (before, next) {
            (Some(named), _) if !named.ends => named.name,
            (_, Some(next)) if next.ends => next.name,
            (Some(ended), _) => ended.name,
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
    fn a_key_stands_for_one_file_after_another() {
        let mut pool = StringPool::new();
        let [early, first, second] = ["early", "first", "second"].map(|name| pool.intern(name));
        let mut names = FileNames::default();
        names.on_name(10, 1, FileNameKind::Delete, early);
        names.on_name(20, 1, FileNameKind::Create, first);
        names.on_name(30, 1, FileNameKind::Delete, first);
        names.on_name(90, 1, FileNameKind::Rundown, second);
        names.on_name(91, 1, FileNameKind::Rundown, second);
        assert_eq!(names.at(1, 5), early, "named by its end");
        assert_eq!(names.at(1, 25), first);
        assert_eq!(names.at(1, 30), first, "written back while it goes");
        assert_eq!(names.at(1, 95), second);
        assert_eq!(names.at(2, 5), StringId::EMPTY);
    }

    #[test]
    fn a_rundown_at_the_end_names_what_came_before() {
        let mut pool = StringPool::new();
        let file = pool.intern("file");
        let mut names = FileNames::default();
        names.on_name(90, 7, FileNameKind::Rundown, file);
        assert_eq!(names.at(7, 1), file);
    }
}
