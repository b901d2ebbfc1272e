//! What firmware measured of itself.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// Kinds of work that firmware measures.
    pub enum FirmwareWork {
        /// A module's entry point runs: the start of its image.
        EntryPoint = "entry_point",
        /// An image is loaded.
        LoadImage = "load_image",
        /// A driver starts on a device.
        DriverStart = "driver_start",
        /// A driver is asked whether it supports a device.
        DriverSupport = "driver_support",
        /// A driver stops on a device.
        DriverStop = "driver_stop",
        /// An event is signaled.
        EventSignal = "event_signal",
        /// A callback runs.
        Callback = "callback",
        /// A function runs.
        Function = "function",
        /// A stretch inside one module.
        InModule = "in_module",
        /// A stretch from one module to another, such as a phase.
        CrossModule = "cross_module",
        /// A point in time.
        Point = "point",
        /// A number that nothing public explains.
        Other = "other",
    }
}

codes! {
    /// Which end of a piece of work an event is.
    pub enum FirmwareEdge {
        /// It begins.
        Begin = "begin",
        /// It ends.
        End = "end",
        /// It has no length.
        Point = "point",
    }
}

table! {
    /// A measurement of the firmware: a begin, an end, or a point. Begins and ends are paired by the analysis, not
    /// here.
    FirmwareMeasurements of FirmwareMeasurement {
        /// Time, ns, by the firmware's own clock: since the processor's reset. On the axis of a recording of the
        /// operating system it lies before that by as much as the milestone `firmware_exit_end` says.
        reset_ns: i64 as Duration,
        /// What begins or ends.
        work: FirmwareWork,
        /// Which end.
        edge: FirmwareEdge,
        /// The firmware's own number of the work's kind, the same for its begin and its end.
        class: u16,
        /// The module's GUID; of an image's load, the image.
        module: StringId,
        /// The GUID of the event or caller that the work belongs to.
        caller: StringId,
        /// A handle: of the loaded image, or of the device that a driver is bound to.
        handle: Option<u64>,
        /// Name of the work, or of the device with its path.
        text: StringId,
        /// APIC number of the processor.
        apic: u32,
    }
}
