//! The tools: what each is for, what it takes, and the arguments of the verb that answers it.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use crate::folders::{Folders, Refused};

/// A value that a tool takes.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Whether it must be there.
    pub required: bool,
}

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A file or folder in the folders that may be read.
    Path,
    /// Several of them.
    Paths,
    /// Any text.
    Text,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A number from 1.
    Count,
}

/// How a value stands on the verb's line.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// `--option=value`, for each value.
    Option(&'static str),
    /// By itself, in the order of the parameters.
    Bare,
    /// First, as the verb.
    Verb,
}

/// A tool that a verb answers.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it answers, for who chooses among tools.
    pub meaning: &'static str,
    verb: Option<&'static str>,
    parameters: &'static [(Parameter, Place)],
}

/// Why a call of a tool makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum Misuse {
    /// A value is missing.
    #[error("'{0}' is missing")]
    Missing(&'static str),
    /// A value is not what it must be.
    #[error("'{name}' must be {wanted}")]
    Wrong {
        /// The parameter.
        name: &'static str,
        /// What it must be.
        wanted: String,
    },
    /// There is no such parameter.
    #[error("there is no parameter '{0}'")]
    Unknown(String),
    /// A path is not read.
    #[error(transparent)]
    Refused(#[from] Refused),
}

const fn parameter(name: &'static str, meaning: &'static str, kind: Kind) -> Parameter {
    Parameter { name, meaning, kind, required: true }
}

const fn optional(name: &'static str, meaning: &'static str, kind: Kind) -> Parameter {
    Parameter { name, meaning, kind, required: false }
}

const FILE: (Parameter, Place) =
    (parameter("file", "The recording: a path that the tool 'recordings' gave", Kind::Path), Place::Bare);
const FORMAT: (Parameter, Place) = (
    optional(
        "format",
        "text (the default) is short; json has every value, with names that stay",
        Kind::OneOf(&["text", "json"]),
    ),
    Place::Option("--format"),
);
const PHASE: (Parameter, Place) = (
    optional(
        "phase",
        "Only this phase, by the name that the tool of the transition gives it, such as WinLogonInit",
        Kind::Text,
    ),
    Place::Option("--phase"),
);
const BOOT: (Parameter, Place) = (
    optional(
        "boot",
        "Which boot of a Linux journal that holds several: 0 is the last, -1 the one before, or a boot's id",
        Kind::Text,
    ),
    Place::Option("--boot"),
);
const TOP: (Parameter, Place) =
    (optional("top", "At most so many rows of each list", Kind::Count), Place::Option("--top"));
const LISTS: &[&str] =
    &["services", "devices", "processes", "cpu", "interrupts", "disk", "files", "hardfaults", "policy"];

/// Every tool that a verb answers; `recordings`, `guide` and `more` are answered by the server itself.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "overview",
        meaning: "What a recording is and which tools answer about it, with the first line of each. Begin here.",
        verb: None,
        parameters: &[FILE],
    },
    Tool {
        name: "boot",
        meaning: "Where the time of a boot went: phases, who held each of them, services, drivers, processors and disks by phase.",
        verb: Some("boot"),
        parameters: &[FILE, FORMAT, BOOT, TOP],
    },
    Tool {
        name: "shutdown",
        meaning: "Where the time of a shutdown went: sessions, applications, services, the kernel.",
        verb: Some("shutdown"),
        parameters: &[FILE, FORMAT, BOOT, TOP],
    },
    Tool {
        name: "suspend",
        meaning: "Where the time of sleep, hibernation and waking went: phases, programs, services, devices.",
        verb: Some("suspend"),
        parameters: &[FILE, FORMAT, BOOT, TOP],
    },
    Tool {
        name: "netboot",
        meaning: "Where the time of a network boot went, from a packet capture: address, files, each transfer.",
        verb: Some("netboot"),
        parameters: &[FILE, FORMAT],
    },
    Tool {
        name: "firmware",
        meaning: "The time before the operating system, from the firmware's performance tables.",
        verb: Some("firmware"),
        parameters: &[FILE, FORMAT],
    },
    Tool {
        name: "io",
        meaning: "How programs read and wrote their data: sizes of requests, what was read twice, what a buffer or a cache would bring.",
        verb: Some("io"),
        parameters: &[FILE, FORMAT, TOP],
    },
    Tool {
        name: "diagnose",
        meaning: "What to change, what costs most first, each with its evidence, how sure it is, and what it would bring.",
        verb: Some("diagnose"),
        parameters: &[FILE, FORMAT, BOOT],
    },
    Tool {
        name: "why",
        meaning: "Why a phase, a service, a device or a process took as long as it did: who waited for whom, back to what ended the wait.",
        verb: Some("why"),
        parameters: &[
            FILE,
            PHASE,
            (optional("service", "The start or stop of this service", Kind::Text), Place::Option("--service")),
            (optional("device", "The requests to this device", Kind::Text), Place::Option("--device")),
            (optional("process", "The long waits of this process", Kind::Text), Place::Option("--process")),
            FORMAT,
            BOOT,
        ],
    },
    Tool {
        name: "list",
        meaning: "Rows of one kind, the longest first: services, devices, processes, processor use, interrupts, disk requests, file operations, hard faults, policy.",
        verb: None,
        parameters: &[
            (parameter("what", "Which rows", Kind::OneOf(LISTS)), Place::Verb),
            FILE,
            PHASE,
            (optional("process", "Only of this process", Kind::Text), Place::Option("--process")),
            TOP,
            (
                optional("format", "text (the default), json or csv", Kind::OneOf(&["text", "json", "csv"])),
                Place::Option("--format"),
            ),
            BOOT,
        ],
    },
    Tool {
        name: "compare",
        meaning: "Whether recordings of one configuration are slower than those of another, where, and whether it is more than noise.",
        verb: Some("compare"),
        parameters: &[
            (
                parameter("baseline", "Recordings before the change: files or folders", Kind::Paths),
                Place::Option("--baseline"),
            ),
            (parameter("candidate", "Recordings after it", Kind::Paths), Place::Option("--candidate")),
            FORMAT,
        ],
    },
    Tool {
        name: "summary",
        meaning: "Many recordings at once, a row each: kind, total, longest phase, first culprit.",
        verb: Some("summary"),
        parameters: &[
            (parameter("files", "Recordings, or folders of them", Kind::Paths), Place::Bare),
            (
                optional("format", "text (the default), json or csv", Kind::OneOf(&["text", "json", "csv"])),
                Place::Option("--format"),
            ),
        ],
    },
    Tool {
        name: "info",
        meaning: "What a recording holds: computer, clock, providers with their events, what was lost.",
        verb: Some("info"),
        parameters: &[FILE, FORMAT],
    },
    Tool {
        name: "explain",
        meaning: "What a word of an answer means: a phase, a column, a loss, the code of a finding.",
        verb: Some("explain"),
        parameters: &[(parameter("word", "The word", Kind::Text), Place::Bare)],
    },
];

