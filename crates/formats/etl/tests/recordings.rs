//! Complete files as recorders write them: modes, clocks, processors, compression, several files.

use std::ops::ControlFlow;

use crate::assembled::{START, interleaved_events, numbered_event, numbers, open, read, small_buffers};
use onoff_etl::{BufferKind, ClockKind as Clock, CompressionFormat, HeaderKind, Input, Loss, Recording};
use onoff_testkit::assemble::{
    ClockKind, EtlBuilder, MessageHeader, Payload, PointerSize, ProcessorField, Record as BuiltRecord, Session, mode,
};
use onoff_testkit::compress::Compression;

#[test]
fn recordings_and_windows_are_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    shared::<Recording<'_>>();
    shared::<onoff_etl::Window<'_>>();
}

#[test]
fn processors_are_merged_by_time() {
    for processors in [1, 2, 3, 8, 33] {
        let etl = interleaved_events(small_buffers(processors), 5000);
        let count = etl.record_count();
        let bytes = etl.finish();
        let recording = open(&bytes);
        let (events, losses) = read(&recording);
        let expected: Vec<(i64, u32)> = (0..5000).map(|number| (i64::from(number) * 1000, number)).collect();
        assert!(events == expected, "{processors} processors");
        assert!(losses.is_empty(), "{losses:?}");
        assert_eq!(recording.for_each(|_| ControlFlow::<()>::Continue(())).records, count);
        assert_eq!(recording.duration_ns(), 4_999_000);
        assert_eq!(recording.buffers()[0].kind, BufferKind::Header);
    }
}

#[test]
fn equal_times_are_ordered_by_processor_then_sequence_then_position() {
    let mut etl = EtlBuilder::new(small_buffers(3));
    for number in 0..900 {
        let processor = 2 - number / 300;
        etl.push(processor as u16, &numbered_event(START + 1, number));
    }
    let bytes = etl.finish();
    let expected: Vec<u32> = (600..900).chain(300..600).chain(0..300).collect();
    assert_eq!(numbers(&open(&bytes)), expected);
}

