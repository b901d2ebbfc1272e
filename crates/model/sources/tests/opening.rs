//! Opens shared files: recordings that are packed, renamed or damaged, and files that are not recordings.

#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};

use onoff_files::open;
use onoff_sources::{Error, Limits, Options, files_from_bytes, open_files};
use onoff_testkit::assemble::{EtlBuilder, Session};
use onoff_testkit::events::{device, kernel};
use onoff_trace::{TableName, TableSet, Trace};

fn recording() -> Vec<u8> {
    recording_with_session(Session::windows_10(2))
}

fn recording_with_session(session: Session) -> Vec<u8> {
    let start = session.start_ticks;
    let mut builder = EtlBuilder::new(session);
    builder.push(0, &kernel::mark(start + 10, "one"));
    builder.push(1, &device::boot_start(true).record(start + 20, 8, 4));
    builder.push(0, &kernel::mark(start + 30, "two"));
    builder.finish()
}

fn read(contents: Vec<(&str, Vec<u8>)>) -> Result<Trace, Error> {
    let named_contents = contents.into_iter().map(|(name, bytes)| (name.into(), bytes));
    let files = files_from_bytes(named_contents, &Limits::default())?;
    open_files(&files, TableSet::all(), &Options::default())
}

fn marks(trace: &Trace) -> Vec<&str> {
    let milestones = trace.milestones.iter();
    milestones.map(|row| trace.text(row.detail)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(bytes, level)
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        archive.start_file(*name, options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn unpacks_files_by_content() {
    let plain = recording();
    for packed in [gzip(&plain), xz(&plain), zstd(&plain), bzip2(&plain), archive(&[("a.etl", &plain)])] {
        let trace = read(vec![("misnamed.txt", packed.clone())]).unwrap();
        assert_eq!(marks(&trace), ["one", "", "two"]);
        assert_eq!(trace.files[0].bytes, packed.len() as u64);
    }
}

#[test]
fn reads_concatenated_streams() {
    let plain = recording();
    let (first, second) = plain.split_at(plain.len() / 2);
    for pack in [gzip, zstd, xz, bzip2] {
        let halves = [pack(first), pack(second)];
        let trace = read(vec![("halves", halves.concat())]).unwrap();
        assert_eq!(marks(&trace), ["one", "", "two"]);
    }
    let mut skippable = 0x184D_2A53u32.to_le_bytes().to_vec();
    skippable.extend([3, 0, 0, 0, 1, 2, 3]);
    let framed = [zstd(first), skippable, zstd(second)].concat();
    assert_eq!(marks(&read(vec![("framed", framed)]).unwrap()).len(), 3);
}

#[test]
fn reads_recordings_in_archive_and_skips_the_rest() {
    let plain = recording();
    // A computer cannot run two sessions with the same name.
    let second_session =
        recording_with_session(Session { logger_name: "UserTrace".to_owned(), ..Session::windows_10(2) });
    let packed = archive(&[
        ("readme.txt", b"how to read this"),
        ("kernel.etl.xz", &xz(&plain)),
        ("user.etl", &second_session),
        ("again/user.etl", &second_session),
    ]);
    let files = files_from_bytes([("boot.zip".to_owned(), packed)], &Limits::default()).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name()).collect();
    assert_eq!(names, ["boot.zip/kernel.etl.xz", "boot.zip/user.etl"]);

    // The bytes after the last buffer do not matter: the log is a copy, or from another computer. Events must not be
    // counted twice.
    let copy = [plain.as_slice(), &[0; 16]].concat();
    let two_copies = archive(&[("a.etl", &plain), ("b.etl", &copy)]);
    assert!(matches!(read(vec![("boots.zip", two_copies)]), Err(Error::SeveralRecordings { count: 2, .. })));

    let result = read(vec![("texts.zip", archive(&[("a.txt", b"a"), ("b.txt", b"b")]))]);
    assert!(matches!(result, Err(Error::NoRecordingInside { members: 2, .. })), "{result:?}");
}

#[test]
fn limits_unpacked_size() {
    let bomb = gzip(&vec![0; 64 << 20]);
    let limits = Limits { unpacked_bytes: 16 << 20, ..Limits::default() };
    let result = files_from_bytes([("bomb.gz".to_owned(), bomb.clone())], &limits);
    let message = result.unwrap_err().to_string();
    assert!(message.contains("bomb.gz") && message.contains("16777216"), "{message}");

    let limits = Limits { ratio: 10, free_bytes: 1 << 20, ..Limits::default() };
    for packed in [bomb.clone(), bzip2(&vec![0; 64 << 20]), archive(&[("inside.gz", &bomb)])] {
        let result = files_from_bytes([("bomb".to_owned(), packed)], &limits);
        assert!(matches!(result, Err(Error::TooLarge { .. })), "{result:?}");
    }

    // The members of an archive share the limit, packed or not, at any depth.
    let member = [recording(), vec![0; 600 << 10]].concat();
    for member in [member.clone(), gzip(&member), gzip(&gzip(&member))] {
        let one = archive(&[("1.etl", &member)]);
        files_from_bytes([("one.zip".to_owned(), one.clone())], &limits).unwrap();
        let two = archive(&[("1.etl", &member), ("2.etl", &member)]);
        let result = files_from_bytes([("two.zip".to_owned(), two)], &limits);
        assert!(matches!(&result, Err(Error::TooLarge { limit: 1_048_576, .. })), "{result:?}");
    }
    let inner = archive(&[("1.etl", &member)]);
    let outer = archive(&[("1.zip", &inner), ("2.zip", &inner)]);
    let result = files_from_bytes([("outer.zip".to_owned(), outer)], &limits);
    assert!(matches!(&result, Err(Error::TooLarge { limit: 1_048_576, .. })), "{result:?}");

    let nested = (0..4).fold(recording(), |bytes, _| gzip(&bytes));
    let result = files_from_bytes([("nested.gz".to_owned(), nested)], &Limits::default());
    assert!(matches!(result, Err(Error::TooDeep { .. })), "{result:?}");
}

#[test]
fn damage_error_names_the_file() {
    let plain = recording();
    for packed in [gzip(&plain), xz(&plain), zstd(&plain), bzip2(&plain), archive(&[("a.etl", &plain)])] {
        let truncated = packed[..packed.len() / 2].to_vec();
        let message = read(vec![("cut.bin", truncated)]).unwrap_err().to_string();
        assert!(message.starts_with("cut.bin"), "{message}");
    }
}

#[test]
fn rejects_files_that_are_not_recordings() {
    for bytes in [
        b"#!/bin/sh\necho not a recording of anything at all, however long the text may be, and it is long enough\n"
            .to_vec(),
        vec![0xFF; 4096],
    ] {
        let message = read(vec![("script.etl", bytes)]).unwrap_err().to_string();
        assert!(message.starts_with("script.etl: unknown format"), "{message}");
    }
    for empty in [Vec::new(), vec![0; 70_000]] {
        let message = read(vec![("empty.etl", empty)]).unwrap_err().to_string();
        assert!(message.contains("empty.etl") && message.contains("empty"), "{message}");
    }
    let result = open(&[], TableSet::NONE, &onoff_files::Options::default());
    assert!(matches!(result, Err(Error::NoFile)));
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().into(), folder.path().join("absent.etl")] {
        let result = open(std::slice::from_ref(&path), TableSet::NONE, &onoff_files::Options::default());
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with(&path.display().to_string()), "{message}");
    }
}

