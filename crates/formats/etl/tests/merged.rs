//! Merged files: reading one gives the same records and losses as reading its inputs together.

use std::io::Cursor;
use std::ops::ControlFlow;

use proptest::prelude::*;

use crate::assembled::{START, interleaved_events, numbered_event, small_buffers};
use crate::samples_folder::samples;
use onoff_etl::{HeaderKind, Input, Loss, Losses, MergeError, MergedFile, Recording, log_file_mode, write_merged};
use onoff_testkit::assemble::{EtlBuilder, Session, mode};
use onoff_testkit::compress::Compression;

/// Losses that a merged file inherits from its inputs.
const INHERITED_LOSSES: [Loss; 6] = [
    Loss::EventsLost,
    Loss::BuffersLost,
    Loss::BuffersMarkedLossy,
    Loss::BuffersAbsent,
    Loss::MissingSequence,
    Loss::UntimedRecord,
];

fn merge(files: &[&[u8]]) -> Result<(Vec<u8>, MergedFile), MergeError> {
    let names: Vec<String> = (0..files.len()).map(|number| format!("{number}.etl")).collect();
    let inputs: Vec<Input<'_>> = files.iter().zip(&names).map(|(bytes, name)| Input { name, bytes }).collect();
    let mut out = Cursor::new(Vec::new());
    let merged = write_merged(&inputs, &mut out)?;
    Ok((out.into_inner(), merged))
}

/// Time, processor and bytes of a record.
type ReadRecord = (i64, u16, Vec<u8>);

/// Reads all records except logfile headers, and all losses.
fn read(files: &[&[u8]]) -> (Vec<ReadRecord>, Losses) {
    let inputs: Vec<Input<'_>> = files.iter().map(|bytes| Input { name: "log.etl", bytes }).collect();
    let recording = Recording::open(&inputs).unwrap();
    let mut records = Vec::new();
    let walk = recording.for_each(|record| {
        if record.kind() != HeaderKind::System || record.hook() != Some(0) {
            records.push((record.time_ns(), record.cpu(), record.bytes().to_vec()));
        }
        ControlFlow::<()>::Continue(())
    });
    let mut losses = recording.losses().clone();
    losses.merge(&walk.losses);
    (records, losses)
}

/// Merges files, and compares the result with reading the inputs together.
fn merge_and_compare(files: &[&[u8]]) -> Vec<u8> {
    let (bytes, summary) = merge(files).unwrap();
    let (combined, combined_losses) = read(files);
    let (merged, merged_losses) = read(&[&bytes]);
    assert_eq!(merged.len(), combined.len());
    assert!(merged == combined);
    assert_eq!(summary.records, combined.len() as u64 + 1);
    assert_eq!(summary.bytes, bytes.len() as u64);
    for loss in INHERITED_LOSSES {
        assert_eq!(merged_losses.count(loss), combined_losses.count(loss), "{}", loss.name());
    }
    bytes
}

/// A session for user-mode events, recorded at the same time as the kernel's.
fn user_session() -> Session {
    Session {
        buffer_size: 0x4000,
        header_buffer_size: 0x200,
        mode: mode::SEQUENTIAL | mode::NO_PER_PROCESSOR_BUFFERING,
        logger_name: "UserTrace".to_owned(),
        start_ticks: START + 70,
        start_time: Session::windows_10(1).start_time + 70,
        end_time: Session::windows_10(1).end_time + 500,
        ..Session::windows_10(1)
    }
}

fn user_log(count: u32) -> EtlBuilder {
    let mut etl = EtlBuilder::new(user_session());
    for number in 0..count {
        etl.push(0, &numbered_event(START + 75 + u64::from(number) * 33, 1_000_000 + number));
    }
    etl
}

#[test]
fn merges_two_sessions_of_one_boot() {
    let kernel = interleaved_events(small_buffers(3).with_compression(Compression::Xpress), 5000).finish();
    let user = user_log(1500).finish();
    let bytes = merge_and_compare(&[&user, &kernel]);
    let recording = Recording::open(&[Input { name: "merged.etl", bytes: &bytes }]).unwrap();
    let header = recording.header();
    assert_eq!((header.processors, header.logger_name.as_str()), (3, "Relogger"));
    assert_eq!(header.log_file_name, "[multiple files]");
    assert_eq!(header.log_file_mode, log_file_mode::RELOG | log_file_mode::SEQUENTIAL);
    assert_eq!(header.end_time, user_session().end_time);
    assert_eq!(header.start_ticks, START);
    assert_eq!((header.buffer_size, header.buffers_written as usize), (0x4000, recording.buffers().len()));
    assert!(read(&[&bytes]).1.is_empty());
}