#[test]
fn reads_processor_numbers_of_every_width() {
    for (field, processor) in [(ProcessorField::Byte, 255), (ProcessorField::Index, 0x7FE), (ProcessorField::Byte, 3)] {
        let session = Session { processor_field: field, ..small_buffers(u32::from(processor) + 1) };
        let mut etl = EtlBuilder::new(session);
        etl.push(processor, &numbered_event(START, 1));
        let bytes = etl.finish();
        let recording = open(&bytes);
        let mut cpus = Vec::new();
        let _ = recording.for_each(|record| {
            cpus.push(record.cpu());
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(cpus, [0, processor]);
    }
}

#[test]
fn shared_buffers_have_processor_zero() {
    let session = Session { mode: mode::NO_PER_PROCESSOR_BUFFERING | 1, ..small_buffers(4) };
    let bytes = interleaved_events(session, 1000).finish();
    let recording = open(&bytes);
    assert!(recording.buffers().iter().all(|buffer| buffer.cpu == 0));
    assert_eq!(numbers(&recording), (0..1000).collect::<Vec<_>>());
}

#[test]
fn reads_every_compression() {
    for (compression, format) in [
        (Compression::Lznt1, CompressionFormat::Lznt1),
        (Compression::Xpress, CompressionFormat::Xpress),
        (Compression::XpressHuffman, CompressionFormat::XpressHuffman),
    ] {
        let session = Session { buffer_size: 0x4_0000, ..Session::windows_10(2) }.with_compression(compression);
        let bytes = interleaved_events(session, 60_000).finish();
        let recording = open(&bytes);
        assert_eq!(recording.files()[0].compression, Some(format));
        assert!(bytes.len() < 60_000 * 16);
        let (events, losses) = read(&recording);
        assert!(events.len() == 60_000 && events.is_sorted(), "{}", format.name());
        assert!(losses.is_empty(), "{}: {losses:?}", format.name());
    }
}

#[test]
fn reads_every_record_kind_and_width_in_one_file() {
    let session = Session::windows_7_x86(1);
    let mut etl = EtlBuilder::new(session);
    etl.push(0, &BuiltRecord::system(0x0301, 3, START + 1, 1, 2, Payload::new(PointerSize::Four)));
    etl.push(0, &BuiltRecord::compact(0x0302, 3, START + 2, 1, 2, Payload::wide()));
    etl.push(0, &numbered_event(START + 3, 0));
    etl.push(0, &BuiltRecord::full(Default::default(), START + 4, Payload::wide()));
    etl.push(0, &BuiltRecord::manifest(Default::default(), START + 5, Payload::wide()));
    etl.push(
        0,
        &BuiltRecord::message(
            MessageHeader { timestamp: true, ..MessageHeader::default() },
            START + 6,
            Payload::wide(),
        ),
    );
    let bytes = etl.finish();
    let recording = open(&bytes);
    let mut kinds = Vec::new();
    let _ = recording.for_each(|record| {
        kinds.push((record.kind(), record.pointer_size()));
        ControlFlow::<()>::Continue(())
    });
    let expected = [
        (HeaderKind::System, 4),
        (HeaderKind::System, 4),
        (HeaderKind::Compact, 8),
        (HeaderKind::Perfinfo, 8),
        (HeaderKind::Full, 8),
        (HeaderKind::Event, 8),
        (HeaderKind::Message, 8),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(recording.header().pointer_size, 4);
}

#[test]
fn reads_header_fields_of_both_widths() {
    for session in [small_buffers(7), Session { buffer_size: 0x2000, ..Session::windows_7_x86(5) }] {
        let bytes = EtlBuilder::new(Session { events_lost: 12, buffers_lost: 3, ..session.clone() }).finish();
        let recording = open(&bytes);
        let header = recording.header();
        assert_eq!(header.buffer_size, session.buffer_size);
        assert_eq!((header.os_version, header.layout_version), (session.os, session.layout));
        assert_eq!((header.os_build, header.processors), (session.build, session.processors));
        assert_eq!((header.start_time, header.end_time), (session.start_time, session.end_time));
        assert_eq!((header.boot_time, header.perf_freq), (session.boot_time, session.perf_freq));
        assert_eq!((header.cpu_speed_mhz, header.timer_resolution), (session.cpu_mhz, session.timer_resolution));
        assert_eq!((header.log_file_mode, header.clock_type), (session.mode, 1));
        assert_eq!((header.events_lost, header.buffers_lost), (12, 3));
        assert_eq!((header.logger_name.as_str(), header.log_file_name.as_str()), ("NT Kernel Logger", "C:\\trace.etl"));
        assert_eq!(header.time_zone.bias_minutes, -60);
        assert_eq!(header.time_zone.standard_name, "@tzres.dll,-322");
        assert_eq!(header.time_zone.daylight_name, "@tzres.dll,-321");
        assert_eq!(header.time_zone.daylight_bias_minutes, -60);
        assert_eq!(header.start_ticks, session.start_ticks);
        assert!(header.is_finished());
        assert_eq!(recording.losses().count(Loss::EventsLost), 12);
        assert_eq!(recording.losses().count(Loss::BuffersLost), 3);
    }
}

#[test]
fn converts_times_of_all_clocks() {
    let session = small_buffers(1);
    let filetime = session.start_time;
    for (session, kind, ticks, ns) in [
        (session.clone(), Clock::PerformanceCounter, START + 12_345, 1_234_500),
        (
            Session { perf_freq: 3_579_545, ..session.clone() },
            Clock::PerformanceCounter,
            START + 3_579_546,
            1_000_000_279,
        ),
        (
            Session { clock: ClockKind::SystemTime, start_ticks: filetime, ..session.clone() },
            Clock::SystemTime,
            filetime + 7,
            700,
        ),
        (Session { clock: ClockKind::CpuCycles, ..session }, Clock::CpuCycles, START + 2_400, 1_000),
    ] {
        let mut etl = EtlBuilder::new(session);
        etl.push(0, &numbered_event(ticks, 1));
        let bytes = etl.finish();
        let recording = open(&bytes);
        assert_eq!(recording.clock().kind(), kind);
        assert_eq!(read(&recording).0, [(ns, 1)]);
        assert_eq!(recording.clock().filetime(ns), filetime as i64 + ns / 100);
        assert_eq!(recording.clock().unix_ns(ns), (filetime as i64 - 116_444_736_000_000_000) * 100 + ns);
    }
}

#[test]
fn reports_unknown_clock() {
    let bytes = interleaved_events(Session { perf_freq: 0, ..small_buffers(1) }, 10).finish();
    let recording = open(&bytes);
    assert_eq!(recording.losses().count(Loss::ClockUnknown), 1);
    assert_eq!(recording.clock().ticks_per_second(), 10_000_000);
}

#[test]
fn rings_are_read_from_the_oldest_buffer() {
    let etl = interleaved_events(small_buffers(2), 5000);
    let bytes = etl.finish_circular(7);
    let recording = open(&bytes);
    let (events, losses) = read(&recording);
    assert_eq!(recording.files()[0].buffers, 8);
    assert_eq!(events.last().map(|&(_, number)| number), Some(4999));
    assert!(events.is_sorted() && events.len() < 1500);
    assert_eq!(losses.count(Loss::BuffersAbsent), 0);
}

#[test]
fn appended_sessions_follow_each_other() {
    let first = interleaved_events(small_buffers(2), 1000);
    let mut second = EtlBuilder::new(small_buffers(2));
    for number in 1000..2000 {
        second.push((number % 2) as u16, &numbered_event(START + u64::from(number) * 10, number));
    }
    let bytes = first.finish_appended(second);
    let recording = open(&bytes);
    assert_eq!(recording.files()[0].sessions, 2);
    assert_eq!(numbers(&recording), (0..2000).collect::<Vec<_>>());
    assert_eq!(read(&recording).1.count(Loss::MissingSequence), 0);
}

#[test]
fn appended_session_of_later_boot_follows_previous_session() {
    let first = interleaved_events(small_buffers(2), 1000);
    let mut second = EtlBuilder::new(small_buffers(2));
    for number in 1000..2000 {
        second.push((number % 2) as u16, &numbered_event(500 + u64::from(number - 1000) * 10, number));
    }
    let bytes = first.finish_appended(second);
    let recording = open(&bytes);
    let (events, losses) = read(&recording);
    let expected = (0..2000).map(|number| {
        let moved = if number < 1000 { 0 } else { -1000 + 100 };
        (i64::from(number) * 1000 + moved, number)
    });
    assert!(events == expected.collect::<Vec<_>>());
    assert_eq!(losses.count(Loss::ClockRestarted), 1);
    assert_eq!(losses.iter().count(), 1, "{losses:?}");
}

#[test]
fn unfinished_files_are_read_to_their_end() {
    let bytes = interleaved_events(small_buffers(2), 3000).finish_interrupted();
    let recording = open(&bytes);
    assert!(!recording.files()[0].is_finished);
    assert_eq!(recording.header().buffers_written, 1);
    assert_eq!(numbers(&recording), (0..3000).collect::<Vec<_>>());
    assert_eq!(recording.losses().count(Loss::UnfinishedFile), 1);
}

#[test]
fn unused_space_loses_no_records() {
    for session in [small_buffers(2), small_buffers(2).with_compression(Compression::Xpress)] {
        for spare in [1, 71, 72, 4096, 100_000] {
            let bytes = interleaved_events(session.clone(), 3000).finish_preallocated(spare);
            let recording = open(&bytes);
            let (events, losses) = read(&recording);
            assert_eq!(events.len(), 3000);
            assert_eq!(
                losses.iter().map(|(loss, count, _)| (loss, count)).collect::<Vec<_>>(),
                [(Loss::UnusedSpace, 1)]
            );
        }
    }
}

#[test]
fn accepts_small_header_buffers() {
    for size in [0x200, 0x400] {
        let session = Session { header_buffer_size: size, mode: 0x1_0001, ..small_buffers(2) };
        let bytes = interleaved_events(session, 500).finish();
        let (events, losses) = read(&open(&bytes));
        assert_eq!(events.len(), 500);
        assert!(losses.is_empty(), "{losses:?}");
    }
}

#[test]
fn kernel_and_user_log_of_one_boot_share_clock() {
    // The system time was set between the two starts, so only the counter and the boot time agree.
    let kernel = small_buffers(2);
    let user =
        Session { start_ticks: START + 50_000, start_time: kernel.start_time + 72_000_000_000, ..small_buffers(2) };
    let mut kernel_log = EtlBuilder::new(kernel);
    let mut user_log = EtlBuilder::new(user);
    for number in 0..2000u32 {
        let log = if number >= 600 && number % 3 == 0 { &mut user_log } else { &mut kernel_log };
        log.push((number % 2) as u16, &numbered_event(START + u64::from(number) * 100, number));
    }
    let (kernel, user) = (kernel_log.finish(), user_log.finish());
    let inputs = [Input { name: "user.etl", bytes: &user }, Input { name: "kernel.etl", bytes: &kernel }];
    let recording = Recording::open(&inputs).unwrap();
    let (events, losses) = read(&recording);
    assert_eq!(events, (0..2000u32).map(|number| (i64::from(number) * 10_000, number)).collect::<Vec<_>>());
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(recording.clock().start_ticks(), START);
    assert!(recording.files().iter().all(|file| file.shares_clock));
    assert_eq!(recording.header(), &recording.files()[0].header);
}

#[test]
fn log_of_another_boot_is_placed_by_utc() {
    let first = small_buffers(1);
    let second = Session {
        start_ticks: 1_000_000,
        start_time: first.start_time + 3_000_000_000,
        boot_time: first.boot_time + 2_999_000_000,
        ..small_buffers(1)
    };
    let mut log = EtlBuilder::new(second);
    log.push(0, &numbered_event(1_000_005, 9));
    let (first, second) = (interleaved_events(first, 10).finish(), log.finish());
    let inputs = [Input { name: "a.etl", bytes: &first }, Input { name: "b.etl", bytes: &second }];
    let recording = Recording::open(&inputs).unwrap();
    let (events, losses) = read(&recording);
    assert_eq!(events.last(), Some(&(300_000_000_500, 9)));
    assert_eq!(losses.count(Loss::UnrelatedFile), 1);
    assert!(recording.files()[0].shares_clock && !recording.files()[1].shares_clock);
}

#[test]
fn untimed_messages_get_previous_time() {
    let mut etl = EtlBuilder::new(small_buffers(1));
    let message = || BuiltRecord::message(MessageHeader::default(), 0, Payload::wide());
    etl.push(0, &message())
        .push(0, &numbered_event(START + 10, 1))
        .push(0, &message())
        .push(0, &numbered_event(START + 20, 2));
    let bytes = etl.finish();
    let recording = open(&bytes);
    let mut times = Vec::new();
    let walk = recording.for_each(|record| {
        times.push((record.kind(), record.time_ns()));
        ControlFlow::<()>::Continue(())
    });
    let expected = [
        (HeaderKind::System, 0),
        (HeaderKind::Message, 1000),
        (HeaderKind::Perfinfo, 1000),
        (HeaderKind::Message, 1000),
        (HeaderKind::Perfinfo, 2000),
    ];
    assert_eq!(times, expected);
    assert_eq!(walk.losses.count(Loss::UntimedRecord), 2);
}

#[test]
fn buffers_of_untimed_messages_keep_their_position() {
    let mut etl = EtlBuilder::new(small_buffers(1));
    etl.push(0, &numbered_event(START + 10, 1)).flush(0);
    etl.push(0, &BuiltRecord::message(MessageHeader::default(), 0, Payload::wide())).flush(0);
    etl.push(0, &numbered_event(START + 20, 2)).flush(0);
    let bytes = etl.finish();
    let recording = open(&bytes);
    let mut kinds = Vec::new();
    let _ = recording.for_each(|record| {
        kinds.push((record.kind(), record.time_ns()));
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(kinds[1..], [(HeaderKind::Perfinfo, 1000), (HeaderKind::Message, 1000), (HeaderKind::Perfinfo, 2000)]);
}
