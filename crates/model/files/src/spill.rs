//! What is unpacked: held while it is small, else in a file that is mapped, so that memory does not grow with it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use onoff_sources::{Bytes, Progress, Sink, Store};

use crate::kept::{Keeping, Place, nameless};
use crate::mapped::Mapped;

/// Bytes that are held in memory. Most recordings of one boot unpack to less.
const HELD_BYTES: usize = 64 << 20;

/// Who listens to how far it has come.
pub(crate) type Listener = Option<Arc<dyn Fn(Progress) + Send + Sync>>;

/// Where what one packed file unpacks to goes.
pub(crate) struct SpillingStore {
    /// Where it is kept for the next question, if it is.
    pub(crate) place: Option<Place>,
    pub(crate) listener: Listener,
}

impl std::fmt::Debug for SpillingStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SpillingStore").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Store for SpillingStore {
    fn find(&self) -> Option<Box<dyn Bytes>> {
        self.place.as_ref()?.find().map(|kept| Box::new(kept) as Box<dyn Bytes>)
    }

    fn sink(&self, all: bool) -> Box<dyn Sink> {
        let place = self.place.clone().filter(|_| all);
        Box::new(Spill { held: Vec::new(), file: None, keeping: place.map(Place::keep) })
    }

    fn progress(&self, done_bytes: u64, total_bytes: u64) {
        if let Some(listener) = &self.listener {
            listener(Progress { done_bytes, total_bytes });
        }
    }
}

/// Bytes on their way.
#[derive(Debug)]
struct Spill {
    held: Vec<u8>,
    file: Option<File>,
    keeping: Option<Keeping>,
}

impl Sink for Spill {
    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return file.write_all(bytes);
        }
        if self.held.len() + bytes.len() <= HELD_BYTES {
            self.held.extend_from_slice(bytes);
            return Ok(());
        }
        let mut file = match &mut self.keeping {
            Some(keeping) => keeping.begin()?,
            None => nameless()?,
        };
        file.write_all(&self.held)?;
        file.write_all(bytes)?;
        self.held = Vec::new();
        self.file = Some(file);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn Bytes>> {
        let Some(file) = self.file else { return Ok(Box::new(self.held)) };
        // Nobody else writes to it: it has no name that could be found again here.
        let mapped = Mapped::of(&file, Path::new(""))?;
        if let Some(keeping) = self.keeping {
            keeping.finish();
        }
        Ok(Box::new(mapped))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn much_goes_to_a_file_and_comes_back_the_same() {
        let block: Vec<u8> = (0..1_000_003_u32).map(|number| (number % 251) as u8).collect();
        for blocks in [0, 1, 67, 70] {
            let mut spill = Box::new(Spill { held: Vec::new(), file: None, keeping: None });
            for _ in 0..blocks {
                spill.push(&block).unwrap();
            }
            assert_eq!(spill.file.is_some(), blocks == 70);
            let contents = spill.finish().unwrap();
            assert_eq!(contents.bytes().len(), blocks * block.len());
            assert!(contents.bytes().chunks(block.len()).all(|chunk| chunk == block));
            assert_eq!(contents.shortened(), None);
        }
    }
}