#[test]
fn mapped_file_reads_like_bytes_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.etl");
    std::fs::write(&path, recording()).unwrap();
    let mapped = open(std::slice::from_ref(&path), TableSet::all(), &onoff_files::Options::default()).unwrap();
    let from_memory = read(vec![("boot.etl", recording())]).unwrap();
    assert_eq!(marks(&mapped), marks(&from_memory));
    assert_eq!(mapped.inventory, from_memory.inventory);
}

/// Damaged input gives a result with losses, or an error, but never a panic.
#[test]
fn damaged_recordings_do_not_panic() {
    let text = include_str!("../../../support/simulator/scenarios/table-7-slow-service-in-group.toml");
    let scenario = onoff_simulator::Scenario::from_toml(text).unwrap();
    let recording = scenario.simulate().unwrap().files.remove(0);
    let wanted = TableSet::all();
    let read_damaged = |bytes: Vec<u8>| {
        let Ok(files) = files_from_bytes([("damaged.etl".to_owned(), bytes)], &Limits::default()) else {
            return;
        };
        // Both outcomes are fine, as long as the call returns.
        let _ = open_files(&files, wanted, &Options::default());
    };
    // A linear congruential generator, so that every run makes the same damage.
    let mut state = 88_172_645_463_325_252u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    for _ in 0..12 {
        read_damaged(recording[..random(recording.len())].to_vec());
    }
    for _ in 0..24 {
        let mut bytes = recording.clone();
        for _ in 0..64 {
            let position = random(bytes.len());
            bytes[position] ^= 1 << random(8);
        }
        read_damaged(bytes);
    }
    for _ in 0..12 {
        let mut bytes = recording.clone();
        let start = random(bytes.len() - 4096);
        for byte in &mut bytes[start..start + 4096] {
            *byte = random(256) as u8;
        }
        read_damaged(bytes);
    }
}

#[test]
fn reads_interrupted_recording() {
    let session = Session::windows_10(1);
    let start = session.start_ticks;
    let mut builder = EtlBuilder::new(session);
    builder.push(0, &kernel::mark(start + 10, "kept"));
    let trace = read(vec![("power-loss.etl", builder.finish_interrupted())]).unwrap();
    assert_eq!(marks(&trace), ["kept"]);
    assert!(!trace.files[0].finished);
    assert_eq!(trace.losses.count("unfinished_file"), 1);
    let wanted = [TableName::Milestones];
    assert!(trace.losses.affecting(&wanted).count() >= 1);
}

