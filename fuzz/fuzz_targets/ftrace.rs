//! Linux tracer text and files from arbitrary bytes: reading succeeds or fails, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_ftrace::{Body, DataFile, Event, Kind, TextTrace};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(file) = DataFile::open(bytes) {
        file.read(|event| read_fields(&event));
    }
    let mut events = 0;
    let losses = TextTrace::new(bytes).read(|event| {
        events += 1;
        read_fields(&event);
    });
    let lines = bytes.split(|&byte| byte == b'\n').count() as u64;
    assert!(events + losses.unreadable_lines <= lines, "a line is at most one event");
});

/// Calls all accessors of an event.
fn read_fields(event: &Event<'_>) {
    let _ = Kind::from_event(event);
    if let Body::Record(body) = event.body {
        for (name, _) in body.fields().take(1000) {
            let _ = (body.number(name), body.text(name), body.function(name));
        }
    }
}
