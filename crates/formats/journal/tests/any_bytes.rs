//! Any input is read or rejected without a panic.

use onoff_journal::{JournalFile, read};
use onoff_testkit::journal::JournalWriter;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::synthetic::{LZ4, XZ, ZSTANDARD, entries};

/// Reads all entries and fields. Returns the number of entries.
fn read_everything(bytes: &[u8]) -> usize {
    let Ok(file) = JournalFile::open(bytes) else {
        return 0;
    };
    let mut found = 0;
    read(&[file, file], |entry| {
        found += 1;
        entry.fields().for_each(drop);
    });
    found
}

proptest! {
    #[test]
    fn accepts_any_bytes(bytes: Vec<u8>) {
        read_everything(&bytes);
        let mut headed = b"LPKSHHRH".to_vec();
        headed.extend(bytes);
        read_everything(&headed);
    }

    #[test]
    fn accepts_damaged_files(
        is_compact: bool,
        compression in 0_usize..4,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        truncated: prop::sample::Index,
        whole: bool,
    ) {
        let compression = [None, Some(XZ), Some(LZ4), Some(ZSTANDARD)][compression];
        let mut bytes = JournalWriter { is_compact, compression, ..JournalWriter::default() }.file(&entries(15));
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !whole {
            bytes.truncate(truncated.index(bytes.len()));
        }
        prop_assert!(read_everything(&bytes) <= bytes.len() / 64);
    }
}
