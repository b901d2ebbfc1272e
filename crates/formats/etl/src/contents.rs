//! The buffers of all files of a recording, and their bytes.

use crate::axis::Axes;
use crate::scan::{Beginning, BufferRecords, Payload, Span, beginning};
use crate::{BufferInfo, Losses};

#[derive(Debug)]
pub(crate) struct Contents<'a> {
    pub inputs: Vec<&'a [u8]>,
    pub buffers: Vec<BufferInfo>,
    pub axes: Axes,
}

impl<'a> Contents<'a> {
    pub(crate) fn file(&self, buffer: &BufferInfo) -> &'a [u8] {
        self.inputs.get(buffer.file).copied().unwrap_or_default()
    }

    pub(crate) fn buffer(&self, number: u32) -> Option<&BufferInfo> {
        self.buffers.get(number as usize)
    }

    /// Loads a buffer's records in order of time, held within `span`.
    pub(crate) fn load(&self, buffer: &BufferInfo, span: Span, records: &mut BufferRecords<'a>, losses: &mut Losses) {
        let file = self.file(buffer);
        // Nearly always; worth a loop of its own.
        if self.axes.is_identity(buffer) {
            records.load(buffer, file, span, |stamp| stamp, losses);
        } else {
            records.load(buffer, file, span, |stamp| self.axes.place(buffer, stamp), losses);
        }
    }

    /// When a buffer's first record is.
    pub(crate) fn beginning(&self, buffer: &BufferInfo, payload: &mut Payload<'a>, losses: &mut Losses) -> Beginning {
        let to_axis = |stamp| self.axes.place(buffer, stamp);
        beginning(payload, buffer, self.file(buffer), to_axis, losses)
    }
}
