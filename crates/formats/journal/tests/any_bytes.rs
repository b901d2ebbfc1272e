//! Any bytes are read or refused, and never panic.

use onoff_journal::{JournalFile, read};
use onoff_testkit::journal::JournalMaker;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::made::{LZ4, XZ, ZSTANDARD, entries};

/// Reads everything; the entries found.
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
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        read_everything(&bytes);
        let mut headed = b"LPKSHHRH".to_vec();
        headed.extend(bytes);
        read_everything(&headed);
    }

    #[test]
    fn a_file_with_any_bytes_in_it_is_read_as_far_as_it_goes(
        compact: bool,
        packing in 0_usize..4,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut: prop::sample::Index,
        whole: bool,
    ) {
        let packing = [None, Some(XZ), Some(LZ4), Some(ZSTANDARD)][packing];
        let mut bytes = JournalMaker { compact, packing, ..JournalMaker::default() }.file(&entries(15));
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        prop_assert!(read_everything(&bytes) <= bytes.len() / 64);
    }
}
