//! What tells two recordings apart, and one from itself under another name.

use sha2::{Digest, Sha256};

/// Bytes between two calls of the listener.
const STEP: usize = 16 << 20;

/// SHA-256 of `bytes`, in hexadecimal. `done` hears how many bytes, from the first, will not be read again.
pub fn sha256(bytes: &[u8], mut done: impl FnMut(usize)) -> String {
    let mut hash = Sha256::new();
    let mut read = 0;
    for step in bytes.chunks(STEP) {
        hash.update(step);
        read += step.len();
        done(read);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_published_hash() {
        // FIPS 180-4's examples.
        assert_eq!(sha256(b"", |_| ()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256(b"abc", |_| ()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn the_listener_hears_all_bytes() {
        let mut heard = Vec::new();
        sha256(&vec![0; STEP + 1], |read| heard.push(read));
        assert_eq!(heard, [STEP, STEP + 1]);
    }
}
