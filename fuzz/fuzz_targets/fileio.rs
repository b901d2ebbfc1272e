//! The `fileio` readers on arbitrary bytes: they finish without a panic, and their counts are consistent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_fileio::{Error, Format, operations_csv, read, recognize};

fuzz_target!(|bytes: &[u8]| {
    let mut operations = 0;
    let result = read(bytes, &mut |operation| {
        operations += 1;
        assert!(
            operation.duration_ns.is_none() || operation.file.len() <= bytes.len() * 3,
            "a name comes from the recording"
        );
    });
    // A CSV read in chunks gives the same operations.
    if recognize(bytes) == Some(Format::OperationsCsv)
        && let Some(chunks) = operations_csv::chunks(bytes, bytes.len() / 3 + 1)
    {
        let mut chunk_operations = 0;
        if chunks.map(|chunk| chunk.read(&mut |_| chunk_operations += 1)).all(|summary| summary.is_some()) {
            assert_eq!(chunk_operations, operations);
        }
    }
    match result {
        Ok(summary) => {
            assert_eq!(Some(summary.format), recognize(bytes));
            assert_eq!(summary.operations, operations);
            assert!(summary.operations <= summary.records * 2, "a copy is two operations, other records are one");
            for loss in summary.losses.iter() {
                assert!(loss.count > 0 && loss.first_offset <= bytes.len() as u64);
                assert!(!loss.kind.help().is_empty());
            }
        }
        Err(error) => {
            assert_eq!(error == Error::UnknownFormat, recognize(bytes).is_none());
            assert!(!error.to_string().is_empty());
        }
    }
});
