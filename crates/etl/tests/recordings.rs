//! Whole files as recorders leave them: modes, clocks, processors, compression, several files.

use std::ops::ControlFlow;

use onoff_etl::{
    BufferKind, ClockKind as Clock, CompressionFormat, Error, HeaderKind, Input, Loss, Losses,
    Record, Recording,
};
use onoff_testkit::assemble::{
    ClockKind, Defect, EtlBuilder, Message, Payload, ProcessorField, Record as Assembled, Session,
    mode,
};
use onoff_testkit::compress::Compression;

const START: u64 = 6_370_000;
const HOOK: u16 = 0x0532;

fn small_buffers(processors: u32) -> Session {
    Session {
        buffer_size: 0x1000,
        header_buffer_size: 0x1000,
        ..Session::windows_10(processors)
    }
}

/// A kernel event whose payload is a number to recognise it by.
fn numbered(ticks: u64, number: u32) -> Assembled<'static> {
    Assembled::perfinfo(HOOK, 2, ticks, Payload::wide().u32(number).u32(0))
}

fn number_of(record: &Record<'_>) -> Option<u32> {
    let number = record
        .payload()
        .first_chunk()
        .copied()
        .map(u32::from_le_bytes);
    number.filter(|_| record.hook() == Some(HOOK))
}

fn open(bytes: &[u8]) -> Recording<'_> {
    Recording::open(&[Input {
        name: "boot.etl",
        bytes,
    }])
    .unwrap_or_else(|error| panic!("{error}"))
}

/// The numbers of the numbered events with their times, in the order given, and all losses.
fn read(recording: &Recording<'_>) -> (Vec<(i64, u32)>, Losses) {
    let mut found = Vec::new();
    let walk = recording.for_each(|record| {
        found.extend(number_of(record).map(|number| (record.time_ns(), number)));
        ControlFlow::<()>::Continue(())
    });
    let mut losses = recording.losses().clone();
    losses.merge(&walk.losses);
    (found, losses)
}

fn numbers(recording: &Recording<'_>) -> Vec<u32> {
    read(recording)
        .0
        .into_iter()
        .map(|(_, number)| number)
        .collect()
}

/// Events every 10 ticks on processors in turn; each processor's buffers are written when full.
fn interleaved(session: Session, count: u32) -> EtlBuilder {
    let processors = session.processors;
    let mut etl = EtlBuilder::new(session);
    for number in 0..count {
        etl.push(
            (number % processors) as u16,
            &numbered(START + u64::from(number) * 10, number),
        );
    }
    etl
}

#[test]
fn processors_are_merged_by_time() {
    for processors in [1, 2, 3, 8, 33] {
        let etl = interleaved(small_buffers(processors), 5000);
        let count = etl.record_count();
        let bytes = etl.finish();
        let recording = open(&bytes);
        let (found, losses) = read(&recording);
        let expected: Vec<(i64, u32)> = (0..5000)
            .map(|number| (i64::from(number) * 1000, number))
            .collect();
        assert!(found == expected, "{processors} processors");
        assert!(losses.is_empty(), "{losses:?}");
        assert_eq!(
            recording
                .for_each(|_| ControlFlow::<()>::Continue(()))
                .records,
            count
        );
        assert_eq!(recording.duration_ns(), 4_999_000);
        assert_eq!(recording.buffers()[0].kind, BufferKind::Header);
    }
}

#[test]
fn equal_times_are_ordered_by_processor_then_sequence_then_position() {
    let mut etl = EtlBuilder::new(small_buffers(3));
    for number in 0..900 {
        let processor = 2 - number / 300;
        etl.push(processor as u16, &numbered(START + 1, number));
    }
    let bytes = etl.finish();
    let expected: Vec<u32> = (600..900).chain(300..600).chain(0..300).collect();
    assert_eq!(numbers(&open(&bytes)), expected);
}

