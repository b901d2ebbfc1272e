//! Event Trace Log files: buffers, compression, event headers, time order, clocks.
