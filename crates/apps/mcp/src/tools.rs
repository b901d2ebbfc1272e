//! The tools: their descriptions, their parameters, and how calls translate into the arguments of a verb.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use crate::folders::{Folders, PathError};

/// A parameter of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub description: &'static str,
    pub kind: ParameterKind,
    pub required: bool,
    position: Position,
}

impl Parameter {
    /// Creates a required positional argument of the verb.
    pub(crate) const fn positional(name: &'static str, description: &'static str, kind: ParameterKind) -> Self {
        Self { name, description, kind, required: true, position: Position::Positional }
    }

    /// Creates an optional parameter, which is passed as the option of the same name.
    pub(crate) const fn option(name: &'static str, description: &'static str, kind: ParameterKind) -> Self {
        Self { name, description, kind, required: false, position: Position::Option }
    }
}

/// The values that a parameter accepts.
#[derive(Clone, Copy, Debug)]
pub enum ParameterKind {
    /// A file or folder that the server may read.
    Path,
    Paths,
    Text,
    Texts,
    OneOf(&'static [&'static str]),
    /// A number from 1.
    Count,
    /// A number from 0.
    Offset,
    /// Two times, such as `10s` and `20s`.
    Range,
    /// True to pass the option, which has no value.
    Flag,
}

impl ParameterKind {
    /// Returns whether the values begin with the name of the option.
    const fn has_own_name(self) -> bool {
        matches!(self, Self::Flag | Self::Range)
    }
}

/// Where a value appears on the command line.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// `--name=value`, once per value; `--name` for a flag.
    Option,
    /// After the options, in the order of the parameters.
    Positional,
    /// First, as the verb.
    Verb,
}

/// A tool that is implemented by a verb.
#[derive(Debug)]
pub struct Tool {
    pub name: &'static str,
    /// Helps the client to choose a tool.
    pub description: &'static str,
    verb: Option<&'static str>,
    parameters: &'static [Parameter],
}

