//! Any bytes are read to the end, and the counts add up.

use onoff_fileio::{Format, operations_csv, read, recognize};
use proptest::prelude::*;

/// Generates text with likely lines of each format, complete and broken.
fn likely_text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        "time,pid,process,file,operation,offset,length\n",
        "\"Time of Day\",\"Process Name\",\"PID\",\"Operation\",\"Path\",\"Result\",\"Detail\"\n",
        "\"1:18:10.7 AM\",\"a.exe\",\"4\",\"ReadFile\",\"C:\\a\",\"SUCCESS\",\"Offset: 1,024, Length: 4\"\n",
        "1,2,\"a\"\"b\",c,read,18446744073709551615,18446744073709551615\n",
        "0.5,2,a,c,write,0,4\n",
        "fio version 3 iolog\n",
        "12 /a b read 0 4096\n",
        "18446744073709551615 /a read 0 4096\n",
        "0, 20039, 0, 8192, 503808, 0\n",
        "8,0 3 1 0.000000000 697 Q R 223490 + 8 [k]\n",
        "8,0 3 2 0.000100000 697 C R 18446744073709551615 + 18446744073709551615 [0]\n",
        "7 23:12:36.100122 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n",
        "7 read(3, \"\\317\", 4) = 4 <0.000004>\n",
        "7 read(3,  <unfinished ...>\n",
        "7 <... read resumed>\"\", 4) = 4\n",
        "7 lseek(3, 0, SEEK_SET) = 9223372036854775807\n",
        "7 clone(flags=CLONE_FILES|CLONE_THREAD) = 8\n",
        "7 execve(\"/bin/x\", []) = 0\n",
        "7 sendfile(4, 3, [0] => [5], 9) = 5\n",
        "# DXT, file_id: 1, file_name: /a\n",
        " X_POSIX 0 read 0 0 4096 0.1 0.2\n",
        "\"",
        ",",
        "(",
        "<",
        "\n",
    ]);
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat().into_bytes())
}

/// Generates a closed log with tables at arbitrary offsets.
fn likely_log() -> impl Strategy<Value = Vec<u8>> {
    let table_offset = prop_oneof![0..2000_u64, any::<u64>()];
    (
        prop::collection::vec(any::<u8>(), 1200..1600),
        any::<bool>(),
        0..60_u32,
        [table_offset.clone(), table_offset.clone(), table_offset],
    )
        .prop_map(|(mut bytes, is_64_bit, count, table_offsets)| {
            bytes[..8].copy_from_slice(b"PML_\x09\0\0\0");
            bytes[8..12].copy_from_slice(&u32::from(is_64_bit).to_le_bytes());
            bytes[0x234..0x238].copy_from_slice(&count.to_le_bytes());
            for (offset, table_offset) in [0x248, 0x250, 0x258].into_iter().zip(table_offsets) {
                bytes[offset..offset + 8].copy_from_slice(&table_offset.to_le_bytes());
            }
            // File system events at small offsets.
            for offset in (0..1000).step_by(64) {
                bytes[offset + 200] = 3;
            }
            bytes
        })
}

proptest! {
    #[test]
    fn reads_any_bytes_and_counts_add_up(
        bytes in prop_oneof![likely_text(), likely_log(), prop::collection::vec(any::<u8>(), 0..512)],
        cut in any::<prop::sample::Index>(),
    ) {
        for bytes in [&bytes[..], &bytes[..cut.index(bytes.len() + 1)]] {
            let mut emitted = 0;
            let result = read(bytes, &mut |_| emitted += 1);
            prop_assert_eq!(recognize(bytes).is_none(), matches!(result, Err(onoff_fileio::Error::UnknownFormat)));
            let chunks = operations_csv::chunks(bytes, bytes.len() / 3 + 1);
            if let Some(chunks) = chunks.filter(|_| recognize(bytes) == Some(Format::OperationsCsv)) {
                let mut chunk_operations = 0;
                let summaries: Option<Vec<_>> =
                    chunks.map(|chunk| chunk.read(&mut |_| chunk_operations += 1)).collect();
                if let (Some(summaries), Ok(summary)) = (summaries, &result) {
                    prop_assert_eq!(chunk_operations, summary.operations);
                    prop_assert_eq!(summaries.iter().map(|summary| summary.records).sum::<u64>(), summary.records);
                }
            }
            if let Ok(summary) = result {
                prop_assert_eq!(summary.operations, emitted);
                // A copy gives a read and a write; any other record gives at most one operation.
                prop_assert!(summary.operations <= summary.records * 2);
                for loss in summary.losses.iter() {
                    prop_assert!(loss.first_offset <= bytes.len() as u64);
                    prop_assert!(loss.count > 0);
                }
            }
        }
    }
}

#[test]
fn recognizes_formats_by_content() {
    for (text, format) in [
        ("time,pid,process,file,operation,offset,length\n", Some(Format::OperationsCsv)),
        ("length,offset,operation\n", Some(Format::OperationsCsv)),
        ("\u{feff}\"Operation\",\"Detail\"\n", Some(Format::ProcessMonitorCsv)),
        ("fio version 2 iolog\n", Some(Format::FioIolog)),
        ("0, 20039, 0, 8192, 503808, 0\n", Some(Format::FioLog)),
        ("0, 20039, 0, 8192, 503808, 0x0, 7\n", Some(Format::FioLog)),
        ("  8,0    3   1   0.000000000   697  Q   R 223490 + 8 [kjournald]\n", Some(Format::Blkparse)),
        ("# darshan log version: 3.41\n# DXT, file_id: 1, file_name: /a\n", Some(Format::DarshanTrace)),
        ("strace: Process 7 attached\n7 close(3) = 0\n", Some(Format::Strace)),
        ("PML_", Some(Format::ProcessMonitorLog)),
        // Similar text in no supported format.
        ("operation and offset\n", None),
        ("1, 2, 3, 4\n", None),
        ("call(me) = maybe, said nobody\n# a note\n", Some(Format::Strace)),
        ("Call (me)\n", None),
        ("ElfFile\0", None),
        ("", None),
    ] {
        assert_eq!(recognize(text.as_bytes()), format, "{text}");
    }
}
