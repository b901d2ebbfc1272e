//! What Event Tracing for Windows events mean: kernel classes, manifests, TraceLogging.
