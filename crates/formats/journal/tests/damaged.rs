//! Files that a crash, a full disk or a bad one left.

use onoff_journal::{Error, JournalFile, Place};
use onoff_testkit::journal::JournalMaker;

use crate::made::{ZSTANDARD, entries, read_all, sorted};

fn put(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

fn number(bytes: &[u8], offset: usize) -> usize {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap()) as usize
}

#[test]
fn a_journal_that_was_not_closed_is_read_and_said_so() {
    let maker = JournalMaker { state: 1, ..JournalMaker::default() };
    let made = entries(20);
    let (found, losses) = read_all(&[&maker.file(&made)]);
    assert_eq!(found, sorted(made));
    assert_eq!((losses.not_closed, losses.entries_recovered, losses.entries_unreadable), (1, 0, 0));
}

#[test]
fn behind_a_broken_list_entries_are_looked_for() {
    for compact in [false, true] {
        let maker = JournalMaker { compact, ..JournalMaker::default() };
        let made = entries(40);
        let mut bytes = maker.file(&made);
        let first_list = number(&bytes, 176);
        // The first list names a next one where there is none.
        put(&mut bytes, first_list + 16, 1 << 40);
        let (found, losses) = read_all(&[&bytes]);
        assert_eq!(found, sorted(made), "compact {compact}");
        assert_eq!((losses.lists_damaged, losses.entries_recovered, losses.entries_unreadable), (1, 36, 0));
        assert_eq!(losses.first, Some(Place { file: 0, offset: 1 << 40 }));
    }
}

#[test]
fn a_cut_file_gives_what_came_before() {
    let made = entries(40);
    let bytes = JournalMaker::default().file(&made);
    let cut = bytes.len() * 2 / 3;
    let (found, losses) = read_all(&[&bytes[..cut]]);
    // The lists are at the end of a made file, so every entry is found by looking for it.
    assert!(found.len() > 20 && found.len() < 40, "{}", found.len());
    assert_eq!(found, sorted(made)[..found.len()]);
    assert_eq!((losses.truncated, losses.lists_damaged), (1, 1));
    assert_eq!(losses.entries_recovered + losses.entries_unreadable, 40);
}

#[test]
fn overwritten_objects_cost_only_what_was_in_them() {
    let made = entries(40);
    let mut bytes = JournalMaker::default().file(&made);
    let first_list = number(&bytes, 176);
    let second = number(&bytes, first_list + 16 + 8 + 8);
    // A page of zeros over the second entry and what follows, as a lost write leaves it.
    bytes[second..second + 512].fill(0);
    let (found, losses) = read_all(&[&bytes]);
    let lost = 40 - found.len() as u64;
    assert!((1..=4).contains(&lost), "{lost}");
    assert_eq!(losses.entries_unreadable, lost);
    assert_eq!(losses.lists_damaged, 1);
}

#[test]
fn a_field_that_cannot_be_unpacked_is_counted_and_the_others_stay() {
    let maker = JournalMaker { packing: Some(ZSTANDARD), ..JournalMaker::default() };
    let made = entries(40);
    let mut bytes = maker.file(&made);
    let magic = bytes.windows(4).position(|four| four == [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    bytes[magic] = 0;
    let (found, losses) = read_all(&[&bytes]);
    assert_eq!(found.len(), 40);
    assert_eq!(losses.fields_unreadable, 1);
    let fields: usize = found.iter().map(|entry| entry.fields.len()).sum();
    assert_eq!(fields, 40 * 4 - 1);
}

#[test]
fn a_list_that_leads_back_ends() {
    let made = entries(40);
    let mut bytes = JournalMaker::default().file(&made);
    let first_list = number(&bytes, 176);
    put(&mut bytes, first_list + 16, first_list as u64);
    let (found, losses) = read_all(&[&bytes]);
    assert_eq!(found, sorted(made));
    assert_eq!(losses.lists_damaged, 1);
}

#[test]
fn a_field_that_expands_beyond_measure_is_left_out() {
    fn bomb(_: &[u8]) -> Vec<u8> {
        (crate::made::XZ.pack)(&vec![b'a'; 65 << 20])
    }
    let packing = onoff_testkit::journal::FieldPacking { flag: 1, pack: bomb, shortest: 420 };
    let maker = JournalMaker { packing: Some(packing), ..JournalMaker::default() };
    let bytes = maker.file(&entries(12));
    assert!(bytes.len() < 100_000);
    let (found, losses) = read_all(&[&bytes]);
    assert_eq!(found.len(), 12);
    assert_eq!((losses.fields_beyond_budget, losses.fields_unreadable), (1, 0));
}

#[test]
fn what_is_no_journal_is_refused_with_its_place() {
    assert!(matches!(JournalFile::open(b"LPKSHHRH"), Err(Error::Truncated { length: 8 })));
    assert!(matches!(JournalFile::open(&[0; 400]), Err(Error::NotAJournal { offset: 0, .. })));
    let mut bytes = JournalMaker::default().file(&entries(1));
    bytes[13] = 1;
    assert_eq!(JournalFile::open(&bytes).unwrap_err(), Error::Unsupported { flags: 0x100 });
    let mut bytes = JournalMaker::default().file(&entries(1));
    put(&mut bytes, 88, 7);
    assert!(matches!(JournalFile::open(&bytes), Err(Error::NotAJournal { offset: 88, .. })));
}
