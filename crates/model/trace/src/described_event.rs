//! One event of a stream with everything named, as a reader hands it to a front end.
//!
//! The tables hold events for analysis; this is one event at a time, for showing a recording as it is read.

use std::borrow::Cow;

use crate::directory::Directory;

/// What kind of record an event was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOrigin {
    /// Kernel event; its hook is `group << 8 | type`.
    Kernel {
        /// The hook.
        hook: u16,
    },
    /// Classic (MOF) event of a provider outside the kernel.
    Classic,
    /// Manifest event.
    Manifest,
    /// Event that carries its own description.
    TraceLogging,
    /// Software tracing message, shown raw.
    Message,
    /// Event of the Linux kernel's tracer.
    Ftrace,
    /// Line of the kernel's log or of a journal; it has no processor.
    LogLine,
    /// A record that no description fits.
    Unknown,
}

impl EventOrigin {
    /// Name in JSON.
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

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// Nothing.
    Null,
    /// True or false.
    Boolean(bool),
    /// A number.
    Signed(i64),
    /// A number.
    Unsigned(u64),
    /// A number that is read in hexadecimal: flags, addresses, codes; with its digits.
    Hexadecimal(u64, u8),
    /// A number.
    Float(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// The usual text form of what is no text: GUID, SID, time, address.
    Form(Cow<'a, str>),
    /// Several values.
    List(Vec<FieldValue<'a>>),
    /// Several addresses, as a list of [`FieldValue::Hexadecimal`] with these digits.
    Addresses(&'a [u64], u8),
    /// Named values.
    Structure(Vec<Field<'a>>),
}

impl FieldValue<'_> {
    /// The value as a number, if it is a whole one and not negative.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Unsigned(number) | Self::Hexadecimal(number, _) => Some(number),
            Self::Signed(number) => u64::try_from(number).ok(),
            Self::Boolean(flag) => Some(u64::from(flag)),
            _ => None,
        }
    }

    /// The value as a text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Form(text) => Some(text),
            _ => None,
        }
    }
}

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Field<'a> {
    /// Name.
    pub name: Cow<'a, str>,
    /// Value.
    pub value: FieldValue<'a>,
}

/// What the recording does not hold as such but follows from events before. Times are ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derived<'a> {
    /// How long the work took that the event ends: interrupt, disk request, fault.
    pub elapsed_ns: Option<i64>,
    /// Time the disk itself worked on the request.
    pub service_ns: Option<i64>,
    /// Time since the new thread of a context switch last ran.
    pub since_last_ns: Option<i64>,
    /// How long the old thread of a context switch had run.
    pub ran_ns: Option<i64>,
    /// State of the old thread of a context switch, by the kernel's name.
    pub old_state: Option<&'a str>,
    /// Why the old thread of a context switch waits, by the kernel's name.
    pub old_wait_reason: Option<&'a str>,
    /// Time of the event that a call stack belongs to.
    pub stack_of_ns: Option<i64>,
    /// Path of the file the event is about.
    pub file: Option<&'a str>,
    /// Process and thread that logged an event which is charged to another thread.
    pub logging_pid: Option<u32>,
    /// The thread.
    pub logging_tid: Option<u32>,
    /// Name of the event that began the file operation which the event ends.
    pub operation: Option<&'a str>,
    /// File object of the file operation that the event ends.
    pub file_object: Option<u64>,
    /// Return addresses of a call stack, innermost first: the event's own, or those that it names by a key.
    pub frames: Option<&'a [u64]>,
    /// Digits of such an address on the recorded computer: 8 or 16; 0 where the event has none.
    pub frame_digits: u8,
    /// Values of hardware counters that were kept with the event; usually none.
    pub counters: &'a [u64],
    /// Names of those counters, as far as the recording tells them.
    pub counter_names: &'a [Box<str>],
}

/// What a manifest or TraceLogging event says of itself beside its payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventContext {
    /// Activity the event belongs to, as the number that its GUID's text shows.
    pub activity: Option<u128>,
    /// Activity that the event's own came from.
    pub related_activity: Option<u128>,
    /// Security identifier of the user who logged it, such as `S-1-5-18`.
    pub user_sid: Option<String>,
    /// Session it was logged in.
    pub session: Option<u32>,
}