#[test]
fn merged_file_inherits_losses() {
    let mut kernel = interleaved_events(small_buffers(2), 3000);
    kernel.session_mut().events_lost = 7;
    for processor in [0, 1] {
        for _ in 0..2 {
            kernel.flush(processor).flag_last_buffer(0x2).skip_sequence_number();
            kernel.push(processor, &numbered_event(START + 40_000, 1)).flush(processor).flag_last_buffer(0x4);
        }
        kernel.push(processor, &numbered_event(START + 50_000, 1));
    }
    let mut user = user_log(20);
    user.session_mut().events_lost = 5;
    user.session_mut().buffers_lost = 2;
    user.flush(0).flag_last_buffer(0x6);
    let (kernel, user) = (kernel.finish(), user.finish());
    let bytes = merge_and_compare(&[&kernel, &user]);
    let (_, losses) = read(&[&bytes]);
    let counted = [Loss::EventsLost, Loss::BuffersLost, Loss::BuffersMarkedLossy].map(|loss| losses.count(loss));
    assert_eq!(counted, [12, 6, 7]);

    // One truncated log, and one unfinished log.
    let truncated = kernel.get(..kernel.len() - 0x2000).unwrap();
    merge_and_compare(&[truncated, &user]);
    let unfinished = interleaved_events(small_buffers(2), 900).finish_interrupted();
    let bytes = merge_and_compare(&[&unfinished, &user]);
    assert_eq!(read(&[&bytes]).1.count(Loss::UnfinishedFile), 1);
}

#[test]
fn keeps_circular_mode() {
    let ring = interleaved_events(small_buffers(2), 5000).finish_circular(4);
    let bytes = merge_and_compare(&[&ring, &user_log(10).finish()]);
    let recording = Recording::open(&[Input { name: "merged.etl", bytes: &bytes }]).unwrap();
    assert!(recording.header().has_mode(log_file_mode::CIRCULAR));
}

#[test]
fn rewrites_single_file_and_merges_it_again() {
    let first = merge_and_compare(&[&interleaved_events(small_buffers(2), 500).finish()]);
    merge_and_compare(&[&first, &user_log(100).finish()]);
}

#[test]
fn rejects_unrelated_files_with_reason() {
    let kernel = interleaved_events(small_buffers(2), 50).finish();
    let merge_with_kernel = |session: Session| {
        let mut user = EtlBuilder::new(session);
        user.push(0, &numbered_event(START + 100, 1));
        merge(&[&kernel, &user.finish()]).map(|_| ()).map_err(|error| error.to_string())
    };
    let other_boot = Session { start_ticks: START + (1 << 40), boot_time: 1, ..user_session() };
    let error = merge_with_kernel(other_boot).unwrap_err();
    assert_eq!(error, "0.etl and 1.etl are not parts of one recording: they are from different boots");
    let error = merge_with_kernel(Session { perf_freq: 3_579_545, ..user_session() }).unwrap_err();
    let clocks = "their clocks are performance counter at 10000000 Hz and performance counter at 3579545 Hz";
    assert!(error.ends_with(clocks), "{error}");
    let error = merge_with_kernel(Session { build: 26100, ..user_session() }).unwrap_err();
    assert!(error.ends_with("their Windows builds are 19045 and 26100"), "{error}");
    let error =
        merge_with_kernel(Session { logger_name: "nt kernel logger".to_owned(), ..user_session() }).unwrap_err();
    assert!(error.contains("both recorded a session named 'NT Kernel Logger' at the same time"), "{error}");
    // The same name at a later time: the next file of the session.
    let first = Session::windows_10(1);
    let continued = Session {
        logger_name: first.logger_name.clone(),
        start_time: first.end_time,
        start_ticks: START + (first.end_time - first.start_time),
        ..user_session()
    };
    assert_eq!(merge_with_kernel(continued), Ok(()));

    let mut second = EtlBuilder::new(small_buffers(2));
    second.push(0, &numbered_event(START + 5, 1));
    let appended = interleaved_events(small_buffers(2), 2000).finish_appended(second);
    assert!(matches!(merge(&[&appended]), Err(MergeError::ClockRestarted)));
    assert!(matches!(merge(&[b"no log"]), Err(MergeError::Read(_))));
}

#[test]
fn real_recordings_survive_merge() {
    for sample in samples() {
        match merge(&[&sample.bytes]) {
            Ok(_) => drop(merge_and_compare(&[&sample.bytes])),
            Err(error) => panic!("{}: {error}", sample.name),
        }
    }
    let find_sample = |name: &str| samples().iter().find(|sample| sample.name == name).map(|sample| &*sample.bytes);
    let kernel = find_sample("diagsession-diaghub.kernel.1.etl");
    if let (Some(kernel), Some(user)) = (kernel, find_sample("diagsession-diaghub.user_paged.1.etl")) {
        merge_and_compare(&[kernel, user]);
        let other = find_sample("powershell.etl").unwrap();
        assert!(matches!(merge(&[kernel, other]), Err(MergeError::Incompatible { .. })));
    }
}

proptest! {
    #[test]
    fn damaged_logs_are_merged_or_rejected(
        changes in prop::collection::vec((0usize..40_000, any::<u8>()), 1..20),
        cut in 0usize..40_000,
    ) {
        let mut kernel = interleaved_events(small_buffers(2).with_compression(Compression::Xpress), 1200).finish();
        for (position, value) in changes {
            let length = kernel.len();
            kernel[position % length] = value;
        }
        kernel.truncate(kernel.len().saturating_sub(cut % 9000));
        if let Ok((bytes, summary)) = merge(&[&kernel, &user_log(30).finish()]) {
            let (combined, _) = read(&[&kernel, &user_log(30).finish()]);
            prop_assert_eq!(summary.records, combined.len() as u64 + 1);
            prop_assert_eq!(read(&[&bytes]).0.len(), combined.len());
        }
    }
}