#[cfg(unix)]
#[test]
fn only_truncation_of_an_open_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.etl");
    let session = Session::windows_10(1);
    let start = session.start_ticks;
    let mut builder = EtlBuilder::new(session);
    for number in 0..40_000 {
        builder.push(0, &kernel::mark(start + number, "one of many marks"));
    }
    let bytes = builder.finish();
    assert!(bytes.len() > 1 << 20);
    std::fs::write(&path, &bytes).unwrap();
    let read = |change: &dyn Fn()| {
        let files = onoff_files::open_all(std::slice::from_ref(&path), &Limits::default()).unwrap();
        change();
        open_files(&files, TableSet::all(), &Options::default())
    };
    let trace = read(&|| {}).unwrap();
    assert_eq!(trace.milestones.len(), 40_000);
    let truncate = |length| std::fs::File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
    for length in [0, 100, 4096, 200_000, bytes.len() as u64 - 1] {
        let message = read(&|| truncate(length)).unwrap_err().to_string();
        let expected = format!("was truncated while it was read (from {} to {length} bytes)", bytes.len());
        assert!(message.contains("boot.etl: ") && message.contains(&expected), "{message}");
        std::fs::write(&path, &bytes).unwrap();
    }
    read(&|| {
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        file.write_all(&[0; 100]).unwrap();
    })
    .unwrap();
    std::fs::write(&path, &bytes).unwrap();
    read(&|| {
        std::fs::write(folder.path().join("new"), b"short").unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
    })
    .unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn rejects_endless_devices_early() {
    for (device, expected) in [("/dev/zero", "are zeros"), ("/dev/urandom", "are in an unknown format, starting with ")]
    {
        let message = onoff_files::open_all(&[device.into()], &Limits::default()).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{device}: not a recording: the first 65536 bytes ")), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn ignores_impossible_processor_count() {
    let processors_and_loss = |processors: u32, buffers: u32| {
        let session = Session { processors, ..Session::windows_10(processors.min(buffers)) };
        let start = session.start_ticks;
        let mut builder = EtlBuilder::new(Session { processors: buffers, ..session.clone() });
        for cpu in 0..buffers {
            builder.push(cpu as u16, &kernel::mark(start + u64::from(cpu) + 10, "mark"));
        }
        let mut bytes = builder.finish();
        // The logfile header follows the buffer header and the record header.
        let buffer_count = buffers.to_le_bytes();
        let offset = 0x48 + 32 + 0x0C;
        assert_eq!(bytes[offset..offset + 4], buffer_count);
        bytes[offset..offset + 4].copy_from_slice(&processors.to_le_bytes());
        let trace = read(vec![("a.etl", bytes)]).unwrap();
        let is_counted = trace.losses.iter().any(|loss| loss.counter == "processor_count_impossible");
        (trace.system.processors, is_counted)
    };
    assert_eq!(processors_and_loss(4, 4), (4, false));
    assert_eq!(processors_and_loss(2048, 4), (2048, false));
    assert_eq!(processors_and_loss(2049, 4), (4, true));
    assert_eq!(processors_and_loss(1 << 24, 3), (3, true));
    assert_eq!(processors_and_loss(u32::MAX, 1), (1, true));
}

#[test]
fn ignores_impossible_pointer_size() {
    let pointer_bits = |size: u32| {
        let mut bytes = EtlBuilder::new(Session::windows_10(1)).finish();
        let offset = 0x48 + 32 + 0x2C;
        assert_eq!(bytes[offset..offset + 4], 8_u32.to_le_bytes());
        bytes[offset..offset + 4].copy_from_slice(&size.to_le_bytes());
        read(vec![("a.etl", bytes)]).map(|trace| trace.system.pointer_bits)
    };
    assert_eq!(pointer_bits(8).unwrap(), 64);
    for size in [0, 1, 7, 16, 1 << 29, u32::MAX] {
        assert_eq!(pointer_bits(size).unwrap(), 0, "{size}");
    }
}

#[test]
fn unpacking_reports_progress_in_packed_bytes() {
    use std::sync::{Arc, Mutex};

    let mut plain = recording();
    // Incompressible bytes after the recording.
    let mut state = 1_u64;
    plain.extend((0..3_000_000).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    }));
    let folder = tempfile::tempdir().unwrap();
    for (name, packed) in [("a.xz", xz(&plain)), ("a.gz", gzip(&plain))] {
        let path = folder.path().join(name);
        std::fs::write(&path, &packed).unwrap();
        let reports: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
        let listener = Arc::clone(&reports);
        let options = onoff_files::Options {
            progress: Some(Arc::new(move |progress| {
                listener.lock().unwrap().push((progress.done_bytes, progress.total_bytes))
            })),
            ..onoff_files::Options::default()
        };
        onoff_files::open_all_with_progress(&[path], &options).unwrap();
        let reports = reports.lock().unwrap();
        let total = packed.len() as u64;
        assert!(
            reports.len() > 5 && reports.iter().all(|&(done, reported_total)| reported_total == total && done <= total),
            "{name}: {reports:?}"
        );
        assert!(
            reports[0].0 < total / 4 && reports.windows(2).all(|pair| pair[0].0 <= pair[1].0),
            "{name}: {reports:?}"
        );
        assert!(reports.last().unwrap().0 > total / 10 * 9, "{name}: {reports:?}");
    }
}
