//! Journals that consist of several files.

use onoff_testkit::journal::{JournalEntry, JournalWriter};

use crate::synthetic::{entries, read_all};

fn numbers(entries: &[JournalEntry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.sequence_number).collect()
}

#[test]
fn files_of_one_sequence_are_merged_by_number() {
    let mut expected = entries(10);
    // The wall clock was set back in the middle, as on a computer without a clock battery.
    for entry in &mut expected[5..] {
        entry.realtime_us -= 1_000_000_000_000;
        entry.boot_id += 1;
    }
    let (even, odd): (Vec<_>, Vec<_>) = expected.into_iter().partition(|entry| entry.sequence_number % 2 == 0);
    let writer = JournalWriter::default();
    let (system, user) = (writer.file(&even), writer.file(&odd));
    let (entries_read, _) = read_all(&[&system, &user]);
    assert_eq!(numbers(&entries_read), (1..=10).collect::<Vec<_>>());
}

#[test]
fn duplicate_entries_are_visited_once() {
    let expected = entries(10);
    let writer = JournalWriter::default();
    let (all_entries, some_entries) = (writer.file(&expected), writer.file(&expected[3..7]));
    let (entries_read, _) = read_all(&[&some_entries, &all_entries]);
    assert_eq!(numbers(&entries_read), (1..=10).collect::<Vec<_>>());
}

#[test]
fn files_of_different_machines_are_merged_by_wall_clock() {
    let writer = JournalWriter::default();
    let mut other_entries = entries(3);
    for (index, entry) in other_entries.iter_mut().enumerate() {
        entry.boot_id = 7;
        entry.sequence_number = 100 + index as u64;
        entry.realtime_us += 1500;
    }
    let other_writer = JournalWriter { machine_id: 5, sequence_id: 6, ..writer.clone() };
    let (entries_read, _) = read_all(&[&other_writer.file(&other_entries), &writer.file(&entries(4))]);
    assert_eq!(numbers(&entries_read), [1, 2, 100, 3, 101, 4, 102]);
}
