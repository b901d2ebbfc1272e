//! Readers accept any input.

use onoff_ftrace::{DataFile, Kind, TextTrace};
use proptest::prelude::*;

const MAGIC: &[u8] = b"\x17\x08\x44tracing";

fn read(bytes: &[u8]) {
    let _ = TextTrace::recognizes(bytes);
    TextTrace::new(bytes).read(|event| {
        let _ = Kind::from_event(&event);
    });
    if let Ok(file) = DataFile::open(bytes) {
        file.read(|event| {
            let _ = Kind::from_event(&event);
        });
    }
}

proptest! {
    #[test]
    fn accepts_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        read(&bytes);
    }

    #[test]
    fn accepts_any_bytes_after_header(version in 6_u8..=7, bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        // Little-endian, 8-byte words, 4,096-byte pages.
        let mut file = [MAGIC, &[b'0' + version, 0, 0, 8, 0, 0x10, 0, 0]].concat();
        if version == 7 {
            file.extend(b"none\0\0");
            file.extend((file.len() as u64 + 8).to_le_bytes());
        }
        file.extend(bytes);
        read(&file);
    }

    #[test]
    fn accepts_any_line(name in "[a-z_]{1,24}", body in "\\PC{0,120}") {
        read(format!("  task-1 [000] d..2. 1.000001: {name}: {body}\n").as_bytes());
    }

    #[test]
    fn accepts_any_body_of_known_events(
        name in prop::sample::select(vec![
            "sched_switch", "sched_waking", "block_rq_issue", "block_rq_complete", "initcall_finish",
            "device_pm_callback_start", "device_pm_callback_end", "suspend_resume", "rpm_return_int", "funcgraph_entry",
            "funcgraph_exit",
        ]),
        body in "[a-z0-9=+:,>\\[\\]() _-]{0,120}",
    ) {
        read(format!("  task-1 [000] 1.000001: {name}: {body}\n").as_bytes());
    }
}
