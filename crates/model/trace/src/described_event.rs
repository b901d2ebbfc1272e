//! A decoded event of a stream.
//!
//! Tables are for analysis; described events show a recording event by event while it is read.

use std::borrow::Cow;

use crate::directory::Directory;

/// Origin of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOrigin {
    /// Kernel event.
    Kernel {
        /// Event number: `group << 8 | type`.
        hook: u16,
    },
    /// Classic (MOF) event of a provider outside the kernel.
    Classic,
    /// Manifest event.
    Manifest,
    /// Self-describing event.
    TraceLogging,
    /// Software tracing (WPP) message.
    Message,
    /// Event of Linux ftrace.
    Ftrace,
    /// Line of the kernel log or a journal; it has no processor.
    LogLine,
    /// A record that matches no known schema.
    Unknown,
}

impl EventOrigin {
    /// Returns the name used in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kernel { .. } => "kernel",
            Self::Classic => "classic",
            Self::Manifest => "manifest",
            Self::TraceLogging => "tracelogging",
            Self::Message => "message",
            Self::LogLine => "log_line",
            Self::Ftrace => "ftrace",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue<'a> {
    Null,
    Boolean(bool),
    Signed(i64),
    Unsigned(u64),
    /// A number shown in hexadecimal (flags, addresses, codes), with its number of digits.
    Hexadecimal(u64, u8),
    Float(f64),
    Text(Cow<'a, str>),
    /// Text form of a value that is not text: GUID, SID, time, address.
    Formatted(Cow<'a, str>),
    List(Vec<FieldValue<'a>>),
    /// Addresses, shown as [`FieldValue::Hexadecimal`] with this many digits.
    Addresses(&'a [u64], u8),
    Structure(Vec<Field<'a>>),
}

impl FieldValue<'_> {
    /// Returns the value as a non-negative integer.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Unsigned(number) | Self::Hexadecimal(number, _) => Some(number),
            Self::Signed(number) => u64::try_from(number).ok(),
            Self::Boolean(flag) => Some(u64::from(flag)),
            _ => None,
        }
    }

    /// Returns the value as text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Formatted(text) => Some(text),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field<'a> {
    pub name: Cow<'a, str>,
    pub value: FieldValue<'a>,
}

/// Values derived from earlier events. Times are in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DerivedValues<'a> {
    /// Duration of the work that the event ends: interrupt, disk request, hard fault.
    pub elapsed_ns: Option<i64>,
    /// Time the disk spent on the request.
    pub service_ns: Option<i64>,
    /// Time since the thread switched in last ran.
    pub since_last_ns: Option<i64>,
    /// How long the thread switched out had run.
    pub ran_ns: Option<i64>,
    /// State of the thread switched out, by the kernel's name.
    pub old_state: Option<&'a str>,
    /// Wait reason of the thread switched out, by the kernel's name.
    pub old_wait_reason: Option<&'a str>,
    /// Time of the event that a call stack belongs to.
    pub stack_event_ns: Option<i64>,
    /// Path of the file that the event is about.
    pub file: Option<&'a str>,
    /// Process that logged an event charged to another thread.
    pub logging_pid: Option<u32>,
    /// Thread that logged an event charged to another thread.
    pub logging_tid: Option<u32>,
    /// Name of the event that started the file operation which this event ends.
    pub operation: Option<&'a str>,
    /// File object of the file operation that this event ends.
    pub file_object: Option<u64>,
    /// Return addresses of a call stack, innermost first: from the event, or referenced by key.
    pub frames: Option<&'a [u64]>,
    /// Hexadecimal digits of an address on the recorded computer: 8 or 16; 0 if the event has no call stack.
    pub frame_digits: u8,
    /// Values of hardware counters recorded with the event; usually none.
    pub counters: &'a [u64],
    /// Names of the hardware counters, if recorded.
    pub counter_names: &'a [Box<str>],
}

/// Extended data of a manifest or TraceLogging event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventContext {
    /// Activity id of the event.
    pub activity: Option<u128>,
    /// Id of the activity that started the event's activity.
    pub related_activity: Option<u128>,
    /// SID of the user who logged the event, such as `S-1-5-18`.
    pub user_sid: Option<String>,
    /// Session that the event was logged in.
    pub session: Option<u32>,
}

