//! Real recordings: the text and the trace.dat file of one trace say the same.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use onoff_ftrace::{DataFile, Kind, Losses, TextTrace};

/// The files of an archive whose name ends in one of `endings`.
fn files(archive: &Path, endings: [&str; 2]) -> BTreeMap<String, Vec<u8>> {
    let packed = std::fs::File::open(archive).unwrap();
    let plain = lzma_rust2::XzReader::new(std::io::BufReader::new(packed), true);
    let mut found = BTreeMap::new();
    for entry in tar::Archive::new(plain).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        if endings.iter().any(|ending| path.ends_with(ending)) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            found.insert(path, bytes);
        }
    }
    found
}

/// Each processor's events: µs, thread, name, and what it means as text.
type Sequence = Vec<(u64, u32, String, String)>;

fn sequences(
    mut take: impl FnMut(&mut dyn FnMut(onoff_ftrace::Event<'_>)) -> Losses,
) -> (BTreeMap<u16, Sequence>, Losses) {
    let mut found: BTreeMap<u16, Sequence> = BTreeMap::new();
    let losses = take(&mut |event| {
        let kind = Kind::of(&event).unwrap_or_else(|| panic!("unreadable: {event:?}"));
        // The text rounds to microseconds.
        let time_us = (event.time_ns + 500) / 1_000;
        let name = match event.name {
            "print" => "tracing_mark_write".to_owned(),
            name => name.to_owned(),
        };
        found.entry(event.cpu).or_default().push((time_us, event.pid, name, format!("{kind:?}")));
    });
    (found, losses)
}

#[test]
fn text_and_data_file_of_one_trace_say_the_same() {
    let Some(samples) = onoff_testkit::real::samples("linux") else {
        return;
    };
    let mut compared = 0;
    for name in ["boot-1", "boot-2", "suspend-s3", "hibernate-s4"] {
        let files = files(&samples.join(format!("{name}.tar.xz")), [".trace.txt", ".trace.dat"]);
        for (path, data) in files.iter().filter(|(path, _)| path.ends_with(".dat")) {
            let text = &files[&path.replace(".trace.dat", ".trace.txt")];
            assert!(DataFile::recognises(data) && TextTrace::recognises(text));
            let file = DataFile::open(data).unwrap();
            assert_eq!(file.clock(), "mono", "{path}");
            let (from_data, losses) = sequences(|each| file.read(&mut *each));
            assert_eq!(losses, Losses::default(), "{path}");
            let (from_text, losses) = sequences(|each| TextTrace::new(text).read(&mut *each));
            assert_eq!(losses, Losses::default(), "{path}");
            for (cpu, expected) in &from_text {
                let found = &from_data[cpu];
                let differs = expected.iter().zip(found).position(|(expected, found)| expected != found);
                if let Some(at) = differs {
                    panic!("{path}, processor {cpu}, event {at}:\n text {:?}\n data {:?}", expected[at], found[at]);
                }
                assert_eq!(found.len(), expected.len(), "{path}, processor {cpu}");
                compared += found.len();
            }
        }
    }
    println!("{compared} events of text and data compared");
    assert!(compared > 100_000, "{compared}");
}
