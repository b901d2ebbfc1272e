//! Real recordings: the text and the trace.dat file of a trace have the same events.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use onoff_ftrace::{DataFile, Kind, Losses, StackAddresses, TextTrace};

/// Reads the files in an archive whose name ends in one of `endings`.
fn files(archive: &Path, endings: [&str; 2]) -> BTreeMap<String, Vec<u8>> {
    let packed = std::fs::File::open(archive).unwrap();
    let plain = lzma_rust2::XzReader::new(std::io::BufReader::new(packed), true);
    let mut matching_files = BTreeMap::new();
    for entry in tar::Archive::new(plain).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        if endings.iter().any(|ending| path.ends_with(ending)) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            matching_files.insert(path, bytes);
        }
    }
    matching_files
}

/// The events of a processor: µs, thread, name, and the decoded event as text.
type Sequence = Vec<(u64, u32, String, String)>;

fn sequences(
    mut read_events: impl FnMut(&mut dyn FnMut(onoff_ftrace::Event<'_>)) -> Losses,
) -> (BTreeMap<u16, Sequence>, Losses) {
    let mut by_cpu: BTreeMap<u16, Sequence> = BTreeMap::new();
    let losses = read_events(&mut |event| {
        let kind = Kind::from_event(&event).unwrap_or_else(|| panic!("unreadable: {event:?}"));
        // The text rounds to microseconds.
        let time_us = (event.time_ns + 500) / 1_000;
        let name = match event.name {
            "print" => "tracing_mark_write".to_owned(),
            name => name.to_owned(),
        };
        by_cpu.entry(event.cpu).or_default().push((time_us, event.pid, name, format!("{kind:?}")));
    });
    (by_cpu, losses)
}

#[test]
fn text_and_data_file_have_the_same_events() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let mut compared = 0;
    for name in ["boot-1", "boot-2", "suspend-s3", "hibernate-s4"] {
        let files = files(&samples.join(format!("{name}.tar.xz")), [".trace.txt", ".trace.dat"]);
        for (path, data) in files.iter().filter(|(path, _)| path.ends_with(".dat")) {
            let text = &files[&path.replace(".trace.dat", ".trace.txt")];
            assert!(DataFile::recognizes(data) && TextTrace::recognizes(text));
            let file = DataFile::open(data).unwrap();
            assert_eq!(file.clock(), "mono", "{path}");
            let (from_data, losses) = sequences(|visit| file.read(&mut *visit));
            assert_eq!(losses, Losses::default(), "{path}");
            let (from_text, losses) = sequences(|visit| TextTrace::new(text).read(&mut *visit));
            assert_eq!(losses, Losses::default(), "{path}");
            for (cpu, expected) in &from_text {
                let actual = &from_data[cpu];
                let difference = expected.iter().zip(actual).position(|(expected, actual)| expected != actual);
                if let Some(index) = difference {
                    panic!(
                        "{path}, processor {cpu}, event {index}:\n text {:?}\n data {:?}",
                        expected[index], actual[index]
                    );
                }
                assert_eq!(actual.len(), expected.len(), "{path}, processor {cpu}");
                compared += actual.len();
            }
        }
    }
    println!("{compared} events of text and data compared");
    assert!(compared > 100_000, "{compared}");
}

/// Reads the call stacks in kernel text: kernel stacks have names, user stacks addresses.
fn stacks_of_text(text: &str) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let (mut kernel, mut user) = (Vec::new(), Vec::new());
    let mut is_user = false;
    for line in text.lines() {
        if line.ends_with(": <stack trace>") {
            is_user = false;
            kernel.push(Vec::new());
        } else if line.ends_with(": <user stack trace>") {
            is_user = true;
            user.push(Vec::new());
        } else if let Some(frame) = line.strip_prefix(" => ")
            && let Some(stack) = if is_user { user.last_mut() } else { kernel.last_mut() }
        {
            stack.push(frame.trim().to_owned());
        }
    }
    (kernel, user)
}

/// A boot with the options `stacktrace` and `userstacktrace`. The kernel resolves the function names in its own text.
#[test]
fn resolves_function_names_like_the_kernel() {
    let Some(samples) = onoff_testkit::real_recordings::samples_folder("linux") else {
        return;
    };
    let archive = samples.join("boot-stacks.tar.xz");
    if !archive.exists() {
        println!("skipped: no recording with call stacks");
        return;
    }
    let files = files(&archive, ["boot.trace.txt", "boot.trace.dat"]);
    let file_ending_with = |ending: &str| files.iter().find(|(path, _)| path.ends_with(ending)).unwrap().1;
    let (mut kernel, mut user) = stacks_of_text(&String::from_utf8_lossy(file_ending_with(".txt")));
    let file = DataFile::open(file_ending_with(".dat")).unwrap();
    let (mut kernel_names, mut addresses) = (Vec::new(), Vec::new());
    let mut frames = 0;
    file.read(|event| {
        let name = |address| match file.kernel_function(address) {
            Some(function) => function.name.to_owned(),
            None => format!("{address:#x}"),
        };
        let frame_addresses = |stack: StackAddresses<'_>| stack.iter().collect::<Vec<u64>>();
        match Kind::from_event(&event) {
            Some(Kind::KernelStack(stack)) => {
                frames += frame_addresses(stack).len();
                kernel_names.push(frame_addresses(stack).into_iter().map(name).collect::<Vec<_>>());
            }
            Some(Kind::UserStack { addresses: stack, .. }) => {
                addresses.push(
                    frame_addresses(stack).into_iter().map(|address| format!("<{address:016x}>")).collect::<Vec<_>>(),
                );
            }
            _ => {}
        }
    });
    // Both are in time order, but events with equal times on two processors may be swapped.
    for list in [&mut kernel, &mut kernel_names, &mut user, &mut addresses] {
        list.sort();
    }
    println!("{} stacks of the kernel, {frames} frames; {} of processes", kernel_names.len(), addresses.len());
    assert!(kernel_names.len() > 5_000 && kernel_names == kernel && addresses == user);
}