/// The fields of an event type, known before its first event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSchema {
    /// Name of the event, as in [`DescribedEvent::name`].
    pub name: String,
    pub origin: EventOrigin,
    /// True if the event's schema is known.
    pub described: bool,
    /// Field names, in record order.
    pub fields: Vec<String>,
}

/// A decoded event.
#[derive(Clone, Debug)]
pub struct DescribedEvent<'a> {
    /// Time on the recording's axis, ns.
    pub time_ns: i64,
    /// Real time, ns since 1970-01-01 UTC.
    pub unix_ns: Option<i64>,
    pub cpu: u16,
    /// Process that logged the event, or that it is charged to.
    pub pid: Option<u32>,
    /// Thread that logged the event, or that it is charged to.
    pub tid: Option<u32>,
    pub origin: EventOrigin,
    /// Name of the provider; its GUID when the name is not known.
    pub provider: &'a str,
    /// GUID of the provider or class in lower case with hyphens; empty when there is none.
    pub guid: &'a str,
    /// Name of the event, e.g. `CSwitch` or `Microsoft-Windows-Kernel-PnP/DeviceStart/win:Start`.
    pub name: &'a str,
    /// Task name; empty when not known.
    pub task: &'a str,
    /// Opcode name; empty when not known.
    pub opcode_name: &'a str,
    /// Event id; the opcode for kernel and classic events, the message number for WPP messages.
    pub id: u16,
    pub opcode: u8,
    pub version: u16,
    pub level: u8,
    pub keyword: u64,
    /// Task number; 0 for none.
    pub task_number: u16,
    /// Channel number; 0 for none.
    pub channel: u8,
    /// Size of the record in bytes, including the header.
    pub size: u32,
    /// Size of the payload in bytes.
    pub payload_size: u32,
    /// Decoded fields, in record order.
    pub fields: &'a [Field<'a>],
    /// True if the event's schema is known. Otherwise, the fields are the raw payload.
    pub described: bool,
    /// True if the fields cover the whole payload.
    pub complete: bool,
    /// Values derived from earlier events.
    pub derived: DerivedValues<'a>,
    pub context: EventContext,
    /// Names of processes, threads, modules and files at this point of the stream.
    pub directory: &'a Directory,
}

impl<'a> DescribedEvent<'a> {
    /// Creates a complete event at time zero without fields. All other values are unset.
    #[inline]
    #[must_use]
    pub fn without_fields(origin: EventOrigin, directory: &'a Directory) -> Self {
        Self {
            time_ns: 0,
            unix_ns: None,
            cpu: 0,
            pid: None,
            tid: None,
            origin,
            provider: "",
            guid: "",
            name: "",
            task: "",
            opcode_name: "",
            id: 0,
            opcode: 0,
            version: 0,
            level: 0,
            keyword: 0,
            task_number: 0,
            channel: 0,
            size: 0,
            payload_size: 0,
            fields: &[],
            described: true,
            complete: true,
            derived: DerivedValues::default(),
            context: EventContext::default(),
            directory,
        }
    }

    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldValue<'a>> {
        self.fields.iter().find(|field| field.name == name).map(|field| &field.value)
    }

    /// Returns the value of a field as a non-negative integer.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.as_u64()
    }

    /// Returns the image name of the process that the event is charged to.
    #[must_use]
    pub fn process(&self) -> Option<&'a str> {
        self.directory.process(self.pid?)
    }
}

/// Properties of a stream that are known before its first event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamHeader {
    /// Major version, minor version and build of the operating system.
    pub os_version: (u8, u8, u32),
    /// Size of a pointer in bytes: 4 or 8.
    pub pointer_bytes: u8,
    /// Unpacked size of all files, bytes.
    pub bytes: u64,
    /// Events lost, as reported by the recorder.
    pub events_lost: u64,
    /// Buffers lost, as reported by the recorder.
    pub buffers_lost: u64,
    /// Real time of time zero, ns since 1970-01-01 UTC.
    pub start_unix_ns: Option<i64>,
    /// Minutes to add to local time to get UTC, as recorded.
    pub utc_bias_minutes: Option<i32>,
    /// Duration as written by the recorder when it finished; `None` when it did not finish.
    pub duration_ns: Option<i64>,
    /// Time from which the events of every processor are complete, ns; a circular buffer has overwritten older ones.
    pub complete_from_ns: i64,
    /// Time from which the running thread of every processor is known, ns: the latest of the processors' first context
    /// switches. `None` when the first events contain none.
    pub switches_complete_from_ns: Option<i64>,
    pub name: String,
}
