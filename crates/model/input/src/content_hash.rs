//! Content hashes, which identify recordings independently of their names.

use sha2::{Digest, Sha256};

/// Number of bytes between two progress calls.
const STEP_BYTES: usize = 16 << 20;

/// Returns the SHA-256 of `bytes`, in hexadecimal. Calls `on_hashed` with the number of bytes that are hashed so far.
pub fn sha256(bytes: &[u8], mut on_hashed: impl FnMut(usize)) -> String {
    let mut hash = Sha256::new();
    let mut hashed_bytes = 0;
    for step in bytes.chunks(STEP_BYTES) {
        hash.update(step);
        hashed_bytes += step.len();
        on_hashed(hashed_bytes);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_published_test_vectors() {
        // Examples from FIPS 180-4.
        assert_eq!(sha256(b"", |_| ()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256(b"abc", |_| ()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn reports_progress_to_the_end() {
        let mut reported = Vec::new();
        sha256(&vec![0; STEP_BYTES + 1], |read| reported.push(read));
        assert_eq!(reported, [STEP_BYTES, STEP_BYTES + 1]);
    }
}
