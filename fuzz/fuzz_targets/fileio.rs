//! Reads arbitrary bytes with the `fileio` readers: they terminate, never panic, and their counts add up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_fileio::{Error, Format, operations_csv, read, recognize};

fuzz_target!(|bytes: &[u8]| {
    let mut operations = 0;
    let answer = read(bytes, &mut |of| {
        operations += 1;
        assert!(of.duration_ns.is_none() || of.file.len() <= bytes.len() * 3, "a name comes from the recording");
    });
    // A CSV read in chunks gives the same result.
    if recognize(bytes) == Some(Format::OperationsCsv)
        && let Some(pieces) = operations_csv::pieces(bytes, bytes.len() / 3 + 1)
    {
        let mut in_pieces = 0;
        if pieces.map(|piece| piece.read(&mut |_| in_pieces += 1)).all(|summary| summary.is_some()) {
            assert_eq!(in_pieces, operations);
        }
    }
    match answer {
        Ok(summary) => {
            assert_eq!(Some(summary.format), recognize(bytes));
            assert_eq!(summary.operations, operations);
            assert!(summary.operations <= summary.records * 2, "a copy gives two operations, others one");
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