impl Tool {
    /// The JSON Schema of what the tool takes.
    #[must_use]
    pub fn schema(&self) -> Map<String, Value> {
        schema(self.parameters.iter().map(|(parameter, _)| parameter))
    }

    /// The arguments of the program that answers a call.
    ///
    /// # Errors
    /// The call makes no sense, or a path may not be read.
    pub fn arguments(&self, call: &Map<String, Value>, folders: &Folders) -> Result<Vec<OsString>, Misuse> {
        if let Some(name) = call.keys().find(|name| !self.parameters.iter().any(|(it, _)| it.name == name.as_str())) {
            return Err(Misuse::Unknown(name.clone()));
        }
        let mut verb: Option<OsString> = self.verb.map(OsString::from);
        let (mut options, mut bare) = (Vec::new(), Vec::new());
        for (parameter, place) in self.parameters {
            for value in parameter.values(call, folders)? {
                match place {
                    Place::Option(option) => {
                        let mut word = OsString::from(option);
                        word.push("=");
                        word.push(value);
                        options.push(word);
                    }
                    Place::Bare => bare.push(value),
                    Place::Verb => verb = Some(value),
                }
            }
        }
        // Whatever a value begins with, it is no option.
        let bare = std::iter::once(OsString::from("--")).chain(bare);
        Ok(std::iter::once("onoff".into()).chain(verb).chain(options).chain(bare).collect())
    }
}

/// The JSON Schema of an object with these members and no others.
pub(crate) fn schema<'p>(parameters: impl Iterator<Item = &'p Parameter> + Clone) -> Map<String, Value> {
    let properties: Map<String, Value> =
        parameters.clone().map(|parameter| (parameter.name.to_owned(), parameter.schema())).collect();
    let required: Vec<&str> = parameters.filter(|it| it.required).map(|it| it.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    schema.insert("required".to_owned(), required.into());
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

impl Parameter {
    fn schema(&self) -> Value {
        let description = self.meaning;
        match self.kind {
            Kind::Path | Kind::Text => json!({ "type": "string", "description": description }),
            Kind::Paths => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "description": description })
            }
            Kind::OneOf(words) => json!({ "type": "string", "enum": words, "description": description }),
            Kind::Count => json!({ "type": "integer", "minimum": 1, "description": description }),
        }
    }

    /// The values of a call, as they stand on a command line.
    fn values(&self, call: &Map<String, Value>, folders: &Folders) -> Result<Vec<OsString>, Misuse> {
        let wrong = |wanted: &str| Misuse::Wrong { name: self.name, wanted: wanted.to_owned() };
        let value = match call.get(self.name) {
            Some(value) if !value.is_null() => value,
            _ if self.required => return Err(Misuse::Missing(self.name)),
            _ => return Ok(Vec::new()),
        };
        match self.kind {
            Kind::Path => {
                let path = value.as_str().ok_or_else(|| wrong("a path"))?;
                Ok(vec![folders.resolve(path)?.into()])
            }
            Kind::Paths => {
                let paths =
                    value.as_array().filter(|paths| !paths.is_empty()).ok_or_else(|| wrong("a list of paths"))?;
                let resolved = paths.iter().map(|path| {
                    let path = path.as_str().ok_or_else(|| wrong("a list of paths"))?;
                    Ok(folders.resolve(path)?.into())
                });
                resolved.collect()
            }
            Kind::Text => Ok(vec![value.as_str().ok_or_else(|| wrong("a text"))?.into()]),
            Kind::OneOf(words) => match value.as_str().and_then(|value| words.iter().find(|word| **word == value)) {
                Some(word) => Ok(vec![(*word).into()]),
                None => Err(wrong(&format!("one of {}", words.join(", ")))),
            },
            Kind::Count => match value.as_u64() {
                Some(count @ 1..=1_000_000) => Ok(vec![count.to_string().into()]),
                _ => Err(wrong("a number from 1 to 1000000")),
            },
        }
    }
}