/// What the rows of one kind of event are made of, known before the first of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventColumns {
    /// Event's name, as [`DescribedEvent::name`].
    pub name: String,
    /// What kind of record it is.
    pub origin: EventOrigin,
    /// Whether a schema of the event is known.
    pub described: bool,
    /// Names of its fields, in the record's order.
    pub fields: Vec<String>,
}

/// One event.
#[derive(Clone, Debug)]
pub struct DescribedEvent<'a> {
    /// Time on the recording's axis, ns.
    pub time_ns: i64,
    /// Real time: ns since 1970-01-01 UTC.
    pub unix_ns: Option<i64>,
    /// Processor.
    pub cpu: u16,
    /// Process that logged it or that it is charged to.
    pub pid: Option<u32>,
    /// Thread that logged it or that it is charged to.
    pub tid: Option<u32>,
    /// What kind of record it was.
    pub origin: EventOrigin,
    /// Provider's name; its GUID when the name is not known.
    pub provider: &'a str,
    /// Provider's or class's GUID: lower-case text with hyphens; empty when there is none.
    pub guid: &'a str,
    /// Event's name, e.g. `CSwitch` or `Microsoft-Windows-Kernel-PnP/DeviceStart/win:Start`.
    pub name: &'a str,
    /// Task's name; empty when not known.
    pub task: &'a str,
    /// Opcode's name; empty when not known.
    pub opcode_name: &'a str,
    /// Event id; for kernel and classic events the opcode, for messages their number.
    pub id: u16,
    /// Opcode.
    pub opcode: u8,
    /// Version of the event.
    pub version: u16,
    /// Level.
    pub level: u8,
    /// Keyword bits.
    pub keyword: u64,
    /// Number of the task; 0 where there is none.
    pub task_number: u16,
    /// Number of the channel; 0 where there is none.
    pub channel: u8,
    /// Bytes of the record, header included.
    pub size: u32,
    /// Bytes of its payload.
    pub payload_size: u32,
    /// Decoded fields, in the record's order.
    pub fields: &'a [Field<'a>],
    /// Whether a schema of the event is known; without one its fields are the raw payload.
    pub described: bool,
    /// Whether the fields account for the whole payload.
    pub complete: bool,
    /// What follows from events before.
    pub derived: Derived<'a>,
    /// Who and which activity logged it.
    pub context: EventContext,
    /// Who is who now.
    pub directory: &'a Directory,
}

impl<'a> DescribedEvent<'a> {
    /// An event at time zero whose fields, none so far, are all there, and of which nothing else is known.
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
            derived: Derived::default(),
            context: EventContext::default(),
            directory,
        }
    }

    /// The value of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldValue<'a>> {
        self.fields.iter().find(|field| field.name == name).map(|field| &field.value)
    }

    /// The value of a field as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.as_u64()
    }

    /// Image name of the process the event is charged to.
    #[must_use]
    pub fn process(&self) -> Option<&'a str> {
        self.directory.process(self.pid?)
    }
}

/// What a stream knows before its first event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamHeader {
    /// Operating system's major and minor version and build.
    pub os_version: (u8, u8, u32),
    /// Bytes of a pointer: 4 or 8.
    pub pointer_bytes: u8,
    /// Bytes of all files, as unpacked.
    pub bytes: u64,
    /// Events the recorder says it lost.
    pub events_lost: u64,
    /// Buffers the recorder says it lost.
    pub buffers_lost: u64,
    /// Real time of time zero: ns since 1970-01-01 UTC.
    pub start_unix_ns: Option<i64>,
    /// Minutes to add to local time to get UTC, as recorded.
    pub utc_bias_minutes: Option<i32>,
    /// Time from start to end as the recorder wrote it when it finished; `None` when it did not.
    pub duration_ns: Option<i64>,
    /// From when on the events of every processor are there, ns: a ring has lost older ones.
    pub reliable_ns: i64,
    /// From when on it is known what every processor runs, ns: its first context switch. `None` when there is none
    /// among the first events.
    pub reliable_switches_ns: Option<i64>,
    /// Name of the first file.
    pub name: String,
}
