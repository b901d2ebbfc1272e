//! Firmware measurements.

use crate::codes;
use crate::string::StringId;
use crate::table::table;

codes! {
    /// Kinds of work measured by firmware.
    pub enum FirmwareWork {
        /// Entry point of a module: the start of its image.
        EntryPoint = "entry_point",
        /// Load of an image.
        LoadImage = "load_image",
        /// Start of a driver on a device.
        DriverStart = "driver_start",
        /// Check whether a driver supports a device.
        DriverSupport = "driver_support",
        /// Stop of a driver on a device.
        DriverStop = "driver_stop",
        /// Signal of an event.
        EventSignal = "event_signal",
        /// A callback.
        Callback = "callback",
        /// A function.
        Function = "function",
        /// Interval within one module.
        InModule = "in_module",
        /// Interval from one module to another, such as a phase.
        CrossModule = "cross_module",
        /// A point in time.
        Point = "point",
        /// A number without a public definition.
        Other = "other",
    }
}

codes! {
    /// The start or end of work, or a point in time.
    pub enum FirmwareEdge {
        /// The start.
        Begin = "begin",
        /// The end.
        End = "end",
        /// A point in time without duration.
        Point = "point",
    }
}

table! {
    /// A firmware measurement: a start, an end, or a point in time. Starts and ends are paired by the analysis, not
    /// here.
    FirmwareMeasurements of FirmwareMeasurement {
        /// Time since processor reset, ns, by the firmware's own clock. To get a time on the axis of an
        /// operating-system recording, subtract the value of the milestone `firmware.exit_boot_services.end`.
        reset_ns: i64 as Duration,
        /// Work that starts or ends.
        work: FirmwareWork,
        /// Start, end, or point in time.
        edge: FirmwareEdge,
        /// The firmware's number for the kind of work; the same for the start and the end.
        class: u16,
        /// GUID of the module; for the load of an image, the image.
        module: StringId,
        /// GUID of the event or caller that the work belongs to.
        caller: StringId,
        /// Handle of the loaded image, or of the device that a driver is bound to.
        handle: Option<u64>,
        /// Name of the work, or name and path of the device.
        text: StringId,
        /// APIC id of the processor.
        apic: u32,
    }
}