/// An invalid tool call.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("'{0}' is missing")]
    Missing(&'static str),
    #[error("'{name}' must be {expected}")]
    Invalid { name: &'static str, expected: String },
    #[error("unknown parameter '{0}'")]
    Unknown(String),
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Creates a tool that runs the verb of the same name.
const fn tool(name: &'static str, description: &'static str, parameters: &'static [Parameter]) -> Tool {
    Tool { name, description, verb: Some(name), parameters }
}

const FILE: Parameter =
    Parameter::positional("file", "The recording: a path from the tool 'recordings'", ParameterKind::Path);
const BASELINE: Parameter = Parameter {
    required: true,
    ..Parameter::option("baseline", "Recordings before the change: files or folders", ParameterKind::Paths)
};
const CANDIDATE: Parameter = Parameter {
    required: true,
    ..Parameter::option("candidate", "Recordings after the change: files or folders", ParameterKind::Paths)
};
const FORMAT: Parameter = Parameter::option(
    "format",
    "text (the default) is short; json has every value under stable names",
    ParameterKind::OneOf(&["text", "json"]),
);
const ROW_FORMAT: Parameter =
    Parameter::option("format", "text (the default), json or csv", ParameterKind::OneOf(&["text", "json", "csv"]));
const PHASE: Parameter = Parameter::option(
    "phase",
    "Only this phase, by its name in the output of boot, shutdown or suspend, such as WinLogonInit",
    ParameterKind::Text,
);
const BOOT: Parameter = Parameter::option(
    "boot",
    "Boot to read from a Linux journal: 0 is the last, -1 the one before, or a boot id",
    ParameterKind::Text,
);
const RANGE: Parameter = Parameter::option(
    "range",
    "Only between two times since the first event, such as [\"10s\", \"20.5s\"]; without phase",
    ParameterKind::Range,
);
const TOP: Parameter = Parameter::option("top", "Maximum rows per list", ParameterKind::Count);
const LISTS: &[&str] =
    &["services", "devices", "processes", "cpu", "interrupts", "disk", "files", "hardfaults", "policy"];

/// The tools that run a verb. The server implements `recordings`, `guide` and `more` itself.
pub const TOOLS: &[Tool] = &[
    Tool {
        verb: None,
        ..tool(
            "overview",
            "What a recording is and which tools can analyze it, with the first line of each answer. Start here.",
            &[FILE],
        )
    },
    tool(
        "boot",
        "Where the time of a boot went: phases, what each is blamed on, services, drivers, CPU and disks by phase.",
        &[FILE, FORMAT, BOOT, TOP],
    ),
    tool(
        "shutdown",
        "Where the time of a shutdown went: sessions, applications, services, the kernel.",
        &[FILE, FORMAT, BOOT, TOP],
    ),
    tool(
        "suspend",
        "Where the time of sleep, hibernation and wake-up went: phases, programs, services, devices.",
        &[FILE, FORMAT, BOOT, TOP],
    ),
    tool(
        "netboot",
        "Where the time of a network boot went, from a packet capture: addresses, files, each transfer.",
        &[FILE, FORMAT],
    ),
    tool("firmware", "The time before the operating system, from firmware performance tables.", &[FILE, FORMAT]),
    tool(
        "io",
        "How programs accessed files: request sizes, repeated reads, what a buffer or a cache would save.",
        &[FILE, FORMAT, TOP],
    ),
    tool(
        "diagnose",
        "What to fix, most expensive first, with evidence, confidence and the expected savings.",
        &[FILE, FORMAT, BOOT],
    ),
    tool(
        "why",
        "Why a phase, service, device or process took so long: the critical path, from its end back to the causes.",
        &[
            FILE,
            PHASE,
            Parameter::option("service", "Start or stop of this service", ParameterKind::Text),
            Parameter::option("device", "Requests to this device", ParameterKind::Text),
            Parameter::option("process", "Long waits of this process", ParameterKind::Text),
            Parameter::option("thread", "Long waits of this thread, by its id", ParameterKind::Text),
            Parameter::option(
                "at",
                "Only the wait at this time since the first event, such as 13.5s",
                ParameterKind::Text,
            ),
            FORMAT,
            BOOT,
        ],
    ),
    Tool {
        verb: None,
        ..tool(
            "list",
            "List rows of one kind, longest first: services, devices, processes, CPU usage, interrupts, disk requests, file operations, hard faults, Group Policy.",
            &[
                Parameter {
                    position: Position::Verb,
                    ..Parameter::positional("what", "Kind of rows", ParameterKind::OneOf(LISTS))
                },
                FILE,
                PHASE,
                RANGE,
                Parameter::option("process", "Only this process", ParameterKind::Text),
                TOP,
                ROW_FORMAT,
                BOOT,
            ],
        )
    },
    tool(
        "what-if",
        "Predict how long the boot, shutdown or sleep would take after one or more changes, before making them. Names come from diagnose or why.",
        &[
            FILE,
            Parameter::option(
                "without",
                "Remove these services, programs, drivers, units or scripts",
                ParameterKind::Texts,
            ),
            Parameter::option(
                "pend",
                "Let these drivers return \"pending\", so that other devices start meanwhile",
                ParameterKind::Texts,
            ),
            Parameter::option("ungroup", "Take these services out of their load-order group", ParameterKind::Texts),
            Parameter::option(
                "delay",
                "Start these services or programs when the desktop is ready",
                ParameterKind::Texts,
            ),
            Parameter::option(
                "parallel",
                "Linux: let other units start without waiting for these units",
                ParameterKind::Texts,
            ),
            Parameter::option(
                "async",
                "Linux: let these drivers probe their devices while the kernel initializes other drivers",
                ParameterKind::Texts,
            ),
            Parameter::option("disk", "Speed of the disks, such as 4x", ParameterKind::Text),
            Parameter::option("cpu", "Speed of the processors, such as 1.5x", ParameterKind::Text),
            Parameter::option("processors", "Number of processors", ParameterKind::Count),
            Parameter::option(
                "plan",
                "Instead of a prediction: search for this number of best changes, each on top of the ones before; without changes",
                ParameterKind::Count,
            ),
            Parameter::option(
                "limit",
                "Instead of a prediction: how fast it could be with the recorded work; without changes",
                ParameterKind::Flag,
            ),
            Parameter::option(
                "transition",
                "boot, shutdown or suspend (the default is the first), or suspend:2 for the second of several",
                ParameterKind::Text,
            ),
            FORMAT,
            BOOT,
        ],
    ),
    tool(
        "events",
        "List recorded events with all their fields, in order of time. Narrow them by event, process, and phase or range.",
        &[
            FILE,
            Parameter::option("provider", "Only events of these providers, as in info", ParameterKind::Texts),
            Parameter::option("event", "Only these events, by name, as in info", ParameterKind::Texts),
            Parameter::option("process", "Only events of these processes", ParameterKind::Texts),
            PHASE,
            RANGE,
            FORMAT,
            BOOT,
        ],
    ),
    tool(
        "gate",
        "Check recordings against limits relative to a baseline: pass, regression, or no verdict, with the reason.",
        &[
            BASELINE,
            CANDIDATE,
            Parameter::option("limit", "Limits of differences, such as \"total 5%\"", ParameterKind::Texts),
            Parameter::option("max", "Limits of every run, such as \"netboot.total 30s\"", ParameterKind::Texts),
            FORMAT,
        ],
    ),
    tool(
        "compare",
        "Compare recordings of two configurations: what got slower or faster, and whether it is more than noise.",
        &[BASELINE, CANDIDATE, FORMAT],
    ),
    tool(
        "summary",
        "Summarize many recordings, one row each: kind, total, longest phase, main culprit.",
        &[Parameter::positional("files", "Recordings, or folders of recordings", ParameterKind::Paths), ROW_FORMAT],
    ),
    tool("info", "The contents of a recording: computer, clock, providers with their events, losses.", &[FILE, FORMAT]),
    tool(
        "explain",
        "Explain a term in an answer: a phase, a column, a loss, a finding code.",
        &[Parameter::positional("word", "The term", ParameterKind::Text)],
    ),
];

impl Tool {
    /// Returns the JSON schema of the parameters.
    #[must_use]
    pub fn schema(&self) -> Map<String, Value> {
        schema(self.parameters)
    }

    /// Translates the arguments of a call into a command line of the program.
    ///
    /// # Errors
    /// The call is invalid, or a path is outside the folders.
    pub fn arguments(&self, call: &Map<String, Value>, folders: &Folders) -> Result<Vec<OsString>, CallError> {
        if let Some(name) =
            call.keys().find(|name| !self.parameters.iter().any(|parameter| parameter.name == name.as_str()))
        {
            return Err(CallError::Unknown(name.clone()));
        }
        let mut verb: Option<OsString> = self.verb.map(OsString::from);
        let (mut options, mut positional) = (Vec::new(), Vec::new());
        for parameter in self.parameters {
            for value in parameter.values(call, folders)? {
                match parameter.position {
                    Position::Option if parameter.kind.has_own_name() => options.push(value),
                    Position::Option => {
                        let mut word = OsString::from(format!("--{}=", parameter.name));
                        word.push(value);
                        options.push(word);
                    }
                    Position::Positional => positional.push(value),
                    Position::Verb => verb = Some(value),
                }
            }
        }
        // Values that start with '-' must not become options.
        let positional = std::iter::once(OsString::from("--")).chain(positional);
        Ok(std::iter::once("onoff".into()).chain(verb).chain(options).chain(positional).collect())
    }
}

/// Returns whether a text is a time such as `10s` or `13.5 ms`, and no option.
fn is_time(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns the JSON schema of an object with exactly these properties.
pub(crate) fn schema(parameters: &[Parameter]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        parameters.iter().map(|parameter| (parameter.name.to_owned(), parameter.schema())).collect();
    let required: Vec<&str> =
        parameters.iter().filter(|parameter| parameter.required).map(|parameter| parameter.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), required.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

impl Parameter {
    fn schema(&self) -> Value {
        let description = self.description;
        match self.kind {
            ParameterKind::Path | ParameterKind::Text => json!({ "type": "string", "description": description }),
            ParameterKind::Paths | ParameterKind::Texts => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "description": description })
            }
            ParameterKind::OneOf(words) => json!({ "type": "string", "enum": words, "description": description }),
            ParameterKind::Count => json!({ "type": "integer", "minimum": 1, "description": description }),
            ParameterKind::Offset => json!({ "type": "integer", "minimum": 0, "description": description }),
            ParameterKind::Flag => json!({ "type": "boolean", "description": description }),
            ParameterKind::Range => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2, "description": description })
            }
        }
    }

    /// Returns the values in a call as command line arguments.
    fn values(&self, call: &Map<String, Value>, folders: &Folders) -> Result<Vec<OsString>, CallError> {
        let invalid = |expected: &str| CallError::Invalid { name: self.name, expected: expected.to_owned() };
        let value = match call.get(self.name) {
            Some(value) if !value.is_null() => value,
            _ if self.required => return Err(CallError::Missing(self.name)),
            _ => return Ok(Vec::new()),
        };
        match self.kind {
            ParameterKind::Path => {
                let path = value.as_str().ok_or_else(|| invalid("a path"))?;
                Ok(vec![folders.resolve(path)?.into()])
            }
            ParameterKind::Paths => {
                let paths =
                    value.as_array().filter(|paths| !paths.is_empty()).ok_or_else(|| invalid("a list of paths"))?;
                let resolved_paths = paths.iter().map(|path| {
                    let path = path.as_str().ok_or_else(|| invalid("a list of paths"))?;
                    Ok(folders.resolve(path)?.into())
                });
                resolved_paths.collect()
            }
            ParameterKind::Text => Ok(vec![value.as_str().ok_or_else(|| invalid("a string"))?.into()]),
            ParameterKind::Texts => {
                let texts =
                    value.as_array().filter(|texts| !texts.is_empty()).ok_or_else(|| invalid("a list of strings"))?;
                let texts =
                    texts.iter().map(|text| Ok(text.as_str().ok_or_else(|| invalid("a list of strings"))?.into()));
                texts.collect()
            }
            ParameterKind::OneOf(words) => {
                match value.as_str().and_then(|value| words.iter().find(|word| **word == value)) {
                    Some(word) => Ok(vec![(*word).into()]),
                    None => Err(invalid(&format!("one of {}", words.join(", ")))),
                }
            }
            ParameterKind::Count => match value.as_u64() {
                Some(count @ 1..=1_000_000) => Ok(vec![count.to_string().into()]),
                _ => Err(invalid("a number from 1 to 1000000")),
            },
            ParameterKind::Offset => match value.as_u64() {
                Some(offset) => Ok(vec![offset.to_string().into()]),
                None => Err(invalid("a number from 0")),
            },
            ParameterKind::Range => match value.as_array().map(Vec::as_slice) {
                Some([Value::String(from), Value::String(to)]) if [from, to].iter().all(|time| is_time(time)) => {
                    Ok(vec![format!("--{}", self.name).into(), from.into(), to.into()])
                }
                _ => Err(invalid("two times, such as [\"10s\", \"20.5s\"]")),
            },
            ParameterKind::Flag => match value.as_bool() {
                Some(true) => Ok(vec![format!("--{}", self.name).into()]),
                Some(false) => Ok(Vec::new()),
                None => Err(invalid("true or false")),
            },
        }
    }
}
