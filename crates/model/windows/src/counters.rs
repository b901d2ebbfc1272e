//! What reading a Windows recording goes on without, by name.

use onoff_trace::counters;

counters! {
    pub(super) EVENTS_LOST = "events_lost_by_recorder", Error, [],
        "Events that the recorder dropped, as it counted them itself; record again with more or larger buffers.";
    pub(super) BUFFERS_LOST = "buffers_lost_by_recorder", Error, [],
        "Buffers that the recorder could not write, as it counted them itself; record to a faster disk.";
    pub(super) SHORT_PAYLOAD = "short_payload", Warning, [],
        "Kernel events whose payload is shorter than the layout of their version; they are in no table.";
    pub(super) CONFIGURATION_LEFT_OUT = "configuration_left_out", Warning, [],
        "Records of the machine's configuration beyond the number of disks, services or devices that is kept.";
    pub(super) PROCESSOR_COUNT = "processor_count_impossible", Warning, [],
        "The recording says that the machine has more processors than Windows can have; those were taken whose buffers it holds.";
    pub(super) COMPACT_SWITCHES = "compact_context_switches", Notice, [ContextSwitches, ReadyThreads],
        "Batches of compact context switches, which name only the thread that left: the one that came is taken from the next switch of the processor, and who readied a thread is not known.";
    pub(super) COMPACT_SWITCHES_LEFT_OUT = "compact_context_switches_left_out", Error, [ContextSwitches],
        "Compact context switches beyond the number that is kept; record a shorter time, or full switches.";
    pub(super) PROCESS_END_MISSING = "process_end_missing", Warning, [Processes],
        "Processes whose id was given to another before their end was recorded; they end where the other starts.";
    pub(super) THREAD_END_MISSING = "thread_end_missing", Notice, [Threads],
        "Threads whose id was given to another before their end was recorded; they end where the other starts.";
    pub(super) IMAGE_UNLOAD_MISSING = "image_unload_missing", Notice, [Images],
        "Modules whose place was taken by another before their unload was recorded; they end where the other is loaded.";
    pub(super) DISK_START_MISSING = "disk_start_missing", Notice, [DiskIos],
        "Disk requests that completed without a recorded start although starts were recorded; the start is the end less the response time.";
    pub(super) DISK_UNFINISHED = "disk_request_unfinished", Notice, [DiskIos],
        "Disk requests that started and did not complete in the recording; they are in no table.";
    pub(super) OPTICAL_LEFT_OUT = "optical_disk_request", Notice, [DiskIos],
        "Requests to optical drives, which are numbered apart from disks; they are in no table.";
    pub(super) TIME_BACKWARDS = "interval_backwards", Notice, [DiskIos, HardFaults, Interrupts],
        "Intervals whose recorded begin is after their end; they begin where they end.";
    pub(super) FILE_NAME_UNKNOWN = "file_name_unknown", Notice, [DiskIos, HardFaults, FileIos],
        "Transfers whose file key has no recorded name.";
    pub(super) FILE_IO_UNFINISHED = "file_operation_unfinished", Notice, [FileIos],
        "File operations without a recorded end.";
    pub(super) FILE_END_WITHOUT_BEGIN = "file_operation_end_without_begin", Notice, [FileIos],
        "Ends of file operations whose begin was not recorded.";
    pub(super) STACK_KEY_UNKNOWN = "stack_key_unknown", Notice, [Stacks],
        "Stacks recorded by a key that the recording never explains; they are empty.";
    pub(super) SERVICE_UNFINISHED = "service_transition_unfinished", Notice, [ServiceTransitions],
        "Services still on their way when the recording ended.";
    pub(super) DEVICE_END_WITHOUT_BEGIN = "device_end_without_begin", Warning, [DeviceOperations],
        "Ends of device or driver work whose begin was not recorded; they are in no table.";
    pub(super) DEVICE_UNFINISHED = "device_operation_unfinished", Notice, [DeviceOperations],
        "Device or driver work that did not end in the recording.";
    pub(super) POWER_REQUEST_END_WITHOUT_BEGIN = "power_request_end_without_begin", Notice, [PowerRequests],
        "Ends of power requests whose begin was not recorded; they are in no table.";
    pub(super) POWER_REQUEST_UNFINISHED = "power_request_unfinished", Notice, [PowerRequests],
        "Power requests that did not end in the recording.";
    pub(super) ACTIVITY_END_WITHOUT_BEGIN = "activity_end_without_begin", Notice, [Activities, Notifications],
        "Ends of activities whose begin was not recorded; they are in no table.";
    pub(super) ACTIVITY_UNFINISHED = "activity_unfinished", Notice, [Activities],
        "Activities that did not end in the recording.";
    pub(super) SCHEMA_UNKNOWN = "schema_unknown", Notice, [Events],
        "Events whose fields are not described by the recording, the catalog or a manifest given; their payload is shown raw.";
    pub(super) MESSAGE_UNFORMATTED = "message_without_format", Notice, [Events],
        "Messages of Windows software tracing (WPP), whose texts only their program's symbols hold; their arguments are shown raw.";
    pub(super) FIELDS_INCOMPLETE = "event_fields_incomplete", Notice, [Events],
        "Events whose fields could not all be read: the payload ends early, or their schema is incomplete.";
    pub(super) SCHEMA_MALFORMED = "schema_malformed", Warning, [Events],
        "Records that describe events and are malformed; their events may be shown raw.";
    pub(super) MANIFEST_REFUSED = "embedded_manifest_refused", Warning, [Events],
        "Manifests inside the recording that are damaged or speak for another provider; their events may be shown raw.";
    pub(super) SCHEMAS_TOO_MANY = "schemas_too_many", Warning, [Events],
        "Descriptions of events beyond the number that is kept; their events may be shown raw.";
    pub(super) PHASE_EVENT_UNREADABLE = "phase_event_unreadable", Warning,
        [Milestones, Activities, ServiceTransitions, DeviceOperations],
        "Events about the transition that lack a field they need; they are in no table.";
    pub(super) TEXTS_REFUSED = "texts_refused", Error, [],
        "Texts beyond the 4 GiB that are kept; they are empty.";
    pub(super) STACKS_REFUSED = "stacks_refused", Error, [Stacks],
        "Stacks beyond the addresses that are kept; they are empty.";
}
