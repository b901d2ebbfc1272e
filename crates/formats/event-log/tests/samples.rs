//! A real log, which Windows converted from a trace of 2,041 events.

use onoff_testkit::real_recordings;

#[test]
fn a_real_log_is_read_completely() {
    let Some(folder) = real_recordings::samples_folder("etl") else { return };
    let bytes = std::fs::read(folder.join("HTTP_Server.evtx")).unwrap();
    let mut numbers = Vec::new();
    let summary = onoff_event_log::read(&bytes, &mut |_| true, &mut |record| numbers.push(record.number)).unwrap();
    assert_eq!((summary.records, summary.damaged_chunks, summary.unreadable_records), (2041, 0, 0));
    assert!(numbers.into_iter().eq(0..2041));
}
