//! Loss counters of Windows recordings.

use onoff_trace::counters;

counters! {
    pub(super) EVENTS_LOST = "events_lost_by_recorder", Error, [],
        "Events the recorder dropped, according to its own count. Record again with more or larger buffers.";
    pub(super) BUFFERS_LOST = "buffers_lost_by_recorder", Error, [],
        "Buffers the recorder could not write, according to its own count. Record to a faster disk.";
    pub(super) SHORT_PAYLOAD = "short_payload", Warning, [],
        "Kernel events with a payload shorter than the layout of their version. They are not in any table.";
    pub(super) CONFIGURATION_LEFT_OUT = "configuration_left_out", Warning, [],
        "System configuration records beyond the maximum number of disks, services or devices.";
    pub(super) PROCESSOR_COUNT = "processor_count_impossible", Warning, [],
        "The recording reports more processors than Windows supports. The number of processors with recorded buffers is used instead.";
    pub(super) COMPACT_SWITCHES = "compact_context_switches", Notice, [ContextSwitches, ReadyThreads],
        "Batches of compact context switches, which contain only the thread switched out. The thread switched in is taken from the processor's next switch, and readying threads are unknown.";
    pub(super) COMPACT_SWITCHES_LEFT_OUT = "compact_context_switches_left_out", Error, [ContextSwitches],
        "Compact context switches beyond the maximum number of rows. Record for a shorter time, or record full switches.";
    pub(super) PROCESS_END_MISSING = "process_end_missing", Warning, [Processes],
        "Processes whose id was reused before their end was recorded. They end where the next process with the id starts.";
    pub(super) THREAD_END_MISSING = "thread_end_missing", Notice, [Threads],
        "Threads whose id was reused before their end was recorded. They end where the next thread with the id starts.";
    pub(super) IMAGE_UNLOAD_MISSING = "image_unload_missing", Notice, [Images],
        "Modules whose address was reused before their unload was recorded. They end where the next module is loaded.";
    pub(super) DISK_START_MISSING = "disk_start_missing", Notice, [DiskIos],
        "Disk requests that completed without a recorded start although starts were recorded. The start is the completion minus the response time.";
    pub(super) DISK_UNFINISHED = "disk_request_unfinished", Notice, [DiskIos],
        "Disk requests that did not complete in the recording. They are not in any table.";
    pub(super) OPTICAL_SKIPPED = "optical_disk_request", Notice, [DiskIos],
        "Requests to optical drives, which are numbered separately from disks. They are not in any table.";
    pub(super) TIME_BACKWARDS = "interval_backwards", Notice, [DiskIos, HardFaults, Interrupts],
        "Intervals with a recorded start after their end. The end is used as their start.";
    pub(super) FILE_NAME_UNKNOWN = "file_name_unknown", Notice, [DiskIos, HardFaults, FileIos],
        "Transfers with a file key that has no recorded name.";
    pub(super) FILE_IO_UNFINISHED = "file_operation_unfinished", Notice, [FileIos],
        "File operations without a recorded end.";
    pub(super) FILE_END_WITHOUT_BEGIN = "file_operation_end_without_begin", Notice, [FileIos],
        "Ends of file operations without a recorded start.";
    pub(super) STACK_KEY_UNKNOWN = "stack_key_unknown", Notice, [Stacks],
        "Stacks recorded by key, without a recorded definition of the key. They are empty.";
    pub(super) SERVICE_UNFINISHED = "service_transition_unfinished", Notice, [ServiceTransitions],
        "Services that were still starting or stopping when the recording ended.";
    pub(super) DEVICE_END_WITHOUT_BEGIN = "device_end_without_begin", Warning, [DeviceOperations],
        "Ends of device or driver work without a recorded start. They are not in any table.";
    pub(super) DEVICE_UNFINISHED = "device_operation_unfinished", Notice, [DeviceOperations],
        "Device or driver work that did not end in the recording.";
    pub(super) POWER_REQUEST_END_WITHOUT_BEGIN = "power_request_end_without_begin", Notice, [PowerRequests],
        "Ends of power requests without a recorded start. They are not in any table.";
    pub(super) POWER_REQUEST_UNFINISHED = "power_request_unfinished", Notice, [PowerRequests],
        "Power requests that did not end in the recording.";
    pub(super) ACTIVITY_END_WITHOUT_BEGIN = "activity_end_without_begin", Notice, [Activities, Notifications],
        "Ends of activities without a recorded start. They are not in any table.";
    pub(super) ACTIVITY_UNFINISHED = "activity_unfinished", Notice, [Activities],
        "Activities that did not end in the recording.";
    pub(super) SCHEMA_UNKNOWN = "schema_unknown", Notice, [Events],
        "Events with fields that neither the recording, nor the built-in catalog, nor a manifest describes. Their payload is shown raw.";
    pub(super) MESSAGE_UNFORMATTED = "message_without_format", Notice, [Events],
        "Software tracing (WPP) messages of Windows, whose format is not in the recording: pass the .tmf files of the program with --manifest (tracepdb writes them from its private PDB). Their arguments are shown raw.";
    pub(super) FIELDS_INCOMPLETE = "event_fields_incomplete", Notice, [Events],
        "Events with fields that could not all be read: the payload is truncated, or the schema is incomplete.";
    pub(super) SCHEMA_MALFORMED = "schema_malformed", Warning, [Events],
        "Malformed records that describe events. Their events may be shown raw.";
    pub(super) MANIFEST_REFUSED = "embedded_manifest_refused", Warning, [Events],
        "Embedded manifests that are damaged or describe another provider. Their events may be shown raw.";
    pub(super) SCHEMAS_TOO_MANY = "schemas_too_many", Warning, [Events],
        "Event schemas beyond the maximum number. Their events may be shown raw.";
    pub(super) PHASE_EVENT_UNREADABLE = "phase_event_unreadable", Warning,
        [Milestones, Activities, ServiceTransitions, DeviceOperations],
        "Transition events without a required field. They are not in any table.";
    pub(super) TEXTS_REFUSED = "texts_refused", Error, [],
        "Texts beyond the limit of 4 GiB. They are empty.";
    pub(super) STACKS_REFUSED = "stacks_refused", Error, [Stacks],
        "Stacks beyond the maximum number of addresses. They are empty.";
}
