//! The buffers of all files of a recording, with access to their bytes.

use crate::axis::Axes;
use crate::scan::{BufferRecords, BufferStart, Interval, Payload, buffer_start};
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

    /// Loads a buffer's records, sorted by time and clamped to `interval`.
    pub(crate) fn load(
        &self,
        buffer: &BufferInfo,
        interval: Interval,
        records: &mut BufferRecords<'a>,
        losses: &mut Losses,
    ) {
        let file = self.file(buffer);
        // Fast path for the common case: no conversion.
        if self.axes.is_identity(buffer) {
            records.load(buffer, file, interval, |timestamp| timestamp, losses);
        } else {
            records.load(buffer, file, interval, |timestamp| self.axes.to_ticks(buffer, timestamp), losses);
        }
    }

    /// Finds the time of a buffer's first record.
    pub(crate) fn buffer_start(
        &self,
        buffer: &BufferInfo,
        payload: &mut Payload<'a>,
        losses: &mut Losses,
    ) -> BufferStart {
        let to_axis = |timestamp| self.axes.to_ticks(buffer, timestamp);
        buffer_start(payload, buffer, self.file(buffer), to_axis, losses)
    }
}
