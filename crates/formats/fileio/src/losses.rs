//! What a recording holds and onoff went on without.

/// A kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LossKind {
    /// A line or record that is not of the format.
    Unreadable,
    /// An operation whose place in the file is not known.
    OffsetNotKnown,
    /// An operation on a descriptor whose opening was not recorded.
    DescriptorNotKnown,
    /// An operation whose other half was not recorded.
    Unfinished,
    /// Requests that pass through shared memory (`io_uring`), which `strace` does not show.
    IoUring,
    /// Asynchronous requests (`io_submit`), whose completion `strace` does not show.
    AsynchronousIo,
    /// Files mapped into memory; what is read through the mapping is not shown.
    Mapped,
    /// Data moved inside the kernel by `splice` or `tee`.
    Spliced,
    /// A request that was merged into another before it reached the disk.
    Merged,
    /// Records of a layer above the one that is read.
    UpperLayer,
}

impl LossKind {
    /// Stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "fileio_records_unreadable",
            Self::OffsetNotKnown => "fileio_offset_not_known",
            Self::DescriptorNotKnown => "fileio_descriptor_not_known",
            Self::Unfinished => "fileio_unfinished",
            Self::IoUring => "fileio_io_uring_not_seen",
            Self::AsynchronousIo => "fileio_asynchronous_not_seen",
            Self::Mapped => "fileio_mapped_not_seen",
            Self::Spliced => "fileio_spliced_not_seen",
            Self::Merged => "fileio_merged_requests",
            Self::UpperLayer => "fileio_upper_layer_left_out",
        }
    }

    /// What it means and what to do.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::Unreadable => "Lines or records that are not of the format; they are left out.",
            Self::OffsetNotKnown => "Operations whose place in the file is not known; they are left out.",
            Self::DescriptorNotKnown => {
                "Operations on descriptors opened before the recording began; they are left out. Record with strace -y."
            }
            Self::Unfinished => "Operations of which only one half was recorded; they are left out.",
            Self::IoUring => "io_uring calls; strace does not show the requests in them.",
            Self::AsynchronousIo => "Asynchronous requests; strace does not show when they completed.",
            Self::Mapped => "Mappings of files; what a program reads through a mapping is not shown.",
            Self::Spliced => "Data moved by splice or tee; strace does not show its place in the file.",
            Self::Merged => "Requests merged into a neighbor before the disk saw them; the merged request is counted.",
            Self::UpperLayer => "MPI-IO records; the POSIX requests below them are counted.",
        }
    }

    /// Whether requests are missing from the answer because of it.
    #[must_use]
    pub const fn hides_requests(self) -> bool {
        !matches!(self, Self::Merged | Self::UpperLayer)
    }
}

/// A kind of loss with how often it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What it is.
    pub kind: LossKind,
    /// How often.
    pub count: u64,
    /// Byte offset of the first.
    pub first_offset: u64,
}

/// All losses of a recording, in the order in which they first happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    rows: Vec<Loss>,
}

impl Losses {
    /// Counts one more of `kind` at byte `offset`.
    pub(crate) fn add(&mut self, kind: LossKind, offset: usize) {
        match self.rows.iter_mut().find(|row| row.kind == kind) {
            Some(row) => row.count += 1,
            None => self.rows.push(Loss { kind, count: 1, first_offset: offset as u64 }),
        }
    }

    /// Adds those of a later part of the same recording.
    pub(crate) fn append(&mut self, later: &Losses) {
        for loss in &later.rows {
            match self.rows.iter_mut().find(|row| row.kind == loss.kind) {
                Some(row) => row.count += loss.count,
                None => self.rows.push(*loss),
            }
        }
    }

    /// The losses.
    pub fn iter(&self) -> impl Iterator<Item = &Loss> {
        self.rows.iter()
    }

    /// How often `kind` happened.
    #[must_use]
    pub fn count(&self, kind: LossKind) -> u64 {
        self.rows.iter().find(|row| row.kind == kind).map_or(0, |row| row.count)
    }
}