#[test]
fn processor_numbers_of_every_width() {
    for (field, processor) in [
        (ProcessorField::Byte, 255),
        (ProcessorField::Index, 0x7FE),
        (ProcessorField::Byte, 3),
    ] {
        let session = Session {
            processor_field: field,
            ..small_buffers(u32::from(processor) + 1)
        };
        let mut etl = EtlBuilder::new(session);
        etl.push(processor, &numbered(START, 1));
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
fn one_stream_for_all_processors_has_processor_zero() {
    let session = Session {
        mode: mode::NO_PER_PROCESSOR_BUFFERING | 1,
        ..small_buffers(4)
    };
    let bytes = interleaved(session, 1000).finish();
    let recording = open(&bytes);
    assert!(recording.buffers().iter().all(|buffer| buffer.cpu == 0));
    assert_eq!(numbers(&recording), (0..1000).collect::<Vec<_>>());
}

#[test]
fn every_compression() {
    for (compression, format) in [
        (Compression::Lznt1, CompressionFormat::Lznt1),
        (Compression::Xpress, CompressionFormat::Xpress),
        (Compression::XpressHuffman, CompressionFormat::XpressHuffman),
    ] {
        let session = Session {
            buffer_size: 0x4_0000,
            ..Session::windows_10(2)
        }
        .compressed(compression);
        let bytes = interleaved(session, 60_000).finish();
        let recording = open(&bytes);
        assert_eq!(recording.files()[0].compression, Some(format));
        assert!(bytes.len() < 60_000 * 16);
        let (found, losses) = read(&recording);
        assert!(
            found.len() == 60_000 && found.is_sorted(),
            "{}",
            format.name()
        );
        assert!(losses.is_empty(), "{}: {losses:?}", format.name());
    }
}

#[test]
fn records_of_every_kind_and_width_in_one_file() {
    let session = Session::windows_7_x86(1);
    let mut etl = EtlBuilder::new(session);
    etl.push(
        0,
        &Assembled::system(
            0x0301,
            3,
            START + 1,
            1,
            2,
            Payload::new(onoff_testkit::assemble::PointerSize::Four),
        ),
    );
    etl.push(
        0,
        &Assembled::compact(0x0302, 3, START + 2, 1, 2, Payload::wide()),
    );
    etl.push(0, &numbered(START + 3, 0));
    etl.push(
        0,
        &Assembled::full(Default::default(), START + 4, Payload::wide()),
    );
    etl.push(
        0,
        &Assembled::manifest(Default::default(), START + 5, Payload::wide()),
    );
    etl.push(
        0,
        &Assembled::message(
            Message {
                timestamp: true,
                ..Message::default()
            },
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
fn header_fields_of_both_widths() {
    for session in [
        small_buffers(7),
        Session {
            buffer_size: 0x2000,
            ..Session::windows_7_x86(5)
        },
    ] {
        let bytes = EtlBuilder::new(Session {
            events_lost: 12,
            buffers_lost: 3,
            ..session.clone()
        })
        .finish();
        let recording = open(&bytes);
        let header = recording.header();
        assert_eq!(header.buffer_size, session.buffer_size);
        assert_eq!(
            (header.os_version, header.layout_version),
            (session.os, session.layout)
        );
        assert_eq!(
            (header.os_build, header.processors),
            (session.build, session.processors)
        );
        assert_eq!(
            (header.start_time, header.end_time),
            (session.start_time, session.end_time)
        );
        assert_eq!(
            (header.boot_time, header.perf_freq),
            (session.boot_time, session.perf_freq)
        );
        assert_eq!(
            (header.cpu_speed_mhz, header.timer_resolution),
            (session.cpu_mhz, session.timer_resolution)
        );
        assert_eq!((header.log_file_mode, header.clock_type), (session.mode, 1));
        assert_eq!((header.events_lost, header.buffers_lost), (12, 3));
        assert_eq!(
            (header.logger_name.as_str(), header.log_file_name.as_str()),
            ("NT Kernel Logger", "C:\\trace.etl")
        );
        assert_eq!(header.time_zone.bias_minutes, -60);
        assert_eq!(header.time_zone.standard_name, "@tzres.dll,-322");
        assert_eq!(header.time_zone.daylight_name, "@tzres.dll,-321");
        assert_eq!(header.time_zone.daylight_bias_minutes, -60);
        assert_eq!(header.start_ticks, session.start_ticks);
        assert!(header.finished());
        assert_eq!(recording.losses().count(Loss::EventsLost), 12);
        assert_eq!(recording.losses().count(Loss::BuffersLost), 3);
    }
}

#[test]
fn three_clocks() {
    let session = small_buffers(1);
    let filetime = session.start_time;
    for (session, kind, ticks, ns) in [
        (
            session.clone(),
            Clock::PerformanceCounter,
            START + 12_345,
            1_234_500,
        ),
        (
            Session {
                perf_freq: 3_579_545,
                ..session.clone()
            },
            Clock::PerformanceCounter,
            START + 3_579_546,
            1_000_000_279,
        ),
        (
            Session {
                clock: ClockKind::SystemTime,
                start_ticks: filetime,
                ..session.clone()
            },
            Clock::SystemTime,
            filetime + 7,
            700,
        ),
        (
            Session {
                clock: ClockKind::CpuCycles,
                ..session
            },
            Clock::CpuCycles,
            START + 2_400,
            1_000,
        ),
    ] {
        let mut etl = EtlBuilder::new(session);
        etl.push(0, &numbered(ticks, 1));
        let bytes = etl.finish();
        let recording = open(&bytes);
        assert_eq!(recording.clock().kind(), kind);
        assert_eq!(read(&recording).0, [(ns, 1)]);
        assert_eq!(recording.clock().filetime(ns), filetime as i64 + ns / 100);
        assert_eq!(
            recording.clock().unix_ns(ns),
            (filetime as i64 - 116_444_736_000_000_000) * 100 + ns
        );
    }
}

#[test]
fn a_clock_that_is_not_named_is_said() {
    let bytes = interleaved(
        Session {
            perf_freq: 0,
            ..small_buffers(1)
        },
        10,
    )
    .finish();
    let recording = open(&bytes);
    assert_eq!(recording.losses().count(Loss::ClockUnknown), 1);
    assert_eq!(recording.clock().ticks_per_second(), 10_000_000);
}

#[test]
fn rings_are_read_from_the_oldest_buffer() {
    let etl = interleaved(small_buffers(2), 5000);
    let bytes = etl.finish_circular(7);
    let recording = open(&bytes);
    let (found, losses) = read(&recording);
    assert_eq!(recording.files()[0].buffers, 8);
    assert_eq!(found.last().map(|&(_, number)| number), Some(4999));
    assert!(found.is_sorted() && found.len() < 1500);
    assert_eq!(losses.count(Loss::BuffersAbsent), 0);
}

#[test]
fn appended_sessions_follow_each_other() {
    let first = interleaved(small_buffers(2), 1000);
    let mut second = EtlBuilder::new(small_buffers(2));
    for number in 1000..2000 {
        second.push(
            (number % 2) as u16,
            &numbered(START + u64::from(number) * 10, number),
        );
    }
    let bytes = first.finish_appended(second);
    let recording = open(&bytes);
    assert_eq!(recording.files()[0].sessions, 2);
    assert_eq!(numbers(&recording), (0..2000).collect::<Vec<_>>());
    assert_eq!(read(&recording).1.count(Loss::MissingSequence), 0);
}

#[test]
fn unfinished_files_are_read_to_their_end() {
    let bytes = interleaved(small_buffers(2), 3000).finish_interrupted();
    let recording = open(&bytes);
    assert!(!recording.files()[0].finished);
    assert_eq!(recording.header().buffers_written, 1);
    assert_eq!(numbers(&recording), (0..3000).collect::<Vec<_>>());
    assert_eq!(recording.losses().count(Loss::UnfinishedFile), 1);
}

#[test]
fn reserved_space_is_not_a_loss_of_records() {
    for session in [
        small_buffers(2),
        small_buffers(2).compressed(Compression::Xpress),
    ] {
        for spare in [1, 71, 72, 4096, 100_000] {
            let bytes = interleaved(session.clone(), 3000).finish_preallocated(spare);
            let recording = open(&bytes);
            let (found, losses) = read(&recording);
            assert_eq!(found.len(), 3000);
            assert_eq!(
                losses
                    .iter()
                    .map(|(loss, count, _)| (loss, count))
                    .collect::<Vec<_>>(),
                [(Loss::UnusedSpace, 1)]
            );
        }
    }
}

#[test]
fn header_buffers_smaller_than_the_others() {
    for size in [0x200, 0x400] {
        let session = Session {
            header_buffer_size: size,
            mode: 0x1_0001,
            ..small_buffers(2)
        };
        let bytes = interleaved(session, 500).finish();
        let (found, losses) = read(&open(&bytes));
        assert_eq!(found.len(), 500);
        assert!(losses.is_empty(), "{losses:?}");
    }
}

#[test]
fn a_kernel_and_a_user_log_of_one_boot_share_the_counter() {
    // The system time was set between the two starts, so only the counter and the boot time agree.
    let kernel = small_buffers(2);
    let user = Session {
        start_ticks: START + 50_000,
        start_time: kernel.start_time + 72_000_000_000,
        ..small_buffers(2)
    };
    let mut kernel_log = EtlBuilder::new(kernel);
    let mut user_log = EtlBuilder::new(user);
    for number in 0..2000u32 {
        let log = if number >= 600 && number % 3 == 0 {
            &mut user_log
        } else {
            &mut kernel_log
        };
        log.push(
            (number % 2) as u16,
            &numbered(START + u64::from(number) * 100, number),
        );
    }
    let (kernel, user) = (kernel_log.finish(), user_log.finish());
    let inputs = [
        Input {
            name: "user.etl",
            bytes: &user,
        },
        Input {
            name: "kernel.etl",
            bytes: &kernel,
        },
    ];
    let recording = Recording::open(&inputs).unwrap();
    let (found, losses) = read(&recording);
    assert_eq!(
        found,
        (0..2000u32)
            .map(|number| (i64::from(number) * 10_000, number))
            .collect::<Vec<_>>()
    );
    assert!(losses.is_empty(), "{losses:?}");
    assert_eq!(recording.clock().start_ticks(), START);
    assert!(recording.files().iter().all(|file| file.shares_clock));
    assert_eq!(recording.header(), &recording.files()[0].header);
}

#[test]
fn a_log_of_another_boot_is_placed_by_utc() {
    let first = small_buffers(1);
    let second = Session {
        start_ticks: 1_000_000,
        start_time: first.start_time + 3_000_000_000,
        boot_time: first.boot_time + 2_999_000_000,
        ..small_buffers(1)
    };
    let mut log = EtlBuilder::new(second);
    log.push(0, &numbered(1_000_005, 9));
    let (first, second) = (interleaved(first, 10).finish(), log.finish());
    let inputs = [
        Input {
            name: "a.etl",
            bytes: &first,
        },
        Input {
            name: "b.etl",
            bytes: &second,
        },
    ];
    let recording = Recording::open(&inputs).unwrap();
    let (found, losses) = read(&recording);
    assert_eq!(found.last(), Some(&(300_000_000_500, 9)));
    assert_eq!(losses.count(Loss::UnrelatedFile), 1);
    assert!(recording.files()[0].shares_clock && !recording.files()[1].shares_clock);
}

#[test]
fn messages_without_a_time_take_the_one_before() {
    let mut etl = EtlBuilder::new(small_buffers(1));
    let message = || Assembled::message(Message::default(), 0, Payload::wide());
    etl.push(0, &message())
        .push(0, &numbered(START + 10, 1))
        .push(0, &message())
        .push(0, &numbered(START + 20, 2));
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
fn buffers_of_nothing_but_untimed_messages_stay_in_their_place() {
    let mut etl = EtlBuilder::new(small_buffers(1));
    etl.push(0, &numbered(START + 10, 1)).flush(0);
    etl.push(
        0,
        &Assembled::message(Message::default(), 0, Payload::wide()),
    )
    .flush(0);
    etl.push(0, &numbered(START + 20, 2)).flush(0);
    let bytes = etl.finish();
    let recording = open(&bytes);
    let mut kinds = Vec::new();
    let _ = recording.for_each(|record| {
        kinds.push((record.kind(), record.time_ns()));
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(
        kinds[1..],
        [
            (HeaderKind::Perfinfo, 1000),
            (HeaderKind::Message, 1000),
            (HeaderKind::Perfinfo, 2000)
        ]
    );
}

#[test]
fn small_inversions_are_put_in_order() {
    // Within a buffer, and between the end of one and the beginning of the next.
    let mut etl = EtlBuilder::new(small_buffers(1));
    for (ticks, number) in [(10, 1), (30, 3), (20, 2), (50, 5)] {
        etl.push(0, &numbered(START + ticks, number));
    }
    etl.flush(0);
    for (ticks, number) in [(40, 4), (60, 6)] {
        etl.push(0, &numbered(START + ticks, number));
    }
    let bytes = etl.finish();
    let recording = open(&bytes);
    let (found, losses) = read(&recording);
    assert_eq!(
        found,
        (1..=6)
            .map(|number| (i64::from(number) * 1000, number as u32))
            .collect::<Vec<_>>()
    );
    assert_eq!(losses.count(Loss::TimeInversion), 1);
    assert_eq!(losses.iter().count(), 1);
}

#[test]
fn a_single_wild_time_stamp_does_not_move_its_neighbours() {
    for wild in [1, u64::MAX / 2] {
        for position in [0, 57, 119] {
            let mut etl = EtlBuilder::new(small_buffers(1));
            for number in 0..1000u32 {
                let ticks = if number == 240 + position {
                    wild
                } else {
                    START + u64::from(number) * 1000
                };
                etl.push(0, &numbered(ticks, number));
            }
            let bytes = etl.finish();
            let recording = open(&bytes);
            let (found, losses) = read(&recording);
            assert!(found.is_sorted_by_key(|&(time, _)| time));
            let others = found
                .iter()
                .filter(|&&(_, number)| number != 240 + position);
            let right = others
                .filter(|&&(time, number)| time == i64::from(number) * 100_000)
                .count();
            assert_eq!(
                (right, found.len()),
                (999, 1000),
                "stamp {wild:#x} at {position}"
            );
            assert_eq!(
                losses.count(Loss::TimeContradiction),
                1,
                "stamp {wild:#x} at {position}: {losses:?}"
            );
            assert_eq!(recording.duration_ns(), 99_900_000);
        }
    }
}

#[test]
fn a_clock_set_back_is_ordered_by_time_and_said() {
    let mut etl = EtlBuilder::new(small_buffers(1));
    for number in 0..1000u32 {
        let back = if number < 600 { 0 } else { 500_000_000 };
        etl.push(
            0,
            &numbered(START + 600_000_000 + u64::from(number) * 10 - back, number),
        );
    }
    let bytes = etl.finish();
    let recording = open(&bytes);
    let (found, losses) = read(&recording);
    assert_eq!(found.len(), 1000);
    assert!(found.is_sorted_by_key(|&(time, _)| time));
    assert_eq!(found[0].1, 600);
    assert!(losses.count(Loss::DisorderedBuffers) > 0);
}

#[test]
fn lost_and_repeated_buffers_are_counted() {
    let mut etl = interleaved(small_buffers(1), 2000);
    etl.defect(Defect::MissingBuffer { buffer: 3 })
        .defect(Defect::RepeatedBuffer { buffer: 5 });
    let bytes = etl.finish();
    let recording = open(&bytes);
    let (found, losses) = read(&recording);
    assert!(found.is_sorted() && found.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(losses.count(Loss::MissingSequence), 1);
    assert_eq!(losses.count(Loss::DuplicateBuffer), 1);
    assert_eq!(losses.count(Loss::BuffersAbsent), 1);
    assert_eq!(
        losses
            .first(Loss::DuplicateBuffer)
            .map(|place| place.offset),
        Some(7 * 0x1000)
    );
}

#[test]
fn the_recorders_marks_are_counted() {
    let mut etl = interleaved(small_buffers(1), 500);
    etl.flush(0).flag_last_buffer(0x2);
    let bytes = etl.finish();
    assert_eq!(open(&bytes).losses().count(Loss::BuffersMarkedLossy), 1);
}

#[test]
fn bad_records_cost_the_rest_of_their_buffer_only() {
    for defect in [
        Defect::RecordSize {
            buffer: 1,
            record: 4,
            size: 3,
        },
        Defect::RecordSize {
            buffer: 1,
            record: 4,
            size: 0xFFF8,
        },
        Defect::RecordMarker {
            buffer: 1,
            record: 4,
            marker: 0x12,
        },
    ] {
        let mut etl = interleaved(small_buffers(1), 1000);
        etl.defect(defect);
        let bytes = etl.finish();
        let (found, losses) = read(&open(&bytes));
        let per_buffer = (0x1000 - 0x48) / 24;
        assert_eq!(found.len(), 1000 - per_buffer + 4, "{defect:?}");
        assert_eq!(losses.count(Loss::BadRecord), 1, "{defect:?}");
        assert_eq!(
            losses.first(Loss::BadRecord).map(|place| place.offset),
            Some(0x2000 + 0x48 + 4 * 24)
        );
    }
}

#[test]
fn a_buffer_that_lies_about_its_size_costs_nothing_where_all_have_one_size() {
    for size in [0, 8, 0x48, 0x1001, 0x5000, u32::MAX] {
        let mut etl = interleaved(small_buffers(1), 2000);
        etl.defect(Defect::BufferSize { buffer: 2, size });
        let bytes = etl.finish();
        let (found, losses) = read(&open(&bytes));
        assert_eq!(found.len(), 2000, "size {size:#x}: {losses:?}");
        let counted: Vec<_> = losses
            .iter()
            .map(|(loss, count, _)| (loss, count))
            .collect();
        assert_eq!(counted, [(Loss::BufferSizeDamaged, 1)], "size {size:#x}");
    }
}

#[test]
fn a_damaged_buffer_header_costs_its_buffer() {
    for session in [
        small_buffers(1),
        small_buffers(1).compressed(Compression::Xpress),
    ] {
        let clean = interleaved(session, 2000).finish();
        let target = open(&clean).buffers()[3].clone();
        let mut bytes = clean.clone();
        bytes[target.offset..target.offset + 0x48].fill(0xEE);
        let (found, losses) = read(&open(&bytes));
        assert_eq!(losses.count(Loss::UnreadableSpan), 1, "{losses:?}");
        assert_eq!(
            losses.first(Loss::UnreadableSpan).map(|place| place.offset),
            Some(target.offset as u64)
        );
        assert_eq!(losses.count(Loss::MissingSequence), 1);
        assert_eq!(found.len(), 2000 - (0x1000 - 0x48) / 24);
    }
}

#[test]
fn fill_levels_beyond_the_buffer_are_bounded() {
    for fill in [0, 0x47, 0x48, 0x50] {
        let mut etl = interleaved(small_buffers(1), 500);
        etl.defect(Defect::FillLevel {
            buffer: 0,
            offset: fill,
        });
        let bytes = etl.finish();
        let (found, _) = read(&open(&bytes));
        assert!(found.len() >= 500 - (0x1000 - 0x48) / 24, "fill {fill:#x}");
    }
    // What lies behind the records is the fill pattern.
    let mut etl = interleaved(small_buffers(1), 500);
    etl.defect(Defect::FillLevel {
        buffer: 2,
        offset: 0x1000,
    });
    let bytes = etl.finish();
    let (found, losses) = read(&open(&bytes));
    assert_eq!(found.len(), 500);
    assert_eq!(losses.count(Loss::UnwrittenSpace), 1);
}

#[test]
fn wrong_compressed_sizes_keep_what_is_good() {
    for compression in [
        Compression::Lznt1,
        Compression::Xpress,
        Compression::XpressHuffman,
    ] {
        let mut etl = interleaved(small_buffers(1).compressed(compression), 1000);
        etl.defect(Defect::FillLevel {
            buffer: 1,
            offset: 0x1000 + 0x200,
        });
        let bytes = etl.finish();
        let (found, losses) = read(&open(&bytes));
        assert_eq!(found.len(), 1000, "{compression:?}");
        assert_eq!(
            losses.count(Loss::DecompressionShort),
            1,
            "{compression:?}: {losses:?}"
        );
    }
}

#[test]
fn absurd_expansion_is_refused() {
    let mut etl = interleaved(small_buffers(1).compressed(Compression::Xpress), 5000);
    for buffer in 0..8 {
        etl.defect(Defect::FillLevel {
            buffer,
            offset: 60 << 20,
        });
    }
    let bytes = etl.finish();
    let recording = open(&bytes);
    let (_, losses) = read(&recording);
    assert!(losses.count(Loss::DecompressionRefused) >= 6, "{losses:?}");
}

#[test]
fn an_unknown_compression_is_said() {
    let mut bytes = interleaved(small_buffers(1).compressed(Compression::Xpress), 100).finish();
    bytes[0x2C] = 9;
    let recording = open(&bytes);
    let (found, losses) = read(&recording);
    assert!(found.is_empty());
    assert_eq!(losses.count(Loss::UnknownCompression), 1);
}

#[test]
fn what_is_no_recording_is_refused_by_name_and_offset() {
    let refuse = |bytes: &[u8]| {
        Recording::open(&[Input {
            name: "x.etl",
            bytes,
        }])
        .unwrap_err()
    };
    assert_eq!(
        refuse(&[]).to_string(),
        "x.etl: byte offset 0: the file is empty"
    );
    assert_eq!(
        refuse(&[0; 5000]).to_string(),
        "x.etl: byte offset 0: the file is empty (it holds only zero bytes)"
    );
    assert_eq!(
        refuse(b"MZ\x90").to_string(),
        "x.etl: byte offset 0x0: the file is cut inside first buffer header: 72 bytes needed, 3 there"
    );
    assert!(matches!(
        refuse(&[b'A'; 5000]),
        Error::NotAnEventTraceLog { offset: 0, .. }
    ));
    let bytes = EtlBuilder::new(small_buffers(1)).finish();
    assert!(matches!(
        refuse(&bytes[..0x100]),
        Error::Truncated { offset: 0x48, .. }
    ));
    let mut other = bytes.clone();
    other[0x48 + 6] = 1;
    assert!(matches!(
        refuse(&other),
        Error::NotAnEventTraceLog { offset: 0x48, .. }
    ));
    let mut other = bytes;
    other[0x48 + 2] = 0x13;
    assert!(refuse(&other).to_string().contains("its marker is 0xc013"));
    assert_eq!(Recording::open(&[]).unwrap_err(), Error::NoInput);
}
