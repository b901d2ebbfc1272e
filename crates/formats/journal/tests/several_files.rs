//! Several files of one journal.

use onoff_testkit::journal::{JournalEntry, JournalMaker};

use crate::made::{entries, read_all};

fn numbers(entries: &[JournalEntry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.sequence_number).collect()
}

#[test]
fn files_of_one_sequence_interleave_by_number_whatever_the_wall_clock_says() {
    let mut made = entries(10);
    // No battery behind the clock: the wall clock was set back in the middle.
    for entry in &mut made[5..] {
        entry.realtime_us -= 1_000_000_000_000;
        entry.boot += 1;
    }
    let (even, odd): (Vec<_>, Vec<_>) = made.into_iter().partition(|entry| entry.sequence_number % 2 == 0);
    let maker = JournalMaker::default();
    let (system, user) = (maker.file(&even), maker.file(&odd));
    let (found, _) = read_all(&[&system, &user]);
    assert_eq!(numbers(&found), (1..=10).collect::<Vec<_>>());
}

#[test]
fn an_entry_that_two_files_hold_comes_once() {
    let made = entries(10);
    let maker = JournalMaker::default();
    let (all, part) = (maker.file(&made), maker.file(&made[3..7]));
    let (found, _) = read_all(&[&part, &all]);
    assert_eq!(numbers(&found), (1..=10).collect::<Vec<_>>());
}

#[test]
fn files_of_other_machines_interleave_by_wall_clock() {
    let maker = JournalMaker::default();
    let mut others = entries(3);
    for (at, entry) in others.iter_mut().enumerate() {
        entry.boot = 7;
        entry.sequence_number = 100 + at as u64;
        entry.realtime_us += 1500;
    }
    let other = JournalMaker { machine: 5, sequence: 6, ..maker.clone() };
    let (found, _) = read_all(&[&other.file(&others), &maker.file(&entries(4))]);
    assert_eq!(numbers(&found), [1, 2, 100, 3, 101, 4, 102]);
}
