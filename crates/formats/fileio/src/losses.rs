//! Counts of operations and records that could not be read.

/// Kind of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LossKind {
    /// A line or record in an unexpected format.
    Unreadable,
    /// An operation without a known file offset.
    OffsetUnknown,
    /// An operation on a descriptor that was opened before the recording.
    DescriptorUnknown,
    /// An operation with only its begin or only its end recorded.
    Unfinished,
    /// Requests through shared memory (`io_uring`), which `strace` does not show.
    IoUring,
    /// Asynchronous requests (`io_submit`), whose completion `strace` does not show.
    AsynchronousIo,
    /// Memory-mapped files; accesses through the mapping are not recorded.
    Mapped,
    /// Data moved inside the kernel by `splice` or `tee`.
    Spliced,
    /// A request that was merged into another before it reached the disk.
    Merged,
    /// Records of a layer above the selected one.
    UpperLayer,
    /// Files of one run of `strace -ff` without times: the order of calls in different files is unknown.
    Unordered,
}

impl LossKind {
    /// Returns the stable name for machine-readable output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "fileio_records_unreadable",
            Self::OffsetUnknown => "fileio_offset_unknown",
            Self::DescriptorUnknown => "fileio_descriptor_unknown",
            Self::Unfinished => "fileio_unfinished",
            Self::IoUring => "fileio_io_uring_missing",
            Self::AsynchronousIo => "fileio_asynchronous_missing",
            Self::Mapped => "fileio_mapped_missing",
            Self::Spliced => "fileio_spliced_missing",
            Self::Merged => "fileio_merged_requests",
            Self::UpperLayer => "fileio_upper_layer_skipped",
            Self::Unordered => "fileio_order_unknown",
        }
    }

    /// Returns the explanation and advice.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::Unreadable => "Unreadable lines or records were skipped.",
            Self::OffsetUnknown => "Operations with an unknown file offset were skipped.",
            Self::DescriptorUnknown => {
                "Operations on descriptors opened before the recording were skipped. Record with strace -y."
            }
            Self::Unfinished => "Operations without a recorded begin or end were skipped.",
            Self::IoUring => "io_uring requests are missing: strace does not show them.",
            Self::AsynchronousIo => "Asynchronous requests were skipped: strace does not show their completion.",
            Self::Mapped => "Accesses through memory-mapped files are missing: they are not recorded.",
            Self::Spliced => "Data moved by splice or tee is missing: strace does not show its file offset.",
            Self::Merged => {
                "Requests were merged with a neighbor before they reached the disk; the merged request is counted."
            }
            Self::UpperLayer => "MPI-IO records were skipped; the POSIX requests they caused are counted.",
            Self::Unordered => {
                "The files of one run have no times, so they were read one after another. Record with strace -ttt."
            }
        }
    }

    /// True if requests are missing from the result because of this loss.
    #[must_use]
    pub const fn hides_requests(self) -> bool {
        !matches!(self, Self::Merged | Self::UpperLayer)
    }
}

/// A kind of loss and its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    pub kind: LossKind,
    /// Number of occurrences.
    pub count: u64,
    /// Byte offset of the first occurrence.
    pub first_offset: u64,
}

/// All losses of a recording, in the order of their first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    rows: Vec<Loss>,
}

impl Losses {
    /// Counts a loss at byte `offset`.
    pub(crate) fn add(&mut self, kind: LossKind, offset: usize) {
        match self.rows.iter_mut().find(|row| row.kind == kind) {
            Some(row) => row.count += 1,
            None => self.rows.push(Loss { kind, count: 1, first_offset: offset as u64 }),
        }
    }

    /// Adds the losses of a later part of the same recording.
    pub(crate) fn append(&mut self, later: &Losses) {
        for loss in &later.rows {
            match self.rows.iter_mut().find(|row| row.kind == loss.kind) {
                Some(row) => row.count += loss.count,
                None => self.rows.push(*loss),
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Loss> {
        self.rows.iter()
    }

    /// Returns the number of losses of `kind`.
    #[must_use]
    pub fn count(&self, kind: LossKind) -> u64 {
        self.rows.iter().find(|row| row.kind == kind).map_or(0, |row| row.count)
    }
}
