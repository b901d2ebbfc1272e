//! Records set aside: those that must be seen in order, or with what only the end of the recording teaches.

use onoff_etl::Record;

/// SetAside of records, in the order in which they were set aside.
///
/// A record borrows its buffer, which is gone (decompressed) or given back to the system (mapped) by the time it is
/// looked at again, so its bytes are copied; one allocation serves many.
#[derive(Debug, Default)]
pub(super) struct SetAside {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    end: usize,
    time_ns: i64,
    cpu: u16,
    file: u16,
}

impl SetAside {
    pub(super) fn push(&mut self, record: &Record<'_>) {
        self.bytes.extend_from_slice(record.bytes());
        self.places.push(Place {
            end: self.bytes.len(),
            time_ns: record.time_ns(),
            cpu: record.cpu(),
            // A recording has fewer files than this.
            file: u16::try_from(record.file()).unwrap_or(u16::MAX),
        });
    }

    pub(super) fn append(&mut self, other: &SetAside) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.places.extend(other.places.iter().map(|place| Place { end: before + place.end, ..*place }));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let mut start = 0;
        self.places.iter().filter_map(move |place| {
            let bytes = self.bytes.get(start..place.end)?;
            start = place.end;
            let record = Record::parse(bytes).ok()?;
            Some(record.placed(place.file, place.cpu, place.time_ns))
        })
    }
}
