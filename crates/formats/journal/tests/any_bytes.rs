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
    let mut count = 0;
    read(&[file, file], |entry| {
        count += 1;
        entry.fields().for_each(drop);
    });
    count
}

proptest! {
    #[test]
    fn accepts_any_bytes(bytes: Vec<u8>) {
        read_everything(&bytes);
        let mut with_signature = b"LPKSHHRH".to_vec();
        with_signature.extend(bytes);
        read_everything(&with_signature);
    }

    #[test]
    fn accepts_damaged_files(
        is_compact: bool,
        compression in 0_usize..4,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        truncated: prop::sample::Index,
        is_complete: bool,
    ) {
        let compression = [None, Some(XZ), Some(LZ4), Some(ZSTANDARD)][compression];
        let mut bytes = JournalWriter { is_compact, compression, ..JournalWriter::default() }.file(&entries(15));
        for (index, value) in changes {
            let offset = index.index(bytes.len());
            bytes[offset] = value;
        }
        if !is_complete {
            bytes.truncate(truncated.index(bytes.len()));
        }
        prop_assert!(read_everything(&bytes) <= bytes.len() / 64);
    }
}
